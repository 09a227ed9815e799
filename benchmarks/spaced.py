"""Plain text in the spelling of treebanks, marks apart from words (`do n't stop !`): so that pieces are the same."""

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
    """A spaced copy of each in the folder; one that is there already stays."""
    copies = [folder / f"spaced-{number}.txt" for number in range(1, len(files) + 1)]
    for file, copy in zip(files, copies, strict=True):
        if not copy.exists():
            lines = map(space, file.read_text("utf-8").splitlines())
            copy.write_text("".join(f"{line.lower() if lower else line}\n" for line in lines if line), "utf-8")
    return copies
