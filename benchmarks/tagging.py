"""Tag parts of speech on UD-EWT: what does a bidirectional LSTM gain over one that only reads forward?

    SEQLOOM_DATA=DIR python benchmarks/tagging.py --work runs/tagging [--seeds 1] [--part dev] [--text FILE ...]

Trains recipe tag-bilstm, and the same with model.bidirectional=false (one direction with the units of both). With
--text (plain text; may be given several times; benchmarks/plain_text.py writes some) it trains a third model: the
bidirectional network first learns to predict hidden words of these texts and of the training sentences without tags.
Choose settings with --part dev; use --part test only at the end. Reports accuracy with its interval over sentences,
accuracy on words that are not in the training data, sentences without a mistake and macro F1; and the differences by a
paired bootstrap. Runs resume.
"""

import argparse
import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

from spaced import write_spaced

import seqloom
from seqloom.config import load_config
from seqloom.config.recipes import find_recipe
from seqloom.evaluation.render import table
from seqloom.workflows.evaluate import evaluate

BOTH, FORWARD, READ_MORE = "both directions", "forward only", "both, read more"
READ_FIRST = ["train.max_steps=1500", "train.max_epochs=0", "train.learning_rate=2e-3"]  # about 6 million pieces
SCORES = {"accuracy": "accuracy", "new_words": "new words", "whole_texts": "whole sentences", "macro_f1": "macro F1"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--part", default="dev", choices=("dev", "test"))
    parser.add_argument("--text", type=Path, action="append", default=[], help="plain text for pre-training")
    parser.add_argument("--pretrain-set", action="append", default=[], help="further settings of pre-training")
    parser.add_argument("--set", action="append", default=[], help="further settings of all taggers")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    data = Path(os.environ["SEQLOOM_DATA"]) / "ud-ewt-pos"
    rows, found = [["", *SCORES.values(), "parameters", "minutes"]], []
    for seed in map(int, options.seeds.split(",")):
        folders = {name: train(options, data, name, seed) for name in models_of(options)}
        for name, folder in folders.items():
            rival = folders.get({BOTH: FORWARD, READ_MORE: BOTH}.get(name, ""))
            report = evaluate(folder, str(data / f"{options.part}.pos.tsv.gz"), against=rival, say=tell)
            about = report.to_json()
            rows.append([f"{name}, seed {seed}", *(cell(about, score) for score in SCORES), *size(folder)])
            found.append({**about, "model": name, "seed": seed})
            if rival:
                print(report.render(), file=sys.stderr)
    print(table(rows))
    for about in found:
        if about["against"]:
            gain = about["against"]["differences"]["accuracy"]
            told = f"{gain['difference']:+.2f} ({gain['low']:.2f} .. {gain['high']:.2f}), p = {gain['p_value']:.3f}"
            print(f"gain of {about['model']}, seed {about['seed']}: {told}")
    print(json.dumps([{name: one[name] for name in ("model", "seed", *SCORES)} for one in found]))


def models_of(options: argparse.Namespace) -> list[str]:
    return [FORWARD, BOTH, *([READ_MORE] if options.text else [])]


def train(options: argparse.Namespace, data: Path, name: str, seed: int) -> Path:
    out = options.work / f"{name.replace(',', '').replace(' ', '-')}-{seed}"
    seqloom.train(
        data / "train.pos.tsv.gz", valid=data / "dev.pos.tsv.gz", out=out, recipe="tag-bilstm", seed=seed,
        init=str(read_more(options, data)) if name == READ_MORE else None, threads=options.threads,
        overrides=[f"model.bidirectional={str(name != FORWARD).lower()}", *options.set],
    )  # fmt: skip
    return out


def read_more(options: argparse.Namespace, data: Path) -> Path:
    """Pre-train a network of the tagger's shape to predict hidden words."""
    out, own = options.work / "masked", options.work / "sentences.txt"
    if not own.exists():
        with gzip.open(data / "train.pos.tsv.gz", "rt", encoding="utf-8") as lines:
            own.write_text("".join(line.partition("\t")[0] + "\n" for line in lines), "utf-8")
    shape = load_config(find_recipe("tag-bilstm")).model
    same = ("kind", "cell", "bidirectional", "layers", "width", "embed_size")
    overrides = [f"model.{name}={json.dumps(getattr(shape, name))}" for name in same]
    seqloom.train(
        own, mix=[f"{file}:1" for file in write_spaced(options.text, options.work)], out=out, recipe="bert-small",
        threads=options.threads, overrides=[*overrides, *READ_FIRST, *options.pretrain_set],
    )  # fmt: skip
    return Path(out)


def cell(about: dict[str, Any], score: str) -> str:
    found = about[score]
    return f"{found['score']:.2f} ({found['low']:.2f} .. {found['high']:.2f})"


def size(folder: Path) -> tuple[str, str]:
    facts = json.loads((folder / "run.json").read_text("utf-8"))
    return f"{facts['params']:,}", f"{facts['seconds'] / 60:.1f}"


def tell(message: str) -> None:
    print(message, file=sys.stderr)


if __name__ == "__main__":
    main()
