"""The built-in recipes: complete, commented TOML files beside the code; their first line says what they are for."""

from dataclasses import dataclass
from pathlib import Path

from seqloom.errors import UsageError, did_you_mean

FOLDER = Path(__file__).parent.parent / "recipes"


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    file: Path
    summary: str  # the comment on its first line


def built_in_recipes() -> list[Recipe]:
    return [Recipe(file.stem, file, first_comment(file)) for file in sorted(FOLDER.glob("*.toml"))]


def find_recipe(name: str) -> Path:
    """The file of a recipe, given by its name or as a file of one's own."""
    if name.endswith(".toml") or Path(name).name != name:
        if not Path(name).is_file():
            raise UsageError(f"{name}: no such recipe file. `seqloom recipes` lists the built-in ones.")
        return Path(name)
    recipes = {recipe.name: recipe.file for recipe in built_in_recipes()}
    if name not in recipes:
        raise UsageError(
            f"{name}: no such recipe.{did_you_mean(name, recipes)} Built-in: {', '.join(recipes)}; "
            "a file of your own ends in .toml."
        )
    return recipes[name]


def first_comment(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return next(lines, "").lstrip("# ").strip()
