"""seqloom recipes: what there is to start from."""

import shutil
import sys

from seqloom.workflows.recipes import built_in_recipes, find_recipe, read_recipe, render_recipes


def recipes(name: str | None = None, /) -> None:
    """List the built-in recipes with the result each made, where one was measured, or print one.

    A recipe is a TOML file with every setting that matters and why it is so. Print one, change it, train with it.

    Parameters
    ----------
    name
        the recipe to print

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
