"""Writes the reference pages from the code, so that they cannot be wrong: `make docs`. A test keeps them equal.

The pages under docs/reference are written whole; in ARCHITECTURE.md only what stands between two marks.
"""

import ast
import dataclasses
import inspect
import io
import json
import re
import runpy
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

import seqloom
from seqloom.cli.app import VERBS, build_app
from seqloom.config.sections import NO_LIMIT, SECTIONS
from seqloom.explain.document import schema

ROOT = Path(__file__).parents[1]
NOTICE = "<!-- Written by `make docs` from the code: change the code, not this page. -->\n"

# The Python API, in the order of the page: title -> public names, each class with the methods that people call.
API: dict[str, dict[str, tuple[str, ...]]] = {
    "Train, measure, export": {"train": (), "load": (), "evaluate": (), "score": (), "doctor": (), "export": ()},
    "Models": {
        "Translator": (
            "load",
            "load_ensemble",
            "translate",
            "hypotheses",
            "alternatives",
            "sample",
            "align",
            "explain",
            "module",
        ),
        "Generator": ("load", "generate", "stream", "explain", "module"),
        "Labeller": ("load", "label", "labels", "probabilities", "explain", "module"),
        "GapFiller": ("load", "fill", "explain", "module"),
        "SentenceVectors": ("load", "embed", "vectors", "tokens"),
        "align_words": (),
    },
    "Word vectors": {
        "load_vectors": (),
        "WordVectors": ("nearest", "analogy", "similarity"),
        "BagOfWords": ("fit", "transform"),
    },
    "Results": {
        "Trained": ("load",),
        "Translation": (),
        "Score": ("log_prob", "mean"),
        "Report": ("to_json",),
        "Checkup": ("hard", "render", "to_json"),
    },
    "Errors": dict.fromkeys(
        ("SeqloomError", "UsageError", "InUse", "DataError", "ModelError", "TrainingError", "Interrupted"), ()
    ),
}


def settings_page() -> str:
    lines = [
        NOTICE,
        "# Settings",
        "",
        "A recipe is a TOML file with these sections; `--set section.name=value` changes one of them. What a recipe "
        "leaves out has the default below. A wrong name or value is refused, all faults at once, with what is allowed.",
    ]
    for section, kind in SECTIONS.items():
        lines += ["", f"## [{section}]", "", "| setting | default | allowed | what it is |", "|---|---|---|---|"]
        lines += [row(section, field) for field in dataclasses.fields(kind)]
    return "\n".join(lines) + "\n"


def row(section: str, field: "dataclasses.Field[Any]") -> str:
    cells = (f"`{section}.{field.name}`", f"`{toml(field.default)}`", allowed(field), told(field))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def told(field: "dataclasses.Field[Any]") -> str:
    who = str(field.metadata["only"])
    return f"{who}: {field.metadata['help']}" if who else str(field.metadata["help"])


def toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def allowed(field: "dataclasses.Field[Any]") -> str:
    rule = field.metadata
    if "allowed" in rule:
        return ", ".join(f"`{name}`" for name in rule["allowed"])
    if "least" not in rule:
        return "`true`, `false`" if field.type is bool else "text"
    kind = "whole number" if field.type is int else "number"
    most = f" to {rule['most']}" if rule["most"] != NO_LIMIT else " or more"
    return f"{kind}, {rule['least']}{most}"


def commands_page() -> str:
    app = build_app(in_full=VERBS)
    lines = [NOTICE, "# Commands", "", "What each `--help` prints. Exit codes: see [the errors](../how-to/errors.md)."]
    parts = {verb: [name for name in app[verb] if name[0] != "-"] for verb in VERBS if not app[verb].default_command}
    paths = [[verb, *part] for verb in VERBS for part in ([], *([name] for name in parts.get(verb, ())))]
    for tokens in ([], *paths):
        page = io.StringIO()
        app.help_print(tokens, console=Console(file=page, width=100, color_system=None))
        text = "\n".join(line.rstrip() for line in page.getvalue().strip().splitlines())
        lines += ["", f"## {' '.join(['seqloom', *tokens])}", "", "```", text, "```"]
    return "\n".join(lines) + "\n"


def python_page() -> str:
    lines = [
        NOTICE,
        "# Python API",
        "",
        "Everything on this page is importable from `seqloom`, which loads it when it is first used: `import seqloom` "
        "alone needs neither torch nor numpy. The package has type annotations (`py.typed`).",
    ]
    for title, names in API.items():
        lines += ["", f"## {title}"]
        for name, methods in names.items():
            thing = getattr(seqloom, name)
            lines += ["", f"### seqloom.{name}", ""]
            lines += describe_class(thing, methods) if inspect.isclass(thing) else describe_function(thing, name)
    return "\n".join(lines) + "\n"


def describe_class(kind: type, methods: tuple[str, ...]) -> list[str]:
    lines = [docstring(kind)]
    if issubclass(kind, seqloom.SeqloomError):
        code = "" if "__init__" in vars(kind) else f" Exit code of the command line: {kind.exit_code}."
        return [f"{docstring(kind)} A kind of `{kind.__mro__[1].__name__}`.{code}"]
    if dataclasses.is_dataclass(kind):
        source = source_of(kind).splitlines()
        fields = [source[node.lineno - 1].strip() for node in tree_of(kind).body if isinstance(node, ast.AnnAssign)]
        lines += ["", "```python", *fields, "```"]
    for name in methods:
        lines += ["", *describe_function(inspect.getattr_static(kind, name), f"{kind.__name__}.{name}", kind)]
    return lines


