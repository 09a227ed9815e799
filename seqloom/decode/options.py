"""A search request: every option of a search, declared once. Nothing here needs torch.

The command line, Python and HTTP build a `SearchRequest`; `filled` lays it over the model's own settings; engines read
it. To add an option, add one field here and the code under decode/ that uses it. Command lines, help pages, the body
of HTTP requests and Python follow automatically. A field of the same name in the section [decode] of the settings lets
each model have its own default.
"""

# ruff: noqa: RUF009 (the calls that declare options make fields, as `field` does)

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from seqloom.errors import UsageError, did_you_mean

if TYPE_CHECKING:  # a wrong option is refused before torch is loaded
    from torch import Tensor

    Whole: TypeAlias = int  # a search reads filled requests only
    Number: TypeAlias = float
else:  # until a request is filled, an option may be None
    Whole, Number = int | None, float | None

MOST_BEAM = 1000  # outputs per sentence; more must be a typo: it would need all the memory
MOST_PENALTY = 10.0  # papers use 0.2 to 1; length ** penalty must stay a number
OFF_OR_MORE = "0 (off) or more"
UP_TO_MOST = f"1 to {MOST_BEAM}"


@dataclass(frozen=True, slots=True)
class OverHttp:
    """An option over HTTP: what the number counts (`noun`), its range and its default."""

    noun: str
    least: int
    most: int
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """The declaration of an option, except its name, type and help; see `option`."""

    default: float | None
    least: float
    most: float
    want: str
    verbs: tuple[str, ...]
    only: str
    http: OverHttp | None


