"""Training curves from the log, also of a run that is still writing it."""

import pytest

from seqloom.errors import UsageError
from seqloom.inside.curves import training_curves

LOG = """{"event": "train", "step": 10, "loss": 5.5, "lr": 0.1, "gradient_norm": "nan", "tokens_per_second": 100}
{"event": "train", "step": 20, "loss": 4.5, "lr": 0.2, "gradient_norm": 1.5, "clipped_share": 0.5}
{"event": "valid", "step": 20, "loss": 4.0, "bleu": 3.5, "samples": ["x"]}
[1, 2]
{"event": "train", "step": "x", "loss": 1}
{"event": "train", "step": 30, "lo"""


def test_curves_of_two_runs(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text(LOG)
    found = training_curves([tmp_path / "a", tmp_path / "b"])
    assert [curve.run for curve in found] == ["a"] * 7 + ["b"] * 7
    by_name = {curve.name: (curve.steps, curve.values) for curve in found[:7]}
    assert by_name == {
        "loss": ([10, 20], [5.5, 4.5]),
        "validation loss": ([20], [4.0]),
        "validation bleu": ([20], [3.5]),
        "learning rate": ([10, 20], [0.1, 0.2]),
        "gradient norm": ([20], [1.5]),
        "share of clipped steps": ([20], [0.5]),
        "tokens per second": ([10], [100]),
    }


def test_a_folder_without_a_log_is_a_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"it has no metrics.jsonl, so there are no curves"):
        training_curves([tmp_path])
    with pytest.raises(UsageError, match="no such folder"):
        training_curves([tmp_path / "x"])
