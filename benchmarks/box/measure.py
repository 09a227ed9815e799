"""Measure a translator between English and French as the model card of a bundled model reports it.

    SEQLOOM_DATA=... python benchmarks/box/measure.py en-fr [--from fr] [--beam 4] [--threads 2] [-o en-fr.json]

Prints BLEU and chrF of Tatoeba's dev set (one reference per line; all references of a source) and of Europarl's, with
95 % intervals; then slices: the same sentences in a form that people type, beside their plain form, and how many
numbers and names of the source are in the output; then sentences per second in batches and the time of one sentence.
"""

import argparse
import json
import os
import random
import re
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import corpus
from sacrebleu.metrics import BLEU, CHRF

import seqloom

SEED = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--from", dest="source", choices=("en", "fr"), default="en")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lines", type=int, default=0, help="only this many lines of each dev set; 0 = all")
    parser.add_argument("--without-speed", action="store_true", help="on a machine that does other work as well")
    parser.add_argument("-o", dest="out", type=Path, help="write the figures as JSON, too")
    options = parser.parse_args()
    data = os.environ.get("SEQLOOM_DATA")
    if not data:
        sys.exit("SEQLOOM_DATA must name a folder with tatoeba-en-fr/ and europarl-en-fr/")
    model = seqloom.load(str(options.model), threads=options.threads)
    tatoeba = [corpus.pair_of(line) for line in corpus.lines_of(Path(data) / "tatoeba-en-fr" / "dev.tsv.gz")]
    europarl = list(
        zip(*(corpus.lines_of(Path(data) / "europarl-en-fr" / f"dev.{side}.gz") for side in ("en", "fr")), strict=True)
    )
    limit = options.lines or None
    measure = Measure(model, options.source, options.beam)
    figures = measure.all(tatoeba[:limit], europarl[:limit])
    if not options.without_speed:
        figures["speed"] = measure.speed(measure.sources(tatoeba[:limit]))
    for name, row in figures.items():
        print(f"{name:32}", "  ".join(f"{key} {value}" for key, value in row.items() if "signature" not in key))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


class Measure:
    """One model and one direction."""

    def __init__(self, model: Any, source: str, beam: int) -> None:
        self.model, self.beam = model, beam
        self.side = 0 if source == "en" else 1

    def all(self, tatoeba: list[corpus.Pair], europarl: list[corpus.Pair]) -> dict[str, dict[str, Any]]:
        figures = {
            "tatoeba dev": self.scores(tatoeba),
            "tatoeba dev, all references": self.with_all_references(tatoeba),
            "europarl dev": self.scores(europarl),
        }
        for name, pairs, form in (
            ("upper case", tatoeba, corpus.upper_case),
            ("no full stop", tatoeba, corpus.no_full_stop),
            ("no capital, no full stop", tatoeba, corpus.no_capital),
            ("other names", tatoeba, corpus.other_name),
            ("other numbers", [*tatoeba, *europarl], corpus.other_number),
            ("written out", tatoeba, corpus.written_out),
            ("several sentences", tatoeba, corpus.several_sentences),
        ):
            if self.side == 0 or form is not corpus.written_out:  # it changes English alone: a source, not a reference
                figures[f"slice: {name}"] = self.slice_of(pairs, form)
        figures["slice: over 20 words"] = self.scores([p for p in europarl if len(p[self.side].split()) > 20])
        figures["slice: up to 20 words"] = self.scores([p for p in europarl if len(p[self.side].split()) <= 20])
        return figures

    def translate(self, sources: list[str], beam: int | None = None) -> list[str]:
        return list(self.model.translate(sources, beam=beam or self.beam))

    def scores(self, pairs: list[corpus.Pair]) -> dict[str, Any]:
        return scored(self.translate(self.sources(pairs)), [self.targets(pairs)], bootstrap=True)

    def sources(self, pairs: list[corpus.Pair]) -> list[str]:
        return [pair[self.side] for pair in pairs]

    def targets(self, pairs: list[corpus.Pair]) -> list[str]:
        return [pair[1 - self.side] for pair in pairs]

    def with_all_references(self, pairs: list[corpus.Pair]) -> dict[str, Any]:
        """Each source once, with every translation that the set has of it."""
        by_source: dict[str, list[str]] = defaultdict(list)
        for source, target in zip(self.sources(pairs), self.targets(pairs), strict=True):
            by_source[source].append(target)
        most = max(map(len, by_source.values()))
        references = [[targets[i] if i < len(targets) else None for targets in by_source.values()] for i in range(most)]
        return scored(self.translate(list(by_source)), references, bootstrap=True)

    def slice_of(self, pairs: list[corpus.Pair], form: corpus.Form) -> dict[str, Any]:
        """The changed form beside the plain form of the same pairs."""
        random_numbers = random.Random(SEED)
        both = [(pair, form(pair, pairs, random_numbers)) for pair in pairs]
        plain = [pair for pair, changed in both if changed is not None and changed != pair]
        changed = [changed for pair, changed in both if changed is not None and changed != pair]
        outputs = self.translate(self.sources(changed))
        row = scored(outputs, [self.targets(changed)])
        of_plain = scored(self.translate(self.sources(plain)), [self.targets(plain)])
        row |= {"plain BLEU": of_plain["BLEU"], "plain chrF": of_plain["chrF"]}
        if form in (corpus.other_name, corpus.other_number):
            word = r"\d+" if form is corpus.other_number else "|".join({*corpus.NAMES, *corpus.PLACES})
            row["kept"] = kept(self.sources(changed), outputs, re.compile(rf"\b(?:{word})\b"))
        return row

    def speed(self, sources: list[str]) -> dict[str, Any]:
        """Batches with beam 1, three times; then single sentences with the model's beam."""
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            self.translate(sources, beam=1)
            seconds.append(time.perf_counter() - start)
        single = []
        for source in sources[:200]:
            start = time.perf_counter()
            self.translate([source])
            single.append(1000 * (time.perf_counter() - start))
        return {
            "sentences/s (beam 1)": round(len(sources) / min(seconds)),
            "p50 ms (one sentence)": round(statistics.median(single), 1),
        }


def scored(outputs: list[str], references: list[list[Any]], bootstrap: bool = False) -> dict[str, Any]:
    row: dict[str, Any] = {"sentences": len(outputs)}
    for name, metric in (("BLEU", BLEU()), ("chrF", CHRF())):
        score = metric.corpus_score(outputs, references, n_bootstrap=1000 if bootstrap else 1)
        row[name] = round(score.score, 2)
        if bootstrap:
            row[f"{name} +-"] = round(float(score._ci), 2)
        row[f"{name} signature"] = metric.get_signature().format(short=True)
    return row


def kept(sources: list[str], outputs: list[str], pattern: re.Pattern[str]) -> str:
    """How many numbers or names of the sources are in their outputs."""
    wanted = [
        (word, output) for source, output in zip(sources, outputs, strict=True) for word in pattern.findall(source)
    ]
    return f"{sum(word in output for word, output in wanted)} of {len(wanted)}"


if __name__ == "__main__":
    main()
