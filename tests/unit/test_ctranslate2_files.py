"""The files that we write for CTranslate2 have the names, shapes and types that its own specification asks for."""

import struct

import numpy as np
import pytest
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation
from ctranslate2.specs.model_spec import LayerSpec
from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec

from seqloom.config import load_config
from seqloom.models.build import build_model
from seqloom.models.weights import save_weights
from seqloom.runtime.ctranslate2_files import ACTIVATIONS, REVISION, Variables, model_files
from seqloom.runtime.transformer_weights import TransformerWeights
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers

SMALL = ["model.width=8", "model.heads=2", "model.layers=2", "model.decoder_layers=1", "text.vocab_size=270"]
SHAPES = [
    "model.positions=rotary",
    "model.positions=sinusoidal model.norm=pre model.embed_norm=true model.tied=false",
    "model.positions=learned text.joint=false model.activation=silu",
]


@pytest.fixture(params=SHAPES)
def made(request, tmp_path):
    config = load_config(overrides=[*SMALL, *request.param.split()])
    source = learn_tokenizer("bpe", ["a cat"], 270)
    tokenizers = Tokenizers(source, source if config.text.joint else learn_tokenizer("bpe", ["un chat"], 265))
    sizes = len(tokenizers.source), len(tokenizers.target), config.text.joint
    save_weights(build_model(config, *sizes), tmp_path / "model.safetensors")
    return TransformerWeights.read(config, tmp_path / "model.safetensors"), tokenizers


def wanted(weights):
    """The names of CTranslate2's specification, with its own value where that is a number, None where we set one."""
    model = weights.config.model
    shape = {
        "pre_norm": model.norm == "pre",
        "activation": Activation.RELU,
        "layernorm_embedding": model.embed_norm,
        "rotary_dim": model.width // model.heads if model.positions == "rotary" else None,
    }
    spec = TransformerSpec(
        TransformerEncoderSpec(model.layers, model.heads, **shape),
        TransformerDecoderSpec(model.decoder_layers, model.heads, **shape),
    )
    assert spec.revision == REVISION
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = True
    for name, value in spec.variables().items():  # otherwise the check of the numbers refuses what is not set
        if value is None:
            set_of(spec, name, np.zeros(1, np.float32))
    LayerSpec.validate(spec)  # turns its own settings into numbers; vocabularies play no part
    held = spec.variables()
    return {name: value.numpy() for name, value in held.items() if not isinstance(value, str)}


def set_of(spec, name, value):
    *path, last = name.split("/")
    for part in path:
        whole, _, index = part.rpartition("_")
        spec = getattr(spec, whole)[int(index)] if index.isdigit() and hasattr(spec, whole) else getattr(spec, part)
    setattr(spec, last, value)


def test_names_and_numbers_are_those_of_the_specification(made):
    weights, _ = made
    ours, theirs = Variables(weights, int8=False).found, wanted(weights)
    optional = [name for name in ours if name.endswith(("/bias", "/encodings"))]  # without, it would compute some
    assert sorted(ours) == sorted({*theirs, *optional})
    for name, value in theirs.items():
        if value.shape == () and not name.endswith("activation"):
            assert (ours[name].dtype, ours[name]) == (value.dtype, value), name


def test_activations_are_theirs():
    names = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}
    assert {name: int(Activation[theirs]) for name, theirs in names.items()} == ACTIVATIONS


def test_the_file_can_be_read_back(made):
    weights, tokenizers = made
    files = model_files(weights, tokenizers, "int8")
    assert {"model.bin", "config.json"} < files.keys()
    assert ("shared_vocabulary.json" in files) == weights.config.text.joint
    found = read(files["model.bin"])
    expected = Variables(weights, int8=True).found
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert np.array_equal(found[name], value), name


def read(content):
    """model.bin as CTranslate2 reads it."""
    place = 0

    def take(form):
        nonlocal place
        values = struct.unpack_from("=" + form, content, place)
        place += struct.calcsize("=" + form)
        return values[0] if len(values) == 1 else values

    def text():
        nonlocal place
        size = take("H")
        place += size
        return content[place - size : place - 1].decode()

    assert (take("I"), text(), take("I")) == (6, "TransformerSpec", 7)
    found = {}
    for _ in range(take("I")):
        name, rank = text(), take("B")
        shape = [take("I") for _ in range(rank)]
        kind, size = ("float32", "int8", "int16", "int32")[take("B")], take("I")
        found[name] = np.frombuffer(content, kind, size // np.dtype(kind).itemsize, place).reshape(shape)
        place += size
    for _ in range(take("I")):
        alias = text()
        found[alias] = text()
    assert place == len(content)
    return found
