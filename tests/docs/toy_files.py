"""The files that the pages name, at toy size: what a reader would have before typing the commands."""

import gzip
import random
from collections.abc import Callable, Iterator
from pathlib import Path

WORDS = {  # English: French; those that the pages ask for are among them
    "a": "un", "the": "le", "small": "petit", "red": "rouge", "green": "vert", "blue": "bleu", "seven": "sept",
    "cat": "chat", "dog": "chien", "mat": "tapis", "house": "maison", "bank": "banque", "river": "fleuve",
    "king": "roi", "queen": "reine", "man": "homme", "woman": "femme", "france": "france", "monday": "lundi",
    "parliament": "parlement", "sat": "dort", "sees": "voit", "on": "sur", "of": "de", "sentence": "phrase",
    "sister": "soeur", "brother": "frere", "one": "une", "two": "deux",
}  # fmt: skip
NOUNS = ["cat", "dog", "mat", "house", "bank", "river", "king", "queen", "man", "woman", "france", "monday"]
NOUNS += ["parliament", "sentence", "sister", "brother"]
SIDES = ("en", "fr", "de")  # the German of these files is French, too


def pairs(number: int, seed: int) -> list[tuple[str, str]]:
    draw, found = random.Random(seed), {}
    while len(found) < number:
        adjective = draw.choice(["small", "red", "green", "blue", "seven", "one", "two"])
        noun, other = draw.sample(NOUNS, 2)
        shape = draw.choice(["a {1} {0} sat on the {2}", "the {1} {0} sees the {2}", "the {0} of {2}", "a {1} {2}"])
        text = shape.format(noun, adjective, other)
        found[text] = " ".join(WORDS[word] for word in text.split())
    return list(found.items())


def table(rows: list[tuple[str, str]]) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in rows)


def column(rows: list[tuple[str, str]], number: int) -> str:
    return "".join(f"{row[number]}\n" for row in rows)


def sources(rows: list[tuple[str, str]]) -> str:
    return column(rows, 0)


def reviews(rows: list[tuple[str, str]]) -> str:
    return "".join(f"{'very good' if 'cat' in text or 'king' in text else 'bad'}\t{text}\n" for text, _ in rows)


def tagged(rows: list[tuple[str, str]]) -> str:
    return "".join(
        f"{text}\t{' '.join('NOUN' if word in NOUNS else 'X' for word in text.split())}\n" for text, _ in rows
    )


def sounds(rows: list[tuple[str, str]]) -> str:
    words = sorted({word for text, _ in rows for word in text.split()} | {text.replace(" ", "") for text, _ in rows})
    return "".join(f"{word}\t{' '.join(word.upper())}\n" for word in words)


def dialogue(rows: list[tuple[str, str]]) -> str:
    """Some sources have an earlier turn before them."""
    return "".join(
        f"{rows[number - 1][0]} <turn> {text}\t{rows[-number][0]}\n" if number % 2 else f"{text}\t{rows[-number][0]}\n"
        for number, (text, _) in enumerate(rows)
    )


def n_best(rows: list[tuple[str, str]]) -> str:
    return "".join(
        f"{number} ||| {' '.join(target.split()[:keep])} ||| LM0= -1.0 ||| -{keep}.5\n"
        for number, (_, target) in enumerate(rows)
        for keep in (9, 3, 2)
    )


def memory(rows: list[tuple[str, str]]) -> str:
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="fr"><seg>{target}</seg></tuv></tu>\n'
        for source, target in rows
    )
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header/><body>\n{units}</body></tmx>\n'


def subtitles(rows: list[tuple[str, str]]) -> str:
    return "".join(f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\n{text}\n\n" for n, (text, _) in enumerate(rows, 1))


def gold(rows: list[tuple[str, str]]) -> str:
    return "".join(" ".join(f"{n}-{n}" for n in range(1, len(text.split()) + 1)) + "\n" for text, _ in rows)


def aligned(rows: list[tuple[str, str]]) -> str:
    return "".join(f"{source} ||| {target}\n" for source, target in rows)


def csv(rows: list[tuple[str, str]]) -> str:
    return "question,answer\n" + "".join(f"{source},{target}\n" for source, target in rows)


Rows = list[tuple[str, str]]
MANY, MORE, FEW = pairs(220, 1), pairs(200, 2), pairs(24, 3)
FILES: dict[str, tuple[Callable[[Rows], str], Rows]] = {  # name: (its form, the pairs that it is made of)
    **dict.fromkeys(("pairs.tsv", "train.tsv", "raw.tsv", "a.tsv", "paragraphs.tsv"), (table, MANY)),
    **dict.fromkeys(("more.tsv", "b.tsv", "mine.tsv"), (table, MORE)),
    **dict.fromkeys(("test.tsv", "valid.tsv", "paragraphs-test.tsv"), (table, FEW)),
    **{f"{part}.{side}": (lambda rows, n=n: column(rows, min(n, 1)), rows)
       for part, rows in (("train", MANY), ("mine", MORE), ("val", FEW), ("valid", FEW), ("dev", FEW), ("test", FEW),
                          ("test2016", FEW))
       for n, side in enumerate(SIDES)},
    **dict.fromkeys(("text.txt", "corpus.txt", "part1.txt", "captions.txt", "plain.txt"), (sources, MORE * 3)),
    **dict.fromkeys(("plays.txt", "book.txt", "big.txt"), (sources, MORE * 3)),
    **dict.fromkeys(("input.txt", "sentences.txt", "held-out.txt", "other.txt"), (sources, FEW)),
    **dict.fromkeys(("test.nbest", "dev.nbest", "other.nbest"), (n_best, FEW)),
    "theirs.txt": (lambda rows: column(rows, 1), FEW),
    "begins.txt": (lambda rows: "".join(f"{target.split()[0]}\n" for _, target in rows), FEW),
    "begin.txt": (lambda rows: "a small", []),
    "table.csv": (csv, MANY),
    "memory.tmx": (memory, MANY),
    "film.srt": (subtitles, FEW),
    "reviews.tsv": (reviews, MANY), "reviews-test.tsv": (reviews, FEW),
    "tagged.tsv": (tagged, MANY), "tagged-test.tsv": (tagged, FEW),
    "words.tsv": (sounds, MANY), "words-test.tsv": (sounds, FEW),
    "talk.tsv": (dialogue, MANY), "turns.tsv": (dialogue, MANY), "turns-test.tsv": (dialogue, FEW),
    "hansards.src-tgt": (aligned, FEW), "hansards.gold": (gold, FEW),
    "questions-words.txt": (lambda rows: ": family\nman king woman queen\nbrother man sister woman\n", []),
    "wordsim353.txt": (lambda rows: "king queen 8.5\ncat dog 7\nred seven 2\nman woman 8\n", []),
    "simlex999.txt": (lambda rows: "king queen 6\ncat dog 5\nred green 4\nbank river 3\n", []),
}  # fmt: skip
PACKED = {
    "text.txt.gz": "text.txt",
    "part2.txt.gz": "part1.txt",
    "mono.en.gz": "mine.en",
    "test.nbest.gz": "test.nbest",
}


def write_named(folder: Path, text: str) -> None:
    """Write those files that a page names."""
    for name in named(text):
        if name in PACKED:
            form, rows = FILES[PACKED[name]]
            (folder / name).write_bytes(gzip.compress(form(rows).encode()))
        else:
            form, rows = FILES[name]
            (folder / name).write_text(form(rows), "utf-8")


def named(text: str) -> Iterator[str]:
    return (name for name in (*FILES, *PACKED) if name in text)
