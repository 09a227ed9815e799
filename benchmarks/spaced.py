"""Write plain text as treebanks do, with spaces around punctuation (`do n't stop !`), so that tokens are the same."""

import re
from collections.abc import Sequence
from pathlib import Path

RULES = [
    (r"([^\w\s'.,-])", r" \1 "),
    (r",(?=\s|$)", " ,"),  # not in 5,000
    (r"\.(?=\s+[A-Z]|\s*$)", " ."),  # not in e.g.
    (r"(?<!\w)'|'(?!\w)", " ' "),
    (r"(?i)(n't|'(?:s|m|d|re|ve|ll))\b", r" \1"),
    (r"\s+", " "),
]


def space(line: str) -> str:
    for pattern, spaced in RULES:
        line = re.sub(pattern, spaced, line)
    return line.strip()


def write_spaced(files: Sequence[Path], folder: Path, lower: bool = False) -> list[Path]:
    """Write a spaced copy of each file into the folder; existing copies stay."""
    copies = [folder / f"spaced-{number}.txt" for number in range(1, len(files) + 1)]
    for file, copy in zip(files, copies, strict=True):
        if not copy.exists():
            lines = map(space, file.read_text("utf-8").splitlines())
            copy.write_text("".join(f"{line.lower() if lower else line}\n" for line in lines if line), "utf-8")
    return copies
