"""What `translate` and `evaluate` are asked to look for: checked before a model is loaded, then carried out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.decode.options import MOST_BEAM, SampleOptions, SearchOptions, complain

if TYPE_CHECKING:
    from seqloom.runtime.answering import Answering
    from seqloom.runtime.prefixes import PrefixTexts
    from seqloom.runtime.translator import Translation

ONLY_OF_SAMPLES = ("temperature", "top_k", "top_p", "seed")
ONLY_OF_SEARCH = ("beam", "coverage_penalty")


@dataclass(frozen=True)
class Decoding:
    """The options of the command line; None is what was not given: the model's own settings hold."""

    beam: int | None = None
    n_best: int | None = None
    length_penalty: float | None = None
    coverage_penalty: float | None = None
    min_length: int | None = None
    no_repeat_ngram: int | None = None
    alternatives: int | None = None
    sample: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    mbr: int | None = None

    def __post_init__(self) -> None:
        """A wrong option should not cost the seconds that torch and a model take to load."""
        complain([*self.conflicts()])
        num = self.candidates
        if self.sample is not None:
            SampleOptions(num, **given(temperature=self.temperature, top_k=self.top_k, top_p=self.top_p))
        rows = num if self.sample is None and self.alternatives is None else 1
        SearchOptions(beam=max(5, rows) if self.beam is None else self.beam, n_best=rows, **self.settings)

    def conflicts(self) -> Iterator[str]:
        """One sentence for each pair of options that cannot hold together."""
        ways = [name for name in ("n_best", "alternatives", "sample") if getattr(self, name) is not None]
        if len(ways) > 1:
            yield f"{' and '.join(map(spelled, ways))}: each says where the outputs come from; give one of them"
        for way in ways:
            if not 1 <= (got := getattr(self, way)) <= MOST_BEAM:
                yield f"{spelled(way)} {got}: want 1 to {MOST_BEAM}"
        unfit = ONLY_OF_SAMPLES if self.sample is None else ONLY_OF_SEARCH
        for name in unfit:
            if getattr(self, name) is not None:
                yield f"{spelled(name)}: only {'with --sample N' if self.sample is None else 'without --sample'}"
        if self.seed is not None and self.seed < 0:
            yield f"--seed {self.seed}: want 0 or more"
        if self.mbr is not None:
            yield from self.conflicts_of_mbr()

    def conflicts_of_mbr(self) -> Iterator[str]:
        assert self.mbr is not None
        if not 2 <= self.mbr <= MOST_BEAM:
            yield f"--mbr {self.mbr}: want 2 to {MOST_BEAM} candidates to choose from"
        if self.alternatives is not None:
            yield "--mbr and --alternatives: the outputs that agree most are no alternatives; give one of them"
        if self.shown > self.mbr:
            yield f"--mbr {self.mbr}: cannot choose {self.shown} of {self.mbr} candidates; raise --mbr"
        if self.beam is not None and self.beam < self.mbr and self.sample is None:
            yield f"--mbr {self.mbr} --beam {self.beam}: a beam finds as many candidates as it is wide; raise --beam"

    @property
    def shown(self) -> int:
        """How many outputs there are of each text."""
        return self.n_best or self.alternatives or self.sample or 1

    @property
    def candidates(self) -> int:
        """How many are looked for: minimum Bayes risk chooses among more than it shows."""
        return self.mbr if self.mbr is not None else self.shown

    @property
    def settings(self) -> dict[str, Any]:
        """Those that were given, as a search calls them."""
        return given(
            length_penalty=self.length_penalty,
            coverage_penalty=self.coverage_penalty,
            min_length=self.min_length,
            no_repeat_ngram=self.no_repeat_ngram,
        )

    def run(
        self,
        translator: "Answering",
        texts: Sequence[str],
        *,
        prefixes: "PrefixTexts" = None,
        lines: Sequence[int],
        warn: Callable[[str], None],
    ) -> list[list["Translation"]]:
        """The outputs for each text, best first (samples in the order they were drawn)."""
        shared: dict[str, Any] = {"prefixes": prefixes, "lines": lines, "warn": warn, **self.settings}
        num = self.candidates
        if self.alternatives is not None:
            return translator.alternatives(texts, num, self.beam, **shared)
        if self.sample is not None:
            chance = given(temperature=self.temperature, top_k=self.top_k, top_p=self.top_p, seed=self.seed)
            found = translator.sample(texts, num, **chance, **shared)
        else:
            found = translator.hypotheses(texts, self.beam, num, **shared)
        return [least_risky(ranked)[: self.shown] for ranked in found] if self.mbr is not None else found


def least_risky(candidates: list["Translation"]) -> list["Translation"]:
    """The candidates, first the one that agrees most with all the others (chrF): minimum Bayes risk."""
    from seqloom.runtime.rerank import rank_by_risk

    return [candidates[place] for place in rank_by_risk([candidate.text for candidate in candidates])]


def given(**options: Any) -> dict[str, Any]:
    return {name: option for name, option in options.items() if option is not None}


def spelled(name: str) -> str:
    """An option as it is typed."""
    return "--" + name.replace("_", "-")
