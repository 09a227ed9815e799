"""Compare character language models on one text: nanoGPT's CPU setting, the best GPT and the best LSTM in ten minutes.

    python benchmarks/characters.py --data input.txt.gz --out runs/characters

The last tenth of the file is the validation text, as in nanoGPT. The runs follow one another with the same number of
threads; a stopped run resumes. Prints a Markdown table of nats per character on the whole validation text:
    windows     each window starts without context, as nanoGPT measures it; a recurrent network carries its state on
    context     each character has at least half a window of context
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from seqloom.data.lines import open_bytes

ANCHOR = "| nanoGPT, published (4 x 128, context 64, batch 12, 2,000 steps) | 0.80M | 2,000 | about 3 | | 1.88 | | |"
HEAD = (
    "| run | parameters | updates | minutes | characters/s | windows | context | bits (95 %) |\n"
    "|---|---|---|---|---|---|---|---|"
)
# name: (recipe, whether it has a time budget)
RUNS = {
    "nanoGPT's shape": ("gpt-characters", False),
    "GPT": ("gpt-characters-10min", True),
    "LSTM": ("lstm-characters", True),
}


def main() -> None:
    options = parse_options()
    options.out.mkdir(parents=True, exist_ok=True)
    train, valid = split_text(options.data, options.out)
    print(f"{HEAD}\n{ANCHOR}", flush=True)
    for name, (recipe, by_clock) in RUNS.items():
        if not options.only or recipe in options.only:
            folder = options.out / recipe
            words = [train, "--valid", valid, "--recipe", recipe, "--out", folder, "--threads", options.threads]
            seqloom("train", *words, *(["--budget", options.budget] if by_clock else []))
            report = json.loads(seqloom("evaluate", folder, valid, "--json", "--threads", options.threads))
            print(row_of(f"{name} ({recipe})", folder, report), flush=True)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Path(os.environ.get("SEQLOOM_DATA", ".")) / "tinyshakespeare" / "input.txt.gz"
    parser.add_argument("--data", type=Path, default=usual, help="a text file, also .gz [default: from SEQLOOM_DATA]")
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs")
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=(), help="run only these recipes")
    return parser.parse_args()


def split_text(file: Path, folder: Path) -> tuple[Path, Path]:
    """Split the text into the first nine tenths of its characters and the last tenth."""
    with open_bytes(file) as stream:
        text = stream.read().decode()
    cut = int(0.9 * len(text))
    parts = folder / "train.txt", folder / "valid.txt"
    for part, content in zip(parts, (text[:cut], text[cut:]), strict=True):
        part.write_text(content, "utf-8", newline="\n")
    return parts


def seqloom(*words: Any) -> str:
    """Run one command and return its standard output; its standard error is shown."""
    done = subprocess.run([sys.executable, "-m", "seqloom", *map(str, words)], stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        sys.exit(f"seqloom {words[0]} ended with {done.returncode}")
    return done.stdout


def row_of(name: str, folder: Path, report: dict[str, Any]) -> str:
    facts = json.loads((folder / "run.json").read_text("utf-8"))
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    speeds = sorted(event["tokens_per_second"] for event in events if event["event"] == "train")
    context, bits = report["with_context"], report["bits_per_character"]
    cells = [
        name,
        f"{facts['params'] / 1e6:.2f}M",
        f"{facts['step']:,}",
        f"{facts['seconds'] / 60:.1f}",
        f"{speeds[len(speeds) // 2]:,.0f}",
        f"{report['nats_per_character']['score']:.4f}",
        f"{context['nats_per_character']['score']:.4f}" if context else "the same",
        f"{bits['score']:.3f} ({bits['low']:.3f} to {bits['high']:.3f})",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
