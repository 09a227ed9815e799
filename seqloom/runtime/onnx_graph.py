"""Runs one ONNX graph that has been checked: arrays by name in, arrays by name out, within a budget of memory and time.

A graph without a loop can still multiply large matrices thousands of times. How long an honest one takes follows from
its weights: each row multiplies with each weight once. What goes beyond that comes from a reserve, and once it is used
up, a thread that looks once per second ends the run.
"""

import time
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

from numpy.typing import NDArray

from seqloom.errors import ModelError
from seqloom.files.reading import read_file
from seqloom.runtime.onnx_check import check_graph

Arrays = dict[str, NDArray[Any]]
LARGEST = 2**31 - 1  # bytes of a file: the format knows no longer one
BUDGET = 2**29  # bytes for what all graphs compute at a time; their weights are not part of it


RESERVE = 30.0  # seconds that a graph may take longer than an honest one on a slow machine; faster runs refill it
ROWS = ("tokens", "token")  # the input with one number per row
PACE = 2e7  # bytes of weights per second and row; the slowest machines reach ten times as many
RUNNING: dict[int, tuple[float, Any]] = {}  # the runs of this process: when each must have ended, and its options


class OverBudget(ModelError):
    """A graph asked for more memory than `BUDGET` on these inputs; fewer rows need less."""


class Graph:
    def __init__(self, session: Any, file: Path, size: int) -> None:
        self.session, self.file, self.size = session, file, size  # in bytes
        self.reserve = RESERVE
        self.inputs, self.outputs = (
            [part.name for part in side] for side in (session.get_inputs(), session.get_outputs())
        )

    def run(self, given: Arrays) -> Arrays:
        import onnxruntime

        options, began = onnxruntime.RunOptions(), time.monotonic()
        usual = sum(given[name].size for name in ROWS if name in given) * self.size / PACE
        RUNNING[id(options)] = began + usual + self.reserve, options
        try:
            return dict(zip(self.outputs, self.session.run(self.outputs, given, options), strict=True))
        except Exception as error:  # a different class for each fault
            if options.terminate:
                raise ModelError(f"{self.file}: takes far longer than a graph of its size; it was stopped.") from None
            if "available memory" in str(error).lower() or "allocate memory" in str(error).lower():
                raise OverBudget(f"{self.file}: needs more than {BUDGET >> 20} MB for these texts.") from None
            reason = " ".join(str(error).split())[:200]
            raise ModelError(f"{self.file}: ONNX Runtime cannot run it: {reason}") from None
        finally:
            del RUNNING[id(options)]
            saved = usual - (time.monotonic() - began)
            self.reserve = max(0.0, min(RESERVE, self.reserve + saved))


def read_graph(file: Path) -> bytes:
    """Read the file of a graph; ValueError if it is not one of ours."""
    content = read_file(file, LARGEST)
    check_graph(content)
    return content


def open_graph(file: Path, threads: int) -> Graph:
    """Check a graph and load it; ValueError or an error of ONNX Runtime if it is not one of ours."""
    import onnxruntime

    content = read_graph(file)
    share_a_budget()
    watch_runs()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # its notes and its traces of errors are of no use to us: the error is raised, too
    options.add_session_config_entry("session.use_env_allocators", "1")
    options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
    return Graph(onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"]), file, len(content))


@cache
def share_a_budget() -> None:
    """Let all graphs of this process take their memory from one pool of limited size."""
    import onnxruntime as runtime

    place = runtime.OrtMemoryInfo("Cpu", runtime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, runtime.OrtMemType.DEFAULT)
    runtime.create_and_register_allocator(place, runtime.OrtArenaCfg({"max_mem": BUDGET}))


@cache
def watch_runs() -> None:
    """Start the thread that ends runs which take too long; the runtime stops between two nodes."""

    def watch() -> None:
        while True:
            time.sleep(1.0)
            now = time.monotonic()
            for end, options in [*RUNNING.values()]:
                if now > end:
                    options.terminate = True

    Thread(target=watch, name="seqloom-graphs", daemon=True).start()
