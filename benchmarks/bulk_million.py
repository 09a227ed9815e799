"""A million sentences through `translate --workers` (and a local Ray cluster) while workers are killed at random.

    python benchmarks/bulk_million.py runs/x sources.txt                       # repeats the file to 1,000,000 lines
    python benchmarks/bulk_million.py runs/x sources.txt --lines 5000 --kills 3
    python benchmarks/bulk_million.py en-fr sources.txt --beam 1 --ray          # two nodes; needs ray (extra scale)

Three runs: the plain command with as many threads as workers, `--workers` undisturbed, and with workers killed by
SIGKILL at random moments; with --ray a fourth, by two Ray nodes on this machine whose workers are killed. It compares
the bytes of all outputs, so nothing is lost, doubled or moved, and prints the overhead of the second run against the
first: in seconds, and in processor seconds of all processes, which other programs on the machine change less.
"""

import argparse
import gzip
import hashlib
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder, or the name of a bundled model")
    parser.add_argument("sources", type=Path, help="a text file, plain or .gz")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pause", type=float, default=5.0, help="mean seconds between two kills")
    parser.add_argument("--beam", type=int, help="default: the model's own")
    parser.add_argument("--ray", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        big = repeat(options.sources, folder / "big.txt", options.lines)
        command = [sys.executable, "-m", "seqloom", "translate", options.model, str(big)]
        command += ["--beam", str(options.beam)] if options.beam else []
        plain = timed([*command, "--threads", str(options.workers)], folder / "plain.txt")
        calm = timed([*command, "-o", str(folder / "calm.txt"), "--workers", str(options.workers)])
        crews = {"killed": ["--workers", str(options.workers)]}
        crews |= {"killed on ray": ["--ray", start_cluster()]} if options.ray else {}
        killed = {
            name: kill_at_random([*command, "-o", str(folder / f"{name}.txt"), *crew], options.kills, options.pause)
            for name, crew in crews.items()
        }
        digests = {hash_of(folder / f"{name}.txt") for name in ("plain", "calm", *killed)}
        found = {
            "lines": options.lines, "workers": options.workers, "plain": plain, "calm": calm, **killed,
            "overhead_seconds": round(calm["seconds"] / plain["seconds"] - 1, 3),
            "overhead_processor_seconds": round(calm["processor"] / plain["processor"] - 1, 3),
            "equal_bytes": len(digests) == 1, "sha256": sorted(digests),
        }  # fmt: skip
        print(json.dumps(found, indent=1))
        sys.exit(0 if len(digests) == 1 else 1)


def repeat(sources: Path, big: Path, lines: int) -> Path:
    content = sources.read_bytes()
    texts = (gzip.decompress(content) if sources.suffix == ".gz" else content).decode("utf-8").splitlines()
    with big.open("w", encoding="utf-8") as out:
        out.writelines(f"{text}\n" for text in itertools.islice(itertools.cycle(texts), lines))
    return big


def timed(words: list[str], out: Path | None = None) -> dict[str, float]:
    """Run a command; its seconds, and the processor seconds of it and its workers."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with (out or Path(os.devnull)).open("wb") as stdout:
        subprocess.run(words, check=True, stdout=stdout, stderr=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(time.perf_counter() - began, 2), "processor": round(processor, 2)}


def kill_at_random(words: list[str], kills: int, pause: float) -> dict[str, Any]:
    """Run a command and kill its workers; if it gives up on a chunk, the same command continues."""
    draw, killed, calls = random.Random(1), 0, 0
    began = time.perf_counter()
    while True:
        calls += 1
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as run:
            said: list[str] = []
            threading.Thread(target=lambda run=run, said=said: said.extend(run.stderr or ()), daemon=True).start()
            while run.poll() is None:
                time.sleep(draw.uniform(0, 2 * pause) if killed < kills else 0.2)
                if killed < kills and (workers := workers_of(run.pid)):
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    killed += 1
        if run.returncode == 0:
            return {"seconds": round(time.perf_counter() - began, 2), "kills": killed, "calls": calls}
        if calls > kills:
            sys.exit("".join(said))


def workers_of(parent: int) -> list[int]:
    """The worker processes of a command, and the workers of Ray on this machine."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            above = int((entry / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if words.startswith(b"ray::attempt") or (above == parent and b"spawn_main" in words):
            found.append(int(entry.name))
    return found


def start_cluster() -> str:
    """Start two Ray nodes on this machine, which end with this process; the address of the first."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    return str(cluster.address)


def hash_of(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


if __name__ == "__main__":
    main()
