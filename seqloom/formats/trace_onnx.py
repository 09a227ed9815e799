"""Traces a model into its two ONNX graphs with torch's exporter; batch size and lengths stay free."""

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.onnx import ONNXProgram

from seqloom.formats.onnx_contract import HIDDEN, Axes, EncoderGraph, Example, StepGraph, recordings
from seqloom.models.api import Seq2Seq, each_leaf
from seqloom.nn.onnx_layer import use_operators
from seqloom.nn.positions import reach

RECORDED = "recorded."  # begins the name of an output that a trace recorded


@torch.no_grad()
def trace_graphs(model: Seq2Seq, places: int, recording: bool = False) -> tuple[ONNXProgram, ONNXProgram]:
    """The graphs of encoder and step; `places` is the number of positions that must be stored.

    With `recording` they also return, as `recorded.*`, the attention weights and the decoder's gates and states.
    """
    example = Example.of(model)
    axes = example.axes(Example.of(model, longer=1))
    model = copy.deepcopy(model)
    use_operators(model)
    reach(model, places)
    of_encoder, of_step = recordings(model) if recording else ([], [])
    tensors = {name: tensor.contiguous() for name, tensor in example.tensors.items()}
    states = [name for name in tensors if name.startswith("state.")]
    encoder = trace(
        EncoderGraph(model, axes, of_encoder),
        (example.tokens,),
        (free(("batch", "source")),),
        ["tokens"],
        [*tensors, *(f"{RECORDED}{name}" for name in of_encoder)],
    )
    step = trace(
        StepGraph(model, example, of_step),
        (example.token, list(tensors.values())),
        (free(("rows",)), [free(axes[name]) for name in tensors]),
        ["token", *tensors],
        [
            "log_probs",
            *(f"next_{name}" for name in states),
            *(f"{RECORDED}{name}" for name in of_step),
            *([f"{RECORDED}{HIDDEN}"] if of_step else []),
        ],
    )
    return encoder, step


def free(axes: Axes) -> dict[int, str]:
    """The names of the axes whose lengths are free, by index."""
    return {place: axis for place, axis in enumerate(axes) if isinstance(axis, str)}


def trace(
    graph: nn.Module, example: tuple[Any, ...], lengths: tuple[Any, ...], inputs: list[str], outputs: list[str]
) -> ONNXProgram:
    """Trace the graph with the example inputs; `lengths` are the free axes of each input."""
    with quiet_exporter():
        exported = torch.export.export(
            graph,
            example,
            dynamic_shapes=each_leaf(lambda _: torch.export.Dim.DYNAMIC, lengths),
            strict=False,
            prefer_deferred_runtime_asserts_over_guards=True,  # no axis alone shows that rows = batch * beams
        )
        program = torch.onnx.export(
            exported, dynamic_shapes=lengths, input_names=inputs, output_names=outputs, verbose=False
        )
    assert program is not None  # only the old exporter returns nothing
    tidy(program)
    return program


def tidy(program: ONNXProgram) -> None:
    """Remove inputs that no node reads, and metadata with paths of this machine."""
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
    """Silence the exporter: it warns about packages that are not needed here, and about its own deprecated names."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
