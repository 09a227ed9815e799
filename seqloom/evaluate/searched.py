"""How outputs were searched for, in words."""

from collections.abc import Mapping
from typing import Any

RULES = {  # beside the beam; each is off at 0
    "coverage_penalty": "coverage penalty {:g}",
    "min_length": "at least {} tokens",
    "no_repeat_ngram": "no {} tokens in a row twice",
    "mbr": "the choice of {} by minimum Bayes risk",
}


def describe_search(search: Mapping[str, Any]) -> str:
    """`beam 5, length penalty 1.2`, and every rule that was on."""
    told = [f"beam {search['beam']}", f"length penalty {search['length_penalty']:g}"]
    return ", ".join(told + [words.format(search[name]) for name, words in RULES.items() if search.get(name)])
