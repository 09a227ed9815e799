"""What is learned in so many minutes of one core? Seqloom beside a Hugging Face loop, and the trials behind recipes.

    SEQLOOM_DATA=DIR python benchmarks/minutes_to_score.py --work runs/minutes --minutes 10 [--arms NAME,NAME]
    SEQLOOM_DATA=DIR python benchmarks/minutes_to_score.py --work runs/minutes --minutes 40 --seeds 1,2,3 --final

Each arm is a recipe with settings, `default` (what `train --budget` chooses) or `hugging-face` (hugging_face_loop.py).
All arms of a corpus and seed learn from the same pairs for the same minutes: Multi30k English-German, Tatoeba
English-French, or 50,000 pairs of it. They are compared on a fold that is cut from the training data, by source and by
seed, so that choosing wears out no dev or test set; `--final` reads test2016 and Tatoeba dev instead, once, at the end.

Minutes are minutes of *processor time* of one thread, so that other work on the machine does not decide. Two runs go at
a time, each on a core of its own, arms beside each other in the order given. Figures: BLEU and chrF (beam 5, first
reference), loss per character in nats (comparable between vocabularies), updates, passes and target tokens per second.
A run that is done is not repeated: the same command continues.
"""

import argparse
import gzip
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLD = 1000  # sources held out
SLICE = 50_000  # pairs of tatoeba-50k
CORPORA = ("multi30k", "tatoeba", "tatoeba-50k")
Pairs = list[tuple[str, str]]
ROTARY = "model.positions=rotary"
ARMS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "default": (None, ()),
    "hugging-face": (None, ()),
    "rnnsearch": ("rnnsearch-small", ()),
    "luong": ("ladder/luong", ()),
    "transformer": ("transformer-small", ()),
    "rotary": ("transformer-small", (ROTARY,)),
    "ladder": ("ladder/transformer", ()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for runs and folds")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--arms", default="default,hugging-face", help=", ".join(ARMS))
    parser.add_argument("--corpora", default="multi30k,tatoeba-50k", help=", ".join(CORPORA))
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="SETTING=VALUE in all recipes")
    parser.add_argument("--name", default="", help="name of a trial with --set")
    parser.add_argument("--final", action="store_true", help="measure on the test sets")
    parser.add_argument("--cores", default="0,1", help="one run at a time on each of them")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.one:
        corpus, seed, arm, out = options.one
        run_arm(options, corpus, int(seed), arm, Path(out))
        return
    jobs = [
        (corpus, seed, arm)
        for seed, corpus in itertools.product(options.seeds.split(","), options.corpora.split(","))
        for arm in options.arms.split(",")
    ]
    run_side_by_side(options, jobs)
    report(options, jobs)


def folder_of(options: argparse.Namespace, corpus: str, seed: str, arm: str) -> Path:
    name = "-".join(filter(None, (corpus, seed, f"{options.minutes:g}m", arm, options.name, "final" * options.final)))
    return Path(options.work, name)


def run_side_by_side(options: argparse.Namespace, jobs: Sequence[tuple[str, str, str]]) -> None:
    """Give the next job to whichever core is free."""
    running: dict[int, subprocess.Popen[bytes]] = {}
    cores = [int(core) for core in options.cores.split(",")]
    waiting = [job for job in jobs if not (folder_of(options, *job) / "row.json").exists()]
    while waiting or running:
        for core in cores:
            if core in running and running[core].poll() is not None:
                running.pop(core)
            if core not in running and waiting:
                job = waiting.pop(0)
                out = folder_of(options, *job)
                print(f"core {core}: {out.name}", file=sys.stderr, flush=True)
                words = ["taskset", "--cpu-list", str(core), sys.executable, __file__, *sys.argv[1:]]
                with Path(f"{out}.log").open("ab") as log:
                    running[core] = subprocess.Popen([*words, "--one", *job, out], stdout=log, stderr=log)
        time.sleep(1)


def report(options: argparse.Namespace, jobs: Sequence[tuple[str, str, str]]) -> None:
    """Print a row per corpus and arm: the median over the seeds, and the BLEU of each seed."""
    columns = ("bleu", "chrf", "loss per character", "updates", "passes", "tokens/s")
    print(f"| corpus | arm | {' | '.join(columns)} | BLEU per seed |\n|---|---|{'--:|' * len(columns)}---|")
    for corpus, arm in dict.fromkeys((corpus, arm) for corpus, _, arm in jobs):
        folders = [folder_of(options, *job) for job in jobs if (job[0], job[2]) == (corpus, arm)]
        rows = [
            json.loads((folder / "row.json").read_text("utf-8")) for folder in folders if (folder / "row.json").exists()
        ]
        if rows:
            medians = [f"{statistics.median(row[column] for row in rows):,}" for column in columns]
            print(f"| {corpus} | {arm} | {' | '.join(medians)} | {', '.join(str(row['bleu']) for row in rows)} |")


@dataclass(frozen=True)
class Lesson:
    """What both sides get: the pairs to learn from, those to be measured on, and the time."""

    train: Path
    pairs: Pairs
    sources: list[str]
    seconds: float
    seed: int
    out: Path


