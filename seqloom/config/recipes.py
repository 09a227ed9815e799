"""The built-in recipes: complete TOML files with comments. The first line of each says what it is for."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seqloom.errors import UsageError, did_you_mean
from seqloom.files.reading import SETTINGS, read_file

FOLDER = Path(__file__).parent.parent / "recipes"
RESULT = re.compile(r"\b(?=Result: |Published: )")  # splits the first line into purpose and result
NARROWEST = 30  # columns of a text in the list


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str  # file name without .toml, with its folder: ladder/lstm
    file: Path
    summary: str  # the comment on its first line, up to the result
    result: str  # the measured or published result and its data; empty if unknown


def built_in_recipes() -> list[Recipe]:
    """All built-in recipes: first those of the folder itself, then those of its subfolders."""
    files = sorted(FOLDER.rglob("*.toml"), key=lambda file: (len(file.parts), file.with_suffix("")))
    return [Recipe(file.relative_to(FOLDER).with_suffix("").as_posix(), file, *first_line(file)) for file in files]


def find_recipe(name: str) -> Path:
    """The file of a recipe, given the name of a built-in recipe or the path of a TOML file."""
    recipes = {recipe.name: recipe.file for recipe in built_in_recipes()}
    if name in recipes:
        return recipes[name]
    if (name.endswith(".toml") or Path(name).name != name) and Path(name).is_file():
        return Path(name)
    if name.endswith(".toml"):
        raise UsageError(f"{name}: no such recipe file. `seqloom recipes` lists the built-in ones.")
    rung = f"ladder/{name}"  # `seqloom ladder` uses the name without the folder
    near = f" Did you mean {rung!r}?" if rung in recipes else did_you_mean(name, recipes)
    raise UsageError(f"{name}: no such recipe.{near} Built-in: {', '.join(recipes)}; a file of your own ends in .toml.")


def render_recipes(recipes: Sequence[Recipe], width: int | None) -> str:
    """Two columns: the name, and its purpose with the result below. Wraps at `width`; None = no wrapping."""
    margin = max((len(recipe.name) for recipe in recipes), default=0) + 2
    rows = []
    for recipe in recipes:
        texts = [recipe.summary, *([recipe.result] if recipe.result else [])]
        lines = [line for text in texts for line in wrap(text, width and max(NARROWEST, width - margin))]
        names = [recipe.name, *[""] * (len(lines) - 1)]
        rows += [f"{name:{margin}}{line}".rstrip() for name, line in zip(names, lines, strict=True)]
    return "\n".join(rows)


def wrap(text: str, width: int | None) -> list[str]:
    return textwrap.wrap(text, width) or [""] if width else [text]


def first_line(file: Path) -> tuple[str, str]:
    """(purpose, result) of a recipe, from the comment on its first line."""
    line = read_recipe(file).partition("\n")[0]
    summary, *result = RESULT.split(line.lstrip("# ").strip(), maxsplit=1)
    return summary.strip(), "".join(result)


def read_recipe(file: Path) -> str:
    try:
        return read_file(file, SETTINGS, links=True).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not a recipe: not UTF-8 text ({error.reason} at byte {error.start})") from None
