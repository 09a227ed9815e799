"""The two graphs of a model as JSON that a small interpreter can run; their large arrays are kept apart, each once.

    {"inputs": ["tokens"], "outputs": ["memory.annotations", ...],
     "nodes": [["Gather", ["model.output.weight", "tokens"], ["val_1"], {"axis": 0}], ...],
     "constants": {"model.output.weight": 0, ...},              number of the array
     "recorded": {"decoder.attention": "val_30", ...},          the value that is attention weights, or a gate
     "cells": {"val_7": ["encoder.forward.0", "encoder.backward.0"]}}   the cells of a layer, by its output

The program that runs the graph may change a recorded value as soon as it is computed, to set attention weights or to
switch off a head.
"""

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqloom.formats.trace_onnx import RECORDED
from seqloom.nn.onnx_layer import DIRECTIONS

if TYPE_CHECKING:
    from torch.onnx import ONNXProgram

Array = NDArray[Any]
LAYERS = ("LSTM", "GRU", "RNN")  # operators that are a recurrent layer over time
VIEWS = ("Unsqueeze", "Identity")  # operators that make a view: a recording may be one of the value itself
WHOLE = np.iinfo(np.int32)  # an ONNX graph spells "to the end" with larger numbers


class Arrays:
    """The constants of all graphs: equal ones are kept once."""

    def __init__(self) -> None:
        self.kept: list[Array] = []
        self.numbers: dict[bytes, int] = {}

    def number(self, array: Array) -> int:
        """Keep an array; return its number."""
        key = hashlib.sha256(f"{array.dtype} {array.shape}".encode() + array.tobytes()).digest()
        if key not in self.numbers:
            self.numbers[key] = len(self.kept)
            self.kept.append(array)
        return self.numbers[key]


def graph_as_json(program: "ONNXProgram", arrays: Arrays) -> dict[str, Any]:
    """Return one graph as plain lists and dictionaries; its constants go into `arrays`."""
    graph: Any = program.model.graph
    recorded = {
        value.name.removeprefix(RECORDED): value_behind(value)
        for value in graph.outputs
        if value.name.startswith(RECORDED)
    }
    outputs = [value.name for value in graph.outputs if not value.name.startswith(RECORDED)]
    nodes = needed([as_list(node, arrays) for node in graph], {*outputs, *recorded.values()})
    read = {name for _, inputs, *_ in nodes for name in inputs}
    constants = {
        name: arrays.number(as_array(value.const_value)) for name, value in graph.initializers.items() if name in read
    }
    return {
        "inputs": [value.name for value in graph.inputs],
        "outputs": outputs,
        "nodes": nodes,
        "constants": constants,
        "recorded": recorded,
        "cells": name_cells(nodes),
    }


def name_cells(nodes: list[list[Any]]) -> dict[str, list[str]]:
    """Name the cells of each recurrent layer as a trace does; only an encoder has such nodes, in order."""
    directions = {name: both for both, name in DIRECTIONS.items()}
    layers = [(outputs[0], given) for operator, _, outputs, given in nodes if operator in LAYERS]
    return {
        output: [f"encoder.{direction}.{depth}" for direction in directions[given["direction"]]]
        for depth, (output, given) in enumerate(layers)
    }


def value_behind(value: Any) -> str:
    """Name the value itself if this one is a view of it: the rest of the graph reads the value, not the view."""
    node = value.producer()
    while node is not None and node.op_type in VIEWS and node.inputs[0].producer() is not None:
        value = node.inputs[0]
        node = value.producer()
    return str(value.name)


def needed(nodes: list[list[Any]], wanted: set[str]) -> list[list[Any]]:
    """Return the nodes that the wanted values depend on, in order."""
    kept, wanted = [], set(wanted)
    for node in reversed(nodes):
        _, inputs, outputs, _ = node
        if wanted & set(outputs):
            kept.append(node)
            wanted |= set(inputs)
    return kept[::-1]


def as_list(node: Any, arrays: Arrays) -> list[Any]:
    """Return a node as operator, inputs, outputs, attributes; an input that is left out is ""."""
    attributes: dict[str, Any] = {}
    for name, attribute in node.attributes.items():
        value = attribute.value
        if attribute.type.name == "TENSOR":
            attributes[name] = {"array": arrays.number(as_array(value))}
        else:
            attributes[name] = list(value) if isinstance(value, tuple) else value
    inputs = [value.name if value is not None else "" for value in node.inputs]
    return [node.op_type, inputs, [value.name for value in node.outputs], attributes]


def as_array(tensor: Any) -> Array:
    """Return a constant as float32, int32 or bool."""
    array: Array = np.ascontiguousarray(tensor.numpy()).reshape(tuple(tensor.shape))
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    return array if array.dtype.kind == "b" else array.clip(WHOLE.min, WHOLE.max).astype(np.int32)
