"""What a model would say from less: an earlier encoder layer, an earlier decoder layer, fewer words of the source.

encoder layer   the decoder reads encoder layer k as if it were the last: DecoderLens, Langedijk et al. 2024
decoder layer   layer k of the decoder is projected as if it were the last: logit lens, nostalgebraist 2020
words read      a recurrent encoder reads the first k tokens and the end token: what does its state know by then?

An encoder that reads backwards (data.reverse_source) meets the last token first: it reads the last k tokens. No weight
was trained for an earlier layer or for half a sentence, so the words are often wrong.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.decode.score import token_log_probs
from seqloom.decode.search import search
from seqloom.explain.document import Reading
from seqloom.inside.hooks import hooked
from seqloom.inside.subject import Lacks, Options, Parts, Subject
from seqloom.models.api import Memory, Seq2Seq
from seqloom.models.encoder_only import TransformerReader, mean_over
from seqloom.models.gpt import GPT
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.models.transformer import Transformer
from seqloom.runtime.engine_torch import padded
from seqloom.text.vocabulary import BOS, EOS

LONGER = 10  # tokens that a reading may have more than the answer: a lost decoder repeats itself without end


@torch.inference_mode()
def lens(subject: Subject, options: Options) -> Parts:
    """The readings of every kind that this model has."""
    model = subject.model
    if isinstance(model, RecurrentSeq2Seq):
        return Parts(lens=words_read(subject, model))
    if isinstance(model, Transformer):
        return Parts(lens=[*encoder_layers(subject, model), *decoder_layers(subject, model)])
    if isinstance(model, GPT):
        return Parts(lens=decoder_layers(subject, model))
    if isinstance(model, TransformerReader):
        return Parts(lens=reader_layers(subject, model))
    raise Lacks("it has no layers to read from")


def encoder_layers(subject: Subject, model: Transformer) -> list[Reading]:
    """What the decoder writes from each encoder layer, greedily; all layers are one batch."""
    with outputs_of(model.encoder) as layers:
        model.encode(subject.src, subject.src_mask)
    annotations = model.encoder_norm(torch.cat(layers))  # (L, S, D)
    memory = model.remember(annotations, subject.src_mask.expand(len(annotations), -1))
    return [*written("encoder layer", subject, model, memory)]


def words_read(subject: Subject, model: RecurrentSeq2Seq) -> list[Reading]:
    """What the decoder writes when the encoder has read k tokens and the end token; all of them are one batch."""
    words = subject.source_ids[:-1]
    backward = model.encoder.layers[0].directions == ("backward",)
    rows = [words[len(words) - k :] if backward else words[:k] for k in range(1, len(words) + 1)]
    memory = model.encode(*padded([[*row, EOS] for row in rows], subject.device))
    return [*written("words read", subject, model, memory)]


def written(kind: Any, subject: Subject, model: Seq2Seq, memory: Memory) -> Iterator[Reading]:
    """The greedy output of each row of a memory, numbered from 1."""
    found = [row[0] for row in search(model, memory, beam=1, max_length=len(subject.written_ids) + LONGER)]
    outputs = [[*best.ids, *[EOS] * best.ended] for best in found]
    tgt_in, _ = padded([[BOS, *ids[:-1]] for ids in outputs], subject.device)
    log_probs = token_log_probs(model, memory, tgt_in, *padded(outputs, subject.device)).tolist()
    for number, ids in enumerate(outputs, 1):
        mine, log_probs = log_probs[: len(ids)], log_probs[len(ids) :]
        yield reading(kind, number, subject, ids, mine)


def reading(kind: Any, number: int, subject: Subject, ids: list[int], log_probs: list[float]) -> Reading:
    text = " ".join(map(subject.piece, ids)) if subject.labels else subject.tokenizers.target.decode(ids)
    return Reading(kind, number, text.strip(), [subject.piece(index) for index in ids], log_probs)


def decoder_layers(subject: Subject, model: Transformer | GPT) -> list[Reading]:
    """The most probable token at each step if this layer were the last; the prefix stays that of the whole model."""
    with outputs_of(model.decoder) as layers:
        subject.hidden()
    own = layers[-len(model.decoder) :]  # those before belong to the prompt of a decoder-only model
    rows = [subject.predict(model.decoder_norm(layer)[0]) for layer in own]
    return [most_probable("decoder layer", number, subject, row) for number, row in enumerate(rows, 1)]


def reader_layers(subject: Subject, model: TransformerReader) -> list[Reading]:
    """The answers of a classifier, a tagger or a masked model if this layer were the last."""
    with outputs_of(model.encoder) as layers:
        subject.hidden()
    readings = []
    for number, layer in enumerate(layers, 1):
        h = model.encoder_norm(layer)
        found = mean_over(h, subject.src_mask)[0] if model.whole_text else h[0][subject.at]
        readings.append(most_probable("encoder layer", number, subject, subject.predict(found)))
    return readings


def most_probable(kind: Any, number: int, subject: Subject, log_probs: Tensor) -> Reading:
    best = log_probs.max(-1)
    return reading(kind, number, subject, best.indices.tolist(), best.values.tolist())


@contextmanager
def outputs_of(blocks: Any) -> Iterator[list[Tensor]]:
    """Inside, the outputs of these blocks are collected in the order of calls."""
    found: list[Tensor] = []

    def keep(block: nn.Module, inputs: object, output: Any) -> None:
        found.append(output[0] if isinstance(output, tuple) else output)

    with hooked(blocks, keep):
        yield found
