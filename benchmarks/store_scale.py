"""Ten million pairs: how long `seqloom train` takes to build the token store, and then to make its first step.

    python benchmarks/store_scale.py                    # 10 million pairs, some gigabytes in the temporary folder
    python benchmarks/store_scale.py --pairs 1000000
    python benchmarks/store_scale.py --index 100000000   # a made-up store: 3 GB of columns, and ids without content

The first command checks the data, learns the tokenizer, builds the store and trains one step: its wall-clock time, its
processor time (which other work on the machine changes less) and its peak memory. The second, a new process, continues
with step 2: the time from its start to that step in metrics.jsonl, and its peak memory.

With --index, only what grows with the number of pairs is measured, in a new process: the seconds to open the store, to
plan an epoch and to load a batch from the middle of another epoch, and the peak memory of the process.
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

import numpy as np

from seqloom.data.store import ids_name

SHARD = 2**19  # pairs
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--index", type=int, help="pairs of a made-up store, of which only the index is measured")
    options = parser.parse_args()
    number = options.pairs
    if options.index:
        print(json.dumps(measure_index(options.index), indent=1))
        return
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


def measure_index(number: int) -> dict[str, float]:
    """Write the columns of a store of so many pairs, and measure a process that opens it."""
    with tempfile.TemporaryDirectory() as name:
        write_columns(Path(name), number)
        words = [sys.executable, "-c", OPEN_STORE, name, str(number)]
        found: dict[str, float] = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
        return found


def write_columns(folder: Path, number: int) -> None:
    """Columns of lengths from 1 to 60; the ids are files of the right size without content."""
    (folder / "train").mkdir()
    draw = np.random.default_rng(1)
    source = np.minimum(60, 1 + draw.gamma(3.0, 8.0, number).astype(np.int32))
    target = np.clip(source + draw.integers(-3, 4, number, np.int32), 1, 60)
    for side, lengths in (("source", source), ("target", target)):
        ends = np.cumsum(lengths, dtype=np.int64)
        lengths.tofile(folder / "train" / f"{side}.lengths")
        (ends - lengths).tofile(folder / "train" / f"{side}.starts")
        begin = 0
        for shard, end in enumerate([*ends[SHARD - 1 : -1 : SHARD].tolist(), int(ends[-1])]):
            with (folder / "train" / ids_name(side, shard)).open("wb") as ids:
                ids.truncate(2 * (end - begin))
            begin = end
    np.arange(number, dtype=np.uint32).tofile(folder / "train" / "lines")
    np.zeros(number, np.uint16).tofile(folder / "train" / "corpora")


OPEN_STORE = """
import json, resource, sys, time
from pathlib import Path
from seqloom.data.batch import StoreBatches
from seqloom.data.store import Store
folder, number = Path(sys.argv[1]), int(sys.argv[2])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
account = {"total": number, "kept": number}
shards = len(list((folder / "train").glob("source*.ids")))
manifest = {"data_hash": "", "held_out": True, "dtype": "uint16", "shards": {"train": shards},
            "corpora": {"train": [("a", 1.0)]},
            "accounts": {"train": account}}
before, began = peak(), time.perf_counter()
store = Store(folder, "train", manifest)
opened = time.perf_counter()
batches = StoreBatches(store, 4096, 1)
planned = time.perf_counter()
plan = batches.epoch(3)
another = time.perf_counter()
batches.load(plan[len(plan) // 2])
loaded = time.perf_counter()
print(json.dumps({"pairs": number, "open_seconds": round(opened - began, 4), "plan_seconds": round(planned - opened, 2),
    "seek_to_another_epoch_seconds": round(another - planned, 2), "load_batch_seconds": round(loaded - another, 4),
    "peak_bytes_per_pair": round((peak() - before) / number, 1), "peak_megabytes": peak() // 10**6,
    "processor_seconds": round(time.process_time(), 1)}))
"""


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
