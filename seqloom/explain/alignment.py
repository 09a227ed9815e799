"""Attention alignment of one translation as a JSON document: which source pieces each target piece attends to.

    {"version": 1, "kind": "alignment", "source": [S pieces], "target": [T pieces], "weights": [T rows of S numbers]}

alpha_ij = weights[i][j] is the attention of target piece i to source piece j. A row sums to 1, or to less if the model
also attended to special tokens. The heat map of the terminal reads this document; all other views read document.py.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from seqloom.errors import DataError

VERSION = 1
DIGITS = 6  # enough for any view; makes files a third of the size


def alignment_document(
    source: Sequence[str], target: Sequence[str], weights: Iterable[Iterable[float]]
) -> dict[str, Any]:
    """Make and check the document of these pieces and weights; rows may be lists, arrays or tensors."""
    rows = [[round(float(weight), DIGITS) for weight in row] for row in weights]
    document = {"version": VERSION, "kind": "alignment", "source": [*source], "target": [*target], "weights": rows}
    check_alignment(document)
    return document


def check_alignment(document: dict[str, Any]) -> None:
    """Raise DataError unless a view can draw this document."""
    if fault := fault_of(document):
        raise DataError(f"this is not an alignment document of version {VERSION}: {fault}")


def fault_of(document: dict[str, Any]) -> str:
    """What is wrong with the document, in a few words; empty if it is valid."""
    if not isinstance(document, dict):
        return f"want a JSON object, got {type(document).__name__}"
    if document.get("kind") != "alignment" or document.get("version") != VERSION:
        return f"its kind is {document.get('kind')!r}, its version {document.get('version')!r}"
    for side in ("source", "target"):
        if not isinstance(document.get(side), list) or not all(isinstance(piece, str) for piece in document[side]):
            return f"{side!r} must be a list of strings"
    rows, num_rows, num_columns = document.get("weights"), len(document["target"]), len(document["source"])
    if not isinstance(rows, list) or len(rows) != num_rows or any(len(row) != num_columns for row in rows):
        return f"'weights' must have {num_rows} rows (target) of {num_columns} numbers (source)"
    for index, row in enumerate(rows):
        if not all(math.isfinite(weight) and -1e-4 <= weight <= 1 + 1e-4 for weight in row):
            return f"row {index} of 'weights' has a number outside 0 to 1"
    return ""
