"""Count how often the server's language detection is right, by the length of the text.

    python benchmarks/language_detection.py "$SEQLOOM_DATA/tatoeba-en-fr/dev.tsv.gz" en fr
    python benchmarks/language_detection.py "$SEQLOOM_DATA/tatoeba-en-fr/dev.tsv.gz" en fr --among en,de,fr,es,it,pt,nl

Every different text of the first two columns is asked once; `--among`: the served languages.
"""

import argparse
import gzip
import time
from pathlib import Path

from seqloom.serve.detect import detect

LENGTHS = ((1, 15), (15, 30), (30, 10_000))  # characters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("languages", nargs=2)
    parser.add_argument("--among")
    given = parser.parse_args()
    served = given.among.split(",") if given.among else given.languages
    with gzip.open(given.file, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    texts = sorted({(row[side], language) for row in rows for side, language in enumerate(given.languages)})
    started = time.perf_counter()
    detect("load", served)
    print(f"loaded in {time.perf_counter() - started:.1f} s")
    for least, end in LENGTHS:
        own = [(text, language) for text, language in texts if least <= len(text) < end]
        started = time.perf_counter()
        right = sum(detect(text, served)[0].language == language for text, language in own)
        took = (time.perf_counter() - started) / len(own)
        print(f"{least} to {end - 1} characters: {right} of {len(own)} right, {1e6 * took:.0f} us per text")


if __name__ == "__main__":
    main()
