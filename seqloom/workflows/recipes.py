"""The built-in recipes: complete, commented TOML files beside the code; their first line says what they are for."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seqloom.errors import UsageError, did_you_mean

FOLDER = Path(__file__).parent.parent / "recipes"
RESULT = re.compile(r"\b(?=Result: |Published: )")  # divides the first line: what it is; what it reached, here or there
NARROWEST = 30  # columns of a text in the list


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str  # that of its file, with the folder it is in: ladder/lstm
    file: Path
    summary: str  # the comment on its first line, up to the result
    result: str  # what it reached and on which data, or a paper with it; empty where neither is known


def built_in_recipes() -> list[Recipe]:
    """Those of the folder itself first, then those of the folders in it."""
    files = sorted(FOLDER.rglob("*.toml"), key=lambda file: (len(file.parts), file.with_suffix("")))
    return [Recipe(file.relative_to(FOLDER).with_suffix("").as_posix(), file, *first_line(file)) for file in files]


def find_recipe(name: str) -> Path:
    """The file of a recipe, given by its name or as a file of one's own."""
    recipes = {recipe.name: recipe.file for recipe in built_in_recipes()}
    if name in recipes:
        return recipes[name]
    if (name.endswith(".toml") or Path(name).name != name) and Path(name).is_file():
        return Path(name)
    if name.endswith(".toml"):
        raise UsageError(f"{name}: no such recipe file. `seqloom recipes` lists the built-in ones.")
    rung = f"ladder/{name}"  # a ladder calls it by its name alone
    near = f" Did you mean {rung!r}?" if rung in recipes else did_you_mean(name, recipes)
    raise UsageError(f"{name}: no such recipe.{near} Built-in: {', '.join(recipes)}; a file of your own ends in .toml.")


def render_recipes(recipes: Sequence[Recipe], width: int | None) -> str:
    """A name and what it is, below that what it reached; the texts are wrapped at `width`, or not at all."""
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
    """(what a recipe is for, what it reached), from the comment that it begins with."""
    line = read_recipe(file).partition("\n")[0]
    summary, *result = RESULT.split(line.lstrip("# ").strip(), maxsplit=1)
    return summary.strip(), "".join(result)


def read_recipe(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not a recipe: no UTF-8 text ({error.reason} at byte {error.start})") from None
