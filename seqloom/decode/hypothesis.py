"""One finished output of a search, with what it scored."""

from dataclasses import dataclass

from seqloom.text.vocabulary import EOS


@dataclass(frozen=True, slots=True)
class Hypothesis:
    ids: tuple[int, ...]  # without BOS and EOS
    log_prob: float  # sum over the tokens, the EOS included
    score: float  # what hypotheses are ranked by: log_prob / length ** length_penalty + penalty of the coverage
    ended: bool = True  # False: cut at the length limit, so that neither ids nor log_prob has an EOS


def finish(written: list[int], log_prob: float, length_penalty: float, coverage: float = 0.0) -> Hypothesis:
    """The hypothesis that these tokens make, the EOS, if there is one, counted in its length."""
    ended = written[-1] == EOS
    ids = tuple(written[:-1] if ended else written)
    return Hypothesis(ids, log_prob, log_prob / len(written) ** length_penalty + coverage, ended)
