"""Gradient flow: how strongly each prediction depends on each token that was read, |d log p(y_t) / d x_s|.

A gradient that shrinks by the same factor with every token between s and t is the vanishing gradient of the lectures
(Hochreiter 1991; Bengio et al. 1994): on a log scale it is a straight line over the distance. Attention makes the path
short, so that the line becomes flat. The same model with fresh weights can be shown beside it: gates of an untrained
LSTM may forget faster than a trained plain RNN.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seqloom.explain.document import Decay, Map
from seqloom.inside.input_gradients import Question, check_work, input_gradients
from seqloom.inside.subject import Options, Parts, Subject
from seqloom.models.build import build_model, directions_of

ABOUT = "Norm of the gradient of log p({to}) with respect to the embedding of the {of} token; larger = more influence."
TINY = 1e-12  # below this a norm is treated as no gradient at all: its logarithm would only show rounding


def gradients(subject: Subject, options: Options) -> Parts:
    """The view: flow of the trained model and, for comparison, of the same model before training."""
    check_work(Question.of(subject))
    backward = directions_of(subject.config) == ("backward",)
    trained = flow(Question.of(subject), backward=backward)
    fresh = flow(Question.of(subject, fresh_model(subject)), backward=backward, trained=False)
    return Parts(maps=trained[0] + fresh[0], decay=trained[1] + fresh[1])


def fresh_model(subject: Subject) -> Any:
    """The model as it was before training: the same settings, first weights of the same seed."""
    tokenizers, config = subject.tokenizers, subject.config
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.train.seed)
        return build_model(config, len(tokenizers.source), len(tokenizers.target), tokenizers.joint).eval()


def flow(question: Question, *, backward: bool = False, trained: bool = True) -> tuple[list[Map], list[Decay]]:
    """The flow matrices and their decay with distance. `backward`: the encoder reads the source from its end only."""
    (found,) = input_gradients(question)
    maps, decays = [], []
    to = "target token" if question.prefix else "answer"
    for axis, gradient in (("source", found.source), ("prefix", found.prefix)):
        if not gradient.shape[1]:
            continue
        norms = gradient.norm(dim=-1).numpy()
        name = f"flow.{axis}"
        maps.append(Map.of(name, "gradients", ABOUT.format(to=to, of=axis), f"target {axis}", norms, trained=trained))
        if question.prefix:
            decays.append(decay(name, norms, distances(question, axis, backward), trained))
    return maps, decays


def distances(question: Question, axis: str, backward: bool) -> NDArray[np.int64]:
    """How many tokens the model reads from token s until it predicts y_t; negative if it predicts first."""
    predicted = np.array([position for position, _ in question.answers])[:, None]  # it has read the prefix up to here
    if axis == "prefix":
        return np.asarray(predicted - np.arange(len(question.prefix)))
    length = len(question.source)
    until_end = np.arange(length) if backward else length - 1 - np.arange(length)
    return np.asarray(until_end + predicted + 1)


def decay(name: str, norms: NDArray[np.float32], distance: NDArray[np.int64], trained: bool) -> Decay:
    """Mean norm by distance; the slope is that of a line through the logarithms (base 10), per token of distance."""
    there = [*range(int(distance.max()) + 1)]
    means = [float(norms[distance == d].mean()) for d in there if (distance == d).any()]
    there = [d for d in there if (distance == d).any()]
    return Decay(name, there, means, slope(there, means), trained)


def slope(distance: list[int], norm: list[float]) -> float | None:
    """Least-squares slope of log10(norm) over distance; None where fewer than three distances have a gradient."""
    points = np.array([(d, np.log10(value)) for d, value in zip(distance, norm, strict=True) if value > TINY])
    return float(np.polyfit(points[:, 0], points[:, 1], 1)[0]) if len(points) > 2 else None
