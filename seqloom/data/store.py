"""The token store: the ids of all pairs in memory-mapped files, so that ten million pairs open at once.

store/manifest.json                    origin, data_hash, sizes, the account of what was left out
store/excluded.tsv                     each line that is not used: file, line, reason
store/train/  store/valid/             one part each:
    source.ids  target.ids             every token, one after the other (uint16, or uint32 for a large vocabulary)
    source.00001.ids ...               the tokens of further shards: one part's pairs may be in several
    source.starts  source.lengths      where each pair's tokens begin (int64) and how many they are (int32)
    lines  corpora                     where each pair came from: line (uint32) of which corpus (uint16)
    texts.jsonl                        the texts of the pairs (valid only)
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from seqloom.data.account import Account
from seqloom.data.origin import FORMAT
from seqloom.data.table_readers import Pair
from seqloom.errors import DataError
from seqloom.files import reading
from seqloom.text.vocabulary import EOS

__all__ = ["Account", "Store", "read_manifest"]

MANIFEST = "manifest.json"
EXCLUDED = "excluded.tsv"
COLUMNS = {
    "source.starts": np.int64, "source.lengths": np.int32,
    "target.starts": np.int64, "target.lengths": np.int32,
    "lines": np.uint32, "corpora": np.uint16,
}  # fmt: skip
SIDES = ("source", "target")
ID_TYPES = ("uint16", "uint32")
AT_ONCE = 2**16  # pairs that are counted at once: their ids are in memory then
TEXTS = "texts.jsonl"


class Store:
    """One part of a store, opened for reading: pair i is source ids, target ids, and where they came from."""

    def __init__(self, folder: Path, part: str, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.part = part
        self.data_hash: str = manifest["data_hash"]
        self.held_out: bool = manifest["held_out"]  # the validation part was taken from the training data
        self.names: list[str] = [name for name, _ in manifest["corpora"][part]]
        self.weights: list[float] = [weight for _, weight in manifest["corpora"][part]]
        self.line_end: int = manifest.get("line_end", EOS)  # what follows each line of running text
        self.account = msgspec.convert(manifest["accounts"][part], Account)
        columns = {name: self._map(name, kind) for name, kind in COLUMNS.items()}
        self.source_lengths, self.target_lengths = (columns[f"{side}.lengths"] for side in SIDES)
        self.lines, self.corpora = columns["lines"], columns["corpora"]
        self._starts = {side: columns[f"{side}.starts"] for side in SIDES}
        if manifest["dtype"] not in ID_TYPES:
            raise ValueError(f"ids of type {manifest['dtype']!r}")
        shards = range(manifest.get("shards", {}).get(part, 1))  # a store of an older version is one shard
        dtype = np.dtype(manifest["dtype"])
        self._ids = {side: ShardedIds([self._map(ids_name(side, n), dtype) for n in shards]) for side in SIDES}
        if len({len(column) for column in columns.values()}) != 1:
            raise ValueError("its columns differ in length")

    @classmethod
    def open(cls, folder: Path, part: str = "train") -> "Store":
        """Open one part; a DataError when the folder holds no whole store."""
        manifest = read_manifest(folder)
        try:
            return cls(folder, part, manifest)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise not_whole(folder, error) from None

    def __len__(self) -> int:
        return len(self.lines)

    def _map(self, name: str, kind: Any) -> NDArray[Any]:
        return map_file(self.folder / self.part / name, kind)

    def columns_of(self, side: str) -> tuple[NDArray[Any], NDArray[Any], "ShardedIds"]:
        """Return where each pair's tokens on one side begin, how many they are, and all tokens of that side."""
        return self._starts[side], self.source_lengths if side == "source" else self.target_lengths, self._ids[side]

    def take(self, side: str, indices: NDArray[np.integer]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the ids of these pairs on one side, one after the other, and the length of each."""
        lengths = (self.source_lengths if side == "source" else self.target_lengths)[indices].astype(np.int64)
        return self._ids[side].take(self._starts[side][indices], lengths), lengths

    def count_targets(self, vocab_size: int) -> NDArray[np.int64]:
        """Count how often each token is a target, the end of each text included; plain text is its own target."""
        side = "target" if len(self._ids["target"]) else "source"
        found = np.zeros(vocab_size, np.int64)
        found[self.line_end] = len(self)
        for start in range(0, len(self), AT_ONCE):  # by pairs: the files hold those that are held out, too
            some = np.arange(start, min(start + AT_ONCE, len(self)))
            found += np.bincount(self.take(side, some)[0], minlength=vocab_size)
        return found

    def pair_ids(self, index: int) -> tuple[list[int], list[int]]:
        """Return the ids of one pair, source and target."""
        one = np.array([index])
        return self.take("source", one)[0].tolist(), self.take("target", one)[0].tolist()

    def where(self, index: int) -> str:
        """Return `file:line` of a pair, for messages."""
        return f"{self.names[self.corpora[index]]}:{self.lines[index]}"

    @cached_property
    def texts(self) -> list[Pair]:
        """The texts of a valid part, in the order of its pairs."""
        file = self.folder / self.part / TEXTS
        try:
            lines = reading.read_file(file, reading.TEXTS).splitlines()
            return [msgspec.json.decode(line, type=Pair) for line in lines]
        except (OSError, ValueError, RecursionError) as error:
            raise not_whole(self.folder, f"{TEXTS}: {error}") from None


class ShardedIds:
    """The tokens of all shards, numbered through; a text lies within one shard."""

    def __init__(self, shards: Sequence[NDArray[Any]]) -> None:
        self.shards = shards
        self.ends = np.cumsum([len(shard) for shard in shards])
        self.dtype = shards[0].dtype

    def __len__(self) -> int:
        return int(self.ends[-1])

    def shard_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the shard that each token is in."""
        return np.searchsorted(self.ends, places, side="right")

    def take(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[Any]:
        """Return the tokens of texts that begin at these places, one after the other."""
        before = np.cumsum(lengths) - lengths  # tokens of the texts before, in the result
        places = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
        if len(self.shards) == 1:
            return self.shards[0][places]
        numbers = np.repeat(self.shard_of(starts), lengths)
        found = np.empty(len(places), self.dtype)
        for number in np.unique(numbers):
            here, shard = numbers == number, self.shards[number]
            found[here] = shard[places[here] - (self.ends[number] - len(shard))]
        return found


def ids_name(side: str, shard: int) -> str:
    """Return the name of the file with the tokens of one shard."""
    return f"{side}.{shard:05}.ids" if shard else f"{side}.ids"


def map_file(file: Path, kind: Any) -> NDArray[Any]:
    """Map the numbers of a file; an empty file (the targets of plain text) cannot be mapped: an empty array."""
    reading.check_regular(file)
    return np.memmap(file, kind, "r") if file.stat().st_size else np.empty(0, kind)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a whole store; a DataError when something is missing, cut short or of another version."""
    try:
        manifest: dict[str, Any] = reading.read_json(folder / MANIFEST, reading.STATE)
        if manifest["origin"]["format"] != FORMAT:
            raise DataError(f"{folder}: a store of format {manifest['origin']['format']}; this version reads {FORMAT}")
        wrong = [name for name, size in manifest["sizes"].items() if (folder / name).stat().st_size != size]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise not_whole(folder, error) from None
    if wrong:
        raise DataError(
            f"{folder}: damaged, {', '.join(wrong)} have the wrong size; delete the folder to build it again"
        )
    return manifest


def not_whole(folder: Path, why: object) -> DataError:
    return DataError(f"{folder}: not a whole token store ({why}); delete the folder to build it again")
