"""Workers on a Ray cluster: Ray decides where a chunk is computed, and repeats it elsewhere if a machine is lost.

A chunk is a Ray task and not a call of an actor, so that work moves freely between machines that come and go. Ray keeps
its processes, and each process keeps the model it has loaded. Only the process that started the command writes files:
the machines share the model's folder under the same path, and nothing else.
"""

import os
import socket
from typing import Any

from seqloom.errors import UsageError
from seqloom.scale.work import Chunk, Job, Lost, Outcome, attempt

LOCAL = "local"
QUEUED = 2  # chunks per place in the cluster: one runs, one waits, so that no place waits for the network
RETRIES = 3  # by Ray, when the machine or process of a chunk is lost
REACH_SECONDS = 10.0
AGAIN_SECONDS = 0.5  # how often new machines are noticed
HTTP2_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # Ray speaks gRPC over HTTP/2
FRAME_HEADER, SETTINGS_FRAME = 9, b"\x04"  # a server begins with its settings, too


class RayWorkers:
    """All places of a Ray cluster, or `number` of them."""

    def __init__(self, job: Job, address: str, number: int | None) -> None:
        self.ray = connected(address, number)
        self.number, self.threads = number, job.threads
        self.job = self.ray.put(job)
        options = {"num_cpus": job.threads, "max_retries": RETRIES}
        self.task = self.ray.remote(**options)(attempt)
        self.running: dict[Any, int] = {}  # reference -> number of the chunk

    def room(self) -> int:
        most = self.number or QUEUED * max(1, int(self.ray.cluster_resources().get("CPU", 1)) // self.threads)
        return most - len(self.running)

    def give(self, chunk: Chunk) -> None:
        self.running[self.task.remote(self.job, chunk.content)] = chunk.number

    def wait(self) -> list[tuple[int, Outcome]]:
        done, _ = self.ray.wait([*self.running], num_returns=1, timeout=AGAIN_SECONDS)
        return [(self.running.pop(reference), self.outcome(reference)) for reference in done]

    def outcome(self, reference: Any) -> Outcome:
        try:
            found: Outcome = self.ray.get(reference)
            return found
        except self.ray.exceptions.RayError as error:
            return Lost(f"Ray: {str(error).splitlines()[0]}")

    def close(self) -> None:
        for reference in self.running:
            self.ray.cancel(reference, force=True)
        self.ray.shutdown()


def connected(address: str, number: int | None) -> Any:
    """The module ray, connected to the cluster; a UsageError if it is not installed or not reachable."""
    try:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before the import: nothing is reported to anyone
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # what Ray will do by default
        import ray
    except ImportError:
        raise UsageError(
            f"--ray {address}: Ray is not installed: pip install 'seqloom[scale]'. On one machine, --workers N needs "
            "no Ray."
        ) from None
    refuse_unreachable(address)
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    try:
        if address == LOCAL:
            ray.init(address=LOCAL, num_cpus=number, include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError, ImportError, TimeoutError) as error:
        raise UsageError(unreachable(address, str(error).splitlines()[0] if str(error) else "no reason")) from None
    return ray


def refuse_unreachable(address: str) -> None:
    """Try HOST:PORT first: Ray itself would wait for minutes, also for a program that is not Ray."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address in (LOCAL, "auto"):
        return
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"--ray {address}: want HOST:PORT, ray://HOST:PORT, auto or {LOCAL}")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS) as connection:
            connection.sendall(HTTP2_HELLO)
            greeting = connection.recv(FRAME_HEADER)
    except TimeoutError:
        raise UsageError(unreachable(address, f"no answer within {REACH_SECONDS:g} seconds")) from None
    except OSError as error:
        raise UsageError(unreachable(address, (error.strerror or str(error)).lower())) from None
    if greeting[3:4] != SETTINGS_FRAME:
        raise UsageError(unreachable(address, "another program answers" if greeting else "the connection was closed"))


def unreachable(address: str, why: str) -> str:
    return (
        f"--ray {address}: no Ray cluster can be reached there ({why}). `ray start --head` starts one and prints its "
        f"address; --ray {LOCAL} uses this machine alone."
    )
