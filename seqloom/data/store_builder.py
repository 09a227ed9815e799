"""Build shards of a token store: each in one pass over its records, in bounded memory, whole or not at all.

source.ids  target.ids  source.lengths  target.lengths  lines  corpora     as in the store
texts.jsonl        the texts of the pairs (valid only)
excluded.tsv       each line that is not used: file, line, reason
candidates.json    pairs that may be held out for validation, where there is no validation file
shard.json         the account of its lines, and the SHA-256 of these files
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from seqloom.data.account import Account
from seqloom.data.corpus import CorpusSpec, Fault, Pair, Row, checked_rows, row_chunks
from seqloom.data.encoder import PairEncoder
from seqloom.data.findings import UNCOUNTED
from seqloom.data.hold_out import HoldOut, Tail
from seqloom.data.lines import FileHash, name_of
from seqloom.data.origin import refuse_changed
from seqloom.data.shards import CHUNKS, FACTS, BuildPlan, Stretch
from seqloom.data.store import COLUMNS, EXCLUDED, SIDES, TEXTS
from seqloom.errors import DataError
from seqloom.files.durable import hash_file
from seqloom.files.folders import replaced_folder
from seqloom.text.sides import Tokenizers

Progress = Callable[[int], None]  # receives the number of records done
Candidates = HoldOut[tuple[int, Pair]] | Tail[tuple[int, Pair]]  # rows that may be held out, with their texts
CANDIDATES = "candidates.json"


def build_shards(
    building: Path, plan: BuildPlan, own: Sequence[Stretch], tokenizers: Tokenizers, progress: Progress
) -> None:
    """Build these shards, in the order of the files. Each file is read once, and hashed as it is read."""
    encoder = PairEncoder(tokenizers, plan.config, plan.form)
    done = 0

    def counted(chunks: Iterable[list[Row]]) -> Iterator[list[Row]]:
        nonlocal done
        for chunk in chunks:
            yield chunk
            done += len(chunk)
            progress(done)

    for (part, corpus), group in groupby(own, key=lambda stretch: (stretch.part, stretch.corpus)):
        spec, wanted = plan.corpora(part)[corpus], {stretch.turn: stretch for stretch in group}
        hashes = list[FileHash]()
        # in validation, more columns are more right answers
        rows = checked_rows(spec, plan.config, references=part == "valid", hashes=hashes)
        last = sum((each.part, each.corpus) == (part, corpus) for each in plan.stretches) - 1
        turns = (min(number // CHUNKS, last) for number in count())
        for turn, entries in groupby(zip(turns, row_chunks(rows), strict=False), itemgetter(0)):
            if stretch := wanted.pop(turn, None):
                write_shard(building / stretch.name, stretch, counted(chunk for _, chunk in entries), encoder, plan)
        for stretch in wanted.values():  # of a file without records
            write_shard(building / stretch.name, stretch, iter(()), encoder, plan)
        files = plan.origin[part][corpus]["files"]
        known = {name_of(file.resolve()): found["sha256"] for file, found in zip(spec.files, files, strict=True)}
        refuse_changed(hashes, known)


def write_shard(
    shard: Path, stretch: Stretch, chunks: Iterator[list[Row]], encoder: PairEncoder, plan: BuildPlan
) -> None:
    """Write one shard; lines that cannot be used go into its listing and its account."""
    spec = plan.corpora(stretch.part)[stretch.corpus]
    account, candidates = Account(), candidates_of(plan)
    rows = longest = 0  # a line that was cut has several rows
    with replaced_folder(shard) as empty:
        with ColumnWriter(empty) as columns, (empty / EXCLUDED).open("w", encoding="utf-8", newline="\n") as listing:
            for chunk in chunks:
                found = [row for row in chunk if isinstance(row, Pair)]
                encoded = encoder.encode(found, account)
                columns.write_pairs(encoded.pairs, encoded.sides, encoded.lengths, stretch.corpus, encoder.dtype)
                faults = [row for row in chunk if isinstance(row, Fault)] + encoded.faults
                for fault in sorted(faults, key=lambda fault: fault.line):
                    exclude(spec, fault, account, listing)
                account.keep(len(found) - len(encoded.faults))
                longest = max(longest, encoded.longest)
                if stretch.part == "valid":
                    columns.write(TEXTS, as_lines(encoded.pairs))
                for row, pair in enumerate(encoded.pairs, rows) if not plan.valid else ():
                    candidates.add(pair.source, (row, pair))
                rows += len(encoded.pairs)
        if not plan.valid:
            (empty / CANDIDATES).write_bytes(msgspec.json.encode(candidates.to_plain()))
        files = {
            file.name: {"size": file.stat().st_size, "sha256": hash_file(file)} for file in sorted(empty.iterdir())
        }
        facts = {"account": dataclasses.asdict(account), "longest": longest, "rows": rows, "files": files}
        (empty / FACTS).write_text(json.dumps(facts, indent=1, ensure_ascii=False), "utf-8")


def candidates_of(plan: BuildPlan) -> Candidates:
    return (Tail if plan.form == "stream" else HoldOut)(plan.config.valid_pairs, plan.seed)


class ColumnWriter:
    """Appends to the files of one shard."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, IO[bytes]] = {}

    def write(self, name: str, content: NDArray[Any] | bytes) -> None:
        if name not in self.files:
            self.files[name] = (self.folder / name).open("wb")
        self.files[name].write(content if isinstance(content, bytes) else content.tobytes())

    def write_pairs(
        self, pairs: list[Pair], sides: Sequence[list[list[int]]], lengths: NDArray[np.int32], corpus: int, dtype: Any
    ) -> None:
        for side, rows, length in zip(SIDES, sides, lengths, strict=True):
            self.write(f"{side}.ids", np.fromiter(chain.from_iterable(rows), dtype, int(length.sum())))
            self.write(f"{side}.lengths", length)
        self.write("lines", np.array([pair.line for pair in pairs], COLUMNS["lines"]))
        self.write("corpora", np.full(len(pairs), corpus, COLUMNS["corpora"]))

    def __enter__(self) -> "ColumnWriter":
        self.write_pairs([], ([], []), np.zeros((2, 0), np.int32), 0, np.uint16)  # every file is there, if empty
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files.values():
            file.close()


def exclude(spec: CorpusSpec, fault: Fault, account: Account, listing: IO[str]) -> None:
    if fault.kind == "unequal lines":  # pairs may have shifted: no pair of these files can be trusted
        raise DataError(f"{spec.name}: the two files differ in length from line {fault.line} on: {fault.detail}.")
    if fault.kind not in UNCOUNTED:
        account.exclude(spec.name, fault)
    detail = " ".join(fault.detail.split())  # one line each, whatever the data holds
    listing.write(f"{spec.name}\t{fault.line}\t{fault.kind}: {detail}\n")


def as_lines(pairs: Iterable[Pair]) -> bytes:
    return b"".join(msgspec.json.encode(pair) + b"\n" for pair in pairs)
