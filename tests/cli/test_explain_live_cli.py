"""`seqloom explain --live`: one sentence for everything that a live page cannot be made of."""

import pytest

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
