"""Which model.bin files are given to CTranslate2: those with exactly the tensors that the settings of the model make.

CTranslate2 reads a model in C++ and trusts the sizes in it. So the file is read here first, without its numbers: every
tensor by its name, with the shape that follows from config.toml and the tokenizers, as many bytes as that shape needs,
and not a byte more than the file has.

    version (4)  name  revision (4)  number of tensors (4)
    per tensor:  name  number of axes (1)  each axis (4)  type (1)  bytes (4)  the numbers
    number of second names (4), per second name: it and the tensor that it stands for
"""

import math
import struct
from pathlib import Path
from typing import IO, Any

from seqloom.config import Config, ModelConfig
from seqloom.files.reading import SETTINGS, TOKENIZER, open_regular, read_json
from seqloom.text.sides import Tokenizers

VERSION, NAME = 6, "TransformerSpec"
FLOAT, INT8 = 0, 1
BYTES = {0: 4, 1: 1, 2: 2, 3: 4}  # float32, int8 or a flag, int16, int32
FLAGS = {
    "activation": range(4), "alibi": [0], "alibi_use_positive_positions": [0], "alignment_heads": [1],
    "alignment_layer": [-1], "embeddings_merge": [0], "multi_query_attention": [0], "pre_norm": [0, 1],
    "rotary_base": [int.from_bytes(struct.pack("<f", 10_000), "little")], "rotary_interleave": [1],
    "scale_alibi": [0], "scale_embeddings": [0, 1], "start_from_zero_embedding": [0],
}  # fmt: skip  # single numbers: the values that an engine of ours may have
MOST_TENSORS = 100_000
Shape = tuple[int, ...]


def check_files(folder: Path, config: Config, tokenizers: Tokenizers) -> None:
    """Raise a ValueError unless the files of a CTranslate2 folder are those that this model has."""
    tokens = {side: getattr(tokenizers, side).tokens() for side in ("source", "target")}
    for side in ("shared", "source", "target"):
        file = folder / f"{side}_vocabulary.json"
        if file.exists() and read_json(file, TOKENIZER) != tokens["target" if side == "shared" else side]:
            raise ValueError(f"{file.name} has other tokens than the tokenizer of this model")
    if not isinstance(read_json(folder / "config.json", SETTINGS), dict):
        raise ValueError("config.json holds no JSON object")
    with open_regular(folder / "model.bin") as opened:
        check_binary(opened, config, tokenizers)


def check_binary(file: IO[bytes], config: Config, tokenizers: Tokenizers) -> None:
    """Raise a ValueError unless a model.bin has exactly the tensors of this model."""
    try:
        check_tensors(file, expected_shapes(config, len(tokenizers.source), len(tokenizers.target)), config.model)
    except struct.error:
        raise ValueError("model.bin is cut short") from None


def check_tensors(file: IO[bytes], shapes: dict[str, Shape], model: ModelConfig) -> None:
    """Read the header of every tensor; its numbers are skipped."""
    size = file.seek(0, 2)
    file.seek(0)
    (version,), name = unpack(file, "<I"), read_name(file)
    _, number = unpack(file, "<II")
    if (version, name) != (VERSION, NAME) or number > MOST_TENSORS:
        raise ValueError(f"model.bin: {name!r:.40} of version {version}, this Seqloom reads {NAME} of {VERSION}")
    found = set[str]()
    for _ in range(number):
        name, (axes,) = read_name(file), unpack(file, "<B")
        shape, (kind, length) = unpack(file, f"<{axes}I"), unpack(file, "<BI")
        if BYTES.get(kind, 0) * math.prod(shape) != length or file.tell() + length > size:
            raise ValueError(f"model.bin: {name!r:.80} has not as many bytes as its shape {shape} needs")
        numbers = file.read(length) if not shape else b""
        if not shape:
            check_flag(name, numbers, model)
        elif shapes.get(name) != shape or kind not in (FLOAT, INT8 if name.endswith("weight") else FLOAT):
            raise ValueError(f"model.bin: {name!r:.80} of shape {shape}, want {shapes.get(name, 'no such tensor')}")
        else:
            file.seek(length, 1)
        found.add(name)
    for _ in range(unpack(file, "<I")[0]):
        name, same = read_name(file), read_name(file)
        if same not in found or name not in shapes or shapes[name] != shapes[same]:
            raise ValueError(f"model.bin: {name!r:.80} stands for {same!r:.80}, which is another tensor")
        found.add(name)
    if file.tell() != size:
        raise ValueError("model.bin has bytes after its end")
    if missing := [name for name in shapes if name not in found and not name.endswith("_scale")]:
        raise ValueError(f"model.bin: {missing[0]} is missing")


def check_flag(name: str, numbers: bytes, model: ModelConfig) -> None:
    """Check a single number: a flag, or a size that follows from the settings."""
    value = int.from_bytes(numbers, "little", signed=True)
    sizes = {"num_heads": [model.heads], "rotary_dim": [model.width // model.heads]}
    if value not in (FLAGS | sizes).get(name.rpartition("/")[2], []):
        raise ValueError(f"model.bin: {name!r:.80} = {value}, which this model does not have")


def expected_shapes(config: Config, sources: int, targets: int) -> dict[str, Shape]:
    """Return the shape of every tensor, also of the scales that 8-bit weights have."""
    model = config.model
    sides = {"encoder": (model.layers, sources), "decoder": (model.decoder_layers or model.layers, targets)}
    width, inner = model.width, model.ffn_size or 4 * model.width
    places = config.places if model.positions == "learned" else config.longest_output
    shapes: dict[str, Shape] = {}

    def linear(name: str, rows: int, columns: int, bias: bool = True) -> None:
        shapes[f"{name}/weight"], shapes[f"{name}/weight_scale"] = (rows, columns), (rows,)
        if bias:
            shapes[f"{name}/bias"] = (rows,)

    def norm(name: str) -> None:
        shapes[f"{name}/gamma"] = shapes[f"{name}/beta"] = (width,)

    for side, (layers, words) in sides.items():
        linear(f"{side}/embeddings{'_0' * (side == 'encoder')}", words, width, bias=False)
        if side == "encoder" or model.positions != "rotary":
            shapes[f"{side}/position_encodings/encodings"] = (places, width)
        if model.embed_norm:
            norm(f"{side}/layernorm_embedding")
        if model.norm == "pre":
            norm(f"{side}/layer_norm")
        for layer in (f"{side}/layer_{number}" for number in range(layers)):
            linear(f"{layer}/self_attention/linear_0", 3 * width, width)
            linear(f"{layer}/self_attention/linear_1", width, width)
            norm(f"{layer}/self_attention/layer_norm")
            if side == "decoder":
                for number, rows in enumerate((width, 2 * width, width)):
                    linear(f"{layer}/attention/linear_{number}", rows, width)
                norm(f"{layer}/attention/layer_norm")
            linear(f"{layer}/ffn/linear_0", inner, width)
            linear(f"{layer}/ffn/linear_1", width, inner)
            norm(f"{layer}/ffn/layer_norm")
    linear("decoder/projection", targets, width)
    return shapes


def read_name(file: IO[bytes]) -> str:
    """Read a text: its length (2 bytes), then as many bytes, the last one zero."""
    (length,) = unpack(file, "<H")
    return file.read(length).rstrip(b"\0").decode(errors="replace")


def unpack(file: IO[bytes], layout: str) -> tuple[Any, ...]:
    return struct.unpack(layout, file.read(struct.calcsize(layout)))
