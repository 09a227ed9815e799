"""The finished chunks of a bulk command, in a folder beside its output until all of them are there.

out.txt.parts/
  manifest.json    what the chunks were made from: command, model, input, options, versions
  000000.out       output of chunk 0; a chunk is finished when this file exists, as it is renamed into place
  000000.json      its facts, where there are any; written first
  lock             one command at a time
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seqloom.errors import UsageError
from seqloom.files.durable import new_file, replace_file
from seqloom.files.folders import remove_folder
from seqloom.files.reading import SETTINGS, STATE, read_file, read_json
from seqloom.scale.work import Answer

MANIFEST = "manifest.json"
MOST_OUTPUT = 2**31  # bytes per chunk
BLOCK_SIZE = 1 << 20
SHOWN = 40  # characters of a value in a message


def parts_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.parts")


class ChunkFolder:
    """The folder of one output file. Only the parent process writes into it, and only while it holds the lock."""

    def __init__(self, out: Path) -> None:
        self.out, self.path = out, parts_of(out)

    def begin(self, manifest: Mapping[str, Any]) -> set[int]:
        """Write the manifest, or compare it with the one that is there; return the numbers of the finished chunks."""
        file = self.path / MANIFEST
        if not file.exists():
            replace_file(file, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
            return set()
        try:
            before = flat(read_json(file, SETTINGS))
        except (OSError, ValueError) as error:
            raise UsageError(f"{file}: damaged ({error}). Delete {self.path} to start again.") from None
        self.refuse_other(before, flat(manifest))
        return {int(file.stem) for file in self.path.glob("*.out") if file.stem.isdigit()}

    def refuse_other(self, before: dict[str, str], now: dict[str, str]) -> None:
        """Refuse to mix chunks of different commands; the message lists what has changed."""
        changed = [name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]
        if changed:
            rows = [f"  {name}: {shown(before.get(name))} before, {shown(now.get(name))} now" for name in changed]
            raise UsageError(
                f"{self.path}: these chunks belong to another command. What differs:\n" + "\n".join(rows) + "\n"
                f"Repeat the earlier command to continue it, delete {self.path} to start again, or choose another "
                "--out."
            )

    def file(self, number: int, ending: str) -> Path:
        return self.path / f"{number:06d}.{ending}"

    def write(self, number: int, answer: Answer) -> None:
        if answer.facts:
            replace_file(self.file(number, "json"), json.dumps(answer.facts, ensure_ascii=False))
        replace_file(self.file(number, "out"), answer.output)

    def facts(self, total: int) -> Iterator[dict[str, Any]]:
        """Yield the facts of every chunk, in order."""
        for number in range(total):
            file = self.file(number, "json")
            if file.exists():
                yield read_json(file, STATE)

    def join(self, total: int) -> None:
        """Write all chunks in order into the output file, whole or not at all."""
        with new_file(self.out) as joined:
            for number in range(total):
                joined.write(read_file(self.file(number, "out"), MOST_OUTPUT))

    def remove(self) -> None:
        remove_folder(self.path)


def flat(value: Any, name: str = "") -> dict[str, str]:
    """`{"options": {"beam": 5}}` as `{"options.beam": "5"}`, to compare and to show."""
    if not isinstance(value, dict):
        return {name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}
    return {
        key: text
        for part, inner in value.items()
        for key, text in flat(inner, f"{name}.{part}" if name else str(part)).items()
    }


def shown(value: str | None) -> str:
    if value is None:
        return "nothing"
    return value if len(value) <= SHOWN else f"{value[:12]}..."
