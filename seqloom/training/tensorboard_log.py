"""TensorBoard's file of events, written by the training thread itself.

The writer that comes with torch has a thread of its own, whose failure on a full disk is printed as a traceback.
"""

import errno
import os
import socket
import time
from pathlib import Path
from typing import Any

from seqloom.files.durable import open_no_link


class Board:
    """Appends numbers by name and step; OSError when they cannot be written. Steps from `purge` on are hidden first."""

    def __init__(self, folder: Path, purge: int) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2  # type: ignore[import-untyped]
        from tensorboard.summary.writer.record_writer import RecordWriter  # type: ignore[import-untyped]

        self.protocol: Any = event_pb2
        self.summary: Any = summary_pb2
        folder.mkdir(exist_ok=True)
        seconds, rest = divmod(time.time_ns(), 10**9)
        name = f"events.out.tfevents.{seconds}.{socket.gethostname()}.{os.getpid()}.{rest}"
        self.file: Any = open_no_link(folder / name, "ab").detach()  # type: ignore[attr-defined]  # without a buffer
        self.records: Any = RecordWriter(self)
        self.add(step=purge, file_version="brain.Event:2")
        self.add(step=purge, session_log=self.protocol.SessionLog(status=self.protocol.SessionLog.START))

    def add_scalar(self, name: str, value: float, step: int) -> None:
        number = self.summary.Summary.Value(tag=name, simple_value=value)
        self.add(step=step, summary=self.summary.Summary(value=[number]))

    def add(self, **fields: Any) -> None:
        self.records.write(self.protocol.Event(wall_time=time.time(), **fields).SerializeToString())

    def write(self, record: bytes) -> None:
        """Write one record whole; a disk that takes only a part of it is full."""
        if self.file.write(record) != len(record):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        self.file.close()
