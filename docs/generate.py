"""Writes the reference pages from the code, so that they cannot be wrong: `make docs`. A test keeps them equal."""

import dataclasses
import io
from pathlib import Path
from typing import Any

from rich.console import Console

from seqloom.cli.app import VERBS, build_app
from seqloom.config.sections import NO_LIMIT, SECTIONS

FOLDER = Path(__file__).parent / "reference"
NOTICE = "<!-- Written by `make docs` from the code: change the code, not this page. -->\n"


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
    cells = (f"`{section}.{field.name}`", f"`{toml(field.default)}`", allowed(field), field.metadata["help"])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


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


PAGES = {"settings.md": settings_page, "commands.md": commands_page}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (FOLDER / name).write_text(write(), "utf-8")
        print(f"docs/reference/{name}")
