"""Join finished shards to a token store: their tokens stay as they are, their columns become one index.

Without a validation file, the pairs that are held out leave the index of the training part and become the other part.
"""

import dataclasses
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from seqloom.data.account import Account
from seqloom.data.corpus import CorpusSpec, Pair
from seqloom.data.encoder import PairEncoder
from seqloom.data.hold_out import none_to_hold_out
from seqloom.data.label_checks import show_labels
from seqloom.data.origin import data_hash
from seqloom.data.shards import FACTS, BuildPlan, Stretch
from seqloom.data.store import COLUMNS, EXCLUDED, MANIFEST, SIDES, TEXTS, ids_name, map_file
from seqloom.data.store_builder import CANDIDATES, as_lines, candidates_of
from seqloom.data.too_long import UNKNOWN, advise, refuse_long
from seqloom.errors import DataError
from seqloom.files import reading
from seqloom.files.durable import hash_file
from seqloom.files.folders import link
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import FIRST_WORD

KEPT = ("lines", "corpora", "source.lengths", "target.lengths")  # columns that are joined as they are


@dataclass(frozen=True)
class Shard:
    """A finished shard, and where its rows begin among those of its part."""

    folder: Path
    stretch: Stretch
    facts: dict[str, Any]
    begin: int

    @property
    def end(self) -> int:
        return self.begin + int(self.facts["rows"])

    @property
    def account(self) -> Account:
        return msgspec.convert(self.facts["account"], Account)

    def column(self, name: str) -> NDArray[Any]:
        return np.fromfile(self.folder / name, COLUMNS[name])

    def moved(self, candidate: Any) -> tuple[int, Pair]:
        """Number a candidate of this shard by its row in the part."""
        row, pair = candidate
        return self.begin + row, msgspec.convert(pair, Pair)

    def own(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the part's rows that are in this shard, numbered from its begin."""
        return rows[(rows >= self.begin) & (rows < self.end)] - self.begin


def join_shards(empty: Path, building: Path, plan: BuildPlan, tokenizers: Tokenizers, allow_loss: bool) -> None:
    """Write the store of these shards: both parts, the list of excluded lines, and the manifest last."""
    parts = {part: open_shards(building, plan, part) for part in ("train", "valid")}
    accounts = {part: add_accounts(plan, part, parts[part], tokenizers, allow_loss) for part in parts if parts[part]}
    held_out = choose_held_out(plan, parts["train"], accounts["train"]) if not plan.valid else []
    rows = np.array([row for row, _ in held_out], np.int64)
    write_part(empty / "train", parts["train"], rows)
    if held_out:
        write_held_out(empty / "valid", parts["train"], held_out, PairEncoder(tokenizers, plan.config, plan.form).dtype)
    else:
        write_part(empty / "valid", parts["valid"], rows)
    with (empty / EXCLUDED).open("wb") as listing:
        listing.write(b"file\tline\treason\n")
        for shard in [*parts["train"], *parts["valid"]]:
            append(shard.folder / EXCLUDED, listing)
    write_manifest(empty, plan, tokenizers, parts, accounts)


def open_shards(building: Path, plan: BuildPlan, part: str) -> list[Shard]:
    shards: list[Shard] = []
    for stretch in plan.stretches:
        if stretch.part == part:
            folder = building / stretch.name
            try:
                facts = reading.read_json(folder / FACTS, reading.STATE)
            except FileNotFoundError:
                raise DataError(
                    f"{folder}: another process has built it, but it cannot be seen here. Put --out on a disk that all "
                    "machines share."
                ) from None
            shards.append(Shard(folder, stretch, facts, shards[-1].end if shards else 0))
    return shards


def add_accounts(
    plan: BuildPlan, part: str, shards: Sequence[Shard], tokenizers: Tokenizers, allow_loss: bool
) -> Account:
    """Add the accounts of the shards; a DataError for a corpus that loses too many lines, or if no pair is left."""
    account, most = Account(), plan.config.max_tokens
    specs = plan.corpora(part)
    for corpus, spec in enumerate(specs):
        own, longest = Account(), 0
        for shard in shards:
            if shard.stretch.corpus == corpus:
                own.add(shard.account)
                longest = max(longest, shard.facts["longest"])
        refuse_long(spec.name, own, most, longest, allow_loss)
        account.add(own)
    if not account.kept:
        longest = max(shard.facts["longest"] for shard in shards)
        lines = [f"{names_of(specs)}: no usable pair.", account.render(), advise(account, most, longest)]
        if UNKNOWN in account.excluded:
            target = tokenizers.target
            known = show_labels(target.decode([index]) for index in range(FIRST_WORD, len(target)))
            lines.append(f"The training data has: {known}. Check the spelling.")
        raise DataError("\n".join(filter(None, lines)))
    return account


def choose_held_out(plan: BuildPlan, shards: Sequence[Shard], account: Account) -> list[tuple[int, Pair]]:
    """Choose the pairs for validation among the candidates of all shards: rows of the training part, in order."""
    candidates = candidates_of(plan)
    for shard in shards:
        plain = msgspec.json.decode(reading.read_file(shard.folder / CANDIDATES, reading.TEXTS))
        candidates.join(plain, shard.moved)
    rows = shards[-1].end
    chosen = candidates.choose(min(plan.config.valid_pairs, max(1, rows // 10)))
    if not chosen or len(chosen) == rows:
        raise DataError(none_to_hold_out(names_of(plan.train), rows, plan.form))
    return sorted(chosen, key=lambda entry: entry[0])


def write_part(folder: Path, shards: Sequence[Shard], without: NDArray[np.int64]) -> None:
    """Write the index of one part without these rows; the tokens of its shards get a second name in its folder."""
    folder.mkdir()
    tokens = dict.fromkeys(SIDES, 0)
    for number, shard in enumerate(shards):
        left_out = shard.own(without)
        for name in KEPT:
            append_numbers(folder / name, np.delete(shard.column(name), left_out))
        for side in SIDES:
            lengths = shard.column(f"{side}.lengths").astype(np.int64)
            starts = tokens[side] + np.cumsum(lengths) - lengths
            append_numbers(folder / f"{side}.starts", np.delete(starts, left_out))
            tokens[side] += int(lengths.sum())
            link(shard.folder / f"{side}.ids", folder / ids_name(side, number))
    if (shards[0].folder / TEXTS).exists():
        with (folder / TEXTS).open("wb") as texts:
            for shard in shards:
                append(shard.folder / TEXTS, texts)


def write_held_out(folder: Path, shards: Sequence[Shard], held_out: Sequence[tuple[int, Pair]], dtype: Any) -> None:
    """Write the pairs that are held out, as a part of their own."""
    folder.mkdir()
    rows = np.array([row for row, _ in held_out], np.int64)
    for shard in shards:
        own = shard.own(rows)
        for name in KEPT:
            append_numbers(folder / name, shard.column(name)[own])
        for side in SIDES:
            lengths, ids = (
                shard.column(f"{side}.lengths").astype(np.int64),
                map_file(shard.folder / f"{side}.ids", dtype),
            )
            begins = np.cumsum(lengths) - lengths
            texts = [ids[begins[row] : begins[row] + lengths[row]] for row in own]
            append_numbers(folder / f"{side}.ids", np.concatenate([np.empty(0, dtype), *texts]))
    for side in SIDES:
        lengths = np.fromfile(folder / f"{side}.lengths", np.int32).astype(np.int64)
        append_numbers(folder / f"{side}.starts", np.cumsum(lengths) - lengths)
    (folder / TEXTS).write_bytes(as_lines(pair for _, pair in held_out))


def write_manifest(
    empty: Path,
    plan: BuildPlan,
    tokenizers: Tokenizers,
    parts: dict[str, list[Shard]],
    accounts: dict[str, Account],
) -> None:
    hashes = {  # of the tokens, which are not read again
        f"{part}/{ids_name(side, number)}": shard.facts["files"][f"{side}.ids"]["sha256"]
        for part, shards in parts.items() for number, shard in enumerate(shards) for side in SIDES
    }  # fmt: skip
    files = sorted(file for file in empty.rglob("*") if file.is_file())
    names = [file.relative_to(empty).as_posix() for file in files]
    manifest = {
        "data_hash": data_hash(plan.origin),
        "held_out": not plan.valid,
        "dtype": PairEncoder(tokenizers, plan.config, plan.form).dtype.name,
        "line_end": tokenizers.source.line_end,
        "shards": {part: max(1, len(shards)) for part, shards in parts.items()},
        "corpora": {part: [(spec.name, spec.weight) for spec in plan.corpora(part) or plan.train] for part in parts},
        "accounts": {part: dataclasses.asdict(accounts.get(part, accounts["train"])) for part in parts},
        "sizes": {name: file.stat().st_size for name, file in zip(names, files, strict=True)},
        "sha256": {name: hashes.get(name) or hash_file(file) for name, file in zip(names, files, strict=True)},
        "origin": plan.origin,
    }
    (empty / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False), "utf-8")


def append(file: Path, to: IO[bytes]) -> None:
    with reading.open_regular(file) as content:
        shutil.copyfileobj(content, to)


def append_numbers(file: Path, numbers: NDArray[Any]) -> None:
    with file.open("ab") as column:
        numbers.tofile(column)


def names_of(specs: Sequence[CorpusSpec]) -> str:
    return ", ".join(spec.name for spec in specs)
