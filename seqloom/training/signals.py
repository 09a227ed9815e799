"""Ctrl-C and SIGTERM: the first asks training to save and stop, the second leaves at once."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SHOW_CURSOR = "\x1b[?25h"
ERASE_LINE = "\r\x1b[2K"  # the bar, which is drawn again below the message
NEW_LINE = "\n"
SAME_SIGNAL = 5.0  # seconds


class StopFlag:
    """False until a signal has come; the loop checks it between steps."""

    def __init__(self) -> None:
        self.signal = 0

    def __bool__(self) -> bool:
        return self.signal != 0

    @property
    def exit_code(self) -> int:
        """The exit code of a process that a signal ended: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self.signal

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self:
            tell(SHOW_CURSOR if draws_bars() else "")  # a live bar hides the cursor
            os._exit(128 + number)
        self.signal = number
        tell(f"{ERASE_LINE if draws_bars() else NEW_LINE}saving, press Ctrl-C again to leave at once\n")


class SharedStop(StopFlag):
    """The flag of one of several processes: true when all of them know of a signal that came to any of them.

    torchrun passes the Ctrl-C of a terminal on to processes that had it from the terminal already: a second signal
    within a few seconds is the same one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.heard = 0  # the signal that came to this process
        self.since = 0.0

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.heard and time.monotonic() > self.since + SAME_SIGNAL:
            os._exit(128 + number)
        if not self.heard:
            self.heard, self.since = number, time.monotonic()


def draws_bars() -> bool:
    """Whether standard error is a terminal that shows a live bar (`seqloom.progress`)."""
    return os.isatty(2) and os.environ.get("TERM") != "dumb"


def tell(text: str) -> None:
    """Write straight to the terminal: the signal may have come in the middle of a print, which must not run twice."""
    with suppress(OSError):  # no terminal; the flag is set all the same
        os.write(2, text.encode())


@contextmanager
def stop_requested(shared: bool = False) -> Iterator[StopFlag]:
    """Turn SIGINT and SIGTERM into a flag while inside; outside the main thread the flag is never set."""
    flag = SharedStop() if shared else StopFlag()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = {number: signal.signal(number, flag.on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield flag
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
