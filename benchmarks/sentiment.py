"""Measure SST-2 accuracy against the number of labels: what does pre-training gain when labels are few?

    SEQLOOM_DATA=DIR python benchmarks/sentiment.py --work runs/sentiment [--part dev] [--imported DIR] [--text FILE]

The models are: tf-idf with a linear classifier; a bag of learned word vectors; an LSTM without pre-training; our masked
model, fine-tuned (recipe bert-small with two layers, trained on the training texts without labels and on each --text,
which benchmarks/plain_text.py writes); and with --imported (`seqloom import`) a public encoder, fine-tuned. For each
seed, 100 or 1,000 labels are drawn at random, half of them of each class; all labels are 6,920. Validation always uses
the dev file and keeps the weights with the lowest loss there, so the dev labels count as known. Choose settings with
--part dev; use --part test only at the end. Reports the accuracy of each run with its interval over texts, mean and
spread over seeds, and one chart (sentiment.png, if matplotlib is installed). Runs resume.
"""

import argparse
import gzip
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from spaced import write_spaced
from torch import Tensor

import seqloom
from seqloom.evaluation.label_report import LabelReport, make_label_report
from seqloom.evaluation.render import table
from seqloom.explain.charts import can_draw, draw_lines
from seqloom.vectors.bag import BagOfWords
from seqloom.workflows.evaluate import evaluate

SIZES = {"100": 3, "1000": 3, "all": 1}  # labels: seeds
STEPS = {  # updates
    "bag": {"100": 300, "1000": 800, "all": 1800},
    "lstm": {"100": 150, "1000": 400, "all": 900},
    "masked": {"100": 100, "1000": 300, "all": 1000},
    "imported": {"100": 60, "1000": 150, "all": 1000},
}
# Of our masked model.
READ_FIRST = [
    "model.layers=2",
    "train.batch_tokens=1024",
    "train.max_steps=3000",
    "train.max_epochs=0",
]  # our masked model
SETTINGS = {"imported": ["train.rates=source_table=0"]}  # its word vectors were learned from far more text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for runs and shortened files")
    parser.add_argument("--part", default="dev", choices=("dev", "test"))
    parser.add_argument("--imported", type=Path, help="a folder that `seqloom import` wrote")
    parser.add_argument("--text", type=Path, action="append", default=[], help="more plain text for our masked model")
    parser.add_argument("--models", default="tf-idf,bag,lstm,masked,imported")
    parser.add_argument("--sizes", default="100,1000,all")
    parser.add_argument("--pretrain-set", action="append", default=[], help="further settings of the masked model")
    parser.add_argument("--set", action="append", default=[], help="further settings of every classifier")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.data = Path(os.environ["SEQLOOM_DATA"]) / "sentiment"
    options.work.mkdir(parents=True, exist_ok=True)
    recipes = recipes_of(options)
    found = []
    for name, size, seed in plan(options, list(recipes)):
        if name == "tf-idf":
            about = tf_idf(options, size, seed)
        else:
            folder = train(options, name, size, seed, *recipes[name])
            about = evaluate(folder, str(options.data / f"stsa.binary.{options.part}.gz"), say=tell).to_json()
        found.append({"model": name, "labels": size, "seed": seed, **about["accuracy"], "params": about["params"]})
        print(json.dumps(found[-1]), file=sys.stderr)
    report(options, found)


def recipes_of(options: argparse.Namespace) -> dict[str, tuple[str, Path | None]]:
    """name: (recipe, what it begins from)"""
    chosen = options.models.split(",")
    recipes: dict[str, tuple[str, Path | None]] = {
        "tf-idf": ("", None),
        "bag": ("classify-bag", None),
        "lstm": ("classify-lstm", None),
        "masked": ("finetune-labels", pretrain(options) if "masked" in chosen else None),
    }
    if options.imported:
        recipes["imported"] = ("finetune-labels", options.imported)
    return {name: recipe for name, recipe in recipes.items() if name in chosen}


def plan(options: argparse.Namespace, names: list[str]) -> Iterator[tuple[str, str, int]]:
    for size in options.sizes.split(","):
        for name in names:
            for seed in range(1, SIZES[size] + 1):
                yield name, size, seed


def pretrain(options: argparse.Namespace) -> Path:
    """Train our masked model on the texts without labels and, in each epoch, on another tenth of the further texts."""
    out, text = options.work / "masked", options.work / "texts.txt"
    if not text.exists():
        text.write_text("".join(f"{line.partition(' ')[2]}\n" for line in read_train(options)), "utf-8")
    seqloom.train(
        text, mix=[f"{file}:0.1" for file in write_spaced(options.text, options.work, lower=True)], out=out,
        recipe="bert-small", threads=options.threads, overrides=[*READ_FIRST, *options.pretrain_set],
    )  # fmt: skip
    return out


