"""A folder that is to be written must be new, or empty: nothing is ever written over."""

from pathlib import Path

from seqloom.errors import UsageError


def check_new(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out}: is there already and not empty; name a new folder")
