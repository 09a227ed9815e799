"""Pack a trained run into the box: seqloom/box/NAME, a compact model folder with a card of what it can and cannot do.

    SEQLOOM_DATA=... python benchmarks/box/pack.py en-fr runs/box/en-fr --figures en-fr.json
    SEQLOOM_DATA=... python benchmarks/box/pack.py rnnsearch runs/box/rnnsearch

Measures the packed model on the test set of its task. `--figures` adds what benchmarks/box/measure.py wrote with -o
(Europarl, slices); measure NAME once it is packed, and pack it again.
"""

import argparse
import gzip
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file, save_file

import seqloom
from seqloom.config import dump_config
from seqloom.files.durable import hash_file
from seqloom.metrics.measures import METRICS
from seqloom.runtime.bundled import BOX, NAMES
from seqloom.runtime.folder import read_config, read_facts, read_tokenizers
from seqloom.runtime.folder_sizes import size_of
from seqloom.runtime.run_facts import RunFacts, write_facts

WEIGHTS = "model.safetensors"
MOST_BYTES = 10_000_000
SENTENCES = 500  # that the axes are fitted on
TATOEBA = (
    "Sentences of [Tatoeba](https://tatoeba.org) through manythings.org, CC BY 2.0 FR; 15,000 pairs of Europarl "
    "(source: European Parliament proceedings). Some pairs come a second time in a form that people type "
    "(benchmarks/box/corpus.py)."
)
NOT_FOR = (
    "Everyday sentences like those of Tatoeba are what it knows. Long, technical, legal and medical texts, names "
    "of rare things and slang come out badly. It has no notion of a document: each sentence is translated alone. "
    "Do not use it where a mistake could harm anybody, and let nobody mistake its output for the words of a "
    "person."
)
OF_ITS_TIME = (
    "It is here to be compared with the other generations (`seqloom compare`), which were trained for the same "
    "minutes, not to be used: en-fr is better in every way. "
)


@dataclass(frozen=True)
class Kind:
    """What a card says about models that share data and test set."""

    recipe: str
    data: str
    licence: str
    test: str  # its name
    sources: str  # what its records are called
    pairs: str  # files under SEQLOOM_DATA
    metrics: tuple[str, ...]
    chosen_on: str  # what decided between last, best and averaged weights
    limits: str


def translator(recipe: str, limits: str = "") -> Kind:
    licence = "CC BY 2.0 FR: name Tatoeba (tatoeba.org) and Europarl (European Parliament) when you pass it on"
    pairs, metrics = "tatoeba-en-fr/dev.tsv.gz", ("bleu", "chrf")
    return Kind(
        recipe,
        TATOEBA,
        licence,
        "Tatoeba dev",
        "sources, every reference",
        pairs,
        metrics,
        "the loss on the same dev set",
        limits + NOT_FOR,
    )


KINDS = {
    "en-fr": translator("benchmarks/box/translator.toml"),
    "fr-en": translator("benchmarks/box/translator.toml"),
    "rnn": translator("`rnn` of benchmarks/box/train.py", OF_ITS_TIME),
    "lstm": translator("`lstm` of benchmarks/box/train.py", OF_ITS_TIME),
    "rnnsearch": translator("`rnnsearch` of benchmarks/box/train.py", OF_ITS_TIME),
    "transformer": translator("`transformer` of benchmarks/box/train.py", OF_ITS_TIME),
    "pronounce": Kind(
        recipe="`pronounce` of benchmarks/box/train.py, from the built-in recipe g2p-lstm",
        data="CMUdict (Carnegie Mellon University, BSD-like licence), the training words of the usual split. Learned "
        "from words in capitals; packing gave each small letter the vector of its capital.",
        licence="BSD-like, as CMUdict: name Carnegie Mellon University",
        test="CMUdict test",
        sources="words",
        pairs="cmudict-g2p/g014b2b.test.gz",
        metrics=("word_error_rate", "phoneme_error_rate"),
        chosen_on="the phoneme error on words held out of the training words",
        limits="American English words. About every fourth or fifth word that is not in the dictionary has a wrong "
        "phoneme; foreign names and abbreviations fare worst, and a word with two pronunciations gets one. It has no "
        "stress marks. Letters outside A to Z and the apostrophe are unknown to it.",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[*NAMES])
    parser.add_argument("run", type=Path)
    parser.add_argument("--figures", type=Path, help="what measure.py wrote")
    parser.add_argument("--out", type=Path, default=BOX, help="the box")
    options = parser.parse_args()
    data = os.environ.get("SEQLOOM_DATA")
    if not data:
        sys.exit("SEQLOOM_DATA must name the folder with the test sets")
    out = options.out / options.name
    pack(options.name, options.run, out)
    kind = KINDS[options.name]
    keep_axes(out, Path(data) / kind.pairs, 1 if options.name == "fr-en" else 0)
    report = seqloom.evaluate(
        out, Path(data) / kind.pairs, columns="2,1" if options.name == "fr-en" else None, threads=1, quiet=True
    )
    scores = {metric: report.scores[metric] for metric in kind.metrics}
    measured = ", ".join(in_words(metric, score) for metric, score in scores.items())
    facts = replace(
        read_facts(out),
        measured=f"{measured} on {kind.test} ({report.sentences:,} {kind.sources})",
        licence=kind.licence,
    )
    write_facts(out, facts)
    figures = json.loads(options.figures.read_text("utf-8")) if options.figures else {}
    text = card(options.name, kind, facts, {metric: score.signature for metric, score in scores.items()}, figures)
    (out / "card.md").write_text(text, "utf-8")
    print(f"{out}: {size_of(out) / 1e6:.2f} MB; {facts.measured}")
    if size_of(out) > MOST_BYTES:
        sys.exit(f"{out}: larger than {MOST_BYTES:,} bytes")


def pack(name: str, run: Path, out: Path) -> None:
    """Write the compact folder."""
    with tempfile.TemporaryDirectory() as place:
        twin = Path(place) / "run"
        twin.mkdir()
        for part in ("config.toml", "run.json", "golden.json", WEIGHTS):
            shutil.copyfile(run / part, twin / part)
        shutil.copytree(run / "tokenizer", twin / "tokenizer")
        if name == "pronounce":
            read_small_letters(twin)
        else:
            lower_capitals(twin)
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        seqloom.export(twin, "compact", out, quiet=True)


def keep_axes(folder: Path, pairs: Path, column: int) -> None:
    """Fit the axes on which states are drawn: the folder holds no held-out sentences, and may only be read later."""
    with gzip.open(pairs, "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n").split("\t")[column] for line in islice(file, SENTENCES)]
    seqloom.load(folder, threads=1).explain(texts[0], views=["states"], sentences=texts)


