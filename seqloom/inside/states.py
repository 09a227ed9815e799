"""States of encoder and decoder on two or three axes: the path of one sentence, and many sentences on one map.

A path has one point per token: the encoder's output for a source token, the decoder's state in the step that writes a
target token. In a map of many sentences each is one vector. Sutskever et al. 2014, Figure 2.
"""

import re
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from seqloom.config import TASKS
from seqloom.explain.points import Path, Phrase, Phrases
from seqloom.files.durable import hash_file
from seqloom.inside.basis import Basis, fit, kept_or_fitted
from seqloom.inside.subject import WEIGHTS, Lacks, Options, Parts, Subject
from seqloom.models.api import Seq2Seq
from seqloom.models.encoder_only import TransformerReader
from seqloom.runtime.sentence_vectors import SentenceVectors

if TYPE_CHECKING:
    from seqloom.runtime.answering import Answering

Floats = NDArray[np.float32]
HIDDEN = re.compile(r"(encoder|decoder)\.(?:forward\.|backward\.)?(\d+)\.state\.hidden")
LAST_STATE = "each point is the last state of the encoder: all that the decoder gets to know of the sentence"
MEAN_STATE = "each point is the mean of the states over the tokens of the sentence"
AXIS = {"encoder": "source", "decoder": "target"}


def states(subject: Subject, options: Options) -> Parts:
    """The path of the encoder's and of the decoder's states on the axes of this model."""
    own = states_of(subject)
    if not own:
        raise Lacks("it has no states: it adds up the vectors of its words")
    notes: list[str] = []

    def make() -> dict[str, Basis]:
        samples = [states_of(sample) for sample in options.samples()]
        if not samples:
            notes.append("states: the axes are fitted on this text alone; give --sentences")
        found = samples or [own]
        return {name: fit(np.concatenate([each[name] for each in found]), len(found)) for name in own}

    weights = subject.folder / WEIGHTS if subject.folder is not None else None
    known = hash_file(weights) if weights is not None and weights.is_file() else ""
    widths = {name: part.shape[1] for name, part in own.items()}
    bases = kept_or_fitted(subject.folder, known, options.sentences, widths, make)
    options.bases.update({basis.hash: basis for basis in bases.values()})
    return Parts(paths=[path_of(name, part, bases[name]) for name, part in own.items()], notes=notes)


def path_of(name: str, part: Floats, basis: Basis) -> Path:
    explained = [float(share) for share in basis.explained]
    return Path(name, AXIS[name], basis.hash, explained, basis.points(part), basis.fitted_on)  # type: ignore[arg-type]


def states_of(subject: Subject) -> dict[str, Floats]:
    """The states of the top layers: encoder (S, H), decoder (T, H); those that this model has."""
    layers: dict[str, dict[int, list[Floats]]] = {}
    for name in sorted(subject.recorded, key=lambda name: ".backward." in name):  # forward before backward
        if match := HIDDEN.fullmatch(name):
            layers.setdefault(match[1], {}).setdefault(int(match[2]), []).append(subject.recorded[name])
    if layers:
        return {part: np.concatenate(found[max(found)], 1) for part, found in sorted(layers.items(), reverse=True)}
    return transformer_states(subject) if subject.family != "bag" else {}


@torch.inference_mode()
def transformer_states(subject: Subject) -> dict[str, Floats]:
    """The output of the encoder for each token, and that of the decoder for each step."""
    model, found = subject.model, {}
    if isinstance(model, TransformerReader):
        return {"encoder": as_array(model.read_source(subject.src, subject.src_mask)[0])}
    if isinstance(model, Seq2Seq) and subject.source_ids:
        found["encoder"] = as_array(model.encode(subject.src, subject.src_mask).annotations[0])
    return {**found, "decoder": as_array(subject.passed[0])}


def as_array(tensor: torch.Tensor) -> Floats:
    return np.asarray(tensor.float().cpu().numpy())


def map_phrases(
    model: "Answering", phrases: Iterable[tuple[str, str]], notice: Callable[[str], None] = warnings.warn
) -> Phrases:
    """Many sentences on one map; `phrases` are labels and texts. The axes are fitted on these sentences."""
    labels, texts = zip(*phrases, strict=True)
    continues = TASKS[model.config.task.name].shape == "continues"
    reader = SentenceVectors(model.model, model.tokenizers, model.config.data, continues=continues)
    for text, ids in zip(texts, reader.tokenizer.encode_batch(texts), strict=True):
        if len(ids) > reader.longest:
            notice(f"{text[:40]!r}: {len(ids)} tokens, the model takes {reader.longest}: the rest was cut off")
    vectors = reader.vectors(texts)
    basis = fit(vectors, len(texts))
    points = zip(texts, labels, basis.points(vectors), strict=True)
    explained = [float(share) for share in basis.explained]
    about = LAST_STATE if reader.has_fixed_vector else MEAN_STATE
    return Phrases(model.folder.name if model.folder else "", about, explained, [Phrase(*each) for each in points])
