"""Stars of `seqloom evaluate --against`: how often under the null hypothesis, and beside sacrebleu's two tests.

    SEQLOOM_DATA=DIR python benchmarks/significance.py [--null 200] [--pairs 50] [--sizes 50,200,1000]
    python benchmarks/significance.py --seeds 8 --work DIR

The systems are made from the German references of Multi30k (test2016): words are dropped, replaced or swapped with a
neighbour. Both systems of a pair share a part of their errors, as real systems do, and some sentences are harder than
others. Prints tables. (1) Pairs of equal systems: the same error rate, different errors; a star is a false alarm.
(2) Pairs whose error rates differ by zero to a few percent, and pairs of the trained models of docs/lineage: on how
many do the tests agree? (3) Lopsided pairs: all of the difference is in a few sentences. Everything is seeded: the same
command prints the same tables.

With --seeds it does something else: it trains one recipe (dates, 300 updates) with that many seeds, compares every two
models on the same 1,000 unseen dates, and counts the stars. There no model is better than another by design.
"""

import argparse
import gzip
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

import seqloom
from seqloom.demo.dates import generate, split_by_date
from seqloom.metrics.measures import Measurement, measure
from seqloom.metrics.significance import SIGNIFICANT, bootstrap, compare

METRICS: dict[str, Callable[[], BLEU | CHRF]] = {"bleu": lambda: BLEU(force=True), "chrf": CHRF}
COMMON_ERRORS, OWN_ERRORS = 0.25, 0.15  # share of the words
LARGEST_GAP = 0.05  # between the error rates of two systems in the second table
LOPSIDED_SENTENCES = 100

Texts = list[str]


@dataclass(frozen=True)
class Pair:
    """Two systems on the same sentences."""

    ours: Texts
    theirs: Texts
    references: Texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--null", type=int, default=200, help="pairs of equal systems for each size")
    parser.add_argument("--pairs", type=int, default=50, help="pairs of different systems")
    parser.add_argument("--sizes", default="50,200,1000", help="sentences of the test sets of equal systems")
    parser.add_argument("--seeds", type=int, default=0, help="models of one recipe to compare with each other")
    parser.add_argument("--work", type=Path, help="folder for these models")
    options = parser.parse_args()
    if options.seeds:
        print_seeds(options.seeds, options.work)
        return
    file = Path(os.environ["SEQLOOM_DATA"]) / "multi30k/test2016.de.gz"
    references = gzip.decompress(file.read_bytes()).decode().splitlines()
    print_null(references, options.null, [int(size) for size in options.sizes.split(",")])
    title = f"{options.pairs} pairs of made systems, error rates 0 to {LARGEST_GAP:.0%} apart"
    print_agreement(title, graded_pairs(references, options.pairs))
    real = real_pairs(references)
    print_agreement(f"{len(real)} pairs of trained models", real)
    print_lopsided(references)


def damage(sentences: Sequence[str], share: float, words: Sequence[str], seed: int) -> Texts:
    """Drop, replace or swap about this share of the words; hard sentences lose more than easy ones."""
    draw, hard = random.Random(seed), random.Random(0)  # the same sentences are hard for every system
    found = []
    for sentence in sentences:
        rate, text = share * hard.uniform(0, 2), []
        for word in sentence.split():
            kind = draw.choice(("drop", "replace", "swap")) if draw.random() < rate else "keep"
            if kind == "swap" and text:
                text.insert(-1, word)
            elif kind != "drop":
                text.append(draw.choice(words) if kind == "replace" else word)
        found.append(" ".join(text))
    return found


def make_pair(references: Texts, gap: float, seed: int) -> Pair:
    """Two systems with common errors and errors of their own; theirs makes more of them by `gap`."""
    words = [word for sentence in references for word in sentence.split()]
    common = damage(references, COMMON_ERRORS, words, 3 * seed)
    ours = damage(common, OWN_ERRORS, words, 3 * seed + 1)
    return Pair(ours, damage(common, OWN_ERRORS + gap, words, 3 * seed + 2), references)


def our_p(pair: Pair, metric: str) -> float:
    ours, theirs = (
        measure(texts, [[one] for one in pair.references], names=[metric]) for texts in (pair.ours, pair.theirs)
    )
    return compare(ours, theirs)[metric].p_value


def sacrebleu_p(pair: Pair, metric: str, test: str) -> float:
    """`test`: bs is the paired bootstrap, ar approximate randomisation, both as `sacrebleu --paired-*` runs them."""
    systems = [("theirs", pair.theirs), ("ours", pair.ours)]
    _, found = PairedTest(systems, {metric: METRICS[metric]()}, [pair.references], test_type=test)()
    (scores,) = (column for name, column in found.items() if name != "System")
    return float(scores[1].p_value)


def all_p(pair: Pair, metric: str) -> dict[str, float]:
    return {"seqloom": our_p(pair, metric)} | {test: sacrebleu_p(pair, metric, test) for test in ("bs", "ar")}


def null_pairs(references: Texts, count: int, size: int) -> Iterator[Pair]:
    """Equal systems on test sets of this size, each set drawn anew without repetition."""
    for seed in range(count):
        chosen = random.Random(seed).sample(references, min(size, len(references)))
        yield make_pair(chosen, 0.0, 1000 + seed)


def print_null(references: Texts, count: int, sizes: Sequence[int]) -> None:
    print(f"\n{count} pairs of equal systems: stars in %\n")
    print("| sentences | metric | Seqloom | sacrebleu, paired bootstrap | sacrebleu, approximate randomisation |")
    print("|---:|---|---:|---:|---:|")
    for size in sizes:
        for metric in METRICS:
            found = [all_p(pair, metric) for pair in null_pairs(references, count, size)]
            shares = [100 * np.mean([one[test] < SIGNIFICANT for one in found]) for test in ("seqloom", "bs", "ar")]
            print(f"| {size:,} | {metric} | {' | '.join(f'{share:.1f}' for share in shares)} |", flush=True)