def train(options: argparse.Namespace, name: str, size: str, seed: int, recipe: str, init: Path | None) -> Path:
    out = options.work / f"{name}-{size}-{seed}"
    steps = STEPS[name][size]
    limits = [f"train.max_steps={steps}", "train.max_epochs=0", f"train.valid_every={max(25, steps // 10)}"]
    seqloom.train(
        draw_labels(options, size, seed), valid=options.data / "stsa.binary.dev.gz", out=out, recipe=recipe, seed=seed,
        init=str(init) if init else None, threads=options.threads, allow_loss=True,
        overrides=[*limits, *SETTINGS.get(name, []), *options.set],
    )  # fmt: skip
    return out


def tf_idf(options: argparse.Namespace, size: str, seed: int) -> dict[str, Any]:
    """Fit one weight per word: min over w, b of mean ln(1 + e^(-y (x w + b))) + c |w|^2, c chosen on dev."""
    labels, texts = split_labels(read_lines(draw_labels(options, size, seed)))
    bag = BagOfWords.fit(texts, "tf-idf")
    rows = torch.from_numpy(bag.transform(texts).dense())
    signs = torch.tensor([1.0 if one == "1" else -1.0 for one in labels])
    fits = [fit_linear(rows, signs, decay) for decay in (1e-2, 1e-3, 1e-4, 1e-5)]
    answers = {part: [say(options, bag, fit, part) for fit in fits] for part in {"dev", options.part}}
    best = max(range(len(fits)), key=lambda place: answers["dev"][place].scores["accuracy"].score)
    return {**answers[options.part][best].to_json(), "params": rows.shape[1] + 1}


def fit_linear(rows: Tensor, signs: Tensor, decay: float) -> Tensor:
    """Return the weights of the words, with the bias last."""
    weights = torch.zeros(rows.shape[1] + 1, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        margin = signs * (rows @ weights[:-1] + weights[-1])
        loss = torch.nn.functional.softplus(-margin).mean() + decay * (weights[:-1] ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weights.detach()


def say(options: argparse.Namespace, bag: BagOfWords, weights: Tensor, part: str) -> LabelReport:
    labels, texts = split_labels(read_lines(options.data / f"stsa.binary.{part}.gz"))
    above = torch.from_numpy(bag.transform(texts).dense()) @ weights[:-1] + weights[-1] > 0
    return make_label_report("classify", [[one] for one in labels], [[str(int(one))] for one in above])


def split_labels(lines: list[str]) -> tuple[list[str], list[str]]:
    return [line[0] for line in lines], [line[2:] for line in lines]


def draw_labels(options: argparse.Namespace, size: str, seed: int) -> Path:
    """Write a file of `size` labelled texts, half of them of each class."""
    if size == "all":
        return Path(options.data / "stsa.binary.train.gz")
    file = Path(options.work / f"labels-{size}-{seed}.txt")
    if not file.exists():
        lines = read_train(options)
        half, draw = int(size) // 2, random.Random(seed)
        chosen = [line for label in "01" for line in draw.sample([one for one in lines if one[0] == label], half)]
        draw.shuffle(chosen)
        file.write_text("".join(f"{line}\n" for line in chosen), "utf-8")
    return file


def read_train(options: argparse.Namespace) -> list[str]:
    return read_lines(options.data / "stsa.binary.train.gz")


def read_lines(file: Path) -> list[str]:
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return text.decode("utf-8").splitlines()


def report(options: argparse.Namespace, found: list[dict[str, Any]]) -> None:
    """Print one row per model, one column per number of labels: mean and spread over seeds, or one run's interval."""
    sizes = options.sizes.split(",")
    names = list(dict.fromkeys(one["model"] for one in found))
    rows, lines = [["accuracy", *(f"{size} labels" for size in sizes)]], {}
    for name in names:
        cells, points = [], []
        for place, size in enumerate(sizes):
            scores = [one for one in found if (one["model"], one["labels"]) == (name, size)]
            middle = mean(one["score"] for one in scores)
            points.append((float(place), middle))
            cells.append(f"{middle:.2f} {spread(scores)}")
        rows.append([name, *cells])
        lines[name] = points
    print(table(rows))
    print("one run: (95 % interval over texts); several runs: +- standard deviation over seeds and draws of labels")
    (options.work / f"sentiment-{options.part}.json").write_text(json.dumps(found, indent=1), "utf-8")
    if can_draw():
        chart = draw_lines(lines, "labels", f"accuracy on SST-2 {options.part}, %", ticks=sizes)
        (options.work / "sentiment.png").write_bytes(chart)


def spread(scores: list[dict[str, Any]]) -> str:
    if len(scores) > 1:
        return f"+- {stdev(one['score'] for one in scores):.2f}"
    return f"({scores[0]['low']:.2f} .. {scores[0]['high']:.2f})"


def tell(message: str) -> None:
    print(message, file=sys.stderr)


if __name__ == "__main__":
    main()
