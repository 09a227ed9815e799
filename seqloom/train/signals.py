"""Ctrl-C and SIGTERM: the first asks training to save and stop, the second leaves at once."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SHOW_CURSOR = "\x1b[?25h"


class StopFlag:
    """False until a signal came; the loop asks between steps."""

    def __init__(self) -> None:
        self.signal = 0

    def __bool__(self) -> bool:
        return self.signal != 0

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process that a signal ended: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self.signal

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self:
            tell(SHOW_CURSOR if sys.stderr.isatty() else "")  # a live bar hides it
            os._exit(128 + number)
        self.signal = number
        tell("\nsaving, press Ctrl-C again to leave at once\n")


def tell(text: str) -> None:
    """Straight to the terminal: the signal may have come in the middle of a print, which must not be entered twice."""
    with suppress(OSError):  # nobody is listening; the flag is set all the same
        os.write(2, text.encode())


@contextmanager
def stop_requested() -> Iterator[StopFlag]:
    """Turn SIGINT and SIGTERM into a flag while inside; outside the main thread, where Python forbids it, never set."""
    flag = StopFlag()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = {number: signal.signal(number, flag.on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield flag
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