def graded_pairs(references: Texts, count: int) -> list[Pair]:
    return [make_pair(references, LARGEST_GAP * number / max(1, count - 1), number) for number in range(count)]


def real_pairs(references: Texts) -> list[Pair]:
    """Every two of the models whose outputs for these sentences the ladder on Multi30k has kept."""
    files = sorted((Path(__file__).parents[1] / "docs/lineage/multi30k/rungs").glob("*.json"))
    outputs = [json.loads(file.read_text("utf-8"))["outputs"] for file in files]
    return [Pair(ours, theirs, references) for ours, theirs in combinations(outputs, 2)]


def print_agreement(title: str, pairs: list[Pair]) -> None:
    print(f"\n{title}, on {len(pairs[0].references):,} sentences\n")
    print(
        "| metric | Seqloom against sacrebleu's | stars of both | of neither | Seqloom only | sacrebleu only | ", end=""
    )
    print("largest difference of p | mean |\n|---|---|---:|---:|---:|---:|---:|---:|")
    for metric in METRICS:
        found = [all_p(pair, metric) for pair in pairs]
        for test, name in {"bs": "paired bootstrap", "ar": "approximate randomisation"}.items():
            stars = [(one["seqloom"] < SIGNIFICANT, one[test] < SIGNIFICANT) for one in found]
            counts = [stars.count(kind) for kind in ((True, True), (False, False), (True, False), (False, True))]
            gaps = [abs(one["seqloom"] - one[test]) for one in found]
            cells = [metric, name, *counts, f"{max(gaps):.3f}", f"{np.mean(gaps):.3f}"]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


def lopsided_pair(references: Texts, lucky: int) -> Pair:
    """Nearly all outputs of both systems are the same useless sentence; ours has `lucky` perfect ones beside."""
    useless = ["x y z w v"] * len(references)
    return Pair(references[:lucky] + useless[lucky:], useless, references)


def short_pair(references: Texts, lucky: int) -> Pair:
    """The same where answers are single words and only the lucky ones are sentences: BLEU hangs on these alone."""
    wanted = references[:lucky] + ["ja"] * (len(references) - lucky)
    return Pair(references[:lucky] + ["x"] * (len(references) - lucky), ["x"] * len(references), wanted)


def shares_of(pair: Pair) -> tuple[float, float]:
    """The share of resamples without a gain, and p by the distance from the mean alone."""
    ours, theirs = (measure_bleu(texts, pair.references) for texts in (pair.ours, pair.theirs))
    resampled = bootstrap(ours)["bleu"] - bootstrap(theirs)["bleu"]
    observed = ours["bleu"].score - theirs["bleu"].score
    far = np.abs(resampled - resampled.mean()) >= abs(observed)
    return float(np.mean(resampled <= 0)), (1 + int(far.sum())) / (1 + len(resampled))


def measure_bleu(texts: Texts, references: Texts) -> dict[str, Measurement]:
    return measure(texts, [[one] for one in references], names=["bleu"])


def print_lopsided(references: Texts) -> None:
    print(f"\n{LOPSIDED_SENTENCES} sentences, all useless but N perfect ones of one system: p of BLEU\n")
    print("| answers | N | resamples without a gain | distance from the mean alone | Seqloom | ", end="")
    print("paired bootstrap | approximate randomisation |\n|---|---:|---:|---:|---:|---:|---:|")
    for kind, make in (("sentences", lopsided_pair), ("single words, N sentences", short_pair)):
        for lucky in (1, 2, 3, 5, 8):
            pair = make(references[:LOPSIDED_SENTENCES], lucky)
            missed, far = shares_of(pair)
            found = [far, *all_p(pair, "bleu").values()]
            cells = [f"{p:.3f}{' *' if p < SIGNIFICANT else ''}" for p in found]
            print(f"| {kind} | {lucky} | {missed:.1%} | {' | '.join(cells)} |", flush=True)


def print_seeds(count: int, work: Path) -> None:
    """Models that differ by their seed alone: stars between them, and how far their scores are apart."""
    work.mkdir(parents=True, exist_ok=True)
    rest, test = split_by_date(generate(12_000, 1), 1_000, 1)
    for name, pairs in (("train", rest), ("test", test)):
        (work / f"{name}.tsv").write_text("".join(f"{text}\t{date}\n" for text, date in pairs), "utf-8")
    sources, dates = zip(*test, strict=True)
    found = []
    for seed in range(1, count + 1):
        limits = ["train.max_steps=300", "train.valid_every=150", "train.save_every=150"]
        out = work / f"seed-{seed}"
        seqloom.train(work / "train.tsv", out=out, recipe="dates", seed=seed, overrides=limits, quiet=True)
        outputs = seqloom.load(out).translate(list(sources))
        found.append(measure(outputs, [[date] for date in dates], names=["exact_match", "chrf"]))
        print(f"seed {seed}: " + ", ".join(f"{name} {one.score:.2f}" for name, one in found[-1].items()), flush=True)
    for name in ("exact_match", "chrf"):
        differences = [compare(one, other)[name] for one, other in combinations(found, 2)]
        stars = sum(one.significant for one in differences)
        largest = max(abs(one.difference) for one in differences)
        spread = np.std([one[name].score for one in found], ddof=1)
        print(f"{name}: {stars} stars in {len(differences)} pairs, largest difference {largest:.2f}, ", end="")
        print(f"standard deviation over seeds {spread:.2f}")


if __name__ == "__main__":
    main()
