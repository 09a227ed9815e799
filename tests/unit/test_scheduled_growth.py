"""Scheduled sampling starts with correct words only and grows to its share at the end of the run."""

import pytest
import torch

from seqloom.config import load_config
from seqloom.data.batch import Batch, pad_sources, pad_targets
from seqloom.models.build import build_model
from seqloom.tasks import translate
from seqloom.tasks.build import build_task


@pytest.mark.parametrize(("progress", "share"), [(0.0, None), (0.5, 0.2), (1.0, 0.4)])
def test_the_share_grows_with_progress(progress: float, share: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    config = load_config(None, ["model.width=8", "model.layers=1", "train.scheduled_sampling=0.4"])
    model = build_model(config, 12, 12, True)
    batch = Batch(*pad_sources([[5, 6, 7], [8]]), *pad_targets([[9, 10], [11]]), torch.arange(2))
    asked = []
    monkeypatch.setattr(
        translate, "show_own_words", lambda model, memory, batch, share: asked.append(share) or batch.tgt_in
    )
    build_task(config).loss(model, batch, 0.0, progress)
    assert asked == ([] if share is None else [pytest.approx(share)])
