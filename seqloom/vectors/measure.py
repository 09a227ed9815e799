"""Questions to word vectors: nearest neighbours, analogies, and agreement with human similarity judgements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.errors import DataError, UsageError

if TYPE_CHECKING:
    from seqloom.vectors.questions import Section
    from seqloom.vectors.word_pairs import Judged
    from seqloom.vectors.word_vectors import WordVectors

Warn = Callable[[str], None]
Neighbours = list[tuple[str, float]]
SYNTACTIC = "gram"  # sections about word forms begin with this in word2vec's questions file


def nearest(
    file: Path,
    words: Sequence[str],
    k: int,
    warn: Warn,
    side: str | None = None,
    sentences: Path | None = None,
    in_context: Path | None = None,
) -> dict[str, Neighbours]:
    """The k nearest neighbours of each word; of each sentence, or word in its sentence, if a file of them is given."""
    check_k(k)
    if sentences or in_context:
        check_model(file, side, sentences, in_context)
        from seqloom.vectors.of_sentences import nearest_in_context, nearest_sentences

        if sentences:
            return nearest_sentences(file, sentences, words, k, warn)
        assert in_context is not None
        return nearest_in_context(file, in_context, words, k, warn)
    vectors = open_vectors(file, warn, side)
    return {word: vectors.nearest(word, k) for word in words}


def complete(file: Path, words: Sequence[str], k: int, warn: Warn) -> Neighbours:
    """The k best answers to: a is to b as c is to what?"""
    check_k(k)
    a, b, c = words
    return open_vectors(file, warn).analogy(a, b, c, k)


def cosine(file: Path, a: str, b: str, warn: Warn) -> float:
    """The cosine of two words."""
    return open_vectors(file, warn).similarity(a, b)


def open_vectors(file: Path, warn: Warn, side: str | None = None) -> "WordVectors":
    """The vectors; `warn` also hears which table of a model they are."""
    from seqloom.vectors.files import load_vectors

    return load_vectors(file, warn, side, say=warn)


def check_model(folder: Path, side: str | None, sentences: Path | None, in_context: Path | None) -> None:
    """UsageError unless sentences, or words in them, can be asked for here."""
    if sentences and in_context:
        raise UsageError("--sentences and --in-context: want one of them; each gives the file to look in.")
    option = "--sentences" if sentences else "--in-context"
    if side is not None:
        raise UsageError(
            f"--side {side} with {option}: a model reads sentences on its source side only; leave out --side."
        )
    if not (folder / "config.toml").exists():
        raise UsageError(
            f"{folder}: {option} needs a model folder (from `seqloom train`): only a model reads whole sentences."
        )


def check_k(k: int) -> None:
    if k < 1:
        raise UsageError(f"--k {k}: want 1 or more.")


@dataclass(frozen=True)
class Answers:
    """Results of a questions file, by section and in total."""

    sections: "list[Section]"
    num_vectors: int

    @property
    def totals(self) -> "list[Section]":
        from seqloom.vectors.questions import Section, total

        forms = [section for section in self.sections if section.name.startswith(SYNTACTIC)]
        meanings = [section for section in self.sections if not section.name.startswith(SYNTACTIC)]
        parts = {"meanings": meanings, "forms": forms} if forms and meanings else {}
        return [*(sum(some, Section(name)) for name, some in parts.items()), total(self.sections)]

    def render(self) -> str:
        rows = [("section", "right", "asked", "accuracy", "95 % interval", "left out")]
        for section in (*self.sections, *self.totals):
            scores = section.to_json()
            share = f"{100 * scores['accuracy']:.1f} %" if section.asked else "-"
            interval = f"{100 * scores['low']:.1f} to {100 * scores['high']:.1f} %" if section.asked else "-"
            cells = (f"{section.right:,}", f"{section.asked:,}", share, interval, f"{section.left_out:,}")
            rows.append((section.name, *cells))
        return f"{table(rows)}\nleft out: questions with a word that is not among the {self.num_vectors:,} words"

    def to_json(self) -> dict[str, Any]:
        parts = {part.name: part.to_json() for part in self.totals}
        return {**parts, "sections": [section.to_json() for section in self.sections], "num_vectors": self.num_vectors}


def answer_questions(file: Path, questions: Path, warn: Warn) -> Answers:
    """Answer a file of analogy questions."""
    from seqloom.vectors.questions import answer, read_questions, total

    sections = read_questions(questions)
    vectors = open_vectors(file, warn)
    answer(vectors, sections)
    if not total(sections).asked:
        raise DataError(
            f"{questions}: none of its {total(sections).left_out:,} questions can be asked: each has a word that is "
            f"not among the {len(vectors):,} words of {file}."
        )
    return Answers(sections, len(vectors))


@dataclass(frozen=True)
class Judgements:
    """Rank correlations with human judgements, one per file."""

    files: "list[Judged]"
    num_vectors: int

    def render(self) -> str:
        rows = [("pairs", "Spearman", "95 % interval", "used", "of", "left out")]
        for judged in self.files:
            interval = "-" if judged.no_interval else f"{judged.low:.3f} to {judged.high:.3f}"
            counts = (f"{judged.used:,}", f"{judged.total:,}", f"{judged.total - judged.used:,}")
            rows.append((judged.name, f"{judged.rho:.3f}", interval, *counts))
        why = "".join(f"\n{judged.name}: {judged.no_interval}" for judged in self.files if judged.no_interval)
        return f"{table(rows)}\nleft out: pairs with a word that is not among the {self.num_vectors:,} words{why}"

    def to_json(self) -> dict[str, Any]:
        return {"files": [judged.to_json() for judged in self.files], "num_vectors": self.num_vectors}


def judge_pairs(file: Path, pair_files: Sequence[Path], warn: Warn) -> Judgements:
    """Compare cosines with human judgements, for each file of word pairs."""
    from seqloom.vectors.word_pairs import FEWEST, judge, read_pairs

    lists = {path: read_pairs(path) for path in pair_files}
    vectors = open_vectors(file, warn)
    judged = [judge(vectors, pairs, path.name) for path, pairs in lists.items()]
    for path, found in zip(lists, judged, strict=True):
        if found.used < FEWEST:
            raise DataError(
                f"{path}: {found.used} of its {found.total:,} pairs have vectors for both words; want {FEWEST} or more."
            )
    return Judgements(judged, len(vectors))


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned text: the first column flush left, the others flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )
