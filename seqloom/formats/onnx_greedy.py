"""Greedy search with the two graphs of `seqloom export --format onnx`, using only the description in onnx.json."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqloom.decode.hypothesis import Hypothesis, finish
from seqloom.files.reading import SETTINGS, read_json
from seqloom.runtime.onnx_graph import open_graph


class OnnxGreedy:
    def __init__(self, folder: Path, threads: int = 1) -> None:
        self.about: dict[str, Any] = read_json(folder / "onnx.json", SETTINGS)
        self.ids = self.about["ids"]
        self.encoder, self.step = (
            open_graph(folder / self.about[name]["file"], threads) for name in ("encoder", "step")
        )

    def search(self, sources: Sequence[Sequence[int]]) -> list[Hypothesis]:
        """The output for each source (a list of ids), all in one batch."""
        if not sources:
            return []
        made = self.encoder.run({"tokens": self.padded(sources)})
        limits = [self.limit(len(ids) + 1) for ids in sources]
        token, origin = np.full(len(sources), self.ids["begin"]), "first"
        written: list[NDArray[Any]] = []
        log_probs: list[NDArray[Any]] = []
        while not self.done(written, limits):
            feeds = {each["name"]: made[each[origin]] for each in self.about["step"]["inputs"] if origin in each}
            made |= self.step.run({"token": token, **feeds})
            made["log_probs"][:, self.ids["never"]] = -np.inf
            token, origin = made["log_probs"].argmax(1), "then"
            written.append(token)
            log_probs.append(made["log_probs"].max(1))
        return [self.cut(*row) for row in zip(np.transpose(written), np.transpose(log_probs), limits, strict=True)]

    def padded(self, sources: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        longest = max(map(len, sources)) + 1
        rows = [[*ids, self.ids["end"], *[self.ids["pad"]] * (longest - len(ids) - 1)] for ids in sources]
        return np.array(rows, np.int64)

    def limit(self, source_length: int) -> int:
        rule = self.about["output_tokens"]
        return int(rule["each_source_token"] * source_length + rule["and"])

    def done(self, written: list[NDArray[Any]], limits: list[int]) -> bool:
        """Whether every row has ended or has reached its length limit."""
        ended = np.any(np.array(written) == self.ids["end"], 0) if written else np.zeros(len(limits), bool)
        return bool(np.all(ended | (np.array(limits) <= len(written))))

    def cut(self, written: NDArray[Any], log_probs: NDArray[Any], limit: int) -> Hypothesis:
        """The output of a row up to its own end; the batch may have continued for other rows."""
        ends = np.flatnonzero(written == self.ids["end"])
        length = min([limit, *(ends[:1] + 1)])
        return finish(written[:length].tolist(), float(log_probs[:length].sum()), 1.0)