def lower_capitals(folder: Path) -> None:
    """Let the translator read a text in capitals in lower case: its data has few of them."""
    config = read_config(folder)
    changed = replace(config, data=replace(config.data, lower_capitals=True))
    (folder / "config.toml").write_text(dump_config(changed), "utf-8")


def read_small_letters(folder: Path) -> None:
    """Give each small letter, which the tokenizer reads as a byte, the vector of its capital."""
    tokenizer = read_tokenizers(folder).source
    tensors = load_file(folder / WEIGHTS)
    table = tensors["source_table.weight"]
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        (small,), (capital,) = tokenizer.encode(letter.lower()), tokenizer.encode(letter)
        table[small] = table[capital]
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    write_facts(folder, replace(read_facts(folder), weights_sha256=hash_file(folder / WEIGHTS)))


def in_words(metric: str, score: Any) -> str:
    unit = " %" if METRICS[metric].lower_is_better else ""
    return f"{METRICS[metric].title} {score.score:.1f}{unit} ({score.low:.1f} to {score.high:.1f})"


def card(name: str, kind: Kind, facts: RunFacts, signatures: dict[str, str], figures: dict[str, Any]) -> str:
    lines = [
        f"# {name}: {NAMES[name]}",
        "",
        "| | |",
        "|---|---|",
        f"| Scores, 95 % intervals | {facts.measured} |",
        f"| Signatures | {'; '.join(signatures.values())} |",
        f"| Training data | {kind.data} {facts.kept or 0:,} pairs |",
        f"| Licence of the weights | {kind.licence} |",
        f"| Recipe | {kind.recipe}; {facts.params or 0:,} parameters, matrices in 8 bits |",
        f"| Training | {facts.step or 0:,} updates, {facts.passes or 0:.1f} passes, {(facts.seconds or 0) / 60:.0f} "
        "minutes on one core |",
        f"| Weights | {facts.weights}; chosen by {kind.chosen_on} |",
        "",
        "## What it must not be used for",
        "",
        kind.limits,
    ]
    if weak := weak_slices(figures):
        lines += ["", f"Weak: {', '.join(weak)}."]
    if figures:
        lines += ["", "## More figures", "", "`python benchmarks/box/measure.py` wrote these. A slice has the same "]
        lines[-1] += "sentences in another form; beside it, in brackets, the score of their plain form."
        lines += ["", "| test | sentences | BLEU | chrF | names or numbers kept |", "|---|---|---|---|---|"]
        lines += [figure_row(test, row) for test, row in figures.items() if "BLEU" in row]
    return "\n".join(lines) + "\n"


def weak_slices(figures: dict[str, Any]) -> list[str]:
    """Slices that lose more than two points against their plain form, and test sets far from Tatoeba."""
    lost = {test: row["plain BLEU"] - row["BLEU"] for test, row in figures.items() if "plain BLEU" in row}
    found = [f"{test.removeprefix('slice: ')} ({-points:+.1f} BLEU)" for test, points in lost.items() if points > 2]
    other = [test for test in ("europarl dev",) if test in figures]
    return [*(f"{test} (BLEU {figures[test]['BLEU']:.1f})" for test in other), *found]


def figure_row(test: str, row: dict[str, Any]) -> str:
    cells = [test, f"{row['sentences']:,}"]
    for metric in ("BLEU", "chrF"):
        error, plain = row.get(f"{metric} +-"), row.get(f"plain {metric}")
        cells.append(f"{row[metric]:.1f}" + (f" ± {error:.1f}" if error else "") + (f" ({plain:.1f})" if plain else ""))
    return f"| {' | '.join([*cells, row.get('kept', '')])} |"


if __name__ == "__main__":
    main()
