"""What the promises cost: start-up, batched translating and training of two trees, by turns in one run.

    git worktree add ../before COMMIT
    python benchmarks/cost_of_promises.py --against ../before

Each measure is taken from a process of its own, by turns with the other tree (the one that goes first alternates), so
that both meet the same machine. What is compared is processor time (user and system), which a busy machine distorts
less than the clock. The ratio is that of the medians; the spread shows the ratios of the single rounds. Training is
counted from the first update on: a run of few updates is taken off one of many.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTINGS = (
    # both trees must draw the same weights, or one translates into longer sentences than the other
    *("model.kind=transformer", "model.positions=sinusoidal", "model.layers=2", "model.width=128", "model.heads=4"),
    *("text.vocab_size=500", "train.threads=1", "train.batch_tokens=1024", "train.valid_every=1000000"),
    *("train.precision=float32", "data.valid_pairs=20", "decode.beam=4"),
)
FEW, MANY = 5, 65  # updates


def write_pairs(file: Path, number: int) -> None:
    draw = random.Random(11)
    words = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 7))) for _ in range(300)]
    sentences = [" ".join(draw.choices(words, k=draw.randint(3, 20))) for _ in range(number)]
    file.write_text("".join(f"{text}\t{text[::-1]}\n" for text in sentences), "utf-8")


def run(tree: Path, *words: object) -> str:
    """Run a command line of one tree with one thread; what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "seqloom", *map(str, words)]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def processor_seconds(tree: Path, *words: object) -> float:
    """The user and system time of a command line and of its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(tree, *words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def train_words(pairs: Path, out: Path, steps: int) -> list[object]:
    settings = [*SETTINGS, f"train.max_steps={steps}", f"train.save_every={max(1, steps // 4)}"]
    return ["train", pairs, "--out", out, *(word for setting in settings for word in ("--set", setting))]


def measures(folder: Path, models: dict[Path, Path]) -> dict[str, Callable[[Path, int], float]]:
    """Return name -> a function of (tree, round) that measures once."""
    pairs, text = folder / "pairs.tsv", folder / "text.txt"

    def training(tree: Path, number: int) -> float:
        name = f"{[*models].index(tree)}-{number}"
        few = processor_seconds(tree, *train_words(pairs, folder / f"few-{name}", FEW))
        return processor_seconds(tree, *train_words(pairs, folder / f"many-{name}", MANY)) - few

    return {
        "start-up (`--help`)": lambda tree, _: processor_seconds(tree, "--help"),
        "start-up (`info MODEL`)": lambda tree, _: processor_seconds(tree, "info", models[tree]),
        "load and one line (torch)": lambda tree, _: processor_seconds(
            tree, "translate", models[tree], folder / "line.txt", "--engine", "torch", "--threads", 1
        ),
        "translate 1,000 lines (CTranslate2)": lambda tree, _: processor_seconds(
            tree, "translate", models[tree], text, "--threads", 1
        ),
        f"train, {MANY - FEW} updates and 3 checkpoints": training,
    }


def by_turns(measure: Callable[[Path, int], float], trees: Sequence[Path], rounds: int) -> dict[Path, list[float]]:
    """Measure both trees in each round, the first one alternating; the first round only warms up the disk's cache."""
    found: dict[Path, list[float]] = {tree: [] for tree in trees}
    for number in range(rounds + 1):
        for tree in trees if number % 2 else reversed(trees):
            seconds = measure(tree, number)
            if number:
                found[tree].append(seconds)
    return found


def row(name: str, before: list[float], now: list[float]) -> str:
    ratios = [b / a for a, b in zip(before, now, strict=True)]
    ratio = statistics.median(now) / statistics.median(before)
    seconds = f"{statistics.median(before):.2f} | {statistics.median(now):.2f}"
    return f"| {name} | {seconds} | {ratio:.3f} | {min(ratios):.3f} to {max(ratios):.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, required=True, help="the folder of the earlier tree")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="measures whose name contains this")
    options = parser.parse_args()
    trees = [options.against.resolve(), ROOT]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_pairs(folder / "pairs.tsv", 3000)
        lines = [line.partition("\t")[0] for line in (folder / "pairs.tsv").read_text("utf-8").splitlines()]
        (folder / "text.txt").write_text("".join(f"{line}\n" for line in lines[:1000]), "utf-8")
        (folder / "line.txt").write_text(f"{lines[0]}\n", "utf-8")
        models = {tree: folder / f"model-{number}" for number, tree in enumerate(trees)}
        for tree, model in models.items():
            run(tree, *train_words(folder / "pairs.tsv", model, 40))
        if len({run(tree, "translate", model, folder / "text.txt") for tree, model in models.items()}) > 1:
            sys.exit("the two trees train models that translate differently, so their times cannot be compared")
        print("| processor seconds, median | before | now | ratio | single rounds |\n|---|--:|--:|--:|--:|", flush=True)
        for name, measure in measures(folder, models).items():
            if options.only in name:
                found = by_turns(measure, trees, options.rounds)
                print(row(name, *(found[tree] for tree in trees)), flush=True)
        print(json.dumps({"rounds": options.rounds, "load": os.getloadavg()[0]}), file=sys.stderr)


if __name__ == "__main__":
    main()
