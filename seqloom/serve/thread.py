"""One thread for long work. The end of the process does not wait for it, as it would for a ThreadPoolExecutor's."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any


class OneThread(Executor):
    def __init__(self, name: str) -> None:
        self.jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self.thread = Thread(target=self.work, name=name, daemon=True)
        self.busy = False

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **settings: Any) -> Future[Any]:
        if self.thread.ident is None:
            self.thread.start()
        future: Future[Any] = Future()
        self.jobs.put((future, partial(function, *arguments, **settings)))
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = False) -> None:
        """The thread ends when it comes to that; nobody waits."""
        self.jobs.put(None)

    def work(self) -> None:
        for future, function in iter(self.jobs.get, None):
            if not future.set_running_or_notify_cancel():
                continue
            self.busy = True
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
            self.busy = False
