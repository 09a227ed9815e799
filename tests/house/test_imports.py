"""Who may import whom. The folders are layers: this table is what keeps them so."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

# folder or module: (what of seqloom it may import beside itself, why)
RULES: dict[str, tuple[set[str], str]] = {
    "errors": (set(), "everyone imports it"),
    "config": ({"errors"}, "settings are read before anything else is loaded"),
    "text": ({"errors", "config"}, "strings and ids only"),
    "nn": ({"errors"}, "tensors in, tensors out: modules take plain numbers"),
    "data": ({"errors", "config", "text"}, "files become batches; no model is known here"),
    "demo": ({"errors"}, "it writes the embedded corpus and knows nothing of models"),
    "models": ({"errors", "config", "nn", "text.vocabulary"}, "pieces behind one contract; only build.py reads config"),
    "decode": (
        {"errors", "models.api", "models.attention", "nn.trace", "text.vocabulary"},
        "search sees the contract, never an architecture",
    ),
    "tasks": (
        {"errors", "config", "data", "models.api", "nn.loss", "text.vocabulary"},
        "what is learned, on any model; only build.py reads config",
    ),
    "evaluate": ({"errors"}, "texts in, numbers out"),
    "vectors": ({"errors", "text", "data"}, "words and their vectors: no model is known here"),
    "runtime": (
        {"errors", "config", "text", "models", "decode", "evaluate.metrics", "nn.trace"},
        "text in, text out: must run where there is nothing to train",
    ),
    "explain": (
        {"errors", "text", "models", "decode", "runtime", "nn.trace"},
        "looks at models; never at train or evaluate",
    ),
    "serve": (
        {"errors", "config", "text", "runtime", "explain.alignment", "data.letters"},
        "texts over HTTP: no torch, no training; a model is a Translator",
    ),
    "train": (
        {"errors", "config", "text", "data", "models", "nn", "tasks"},
        "validation enters as a callback: no decode, no evaluate",
    ),
    "workflows": (
        {"errors", "config", "text", "data", "nn", "models", "decode", "tasks", "train", "evaluate", "explain"}
        | {"runtime", "serve", "demo", "vectors"},
        "wires the layers; knows no command line",
    ),
    "cli": ({"errors", "config", "workflows"}, "parse, call the workflow, print"),
    "__init__": ({"runtime.translator", "runtime.answering", "workflows.train"}, "the few public names"),
    "__main__": ({"cli.app"}, "python -m seqloom"),
}

# Torch takes seconds to import: these never do. What may do so only when it must (doctor, info, every --help) is
# tried in test_start_up.py.
NO_TORCH = ("errors", "config", "text", "demo", "evaluate", "serve", "cli", "__init__", "__main__")
ONLY_READER_OF_CONFIG = "models.build"


@dataclass(frozen=True)
class Import:
    line: int
    name: str  # dotted, with the imported name: seqloom.nn.cells.CELLS
    at_top: bool


def imports_of(tree: ast.Module) -> Iterator[Import]:
    inside = {id(node) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for node in ast.walk(f)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the whole name, not a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield Import(node.lineno, name, at_top=id(node) not in inside)


def layer_of(module: str) -> str:
    return module.partition(".")[0] or "__init__"


def within(name: str, prefixes: set[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def root_names(tree: ast.Module) -> set[str]:
    """`import seqloom` for its version is fine; for anything else it would be a way round the layers."""
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    used = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "seqloom"}
    return {""} if used == {"__version__"} else set()


def test_every_folder_has_a_rule(sources):
    assert {layer_of(source.module) for source in sources} <= RULES.keys()


def test_imports_follow_the_layers(sources):
    broken = []
    for source in sources:
        layer = layer_of(source.module)
        rule, why = RULES[layer]
        allowed = rule | {layer, "__version__"} | root_names(source.tree)
        for imported in imports_of(source.tree):
            package, _, name = imported.name.partition(".")
            if package == "seqloom" and not within(name, allowed):
                broken.append(f"{source.name}:{imported.line} imports {imported.name}; {layer} may not: {why}")
    assert not broken, "\n".join(broken)


def test_torch_stays_where_it_is_needed(sources):
    broken = [
        f"{source.name}:{imported.line} imports torch"
        for source in sources
        if layer_of(source.module) in NO_TORCH
        for imported in imports_of(source.tree)
        if within(imported.name, {"torch"})
    ]
    assert not broken, "\n".join(broken)


def test_models_are_built_in_one_place(sources):
    readers = {
        source.module
        for source in sources
        if layer_of(source.module) in ("models", "nn")
        and any(within(imported.name, {"seqloom.config"}) for imported in imports_of(source.tree))
    }
    assert readers <= {ONLY_READER_OF_CONFIG}


def test_no_cycles_between_modules_at_import_time(sources):
    """A cycle works or breaks by who is imported first: there is none."""
    modules = {source.module for source in sources}
    edges = {source.module: set() for source in sources}
    for source in sources:
        for imported in imports_of(source.tree):
            name = imported.name.removeprefix("seqloom.")
            target = name if name in modules else name.rpartition(".")[0]
            if imported.name.startswith("seqloom.") and imported.at_top and target in modules and target != "":
                edges[source.module].add(target)
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for target in sorted(edges[module]):
                visit(target, (*path, module))
            done.add(module)

    for module in edges:
        visit(module, ())
