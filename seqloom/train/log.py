"""metrics.jsonl, one event a line, and the same numbers in TensorBoard when that is installed.

A resumed run writes the log an uninterrupted one would have written (times aside): what lies after the checkpoint it
goes on from is cut off first, and an event of that very step which comes again (a validation made up) is not repeated.
"""

import importlib.util
import json
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from seqloom.train.durable import cannot_write, replace_file


class MetricsLog:
    """The log of a run that goes on from `from_step`; 0 = from the beginning, so nothing earlier is kept."""

    def __init__(self, run: Path, from_step: int = 0) -> None:
        self.path = run / "metrics.jsonl"
        kept = cut_after(self.path, from_step)
        self.there = {(event.get("event"), from_step) for event in kept if event.get("step") == from_step}
        try:
            self.file = self.path.open("ab")
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self.board = open_board(run / "tensorboard", from_step)

    def write(self, event: Mapping[str, Any]) -> None:
        """Append one event, e.g. {"event": "train", "step": 20, "loss": 4.1}; it is in the file when this returns."""
        if (event.get("event"), event.get("step")) in self.there:
            return
        line = json.dumps(finite(event), allow_nan=False) + "\n"
        try:
            self.file.write(line.encode())
            self.file.flush()
        except OSError as error:
            raise cannot_write(self.path, error) from error
        if self.board is not None:
            self.mirror(event)

    def mirror(self, event: Mapping[str, Any]) -> None:
        kind = event.get("event", "train")
        for name, value in event.items():
            if name != "step" and isinstance(value, (int, float)) and not isinstance(value, bool):
                self.board.add_scalar(f"{kind}/{name}", value, event.get("step", 0))
        self.board.flush()  # a killed run is read too

    def close(self) -> None:
        self.file.close()
        if self.board is not None:
            self.board.close()

    def __enter__(self) -> "MetricsLog":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def cut_after(path: Path, from_step: int) -> list[dict[str, Any]]:
    """Keep the whole lines up to that step and return them; the file is replaced at once or stays as it is."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    kept = [(line, event) for line in content.split(b"\n") if (event := event_before(line, from_step))]
    rest = b"".join(line + b"\n" for line, _ in kept)
    if rest != content:
        replace_file(path, rest)
    return [event for _, event in kept]


def event_before(line: bytes, from_step: int) -> dict[str, Any] | None:
    """The event of a line that stays: from_step 0 is a new run, and a line torn by a kill is no event."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and 0 < from_step >= event.get("step", 0) else None


def finite(value: Any) -> Any:
    """JSON knows no NaN and no infinity: they become the words that float() reads."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(part) for part in value]
    return value


def open_board(folder: Path, from_step: int) -> Any:
    """A TensorBoard writer whose later steps of a killed run are hidden; None when tensorboard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own dependencies' deprecations are nobody's business here
        try:
            from torch.utils.tensorboard import SummaryWriter

            return SummaryWriter(str(folder), purge_step=from_step + 1)
        except Exception:  # installed but broken: the log in metrics.jsonl is the one that counts
            return None
