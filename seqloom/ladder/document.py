"""Types of the ladder's documents: report.json, and scores.json of each rung. Fields are in the order of the files.

A field that may be missing (UNSET) is new since an older version, or belongs to only one of the two files.
"""

import json
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from seqloom.config import TextConfig
from seqloom.evaluation.report import Bad, Rival
from seqloom.ladder.papers import Published
from seqloom.metrics.significance import Difference, Estimate

FORMAT = 2  # of report.json
SearchOptions = dict[str, Any]  # beam, length_penalty, ...: the options that were used, by name


class LengthBucket(Struct, frozen=True, kw_only=True):
    """The scores of the sentences whose source has `least` to `most` of the unit."""

    unit: str
    least: int
    most: int | None  # None = no end
    sentences: int
    bleu: float
    chrf: float
    exact_match: float | UnsetType = UNSET  # in report.json only

    def score(self, metric: str) -> float:
        """Return the score of one metric."""
        return float(getattr(self, metric))


class SearchScores(Struct, frozen=True, kw_only=True):
    """The scores of the test set with one kind of search (beam or greedy)."""

    bleu: Estimate | None
    chrf: Estimate | None
    ter: Estimate | UnsetType | None = UNSET
    exact_match: Estimate | None
    token_error_rate: Estimate | None
    character_error_rate: Estimate | UnsetType | None = UNSET
    beam: int | UnsetType = UNSET
    search: SearchOptions
    outputs: list[str] | UnsetType = UNSET  # in scores.json only
    sentences_per_second: float
    sentences: int | UnsetType = UNSET
    lines: int | UnsetType = UNSET
    test_hash: str | UnsetType = UNSET
    by_length: list[LengthBucket]
    worst: list[Bad] | UnsetType = UNSET  # in scores.json only
    warnings: list[str] | UnsetType = UNSET  # in scores.json only
    against: Rival | UnsetType | None = UNSET  # in scores.json only
    task: str | UnsetType = UNSET
    diversity: dict[str, tuple[float, float]] | UnsetType = UNSET
    baseline: Rival | UnsetType | None = UNSET

    def estimate(self, metric: str) -> Estimate:
        """Return the score of one metric with its interval."""
        found = getattr(self, metric)
        assert isinstance(found, Estimate), f"{metric} was not measured"
        return found


class ComparedWith(Struct, frozen=True, kw_only=True):
    """A comparison with another rung, as stored in scores.json; valid until the other's weights or search change."""

    rung: str
    weights: str
    search: SearchOptions
    differences: dict[str, Difference]
    method: int = 1  # of the test (significance.METHOD)


class Scores(Struct, kw_only=True):
    """scores.json of a rung."""

    format: int
    test_hash: str
    weights: str  # SHA-256 of the weight file
    target_lang: str
    seen_in_training: int | None
    beam: SearchScores
    greedy: SearchScores
    against: ComparedWith | UnsetType = UNSET


class Machine(Struct, frozen=True, kw_only=True):
    """The machine of the call that wrote the report."""

    cpu: str
    cores: int
    torch: str
    python: str


class Step(Struct, frozen=True, kw_only=True):
    """A rung compared with the one before it: ours minus theirs by metric, and the settings that changed."""

    rung: str
    differences: dict[str, Difference]
    changed: dict[str, list[Any]]  # setting: [then, now]


class Row(Struct, frozen=True, kw_only=True, tag_field="status"):
    """One rung of the report; its status is the name of its type."""

    name: str
    family: str
    recipe: str
    summary: str


class Waiting(Row, frozen=True, kw_only=True, tag="waiting"):
    """A rung that is not trained yet."""


class Failed(Row, frozen=True, kw_only=True, tag="failed"):
    """A rung whose training failed."""

    reason: str


class Done(Row, frozen=True, kw_only=True, tag="done"):
    """A rung that was trained and measured."""

    params: int
    minutes: float
    step: int
    epoch: float
    tokens_per_second: float
    valid_loss: float | None  # None = it overflowed
    weights: str
    threads: int
    precision: str
    tokenizer: TextConfig
    languages: list[str]  # source and target
    curve: list[tuple[float, float]]  # minutes, validation loss
    mfu: float | None  # None = the machine's speed was not known, or was measured too low: above 1
    beam: SearchScores
    greedy: SearchScores
    against: Step | None

    @property
    def is_young(self) -> bool:
        """Whether it saw less than one epoch: its scores say little about the model."""
        return self.epoch < 1


class Sample(Struct, frozen=True, kw_only=True):
    """A test sentence as each rung wrote it."""

    line: int
    source: str
    references: list[str]
    outputs: dict[str, str]  # by rung


class Document(Struct, frozen=True, kw_only=True):
    """report.json: everything that the pages and charts of a ladder show."""

    format: int = FORMAT
    version: str
    pairs: str
    valid: str | None
    test: str
    test_hash: str
    sentences: int
    budget_seconds: float
    seed: int
    chosen_by_test: bool = False
    main_metric: str = "bleu"  # what rungs are compared by: see scores.choose_metric
    machine: Machine
    rungs: list[Done | Failed | Waiting]
    samples: list[Sample] = []
    published: list[Published]  # empty for a ladder that does not translate between two languages
    warnings: dict[str, list[str]]  # by rung


def to_text(document: Document | Scores) -> str:
    """Return the JSON of a file; ValueError for a number that is not finite."""
    plain = msgspec.to_builtins(document, enc_hook=lambda number: number.item())  # numpy's numbers as Python's
    return json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False)
