"""The token store built by one process and by several: seconds, processor seconds, and whether the stores are equal.

    python benchmarks/store_builders.py                           # 1 million pairs in 4 files, 1 and 2 processes
    python benchmarks/store_builders.py --pairs 100000 --processes 1 2 3

Only the building is timed: the checks and the learning of the tokenizer come before it, in process 0. Each process has
one thread. "build" is the encoding of the shards, "join" what process 0 does afterwards. Processor seconds are those of
all processes; other work on the machine changes them less than the wall-clock time.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from store_scale import pairs

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec
from seqloom.data.origin import with_hashes
from seqloom.data.prepare import prepare
from seqloom.data.shards import BUILDING, Team
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers

HELP = """
import json, sys
from pathlib import Path
from seqloom.data.prepare import help_to_build
from seqloom.data.shards import Team
from seqloom.text.sides import Tokenizers
folder, number, size = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
plan = json.loads(sys.stdin.read())
help_to_build(folder / "store-building", plan, lambda: Tokenizers.load(folder), Team(number, size))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = "1"  # before the tokenizers start their threads
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        specs = with_hashes([CorpusSpec.parse(str(file)) for file in write_files(folder, options.pairs, options.files)])
        texts = [text for pair in islice(pairs(), 50_000) for text in pair.rstrip("\n").split("\t")]
        both = learn_tokenizer("bpe", texts, 500)
        for size in options.processes:
            print(json.dumps({"pairs": options.pairs, "files": options.files} | measure(folder, specs, both, size)))


def write_files(folder: Path, number: int, files: int) -> Iterator[Path]:
    lines = pairs()
    for file in range(files):
        path = folder / f"part-{file}.tsv"
        with path.open("w", encoding="utf-8") as out:
            out.writelines(islice(lines, number // files))
        yield path


def measure(folder: Path, specs: list[CorpusSpec], both: Any, size: int) -> dict[str, Any]:
    """Build a store with so many processes; the others are started before the clock."""
    place = folder / f"by-{size}"
    place.mkdir()
    tokenizers = Tokenizers(both, both)
    tokenizers.save(place)
    words = [[sys.executable, "-c", HELP, str(place), str(number), str(size)] for number in range(1, size)]
    others = [subprocess.Popen(word, stdin=subprocess.PIPE) for word in words]
    built = []

    def announce(plan: dict[str, Any] | None) -> None:
        for other in others:
            other.stdin.write(json.dumps(plan).encode())
            other.stdin.close()

    def wait() -> None:
        if any(other.wait() for other in others):
            sys.exit("a builder failed")
        built.append(time.perf_counter())

    before, began = processor_seconds(), time.perf_counter()
    prepare(place / "store", specs, tokenizers, DataConfig(), 1, team=Team(0, size, announce, wait))
    ended = time.perf_counter()
    digest = hashlib.sha256()
    for file in sorted(file for file in (place / "store").rglob("*") if file.is_file()):
        digest.update(file.read_bytes())
    return {
        "processes": size,
        "build_seconds": round(built[0] - began, 1),
        "join_seconds": round(ended - built[0], 1),
        "processor_seconds": round(processor_seconds() - before, 1),
        "store_sha256": digest.hexdigest()[:16],
        "left_behind": (place / BUILDING).exists(),
    }


def processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
