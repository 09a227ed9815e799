"""`import seqloom` offers a few names and loads what is behind them when they are used."""

import tomllib
from pathlib import Path

import pytest

import seqloom


def test_the_public_names_lead_to_what_they_name():
    from seqloom.runtime.translator import Translator
    from seqloom.workflows.train import train

    assert seqloom.Translator is Translator
    assert seqloom.train is train
    assert set(dir(seqloom)) == {"Translator", "__version__", "load", "train"}


def test_train_is_the_function_though_there_is_a_folder_of_that_name(python):
    done = python("-c", "import seqloom.train.loop; assert seqloom.train.__module__ == 'seqloom.workflows.train'")
    assert done.returncode == 0, done.stderr


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        _ = seqloom.trian


def test_load_and_translate(tiny_model):
    model = seqloom.load(str(tiny_model))
    assert isinstance(model.translate("abc"), str)
    assert len(model.translate(["abc", "de"], beam=1)) == 2


def test_the_version_is_the_one_of_the_project():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == seqloom.__version__


def test_what_is_pinned_is_what_is_asked_for():
    """Every package that the project names has one line in constraints.txt, and no other package has."""
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    pins = [line for line in (root / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert sorted(line.partition("==")[0] for line in pins) == sorted({line.partition(">=")[0] for line in asked})
