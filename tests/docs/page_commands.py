"""What README and the guide show: the shell commands and the Python snippets of each page, in their order."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "docs" / "reference"  # usage lines and signatures, not commands; tests/docs/test_pages.py has them
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if GENERATED not in page.parents)]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SHELL = ("", "bash", "sh", "console")  # a block that is no shell says what it is: ```text, ```python, ```ini


@dataclass(frozen=True)
class Shown:
    """A command as a reader would type it, or a Python snippet."""

    page: str
    text: str
    is_python: bool = False


def shown_on(page: Path) -> list[Shown]:
    """Everything that can be run, in the order of the page."""
    found, name = [], page.relative_to(ROOT).as_posix()
    for indent, language, block in BLOCK.findall(page.read_text("utf-8")):
        text = re.sub(f"^{indent}", "", block, flags=re.MULTILINE)
        if language == "python":
            found.append(Shown(name, text, is_python=True))
        elif language in SHELL:
            found += [Shown(name, command) for command in commands(text)]
    return found


def commands(block: str) -> list[str]:
    """One per line; a backslash at the end joins two lines, and a loop ends with `done`."""
    found: list[str] = []
    for line in block.replace("\\\n", " ").splitlines():
        if found and found[-1].startswith("for ") and not found[-1].endswith("\ndone"):
            found[-1] += f"\n{line}"
        elif line.strip() and not line.startswith("#"):
            found.append(line)
    return found


def pages_with_commands() -> dict[str, list[Shown]]:
    every = {page.relative_to(ROOT).as_posix(): shown_on(page) for page in PAGES}
    return {name: shown for name, shown in every.items() if shown}
