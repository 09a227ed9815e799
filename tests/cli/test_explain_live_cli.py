"""`seqloom explain --live`: one sentence for everything that a live page cannot be made of."""

import math

import jaxtyping
import pytest
from safetensors import safe_open

from seqloom.cli.app import main


@pytest.fixture
def folder(random_model):
    return str(random_model("model.kind=rnn", "model.attention=additive"))


def test_a_live_page_needs_a_page_a_search_and_few_parameters(folder, random_model, tmp_path, capsys, monkeypatch):
    pytest.importorskip("onnxscript")
    out = str(tmp_path / "page.html")
    reader = str(random_model("task.name=classify", "model.kind=transformer"))
    wrong = [
        ([folder, "a cat", "--live"], "--live puts the model into a page: name one with -o page.html"),
        ([folder, "a cat", "--live", "-o", str(tmp_path / "x.json")], "name one with -o page.html"),
        ([reader, "a cat", "--live", "-o", out], "this one was trained for 'classify': it writes no text"),
        ([folder, "a cat", "--with", reader, "--live", "-o", out], "trained for 'classify'"),
        ([folder, "--view", "curves", "--live", "-o", out], "leave out --live"),
    ]
    for words, message in wrong:
        assert main(["explain", *words]) != 0
        assert message in capsys.readouterr().err
    monkeypatch.setattr("seqloom.formats.live_model.MOST_PARAMETERS", 10)
    assert main(["explain", folder, "a cat", "--live", "-o", out]) != 0
    assert "made for at most 10 parameters; this model has" in capsys.readouterr().err
    assert not list(tmp_path.glob("page*"))


TWO_MILLION = ("model.kind=rnn", "model.cell=gru", "model.attention=additive", "model.width=320", "model.tied=false",
               "model.embed_size=240")  # fmt: skip


@pytest.fixture
def untyped():
    """While a graph is traced, lengths are symbols, which the type checks of tests would fix."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.slow
def test_a_page_of_two_million_parameters_is_below_5_mb(random_model, tmp_path, untyped):
    """All views of a sentence and the weights in 16 bits; random weights compress worst."""
    pytest.importorskip("onnxscript")
    folder, page = random_model(*TWO_MILLION, brief=True), tmp_path / "page.html"
    with safe_open(folder / "model.safetensors", "np") as weights:
        parameters = sum(math.prod(weights.get_slice(name).get_shape()) for name in weights.keys())  # noqa: SIM118
    assert 1_950_000 < parameters < 2_050_000, parameters
    text = "the cat sat on the mat and a dog ran"
    assert main(["explain", str(folder), text, "--target", "the dog sat", "--live", "-o", str(page)]) == 0
    assert 3.5e6 < page.stat().st_size < 5e6
