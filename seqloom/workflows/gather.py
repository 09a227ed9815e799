"""From what the user named to checked, tokenised pairs; every pair that is not used is accounted for."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from seqloom.config import Config
from seqloom.data.corpus import CorpusSpec, parse_mix, spool_stdin, usable_pairs
from seqloom.data.doctor import compare, examine_alone, examine_held_out
from seqloom.data.forms import LABELS, ONE_COLUMN
from seqloom.data.label_checks import compare_labels
from seqloom.data.lines import STDIN
from seqloom.data.prepare import prepare, wanted_data_hash
from seqloom.data.store import Store
from seqloom.errors import DataError, ModelError, UsageError
from seqloom.runtime.folder import read_facts
from seqloom.runtime.inputs import TURN
from seqloom.text.labels import learn_labels
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import SPECIALS
from seqloom.train.progress import make_progress
from seqloom.workflows.doctor import doctor_command
from seqloom.workflows.resume import check_same_data

Tell = Callable[[str], None]


def gather_corpora(
    pairs: str | Path | Sequence[str | Path],
    mix: Sequence[str],
    columns: str | None,
    folder: Path,
    form: str = "pairs",
) -> list[CorpusSpec]:
    """The corpora: those given plainly with weight 1, those of --mix with theirs; standard input is spooled first."""
    names = [str(pairs)] if isinstance(pairs, (str, Path)) else [str(name) for name in pairs]
    mixed = [parse_mix(name, columns, form) for name in mix]
    refuse_stdin("--mix", mixed)
    if names.count("-") > 1:
        raise UsageError("- is given twice, but standard input can be read only once.")
    started = (folder / "run.json").exists()
    plain = [
        spool_stdin(folder, columns, started, form) if name == "-" else CorpusSpec.parse(name, columns, form=form)
        for name in names
    ]
    refuse_stdin("PAIRS", plain)
    return plain + mixed


def refuse_stdin(where: str, specs: Sequence[CorpusSpec]) -> None:
    """Training reads its data several times; only a plain - is copied to a file for that."""
    for spec in specs:
        if STDIN in spec.files:
            raise UsageError(
                f"{where} {spec.name}: standard input can be read only once, so it can only be the whole of PAIRS: "
                "`seqloom train -`. Write it to a file and name that here."
            )


def gather_data(
    folder: Path,
    specs: Sequence[CorpusSpec],
    valid_specs: Sequence[CorpusSpec],
    config: Config,
    tokenizer: Path | None,
    allow_loss: bool,
    tell: Tell,
    quiet: bool,
) -> tuple[Tokenizers, Store, Store]:
    """(tokenizers, training store, validation store), checked and built, or found as an earlier start left them."""
    refuse_stdin("--valid", valid_specs)
    tell_columns(specs, tell)
    if (folder / "run.json").exists():  # it is there once the data was ready
        tokenizers = Tokenizers.load(tokenizer if tokenizer and specs[0].form not in LABELS else folder)
        refuse_other_data(folder, specs, valid_specs, tokenizers, config)
    else:
        refuse_bad_data(specs, valid_specs[0] if valid_specs else None, config, allow_loss, tell)
        refuse_lone_turns(specs, config)
        tokenizers = find_tokenizers(specs, config, tokenizer, tell, quiet)
        tokenizers.save(folder)
    with make_progress("encoding", unit="pair", quiet=quiet) as progress:
        stores = prepare(
            folder / "store", specs, tokenizers, config.data, config.train.seed, valid_specs, progress.update,
            allow_loss,
        )  # fmt: skip
    tell(f"training: {stores[0].account.render()}")
    if stores[1].held_out:
        tell(f"validation: no --valid given, so {len(stores[1]):,} of these pairs are held out")
    else:
        tell(f"validation: {stores[1].account.render()}")
    return tokenizers, *stores


def refuse_other_data(
    folder: Path,
    specs: Sequence[CorpusSpec],
    valid_specs: Sequence[CorpusSpec],
    tokenizers: Tokenizers,
    config: Config,
) -> None:
    """UsageError when the run in this folder was started with other data."""
    wanted = wanted_data_hash(folder / "store", specs, tokenizers, config.data, config.train.seed, valid_specs)
    check_same_data(folder, saved_data_hash(folder), wanted)


def saved_data_hash(folder: Path) -> str:
    facts = read_facts(folder)
    if "data_hash" not in facts:
        raise ModelError(f"{folder / 'run.json'}: damaged: no data_hash. Copy the whole folder again.")
    return str(facts["data_hash"])


def tell_columns(specs: Sequence[CorpusSpec], tell: Tell) -> None:
    """A model learns one target a source; further ones are for validation, which can count each of them as right."""
    for columns in {spec.columns: None for spec in specs if len(spec.columns) > 2}:
        source, target, *more = columns
        tell(f"--columns: training learns {source} -> {target}; {', '.join(more)} is used in validation only")


def refuse_bad_data(
    specs: Sequence[CorpusSpec], valid: CorpusSpec | None, config: Config, allow_loss: bool, tell: Tell
) -> None:
    """The doctor's look at every file, once: hard faults end the run here, before anything is built."""
    held_out = examine_held_out(config.data, valid, None, allow_loss)
    corpora = [examine_alone(spec, config.data, allow_loss) for spec in specs]
    reports = [*corpora, *held_out.values()]
    if specs[0].form in LABELS:
        compare_labels(corpora, held_out)
    if bad := [report for report in reports if report.hard]:
        names = [spec.name for spec in specs]
        command = doctor_command(names, valid.name if valid else None, specs[0].columns, config.task.name)
        found = "\n".join(report.render() for report in bad)
        raise DataError(f"{found}\n`{command}` shows all; nothing was trained.")
    for report in corpora:
        compare(report, held_out)
    for report in reports:
        if report.findings:
            tell(report.render())


