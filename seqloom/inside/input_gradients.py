"""Gradients of predictions with respect to the tokens that were read, for every kind of model.

    f_t = log p(y_t | everything read),      g_ts = d f_t / d x_s

x_s is the embedding of token s: the vector with which it enters the network, one definition for all architectures. The
model runs once for all predictions: row t of the batch is the same text, and only its prediction t is differentiated.
No row reads the target behind the last prediction of its pass, on which nothing in it depends.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.inside.hooks import hooked
from seqloom.inside.subject import Lacks, Subject
from seqloom.models.api import LanguageModel, Reader
from seqloom.text.vocabulary import FIRST_WORD

MOST_WORK = 240_000  # tokens read in all rows; a small Transformer takes about 40 seconds for them
MOST_ROWS = 128  # texts in one backward pass: bounds the memory
MOST_LOGITS = 1024  # predictions over the whole vocabulary in one forward pass: the same
T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """Tokens that a model reads, and the predictions that are explained."""

    model: Any
    source: list[int]  # with its special tokens; empty for a language model on its own text
    prefix: list[int]  # target tokens, as the decoder reads them, from BOS on; empty for an encoder-only model
    answers: list[tuple[int, int]]  # position of the output, id of the predicted token or label

    @classmethod
    def of(cls, subject: Subject, model: Any = None) -> "Question":
        """What the model of this subject, or another of the same sizes, predicted from what it read."""
        positions = subject.at if subject.at is not None else range(len(subject.written_ids))
        answers = [*zip(positions, subject.written_ids, strict=True)]
        return cls(model or subject.model, subject.source_ids, subject.read_ids, answers)

    def until(self, position: int) -> "Question":
        """The same without what a decoder reads after this position."""
        return replace(self, prefix=self.prefix[: position + 1])


def check_work(question: Question, points: int = 1) -> None:
    """Lacks for a text so long that its gradients, at this many points, would take minutes."""
    read = len(question.source) + len(question.prefix)
    if len(question.answers) * read * points > MOST_WORK:
        raise Lacks(f"this text is too long for it: {len(question.answers)} predictions from {read} tokens")


@dataclass(frozen=True)
class Gradients:
    """For each of R predictions: log p, the embeddings that were read, and the gradients; 0 tokens where none are."""

    log_prob: Float[Tensor, " R"]
    source: Float[Tensor, "R S E"]
    prefix: Float[Tensor, "R T E"]
    source_embedding: Float[Tensor, "R S E"]
    prefix_embedding: Float[Tensor, "R T E"]

    @property
    def embeddings(self) -> tuple[Tensor, Tensor]:
        return self.source_embedding, self.prefix_embedding


def input_gradients(question: Question, scales: tuple[float, ...] = (1.0,)) -> list[Gradients]:
    """The gradients of every prediction, per scale: 1 = the text, 0 = average words in its place. For eval mode."""
    rows = [(answer, scale) for scale in scales for answer in range(len(question.answers))]
    parts = [differentiate(question, some) for some in batches(rows)]
    joined = Gradients(*(torch.cat([getattr(part, name) for part in parts]) for name in Gradients.__annotations__))
    each = [getattr(joined, name).chunk(len(scales)) for name in Gradients.__annotations__]
    return [Gradients(*numbers) for numbers in zip(*each, strict=True)]


def batches(wanted: Sequence[T], rows: int = 1) -> Iterator[Sequence[T]]:
    """Batches of about the same size, for one backward pass each, of things that take so many rows each."""
    number = -(-len(wanted) * rows // MOST_ROWS)
    for batch in range(number):
        yield wanted[len(wanted) * batch // number : len(wanted) * (batch + 1) // number]


def log_probs(question: Question, scales: Float[Tensor, " A"]) -> Float[Tensor, "A R"]:
    """log p of every prediction at these scales (as in `input_gradients`), without gradients."""
    positions, ids = torch.tensor(question.answers).T
    found = []
    for some in scales.split(max(1, MOST_LOGITS // len(ids))):
        with torch.no_grad(), embeddings_as_leaves(question.model, some[:, None, None]):
            logits = predict(question, read(question, len(some))[:, positions])
        found.append(logits.log_softmax(-1).gather(-1, ids.expand(len(some), -1)[..., None])[..., 0])
    return torch.cat(found)


def predict(question: Question, hidden: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
    """The logits of these hidden vectors; special ids are never a label."""
    logits: Tensor = question.model.project(hidden)
    if isinstance(question.model, Reader):
        logits = logits.index_fill(-1, torch.arange(FIRST_WORD), float("-inf"))
    return logits


def differentiate(question: Question, rows: Sequence[tuple[int, float]]) -> Gradients:
    """One forward and one backward pass: row r is the prediction rows[r][0] with embeddings at the scale rows[r][1]."""
    answers = torch.tensor([question.answers[answer] for answer, _ in rows])
    scales = torch.tensor([scale for _, scale in rows])[:, None, None]
    with torch.enable_grad(), embeddings_as_leaves(question.model, scales) as leaves:
        hidden = read(question.until(int(answers[:, 0].max())), len(rows))
        logits = predict(question, hidden[torch.arange(len(rows)), answers[:, 0]])
        log_prob = logits.log_softmax(-1).gather(1, answers[:, 1:])[:, 0]
        found = torch.autograd.grad(log_prob.sum(), leaves, allow_unused=True)
    gradients = [torch.zeros_like(leaf) if part is None else part for leaf, part in zip(leaves, found, strict=True)]
    nothing = leaves[0].new_zeros(len(rows), 0, leaves[0].shape[-1])
    both = [leaf.detach() for leaf in leaves]
    if not question.source:
        gradients, both = [nothing, *gradients], [nothing, *both]
    sides = [[*gradients, nothing][:2], [*both, nothing][:2]]
    whole = [(source, F.pad(prefix, (0, 0, 0, len(question.prefix) - prefix.shape[1]))) for source, prefix in sides]
    return Gradients(log_prob.detach(), *whole[0], *whole[1])


def read(question: Question, rows: int) -> Float[Tensor, "R T D"]:
    """The hidden vectors of all predictions, for `rows` copies of the text."""
    model = question.model
    source, prefix = (torch.tensor([ids]).expand(rows, -1) for ids in (question.source, question.prefix))
    mask = torch.ones_like(source, dtype=torch.bool)
    hidden: Tensor
    if isinstance(model, Reader):
        hidden = model.hidden(source, mask)
    elif isinstance(model, LanguageModel) and not question.source:
        hidden = model.read(prefix, model.begin(rows))[0]
    else:
        hidden = model.hidden(prefix, model.encode(source, mask))
    return hidden


@contextmanager
def embeddings_as_leaves(model: nn.Module, scales: Float[Tensor, "R 1 1"]) -> Iterator[list[Tensor]]:
    """Inside, each look-up in an embedding table gives a leaf of the graph, collected in the order of the calls.

    A leaf lies on the line from the mean of the table, an average word (scale 0), to the embedding (scale 1). It does
    not start at the zero vector: a layer norm makes all texts near 0 alike, so that all change would lie in a point.
    """
    leaves: list[Tensor] = []

    def replace(table: nn.Module, ids: Any, output: Tensor) -> Tensor:
        average = table.weight.detach().mean(0)  # type: ignore[operator]
        leaves.append(torch.lerp(average.expand_as(output), output.detach(), scales.to(output)).requires_grad_())
        return leaves[-1]

    tables = {getattr(model, name) for name in ("source_table", "target_table") if hasattr(model, name)}
    with hooked(tables, replace):
        yield leaves
