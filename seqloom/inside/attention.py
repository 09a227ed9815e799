"""Attention as maps: to the source (recurrent models and Transformers), and of a text to itself.

decoder.attention     what a model without heads looks at; of a Transformer the mean over the heads of its upper layers
decoder.cross.0       each head of each layer of a Transformer
encoder.self.0, decoder.self.0                                     self-attention, each head of each layer
"""

import re

from seqloom.explain.document import Map
from seqloom.inside.subject import Lacks, Options, Parts, Subject
from seqloom.models.traced_attention import POOLED, read_attention

SELF = re.compile(r"(encoder|decoder)\.self\.(\d+)")
CROSS = re.compile(r"decoder\.cross\.(\d+)")
NO_ATTENTION = "it has no attention: all that its decoder knows of the source is one vector (model.attention = none)"


def attention(subject: Subject, options: Options) -> Parts:
    """Which source tokens the model looks at to write each target token."""
    pooled = read_attention(subject.passed[1])
    if pooled is None:
        raise Lacks(NO_ATTENTION)
    layers = by_layer(subject, CROSS)
    about = "attention weight of a source token in the step that writes a target token; a row sums to 1"
    if layers:
        about = "mean attention weight over all heads of the upper half of the layers; a row sums to 1"
    maps = [Map.of(POOLED, "attention", about, "target source", pooled[0].float().cpu().numpy())]
    for name, layer in layers:
        about = f"attention weight of a source token in layer {layer}, per head; a row sums to 1"
        maps.append(heads_map(subject, name, "attention", about, "head target source"))
    return Parts(maps=maps)


def self_attention(subject: Subject, options: Options) -> Parts:
    """Which tokens of its own text each token looks at."""
    maps = []
    for name, layer in by_layer(subject, SELF):
        part = name.partition(".")[0]
        axes = "head source source" if part == "encoder" else "head target prefix"
        about = f"self-attention of layer {layer} of the {part}, per head: a row is the token that looks; it sums to 1"
        maps.append(heads_map(subject, name, "self", about, axes))
    if not maps:
        raise Lacks("it has no self-attention")
    return Parts(maps=maps)


def by_layer(subject: Subject, pattern: re.Pattern[str]) -> list[tuple[str, int]]:
    """The recordings whose names match, the encoder's first, each with its layer."""
    found = [(name, match) for name in subject.recorded if (match := pattern.fullmatch(name))]
    named = [(name, int(match[match.lastindex or 0])) for name, match in found]
    return sorted(named, key=lambda each: (each[0].startswith("decoder"), each[1]))


def heads_map(subject: Subject, name: str, view: str, about: str, axes: str) -> Map:
    # half precision: weights are at most 1, and there are layers x heads of these maps
    return Map.of(name, view, about, axes, subject.recorded[name], dtype="float16")
