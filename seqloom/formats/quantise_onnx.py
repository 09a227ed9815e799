"""Quantises the weight matrices of an ONNX graph to 8 bits, because a step on one row mostly waits for memory.

W ~ s * Q,  Q integers from -127 to 127, one s per matrix;  x is rounded in the same way at each step
"""

import logging
from collections import Counter
from pathlib import Path
from typing import Any

from seqloom.files.leftovers import scratch_folder


def quantise(file: Path) -> None:
    """Quantise a graph file in place."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with scratch_folder() as folder:
        folded = folder / "folded.onnx"
        fold_constants(file, folded)
        model = onnx.load(folded)
        del model.graph.value_info[:]  # shapes that no longer hold after quantisation
        part_shared_weights(model.graph)
        onnx.save(model, folded)
        logging.getLogger().disabled = True  # it advises to prepare the graph, which we have just done
        try:
            quantize_dynamic(
                folded,
                file,
                weight_type=QuantType.QInt8,
                op_types_to_quantize=["MatMul", "Gemm"],
                nodes_to_exclude=[node.name for node in products(model.graph) if not has_matrix(node, model.graph)],
                extra_options={"MatMulConstBOnly": True, "DefaultTensorType": onnx.TensorProto.FLOAT},
            )
        finally:
            logging.getLogger().disabled = False


def fold_constants(file: Path, into: Path) -> None:
    """Compute constant expressions such as slices of a weight, so that they are found as weights."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(into)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def part_shared_weights(graph: Any) -> None:
    """Give each product its own copy of a weight that other nodes read too, so that only the copy is quantised."""
    uses = Counter(name for node in graph.node for name in node.input)
    weights = {weight.name: weight for weight in graph.initializer}
    for node in products(graph):
        for place, name in enumerate(node.input):
            if name in weights and uses[name] > 1:
                own = graph.initializer.add()
                own.CopyFrom(weights[name])
                node.input[place] = own.name = f"{name}.{node.name}"


def products(graph: Any) -> list[Any]:
    return [node for node in graph.node if node.op_type in ("MatMul", "Gemm")]


def has_matrix(node: Any, graph: Any) -> bool:
    return any(weight.name == node.input[1] and len(weight.dims) == 2 for weight in graph.initializer)
