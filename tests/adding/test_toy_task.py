"""Adding a task on pairs is one record; a metric of its own is one row more. CONTRIBUTING.md says so: this does it."""

import numpy as np
import pytest

from seqloom.config import TASKS, TaskRecord
from seqloom.metrics.measures import METRICS, Measurement, Metric, percent


def same_first_letter(outputs, references, target_lang):
    hits = [any(output[:1] == known[:1] for known in one) for output, one in zip(outputs, references, strict=True)]
    return Measurement(np.column_stack([np.array(hits, float), np.ones(len(hits))]), percent, "first:letter")


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(METRICS, "first_letter", Metric("first letter", same_first_letter))
    record = TaskRecord("pairs", "writes", recipe="characters-rnn", metrics=("first_letter", "exact_match"))
    monkeypatch.setitem(TASKS, "backwards", record)
    return "backwards"


def test_a_task_is_trained_measured_and_served(toy, through_every_verb, capsys):
    found = through_every_verb(task=toy)
    assert list(found.report.scores) == ["first_letter", "exact_match"]
    assert found.report.to_json()["first_letter"]["signature"].startswith("first:letter")
    assert found.model.config.task.name == toy
    assert (
        "valid_scores" in (found.folder / "run.json").read_text()
        and "first_letter" in (found.folder / "run.json").read_text()
    )


def test_its_name_is_offered_where_tasks_are_listed(toy, pairs, tmp_path):
    import seqloom
    from seqloom.errors import UsageError

    with pytest.raises(UsageError, match="Did you mean 'backwards'"):
        seqloom.train(pairs, out=tmp_path / "x", task="backward")
