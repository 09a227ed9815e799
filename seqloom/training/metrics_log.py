"""The log of a run: metrics.jsonl, one event per line, and the same numbers in TensorBoard when that is installed.

A resumed run writes the same log as an uninterrupted one, apart from times: events after the checkpoint are removed
first, and an event of the checkpoint's own step that comes again (a repeated validation) is not written twice.
"""

import importlib.util
import json
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from seqloom.errors import ModelError
from seqloom.files.durable import cannot_write, open_no_link, replace_file
from seqloom.files.reading import LOG, parse_json, read_file
from seqloom.training.tensorboard_log import Board


class MetricsLog:
    """The log of a run that continues after `from_step`; 0 starts a new log."""

    def __init__(self, run: Path, from_step: int = 0) -> None:
        self.path = run / "metrics.jsonl"
        kept = cut_after(self.path, from_step)
        self.there = {(event.get("event"), from_step) for event in kept if event.get("step") == from_step}
        try:
            self.file = open_no_link(self.path, "ab")
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
            try:
                mirror(self.board, event)
            except OSError:  # a full disk: metrics.jsonl is the log that matters
                self.board.close()
                self.board = None

    def close(self) -> None:
        self.file.close()
        if self.board is not None:
            self.board.close()

    def __enter__(self) -> "MetricsLog":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def mirror(board: Board, event: Mapping[str, Any]) -> None:
    """Write the numbers of an event for TensorBoard."""
    kind = event.get("event", "train")
    for name, value in event.items():
        if name != "step" and isinstance(value, (int, float)) and not isinstance(value, bool):
            board.add_scalar(f"{kind}/{name}", value, event.get("step", 0))


class NoLog(MetricsLog):
    """The log of a process that writes nothing: of several, process 0 writes it."""

    def __init__(self) -> None:
        pass

    def write(self, event: Mapping[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass


def cut_after(path: Path, from_step: int) -> list[dict[str, Any]]:
    """Keep the whole lines up to that step and return them; the file is replaced whole or not at all."""
    try:
        content = read_file(path, LOG)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error}. Move it away to continue without it.") from None
    kept = [(line, event) for line in content.split(b"\n") if (event := event_before(line, from_step))]
    rest = b"".join(line + b"\n" for line, _ in kept)
    if rest != content:
        replace_file(path, rest)
    return [event for _, event in kept]


def event_before(line: bytes, from_step: int) -> dict[str, Any] | None:
    """Return the event of a line to keep, else None: a new run (from_step 0) keeps none, and no torn line is kept."""
    try:
        event = parse_json(line)
    except ValueError:
        return None
    if not isinstance(event, dict) or not isinstance(event.get("event", ""), str):
        return None
    step = event.get("step", 0)
    return event if isinstance(step, int) and 0 < from_step >= step else None


def finite(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by the words that float() reads."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(part) for part in value]
    return value


def open_board(folder: Path, from_step: int) -> Board | None:
    """A TensorBoard writer whose later steps of a killed run are hidden; None when tensorboard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecation warnings of its dependencies do not concern the user
        try:
            return Board(folder, from_step + 1)
        except Exception:  # installed but broken: metrics.jsonl is the log that matters
            return None
