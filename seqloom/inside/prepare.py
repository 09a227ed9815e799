"""A loaded model and a text become a subject. What the model reads and answers is what `translate` gives.

A text that `translate` would split or cut is shown only as far as one pass of the model goes; a note says so.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from seqloom.config import SHAPES, TASKS
from seqloom.decode.ensemble import Ensemble
from seqloom.decode.hypothesis import Hypothesis
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.explain.document import Side, Token
from seqloom.inside.edits import Edit
from seqloom.inside.subject import Subject
from seqloom.inside.surface import Span, side_of, spans_of
from seqloom.inside.what_if import EditedModel
from seqloom.models.api import Seq2Seq
from seqloom.runtime.engine_torch import TorchEngine
from seqloom.runtime.parts import Part
from seqloom.text.tags import cut_at_words, last_pieces
from seqloom.text.vocabulary import BOS, EOS, FIRST_WORD, GAP

if TYPE_CHECKING:
    from seqloom.runtime.answering import Answering
    from seqloom.runtime.gap_filler import GapFiller
    from seqloom.runtime.generator import Generator
    from seqloom.runtime.labeller import Labeller
    from seqloom.runtime.translator import Translator

LONGEST = 256  # tokens of a text that a language model is shown on: maps of all heads grow with its square


def prepare(
    model: "Answering",
    text: str,
    target: str | None = None,
    reference: str | None = None,
    *,
    answer: bool = True,
    prefix: Sequence[int] = (),
    edits: Sequence[Edit] = (),
) -> Subject:
    """The subject of this model and text; `target`: a given output instead of the model's own.

    answer=False saves a search: without a target the output is empty. `prefix`: ids that the output must begin with;
    `edits`: changes by hand while the model runs.
    """
    if not isinstance(text, str):
        raise UsageError(f"explain takes one text, got {type(text).__name__}; call it once per text")
    if not text.strip():
        raise UsageError("the text is empty: give a text to explain")
    if isinstance(model.model, Ensemble):
        raise UsageError("an ensemble has no inside of its own: explain each of its models, beside each other (--with)")
    shape = TASKS[model.config.task.name].shape
    asked = {"target": target, "reference": reference, "prefix": prefix or None, "edits": edits or None}
    given = {name: value for name, value in asked.items() if value is not None}
    for name in given if not SHAPES[shape].translates else ():
        raise UsageError(
            f"--{name} is for models that write a text for a source; "
            f"this one was trained for {model.config.task.name!r}"
        )
    if model.config.data.normalise == "nfc":
        text = unicodedata.normalize("NFC", text)
    if not answer and SHAPES[shape].translates:
        given = {"target": "", **given}
    searches = {"answer": answer} if shape == "continues" else {}
    subject = PREPARERS[shape](model, text, **given, **searches)
    return replace(subject, name=model.folder.name if model.folder else "", folder=model.folder)


def of_translator(
    model: "Translator",
    text: str,
    target: str | None = None,
    reference: str | None = None,
    prefix: Sequence[int] = (),
    edits: Sequence[Edit] = (),
) -> Subject:
    """A source and the output that the search of this model finds, or a given one."""
    notes: list[str] = []
    source_tokenizer, target_tokenizer = model.tokenizers.source, model.tokenizers.target
    words, text = source_words(model, text, notes, whole=target is not None)
    request = model.fill(SearchRequest())
    score, ended = None, True
    network = EditedModel(model.model, edits) if edits else model.model
    if target is None:
        best = search_edited(network, request, words, prefix) if prefix or edits else model.search([words])[0][0]
        written, score, ended = [*best.ids], best.score, best.ended
        target = target_tokenizer.decode(written)
        target = target if target_tokenizer.kind == "char" else target.strip()
        forced = False
    else:
        target, written = given_words(model, target, "target", notes)
        forced = True
    ids = [*words, EOS]
    written_ids = [*written, EOS] if ended else written
    if not ended:
        notes.append(f"the output was cut at the length limit of {len(written)} tokens")
    reference_words = given_words(model, reference, "reference", notes)[1] if reference is not None else []
    return Subject(
        model=network,
        tokenizers=model.tokenizers,
        config=model.config,
        source=side_of(source_tokenizer, ids, text, words),
        target=side_of(target_tokenizer, written_ids, target, written),
        source_ids=ids,
        read_ids=[BOS, *written_ids[:-1]],
        written_ids=written_ids,
        answers=[target],
        forced=forced,
        score=score,
        reference=reference,
        reference_ids=[*reference_words, EOS] if reference is not None else [],
        request=request,
        prefix=[*prefix],
        notes=notes,
    )


def search_edited(network: Seq2Seq, request: SearchRequest, words: list[int], prefix: Sequence[int]) -> Hypothesis:
    """The best output of a model as it is in memory, which need not be the one that an engine was made from."""
    vocab_size = network.target_vocab_size
    if wrong := [index for index in prefix if not FIRST_WORD <= index < vocab_size]:
        raise UsageError(f"prefix: {wrong[0]} is not the id of a word; want {FIRST_WORD} to {vocab_size - 1}")
    found = TorchEngine(network, batch_size=1).find(request, [Part(words, [*prefix])])[0][0]
    if isinstance(network, EditedModel):
        network.check()
    return found


def source_words(model: "Translator", text: str, notes: list[str], whole: bool) -> tuple[list[int], str]:
    """The ids of the source, and the text they stand for. `whole`: a given target translates all of the text."""
    intake = model.intake(noting(notes))
    if whole and intake.long_inputs == "by sentence":
        parts = [intake.cut(intake.encode([text])[0], "text", 1)]
    else:
        parts = intake.prepare([text], [1])[0]
    if not parts:
        raise UsageError("the text is empty: give a text to explain")
    if len(parts) > 1:
        text = model.tokenizers.source.decode(parts[0]).strip() or text
        notes.append(f"this text is translated in {len(parts)} parts; this is the first: {text!r}")
    return parts[0], text


def given_words(model: "Translator", text: str, name: str, notes: list[str]) -> tuple[str, list[int]]:
    """A given target or reference and its ids, cut at the limit with a note."""
    if model.config.data.normalise == "nfc":
        text = unicodedata.normalize("NFC", text)
    intake = replace(model.intake(noting(notes)), tokenizer=model.tokenizers.target)
    return text, intake.cut(intake.encode([text])[0], name, 1)


def noting(notes: list[str]) -> Callable[[str], None]:
    """What becomes of warnings about the text: notes, without the number of the line."""
    return lambda message: notes.append(message.removeprefix("line 1: "))


def of_labeller(model: "Labeller", text: str) -> Subject:
    """A text and its label, or the tags of its words; of a long text the first part."""
    pieces = model.pieces([text])[0]
    first, *others = cut_at_words(pieces.words, model.config.data.max_tokens)
    words = pieces.ids[first]
    ids, notes = [BOS, *words, EOS], []
    if others:
        notes.append(
            f"a text of {len(pieces.ids):,} tokens, the model takes {model.config.data.max_tokens}: "
            f"the first {len(words)} are shown"
        )
    at: list[int] | None = None
    if model.tags_words:
        numbers = pieces.words[first]
        places = last_pieces(numbers, max(numbers, default=-1) + 1)
        at = [0 if place is None else place + 1 for place in places]  # + 1: BOS
    subject = Subject(
        model=model.model,
        tokenizers=model.tokenizers,
        config=model.config,
        source=side_of(model.tokenizers.source, ids, text, words),
        target=None,
        source_ids=ids,
        at=at,
        labels=model.labels,
        notes=notes,
    )
    best = subject.log_probs.argmax(-1).tolist()
    return replace(subject, written_ids=best, answers=[model.labels[index - FIRST_WORD] for index in best])


def of_gap_filler(model: "GapFiller", text: str) -> Subject:
    """A text with gaps, and the words that the model puts there; without a gap there is no answer."""
    notes: list[str] = []
    if GAP in text:
        words, gaps = model.with_gaps(text)
        spans = gap_spans(model, text)
    else:
        words, gaps, most = model.pieces([text])[0].ids, [], model.config.data.max_tokens
        spans = spans_of(model.tokenizers.source, words, text)
        notes.append(f"this text has no gap: write {GAP} for a word, and the model fills it")
        if len(words) > most:
            notes.append(f"a text of {len(words):,} tokens, the model takes {most}: the first {most} are shown")
            words, spans = words[:most], spans[:most]
    ids = [BOS, *words, EOS]
    pieces = model.tokenizers.source.pieces(ids)
    for gap in gaps:
        pieces[gap + 1] = GAP
    tokens = [Token(*each) for each in zip(ids, pieces, [None, *spans, None], strict=True)]
    subject = Subject(
        model=model.model,
        tokenizers=model.tokenizers,
        config=model.config,
        source=Side(text, tokens),
        target=None,
        source_ids=ids,
        at=[gap + 1 for gap in gaps],
        answers=model.fill([text]),
        notes=notes,
    )
    return replace(subject, written_ids=subject.log_probs.argmax(-1).tolist())


def gap_spans(model: "GapFiller", text: str) -> list[Span | None]:
    """Spans of the tokens around gaps, and of the gaps, in the order of `GapFiller.with_gaps`."""
    spans: list[Span | None] = []
    start = 0
    parts = text.split(GAP)
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        read = part if last else part.rstrip(" ") if model.joined_to_the_blank else part
        found = spans_of(model.tokenizers.source, model.pieces([read])[0].ids, read)
        spans += [None if span is None else (span[0] + start, span[1] + start) for span in found]
        start += len(part)
        if not last:
            spans.append((start, start + len(GAP)))
            start += len(GAP)
    return spans


def of_generator(model: "Generator", text: str, answer: bool = True) -> Subject:
    """A text that a language model reads: each token is predicted from those before it. The answer continues it."""
    text = text.replace("\r\n", "\n")
    ids, notes = model.encode(text), list[str]()  # an end token first, as between two texts
    most = min(model.model.context or model.config.data.max_tokens, LONGEST) + 1
    spans: list[Span | None] = []
    start = 0
    for line in text.split("\n"):
        words = model.tokenizer.encode(line)
        found = spans_of(model.tokenizer, words, line)
        spans += [None if span is None else (span[0] + start, span[1] + start) for span in found]
        start += len(line) + 1
        spans.append((start - 1, start))  # the line end
    if len(ids) > most:
        notes.append(f"a text of {len(ids) - 1:,} tokens, the model takes {most - 1}: the first {most - 1} are shown")
        ids = ids[:most]
    written = ids[1:]
    pieces = model.tokenizer.pieces(written)
    tokens = [Token(*each) for each in zip(written, pieces, spans[: len(written)], strict=True)]
    return Subject(
        model=model.model,
        tokenizers=model.tokenizers,
        config=model.config,
        source=Side("", []),
        target=Side(text, tokens),
        source_ids=[],
        read_ids=ids[:-1],
        written_ids=written,
        answers=[model.translate(text)] if answer else [],
        forced=True,
        notes=notes,
    )


PREPARERS: dict[str, Callable[..., Subject]] = {  # shape of the answers (config/tasks.py) -> function
    "writes": of_translator,
    "restores": of_translator,
    "labels": of_labeller,
    "tags": of_labeller,
    "fills": of_gap_filler,
    "continues": of_generator,
}
