"""`translate` and `score` of a large file, by several workers: see `seqloom/scale/bulk.py`.

The chunks are the ones that the plain command computes at once, so a bulk command gives the bytes that one process with
as many threads as one worker gives (--threads, by default 1 here).
"""

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from seqloom.data.corpus import CorpusSpec, Fault, ReadAs, Row, checked_rows
from seqloom.data.lines import STDIN, FileHash, read_lines
from seqloom.decode.options import SearchRequest
from seqloom.errors import DataError, UsageError
from seqloom.files.durable import hash_file
from seqloom.runtime.answering import load_answering
from seqloom.runtime.engines import check_request
from seqloom.runtime.folder import open_latest
from seqloom.runtime.members import shared_config, shared_facts
from seqloom.runtime.translator import Translator
from seqloom.scale.bulk import Input, refuse_old, run_bulk
from seqloom.scale.chunk_folder import parts_of
from seqloom.scale.local_workers import LocalWorkers
from seqloom.scale.ray_workers import RayWorkers
from seqloom.scale.work import Answer, Chunk, Job, Workers
from seqloom.workflows.bulk_manifest import ModelFiles, describe_job, models_of, same_models
from seqloom.workflows.given_pairs import CHUNK_PAIRS, refuse_unequal, show_chunk
from seqloom.workflows.score import Scored, Summary, describe
from seqloom.workflows.translate import (
    CHUNK_LINES,
    Capitals,
    PrefixLines,
    check_input,
    chunks_of,
    format_lines,
    naming_the_file,
)

MOST_WORKERS = 1024  # more must be a typo
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Crew:
    """Where the output goes and who works: `number` processes here, or a Ray cluster."""

    out: Path
    number: int | None = None
    ray: str | None = None
    threads: int = 1

    def check(self) -> None:
        if self.number is not None and not 1 <= self.number <= MOST_WORKERS:
            raise UsageError(f"--workers {self.number}: want 1 to {MOST_WORKERS}")
        refuse_old(self.out)

    @property
    def packs(self) -> bool:
        return self.out.suffix == ".gz"

    def hire(self, job: Job) -> Workers:
        return LocalWorkers(job, self.number or 1) if self.ray is None else RayWorkers(job, self.ray, self.number)


