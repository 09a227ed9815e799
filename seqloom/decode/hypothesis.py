"""A finished hypothesis: one output of a search, with its score (length and coverage penalty included)."""

from dataclasses import dataclass

from seqloom.text.vocabulary import EOS


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """An output as an engine finds it; `runtime.parts` makes a `Translation` of it."""

    ids: tuple[int, ...]  # without BOS and EOS
    log_prob: float  # sum over the tokens, including EOS
    score: float  # hypotheses are ranked by it: log_prob / length ** length_penalty + coverage penalty
    ended: bool = True  # False: cut at the length limit, so log_prob includes no EOS


def finish(written: list[int], log_prob: float, length_penalty: float, coverage: float = 0.0) -> Hypothesis:
    """The hypothesis of these tokens; its length counts EOS, if there is one."""
    ended = written[-1] == EOS
    ids = tuple(written[:-1] if ended else written)
    return Hypothesis(ids, log_prob, log_prob / len(written) ** length_penalty + coverage, ended)
