"""Ten million pairs: how long the token store takes to build, and how soon a fresh process has its first batch.

python benchmarks/store_scale.py                    # 10 million pairs, a few gigabytes in the temporary folder
python benchmarks/store_scale.py --pairs 1000000
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
BATCH_TOKENS = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)  # the fresh process: measure and print JSON
    arguments = parser.parse_args()
    if arguments.open:
        print(json.dumps(measure_first_batch(arguments.open)))
        return
    with tempfile.TemporaryDirectory() as folder:
        report = build(Path(folder), arguments.pairs)
        began = time.perf_counter()
        child = subprocess.run(
            [sys.executable, __file__, "--open", Path(folder) / "store"], stdout=subprocess.PIPE, check=True
        )
        report |= json.loads(child.stdout) | {"process_seconds": round(time.perf_counter() - began, 2)}
    print(json.dumps(report, indent=1))


def build(folder: Path, number: int) -> dict[str, float]:
    """Digits to words: 1 to 9 of them, so that sources repeat and lengths vary."""
    from seqloom.config import DataConfig
    from seqloom.data.corpus import CorpusSpec, usable_pairs
    from seqloom.data.prepare import prepare
    from seqloom.text.learn import learn_tokenizer
    from seqloom.text.sides import Tokenizers

    write_pairs(folder / "pairs.tsv", number)
    spec, config = CorpusSpec.parse(str(folder / "pairs.tsv")), DataConfig()
    some = islice(usable_pairs(spec, config), 100_000)
    tokenizer = learn_tokenizer("bpe", (text for pair in some for text in (pair.source, pair.targets[0])), 500)
    began = time.perf_counter()
    train, valid = prepare(folder / "store", [spec], Tokenizers(tokenizer, tokenizer), config, seed=1)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    prepare(folder / "store", [spec], Tokenizers(tokenizer, tokenizer), config, seed=1)
    return {
        "train_pairs": len(train),
        "valid_pairs": len(valid),
        "tokens": int(train.source_lengths.sum() + train.target_lengths.sum()),
        "store_megabytes": round(sum(file.stat().st_size for file in (folder / "store").rglob("*")) / 1e6),
        "build_seconds": round(seconds, 1),
        "build_pairs_a_second": round(number / seconds),
        "build_peak_megabytes": peak_megabytes(),
        "reopen_seconds": round(time.perf_counter() - began, 3),
    }


def write_pairs(file: Path, number: int) -> None:
    with file.open("w", encoding="utf-8") as out:
        for pair in islice(pairs(), number):
            out.write(pair)


def pairs() -> Iterator[str]:
    draw = random.Random(1)
    while True:
        digits = str(draw.randrange(10 ** draw.randint(1, 9)))
        yield f"{' '.join(digits)}\t{' '.join(WORDS[int(digit)] for digit in digits)}\n"


def measure_first_batch(folder: Path) -> dict[str, float]:
    """From an empty process to the first batch on tensors: imports, opening, the plan of the epoch, one collate."""
    began = time.perf_counter()
    from seqloom.data.batch import collate
    from seqloom.data.sampler import Sampler, padding_share
    from seqloom.data.store import Store

    imported = time.perf_counter()
    before = peak_megabytes()
    store = Store.open(folder)
    lengths = (store.source_lengths, store.target_lengths)
    sampler = Sampler(*lengths, BATCH_TOKENS, seed=1)
    opened = time.perf_counter()
    plan = sampler.epoch(0)
    planned = time.perf_counter()
    batch = collate(store, plan[0])
    ready = time.perf_counter()
    peak = peak_megabytes()
    return {
        "import_seconds": round(imported - began, 2),
        "open_seconds": round(opened - imported, 3),
        "plan_seconds": round(planned - opened, 2),
        "collate_seconds": round(ready - planned, 4),
        "first_batch_seconds": round(ready - began, 2),
        "first_batch_rows": len(batch),
        "batches": len(plan),
        "imports_megabytes": before,
        "peak_megabytes": peak,
        "padding_share": round(padding_share(plan, *lengths), 4),
    }


def peak_megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000


if __name__ == "__main__":
    main()
