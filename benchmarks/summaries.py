"""Summarise Debian package descriptions in one line: ROUGE, compared with the first sentence of the paragraph.

    SEQLOOM_DATA=DIR python benchmarks/summaries.py --work runs/debian --budget 30m [--pretrain 20m] [--split dev]

Sub-packages share their paragraph, so the data is split by paragraph: a hash of its letters decides where all its
summaries go (95 % train, 2.5 % dev, 2.5 % test). Further summaries of a paragraph are further references. With
--pretrain, a denoiser is first trained on the training paragraphs. Choose settings with --split dev.
"""

import argparse
import gzip
import hashlib
import json
import os
from pathlib import Path

import seqloom
from seqloom.workflows.evaluate import evaluate, render

HELD_OUT = 0.025  # share of the paragraphs for dev, and the same share for test


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for runs and splits")
    parser.add_argument("--budget", default="30m")
    parser.add_argument("--pretrain", default="", help="time budget of a denoiser of the paragraphs")
    parser.add_argument("--split", default="dev", choices=("dev", "test"))
    parser.add_argument("--set", action="append", default=[], help="further settings of the summary model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    files = split(Path(os.environ["SEQLOOM_DATA"]) / "summaries-debian" / "summ.long-short.en.tsv.gz", options.work)
    begin = {"init": pretrain(options, files["train"])} if options.pretrain else {}
    out = options.work / f"{'tuned' if begin else 'scratch'}-{options.seed}"
    seqloom.train(
        files["train"], valid=files["dev"], out=out, task="summarise", recipe="summarise-small", budget=options.budget,
        seed=options.seed, threads=options.threads, overrides=options.set, allow_loss=True, **begin,
    )  # fmt: skip
    report = evaluate(out, str(files[options.split]), threads=options.threads, allow_loss=True, say=print)
    print(render(report))
    found = report.to_json()
    lead = found["against"]
    kept = {
        name: [found[name][part] for part in ("score", "low", "high")] for name in ("rouge_1", "rouge_2", "rouge_l")
    }
    kept |= {f"first_sentence_{name}": lead["scores"][name]["score"] for name in ("rouge_1", "rouge_2", "rouge_l")}
    print(json.dumps({"split": options.split, "sentences": found["sentences"], **kept}))


def split(source: Path, work: Path) -> dict[str, Path]:
    """Split the file by paragraph into train.tsv, dev.tsv and test.tsv."""
    work.mkdir(parents=True, exist_ok=True)
    files = {name: work / f"{name}.tsv" for name in ("train", "dev", "test")}
    if all(file.exists() for file in files.values()):
        return files
    lines: dict[str, list[str]] = {name: [] for name in files}
    with gzip.open(source, "rt", encoding="utf-8") as stream:
        for line in stream:
            lines[part_of(line.partition("\t")[0])].append(line)
    for name, file in files.items():
        file.write_text("".join(lines[name]), "utf-8")
        paragraphs = {line.partition("\t")[0] for line in lines[name]}
        print(f"{file}: {len(lines[name]):,} pairs, {len(paragraphs):,} paragraphs")
    return files


def part_of(paragraph: str) -> str:
    """Choose a part by letters and digits only, so that two spellings of a paragraph stay together."""
    letters = "".join(letter for letter in paragraph.lower() if letter.isalnum())
    share = int.from_bytes(hashlib.blake2b(letters.encode(), digest_size=8).digest()) / 2**64
    return "dev" if share < HELD_OUT else "test" if share < 2 * HELD_OUT else "train"


def pretrain(options: argparse.Namespace, train: Path) -> Path:
    out, text = options.work / f"denoiser-{options.seed}", options.work / "paragraphs.txt"
    if not text.exists():
        with train.open(encoding="utf-8") as lines:
            paragraphs = dict.fromkeys(line.partition("\t")[0] for line in lines)
        text.write_text("".join(f"{paragraph}\n" for paragraph in paragraphs), "utf-8")
    settings = ["text.vocab_size=8000", "train.batch_tokens=2048"]
    seqloom.train(
        text, out=out, recipe="bart-small", budget=options.pretrain, seed=options.seed, threads=options.threads,
        overrides=settings, allow_loss=True,
    )  # fmt: skip
    return out


if __name__ == "__main__":
    main()
