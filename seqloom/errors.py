"""Exceptions for users. Every message says where the fault is, what was found, what is allowed and what to do.

The command line prints only the message, without a traceback, and exits with the exit code of the class.
"""

import difflib
import re
from collections.abc import Iterable

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # also those of text direction


class SeqloomError(Exception):
    """Base class: an error that the user can fix. The message is all the user sees."""

    exit_code = 1


class UsageError(SeqloomError):
    """The call is wrong: an option, a setting, a missing file, a folder that cannot be written."""

    exit_code = 2


class InUse(UsageError):
    """Another process is using this folder."""


class WriteError(UsageError):
    """A file or folder cannot be written; exit code 5 when only the disk is full, as the call itself is right."""

    def __init__(self, message: str, exit_code: int = UsageError.exit_code) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class DataError(SeqloomError):
    """The data cannot be used; the message names the file and, if possible, the line."""

    exit_code = 3


class ModelError(SeqloomError):
    """A folder that should hold a model does not, or its files are damaged."""

    exit_code = 4


class TrainingError(SeqloomError):
    """Training failed: it diverged, or the disk is full. The last good checkpoint is kept."""

    exit_code = 5


class Interrupted(SeqloomError):
    """Training was stopped and has saved a checkpoint; the same command resumes. 130 = Ctrl-C, 143 = SIGTERM."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def has_controls(text: str) -> bool:
    """Whether a text has control characters, with which a file could move a terminal's cursor or hide words."""
    return bool(CONTROLS.search(text))


def visible(text: str) -> str:
    """The text with its control characters spelled out, for a terminal; line ends and tabs stay."""
    return CONTROLS.sub(lambda found: found[0] if found[0] in "\n\t" else ascii(found[0])[1:-1], text)


def did_you_mean(got: str, allowed: Iterable[str]) -> str:
    """` Did you mean 'x'?` if an allowed name is close, otherwise empty; to be appended to messages about names."""
    allowed = list(allowed)
    begun = [name for name in allowed if len(got) > 2 and name.startswith(got)]
    near = difflib.get_close_matches(got, allowed, n=1, cutoff=0.6) or (begun if len(begun) == 1 else [])
    return f" Did you mean {near[0]!r}?" if near else ""
