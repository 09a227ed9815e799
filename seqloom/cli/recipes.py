"""seqloom recipes: what there is to start from."""

from seqloom.workflows.recipes import built_in_recipes, find_recipe


def recipes(name: str | None = None, /) -> None:
    """List the built-in recipes, or print one.

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
        print(find_recipe(name).read_text("utf-8"), end="")
        return
    found = built_in_recipes()
    width = max((len(recipe.name) for recipe in found), default=0)
    for recipe in found:
        print(f"{recipe.name:{width}}  {recipe.summary}")
