"""From a model to its two ONNX graphs, by torch's exporter: every length in them is free."""

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.onnx import ONNXProgram

from seqloom.models.api import Seq2Seq, each_leaf
from seqloom.models.graphs import Axes, EncoderGraph, Example, StepGraph
from seqloom.nn.onnx_layer import use_operators
from seqloom.nn.positions import reach


@torch.no_grad()
def trace_graphs(model: Seq2Seq, places: int) -> tuple[ONNXProgram, ONNXProgram]:
    """The encoder and the step; `places` is how far positions must be known."""
    example = Example.of(model)
    axes = example.axes(Example.of(model, longer=1))
    model = copy.deepcopy(model)
    use_operators(model)
    reach(model, places)
    tensors = {name: tensor.contiguous() for name, tensor in example.tensors.items()}
    states = [name for name in tensors if name.startswith("state.")]
    encoder = trace(
        EncoderGraph(model, axes), (example.tokens,), (free(("batch", "source")),), ["tokens"], list(tensors)
    )
    step = trace(
        StepGraph(model, example),
        (example.token, list(tensors.values())),
        (free(("rows",)), [free(axes[name]) for name in tensors]),
        ["token", *tensors],
        ["log_probs", *(f"next_{name}" for name in states)],
    )
    return encoder, step


def free(axes: Axes) -> dict[int, str]:
    """The axes whose lengths are free, by their places."""
    return {place: axis for place, axis in enumerate(axes) if isinstance(axis, str)}


def trace(
    graph: nn.Module, example: tuple[Any, ...], lengths: tuple[Any, ...], inputs: list[str], outputs: list[str]
) -> ONNXProgram:
    """The graph that runs through the example; `lengths` are the free axes of each of its tensors."""
    with quiet_exporter():
        exported = torch.export.export(
            graph,
            example,
            dynamic_shapes=each_leaf(lambda _: torch.export.Dim.DYNAMIC, lengths),
            strict=False,
            prefer_deferred_runtime_asserts_over_guards=True,  # rows = batch * beams: no axis alone can say so
        )
        program = torch.onnx.export(
            exported, dynamic_shapes=lengths, input_names=inputs, output_names=outputs, verbose=False
        )
    assert program is not None  # only the old exporter returns nothing
    tidy(program)
    return program


def tidy(program: ONNXProgram) -> None:
    """Without inputs that nothing reads, and without the lines of this machine's files that each node came from."""
    graph = program.model.graph
    for value in list(graph.inputs):
        if not value.uses() and not value.is_graph_output():
            graph.inputs.remove(value)
    nodes = list(graph.all_nodes())
    parts: list[Any] = [graph, *nodes, *graph.inputs, *graph.initializers.values()]
    for part in [*parts, *(value for node in nodes for value in node.outputs)]:
        part.metadata_props.clear()


@contextmanager
def quiet_exporter() -> Iterator[None]:
    """It warns of packages that nothing here needs, and of its own old names."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
