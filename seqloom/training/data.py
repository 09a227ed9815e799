"""The data of a run: from the files that the user named to checked, tokenised pairs.

A file is read at most twice; a run that continues reads it once, to compare its hash. The first pass
(`check_and_learn`) makes the doctor's checks, hashes the bytes, notes the turns of a dialogue and spools the texts that
the tokenizer learns from; the second encodes the pairs into the store (`data.prepare`). Where no recipe is given,
`choose_recipe` reads up to 300,000 pairs before that. Every pair that is not used is accounted for.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seqloom.config import TASKS, Config
from seqloom.data.checks import Chunk
from seqloom.data.corpus import CorpusSpec, parse_mix
from seqloom.data.doctor import Watcher, compare, doctor_command, examine_alone, examine_held_out
from seqloom.data.findings import Report
from seqloom.data.forms import LABELS
from seqloom.data.given import GIVEN, Given, spool_given
from seqloom.data.label_checks import compare_labels
from seqloom.data.lines import STDIN
from seqloom.data.origin import with_hashes
from seqloom.data.prepare import prepare, wanted_data_hash
from seqloom.data.shards import Team
from seqloom.data.spooled import spool_stdin
from seqloom.data.store import Store
from seqloom.data.text_spool import TextSpool
from seqloom.errors import DataError, ModelError, UsageError
from seqloom.progress import Progress, make_progress
from seqloom.runtime.folder import read_facts
from seqloom.runtime.inputs import TURN
from seqloom.text.sides import Tokenizers
from seqloom.training.processes import ALONE, OneProcess
from seqloom.training.request import Settled, Tell, TrainRequest
from seqloom.training.resume import check_same_data
from seqloom.training.tokenizers import find_tokenizers, sides_to_learn

Corpora = Sequence[CorpusSpec]
FEW = {"pairs": 1000, "labelled": 100, "tagged": 100}  # form of the data -> records; with fewer `train` says so


def gather_corpora(request: TrainRequest, form: str) -> list[CorpusSpec]:
    """Find the corpora: PAIRS with weight 1, those of --mix with theirs; standard input is copied to a file first."""
    mixed = [parse_mix(name, request.columns, form) for name in request.mix]
    refuse_stdin("--mix", mixed)
    if request.pairs.count("-") > 1:
        raise UsageError("- is given twice, but standard input can be read only once.")
    plain = [open_pairs(request, name, form, "given") for name in request.pairs]
    refuse_stdin("PAIRS", plain)
    return plain + mixed


def open_pairs(request: TrainRequest, pairs: str | Given, form: str, name: str) -> CorpusSpec:
    """Find one corpus; what can be read only once is copied into the run folder, under this name."""
    if isinstance(pairs, Given):
        return spool_given(request.out, name, pairs, request.columns, request.started, form)
    if pairs == "-":
        return spool_stdin(request.out, request.columns, request.started, form)
    return CorpusSpec.parse(pairs, request.columns, form=form)


def refuse_stdin(where: str, specs: Corpora) -> None:
    """Refuse standard input where it is not copied to a file: training reads its data twice."""
    for spec in specs:
        if STDIN in spec.files:
            raise UsageError(
                f"{where} {spec.name}: standard input can be read only once, so it can only be the whole of PAIRS: "
                "`seqloom train -`. Write it to a file and name that here."
            )


def gather_data(settled: Settled, processes: OneProcess = ALONE) -> tuple[Tokenizers, Store, Store]:
    """Check the data and build (tokenizers, training store, validation store), or open those of an earlier start.

    The other processes build shards of the stores with this one (follow.py).
    """
    request, config = settled.request, settled.config
    specs: Corpora = settled.specs
    valid_specs: Corpora = settled.valid_specs
    refuse_stdin("--valid", valid_specs)
    name_unused_columns(specs, request.tell)
    if request.started:
        own = not settled.tokenizer or specs[0].form in LABELS
        tokenizers = Tokenizers.load(request.out if own else settled.tokenizer or request.out)
        specs, valid_specs = with_hashes(specs), with_hashes(valid_specs)
        refuse_other_data(request.out, specs, valid_specs, tokenizers, config)
    else:
        specs, valid_specs, tokenizers = check_and_learn(settled)
        tokenizers.save(request.out)
    with make_progress("encoding", unit="pair", quiet=request.quiet) as progress:
        stores = prepare(
            request.out / "store", specs, tokenizers, config.data, config.train.seed, valid_specs, progress.update,
            request.allow_loss, request.tell, team_of(processes),
        )  # fmt: skip
    request.tell(f"training: {stores[0].account.render()}")
    if stores[1].held_out:
        request.tell(f"validation: no --valid given, so {len(stores[1]):,} of these pairs are held out")
    else:
        request.tell(f"validation: {stores[1].account.render()}")
    if not request.started:
        tell_how_few(len(stores[0]), config, request.tell)
    return tokenizers, *stores


def team_of(processes: OneProcess) -> Team:
    return Team(processes.world.rank, processes.world.size, processes.from_first, processes.wait)


def tell_how_few(number: int, config: Config, tell: Tell) -> None:
    """Say that little can be expected of few records; a model that begins from another needs less."""
    task = TASKS[config.task.name]
    if task.form in FEW and number < FEW[task.form] and not config.train.init:
        tell(
            f"only {number:,} {task.records} to learn from: expect a model that knows these by heart and little else. "
            f"Thousands are usual; with few, begin from an earlier model (--init)."
        )


def check_and_learn(settled: Settled) -> tuple[Corpora, Corpora, Tokenizers]:
    """Make the one pass over the files before they are encoded; the corpora with their hashes, and the tokenizers."""
    request, config, specs = settled.request, settled.config, settled.specs
    valid = settled.valid_specs[0] if settled.valid_specs else None
    with TextSpool(request.out, sides_to_learn(config, settled.tokenizer)) as spool:
        turns = Turns()
        with make_progress("checking", unit="pair", quiet=request.quiet) as progress:
            watchers = (spool.add, turns.look, Counter(progress).count)
            reports = refuse_bad_data(specs, valid, config, request.allow_loss, request.tell, watchers)
        turns.refuse_lone(specs, config)
        tokenizers = find_tokenizers(spool, config, settled.tokenizer, request.tell, request.quiet)
    read = [
        replace(spec, hashes=report.hashes, chunks=report.chunks)
        for spec, report in zip([*specs, *([valid] if valid else [])], reports, strict=True)
    ]
    return read[: len(specs)], read[len(specs) :], tokenizers


class Counter:
    """Shows how many pairs have been checked."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.done = progress, 0

    def count(self, chunk: Chunk) -> None:
        self.done += len(chunk.lines)
        self.progress.update(self.done)


