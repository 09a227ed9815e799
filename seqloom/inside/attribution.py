"""Attribution: which source tokens, and which tokens already written, a prediction came from.

    gradient x input       a_ts = x_s . d f_t / d x_s                                     Shrikumar et al. 2017
    integrated gradients   the mean of that gradient on the way from average words        integrated_gradients.py

f_t = log p(y_t). Integrated gradients are complete: their sum over all tokens is the change of the score from a text of
average words. A note says how much the sum misses.

    share of the source   sum_s |a_ts| / (sum_s |a_ts| + sum over the prefix)              Voita et al. 2021 ask for it

Attention is compared with attribution by Kendall's tau, per prediction over the source tokens. The control asks whether
the agreement comes from attention at all: it correlates the same attention with the attribution of the same model when
every attention weight is uniform.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seqloom.explain.document import Agreement, Map
from seqloom.inside.hooks import hooked
from seqloom.inside.input_gradients import Question, check_work, input_gradients
from seqloom.inside.integrated_gradients import POINTS, Integrated, integrate
from seqloom.inside.subject import Options, Parts, Subject
from seqloom.models.recurrent_decoder import AttentiveDecoder
from seqloom.models.traced_attention import read_attention
from seqloom.nn.blocks import DecoderBlock

ABOUT = {
    "gradient_input": "Embedding of the token times the gradient of log p; positive = made it more probable.",
    "integrated": "Integrated gradients: the part of log p(prediction) that came from this token, in nats.",
}


def attribution(subject: Subject, options: Options) -> Parts:
    """The view: attribution maps, the share of the source per prediction, and the agreement with attention."""
    question = Question.of(subject)
    check_work(question, POINTS)
    maps, shares, note = attribute(question)
    attention = read_attention(subject.passed[1])
    agreement = [] if attention is None else compare_with_attention(question, attention[0].cpu().numpy(), maps)
    return Parts(maps=maps, source_share=shares, agreement=agreement, notes=[note])


def attribute(question: Question) -> tuple[list[Map], list[float], str]:
    """The attribution maps, the share of the source per prediction (none without both sides), and a note."""
    (plain,) = input_gradients(question)
    product = [(plain.source * plain.source_embedding).sum(-1), (plain.prefix * plain.prefix_embedding).sum(-1)]
    found = integrate(question)
    integrated = [found.source, found.prefix]
    maps = [
        Map.of(f"attribution.{method}.{axis}", "attribution", ABOUT[method], f"target {axis}", part.numpy())
        for method, parts in (("gradient_input", product), ("integrated", integrated))
        for axis, part in zip(("source", "prefix"), parts, strict=True)
        if part.shape[1]
    ]
    source, prefix = (part.abs().sum(1) for part in integrated)
    shares = (source / (source + prefix).clamp_min(1e-12)).tolist() if question.source and question.prefix else []
    return maps, shares, said(found)


def said(found: Integrated) -> str:
    """The note: how many points the integrals took, and how much the sums miss."""
    points = f"{min(found.points)} to {max(found.points)} points per prediction"
    missed = f"miss the change of log p by at most {max(found.gaps):.2g} nats."
    why = "" if found.complete else " The text is too long for more points."
    return f"attribution: integrated gradients with {points} {missed}{why}"


def compare_with_attention(question: Question, attention: NDArray[np.float32], maps: list[Map]) -> list[Agreement]:
    """How well attention (predictions x source) ranks the source tokens as each attribution does, and the control."""
    with uniform_attention(question.model) as is_uniform:
        (uniform,) = input_gradients(question)
    products = (uniform.source * uniform.source_embedding).sum(-1).abs().numpy()
    control = mean_tau(attention, products) if is_uniform else None
    return [
        Agreement("attention", one.name, mean_tau(attention, np.abs(one.values)), control)
        for one in maps
        if one.axes[-1] == "source"
    ]


def mean_tau(first: NDArray[np.float32], second: NDArray[np.float32]) -> float | None:
    """Kendall's tau-b of the rows, mean over those where neither side is constant; None where all are."""
    taus = [tau for a, b in zip(first, second, strict=True) if (tau := kendall(a, b)) is not None]
    return float(np.mean(taus)) if taus else None


def kendall(a: NDArray[np.float32], b: NDArray[np.float32]) -> float | None:
    """Kendall's tau-b: (concordant - discordant pairs) / sqrt(pairs untied in a * pairs untied in b)."""
    pairs = np.triu_indices(len(a), 1)
    first, second = (np.sign(x[:, None] - x)[pairs] for x in (a, b))
    untied = float(np.abs(first).sum() * np.abs(second).sum()) ** 0.5
    return float((first * second).sum() / untied) if untied else None


@contextmanager
def uniform_attention(model: nn.Module) -> Iterator[bool]:
    """Inside, attention to the source is uniform: its scores, or the queries they are made from, are 0.

    False: the model has no separate attention to the source.
    """

    def zero(module: nn.Module, inputs: object, output: Tensor) -> Tensor:
        return torch.zeros_like(output)

    scoring: list[nn.Module] = [part.score for part in model.modules() if isinstance(part, AttentiveDecoder)]
    scoring += [part.cross.W_q for part in model.modules() if isinstance(part, DecoderBlock)]
    with hooked(scoring, zero):
        yield bool(scoring)
