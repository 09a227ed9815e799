"""Which ONNX graphs are run: those of the operators that `seqloom export` writes, with no tensor beyond the file.

A graph is a program. A loop may never end, and three bytes may ask for a tensor of any size. So the file is read here,
field by field, before ONNX Runtime sees it: known operators only, no graph inside a node, no function, no data outside
the file, no tensor with more numbers than the file has for it. A node whose inputs are all constants, which the runtime
would compute while it loads, may only rearrange them, and not again and again. The memory that a graph may use for its
results, and the time, have limits in `onnx_graph`.

The layout is that of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), read as plain protobuf.
"""

import math
from collections.abc import Iterator

MOST_NODES = 5_000  # the runtime takes seconds to plan so many, and minutes for ten times as many
MOST_REARRANGED = 16  # times the numbers that the file has room for
MOST_NUMBERS = 2**31
LONGEST_NAME = 1000
KINDS = {1: 4, 2: 1, 3: 1, 6: 4, 7: 8, 9: 1, 11: 8}  # data type: bytes per number; floats, integers and bool
# Operators whose result is no larger than their inputs; only these may have nothing but constants as inputs.
REARRANGE = {"Cast", "Identity", "Reshape", "Shape", "Slice", "Squeeze", "Transpose", "Unsqueeze"}
OPERATORS = REARRANGE | {
    "Add", "Concat", "ConstantOfShape", "Div", "DynamicQuantizeLinear", "Equal", "Expand", "GRU", "Gather", "GatherND",
    "Gelu", "Gemm", "IsNaN", "LSTM", "LayerNormalization", "LogSoftmax", "MatMul", "MatMulInteger", "Mul", "Not", "Pow",
    "RNN", "ReduceLogSumExp", "ReduceMax", "ReduceSum", "Relu", "Sigmoid", "Softmax", "Split", "Sub", "Tanh", "Trilu",
    "Where",
}  # fmt: skip
DOMAINS = (b"", b"ai.onnx")
# The fields of each message that a graph of ours may have, by their number in onnx.proto.
MODEL = {1, 2, 3, 4, 5, 6, 7, 8, 14}
GRAPH = {1, 2, 5, 10, 11, 12, 13, 16}
NODE = {1, 2, 3, 4, 5, 6, 7, 9}
ATTRIBUTE = {1, 2, 3, 4, 5, 7, 8, 9, 13, 20}  # numbers, texts and one tensor: no graph, no sparse tensor
TENSOR = {1, 2, 4, 5, 7, 8, 9, 12, 14}  # neither strings nor data in other files
Field = tuple[int, int | memoryview]  # number, and a number or bytes


class BadGraph(ValueError):
    """Why a graph is not run."""


def check_graph(content: bytes) -> None:
    """Raise BadGraph unless the content of an .onnx file is a graph as Seqloom writes them."""
    graphs = [as_bytes(part) for number, part in fields(memoryview(content), MODEL, "the model") if number == 7]
    if len(graphs) != 1:
        raise BadGraph("no graph, or several")
    check_nodes(graphs[0])


def check_nodes(graph: memoryview) -> None:
    """Check the nodes and the weights of a graph; nodes come in the order in which they are computed."""
    constants: dict[bytes, int] = {}  # numbers of each
    nodes = []
    for number, part in fields(graph, GRAPH, "the graph"):
        if number == 1:
            nodes.append(as_bytes(part))
        elif number == 5:
            name, size = check_tensor(as_bytes(part))
            constants[name] = size
    if len(nodes) > MOST_NODES:
        raise BadGraph(f"{len(nodes):,} nodes, {MOST_NODES:,} are allowed")
    for node in nodes:
        check_node(node, constants)
    if sum(constants.values()) > MOST_REARRANGED * len(graph):
        raise BadGraph("its constants are rearranged again and again")


