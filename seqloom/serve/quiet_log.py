"""A log that clients cannot fill: only some messages of each kind are written per minute, the rest is counted.

Broken requests and faults of connections each write a line or a traceback, and a client can send thousands per second.
"""

import logging
import time

LOGGERS = ("uvicorn.error", "asyncio", "seqloom.serve")
PER_MINUTE = 10


class Seldom(logging.Filter):
    """Lets so many records per minute and kind through; the first one of the next minute says how many are missing."""

    def __init__(self, per_minute: int = PER_MINUTE) -> None:
        super().__init__()
        self.per_minute = per_minute
        self.minute = 0
        self.seen: dict[str, int] = {}
        self.left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self.minute:
            self.left_out = {kind: n - self.per_minute for kind, n in self.seen.items() if n > self.per_minute}
            self.minute, self.seen = minute, {}
        kind = f"{record.name} {record.msg!s:.80}"
        self.seen[kind] = self.seen.get(kind, 0) + 1
        if self.seen[kind] == 1 and (more := self.left_out.pop(kind, 0)):
            record.msg = f"{record.msg} ({more} more like this in the minute before)"
        return self.seen[kind] <= self.per_minute


SELDOM = Seldom()


def keep_logs_short() -> None:
    for name in LOGGERS:
        logging.getLogger(name).addFilter(SELDOM)
