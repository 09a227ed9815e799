"""Character language models on one text file: nanoGPT's CPU setting, the best in ten minutes, LSTM against GPT.

    python benchmarks/characters.py --data input.txt.gz --out runs/characters

The last tenth of the file is the validation text, as in nanoGPT. Runs go one after the other with the same threads; a
run that was stopped goes on. Prints a table (Markdown) of nats a character on the whole validation text:
    windows     each window read from nothing, as nanoGPT measures it; a recurrent network carries its state on
    context     each character with at least half a window before it
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
# name: recipe, whether the clock ends it
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
    parser.add_argument("--data", type=Path, default=usual, help="a text, also .gz [default: that of SEQLOOM_DATA]")
    parser.add_argument("--out", type=Path, required=True, help="where the runs go")
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=(), help="recipes")
    return parser.parse_args()


def split_text(file: Path, folder: Path) -> tuple[Path, Path]:
    """The first nine tenths of the characters, and the last."""
    with open_bytes(file) as stream:
        text = stream.read().decode()
    cut = int(0.9 * len(text))
    parts = folder / "train.txt", folder / "valid.txt"
    for part, content in zip(parts, (text[:cut], text[cut:]), strict=True):
        part.write_text(content, "utf-8", newline="\n")
    return parts


def seqloom(*words: Any) -> str:
    """Standard output of one command; what it says of its progress is shown."""
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
