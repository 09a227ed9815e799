"""Runs one ONNX graph that has been checked: arrays by name in, arrays by name out, within a budget of memory."""

from functools import cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from seqloom.errors import ModelError
from seqloom.files.reading import read_file
from seqloom.runtime.onnx_check import check_graph

Arrays = dict[str, NDArray[Any]]
LARGEST = 2**31 - 1  # bytes of a file: the format knows no longer one
BUDGET = 2**29  # bytes for what all graphs compute at a time; their weights are not part of it


class OverBudget(ModelError):
    """A graph asked for more memory than `BUDGET` on these inputs; fewer rows need less."""


class Graph:
    def __init__(self, session: Any, file: Path) -> None:
        self.session, self.file = session, file
        self.inputs, self.outputs = (
            [part.name for part in side] for side in (session.get_inputs(), session.get_outputs())
        )

    def run(self, given: Arrays) -> Arrays:
        try:
            return dict(zip(self.outputs, self.session.run(self.outputs, given), strict=True))
        except Exception as error:  # a different class for each fault
            if "available memory" in str(error).lower() or "allocate memory" in str(error).lower():
                raise OverBudget(f"{self.file}: needs more than {BUDGET >> 20} MB for these texts.") from None
            reason = " ".join(str(error).split())[:200]
            raise ModelError(f"{self.file}: ONNX Runtime cannot run it: {reason}") from None


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
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # its notes and its traces of errors are of no use to us: the error is raised, too
    options.add_session_config_entry("session.use_env_allocators", "1")
    options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
    return Graph(onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"]), file)


@cache
def share_a_budget() -> None:
    """Let all graphs of this process take their memory from one pool of limited size."""
    import onnxruntime as runtime

    place = runtime.OrtMemoryInfo("Cpu", runtime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, runtime.OrtMemType.DEFAULT)
    runtime.create_and_register_allocator(place, runtime.OrtArenaCfg({"max_mem": BUDGET}))
