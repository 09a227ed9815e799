"""The corpora: where they are published, under which licence, and how their files become pairs."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seqloom.corpora import convert
from seqloom.corpora.convert import Pairs
from seqloom.corpora.unpack import lines_of, unpack
from seqloom.errors import UsageError, did_you_mean

GITHUB = "https://raw.githubusercontent.com"
SHAKESPEARE = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
SPLITS = {"train": "train", "dev": "val", "test": "test_2016_flickr"}  # our names, and those of Multi30k
SCAN = {"simple": "simple_split/tasks_{}_simple", "length": "length_split/tasks_{}_length"}
SCAN |= {name: f"add_prim_split/tasks_{{}}_addprim_{name.replace('-', '_')}" for name in ("jump", "turn-left")}
TREEBANKS = {"en-ewt": "English-EWT", "fr-gsd": "French-GSD", "de-gsd": "German-GSD", "es-gsd": "Spanish-GSD"}
OPUS = re.compile(r"(?P<corpus>[A-Za-z0-9_]+)-(?P<version>v[0-9a-z]+)-(?P<a>[a-z]{2,3})-(?P<b>[a-z]{2,3})")


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus of one kind; `{}` in its fields is the part of the name that says which one (a language, a split)."""

    name: str  # as `data list` shows it: tatoeba-LANGUAGE
    about: str
    licence: str
    example: str
    choices: str  # a regular expression for what follows the name; empty = nothing does
    urls: Callable[[str], Sequence[str]]
    read: Callable[[str, Sequence[Path]], Iterator[tuple[str, Pairs | Path]]]  # file name, and pairs or a plain text
    sha256: tuple[str, ...] = ()
    choice: str = ""


def tatoeba(language: str, files: Sequence[Path]) -> Iterator[tuple[str, Pairs]]:
    found = unpack(files[0], [f"{language}.txt"], files[0].parent)
    yield "pairs.tsv", convert.two_columns(lines_of(found[f"{language}.txt"]))


def multi30k(pair: str, files: Sequence[Path]) -> Iterator[tuple[str, Pairs]]:
    for split, source, target in zip(SPLITS, files[::2], files[1::2], strict=True):
        yield f"{split}.tsv", convert.side_by_side(lines_of(source), lines_of(target))


def europarl(language: str, files: Sequence[Path]) -> Iterator[tuple[str, Pairs]]:
    names = [f"europarl-v7.{language}-en.{side}" for side in ("en", language)]
    found = unpack(files[0], names, files[0].parent)
    yield "pairs.tsv", convert.side_by_side(*(lines_of(found[name]) for name in names))


def opus(chosen: str, files: Sequence[Path]) -> Iterator[tuple[str, Pairs]]:
    corpus, a, b = opus_parts(chosen)["corpus"], opus_parts(chosen)["a"], opus_parts(chosen)["b"]
    names = [f"{corpus}.{a}-{b}.{side}" for side in (a, b)]
    found = unpack(files[0], names, files[0].parent)
    yield "pairs.tsv", convert.side_by_side(*(lines_of(found[name]) for name in names))


def opus_parts(chosen: str) -> dict[str, str]:
    match = OPUS.fullmatch(chosen)
    assert match is not None, "the name was checked"
    return match.groupdict()


def opus_urls(chosen: str) -> list[str]:
    return ["https://object.pouta.csc.fi/OPUS-{corpus}/{version}/moses/{a}-{b}.txt.zip".format(**opus_parts(chosen))]


def splits(form: Callable[[Iterator[str]], Pairs], *names: str) -> Callable[..., Iterator[tuple[str, Pairs]]]:
    """One file per split, all in the same form."""

    def read(chosen: str, files: Sequence[Path]) -> Iterator[tuple[str, Pairs]]:
        for name, file in zip(names, files, strict=True):
            yield name, form(lines_of(file))

    return read


CORPORA = (
    Corpus(
        "tatoeba-LANGUAGE", "everyday sentences, English and another language (code of three letters)",
        "CC BY 2.0 FR (Tatoeba; selected by manythings.org): name Tatoeba where you publish", "tatoeba-fra", "[a-z]{3}",
        lambda language: [f"https://www.manythings.org/anki/{language}-eng.zip"], tatoeba,
    ),
    Corpus(
        "multi30k-PAIR", "captions of photographs: en-de, en-fr or en-cs", "for research; the pictures are from Flickr",
        "multi30k-en-de", "en-(de|fr|cs)",
        lambda pair: [
            f"{GITHUB}/multi30k/dataset/master/data/task1/raw/{split}.{side}.gz"
            for split in SPLITS.values() for side in pair.split("-")
        ], multi30k,
    ),
    Corpus(
        "europarl-LANGUAGE", "speeches in the European Parliament, English and another language",
        "free of known copyright restrictions; name the corpus (Koehn, 2005) where you publish", "europarl-fr",
        "[a-z]{2}", lambda language: [f"https://www.statmt.org/europarl/v7/{language}-en.tgz"], europarl,
    ),
    Corpus(
        "opus-CORPUS-VERSION-PAIR", "any corpus of OPUS by its name, version and languages (in OPUS's order)",
        "every corpus has its own: read its page at opus.nlpl.eu", "opus-Books-v1-en-fr", OPUS.pattern, opus_urls, opus,
    ),
    Corpus(
        "cmudict", "134,000 English words and their phonemes", "BSD (Carnegie Mellon University)", "cmudict", "",
        lambda _: [f"{GITHUB}/cmusphinx/cmudict/master/cmudict.dict"],
        splits(convert.pronunciations, "pairs.tsv"),
    ),
    Corpus(
        "tinyshakespeare", "1 MB of Shakespeare's plays, for language models", "public domain", "tinyshakespeare", "",
        lambda _: [f"{GITHUB}/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"],
        lambda _, files: iter([("text.txt", files[0])]), (SHAKESPEARE,),
    ),
    Corpus(
        "ud-TREEBANK", f"words and parts of speech: {', '.join(TREEBANKS)}",
        "CC BY-SA 4.0 (Universal Dependencies)", "ud-en-ewt", "|".join(TREEBANKS),
        lambda bank: [
            f"{GITHUB}/UniversalDependencies/UD_{TREEBANKS[bank]}/master/{bank.replace('-', '_')}-ud-{split}.conllu"
            for split in ("train", "dev", "test")
        ], splits(convert.tagged_words, "train.tsv", "dev.tsv", "test.tsv"),
    ),
    Corpus(
        "scan-SPLIT", f"commands and actions, to test generalisation: {', '.join(SCAN)}",
        "BSD (Lake and Baroni, 2018)", "scan-jump", "|".join(SCAN),
        lambda split: [
            f"{GITHUB}/brendenlake/SCAN/master/{SCAN[split].format(part)}.txt" for part in ("train", "test")
        ], splits(convert.commands, "train.tsv", "test.tsv"),
    ),
)  # fmt: skip


def find_corpus(name: str) -> Corpus:
    """The corpus that a name means, such as tatoeba-fra."""
    for corpus in CORPORA:
        kind = corpus.name.partition("-")[0]
        rest = name.removeprefix(kind).removeprefix("-")
        if name.partition("-")[0] == kind:
            if not re.fullmatch(corpus.choices, rest):
                raise UsageError(f"{name}: want {corpus.name}, for example {corpus.example}")
            return replace(corpus, choice=rest)
    names = [corpus.example for corpus in CORPORA] + ["dates", "numbers"]
    raise UsageError(f"{name}: no such corpus; `seqloom data list` shows them all.{did_you_mean(name, names)}")
