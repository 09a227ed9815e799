"""The page on gates and attention: its code runs, and its names are there."""

from pathlib import Path
from typing import Any

import torch

import seqloom
from seqloom.nn.trace import Trace


def test_the_page_on_looking_inside_says_what_works(random_model, tmp_path, monkeypatch, capsys):
    page = Path(__file__).parents[2].joinpath("docs", "how-to", "look-inside.md").read_text("utf-8")
    code = [block.partition("```")[0] for block in page.split("```python\n")[1:]]
    folder = random_model("model.kind=rnn", "model.cell=gru", "model.attention=additive")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "x").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec("\n".join(code), found)
    assert "keeps 0." in capsys.readouterr().out
    assert found["update"].shape[:2] == (1, len(found["target"]) + 1)
    assert torch.allclose(found["attention"].sum(-1), torch.ones(1, len(found["target"]) + 1))
    for cell, gates in (("lstm", {"input", "forget", "output", "candidate"}), ("rnn", set())):
        model = seqloom.load(random_model("model.kind=rnn", f"model.cell={cell}", "model.attention=additive")).model
        trace = Trace()
        model.encode(found["tokens"], torch.ones_like(found["tokens"], dtype=torch.bool), trace)
        assert {name.rpartition(".")[2] for name in trace.names() if ".gate." in name} == gates