def describe_function(thing: Any, name: str, owner: type | None = None) -> list[str]:
    """A signature and a docstring; of a property its type."""
    function = getattr(thing, "__func__", None) or getattr(thing, "fget", None) or getattr(thing, "func", None) or thing
    is_property = isinstance(thing, property) or hasattr(thing, "attrname")
    shown = f"{name}: {returned(function, owner)}" if is_property else signature(function, name, owner)
    return ["```python", shown, "```", "", docstring(function)]


def signature(function: Callable[..., Any], name: str, owner: type | None) -> str:
    """As the source writes it, without quotes around types, and with the values of named defaults."""
    parts = parameters(tree_of(function).args, inspect.unwrap(function).__globals__)
    end = f") -> {returned(function, owner)}"
    line = f"{name}({', '.join(parts)}{end}"
    return line if len(line) <= 100 else "\n".join([f"{name}(", *(f"    {part}," for part in parts), end])


def parameters(arguments: ast.arguments, known: dict[str, Any]) -> list[str]:
    listed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(listed) - len(arguments.defaults)) + arguments.defaults
    parts = [
        parameter(*both, known) for both in zip(listed, defaults, strict=True) if both[0].arg not in ("self", "cls")
    ]
    if arguments.vararg:
        parts.append("*" + parameter(arguments.vararg, None, known))
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [parameter(*both, known) for both in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return parts + (["**" + parameter(arguments.kwarg, None, known)] if arguments.kwarg else [])


def parameter(argument: ast.arg, default: ast.expr | None, known: dict[str, Any]) -> str:
    kind = f": {plain(argument.annotation)}" if argument.annotation else ""
    if default is None:
        return argument.arg + kind
    value = known.get(default.id) if isinstance(default, ast.Name) else None
    return (
        f"{argument.arg}{kind} = {value!r}" if value is not None else f"{argument.arg}{kind} = {ast.unparse(default)}"
    )


def plain(annotation: ast.expr) -> str:
    return re.sub("['\"]", "", ast.unparse(annotation))


def returned(function: Callable[..., Any], owner: type | None) -> str:
    found = tree_of(function).returns
    text = plain(found) if found else "None"
    return owner.__name__ if owner and text == "Self" else text


def source_of(thing: Any) -> str:
    return textwrap.dedent(inspect.getsource(thing))


def tree_of(thing: Any) -> Any:
    return ast.parse(source_of(thing)).body[0]


def docstring(thing: Any) -> str:
    """As Markdown: outside of `code` a < is no tag."""
    text = ast.get_docstring(tree_of(thing)) or ""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "\\<") for part in parts[::2]]
    return "`".join(parts)


def files_page() -> str:
    """The lists of the folders' docstrings."""
    lines = [
        NOTICE,
        "# Files",
        "",
        "Which file holds what, folder by folder; [ARCHITECTURE.md](../../ARCHITECTURE.md) ",
    ]
    lines[-1] += "shows how the folders depend on each other."
    for folder, text in rooms().items():
        title, _, listing = text.partition("\n\n")
        lines += ["", f"## seqloom/{folder}/", "", title, "", "```", listing, "```"]
    return "\n".join(lines) + "\n"


def rooms() -> dict[str, str]:
    """The docstring of each folder, in the order of the layer table."""
    inits = {folder: ROOT / "seqloom" / folder / "__init__.py" for folder in layers()}
    return {
        folder: ast.get_docstring(ast.parse(init.read_text("utf-8"))) or ""
        for folder, init in inits.items()
        if init.exists()
    }


def layers() -> dict[str, tuple[set[str], str]]:
    table: dict[str, tuple[set[str], str]] = runpy.run_path(str(ROOT / "tests/house/layers.py"))["RULES"]
    return table


def promises_page() -> str:
    """The table that the tests of faults try cell by cell."""
    render: Callable[[], str] = runpy.run_path(str(ROOT / "tests/faults/promises.py"))["render"]
    return f"{NOTICE}\n{render()}"


def architecture_page() -> str:
    """ARCHITECTURE.md with its generated parts anew."""
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    for name, made in {"rooms": folder_tree(), "layers": layer_table()}.items():
        begin, end = f"<!-- {name}: written by `make docs` -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{made}\n{end}{rest.partition(end)[2]}"
    return page


def folder_tree() -> str:
    files = {f"{name}.py": first_line(ROOT / "seqloom" / f"{name}.py") for name in ("__init__", "errors", "progress")}
    folders = {f"{folder}/": text.splitlines()[0] for folder, text in rooms().items()}
    rows = [f"  {name:14} {line}" for name, line in {**files, **folders}.items()]
    return "\n".join(["```", "seqloom/", *rows, "```"])


def first_line(file: Path) -> str:
    return (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").splitlines()[0]


def layer_table() -> str:
    rows = ["| folder | may import | why |", "|---|---|---|"]
    for folder, (allowed, why) in layers().items():
        rows.append(f"| `{folder}` | {' '.join(f'`{name}`' for name in sorted(allowed)) or 'nothing'} | {why} |")
    return "\n".join(rows)


PAGES = {
    "docs/reference/settings.md": settings_page,
    "docs/reference/commands.md": commands_page,
    "docs/reference/python.md": python_page,
    "docs/reference/files.md": files_page,
    "docs/reference/promises.md": promises_page,
    "docs/reference/explain.schema.json": lambda: json.dumps(schema(), indent=1) + "\n",
    "ARCHITECTURE.md": architecture_page,
}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (ROOT / name).write_text(write(), "utf-8")
        print(name)
