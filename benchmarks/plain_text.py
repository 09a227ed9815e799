"""Write English plain text for pre-training: one side of the corpora here, one text per line, without duplicates.

    SEQLOOM_DATA=DIR python benchmarks/plain_text.py --out runs/text

Writes tatoeba.txt (everyday sentences), dialogue.txt (turns of task dialogues) and europarl.txt (the first 60,000
sentences of parliament speech). benchmarks/tagging.py and benchmarks/sentiment.py take these files as --text.
"""

import argparse
import gzip
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

FIRST_OF_EUROPARL = 60_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the texts")
    out = parser.parse_args().out
    data = Path(os.environ["SEQLOOM_DATA"])
    out.mkdir(parents=True, exist_ok=True)
    write(out / "tatoeba.txt", cells(data / "tatoeba-en-fr" / "train.tsv.gz", 1))
    write(out / "dialogue.txt", cells(data / "dialogue-sgd" / "train.tsv.gz", 2))
    write(out / "europarl.txt", cells(data / "europarl-en-fr" / "train.en.gz", 1), FIRST_OF_EUROPARL)


def cells(file: Path, columns: int) -> Iterable[str]:
    """Yield the first columns of each line, one after the other."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from line.rstrip("\n").split("\t")[:columns]


def write(file: Path, texts: Iterable[str], most: int | None = None) -> None:
    different = dict.fromkeys(text.strip() for text in texts if text.strip())
    file.write_text("".join(f"{text}\n" for text in islice(different, most)), "utf-8")


if __name__ == "__main__":
    main()