def check_node(node: memoryview, constants: dict[bytes, int]) -> None:
    """Check one node; if it makes a constant, the names and sizes of its outputs are added to the constants."""
    inputs, outputs, operators, attributes = set[bytes](), set[bytes](), set[str](), list[memoryview]()
    for number, part in fields(node, NODE, "a node"):
        if number in (1, 2):
            (inputs if number == 1 else outputs).add(name_of(part))
        elif number == 4:
            operators.add(name_of(part).decode(errors="replace"))
        elif number == 5:
            attributes.append(as_bytes(part))
        elif number == 7 and name_of(part) not in DOMAINS:
            raise BadGraph("an operator that is not one of ONNX itself")
    if not operators <= OPERATORS or not operators:
        strange = ", ".join(sorted(operators - OPERATORS)) or "without a name"
        raise BadGraph(f"the operator {strange!r:.60}, which no graph of Seqloom has")
    for attribute in attributes:
        check_attribute(attribute)
    if inputs - {b""} <= constants.keys():
        if not operators <= REARRANGE:
            raise BadGraph(f"the operator {min(operators)!r} with nothing but constants")
        constants.update(dict.fromkeys(outputs, sum(constants.get(name, 0) for name in inputs)))


def check_attribute(attribute: memoryview) -> None:
    for number, part in fields(attribute, ATTRIBUTE, "an attribute"):
        if number == 5:
            check_tensor(as_bytes(part))


def check_tensor(tensor: memoryview) -> tuple[bytes, int]:
    """Check that a tensor has its numbers in this file, and no more than these; return its name and their count."""
    sizes: list[int] = []
    kinds, name, raw, listed = set[int](), b"", 0, 0
    for number, part in fields(tensor, TENSOR, "a tensor"):
        if number == 1:
            sizes += whole_numbers(part)
        elif number == 2:
            kinds.update(whole_numbers(part))
        elif number == 8:
            name = name_of(part)
        elif number == 14 and part != 0:
            raise BadGraph("a tensor with its numbers in another file")
        elif number == 9:
            raw += len(as_bytes(part))
        elif number in (4, 5, 7):
            listed += 1 if isinstance(part, int) else len(part) // (4 if number == 4 else 1)
    if len(kinds) != 1 or not kinds <= KINDS.keys():
        raise BadGraph("a tensor of a type that no graph of Seqloom has")
    wanted = math.prod(sizes) if all(0 <= size < MOST_NUMBERS for size in sizes) and len(sizes) <= 16 else MOST_NUMBERS
    if wanted > raw // KINDS[max(kinds)] + listed:
        raise BadGraph("a tensor with more numbers than the file has for it")
    return name, wanted


def fields(message: memoryview, known: set[int], what: str) -> Iterator[Field]:
    """Yield every field of a protobuf message; BadGraph for one that is not known."""
    place, end = 0, len(message)
    while place < end:
        key, place = varint(message, place)
        number, wire = key >> 3, key & 7
        if number not in known:
            raise BadGraph(f"{what} has a part (field {number}) that no graph of Seqloom has")
        if wire == 0:
            value, place = varint(message, place)
            yield number, value
            continue
        if wire == 2:
            size, place = varint(message, place)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise BadGraph("not a protobuf file")
        if place + size > end:
            raise BadGraph("cut short")
        yield number, message[place : place + size]
        place += size


def varint(message: memoryview, place: int) -> tuple[int, int]:
    """Read a number of up to 64 bits, 7 bits per byte; return it and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            raise BadGraph("cut short")
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise BadGraph("not a protobuf file")


def whole_numbers(part: int | memoryview) -> list[int]:
    """Return the numbers of a field that may come one by one or packed."""
    if isinstance(part, int):
        return [part]
    if len(part) > LONGEST_NAME:
        raise BadGraph("a tensor with thousands of axes")
    found, place = [], 0
    while place < len(part):
        value, place = varint(part, place)
        found.append(value)
    return found


def as_bytes(part: int | memoryview) -> memoryview:
    if isinstance(part, int):
        raise BadGraph("not a protobuf file of this kind")
    return part


def name_of(part: int | memoryview) -> bytes:
    name = as_bytes(part)
    if len(name) > LONGEST_NAME:
        raise BadGraph(f"a name of more than {LONGEST_NAME:,} bytes")
    return bytes(name)