def bulk_translate(
    folders: Sequence[Path],
    file: Path,
    request: SearchRequest,
    crew: Crew,
    *,
    prefixes: PrefixLines,
    scores: bool,
    engine: str,
    say: Say,
) -> None:
    """Translate a file into `crew.out`; the same call again continues where it stopped."""
    request.check()
    check_request(engine, crew.threads)
    crew.check()
    check_input(file, folders)
    if STDIN in (file, prefixes.file):
        raise UsageError("-: with --out, the input is read twice; write it to a file and name that")
    if prefixes.file is not None:
        prefixes.check_number(file)
    runs = [open_latest(folder, say) for folder in folders]
    digest, total = measure(file)
    prefix_digest = {prefixes.file: hash_file(prefixes.file)} if prefixes.file else {}
    manifest = describe_job(
        "translate", runs, {"lines": total, "sha256": digest},
        request.given | {"prefix": prefixes.text, "prefix_file": next(iter(prefix_digest.values()), None)}
        | {"scores": scores, "engine": engine, "threads": crew.threads, "gzip": crew.packs},
    )  # fmt: skip
    job = TranslateJob(models_of(runs), request, str(file), prefixes.file, scores, crew.threads, engine, crew.packs)
    capitals = Capitals(shared_facts(runs).get("capitals"), lambda message: say(f"{file}, {message}"))

    def read() -> Iterator[Chunk]:
        first = 1
        for number, lines in enumerate(chunks_of(file)):
            capitals.look(lines, first)
            where = f"lines {first:,} to {first + len(lines) - 1:,}"
            yield Chunk(number, len(lines), where, (first, lines, prefixes.take(len(lines))))
            first += len(lines)
        refuse_changed({file: digest} | prefix_digest, "translated", crew.out)

    given = Input(total, -(-total // CHUNK_LINES), read)
    run_bulk(crew.out, manifest, given, lambda: crew.hire(job), label="translate", say=say)


def refuse_changed(digests: Mapping[Path, str], done: str, out: Path) -> None:
    """Refuse an input that has changed since the command started: its chunks do not fit together."""
    for file, digest in digests.items():
        if not file.is_file() or hash_file(file) != digest:
            raise DataError(
                f"{file}: changed while it was being {done}. Keep it unchanged, delete {parts_of(out)} and start again."
            )


def measure(file: Path) -> tuple[str, int]:
    """The SHA-256 and the number of lines of a file; a DataError for a line that is not UTF-8."""
    hashes: list[FileHash] = []
    total = 0
    for line in read_lines(file, hashes=hashes):
        if isinstance(line, Fault):
            raise DataError(f"{file}, line {line.line}: {line.kind}: {line.detail}. Save the file as UTF-8.")
        total += 1
    return hashes[0].sha256, total


@dataclass(frozen=True)
class TranslateJob:
    """Translates chunks of lines; see `scale.work.Job`."""

    models: tuple[ModelFiles, ...]
    request: SearchRequest
    file: str
    prefix_file: Path | None
    scores: bool
    threads: int
    engine: str
    packs: bool

    def load(self) -> Callable[[Any], Answer]:
        notices: list[str] = []
        model = load_answering(same_models(self.models), self.threads, self.engine, notices.append)

        def answer(content: tuple[int, list[str], str | list[str] | None]) -> Answer:
            first, texts, prefixes = content
            lines = range(first, first + len(texts))
            with naming_the_file(self.prefix_file):
                found = model.answer(
                    texts, self.request, prefixes=prefixes, lines=lines,
                    warn=lambda message: notices.append(f"{self.file}, {message}"),
                )  # fmt: skip
            output = "".join(format_lines(found, first, self.request.shown, self.scores))
            told = tuple(notices)
            notices.clear()
            return Answer(packed(output, self.packs), notices=told)

        return answer


def bulk_score(
    folders: Sequence[Path], pairs: str, crew: Crew, *, per_token: bool, columns: str | ReadAs | None, say: Say
) -> Summary:
    """Score a file of pairs into `crew.out`; the same call again continues where it stopped."""
    check_request("torch", crew.threads)
    crew.check()
    spec = CorpusSpec.parse(pairs, columns)
    if STDIN in spec.files:
        raise UsageError("-: with --out, the input is read twice; write it to a file and name that")
    runs = [open_latest(folder, say) for folder in folders]
    data = shared_config(runs).data
    refuse_unequal(spec, data)
    digests = {file: hash_file(file) for file in spec.files}
    total = sum(1 for _ in checked_rows(spec, data))
    read_as = {name: value for name, value in asdict(ReadAs.of(columns)).items() if value}
    manifest = describe_job(
        "score", runs,
        {"records": total} | {f"sha256 of file {place}": each for place, each in enumerate(digests.values(), 1)},
        read_as | {"per_token": per_token, "threads": crew.threads, "gzip": crew.packs},
    )  # fmt: skip
    job = ScoreJob(models_of(runs), per_token, crew.threads, crew.packs)

    def read() -> Iterator[Chunk]:
        rows, number = checked_rows(spec, data), 0
        while chunk := [*islice(rows, CHUNK_PAIRS)]:
            yield Chunk(number, len(chunk), f"lines {chunk[0].line:,} to {chunk[-1].line:,}", chunk)
            number += 1
        refuse_changed(digests, "scored", crew.out)

    given = Input(total, -(-total // CHUNK_PAIRS), read, unit="pair")
    facts = run_bulk(crew.out, manifest, given, lambda: crew.hire(job), label="score", say=say)
    return sum_up(spec.name, facts)


@dataclass(frozen=True)
class ScoreJob:
    """Scores chunks of pairs; see `scale.work.Job`."""

    models: tuple[ModelFiles, ...]
    per_token: bool
    threads: int
    packs: bool

    def load(self) -> Callable[[Any], Answer]:
        from seqloom.runtime.scoring import score_pairs  # needs torch, which the parent does without

        notices: list[str] = []
        translator = Translator.load_ensemble(
            same_models(self.models), threads=self.threads, engine="torch", notice=notices.append
        )

        def answer(rows: list[Row]) -> Answer:
            scored, faults = [], []
            for line, found in show_chunk(translator, rows, score_pairs):
                if not isinstance(found, Fault):
                    scored.append(describe(translator, line, found, self.per_token))
                    continue
                faults.append((found.kind, found.line, found.detail))
                if found.kind != "header":
                    scored.append(Scored(line))
            known = [each for each in scored if each.num_tokens]
            facts = {
                "kept": len(known),
                "log_prob": sum(each.log_prob for each in known),
                "num_tokens": sum(each.num_tokens for each in known),
                "faults": faults,
            }
            return Answer(packed("".join(f"{each.render()}\n" for each in scored), self.packs), facts, tuple(notices))

        return answer


def sum_up(name: str, facts: Sequence[dict[str, Any]]) -> Summary:
    """The summary of all chunks."""
    summary = Summary()
    for found in facts:
        summary.account.keep(found["kept"])
        summary.log_prob += found["log_prob"]
        summary.num_tokens += found["num_tokens"]
        for kind, line, detail in found["faults"]:
            if kind == "header":
                summary.header = True
            else:
                summary.account.exclude(name, Fault(kind, line, detail))
    if not summary.account.kept:
        raise DataError(f"{name}: no pair could be scored.\n{summary.account.render()}")
    return summary


def packed(output: str, packs: bool) -> bytes:
    """The bytes of a chunk; gzip members can be joined end to end, and without a time they are always the same."""
    content = output.encode(errors="backslashreplace")
    return gzip.compress(content, mtime=0) if packs else content
