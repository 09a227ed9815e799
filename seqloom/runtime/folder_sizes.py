"""How much of the disk each part of a run folder takes, and what is lost when a part is deleted."""

import stat
from dataclasses import dataclass
from pathlib import Path

from seqloom.errors import ModelError
from seqloom.files.reading import Refused, entries_of

NEEDED = ("config.toml", "run.json", "tokenizer", "model.safetensors")  # by `translate`, `evaluate` and `info`
MAY_GO = {  # part -> what is lost with it
    "engine": "then the torch engine answers, slower",
    "checkpoints": "then the run cannot continue",
    "store": "then a run that continues encodes its data again, and `evaluate` cannot count what was seen in training",
    "tensorboard": "then metrics.jsonl alone has the log",
}


@dataclass(frozen=True)
class Sizes:
    """Bytes of each part of a run folder; the parts are the names in `MAY_GO`, `model` and `other`."""

    parts: dict[str, int]

    @property
    def model(self) -> int:
        """What `translate` needs."""
        return self.parts["model"]

    @property
    def total(self) -> int:
        return sum(self.parts.values())


def measure_folder(folder: Path) -> Sizes:
    """Add up the files of a run folder, part by part."""
    parts = dict.fromkeys(("model", *MAY_GO, "other"), 0)
    for entry in folder.iterdir():
        name = "model" if entry.name in NEEDED else entry.name if entry.name in MAY_GO else "other"
        parts[name] += size_of(entry)
    return Sizes(parts)


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; what vanishes meanwhile counts nothing.

    Links are not followed: two of them to their own folder would have no end.
    """
    try:
        inside = [] if path.is_symlink() else [*entries_of(path)]
    except FileNotFoundError:
        inside = []
    except Refused as error:
        raise ModelError(f"{error.filename}: {error}.") from None
    return sum(map(size_of_file, [path, *inside]))


def size_of_file(path: Path) -> int:
    try:
        about = path.lstat()
    except OSError:
        return 0
    return about.st_size if stat.S_ISREG(about.st_mode) else 0
