"""Encode pairs into the files of a token store, in one pass and in bounded memory.

Labels and tags are ids of the target's vocabulary like words; plain text has an empty target.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, compress
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from seqloom.config import DataConfig
from seqloom.data.account import Account
from seqloom.data.corpus import CorpusSpec, Fault, Pair, checked_rows, row_chunks
from seqloom.data.findings import UNCOUNTED
from seqloom.data.forms import LABELS, ONE_COLUMN
from seqloom.data.hold_out import HoldOut, Tail, none_to_hold_out
from seqloom.data.label_checks import show_labels
from seqloom.data.lines import FileHash
from seqloom.data.origin import data_hash, known_hashes, refuse_changed
from seqloom.data.store import COLUMNS, EXCLUDED, MANIFEST, SIDES, TEXTS, map_file
from seqloom.data.too_long import TOO_LONG, UNKNOWN, advise, cut_long, refuse_long
from seqloom.errors import DataError
from seqloom.files.durable import hash_file
from seqloom.text.labels import as_written
from seqloom.text.sides import Tokenizers
from seqloom.text.tags import tag_pieces
from seqloom.text.vocabulary import FIRST_WORD, UNK

Progress = Callable[[int], None]  # receives the number of records done


class Builder:
    """Writes one store into an empty folder; long lines of plain text are cut, not left out."""

    def __init__(
        self,
        folder: Path,
        tokenizers: Tokenizers,
        config: DataConfig,
        seed: int,
        progress: Progress,
        form: str,
        allow_loss: bool = False,
    ) -> None:
        self.folder, self.tokenizers, self.config, self.progress, self.form = folder, tokenizers, config, progress, form
        self.allow_loss = allow_loss
        hold_out = Tail[tuple[int, Pair]] if form == "stream" else HoldOut[tuple[int, Pair]]
        self.hold_out = hold_out(config.valid_pairs, seed)
        largest = max(len(tokenizers.source), len(tokenizers.target))
        self.dtype = np.dtype(np.uint16 if largest <= 1 << 16 else np.uint32)
        self.done = 0  # records of all parts
        self.rows = 0  # of this part; a line that was cut has several
        self.longest = 0  # tokens of the longest pair that was left out

    def build(self, specs: Sequence[CorpusSpec], valid_specs: Sequence[CorpusSpec], origin: dict[str, Any]) -> None:
        """Write both parts, the list of excluded lines, and the manifest last."""
        with (self.folder / EXCLUDED).open("w", encoding="utf-8", newline="\n") as listing:
            listing.write("file\tline\treason\n")
            known = {part: known_hashes(origin[part]) for part in ("train", "valid")}
            accounts = {"train": self.write_part("train", specs, listing, known["train"], not valid_specs)}
            if valid_specs:
                accounts["valid"] = self.write_part("valid", valid_specs, listing, known["valid"], holding_out=False)
            else:
                accounts["valid"] = accounts["train"]
                self.move_held_out(self.rows, names_of(specs))
        files = sorted(file for file in self.folder.rglob("*") if file.is_file())
        manifest = {
            "data_hash": data_hash(origin),
            "held_out": not valid_specs,
            "dtype": self.dtype.name,
            "line_end": self.tokenizers.source.line_end,
            "corpora": {"train": names_and_weights(specs), "valid": names_and_weights(valid_specs or specs)},
            "accounts": {part: dataclasses.asdict(account) for part, account in accounts.items()},
            "sizes": {file.relative_to(self.folder).as_posix(): file.stat().st_size for file in files},
            "sha256": {file.relative_to(self.folder).as_posix(): hash_file(file) for file in files},
            "origin": origin,
        }
        (self.folder / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False), "utf-8")

    def write_part(
        self, part: str, specs: Sequence[CorpusSpec], listing: IO[str], known: Mapping[str, str], holding_out: bool
    ) -> Account:
        """Encode all pairs of these corpora; excluded lines go into the listing and the account.

        known: the SHA-256 of each file when it was checked; a file that is read otherwise now has changed.
        """
        account = Account()
        self.rows = self.longest = 0
        with ColumnWriter(self.folder / part) as columns:
            for corpus, spec in enumerate(specs):
                own, hashes = Account(), list[FileHash]()
                # in validation, more columns are more right answers
                rows = checked_rows(spec, self.config, references=part == "valid", hashes=hashes)
                for chunk in row_chunks(rows):
                    faults = [row for row in chunk if isinstance(row, Fault)]
                    found = [row for row in chunk if isinstance(row, Pair)]
                    pairs, long_ones = self.write_pairs(found, corpus, columns, own)
                    for fault in sorted(faults + long_ones, key=lambda fault: fault.line):
                        exclude(spec, fault, own, listing)
                    own.keep(len(found) - len(long_ones))
                    self.keep_texts(pairs, columns if part == "valid" else None, holding_out)
                    self.done += len(chunk)
                    self.progress(self.done)
                refuse_changed(hashes, known)
                refuse_long(spec.name, own, self.config.max_tokens, self.longest, self.allow_loss)
                account.add(own)
        if not account.kept:
            raise DataError(self.nothing_left(names_of(specs), account))
        return account

    def nothing_left(self, names: str, account: Account) -> str:
        lines = [f"{names}: no usable pair.", account.render(), advise(account, self.config.max_tokens, self.longest)]
        if UNKNOWN in account.excluded:
            target = self.tokenizers.target
            known = show_labels(target.decode([index]) for index in range(FIRST_WORD, len(target)))
            lines.append(f"The training data has: {known}. Check the spelling.")
        return "\n".join(filter(None, lines))

    def keep_texts(self, pairs: list[Pair], valid: "ColumnWriter | None", holding_out: bool) -> None:
        """Keep the texts that validation shows and scores: all of a validation file, or those that may be held out."""
        if valid:
            valid.write(TEXTS, as_lines(pairs))
        if holding_out:
            for row, pair in enumerate(pairs, self.rows):
                self.hold_out.add(pair.source, (row, pair))
        self.rows += len(pairs)

    def write_pairs(
        self, pairs: list[Pair], corpus: int, columns: "ColumnWriter", account: Account
    ) -> tuple[list[Pair], list[Fault]]:
        """Encode and write these pairs; return those written, and the faults: too many tokens or an unknown label."""
        sides = self.encode([pair.source for pair in pairs], [pair.targets[0] for pair in pairs])
        if self.form == "text":
            most = self.config.max_tokens
            account.cut += sum(len(ids) > most for ids in sides[0])
            pairs, sources = cut_long(pairs, sides[0], self.tokenizers.source, most)
            sides = sources, [[] for _ in sources]
        lengths = np.array([[len(ids) for ids in side] for side in sides], np.int32)
        faults = self.find_faults(pairs, sides[1], lengths.max(axis=0))
        fits = [fault is None for fault in faults]
        pairs = list(compress(pairs, fits))
        for side, rows, length in zip(SIDES, sides, lengths[:, fits], strict=True):
            ids = np.fromiter(chain.from_iterable(compress(rows, fits)), self.dtype, int(length.sum()))
            columns.write(f"{side}.ids", ids)
            columns.write(f"{side}.lengths", length)
        columns.write("lines", np.array([pair.line for pair in pairs], COLUMNS["lines"]))
        columns.write("corpora", np.full(len(pairs), corpus, COLUMNS["corpora"]))
        return pairs, [fault for fault in faults if fault]

    def find_faults(
        self, pairs: list[Pair], targets: list[list[int]], longest: NDArray[np.int32]
    ) -> list[Fault | None]:
        """Find why pairs cannot be used, now that their tokens are known; None for a usable pair."""
        faults: list[Fault | None] = [None] * len(pairs)
        most = self.config.max_tokens
        for row in np.flatnonzero(longest > most).tolist() if self.form != "stream" else ():
            faults[row] = Fault(TOO_LONG, pairs[row].line, f"{longest[row]} tokens, data.max_tokens = {most}")
            self.longest = max(self.longest, int(longest[row]))
        for row, target in enumerate(targets) if self.form in LABELS else ():
            if UNK in target:
                labels = [label for label in pairs[row].target.split() if UNK in self.tokenizers.target.encode(label)]
                named = ", ".join(dict.fromkeys(labels))
                named = as_written(named) if self.form == "labelled" else named  # a tag holds no blank
                faults[row] = Fault(UNKNOWN, pairs[row].line, named)
        return faults

    def encode(self, sources: list[str], targets: list[str]) -> tuple[list[list[int]], list[list[int]]]:
        source, target = self.tokenizers.source, self.tokenizers.target
        if self.form in ONE_COLUMN:
            return source.encode_batch(sources), [[] for _ in targets]
        if self.form == "tagged":
            tags = target.encode_batch([" ".join(text.split()) for text in targets])  # split at Python's blanks
            return source.encode_batch(sources), [*map(tag_pieces, sources, source.spans_batch(sources), tags)]
        if source is target:  # two sentencepiece models may share a vocabulary and still split texts differently
            both = source.encode_batch(sources + targets)
            return both[: len(sources)], both[len(sources) :]
        return source.encode_batch(sources), target.encode_batch(targets)

    def move_held_out(self, kept: int, names: str) -> None:
        """Copy the chosen pairs into the validation part and delete them from the columns of the training part."""
        chosen = self.hold_out.choose(min(self.config.valid_pairs, max(1, kept // 10)))
        if not chosen or len(chosen) == kept:
            raise DataError(none_to_hold_out(names, kept, self.form))
        chosen.sort(key=lambda entry: entry[0])
        rows = np.array([row for row, _ in chosen])
        train = self.folder / "train"
        with ColumnWriter(self.folder / "valid") as valid:
            for side in SIDES:
                starts = np.memmap(train / f"{side}.starts", np.int64, "r")
                lengths = np.memmap(train / f"{side}.lengths", np.int32, "r")
                ids = map_file(train / f"{side}.ids", self.dtype)
                for row in rows:
                    valid.write(f"{side}.ids", ids[starts[row] : starts[row] + lengths[row]])
            for name, kind in COLUMNS.items():
                column = np.fromfile(train / name, kind)
                np.delete(column, rows).tofile(train / name)
                if not name.endswith(".starts"):
                    valid.write(name, column[rows])
            valid.write(TEXTS, as_lines(pair for _, pair in chosen))


class ColumnWriter:
    """Appends to the files of one part; at the end it adds where each pair's tokens start."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.files: dict[str, IO[bytes]] = {}

    def write(self, name: str, content: NDArray[Any] | bytes) -> None:
        if name not in self.files:
            self.files[name] = (self.folder / name).open("wb")
        self.files[name].write(content if isinstance(content, bytes) else content.tobytes())

    def __enter__(self) -> "ColumnWriter":
        return self

    def __exit__(self, fault: type[BaseException] | None, *_: object) -> None:
        for file in self.files.values():
            file.close()
        for side in SIDES if fault is None and self.files else ():
            lengths = np.fromfile(self.folder / f"{side}.lengths", np.int32)
            (np.cumsum(lengths, dtype=np.int64) - lengths).tofile(self.folder / f"{side}.starts")


def exclude(spec: CorpusSpec, fault: Fault, account: Account, listing: IO[str]) -> None:
    if fault.kind == "unequal lines":  # pairs may have shifted: no pair of these files can be trusted
        raise DataError(f"{spec.name}: the two files differ in length from line {fault.line} on: {fault.detail}.")
    if fault.kind not in UNCOUNTED:
        account.exclude(spec.name, fault)
    detail = " ".join(fault.detail.split())  # one line each, whatever the data holds
    listing.write(f"{spec.name}\t{fault.line}\t{fault.kind}: {detail}\n")


def as_lines(pairs: Iterable[Pair]) -> bytes:
    return b"".join(msgspec.json.encode(pair) + b"\n" for pair in pairs)


def names_of(specs: Sequence[CorpusSpec]) -> str:
    return ", ".join(spec.name for spec in specs)


def names_and_weights(specs: Sequence[CorpusSpec]) -> list[tuple[str, float]]:
    return [(spec.name, spec.weight) for spec in specs]
