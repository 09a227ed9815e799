"""The explain document: what a model did with one text, as data. Every view is drawn from it and from nothing else.

    tokens   of source and target: id, piece, and the characters of the text they stand for
    steps    per output token: its log-probability and rank, the alternatives, how sure the model was
    maps     named arrays with named axes (target, source, layer, head, unit, position ...): attention, gates, gradients
    ...      heads, flow, attribution, states, beam, lens: what a view needs beside its maps

One document describes one model and one text. Several models on the same text make an `Explained` with several lanes.
`to_json` and `from_json` write and read it. docs/reference/explain.schema.json is the JSON Schema of these types.
A reader must refuse a version that it does not know; unknown fields of the same version may be ignored.
"""

from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from seqloom.errors import DataError
from seqloom.explain.page import frame
from seqloom.explain.points import Curve, Path, Phrases, Share, Whole

VERSION: Literal[2] = 2  # version 1 was a single alignment
# Every view, in the order in which it is shown.
VIEWS = (
    "attention", "self", "heads", "gates", "gradients", "attribution", "states", "phrases", "beam", "lens", "positions",
    "curves",
)  # fmt: skip


class Token(msgspec.Struct, frozen=True):
    """A token of a text. `span`: its characters in the text, from and to; null for special tokens."""

    id: int
    piece: str
    span: tuple[Whole, Whole] | None = None


class Side(msgspec.Struct, frozen=True):
    """A text and its tokens, special tokens included, exactly as the model reads or writes them."""

    text: str
    tokens: list[Token]


class Choice(msgspec.Struct, frozen=True):
    """A token that the model could have written, with its log-probability (natural logarithm)."""

    id: int
    piece: str
    log_prob: float


class Step(msgspec.Struct, frozen=True):
    """One prediction: the token that was written (or forced, or the answer), and what else the model considered."""

    log_prob: float
    rank: Whole  # 1 = the model's first choice
    margin: float  # log-probability of this token minus that of the best other one
    entropy: float  # of the distribution, in nats
    top: list[Choice]  # the most probable tokens, best first
    source_share: Share | None = None  # of the attribution: how much came from the source, the rest from the prefix
    at: Whole | None = None  # tags and filled gaps: the source token whose state gives the answer


class Map(msgspec.Struct, frozen=True):
    """A named array with named axes. `values` is the array; `data` holds its numbers as little-endian bytes (base64).

    float32 and float16 are stored as they are; uint8 is a grid between low and high: low + byte / 255 * (high - low).
    Axes: source, target (one row per step: the one that writes this token), prefix (tokens the decoder has read: the
    start token, then the target), layer, head, unit, position, distance. Of a matrix the last two are rows and columns;
    head and layer come before. In self-attention ("head source source") a row is the token that looks.
    """

    name: str  # such as decoder.cross.0 or encoder.forward.0.gate.forget: the name of the recording
    view: str  # the view that draws it
    about: str  # one sentence: what a number in it is
    axes: list[str]
    shape: list[Whole]
    dtype: Literal["float32", "float16", "uint8"]
    data: bytes
    low: float  # smallest and largest value: what colours are scaled by
    high: float
    trained: bool = True  # False: the same model with fresh weights, for comparison

    @property
    def values(self) -> NDArray[np.float32]:
        """The array, as float32."""
        stored = np.frombuffer(self.data, np.dtype(self.dtype).newbyteorder("<")).reshape(self.shape)
        if self.dtype != "uint8":
            return stored.astype(np.float32)
        return (self.low + stored.astype(np.float32) / 255 * (self.high - self.low)).astype(np.float32)

    @classmethod
    def of(
        cls, name: str, view: str, about: str, axes: str, values: Any, *, dtype: str = "float32", trained: bool = True
    ) -> "Map":
        """The map of this array (anything NumPy can read); `axes` are names between blanks."""
        array = np.asarray(values, np.float32)
        if len(names := axes.split()) != array.ndim:
            raise ValueError(f"{name}: {array.ndim} axes, and names for {names}")
        low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
        if dtype == "uint8":
            array = np.rint((array - low) / ((high - low) or 1.0) * 255)
        stored = array.astype(np.dtype(dtype).newbyteorder("<")).tobytes()
        return cls(name, view, about, names, [*array.shape], dtype, stored, low, high, trained)  # type: ignore[arg-type]


class Head(msgspec.Struct, frozen=True):
    """What one attention head does, measured over `Heads.sentences`: the mean weight it gives to each kind of token."""

    map: str  # encoder.self.0, decoder.self.0 or decoder.cross.0
    layer: Whole
    head: Whole
    # previous, next, same, diagonal, first, last, punctuation: mean weights; spread: entropy / log(length)
    roles: dict[str, float]
    role: str  # the role that describes it best, or "mixed"


