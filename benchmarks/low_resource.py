"""Few pairs: does denoising pre-training on monolingual captions help a translation model of 5,000 pairs?

    SEQLOOM_DATA=DIR python benchmarks/low_resource.py --work runs/low [--seeds 1,2,3] [--pairs 5000] [--split test2016]

For each seed, trains three models: a denoiser (recipe bart-small) on the Multi30k training captions of both languages,
one text per line, without the information which captions form pairs; a translation model that starts from it (--init);
and one without pre-training, with the same tokenizer, settings, pairs and number of updates. Choose settings with
--split val; use the test split only at the end. Reports BLEU and chrF of every run, and the difference of the means
over seeds with a paired bootstrap over sentences (all runs see the same resamples). Every part resumes when it is run
again.
"""

import argparse
import gzip
import json
import os
from itertools import islice
from pathlib import Path

import numpy as np

import seqloom
from seqloom.metrics.measures import Measurement, measure
from seqloom.metrics.significance import bootstrap, difference_of, middle_95

SIDES = ("en", "de")
SHAPE = ["model.width=128", "model.ffn_size=512"]  # of all models: narrow, so that 1,500 updates take little time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for runs and shortened files")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--split", default="test2016", choices=("val", "test2016"))
    parser.add_argument("--pretrain-steps", type=int, default=3000)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--dropout", type=float, default=0.3, help="dropout of both translation models")
    parser.add_argument("--set", action="append", default=[], help="further settings of both translation models")
    parser.add_argument("--pretrain-set", action="append", default=[], help="further settings of the denoiser")
    parser.add_argument("--one-denoiser", action="store_true", help="all seeds start from the denoiser of the first")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    data = Path(os.environ["SEQLOOM_DATA"]) / "multi30k"
    options.work.mkdir(parents=True, exist_ok=True)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    runs: dict[str, list[Path]] = {"scratch": [], "denoised": []}
    for seed in seeds:
        denoiser = train_denoiser(options, data, seeds[0] if options.one_denoiser else seed)
        for name in runs:
            runs[name].append(train_translator(options, data, seed, name, denoiser))
    report(options, data, seeds, runs)


def train_denoiser(options: argparse.Namespace, data: Path, seed: int) -> Path:
    out, text = options.work / f"denoiser-{seed}", options.work / "captions.txt"
    if not text.exists():
        lines = [line for side in SIDES for line in read_lines(data / f"train.{side}.gz")]
        text.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    overrides = [f"train.max_steps={options.pretrain_steps}", "train.max_epochs=0", *SHAPE, *options.pretrain_set]
    seqloom.train(text, out=out, recipe="bart-small", seed=seed, threads=options.threads, overrides=overrides)
    return out


def train_translator(options: argparse.Namespace, data: Path, seed: int, name: str, denoiser: Path) -> Path:
    """Train one translation model. `scratch` has the tokenizer of `denoised`, so the vocabulary makes no difference."""
    out = options.work / f"{name}-{seed}"
    overrides = [f"train.max_steps={options.steps}", "train.max_epochs=0", f"model.dropout={options.dropout}"]
    seqloom.train(
        ",".join(str(cut(options, data, side)) for side in SIDES),
        valid=",".join(str(data / f"val.{side}.gz") for side in SIDES),
        out=out,
        recipe="transformer-small",
        seed=seed,
        threads=options.threads,
        overrides=[*overrides, *SHAPE, *options.set],
        **({"init": denoiser} if name == "denoised" else {"tokenizer": denoiser}),
    )
    return out


def cut(options: argparse.Namespace, data: Path, side: str) -> Path:
    """Write the first pairs of the training data to a file."""
    file: Path = options.work / f"train-{options.pairs}.{side}"
    if not file.exists():
        lines = islice(read_lines(data / f"train.{side}.gz"), options.pairs)
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def report(options: argparse.Namespace, data: Path, seeds: list[int], runs: dict[str, list[Path]]) -> None:
    sources, references = (read_lines(data / f"{options.split}.{side}.gz") for side in SIDES)
    measured: dict[str, dict[str, Measurement]] = {"bleu": {}, "chrf": {}}
    for name, folders in runs.items():
        for seed, folder in zip(seeds, folders, strict=True):
            outputs = seqloom.load(folder, threads=options.threads).translate(sources, beam=5)
            found = measure(outputs, [[reference] for reference in references], "de")
            for metric, kept in measured.items():
                kept[f"{name}-{seed}"] = found[metric]
            minutes = json.loads((folder / "run.json").read_text())["seconds"] / 60
            print(f"{name}-{seed}: BLEU {found['bleu'].score:.2f}  chrF {found['chrf'].score:.2f}  {minutes:.1f} min")
    for metric, kept in measured.items():
        print(json.dumps({"metric": metric, "split": options.split, "pairs": options.pairs} | compare(kept, seeds)))


def compare(measured: dict[str, Measurement], seeds: list[int]) -> dict[str, object]:
    """Compute the mean over seeds of each kind and their difference, by a paired bootstrap over sentences."""
    resampled = bootstrap(measured)
    means = {name: np.mean([measured[f"{name}-{seed}"].score for seed in seeds]) for name in ("scratch", "denoised")}
    draws = {name: np.mean([resampled[f"{name}-{seed}"] for seed in seeds], axis=0) for name in means}
    num_sentences = len(next(iter(measured.values())).statistics)
    found = difference_of(means["denoised"] - means["scratch"], draws["denoised"] - draws["scratch"], num_sentences)
    each = [measured[f"denoised-{seed}"].score - measured[f"scratch-{seed}"].score for seed in seeds]
    return {
        **{name: round(float(mean), 3) for name, mean in means.items()},
        **{f"{name}_95": [round(end, 3) for end in middle_95(draws[name])] for name in means},
        "difference": round(float(found.difference), 3),
        "difference_95": [round(found.low, 3), round(found.high, 3)],
        "p": found.p_value,
        "by_seed": [round(difference, 3) for difference in each],
    }


def read_lines(file: Path) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


if __name__ == "__main__":
    main()
