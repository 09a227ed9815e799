"""Opens a run folder from any source: every file is checked, and the error names the problem in one sentence.

Reading settings, facts and tokenizers needs no torch; only `load_model` does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.config import FAMILIES, Config, build_config, read_toml
from seqloom.errors import ModelError, UsageError, did_you_mean
from seqloom.files.durable import hash_file
from seqloom.files.reading import STATE, Refused, check_inner_folders, read_json
from seqloom.runtime.bundled import NAMES, find_model
from seqloom.runtime.checkpoints import FOLDER as CHECKPOINTS
from seqloom.runtime.checkpoints import list_checkpoints, newest_checkpoint, step_name
from seqloom.runtime.run_facts import FILE, RunFacts, read_document
from seqloom.text.sides import Tokenizers

if TYPE_CHECKING:
    from seqloom.models.api import Seq2Seq

WEIGHTS = "model.safetensors"
GOLDEN = "golden.json"  # a few held-out sources with the model's outputs
MOST_GOLDEN = 100  # training writes five
FREE_NUMBERS = 2**24  # of a table that a model computes: 64 MB
PARTS = ("tokenizer", "engine", "store", CHECKPOINTS)  # folders in it
WHAT_IT_IS = "A model is the folder that `seqloom train --out` wrote."


@dataclass(frozen=True)
class RunFolder:
    """A model folder without its weights, which `load_model` reads."""

    path: Path
    config: Config
    tokenizers: Tokenizers
    facts: RunFacts  # run.json
    checkpoint: Path | None = None  # of a run that was stopped: its weights are in there

    @property
    def weights(self) -> Path:
        return (self.checkpoint or self.path) / WEIGHTS


def open_run(path: Path) -> RunFolder:
    """Open a finished run: its settings, tokenizers and facts. ModelError when anything is missing or damaged."""
    path = find_model(path)
    config = read_config(path)
    facts = read_facts(path)
    check_finished(path, facts)
    return checked(RunFolder(path, config, read_tokenizers(path), facts))


def open_latest(path: Path, notice: Callable[[str], None]) -> RunFolder:
    """Open a finished run, or one that was stopped at its newest good checkpoint; `notice` gets which step that is."""
    path = find_model(path)
    config, facts = read_config(path), read_facts(path)
    if (path / WEIGHTS).is_file() or facts.finished:
        return open_run(path)
    checkpoint = newest_checkpoint(path / CHECKPOINTS, notice)
    if checkpoint is None:
        check_finished(path, facts)
        raise ModelError(f"{path}: {WEIGHTS} is missing. Copy the whole folder again, or train again.")
    notice(
        f"{path}: training has not finished: these are the weights of step {checkpoint.step:,}. The same `seqloom "
        f"train` continues it, `seqloom finish {path}` makes a model from the last checkpoint."
    )
    facts = replace(facts, step=checkpoint.step)
    return checked(RunFolder(path, config, read_tokenizers(path), facts, checkpoint.path))


def checked(run: RunFolder) -> RunFolder:
    """Refuse more positions than the weights make likely: their table is computed and not among the weights."""
    config = run.config
    if FAMILIES[config.model.kind].settings == "transformer" and config.model.positions != "learned":
        most = max(FREE_NUMBERS, run.weights.stat().st_size // 4)
        if config.places * config.model.width > most:
            raise ModelError(
                f"{run.path / 'config.toml'}: model.max_length and data.max_tokens ask for {config.places:,} positions "
                f"of width {config.model.width:,}: more numbers than the whole model has. Lower them to what it needs."
            )
    return run


def read_config(path: Path) -> Config:
    file = find_model(path) / "config.toml"
    if not file.is_file():
        raise ModelError(f"{path}: {why_no_model(path)} {WHAT_IT_IS}")
    try:
        check_inner_folders(file.parent, PARTS)  # every reader of a folder reads its settings first
        return build_config(read_toml(file, links=False), where=str(file))
    except UsageError as error:  # the same message, but here the folder is wrong and not the call
        raise ModelError(str(error)) from None
    except Refused as error:
        raise ModelError(f"{error.filename}: {error}.") from None
    except OSError as error:
        raise ModelError(f"{file}: cannot be read: {error.strerror}") from None


def why_no_model(path: Path) -> str:
    """What is wrong with a path without config.toml, and which path was perhaps meant."""
    if path.is_file():
        inside = path.parent if (path.parent / "config.toml").is_file() else None
        return "a file, not a folder." + (f" Did you mean {str(inside)!r}?" if inside else "")
    if not path.exists():
        siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        bundled = NAMES if path.name == str(path) else ()
        return f"no such folder.{did_you_mean(path.name, [*siblings, *bundled])}"
    for parent in list(path.resolve().parents)[:2]:  # checkpoints/step-00000500 of a run
        if (parent / "config.toml").is_file():
            return f"a part of a run. Did you mean {str(parent)!r}?"
    runs = sorted(str(file.parent) for file in path.glob("*/config.toml"))
    return (
        f"no model folder, but it contains some: {', '.join(runs[:3])}." if runs else "no model here (no config.toml)."
    )


def check_finished(path: Path, facts: RunFacts) -> None:
    """Refuse a run without the weights that `translate` uses: they are written when training ends."""
    if (path / WEIGHTS).is_file():
        return
    if facts.finished:
        raise ModelError(f"{path}: {WEIGHTS} is missing. Copy the whole folder again, or train again.")
    steps = list_checkpoints(path / CHECKPOINTS)
    so_far = f"; the last checkpoint is {step_name(steps[-1])}" if steps else ""
    finish = f", or `seqloom finish {path}` to make a model from that" if steps else ""
    raise ModelError(
        f"{path}: training has not finished (no {WEIGHTS} yet{so_far}): "
        f"run the same `seqloom train` command again{finish}."
    )


def read_facts(path: Path) -> RunFacts:
    """Read run.json; ModelError if it is missing or damaged."""
    try:
        return RunFacts.from_json(read_document(path))
    except FileNotFoundError:
        check_finished(path, RunFacts())  # a new run has neither
        raise ModelError(f"{path}: {FILE} is missing. Copy the whole folder again.") from None


def read_tokenizers(path: Path) -> Tokenizers:
    if not (path / "tokenizer").is_dir():
        raise ModelError(f"{path}: the folder tokenizer/ is missing. Copy the whole folder again.")
    try:
        return Tokenizers.load(path)
    except OSError as error:
        raise ModelError(f"{error.filename or path}: cannot be read: {error.strerror}") from None


def load_model(run: RunFolder) -> "Seq2Seq":
    """The model with its trained weights, ready to translate; adapters of a checkpoint are merged into it."""
    import torch

    from seqloom.models.build import build_model
    from seqloom.models.stored_shapes import read_shapes
    from seqloom.models.weights import check_shapes, load_weights, stored_tensors
    from seqloom.nn.adapter import add_adapters, merge_adapters

    file, settings = run.weights, run.config.model
    found = read_shapes(file)
    check_hash(run)
    # Settings cannot be trusted either: compare shapes first, because a wrong width could take all the memory.
    if settings.kind != "bag" and max(settings.layers, settings.decoder_layers) > len(found):
        raise ModelError(f"{file}: {len(found)} tensors are too few for the {settings.layers} layers of config.toml.")
    rank = settings.adapter_rank if run.checkpoint else 0  # the end of training merges them
    sizes = (run.config, len(run.tokenizers.source), len(run.tokenizers.target), run.tokenizers.joint)
    try:
        with torch.device("meta"):
            outline = build_model(*sizes)
            add_adapters(outline, rank)
        check_shapes({name: tuple(tensor.shape) for name, tensor in stored_tensors(outline).items()}, found, file)
        model = build_model(*sizes)
        add_adapters(model, rank)
    except (RuntimeError, MemoryError, OverflowError) as error:
        raise ModelError(f"{run.path}: a model with these settings cannot be built: {error}") from None
    load_weights(model, file)
    merge_adapters(model)
    return model.eval()


def check_hash(run: RunFolder) -> None:
    """Refuse weights that changed since they were written; a checkpoint is checked by its manifest."""
    wanted = run.facts.weights_sha256
    if run.checkpoint is None and wanted is not None and hash_file(run.weights) != wanted:
        raise ModelError(
            f"{run.weights}: its content has changed since it was written (its SHA-256 is not that in {FILE}). Copy "
            f"the whole folder again; if you changed the weights on purpose, remove weights_sha256 from {FILE}."
        )


def read_golden(file: Path) -> list[dict[str, str]]:
    """Read golden.json: [{"source": ..., "target": ...}, ...]."""
    try:
        golden = read_json(file, STATE)
    except (OSError, ValueError) as error:
        raise ModelError(f"{file}: cannot be read ({error}); it is written when training ends.") from None
    pairs: list[Any] = golden if isinstance(golden, list) and len(golden) <= MOST_GOLDEN else [None]
    if not all(
        isinstance(p, dict) and isinstance(p.get("source"), str) and isinstance(p.get("target"), str) for p in pairs
    ):
        raise ModelError(
            f"{file}: damaged: want a list of at most {MOST_GOLDEN} {{source, target}}, both texts. Copy the whole "
            "folder again."
        )
    return pairs
