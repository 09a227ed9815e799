"""Phrases that make a stranger read a sentence twice, each with what to write instead; CONTRIBUTING.md has more.

A phrase has a ceiling: how often it is still in the project. The number may only go down.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.house.source import ROOT, Rule

UNIT = (
    r"(?:second|minute|sentence|pair|batch|line|step|token|text|side|word|character|rung|piece|epoch|row|model|place|"
    r"source|update|file|layer|verb|format|language|task|hypothesis|thread|request|document|corpus|direction)"
)
MANY = (
    r"(?:tokens|sentences|lines|rows|updates|words|pairs|texts|seconds|steps|hypotheses|requests|bits|labels|tags|files|"
    r"columns|threads|vectors|translations|outputs|numbers|floats|entries|times|\d[\d.,]*)"
)
ONE = (
    r"(?:row|line|file|folder|column|object|tag|token|slide|idea|event|vector|label|reader|cell|thread|verb|hypothesis|"
    r"thing|report|record|product|dictionary|entry|number|run folder)"
)


@dataclass(frozen=True)
class Phrase:
    pattern: str  # a blank in it is any white space, also the end of a line
    write: str
    ceiling: int


# name: the phrase
PHRASES = {
    "tokens a second": Phrase(rf"\b{MANY} an? {UNIT}\b", '"per": tokens per second', 1),
    "one row a sentence": Phrase(rf"\b(?:one|an?) {ONE} an? {UNIT}\b", '"per": one row per sentence', 0),
    "one a side": Phrase(rf"\b(?:one|once) an? {UNIT}\b", '"per": one per side, once per sentence', 0),
    "is told": Phrase(
        r"\b(?:is|are|was|were|be|been) told\b", "who tells whom: the doctor reports it; `notice` is called with", 0
    ),
    "is said": Phrase(r"\b(?:is|are|was|were) said\b", "who says it: the error names the field", 1),
    "tells more": Phrase(
        r"\btells? (?:more|nothing|nobody|it)\b", "shows, prints, reports: `seqloom doctor` shows details", 0
    ),
    "nobody": Phrase(r"\b(?:[Nn]obody|[Aa]nybody|[Ww]hoever)\b", "name who: source tokens without attention", 0),
    "stands": Phrase(
        r"\b[Ss]tands?\b(?! (?:for|alone|out)\b)", "is, is written, appears: the rules are in search.py", 2
    ),
    "goes on": Phrase(r"\b(?:[Gg]o(?:es|ing)?|went) on\b", "continues", 0),
    "is no pair": Phrase(
        r"(?<!here\s)\bis no (?!longer\b|more\b|less\b|worse\b|better\b|\w+er than\b)\w+", "is not a pair", 2
    ),
    "by chance": Phrase(r"\bby chance\b", "at random; sampled", 1),
    "the begin": Phrase(r"\bthe begin\b", "the beginning, the start", 0),
    "anew": Phrase(r"\banew\b", "again, from scratch", 0),
    "in the place of": Phrase(r"\bin the place of\b", "instead of; replaces", 0),
    "foresee": Phrase(r"\bfores(?:ees?|een|aw)\b", "predict", 0),
    "shall": Phrase(r"\bshall\b", "must, will", 0),
    "now and then": Phrase(r"\bnow and then\b", "from time to time, sometimes", 0),
    "as it came": Phrase(r"\bas (?:it|they) came\b", "unchanged", 0),
    "hastened": Phrase(r"\bhasten(?:ed|s)?\b", "made faster", 0),
    "said aloud": Phrase(r"\bsaid aloud\b", "printed", 0),
    "for ever": Phrase(r"\bfor ever\b", "without end", 0),
    "such as these": Phrase(r"\bsuch as these\b", "like these", 0),
    "a model to tag": Phrase(r"\bmodel to \{", "this model was trained for 'tag'", 0),
    "kinder to the gradient": Phrase(r"\bkinder to the gradient\b", "with a faster backward pass", 0),
    "decay of matrices": Phrase(r"\bdecay of matrices\b", "weight decay (weight matrices only)", 0),
    "how a place is told": Phrase(r"\bhow a place\b", "positional encoding", 0),
    "parts texts": Phrase(r"\bparts texts\b", "separates texts", 0),
    "is passed over": Phrase(r"\b(?:is|are|was|were|and|checkpoint|named,) pass(?:ed)? over\b", "skipped, not used", 0),
    "tells them apart": Phrase(r"\b(?:tells?|told) (?:\w+ )?apart\b", "distinguishes; differ", 1),
    "makes of": Phrase(r"\b(?:makes?|made) of (?:the|it|them|its)\b", "turns into; the scores of a rung", 0),
    "of one's own": Phrase(r"\bone's own\b", "your own; the user's", 0),
    "`tell` hears": Phrase(r"`\w+` hears\b", "`tell` reports; is called with", 0),
    "flatters": Phrase(r"\bflatters?\b", "is too high", 0),
    "no slip": Phrase(r"\b(?:no|a) slip\b", "a typo", 0),
    "own affair": Phrase(r"\b(?:own affair|'s business)\b", "name who does it: the importer makes the settings", 0),
    "came out as": Phrase(r"\bcame out as\b", "is translated to", 0),
    "gave up": Phrase(r"\bg(?:ives?|ave) up\b(?! to\b)", "failed; stopped", 0),
    "what stands": Phrase(r"\bwhat stands\b", "what is; the text above", 0),
    "struck out": Phrase(r"\bstr(?:ikes?|uck) out\b", "excluded; forbidden", 0),
    "has come to": Phrase(r"\bhas come to \{", "the last checkpoint is", 0),
    "the words before": Phrase(r"\bas the words before\b", "the source is fed as a prompt", 0),
}

PLAIN_ENGLISH = Rule(
    "help, errors, docstrings and pages are written in plain English",
    "a stranger who knows the field's usual words should read every sentence once",
    'write the field\'s usual words; "Plain English" in CONTRIBUTING.md has a table',
)


def texts_for_people() -> dict[str, str]:
    """The code, the pages and the README; not what commands wrote (docs/reference, docs/lineage/)."""
    files = [*(ROOT / "seqloom").rglob("*.py"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/how-to").glob("*.md")]
    return {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in sorted([*files, ROOT / "README.md"])}


def places(phrase: Phrase, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """`file:line` and the words found."""
    pattern = re.compile(phrase.pattern.replace(" ", r"\s+"))
    for name, text in texts.items():
        for found in pattern.finditer(text):
            yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}", " ".join(found[0].split())


def phrases_over_their_ceiling(texts: Mapping[str, str], phrases: Mapping[str, Phrase] = PHRASES) -> list[str]:
    """One message for each phrase that comes too often; all places are named, for one of them is new."""
    messages = []
    for phrase in phrases.values():
        found = [*places(phrase, texts)]
        if len(found) > phrase.ceiling:
            where, words = found[-1]
            allowed = f" ({len(found)} of these, at most {phrase.ceiling})" if phrase.ceiling else ""
            others = "".join(f"\n    {place}: {text}" for place, text in found[:-1])
            do = f"write: {phrase.write}"
            messages.append(
                PLAIN_ENGLISH.broken(where, f'"{words}"{allowed}', do=do) + (f"\n  also:{others}" if others else "")
            )
    return messages


if __name__ == "__main__":  # python -m tests.house.english_rules: how often each phrase is in the project
    for name, phrase in PHRASES.items():
        print(f"{len([*places(phrase, texts_for_people())]):4} (at most {phrase.ceiling}) {name}")
