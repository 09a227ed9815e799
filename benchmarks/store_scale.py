"""Ten million pairs: how long `seqloom train` takes to build the token store, and then to make its first step.

    python benchmarks/store_scale.py                    # 10 million pairs, some gigabytes in the temporary folder
    python benchmarks/store_scale.py --pairs 1000000

The first command checks the data, learns the tokenizer, builds the store and trains one step: its wall-clock time, its
processor time (which other work on the machine changes less) and its peak memory. The second, a new process, continues
with step 2: the time from its start to that step in metrics.jsonl, and its peak memory.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    number = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "pairs.tsv").open("w", encoding="utf-8") as out:
            out.writelines(islice(pairs(), number))
        began = time.perf_counter()
        subprocess.run(train_command(folder, steps=1), check=True, stderr=subprocess.DEVNULL)
        built = time.perf_counter() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds, megabytes = measure_next_step(folder)
    print(
        json.dumps(
            {
                "pairs": number,
                "check_and_build_seconds": round(built, 1),
                "check_and_build_processor_seconds": round(used.ru_utime + used.ru_stime, 1),
                "check_and_build_peak_megabytes": used.ru_maxrss // 1000,
                "first_step_seconds": round(seconds, 2),
                "first_step_peak_megabytes": megabytes,
            },
            indent=1,
        )
    )


def pairs() -> Iterator[str]:
    """Yield pairs of digits and words, 1 to 9 of each, so that sources repeat and lengths vary."""
    draw = random.Random(1)
    while True:
        digits = str(draw.randrange(10 ** draw.randint(1, 9)))
        yield f"{' '.join(digits)}\t{' '.join(WORDS[int(digit)] for digit in digits)}\n"


def train_command(folder: Path, steps: int) -> list[str]:
    settings = [
        f"train.max_steps={steps}", "train.log_every=1", "text.vocab_size=500", "model.width=128", "model.layers=2",
        "train.schedule=constant", "train.max_epochs=0",
    ]  # fmt: skip
    command = [sys.executable, "-m", "seqloom", "train", str(folder / "pairs.tsv"), "--out", str(folder / "run")]
    return command + ["--recipe", "transformer-small"] + [part for s in settings for part in ("--set", s)]


def measure_next_step(folder: Path) -> tuple[float, int]:
    """Return the seconds from the start of a new process to its first step, and its peak megabytes at that moment."""
    began = time.perf_counter()
    with subprocess.Popen(train_command(folder, steps=2), stderr=subprocess.DEVNULL) as process:
        while not has_step(folder / "run" / "metrics.jsonl", 2):
            if process.poll() is not None:
                sys.exit(f"train ended with {process.returncode} before its step")
            time.sleep(0.02)
        seconds = time.perf_counter() - began
        status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
        process.kill()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return seconds, int(peak.split()[1]) // 1000


def has_step(file: Path, step: int) -> bool:
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return any(f'"step": {step},' in line and '"event": "train"' in line for line in lines)


if __name__ == "__main__":
    main()
