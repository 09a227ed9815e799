"""Progress display: a live bar on a terminal, otherwise a plain line every few seconds.

with make_progress("train", total=2000, start=500) as progress:
    progress.update(520, {"loss": 3.2, "lr": 3e-4, "tokens_per_second": 9000.0, "mfu": 0.45})
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TextIO

Fields = Mapping[str, float | str]

FORMATS: dict[str, Callable[[Any], str]] = {
    "loss": lambda x: f"loss {x:.3f}",
    "lr": lambda x: f"lr {x:.2e}",
    "tokens_per_second": lambda x: f"{x:,.0f} tokens/s",
    "mfu": lambda x: f"MFU {x:.0%}",
}


def make_progress(
    label: str,
    total: int | None = None,
    *,
    budget_seconds: float | None = None,
    unit: str = "step",
    start: int = 0,
    spent_seconds: float = 0.0,
    stream: TextIO | None = None,
    quiet: bool = False,
) -> "Progress":
    """Progress towards `total` units or the end of the time budget, whichever comes first; without both it only counts.

    A resumed run gives its starting point (`start`, `spent_seconds`), so that the ETA does not count earlier work.
    """
    stream = stream or sys.stderr
    pace = Pace(total, budget_seconds, start, spent_seconds)
    if quiet:
        return Progress(label, unit, pace)
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        return LiveBar(label, unit, pace, stream)
    return PlainLines(label, unit, pace, stream)


class Pace:
    """Computes the share of the work that is done and the remaining seconds, from units done and time elapsed."""

    def __init__(self, total: int | None, budget: float | None, start: int = 0, spent: float = 0.0) -> None:
        self.total, self.budget, self.start, self.spent = total, budget, start, spent
        self.made = self.began = time.monotonic()

    def begin(self) -> None:
        """Start measuring speed now: the time since construction (set-up) counts for the budget, not for the speed."""
        self.began = time.monotonic()

    def share(self, done: int) -> float | None:
        """Share of the work that is done, 0 to 1; None if neither total nor budget is known."""
        shares = []
        if self.total:
            shares.append(done / self.total)
        if self.budget:
            shares.append((self.spent + self.seconds()) / self.budget)
        return min(1.0, max(shares)) if shares else None

    def seconds_left(self, done: int) -> float | None:
        """Estimated remaining seconds; None if unknown."""
        ends = []
        if self.total and done > self.start:
            ends.append((self.total - done) * (time.monotonic() - self.began) / (done - self.start))
        if self.budget:
            ends.append(self.budget - self.spent - self.seconds())
        return max(0.0, min(ends)) if ends else None

    def seconds(self) -> float:
        return time.monotonic() - self.made


class Progress:
    """Base class, also used for `quiet`: shows nothing."""

    def __init__(self, label: str, unit: str, pace: Pace) -> None:
        self.label, self.unit, self.pace = label, unit, pace

    def update(self, done: int, fields: Fields | None = None) -> None:
        """Show that `done` units are finished, with these fields beside (known names in their own format)."""

    def finish(self, done: int, fields: Fields | None = None, *, stopped: bool = False) -> None:
        """Show the last state, without an ETA: the end, or where the work was stopped."""

    def message(self, text: str) -> None:
        """Print a message that stays visible: above the bar, or as a line of its own."""

    def close(self) -> None:
        """End the display; the last state stays visible."""

    def __enter__(self) -> "Progress":
        self.pace.begin()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def count(self, done: int) -> str:
        of = f"/{self.pace.total:,}" if self.pace.total else ""
        return f"{self.unit} {done:,}{of}"


class PlainLines(Progress):
    """For files and pipes: prints the first update at once, then one line per `interval` seconds, and the last one."""

    def __init__(self, label: str, unit: str, pace: Pace, stream: TextIO, interval: float = 10.0) -> None:
        super().__init__(label, unit, pace)
        self.stream, self.interval = stream, interval
        self.next_time = 0.0
        self.waiting: str | None = None
        self.last = -1  # the units done of the newest line, written or waiting

    def update(self, done: int, fields: Fields | None = None) -> None:
        line = self.line(done, fields or {}, self.pace.share(done), self.pace.seconds_left(done))
        self.last, self.waiting = done, line
        if time.monotonic() >= self.next_time:
            self.next_time = time.monotonic() + self.interval
            self.write_waiting()

    def finish(self, done: int, fields: Fields | None = None, *, stopped: bool = False) -> None:
        if done != self.last or self.waiting is not None:
            share = self.pace.share(done) if stopped else 1.0
            self.last, self.waiting = done, self.line(done, fields or {}, share, None)
        self.write_waiting()

    def message(self, text: str) -> None:
        self.write_waiting()  # keeps the order
        print(text, file=self.stream, flush=True)

    def close(self) -> None:
        self.write_waiting()

    def write_waiting(self) -> None:
        if self.waiting is not None:
            print(self.waiting, file=self.stream, flush=True)
            self.waiting = None

    def line(self, done: int, fields: Fields, share: float | None, left: float | None) -> str:
        parts = [f"{self.label}: {self.count(done)}"]
        parts += [f"{share:.0%}"] if share is not None else []
        parts += show(fields)
        parts += [f"ETA {clock(left)}"] if left is not None else []
        return "  ".join(parts)


class LiveBar(Progress):
    """For a terminal: one line, redrawn by rich."""

    def __init__(self, label: str, unit: str, pace: Pace, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        super().__init__(label, unit, pace)
        text = TextColumn("{task.fields[text]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
        self.bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            text,
            console=Console(file=stream, force_terminal=True),
            refresh_per_second=4,
            redirect_stdout=False,  # standard output is for data; what is printed to sys.stderr appears above the bar
        )
        self.task = self.bar.add_task(label, total=1.0 if pace.share(0) is not None else None, text="")

    def update(self, done: int, fields: Fields | None = None) -> None:
        share, left = self.pace.share(done), self.pace.seconds_left(done)
        parts = [self.count(done), *show(fields or {})]
        parts += [f"ETA {clock(left)}"] if left is not None else []
        self.bar.start()  # not before the first update: an error before it would leave the cursor hidden
        self.bar.update(self.task, completed=share or 0.0, text="  ".join(parts))

    def finish(self, done: int, fields: Fields | None = None, *, stopped: bool = False) -> None:
        self.bar.start()
        share = self.pace.share(done) or 0.0 if stopped else 1.0
        text = "  ".join([self.count(done), *show(fields or {})])
        self.bar.update(self.task, total=1.0, completed=share, text=text)

    def message(self, text: str) -> None:
        self.bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        self.bar.stop()


def show(fields: Fields) -> list[str]:
    """Fields as text: known names in their own format, others as `name value`."""
    return [FORMATS[name](value) if name in FORMATS else f"{name} {plain(value)}" for name, value in fields.items()]


def plain(value: float | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def clock(seconds: float) -> str:
    """A duration as text: 75 -> 1m15s, 4000 -> 1h06m."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
