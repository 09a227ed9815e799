"""The weights of a graph's products as 8 bits each: a step on one row mostly waits for its weights to come from memory.

W ~ s * Q,  Q whole numbers from -127 to 127, one s a matrix;  x is rounded the same way, anew at each step
"""

import logging
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any


def quantise(file: Path) -> None:
    """The graph in place."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        folded = Path(folder) / "folded.onnx"
        fold_constants(file, folded)
        model = onnx.load(folded)
        del model.graph.value_info[:]  # shapes before the products change theirs
        part_shared_weights(model.graph)
        onnx.save(model, folded)
        logging.getLogger().disabled = True  # it advises everybody to prepare graphs, as we have just done
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
    """A slice of a weight is a weight: only so is it found."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(into)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def part_shared_weights(graph: Any) -> None:
    """A table that is also read by its rows stays as it is; the product has its own, to be turned and rounded."""
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
