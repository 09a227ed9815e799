"""Runs one ONNX graph: arrays by name in, arrays by name out."""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


class Graph:
    def __init__(self, session: Any) -> None:
        self.session = session
        self.inputs, self.outputs = (
            [part.name for part in side] for side in (session.get_inputs(), session.get_outputs())
        )

    def run(self, given: Arrays) -> Arrays:
        return dict(zip(self.outputs, self.session.run(self.outputs, given), strict=True))


def open_graph(file: Path, threads: int) -> Graph:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only; its notes on optimising the graph are of no use to us
    return Graph(onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"]))
