"""Predictions of `seqloom plan` against real short runs on this machine.

    python benchmarks/plan_check.py                      # needs SEQLOOM_DATA (Multi30k); some minutes
    python benchmarks/plan_check.py --case gru --steps 60

For each case: `seqloom plan` with one thread, then a real training of `--steps` updates with the same settings. Both
are compared in processor seconds per update, which other programs on the machine change less than the clock: predicted
seconds per update x cores used while measuring, and the processor time of the training process between two lines of its
log. Validations and checkpoints are outside that span.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SETTINGS = ["train.threads=1", "train.valid_every=100000", "train.save_every=100000", "train.log_every=5"]
CASES = {  # name -> recipe and settings
    "transformer": ("transformer-small", []),
    "wide": ("transformer-small", ["model.width=384", "model.heads=6"]),
    "gru": ("rnnsearch-small", []),
    "lstm": ("sutskever-small", []),
    "parts": ("transformer-small", ["train.accumulate=2", "train.batch_tokens=512"]),
}
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = unpack(folder)
        for case in options.case or CASES:
            recipe, settings = CASES[case]
            words = [pairs, "--recipe", recipe]
            words += [word for setting in [*SETTINGS, *settings] for word in ("--set", setting)]
            predicted = predict(words)
            measured = measure([*words, "--out", str(folder / case)], folder / case, options.steps)
            print(
                f"{case:<12} predicted {predicted * 1000:8.1f} ms of processor time per update, measured "
                f"{measured * 1000:8.1f} ms: {100 * (predicted / measured - 1):+.1f} %",
                flush=True,
            )


def unpack(folder: Path) -> str:
    data = Path(os.environ["SEQLOOM_DATA"]) / "multi30k"
    for side in ("en", "de"):
        (folder / f"train.{side}").write_bytes(gzip.decompress((data / f"train.{side}.gz").read_bytes()))
    return f"{folder}/train.en,{folder}/train.de"


def predict(words: list[str]) -> float:
    command = [sys.executable, "-m", "seqloom", "plan", *words, "--json"]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return float(found["seconds_per_update"] * found["cores_used"])


def measure(words: list[str], run: Path, steps: int) -> float:
    """Processor seconds per update, from the first line of the log on, which leaves out the start."""
    limits = ["--set", f"train.max_steps={steps + 6}", "--set", "train.max_epochs=0"]
    command = [sys.executable, "-m", "seqloom", "train", *words, *limits]
    first: tuple[int, float] | None = None
    last = (0, 0.0)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and last[0] < steps:
            step = newest_step(run / "metrics.jsonl")
            if step > last[0]:
                last = (step, processor_seconds(process.pid))
                first = first or last
            time.sleep(0.05)
        process.kill()
    if first is None or last[0] <= first[0]:
        sys.exit("training ended before two lines of its log")
    return (last[1] - first[1]) / (last[0] - first[0])


def newest_step(log: Path) -> int:
    events = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    return max((event["step"] for event in events if event.get("event") == "train"), default=0)


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    main()