class Heads(msgspec.Struct, frozen=True):
    """The roles of all heads of a Transformer."""

    sentences: Whole
    heads: list[Head]


class Decay(msgspec.Struct, frozen=True):
    """Mean gradient norm by distance between two tokens, and the slope of its logarithm (base 10) per token."""

    map: str
    distance: list[Whole]
    norm: list[float]
    slope: float | None
    trained: bool = True


class Agreement(msgspec.Struct, frozen=True):
    """Kendall rank correlation of two maps, mean over the target tokens; `control` is that of uniform attention."""

    first: str
    second: str
    tau: float | None
    control: float | None


class Node(msgspec.Struct, frozen=True):
    """A hypothesis of the search tree: its parent plus one token."""

    id: Whole
    parent: int  # -1: the start token, which has no node
    step: Whole  # from 1
    token: Choice
    log_prob: float  # sum over the path
    score: float  # with the penalties of the search
    rank: Whole  # among the candidates of its step, from 1
    fate: Literal["kept", "finished", "pruned", "unfinished"]
    reason: str  # in words: why it was pruned or ended
    best: bool = False  # on the path of the answer


class Forced(msgspec.Struct, frozen=True):
    """One step of the reference, forced through the search: its rank and whether the beam still held it."""

    token: Choice
    rank: Whole
    margin: float  # its summed log-probability minus that of the last hypothesis the beam kept
    in_beam: bool


class Beam(msgspec.Struct, frozen=True):
    """The tree of a search, and the verdict on a reference that it did not find."""

    width: Whole
    length_penalty: float
    nodes: list[Node]
    reference: list[Forced] = []
    verdict: str = ""  # "found", "search error", "model error", with the numbers, in a sentence


class Reading(msgspec.Struct, frozen=True):
    """What the decoder writes when it reads less: an earlier encoder layer, an earlier decoder layer, fewer words."""

    kind: Literal["encoder layer", "decoder layer", "words read"]
    number: Whole
    text: str
    pieces: list[str]  # per position: the most probable token
    log_probs: list[float]


class Lane(msgspec.Struct, frozen=True):
    """One model on one text. Fields of views that were not asked for, or that the model does not have, are empty."""

    model: str  # name of the folder
    task: str
    family: str
    source: Side  # empty for language models, whose text is the target: each token is predicted from those before it
    target: Side | None  # null: the model gives labels or tags, or fills gaps; then each step is one answer
    forced: bool  # True: the target was given, not found by the search
    reference: str | None
    score: float | None  # of the search; null if forced or if there was none
    steps: list[Step]
    answers: list[str]  # what a person reads: the translation, or the label, or a tag per word
    maps: list[Map] = []
    heads: Heads | None = None
    decay: list[Decay] = []
    agreement: list[Agreement] = []
    paths: list[Path] = []
    beam: Beam | None = None
    lens: list[Reading] = []
    notes: list[str] = []  # sentences for people: texts that were cut, views that are missing and why
    provenance: dict[str, str] = {}  # model hash, data hash, version, command, seed

    def map(self, name: str, trained: bool = True) -> Map:
        """The map of this name; KeyError if there is none."""
        for found in self.maps:
            if found.name == name and found.trained == trained:
                return found
        raise KeyError(name)

    @property
    def written(self) -> list[str]:
        """What each step wrote: a token of the target, a label, a tag, or the piece that fills a gap."""
        if self.target is not None:
            return [token.piece for token in self.target.tokens]
        if len(self.answers) == len(self.steps):
            return self.answers
        return [step.top[min(step.rank, len(step.top)) - 1].piece for step in self.steps]

    def views(self) -> list[str]:
        """The views that this lane has something to show for."""
        extra = {"heads": self.heads, "beam": self.beam, "lens": self.lens, "states": self.paths}
        found = {found.view for found in self.maps} | {name for name, part in extra.items() if part}
        return [name for name in VIEWS if name in found]


class Explained(msgspec.Struct, frozen=True, tag_field="kind", tag="explain"):
    """The document: one lane per model, or the curves of training runs, or maps of many sentences."""

    version: Literal[2] = VERSION
    lanes: list[Lane] = []
    curves: list[Curve] = []
    phrases: list[Phrases] = []

    def views(self) -> list[str]:
        """The views that this document has something to show for, in the order of VIEWS."""
        found = {name for lane in self.lanes for name in lane.views()}
        found |= {name for name, part in (("curves", self.curves), ("phrases", self.phrases)) if part}
        return [name for name in VIEWS if name in found]

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    def _repr_html_(self) -> str:
        """The page in a frame: what a notebook shows."""
        return frame(self)

    @classmethod
    def from_json(cls, text: bytes | str) -> "Explained":
        """The document in this JSON; DataError says what is wrong with it and where."""
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise DataError(f"this is not an explain document of version {VERSION}: {error}") from None


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the document."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Explained)}
