"""What each output shall begin with: one text for all, or the lines of a file beside the lines of the input."""

from itertools import islice
from pathlib import Path

from seqloom.errors import DataError, UsageError


class PrefixLines:
    """`take(n)` gives the prefixes of the next n input lines; `end()` is told that there are no more."""

    def __init__(self, text: str | None, file: Path | None) -> None:
        from seqloom.data.lines import check_file, whole_lines

        if text is not None and file is not None:
            raise UsageError("--prefix and --prefix-file: give one of them")
        if text is not None and not text.strip():
            raise UsageError("--prefix: empty; give a text that every output shall begin with")
        if file is not None:
            check_file(file)
        self.text, self.file = text, file
        self.lines = whole_lines(file) if file is not None else None
        self.taken = 0

    def check_number(self, file: Path) -> None:
        """As many prefixes as the file has lines, or an error."""
        from seqloom.data.lines import read_lines

        assert self.file is not None
        wanted, got = (sum(1 for _ in read_lines(one)) for one in (file, self.file))
        if wanted != got:
            raise DataError(
                f"{self.file}: {got:,} lines, but {file} has {wanted:,}: want one prefix for each line, "
                "empty where an output is free."
            )

    def take(self, number: int) -> str | list[str] | None:
        if self.lines is None:
            return self.text
        found = list(islice(self.lines, number))
        self.taken += len(found)
        if len(found) < number:
            raise DataError(
                f"{self.file}: {self.taken:,} lines, but the input has more: want one prefix for each line, "
                "empty where an output is free."
            )
        return found

    def end(self) -> None:
        if self.lines is not None and next(self.lines, None) is not None:
            raise DataError(f"{self.file}: more lines than the {self.taken:,} of the input. Is it the right file?")
