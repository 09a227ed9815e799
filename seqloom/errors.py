"""The exception tree. Every message says where, what was got, what is allowed and what to do.

The command line turns each class into one exit code and prints the message alone, never a traceback.
"""

import difflib
from collections.abc import Iterable


class SeqloomError(Exception):
    """Something a person can put right. The message is all they see."""

    exit_code = 1


class UsageError(SeqloomError):
    """The call itself is wrong: an option, a missing file, an unwritable folder, a setting."""

    exit_code = 2


class InUse(UsageError):
    """Another process is at work in this folder."""


class DataError(SeqloomError):
    """The data cannot be used; names the file and, where there is one, the line."""

    exit_code = 3


class ModelError(SeqloomError):
    """A folder that should hold a model does not, or what it holds is damaged."""

    exit_code = 4


class TrainingError(SeqloomError):
    """Training gave up: it diverged, or the disk is full. The last good state is kept."""

    exit_code = 5


class Interrupted(SeqloomError):
    """Training was asked to stop and has saved; the same command goes on. 130 after Ctrl-C, 143 after SIGTERM."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def did_you_mean(got: str, allowed: Iterable[str]) -> str:
    """` Did you mean 'x'?` for a near miss, else the empty string: appended to messages about names."""
    allowed = list(allowed)
    begun = [name for name in allowed if len(got) > 2 and name.startswith(got)]
    near = difflib.get_close_matches(got, allowed, n=1, cutoff=0.6) or (begun if len(begun) == 1 else [])
    return f" Did you mean {near[0]!r}?" if near else ""
