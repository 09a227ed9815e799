"""Builds the explain document: prepares the subject of each model, runs the views, and puts the parts together."""

from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import msgspec
import torch
from torch import Tensor

import seqloom
from seqloom.errors import UsageError
from seqloom.explain.document import Choice, Explained, Lane, Step
from seqloom.files.durable import hash_file
from seqloom.inside.basis import Basis
from seqloom.inside.edits import Edit
from seqloom.inside.prepare import prepare
from seqloom.inside.samples import samples_of
from seqloom.inside.subject import WEIGHTS, Lacks, Options, Parts, Subject
from seqloom.inside.views import VIEWS, check_views, not_edited, why_not
from seqloom.inside.what_if import EditedModel

if TYPE_CHECKING:
    from seqloom.runtime.answering import Answering


def explain(
    models: "Sequence[Answering]",
    text: str,
    *,
    target: str | None = None,
    reference: str | None = None,
    views: Iterable[str] | None = None,
    sentences: Sequence[str] | None = None,
    top: int = 5,
    strict: bool = True,
    prefix: Sequence[int] = (),
    edits: Sequence[Edit] = (),
    bases: dict[str, Basis] | None = None,
) -> Explained:
    """The document of these models on one text, one lane per model.

    `views`: names of VIEWS; None = every view that a model has. `sentences`: other texts, which the views of heads and
    states measure; None = the held-out texts in the model's folder. `strict`: a view that none of the models has is
    an error; otherwise it is left out. `prefix`: ids that the outputs must begin with. `edits`: changes by hand.
    `bases`: a dictionary that is to hold the axes on which states are drawn, by their hash.
    """
    asked = None if views is None else check_views(views)
    if top < 1:
        raise UsageError(f"top = {top}: want at least 1 alternative per step")
    found = []
    bases = {} if bases is None else bases
    for model in models:
        subject = prepare(model, text, target, reference, prefix=prefix, edits=edits)
        options = Options(top, sentences, cache(partial(samples_of, model, sentences)), bases)
        found.append(lane_of(subject, options, VIEWS if asked is None else asked))
    shown = {view for lane, _ in found for view in lane.views()}
    if strict and asked is not None:
        for view in asked:
            if all(view in lacks for _, lacks in found):
                reasons = dict.fromkeys(f"{lane.model or 'this model'}: {lacks[view]}" for lane, lacks in found)
                raise UsageError(f"--view {view}: {'; '.join(reasons)}")
    return Explained(
        lanes=[
            # where one of several lanes has a view, the others say why they have not
            msgspec.structs.replace(
                lane, notes=lane.notes + [f"{view}: {why}" for view, why in lacks.items() if asked or view in shown]
            )
            for lane, lacks in found
        ]
    )


def lane_of(subject: Subject, options: Options, views: Iterable[str]) -> tuple[Lane, dict[str, str]]:
    """The lane of a subject, and why it lacks some of the views."""
    parts, lacks = Parts(), dict[str, str]()
    for view in views:
        if why := why_not(view, subject.config) or (isinstance(subject.model, EditedModel) and not_edited(view)):
            lacks[view] = why
            continue
        try:
            merge(parts, VIEWS[view].measure(subject, options))
        except Lacks as lack:
            lacks[view] = str(lack)
    return assemble(subject, parts, options.top), lacks


def merge(parts: Parts, new: Parts) -> None:
    """Add the parts of one view to those of the others."""
    for name, value in vars(new).items():
        if isinstance(value, list):
            getattr(parts, name).extend(value)
        elif value is not None:
            setattr(parts, name, value)


def assemble(subject: Subject, parts: Parts, top: int) -> Lane:
    return Lane(
        model=subject.name,
        task=subject.config.task.name,
        family=subject.family,
        source=subject.source,
        target=subject.target,
        forced=subject.forced,
        reference=subject.reference,
        score=subject.score,
        steps=steps_of(subject, top, parts.source_share),
        answers=subject.answers,
        maps=parts.maps,
        heads=parts.heads,
        decay=parts.decay,
        agreement=parts.agreement,
        paths=parts.paths,
        beam=parts.beam,
        lens=parts.lens,
        notes=subject.notes + parts.notes,
        provenance=provenance_of(subject),
    )


def steps_of(subject: Subject, top: int, source_share: Sequence[float] = ()) -> list[Step]:
    """One step per prediction: how probable the answer was, and what else the model considered."""
    shares: Sequence[float | None] = source_share or [None] * len(subject.written_ids)
    places: Sequence[int | None] = subject.at or [None] * len(subject.written_ids)
    rows = zip(subject.log_probs, subject.written_ids, shares, places, strict=True)
    return [step_of(subject, *row, top=top) for row in rows]


def step_of(
    subject: Subject, log_probs: Tensor, token: int, share: float | None, place: int | None, *, top: int
) -> Step:
    own = float(log_probs[token])
    possible = torch.isfinite(log_probs)
    best = log_probs.topk(min(top, int(possible.sum())))
    other = log_probs.index_fill(0, torch.tensor([token], device=log_probs.device), float("-inf")).max()
    certain = not torch.isfinite(other)  # nothing else was possible
    return Step(
        log_prob=own,
        rank=int((log_probs > own).sum()) + 1,
        margin=0.0 if certain else own - float(other),
        entropy=float(-(log_probs.exp() * log_probs)[possible].sum()),
        top=[
            Choice(index, subject.piece(index), log_prob)
            for log_prob, index in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ],
        source_share=share,
        at=place,
    )


def provenance_of(subject: Subject) -> dict[str, str]:
    """What the numbers come from: version of Seqloom, hash of the weights."""
    found = {"seqloom": seqloom.__version__, "tokenizers": subject.tokenizers.fingerprint}
    if subject.folder is not None and (subject.folder / WEIGHTS).is_file():
        found["weights"] = hash_file(subject.folder / WEIGHTS)
    return found