def option(
    help: str,
    default: float | None = None,
    *,
    least: float = 0,
    most: float = math.inf,
    want: str,
    verbs: str = "translate",
    only: str = "",
    http: OverHttp | None = None,
) -> Any:
    """A field of the request, None until it is given.

    `want` is the range in words. `verbs` are the commands that offer the option. `only` is "sample" for an option that
    only sampling has, and "search" for one that sampling does not have.
    """
    rule = Rule(default, least, most, want, tuple(verbs.split()), only, http)
    return field(default=None, metadata={"help": help, "rule": rule})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """The options of one search. None means not given; a search reads only requests that are `filled`."""

    beam: Whole = option(
        "hypotheses kept per sentence; 1 = greedy", 5, least=1, most=MOST_BEAM, want=UP_TO_MOST, only="search",
        verbs="translate evaluate chat serve", http=OverHttp("hypotheses", 1, 32),
    )  # fmt: skip
    n_best: int | None = option(
        "print the N best translations of each line, best first", 1, least=1, most=MOST_BEAM, want=UP_TO_MOST,
        http=OverHttp("outputs", 1, 10, default=1),
    )  # fmt: skip
    length_penalty: Number = option(
        "divide log-probabilities by length ** this: 0 = no division (prefers short outputs), 1 = mean per token", 1.0,
        most=MOST_PENALTY, want=f"0 to {MOST_PENALTY:g}", verbs="translate evaluate",
    )  # fmt: skip
    coverage_penalty: Number = option(
        "punishes source tokens without attention; 0 = off; needs a model with attention", 0.0,
        most=MOST_PENALTY, want=f"0 to {MOST_PENALTY:g}", only="search", verbs="translate evaluate",
    )  # fmt: skip
    min_length: Whole = option(
        "shortest output, in tokens", 0, want=OFF_OR_MORE, verbs="translate evaluate"
    )  # fmt: skip
    no_repeat_ngram: Whole = option(
        "no n-gram of this many tokens occurs twice in an output; 0 = off", 0, want=OFF_OR_MORE,
        verbs="translate evaluate chat",
    )  # fmt: skip
    max_length: int | None = option(
        "longest output, in tokens, end included [default: 2 x source + 50]", least=1, want="at least 1 token",
        verbs="",
    )  # fmt: skip
    alternatives: int | None = option(
        "print N translations of each line, each with a different first token (after the prefix)", least=1,
        most=MOST_BEAM, want=UP_TO_MOST, http=OverHttp("further translations", 0, 10, default=0),
    )  # fmt: skip
    sample: int | None = option("print N sampled translations of each line", least=1, most=MOST_BEAM, want=UP_TO_MOST)
    temperature: Number = option(
        "sampling: below 1 favours probable tokens, above 1 improbable ones", 1.0, least=0.01, most=100,
        want="0.01 to 100 (near 0 is greedy, 1 the model's own)", only="sample", verbs="translate chat generate",
    )  # fmt: skip
    top_k: Whole = option(
        "sampling: draw only from the K most probable tokens; 0 = all", 0, want=OFF_OR_MORE, only="sample",
        verbs="translate generate",
    )  # fmt: skip
    top_p: Number = option(
        "sampling: draw only from the most probable tokens with this total probability; 1 = all", 1.0,
        least=math.ulp(0.0), most=1, want="above 0 up to 1 (off)", only="sample", verbs="translate chat generate",
    )  # fmt: skip
    seed: Whole = option(
        "sampling: the same seed gives the same outputs", 1, want="0 or more", only="sample",
        verbs="translate chat generate",
    )  # fmt: skip
    mbr: int | None = option(
        "minimum Bayes risk: of N candidates (the N best, or N samples), choose the one most similar to the others by "
        "chrF", least=2, most=MOST_BEAM, want=f"2 to {MOST_BEAM} candidates to choose from", verbs="translate evaluate",
    )  # fmt: skip

    @classmethod
    def of(cls, **options: Any) -> "SearchRequest":
        """The request with these options; UsageError names one that does not exist."""
        for name in options.keys() - (allowed := {option.name for option in fields(cls)}):
            raise UsageError(
                f"{name}: no such search option; want {', '.join(sorted(allowed))}.{did_you_mean(name, allowed)}"
            )
        return cls(**options)

    def over(self, other: "SearchRequest") -> "SearchRequest":
        """The options of this request, and those of the other one where this one has none."""
        return SearchRequest(**(other.given | self.given))

    @property
    def given(self) -> dict[str, Any]:
        """The options that have a value."""
        return {name: value for option in fields(self) if (value := getattr(self, name := option.name)) is not None}

    @property
    def shown(self) -> int:
        """Outputs per text."""
        return self.n_best or self.alternatives or self.sample or 1

    @property
    def num(self) -> int:
        """Outputs per text that the search must find: minimum Bayes risk chooses from more than it shows."""
        return self.mbr or self.shown

    @property
    def rows(self) -> int:
        """Hypotheses that a sentence holds at once."""
        return self.num if self.sample else self.num * self.beam if self.alternatives else self.beam

    def check(self) -> None:
        """UsageError for all faults that do not depend on the model, before the model is loaded."""
        self.filled()

    def filled(self, own: Any = None, vocab_size: int | None = None) -> "SearchRequest":
        """The same request with every option that applies: as given, else the model's own, else the default.

        `own` has the settings of a model (the section decode). A beam that is not given is as wide as the number of
        outputs needs, and no wider than the vocabulary. A filled request stays unchanged.
        """
        complain([*self.no_numbers()])
        complain([*self.conflicts()])
        values = self.given
        for option in fields(self):
            if option.name not in values and self.applies(option.name, option.metadata["rule"].only):
                values[option.name] = getattr(own, option.name, option.metadata["rule"].default)
        if self.beam is None and "beam" in values:
            width = values["beam"] if vocab_size is None else min(values["beam"], vocab_size)
            values["beam"] = width if self.alternatives else max(width, min(self.num, MOST_BEAM))
        filled = SearchRequest(**values)
        complain([*filled.faults()])
        return filled

    def applies(self, name: str, only: str) -> bool:
        """False for an option that the requested kind of search (beam or sampling) does not have."""
        if name == "n_best":
            return self.alternatives is None and self.sample is None
        return not only or (only == "sample") == (self.sample is not None)

    def conflicts(self) -> Iterator[str]:
        """One sentence for each pair of options that exclude each other."""
        ways = [name for name in ("n_best", "alternatives", "sample") if getattr(self, name) is not None]
        if len(ways) > 1:
            yield f"{' and '.join(map(spelled, ways))}: these exclude each other; give only one of them"
        for option in fields(self):
            only = option.metadata["rule"].only
            if only and option.name in self.given and not self.applies(option.name, only):
                yield f"{spelled(option.name)}: only {'with --sample N' if only == 'sample' else 'without --sample'}"
        if self.mbr is not None and self.alternatives is not None:
            yield "--mbr and --alternatives: --mbr wants agreement, --alternatives differences; give only one of them"
        if self.mbr is not None and self.shown > self.mbr >= 2:
            yield f"--mbr {self.mbr}: cannot choose {self.shown} of {self.mbr} candidates; raise --mbr"
        if self.mbr is not None and self.beam is not None and self.beam < self.mbr and self.sample is None:
            yield f"--mbr {self.mbr} --beam {self.beam}: a beam finds at most {self.beam} candidates; raise --beam"

    def no_numbers(self) -> Iterator[str]:
        """One sentence for each value that is not a number, or not a whole one where the option counts."""
        for option in fields(self):
            whole = option.type in (Whole, int | None)
            got = getattr(self, option.name)
            if got is not None and (isinstance(got, bool) or not isinstance(got, int if whole else (int, float))):
                yield f"{option.name} = {got!r}: want {option.metadata['rule'].want}"

    def faults(self) -> Iterator[str]:
        """One sentence for each value that is out of range."""
        for option in fields(self):
            got, rule = getattr(self, option.name), option.metadata["rule"]
            if got is not None and not rule.least <= got <= rule.most:  # also refuses nan
                yield f"{option.name} = {got}: want {rule.want}"
        if not self.alternatives and self.beam is not None and 1 <= self.beam < self.num <= MOST_BEAM:
            yield f"beam = {self.beam}, n_best = {self.num}: want 1 <= n_best <= beam <= {MOST_BEAM}"
        if self.max_length is not None and 1 <= self.max_length <= self.min_length:
            yield f"min_length = {self.min_length}: want less than max_length = {self.max_length}, which counts the end"

    def limit(self, source_length: int) -> int:
        """The most tokens that an output may have. Both the limit and the source length include EOS."""
        return 2 * source_length + 50 if self.max_length is None else self.max_length

    def limits(self, source_lengths: "Tensor") -> "Tensor":
        """The limit of each sentence (B,); UsageError if min_length is above the limit of one of them."""
        limits = 2 * source_lengths + 50 if self.max_length is None else source_lengths * 0 + self.max_length
        shortest = int(source_lengths.min())
        if self.min_length >= self.limit(shortest):
            raise UsageError(
                f"min_length = {self.min_length}: the output for a source of {shortest} tokens is cut at "
                f"{self.limit(shortest)}, its end included; lower min_length"
            )
        return limits

    def facts(self) -> dict[str, Any]:
        """The options of a filled search that reports show."""
        ways = ("alternatives", "sample", "mbr")
        names = [each.name for each in fields(self) if each.metadata["rule"].only != "sample" and each.name not in ways]
        return {name: self.num if name == "n_best" else getattr(self, name) for name in names}


def offered_by(verb: str) -> list[str]:
    """The options that a command offers, in their order."""
    return [option.name for option in fields(SearchRequest) if verb in option.metadata["rule"].verbs]


def offered_over_http() -> dict[str, OverHttp]:
    """The options that HTTP clients may give, each with its range."""
    return {option.name: http for option in fields(SearchRequest) if (http := option.metadata["rule"].http) is not None}


def complain(faults: list[str]) -> None:
    """Raise one UsageError for all faults."""
    if faults:
        raise UsageError("; ".join(faults))


def check_vocabulary(rows: int, vocab_size: int, asked: str) -> None:
    """UsageError if there are more hypotheses than tokens in the vocabulary, which must be a mistake."""
    if rows > vocab_size:
        raise UsageError(f"{asked}: the model's vocabulary has {vocab_size:,} tokens; want at most that many")


def spelled(name: str) -> str:
    """An option as it is typed on the command line."""
    return "--" + name.replace("_", "-")
