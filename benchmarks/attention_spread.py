"""Measure how focused attention is: the number of source pieces its weights spread over, and the largest weight.

    python benchmarks/attention_spread.py runs/lineage/multi30k/rnnsearch-dot val.en.gz val.de.gz

The spread of one row of weights is exp(entropy): 1 if all weight is on one piece, S if all S pieces have the same
weight. Prints the means over all target pieces of the first 60 pairs, with teacher forcing.
"""

import argparse
from itertools import islice
from pathlib import Path

import numpy as np

import seqloom
from seqloom.data.lines import whole_lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("sources", type=Path)
    parser.add_argument("targets", type=Path)
    parser.add_argument("--pairs", type=int, default=60)
    given = parser.parse_args()
    model = seqloom.load(given.model)
    pairs = islice(zip(whole_lines(given.sources), whole_lines(given.targets), strict=True), given.pairs)
    weights = [model.align(source, target)[2] for source, target in pairs]
    spread = np.concatenate([np.exp(-(w * np.log(w.clip(1e-30))).sum(-1)) for w in weights])
    largest = np.concatenate([w.max(-1) for w in weights])
    print(f"{given.model}: spread over {spread.mean():.1f} pieces, largest weight {largest.mean():.2f}")


if __name__ == "__main__":
    main()
