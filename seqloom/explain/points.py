"""Parts of the explain document that are lines and points: paths of states, maps of sentences, curves of training."""

from typing import Annotated, Literal

import msgspec

Whole = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Path(msgspec.Struct, frozen=True):
    """States of a model as points on the first axes of a PCA basis; one point per token of `axis`."""

    name: str
    axis: Literal["source", "target"]
    basis: str  # hash of the basis; points of two documents can be compared if it is the same
    explained: list[Share]  # share of the variance on each axis
    points: list[list[float]]
    fitted_on: Whole = 0  # sentences that the basis was fitted on


class Curve(msgspec.Struct, frozen=True):
    """One figure of a training run over its steps."""

    run: str
    name: str  # loss, valid loss, learning rate, gradient norm, share of clipped steps, tokens per second ...
    unit: str
    steps: list[Whole]
    values: list[float]


class Phrase(msgspec.Struct, frozen=True):
    """A sentence as a point of a map."""

    text: str
    label: str  # sentences with the same label have the same colour; may be empty
    point: list[float]


class Phrases(msgspec.Struct, frozen=True):
    """Many sentences on one map: the vectors of one model on the first axes of a PCA basis."""

    model: str
    about: str  # what the vector of a sentence is: the last state, the mean over the tokens
    explained: list[Share]
    points: list[Phrase]
