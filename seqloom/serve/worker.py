"""A thread for long work: the end of the process does not wait for it, and a stuck one can be left behind."""

import ctypes
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any


class OneThread(Executor):
    """One thread for long work. The end of the process does not wait for it, as it would for a ThreadPoolExecutor."""

    def __init__(self, name: str) -> None:
        self.jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self.thread = Thread(target=self.work, name=name, daemon=True)
        self.since: float | None = None  # when the job that runs was begun
        self.abandoned = False

    @property
    def busy(self) -> bool:
        return self.since is not None

    @property
    def seconds(self) -> float:
        """For how long it has been working on its job."""
        since = self.since
        return 0.0 if since is None else time.monotonic() - since

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **settings: Any) -> Future[Any]:
        if self.thread.ident is None:
            self.thread.start()
        future: Future[Any] = Future()
        self.jobs.put((future, partial(function, *arguments, **settings)))
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = False) -> None:
        """Let the thread end when its work is done, without waiting for it."""
        self.jobs.put(None)

    def abandon(self) -> None:
        """Leave the thread behind. Python code in it is ended at its next step; a library cannot be stopped."""
        self.abandoned = True
        self.shutdown()
        if self.busy and self.thread.ident is not None:
            set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
            set_exception(ctypes.c_ulong(self.thread.ident), ctypes.py_object(SystemExit))

    def work(self) -> None:
        """Do one job after the other. Whatever a job raises, a panic of a Rust library too, is its result."""
        for future, function in iter(self.jobs.get, None):
            if not future.set_running_or_notify_cancel():
                continue
            self.since = time.monotonic()
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error if isinstance(error, Exception) else RuntimeError(type(error).__name__))
            finally:
                self.since = None