class Turns:
    """Notes whether a source holds several turns of a dialogue.

    The files do not show where a dialogue begins, so the user joins its turns.
    """

    def __init__(self) -> None:
        self.seen = False

    def look(self, chunk: Chunk) -> None:
        self.seen = self.seen or any(TURN in source for source in chunk.sources)

    def refuse_lone(self, specs: Corpora, config: Config) -> None:
        """Refuse task.turns above 1 when no source holds several turns."""
        joined = TASKS[config.task.name].long_inputs == "latest turns" and config.task.turns != 1
        if joined and not self.seen:
            raise UsageError(
                f"task.turns = {config.task.turns}: no source of {', '.join(spec.name for spec in specs)} holds more "
                f"than one turn. Write the earlier turns into the sources with {TURN!r} between them, or leave "
                "task.turns out."
            )


def refuse_other_data(
    folder: Path, specs: Corpora, valid_specs: Corpora, tokenizers: Tokenizers, config: Config
) -> None:
    """Raise a UsageError when the run in this folder was started with other data."""
    wanted = wanted_data_hash(specs, tokenizers, config.data, config.train.seed, valid_specs)
    check_same_data(folder, saved_data_hash(folder), wanted)


def saved_data_hash(folder: Path) -> str:
    facts = read_facts(folder)
    if facts.data_hash is None:
        raise ModelError(f"{folder / 'run.json'}: damaged: no data_hash. Copy the whole folder again.")
    return facts.data_hash


def name_unused_columns(specs: Corpora, tell: Tell) -> None:
    """Name the columns that training does not use: it learns one target per source, validation accepts any of them."""
    for columns in {spec.columns: None for spec in specs if len(spec.columns) > 2}:
        source, target, *more = columns
        tell(f"--columns: training learns {source} -> {target}; {', '.join(more)} is used in validation only")


def refuse_bad_data(
    specs: Corpora,
    valid: CorpusSpec | None,
    config: Config,
    allow_loss: bool,
    tell: Tell,
    watchers: Sequence[Watcher] = (),
) -> list[Report]:
    """Let the doctor examine every file, once; a DataError for a hard fault, before anything is built.

    watchers: they receive the usable training pairs of this pass. Returns one report per corpus, then that of the
    validation file.
    """
    held_out = examine_held_out(config.data, valid, None, allow_loss)
    corpora = [examine_alone(spec, config.data, allow_loss, watchers=watchers) for spec in specs]
    reports = [*corpora, *held_out.values()]
    if specs[0].form in LABELS:
        compare_labels(corpora, held_out)
    if bad := [report for report in reports if report.hard]:
        names = [spec.name for spec in specs]
        command = doctor_command(names, valid.name if valid else None, specs[0].read_as, config.task.name)
        if GIVEN in names:
            command = "seqloom.doctor(pairs)"
        found = "\n".join(report.render() for report in bad)
        raise DataError(f"{found}\n`{command}` shows all; nothing was trained.")
    for report in corpora:
        compare(report, held_out)
    for report in reports:
        tell(report.render() if report.findings else f"{report.name}: reads {report.reads}")
    return reports
