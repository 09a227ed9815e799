"""What learns most in few minutes of one core? The evidence behind the recipe that `train` chooses.

    SEQLOOM_DATA=DIR python benchmarks/short_budgets.py --work runs/short --minutes 4 [--arms NAME,NAME] [--seeds 1]

Each arm is a recipe with settings, trained for the same minutes on the training pairs of two corpora: Tatoeba
English-French and Multi30k English-German. The fold on which the arms are compared is cut from the training data, by
source and by seed, so that no dev or test set is worn out by choosing. Minutes are minutes of *processor time*, so that
other work on the machine does not decide. Figures: BLEU and chrF (beam 5), validation loss per character (comparable
between vocabularies), updates and passes. A run that is done is not repeated: the same command continues.
"""

import argparse
import gzip
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

time.monotonic = time.process_time  # before Seqloom is imported: budgets count the time of this process

import seqloom  # noqa: E402
from seqloom.metrics.measures import measure  # noqa: E402
from seqloom.text.sides import Tokenizers  # noqa: E402

FOLD = 1000  # sources held out
ARMS: dict[str, tuple[str, list[str]]] = {
    "rnnsearch": ("rnnsearch-small", []),
    "rnnsearch-256": ("rnnsearch-small", ["model.width=256", "model.embed_size=192", "text.vocab_size=2000"]),
    "luong": ("ladder/luong", []),
    "luong-512": ("ladder/luong", ["train.batch_tokens=512"]),
    "transformer": ("transformer-small", []),
    "rotary": ("transformer-small", ["model.positions=rotary"]),
    "rotary-512": ("transformer-small", ["model.positions=rotary", "train.batch_tokens=512"]),
    "narrow": (
        "transformer-small",
        ["model.positions=rotary", "model.width=128", "text.vocab_size=2000", "train.batch_tokens=512",
         "train.learning_rate=2e-3"],
    ),
    "narrow-192": (
        "transformer-small",
        ["model.positions=rotary", "model.width=192", "text.vocab_size=3000", "train.batch_tokens=512",
         "train.learning_rate=1.5e-3", "model.layers=2"],
    ),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for runs and folds")
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--corpora", default="tatoeba,multi30k")
    parser.add_argument("--seeds", default="1")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    for seed in map(int, options.seeds.split(",")):
        for corpus in options.corpora.split(","):
            train, held_out = cut_fold(options.work, corpus, seed)
            for arm in options.arms.split(","):
                row = run_arm(options.work, corpus, arm, seed, options.minutes, train, held_out)
                print(f"{corpus} seed {seed} {options.minutes:g} min {arm}:", *(f"{k} {v}" for k, v in row.items()))


def read_pairs(corpus: str) -> Iterator[tuple[str, str]]:
    data = Path(os.environ["SEQLOOM_DATA"])
    if corpus == "tatoeba":
        for line in gzip_lines(data / "tatoeba-en-fr" / "train.tsv.gz"):
            yield two(line)
    else:
        folder = data / "multi30k"
        yield from zip(gzip_lines(folder / "train.en.gz"), gzip_lines(folder / "train.de.gz"), strict=True)


def gzip_lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def cut_fold(work: Path, corpus: str, seed: int) -> tuple[Path, Path]:
    """Write the pairs of `FOLD` random sources to a file of their own; the others are for training."""
    train, held_out = work / f"{corpus}-{seed}.train.tsv", work / f"{corpus}-{seed}.fold.tsv"
    if not held_out.exists():
        pairs = list(read_pairs(corpus))
        chosen = set(random.Random(seed).sample(sorted({source for source, _ in pairs}), FOLD))
        for path, wanted in ((train, False), (held_out, True)):
            path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs if (s in chosen) is wanted), "utf-8")
    return train, held_out


def run_arm(
    work: Path, corpus: str, arm: str, seed: int, minutes: float, train: Path, held_out: Path
) -> dict[str, Any]:
    out = work / f"{corpus}-{seed}-{minutes:g}m-{arm}"
    if (out / "row.json").exists():
        done: dict[str, Any] = json.loads((out / "row.json").read_text("utf-8"))
        return done
    recipe, settings = ARMS[arm]
    run = seqloom.train(train, valid=held_out, out=out, recipe=recipe, overrides=settings, budget=60 * minutes,
                        seed=seed, threads=1, quiet=True)  # fmt: skip
    sources: dict[str, list[str]] = {source: [] for source, _ in map(two, read_lines(held_out))}
    for source, target in map(two, read_lines(held_out)):
        sources[source].append(target)
    outputs = list(run.load(threads=1).translate(list(sources)))
    scores = measure(outputs, [targets[:1] for targets in sources.values()])
    facts = run.facts
    row: dict[str, Any] = {name: round(scores[name].score, 2) for name in ("bleu", "chrf")}
    row |= {"updates": facts.step, "passes": facts.passes, "tokens": facts.tokens, "params": facts.params}
    characters = sum(len(target) + 1 for targets in sources.values() for target in targets)
    row["loss per character"] = round((facts.valid_loss or 0) * target_tokens(out, held_out) / characters, 4)
    (out / "row.json").write_text(json.dumps(row), "utf-8")
    return row


def target_tokens(out: Path, held_out: Path) -> int:
    """Count the tokens that the validation loss is a mean of: each text ends with one of its own."""
    tokenizer = Tokenizers.load(out).target
    texts = [two(line)[1] for line in read_lines(held_out)]
    return sum(len(tokenizer.encode(text)) + 1 for text in texts)


def two(line: str) -> tuple[str, str]:
    source, target = line.split("\t")
    return source, target


def read_lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


if __name__ == "__main__":
    main()
