"""Memory grows with hypotheses, not with sentences: the wider the beam, the fewer sentences at once."""

from collections.abc import Callable
from typing import Any

import pytest

from seqloom.decode.options import SearchRequest
from seqloom.runtime import engine_torch
from seqloom.runtime.engine_torch import TorchEngine
from seqloom.runtime.parts import Part

PARTS = [Part([4 + n % 4], place=(n, 0)) for n in range(7)]


@pytest.mark.parametrize(
    ("request_", "sizes"),
    [
        (SearchRequest(beam=1), [5, 2]),  # decode.batch_size
        (SearchRequest(beam=4), [3, 3, 1]),
        (SearchRequest(beam=7, n_best=7), [1] * 7),
        (SearchRequest(beam=2, alternatives=3), [2, 2, 2, 1]),
        (SearchRequest(sample=6), [2, 2, 2, 1]),
        (SearchRequest(sample=2, mbr=6), [2, 2, 2, 1]),
        (SearchRequest(beam=8), [1] * 7),
        (SearchRequest(beam=5, alternatives=3), [1] * 7),  # more than fit: two at a time
    ],
)
def test_a_batch_holds_at_most_so_many_rows(
    request_: SearchRequest, sizes: list[int], make_model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_torch, "MOST_ROWS", 12)
    engine = TorchEngine(make_model(1, end=3.0), batch_size=5)
    seen, remember = [], engine.remember
    monkeypatch.setattr(engine, "remember", lambda batch: seen.append(len(batch)) or remember(batch))
    found = engine.find(request_.filled(), PARTS)
    assert seen == sizes
    assert [len(answer) for answer in found] == [request_.num] * len(PARTS)
    rows = max(rows for _, rows in engine.model.rows_seen)
    assert rows <= 12
