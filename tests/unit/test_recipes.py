"""Built-in recipes: each is complete enough to stand alone, and found by name or by file."""

import pytest

from seqloom.config import load_config
from seqloom.errors import UsageError
from seqloom.workflows import recipes
from seqloom.workflows.recipes import built_in_recipes, find_recipe


def test_there_are_recipes():
    assert built_in_recipes()


@pytest.mark.parametrize("recipe", built_in_recipes(), ids=lambda recipe: recipe.name)
def test_every_recipe_reads_and_says_what_it_is_for(recipe):
    assert load_config(recipe.file)
    assert recipe.file.read_text("utf-8").startswith("# ")
    assert recipe.summary


def test_a_recipe_is_found_by_name_or_by_file(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "FOLDER", tmp_path)
    small = tmp_path / "small.toml"
    small.write_text("# for small data\n[model]\nwidth = 8\n", "utf-8")
    assert find_recipe("small") == small
    assert find_recipe(str(small)) == small
    assert [recipe.summary for recipe in built_in_recipes()] == ["for small data"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("smal", "smal: no such recipe. Did you mean 'small'?"),
        ("x.toml", "x.toml: no such recipe file"),
        ("a/b", "a/b"),
    ],
)
def test_a_missing_recipe_is_named(name, said, tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "FOLDER", tmp_path)
    (tmp_path / "small.toml").write_text("# x\n", "utf-8")
    with pytest.raises(UsageError) as caught:
        find_recipe(name)
    assert said in str(caught.value)
