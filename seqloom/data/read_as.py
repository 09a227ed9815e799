"""How the user wants files to be read: the options --columns, --delimiter and --encoding, declared once.

What is left out is found by the content of the files (recognise.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from seqloom.errors import UsageError

Columns = tuple[str, ...]
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}


@dataclass(frozen=True, slots=True)
class ReadAs:
    """What the user says about the files."""

    columns: str | None = field(
        default=None,
        metadata={
            "help": "columns of source and target: numbers from 1, header names, JSON field names, or languages of a "
            "TMX or XLIFF file; columns after these two are more references"
        },
    )
    delimiter: str | None = field(
        default=None,
        metadata={"help": "what separates columns: tab, comma, semicolon, pipe or a character [default: detected]"},
    )
    encoding: str | None = field(
        default=None, metadata={"help": "encoding of the files, e.g. windows-1252 [default: UTF-8, or detected]"}
    )

    @classmethod
    def of(
        cls,
        columns: "str | Sequence[str] | ReadAs | None",
        delimiter: str | None = None,
        encoding: str | None = None,
    ) -> "ReadAs":
        """Make a wish of its parts; a whole one stays."""
        if isinstance(columns, ReadAs):
            return columns
        joined = columns if columns is None or isinstance(columns, str) else ",".join(columns)
        return cls(joined, delimiter, encoding)

    def options(self) -> list[str]:
        """Return the same as options of a command line."""
        given = {"--columns": self.columns, "--delimiter": self.delimiter, "--encoding": self.encoding}
        return [word for name, value in given.items() if value for word in (name, value)]

    def chosen_columns(self) -> Columns:
        """Return the names or numbers of the columns; a UsageError for fewer than two, or one twice."""
        names = self.columns.split(",") if self.columns is not None else []
        chosen = tuple(name.strip() for name in names)
        if chosen and (len(chosen) < 2 or len(set(chosen)) < len(chosen) or not all(chosen) or "0" in chosen):
            raise UsageError(
                f"--columns {','.join(chosen)}: want two or more, numbers from 1 or names: 1,2 or source,target"
            )
        return chosen

    def chosen_delimiter(self) -> str:
        """Return the characters between the columns; empty if the user leaves them open."""
        if self.delimiter is None:
            return ""
        found = DELIMITERS.get(self.delimiter.strip().lower(), self.delimiter)
        if not found or any(sign in found for sign in '"\n\r') or found.isalnum():
            names = ", ".join(name for name in DELIMITERS if name.isalpha())
            raise UsageError(
                f"--delimiter {self.delimiter!r}: want {names} or the characters between the columns, e.g. ';'"
            )
        return found


AS_FOUND = ReadAs()
