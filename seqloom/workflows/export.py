"""seqloom export: write a model in another format, or as the fast engine inside its own folder."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seqloom.data.corpus import CorpusSpec
from seqloom.data.given import as_file
from seqloom.errors import ModelError, UsageError, did_you_mean
from seqloom.evaluation.records import read_items
from seqloom.files.folders import check_new, copy_files, linked_twin, new_folder
from seqloom.formats.check_engine import EngineOptions, Tell
from seqloom.formats.registry import FORMATS, Format
from seqloom.metrics.testset import Item
from seqloom.runtime.checkpoints import FOLDER as CHECKPOINTS
from seqloom.runtime.engine_folder import FOLDER, MANIFEST
from seqloom.runtime.folder import RunFolder, check_hash, open_run


def export(
    folder: Path,
    format: str,
    out: Path | None = None,
    *,
    int8: bool = False,
    data: Any = None,
    shortlist: int = 0,
    tell: Tell,
) -> Path:
    """Write the model of `folder` into `out`, or as its engine/ without one; return the folder that was written."""
    if format not in FORMATS:
        raise UsageError(f"--format {format}: want {', '.join(FORMATS)}.{did_you_mean(format, FORMATS)}")
    given = [name for name, value in (("int8", int8), ("data", data is not None), ("shortlist", shortlist)) if value]
    refuse_options(format, given)
    if shortlist < 0:
        raise UsageError(f"--shortlist {shortlist}: want 0 (none) or more target tokens for each source token")
    chosen, run = FORMATS[format], open_run(folder)
    check_hash(run)
    if out is None and chosen.make_engine is None:
        raise UsageError(f"--format {format}: name the folder to write with --out")
    if out is not None:
        check_new(out)
        chosen.check(run)
    options = EngineOptions(int8, read_pairs(run, data, tell) if data is not None else None, shortlist)
    if out is None or given:
        return write_engine(chosen, run, options, out, tell)
    with new_folder(out) as new:
        chosen.write(run, new)
    return out


def write_engine(chosen: Format, run: RunFolder, options: EngineOptions, out: Path | None, tell: Tell) -> Path:
    """Make the engine of a run inside its folder, or in `out` with the tokenizer; `tell` reports the change in BLEU.

    For `out` it is made and measured in a temporary twin of the run folder, which keeps the engine that it has.
    """
    assert chosen.make_engine is not None
    if out is None:
        return chosen.make_engine(run, options, tell)
    with linked_twin(run.path, without=(FOLDER, CHECKPOINTS)) as twin:
        try:
            engine = chosen.make_engine(replace(run, path=twin), options, tell)
        except (UsageError, ModelError) as error:  # the same words about the folder that the user knows
            raise type(error)(str(error).replace(str(twin), str(run.path))) from None
        with new_folder(out) as new:
            copy_files(engine, new, without=MANIFEST)
            run.tokenizers.save(new)
    return out


def refuse_options(format: str, given: Sequence[str]) -> None:
    """Refuse options that this format does not take."""
    engines = {name: row for name, row in FORMATS.items() if row.make_engine}
    named = "--int8, --data and --shortlist"
    if given and format not in engines:
        raise UsageError(f"{named} are for engines ({', '.join(engines)}), not for {format}")
    for option in given:
        if option not in FORMATS[format].options:
            takers = " or ".join(name for name, row in engines.items() if option in row.options)
            raise UsageError(f"--{option} is for --format {takers}, not for {format}")


def read_pairs(run: RunFolder, data: Any, tell: Tell) -> list[Item]:
    """Read the pairs on which the change of BLEU is measured: a file, or Python's objects."""
    with as_file(data, None, "pairs") as (file, read_as):
        return read_items(CorpusSpec.parse(file, read_as), run.config.data, False, tell)[0]
