"""Memory grows with hypotheses, not with sentences: the wider a search, the fewer sentences it takes at once."""

from collections.abc import Callable
from typing import Any

import pytest

from seqloom.decode.options import SampleOptions, SearchOptions
from seqloom.runtime import engine_torch
from seqloom.runtime.engine_torch import TorchEngine
from seqloom.runtime.parts import Part
from seqloom.runtime.requests import Alternatives, Request, Sample, Search

PARTS = [Part([4 + n % 4], place=(n, 0)) for n in range(7)]


@pytest.mark.parametrize(
    ("request_", "sizes"),
    [
        (Search(SearchOptions(beam=1)), [5, 2]),  # decode.batch_size
        (Search(SearchOptions(beam=4)), [3, 3, 1]),
        (Search(SearchOptions(beam=7, n_best=7)), [1] * 7),
        (Alternatives(SearchOptions(beam=2), num=3), [2, 2, 2, 1]),
        (Sample(SearchOptions(), SampleOptions(6), seed=1), [2, 2, 2, 1]),
        (Search(SearchOptions(beam=8)), [1] * 7),
        (Alternatives(SearchOptions(beam=5), num=3), [1] * 7),  # more than fit: two at a time
    ],
)
def test_a_batch_holds_at_most_so_many_rows(
    request_: Request, sizes: list[int], make_model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_torch, "MOST_ROWS", 12)
    engine = TorchEngine(make_model(1, end=3.0), batch_size=5)
    seen, remember = [], engine.remember
    monkeypatch.setattr(engine, "remember", lambda batch: seen.append(len(batch)) or remember(batch))
    found = engine.find(request_, PARTS)
    assert seen == sizes
    assert [len(answer) for answer in found] == [request_.num] * len(PARTS)
    rows = max(rows for _, rows in engine.model.rows_seen)
    assert rows <= 12
