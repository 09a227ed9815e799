"""`import seqloom` offers a few names and loads what is behind them when they are used."""

import ast
import math
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import seqloom


def test_the_public_names_lead_to_what_they_name():
    from seqloom.runtime.translator import Translator
    from seqloom.workflows.train import train

    assert seqloom.Translator is Translator
    assert seqloom.train is train


@pytest.mark.parametrize("name", seqloom.__all__)
def test_every_public_name_can_be_loaded(name):
    assert getattr(seqloom, name)


def test_only_public_names_are_shown():
    assert dir(seqloom) == sorted(seqloom.__all__)
    assert {name for name in seqloom.__all__ if name.startswith("_")} == {"__version__"}


def test_type_checkers_see_the_names_that_are_loaded_late():
    """They read the imports under TYPE_CHECKING, Python reads the table: both name the same places."""
    tree = ast.parse(Path(seqloom.__file__).read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert {name: module for name, module in seen.items() if name != "Answering"} == seqloom.LAZY
    assert Path(seqloom.__file__).with_name("py.typed").exists()


def test_no_folder_has_the_name_of_a_function():
    """It would take the function's place as soon as a module of it is imported."""
    folders = {found.name for found in pkgutil.iter_modules(seqloom.__path__)}
    assert not folders & set(seqloom.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        _ = seqloom.trian


def test_load_and_translate(tiny_model):
    model = seqloom.load(str(tiny_model))
    assert isinstance(model.translate("abc"), str)
    assert len(model.translate(["abc", "de"], beam=1)) == 2


def test_evaluate_gives_the_report_of_the_command(tiny_model, tiny_pairs, capsys):
    report = seqloom.evaluate(tiny_model, tiny_pairs, beam=1, quiet=True)
    assert report.sentences > 0
    assert report.about["beam"] == 1
    assert 0 <= report.scores["chrf"].score <= 100
    assert capsys.readouterr().err == ""
    with pytest.raises(seqloom.UsageError, match="beam"):
        seqloom.evaluate(tiny_model, tiny_pairs, beam=0)


def test_score_gives_one_log_probability_per_pair(tiny_model):
    found = seqloom.score(tiny_model, ["abc", "de"], ["cba", "ed"])
    again = seqloom.score(seqloom.Translator.load(tiny_model), ["abc"], ["cba"])
    assert len(found) == 2
    assert found[0].log_prob < 0
    assert math.isclose(found[0].log_prob, again[0].log_prob, rel_tol=1e-4)
    assert len(found[0].token_log_probs) == 4  # three characters and </s>


def test_doctor_takes_one_file_and_a_list_of_pairs_not_of_files(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("one\tun\ntwo\tdeux\n", "utf-8")
    assert not seqloom.doctor(file).hard
    with pytest.raises(seqloom.UsageError, match="Pairs are tuples"):
        seqloom.doctor([file, str(file)])
    with pytest.raises(seqloom.UsageError, match="translate"):
        seqloom.doctor(file, task="translat")


def test_export_says_what_it_cannot_write(tiny_model, tmp_path):
    with pytest.raises(seqloom.UsageError, match="Did you mean 'onnx'"):
        seqloom.export(tiny_model, "onx", tmp_path / "out")


def test_load_vectors_takes_a_name(tmp_path):
    (tmp_path / "words.txt").write_text("cat 1 0\ndog 0 1\n", "utf-8")
    vectors = seqloom.load_vectors(str(tmp_path / "words.txt"))
    assert isinstance(vectors, seqloom.WordVectors)
    assert vectors.similarity("cat", "dog") == 0


def test_every_error_can_be_caught_as_one():
    names = ("UsageError", "InUse", "DataError", "ModelError", "TrainingError", "Interrupted")
    assert all(issubclass(getattr(seqloom, name), seqloom.SeqloomError) for name in names)
    with pytest.raises(seqloom.SeqloomError):
        seqloom.load("no such folder")


def test_the_version_is_the_newest_of_the_changelog():
    page = (Path(__file__).parents[2] / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## ([\d.]+)", page, re.MULTILINE)[1] == seqloom.__version__, (
        "the newest heading of the changelog"
    )


def test_what_is_pinned_is_what_is_asked_for():
    """Every package that the project names has one line in constraints.txt, and no other package has."""
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    pins = [line for line in (root / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert sorted(line.partition("==")[0] for line in pins) == sorted({re.split(r"[\[>]", line)[0] for line in asked})
