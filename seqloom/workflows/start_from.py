"""What a run begins with beside fresh weights: an earlier model (--init), word vectors, adapters; what is frozen.

A run that goes on from a checkpoint opens none of them again: what was taken is written down in started_from.json.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from seqloom.config import TASKS, Config, DataConfig, idle_overrides
from seqloom.config.sections import ONLY_READ
from seqloom.data.forms import LABELS
from seqloom.errors import ModelError, UsageError
from seqloom.models.start_from import Taken, render_taken, take_labels, take_over
from seqloom.nn.adapter import add_adapters
from seqloom.runtime.folder import RunFolder, load_model, open_run, read_config
from seqloom.text.labels import shared_labels
from seqloom.text.sides import Tokenizers
from seqloom.train.durable import replace_file
from seqloom.train.rates import freeze, parse_rates
from seqloom.workflows.settings import early_settings

RECORD = "started_from.json"
OF_TRAINING = {"dropout", "vectors", "adapter_rank"}  # settings of a model that do not change its shape
Tell = Callable[[str], None]


def init_setting(origin: str | Path) -> str:
    """Quoted: a folder may have a name that TOML takes for a number."""
    return f"train.init={json.dumps(str(origin), ensure_ascii=False)}"


@dataclass(frozen=True)
class Beginning:
    """An earlier model that a run begins from; `started`: the run has its data and its tokenizer already."""

    origin: Path
    folder: Path
    started: bool
    max_tokens: int  # of a text, as far as recipe and settings say

    @classmethod
    def find(cls, folder: Path, recipe: str | Path | None, overrides: Sequence[str]) -> "Beginning | None":
        """By the settings, before any data is read; None where the run begins from nothing."""
        table = early_settings(folder, recipe, overrides)
        name, most = peek(table, "train", "init"), peek(table, "data", "max_tokens")
        if not (name and isinstance(name, str)):
            return None
        most = most if isinstance(most, int) else DataConfig().max_tokens
        return cls(Path(name), folder, (folder / "run.json").exists(), most)

    def settings(self, task: str) -> list[str]:
        """Overrides that give the new model the shape of the old one, as far as the task can have it."""
        config = read_config(self.folder if self.started else self.origin)
        kinds = TASKS[task][1]
        shape = {
            name: setting
            for name, setting in asdict(config.model).items()
            if name not in OF_TRAINING and (name != "kind" or setting in kinds)
        }
        settings = [f"model.{name}={json.dumps(setting)}" for name, setting in shape.items()]
        if task == config.task.name == "language":
            settings += [f"task.window={config.task.window}"]  # it knows no places beyond
        places_end = config.model.positions == "learned" and config.task.name != "language"
        if task in ONLY_READ and places_end and config.data.max_tokens < self.max_tokens:
            settings += [f"data.max_tokens={config.data.max_tokens}"]  # nor does a reader, which reads on in parts
        idle = idle_overrides(config, settings)  # of other families of models: nobody reads them
        return [setting for setting in settings if setting not in idle]

    @property
    def as_setting(self) -> str:
        """One spelling, so that `runs/x` and `runs/x/` are the same setting."""
        return init_setting(self.origin)

    def take_tokenizers(self, task: str, asked: Path | None) -> Path | None:
        """Put the old model's tokenizer into the run's folder, from where the run takes it; None when it has it."""
        source = self.folder if self.started else self.origin
        tokenizers = Tokenizers.load(source) if self.started else open_run(source).tokenizers
        if asked and Tokenizers.load(asked).source.fingerprint != tokenizers.source.fingerprint:
            raise UsageError(
                f"--tokenizer {asked}: not the one of --init {self.origin}, whose weights know its tokens alone. "
                "Leave --tokenizer out: that of --init is taken."
            )
        if self.started:
            return None
        both_pairs = TASKS[task][0] == TASKS[read_config(source).task.name][0] == "pairs"
        kept = tokenizers if both_pairs else Tokenizers(tokenizers.source, tokenizers.source)
        kept.save(self.folder)
        return self.folder


def peek(table: dict[str, Any], section: str, name: str) -> Any:
    """A setting of a table that nobody has checked yet; None where there is none."""
    settings = table.get(section, {})
    return settings.get(name) if isinstance(settings, dict) else None


def check_beginning(config: Config) -> None:
    """What can be told before the data is read."""
    parse_rates(config.train.rates)
    if config.model.vectors and not Path(config.model.vectors).exists():
        raise UsageError(f"model.vectors = {config.model.vectors}: no such file; `seqloom vectors train` makes one")


def begin(model: nn.Module, folder: Path, config: Config, tokenizers: Tokenizers, fresh: bool, tell: Tell) -> None:
    """Fill a new model; `fresh`: no checkpoint will fill it anyway."""
    names: list[str] = []
    if config.train.init and fresh:
        names = take(model, folder, config, tokenizers, tell)
    elif config.model.adapter_rank:
        names = read_record(folder)
    if fresh and config.model.vectors:
        take_vectors(model, config, tokenizers, tell)
    if config.model.adapter_rank and not add_adapters(model, config.model.adapter_rank):
        raise UsageError("model.adapter_rank: adapters stand beside the matrices of attention, and this model has none")
    freeze(model, config.train.rates, names if config.model.adapter_rank else ())


def tell_sizes(model: nn.Module, params: int) -> str:
    """How many numbers a model is made of, and how many of them learn where some are frozen."""
    learning = sum(p.numel() for p in model.parameters() if p.requires_grad)
    frozen = any(not p.requires_grad for p in model.parameters())
    return f"{params:,} parameters" + (f" ({learning:,} learn, the others are frozen)" if frozen else "")


def take(model: nn.Module, folder: Path, config: Config, tokenizers: Tokenizers, tell: Tell) -> list[str]:
    """Copy what fits from the earlier model, tell and record it; the names of what was taken."""
    run = open_run(Path(config.train.init))
    same_target = run.tokenizers.target.fingerprint == tokenizers.target.fingerprint
    old = load_model(run).state_dict()
    taken = take_over(model, old, same_target)
    if form_of(run.config) == form_of(config) in LABELS:
        take_labels(model, old, taken, shared_labels(tokenizers.target, run.tokenizers.target))
    told = render_taken(taken, str(run.path))
    if not any(tensor.ndim > 1 for name, tensor in model.state_dict().items() if name in taken.names):
        raise UsageError(f"--init {run.path}: none of its matrices fits this model:\n{told}")
    tell(f"begins from {run.path} ({run.config.task.name}, step {run.facts.get('step', '?')}):\n{told}")
    replace_file(folder / RECORD, json.dumps(describe(run, taken), indent=1).encode())
    return taken.names


def form_of(config: Config) -> str:
    return TASKS[config.task.name][0]


@torch.no_grad()
def take_vectors(model: Any, config: Config, tokenizers: Tokenizers, tell: Tell) -> None:
    """The vectors of a file for the words that are read, as widely spread as the model's own; others stay as drawn."""
    from seqloom.vectors.files import load_vectors
    from seqloom.vectors.start import known_rows

    reads_source = hasattr(model, "source_table")
    table: nn.Embedding = model.source_table if reads_source else model.target_table
    tokenizer = tokenizers.source if reads_source else tokenizers.target
    vectors, pieces = load_vectors(Path(config.model.vectors), tell), tokenizer.pieces(range(len(tokenizer)))
    found, rows = known_rows(vectors, pieces, table.embedding_dim, float(table.weight.std()))
    if not found.any():
        raise UsageError(
            f"model.vectors = {config.model.vectors}: none of the {len(pieces):,} tokens is a word of it. Give vectors "
            "of this language; most tokens of bpe are parts of words, and --set text.tokenizer=word reads whole ones"
        )
    table.weight[torch.from_numpy(found)] = torch.from_numpy(rows).to(table.weight)
    tell(f"word vectors: {int(found.sum()):,} of {len(pieces):,} tokens are in {config.model.vectors}")


def describe(run: RunFolder, taken: Taken) -> dict[str, object]:
    return {"from": str(run.path), "step": run.facts.get("step"), **asdict(taken)}


def read_record(folder: Path) -> list[str]:
    """The names of what was taken when the run began."""
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
        return [*record["whole"], *record["begun"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder / RECORD}: cannot be read ({error}). Copy the whole folder again.") from None
