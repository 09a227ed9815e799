"""Measure what a second process gains on this machine, and what more of them would gain on a cluster.

    SEQLOOM_DATA=... python benchmarks/distributed.py runs/distributed [--steps 12] [--parts 4] [--rounds 3]
    python benchmarks/distributed.py runs/distributed --from runs/distributed/measured.json --gigabits 25

Trains a 3+3 x 256 Transformer on Multi30k en-de for some updates, in turn with

    1 x 1    one process with one thread
    1 x 2    one process with two threads
    2 x 1    two processes with one thread each, started by torchrun

and prints the tokens per second (median of the rounds), the speed-up, and the share of time in the exchange of
gradients, waiting for the slower process included. 1 x 1 and 2 x 1 must end in the same weights; 1 x 2 rounds
differently.

The table of larger clusters is computed from the measured parts, not measured:

    seconds(W) = ceil(V / W) part + update + (ceil(V / W) + 1) (W - 1) / W  4 P / bandwidth + 2 (W - 1) latency

for V = 32 parts, W processes and P parameters. A run with half the parts separates `part` from `update`. Assumptions:
every process has cores of its own that are as fast as one here; parts take equally long; the exchange does not
overlap with computing; each process sends at the bandwidth at the same time as it receives.
"""

import argparse
import hashlib
import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SETTINGS = (
    *("model.kind=transformer", "model.layers=3", "model.width=256", "model.heads=4", "model.ffn_size=1024"),
    *("text.vocab_size=8000", "train.precision=float32", "train.valid_every=1000000", "train.save_every=1000000"),
    *("train.average=1", "train.batch_tokens=2048", "train.schedule=constant", "data.valid_pairs=20"),
)
ARRANGEMENTS = {"1 x 1": (1, 1), "1 x 2": (1, 2), "2 x 1": (2, 1)}  # name: (processes, threads per process)
WORLDS = (1, 2, 4, 8, 16, 32)
CLUSTER_PARTS = 32  # per update, in the computed table


def train(out: Path, processes: int, threads: int, parts: int, steps: int) -> dict[str, float | str]:
    """Train a short run and return its seconds per update, tokens per second, share of exchange, and weights."""
    data = Path(os.environ["SEQLOOM_DATA"]) / "multi30k"
    shutil.rmtree(out, ignore_errors=True)
    settings = (*SETTINGS, f"train.accumulate={parts}", f"train.max_steps={steps}", "train.log_every=1")
    words = ["train", f"{data / 'train.en.gz'},{data / 'train.de.gz'}"]
    words += ["--out", str(out), "--threads", str(threads), *(w for one in settings for w in ("--set", one))]
    launch = ["-m", "torch.distributed.run", "--nproc_per_node", str(processes)] if processes > 1 else []
    command = [sys.executable, *launch, "-m", "seqloom", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return read_figures(out, steps)


def read_figures(out: Path, steps: int) -> dict[str, float | str]:
    """Read the log; the first third of the updates is left out, because caches are cold."""
    events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    kept = [event for event in events if event["event"] == "train" and event["step"] > steps // 3]
    seconds = [later["seconds"] - event["seconds"] for event, later in itertools.pairwise(kept)]
    exchanged = [event.get("exchange_seconds", 0.0) for event in kept[1:]]
    facts = json.loads((out / "run.json").read_text())
    return {
        "seconds": statistics.median(seconds),
        "tokens_per_second": (kept[-1]["tokens"] - kept[0]["tokens"]) / sum(seconds),
        "exchange": sum(exchanged) / sum(seconds),
        "parameters": facts["params"],
        "weights": hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest(),
    }


def measure(folder: Path, parts: int, steps: int, rounds: int) -> dict[str, Any]:
    """Train every arrangement in turn, as often as there are rounds."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in (*ARRANGEMENTS, "half")}
    arrangements = [(name, *how, parts) for name, how in ARRANGEMENTS.items()] + [("half", 1, 1, parts // 2)]
    for turn in range(1, rounds + 1):
        for name, processes, threads, dealt in arrangements:
            run = train(folder / name.replace(" ", ""), processes, threads, dealt, steps)
            print(f"round {turn} of {rounds}, {name}: {run['seconds']:.2f} s per update", file=sys.stderr, flush=True)
            found[name].append(run)
    names = ("seconds", "tokens_per_second", "exchange")
    medians = {
        name: {key: statistics.median(run[key] for run in runs) for key in names} for name, runs in found.items()
    }
    same = found["1 x 1"][0]["weights"] == found["2 x 1"][0]["weights"]
    return {"parts": parts, "parameters": found["half"][0]["parameters"], "same_weights": same, "runs": medians}


def show(measured: dict[str, Any]) -> None:
    print("| processes x threads | tokens/s | speed-up | share of exchange |\n|---|---|---|---|")
    alone = measured["runs"]["1 x 1"]["tokens_per_second"]
    for name in ARRANGEMENTS:
        run = measured["runs"][name]
        pace = run["tokens_per_second"]
        print(f"| {name} | {pace:,.0f} | {pace / alone:.2f} | {run['exchange']:.1%} |")
    print(f"\n1 x 1 and 2 x 1 end in the same weights: {measured['same_weights']}\n")


def show_clusters(measured: dict[str, Any], gigabits: float, milliseconds: float) -> None:
    """Print the computed table; see the docstring of this file for its assumptions."""
    parts, parameters = measured["parts"], measured["parameters"]
    full, half = (measured["runs"][name]["seconds"] for name in ("1 x 1", "half"))
    part = (full - half) / (parts - parts // 2)
    update = max(0.0, full - parts * part)
    print(f"computed for {CLUSTER_PARTS} parts: {part:.3f} s per part, {update:.3f} s per update, "
          f"{gigabits:g} Gbit/s, {milliseconds:g} ms latency")  # fmt: skip
    print("| processes | seconds per update | speed-up | share of exchange |\n|---|---|---|---|")
    whole = CLUSTER_PARTS * part + update
    for world in WORLDS:
        turns = math.ceil(CLUSTER_PARTS / world)
        sent = (turns + 1) * (world - 1) / world * 4 * parameters / (gigabits * 1e9 / 8) if world > 1 else 0.0
        exchange = sent + 2 * (world - 1) * milliseconds / 1000
        seconds = turns * part + update + exchange
        print(f"| {world} | {seconds:.2f} | {whole / seconds:.2f} | {exchange / seconds:.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gigabits", type=float, default=10.0, help="bandwidth of the network, Gbit/s")
    parser.add_argument("--milliseconds", type=float, default=0.1, help="latency of the network")
    parser.add_argument("--from", dest="earlier", type=Path, help="measured.json of an earlier call")
    options = parser.parse_args()
    if options.earlier:
        measured = json.loads(options.earlier.read_text())
    else:
        measured = measure(options.folder, options.parts, options.steps, options.rounds)
        (options.folder / "measured.json").write_text(json.dumps(measured, indent=1))
    show(measured)
    show_clusters(measured, options.gigabits, options.milliseconds)


if __name__ == "__main__":
    main()