def refuse_lone_turns(specs: Sequence[CorpusSpec], config: Config) -> None:
    """The files of a dialogue do not tell where one begins, so joining its turns is left to who knows that."""
    turns = config.task.turns
    if config.task.name != "dialogue" or turns == 1:
        return
    if not any(TURN in pair.source for spec in specs for pair in usable_pairs(spec, config.data)):
        raise UsageError(
            f"task.turns = {turns}: no source of {', '.join(spec.name for spec in specs)} holds more than one turn. "
            f"Write the turns before into the sources with {TURN!r} between them, or leave task.turns out."
        )


def find_tokenizers(
    specs: Sequence[CorpusSpec], config: Config, tokenizer: Path | None, tell: Tell, quiet: bool
) -> Tokenizers:
    """Learned from the data, or taken from a folder; labels and tags are always those of the data."""
    if specs[0].form not in LABELS:
        return Tokenizers.load(tokenizer) if tokenizer else learn_tokenizers(specs, config, tell, quiet)
    labels = learn_labels(pair.target for spec in specs for pair in usable_pairs(spec, config.data))
    if tokenizer:
        source = Tokenizers.load(tokenizer).source
    else:
        texts = read_sides(specs, config, ("source",), f"learning {config.text.tokenizer} tokens", quiet)
        source = learn_tokenizer(config.text.tokenizer, texts, config.text.vocab_size)
    tell(f"tokenizer: {source.kind}, {len(source):,} tokens; {len(labels) - len(SPECIALS)} different labels")
    return Tokenizers(source, labels)


def learn_tokenizers(specs: Sequence[CorpusSpec], config: Config, tell: Tell, quiet: bool) -> Tokenizers:
    text, told = config.text, "learning {} tokens"
    if text.joint or specs[0].form in ONE_COLUMN:
        texts = read_sides(specs, config, ("source", "target"), told.format(text.tokenizer), quiet)
        both = learn_tokenizer(text.tokenizer, texts, text.vocab_size)
        tell(f"tokenizer: {text.tokenizer}, {len(both):,} tokens for both sides")
        return Tokenizers(both, both)
    texts = read_sides(specs, config, ("source",), told.format(text.tokenizer), quiet)
    source = learn_tokenizer(text.tokenizer, texts, text.vocab_size)
    size, setting = text.vocab_size, "text.vocab_size"
    if text.target_vocab_size:
        size, setting = text.target_vocab_size, "text.target_vocab_size"
    kind = text.tokenizer if text.target_tokenizer == "same" else text.target_tokenizer
    texts = read_sides(specs, config, ("target",), told.format(kind), quiet)
    target = learn_tokenizer(kind, texts, size, setting)
    tell(f"tokenizer: {text.tokenizer}, {len(source):,} tokens; of the target: {kind}, {len(target):,}")
    return Tokenizers(source, target)


def read_sides(
    specs: Sequence[CorpusSpec], config: Config, sides: Sequence[str], told: str, quiet: bool
) -> Iterator[str]:
    """The texts of these sides, pair after pair, with a bar of progress."""
    with make_progress(told, unit="pair", quiet=quiet) as progress:
        for spec in specs:
            for number, pair in enumerate(usable_pairs(spec, config.data)):
                if number % 10_000 == 0:
                    progress.update(number)
                yield from (getattr(pair, side) for side in sides)
