"""seqloom recipes: list the built-in recipes."""

import shutil
import sys

from seqloom.config.recipes import built_in_recipes, find_recipe, read_recipe, render_recipes


def recipes(name: str | None = None, /) -> None:
    """List the built-in recipes and their measured results, or print one recipe.

    A recipe is a TOML file with the important settings and the reason for each. You can print a recipe, change it and
    train with it.

    Parameters
    ----------
    name
        recipe to print

    Examples
    --------
        seqloom recipes
        seqloom recipes characters-rnn > mine.toml
        seqloom train pairs.tsv --out runs/x --recipe mine.toml
    """
    if name is not None:
        print(read_recipe(find_recipe(name)), end="")
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None  # `| grep` wants whole lines
    print(render_recipes(built_in_recipes(), width))