@dataclass(frozen=True)
class Learned:
    outputs: list[str]  # one per source
    loss: float  # of all pairs together, in nats
    facts: dict[str, Any]


def run_arm(options: argparse.Namespace, corpus: str, seed: int, arm: str, out: Path) -> None:
    """Train and measure one arm in this process; row.json is written last."""
    train, held_out, references = corpus_files(options.work, corpus, seed, options.final)
    lesson = Lesson(train, read_pairs(held_out), list(references), 60 * options.minutes, seed, out)
    if arm == "hugging-face":
        learned = learn_with_hugging_face(lesson)
    else:
        recipe, settings = ARMS[arm]
        learned = learn_with_seqloom(lesson, recipe, [*settings, *options.settings])

    from seqloom.metrics.measures import measure

    scores = measure(learned.outputs, [[reference] for reference in references.values()])
    row = learned.facts | {name: round(scores[name].score, 2) for name in ("bleu", "chrf")}
    characters = sum(len(target) + 1 for _, target in lesson.pairs)
    row |= {"loss per character": round(learned.loss / characters, 4)}
    row |= {"tokens/s": round(row["tokens"] / lesson.seconds), "signature": scores["bleu"].signature}
    (out / "row.json").write_text(json.dumps(row), "utf-8")


def learn_with_seqloom(lesson: Lesson, recipe: str | None, settings: list[str]) -> Learned:
    time.monotonic = time.process_time  # before Seqloom is imported: budgets count the time of this process
    import seqloom

    run = seqloom.train(lesson.train, out=lesson.out, recipe=recipe, overrides=settings, budget=lesson.seconds,
                        seed=lesson.seed, threads=1, quiet=True)  # fmt: skip
    sources, targets = map(list, zip(*lesson.pairs, strict=True))
    scores = seqloom.score(run.load(threads=1), sources, targets)
    facts = {"updates": run.facts.step, "passes": run.facts.passes, "tokens": run.facts.tokens}
    facts |= {"params": run.facts.params, "seconds": run.facts.seconds}
    outputs = list(run.load(threads=1).translate(lesson.sources, beam=5))
    return Learned(outputs, -sum(score.log_prob for score in scores if score), facts)


def learn_with_hugging_face(lesson: Lesson) -> Learned:
    import torch
    from hugging_face_loop import train

    torch.set_num_threads(1)
    trained = train(read_pairs(lesson.train), lesson.seconds, lesson.seed)
    lesson.out.mkdir(parents=True, exist_ok=True)
    facts = {"updates": trained.updates, "passes": round(trained.passes, 2), "tokens": trained.tokens}
    facts["params"] = sum(parameter.numel() for parameter in trained.model.parameters())
    loss = trained.negative_log_likelihood(lesson.pairs)
    return Learned(trained.translate(lesson.sources), loss, facts)


def corpus_files(work: Path, corpus: str, seed: int, final: bool) -> tuple[Path, Path, dict[str, str]]:
    """The pairs to learn from, those to measure on, and the first reference of each source."""
    train, held_out = work / f"{corpus}-{seed}.train.tsv", work / f"{corpus}-{seed}.fold.tsv"
    if final:
        train, held_out = work / f"{corpus}.train.tsv", work / f"{corpus}.test.tsv"
    if not held_out.exists():
        pairs = list(corpus_pairs(corpus, "train"))
        if final:
            write_pairs(train, pairs)
            write_pairs(held_out, list(corpus_pairs(corpus, "test")))
        else:
            chosen = set(random.Random(seed).sample(sorted({source for source, _ in pairs}), FOLD))
            write_pairs(train, [pair for pair in pairs if pair[0] not in chosen])
            write_pairs(held_out, [pair for pair in pairs if pair[0] in chosen])
    references: dict[str, str] = {}
    for source, target in read_pairs(held_out):
        references.setdefault(source, target)
    return train, held_out, references


def corpus_pairs(corpus: str, part: str) -> Iterator[tuple[str, str]]:
    data = Path(os.environ.get("SEQLOOM_DATA") or sys.exit("SEQLOOM_DATA must name the folder with the corpora"))
    if corpus == "multi30k":
        folder, name = data / "multi30k", {"train": "train", "test": "test2016"}[part]
        yield from zip(gzip_lines(folder / f"{name}.en.gz"), gzip_lines(folder / f"{name}.de.gz"), strict=True)
        return
    lines = [two(line) for line in gzip_lines(data / "tatoeba-en-fr" / f"{'dev' if part == 'test' else part}.tsv.gz")]
    if corpus == "tatoeba-50k" and part == "train":
        lines = [lines[number] for number in sorted(random.Random(0).sample(range(len(lines)), SLICE))]
    yield from lines


def gzip_lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def write_pairs(path: Path, pairs: Pairs) -> None:
    other = path.with_suffix(f".{os.getpid()}")  # two runs may begin at once
    other.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    other.replace(path)


def read_pairs(path: Path) -> Pairs:
    return [two(line) for line in path.read_text("utf-8").split("\n") if line]


def two(line: str) -> tuple[str, str]:
    source, target = line.split("\t")[:2]
    return source, target


if __name__ == "__main__":
    main()
