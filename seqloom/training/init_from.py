"""What a run starts from besides fresh weights: an earlier model (--init), word vectors, adapters; what is frozen.

A run that continues from a checkpoint does not open them again: started_from.json records what was taken.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from seqloom.config import SHAPES, TASKS, Config, families_of, idle_overrides
from seqloom.data.forms import LABELS
from seqloom.data.store import Store
from seqloom.errors import ModelError, UsageError
from seqloom.files.durable import replace_file
from seqloom.files.reading import STATE, read_json
from seqloom.models.build import build_model
from seqloom.models.take_over import Taken, render_taken, take_labels, take_over
from seqloom.nn.adapter import add_adapters
from seqloom.runtime.folder import RunFolder, load_model, open_run, read_config
from seqloom.text.labels import shared_labels
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import FIRST_WORD
from seqloom.training.part_rates import freeze, parse_rates
from seqloom.training.request import Tell, TrainRequest, init_setting

RECORD = "started_from.json"
OF_TRAINING = {"dropout", "vectors", "adapter_rank"}  # settings of a model that do not change its shape


@dataclass(frozen=True)
class Beginning:
    """An earlier model that a run begins from; `started`: the run already has its data and its tokenizer."""

    origin: Path
    folder: Path
    started: bool
    max_tokens: int  # data.max_tokens, if the earlier model does not lower it

    @classmethod
    def of(cls, request: TrainRequest, init: str, max_tokens: int) -> "Beginning":
        """Make it from the settings of a request, as far as they are known before the others are loaded."""
        return cls(Path(init), request.out, request.started, max_tokens)

    def settings(self, task: str) -> list[str]:
        """Return overrides that give the new model the shape of the old one, as far as the task allows it."""
        config = read_config(self.folder if self.started else self.origin)
        record, old = TASKS[task], TASKS[config.task.name]
        kinds = families_of(record.shape)
        shape = {
            name: setting
            for name, setting in asdict(config.model).items()
            if name not in OF_TRAINING and (name != "kind" or setting in kinds)
        }
        settings = [f"model.{name}={json.dumps(setting)}" for name, setting in shape.items()]
        if record.shape == old.shape == "continues":
            settings += [f"task.window={config.task.window}"]  # it has no positions beyond its window
        places_end = config.model.positions == "learned" and old.shape != "continues"
        if SHAPES[record.shape].encoder_only and places_end and config.data.max_tokens < self.max_tokens:
            settings += [f"data.max_tokens={config.data.max_tokens}"]  # it reads longer texts in parts
        idle = idle_overrides(config, settings)  # settings of other model families have no effect
        return [setting for setting in settings if setting not in idle]

    @property
    def as_setting(self) -> str:
        """The override for --init, in one spelling: `runs/x` and `runs/x/` are the same setting."""
        return init_setting(self.origin)

    def take_tokenizers(self, task: str, asked: Path | None) -> Path | None:
        """Copy the old model's tokenizer into the run's folder and return that folder; None if it is there already."""
        source = self.folder if self.started else self.origin
        tokenizers = Tokenizers.load(source) if self.started else open_run(source).tokenizers
        if asked and Tokenizers.load(asked).source.fingerprint != tokenizers.source.fingerprint:
            raise UsageError(
                f"--tokenizer {asked}: not the tokenizer of --init {self.origin}, whose weights fit only its own "
                "tokens. Leave --tokenizer out: the tokenizer of --init is used."
            )
        if self.started:
            return None
        both_pairs = TASKS[task].form == form_of(read_config(source)) == "pairs"
        kept = tokenizers if both_pairs else Tokenizers(tokenizers.source, tokenizers.source)
        kept.save(self.folder)
        return self.folder


def check_beginning(config: Config) -> None:
    """Check, before any data is read, what the run is to start from."""
    parse_rates(config.train.rates)
    if config.model.vectors and not Path(config.model.vectors).exists():
        raise UsageError(f"model.vectors = {config.model.vectors}: no such file; `seqloom vectors train` makes one")


def check_fit(config: Config, origin: Path, tokenizers: Tokenizers) -> None:
    """Refuse, before any data is read, an earlier model of which nothing can be used; both models have no weights."""
    run, labels = open_run(origin), form_of(config) in LABELS
    num_targets = FIRST_WORD + 2 if labels else len(tokenizers.target)  # labels are not known yet
    with torch.device("meta"):
        sizes = len(run.tokenizers.source), len(run.tokenizers.target), run.tokenizers.joint
        old = build_model(run.config, *sizes).state_dict()
        model = build_model(config, len(tokenizers.source), num_targets, tokenizers.joint and not labels)
    same_target = not labels and run.tokenizers.target.fingerprint == tokenizers.target.fingerprint
    refuse_misfit(model, config, run, take_over(model, old, same_target))


def refuse_misfit(model: nn.Module, config: Config, run: RunFolder, taken: Taken) -> None:
    """Raise a UsageError, with the reason, unless a matrix of the earlier model was taken."""
    if any(tensor.ndim > 1 for name, tensor in model.state_dict().items() if name in taken.names):
        return
    kind, able = run.config.model.kind, families_of(TASKS[config.task.name].shape)
    other = f" It is of kind {kind!r}, whose layers differ from those of the kinds that learn this: {', '.join(able)}."
    why = "" if kind in able or any(reason.startswith("shape") for reason in taken.new.values()) else other
    raise UsageError(
        f"--init {run.path}: none of its matrices fits a model of kind {config.model.kind!r} for the task "
        f"{config.task.name!r}.{why} Start from another model, or leave --init out.\n"
        f"{render_taken(taken, str(run.path))}"
    )


def begin(model: nn.Module, folder: Path, config: Config, tokenizers: Tokenizers, fresh: bool, tell: Tell) -> None:
    """Fill a new model and freeze what is to stay; `fresh`: there is no checkpoint to fill it."""
    names: list[str] = []
    if config.train.init and fresh:
        names = take(model, folder, config, tokenizers, tell)
    elif config.model.adapter_rank:
        names = read_record(folder)
    if fresh and config.model.vectors:
        take_vectors(model, config, tokenizers, tell)
    if config.model.adapter_rank and not add_adapters(model, config.model.adapter_rank):
        raise UsageError(
            "model.adapter_rank: adapters are added to the matrices of multi-head attention, and this model has none"
        )
    freeze(model, config.train.rates, names if config.model.adapter_rank else ())


@torch.no_grad()
def start_at_frequencies(model: Any, config: Config, tokenizers: Tokenizers, train: Store) -> None:
    """Start the output bias of a recurrent model that writes characters at the log frequencies of its targets.

    b_v = log((1 - smoothing) (n_v + 1) / sum_u (n_u + 1) + smoothing / V)        (Karpathy 2019, for any classifier)

    Most tokens of such a vocabulary are bytes that the data hardly has, and from 0 the first updates do little more
    than learn that. Other models start at 0: docs/log.md has the figures, a GPT gained nothing.
    """
    if config.model.kind != "rnn" or tokenizers.target.kind != "char":
        return
    smoothing = config.train.label_smoothing
    counts = train.count_targets(len(tokenizers.target)) + 1.0
    wanted = (1 - smoothing) * counts / counts.sum() + smoothing / len(counts)
    model.output.bias.copy_(torch.from_numpy(np.log(wanted)))


def describe_size(model: nn.Module, params: int) -> str:
    """Describe how many parameters a model has, and how many of them learn where some are frozen."""
    learning = sum(p.numel() for p in model.parameters() if p.requires_grad)
    frozen = any(not p.requires_grad for p in model.parameters())
    return f"{params:,} parameters" + (f" ({learning:,} learn, the others are frozen)" if frozen else "")


def take(model: nn.Module, folder: Path, config: Config, tokenizers: Tokenizers, tell: Tell) -> list[str]:
    """Copy what fits from the earlier model, report and record it, and return the names of the tensors taken."""
    run = open_run(Path(config.train.init))
    same_target = run.tokenizers.target.fingerprint == tokenizers.target.fingerprint
    old = load_model(run).state_dict()
    taken = take_over(model, old, same_target)
    if form_of(run.config) == form_of(config) in LABELS:
        take_labels(model, old, taken, shared_labels(tokenizers.target, run.tokenizers.target))
    told = render_taken(taken, str(run.path))
    refuse_misfit(model, config, run, taken)
    step = "?" if run.facts.step is None else run.facts.step
    tell(f"begins from {run.path} ({run.config.task.name}, step {step}):\n{told}")
    replace_file(folder / RECORD, json.dumps(describe(run, taken), indent=1).encode())
    return taken.names


def form_of(config: Config) -> str:
    return TASKS[config.task.name].form


@torch.no_grad()
def take_vectors(model: Any, config: Config, tokenizers: Tokenizers, tell: Tell) -> None:
    """Copy the vectors of a file, scaled like the model's own; words it does not have keep their random vectors."""
    from seqloom.vectors.files import load_vectors
    from seqloom.vectors.start import known_rows

    reads_source = hasattr(model, "source_table")
    table: nn.Embedding = model.source_table if reads_source else model.target_table
    tokenizer = tokenizers.source if reads_source else tokenizers.target
    vectors, pieces = load_vectors(Path(config.model.vectors), tell), tokenizer.pieces(range(len(tokenizer)))
    found, rows = known_rows(vectors, pieces, table.embedding_dim, float(table.weight.std()))
    if not found.any():
        raise UsageError(
            f"model.vectors = {config.model.vectors}: it has none of the {len(pieces):,} tokens. Give vectors of this "
            "language; most tokens of bpe are parts of words, --set text.tokenizer=word makes them whole words"
        )
    table.weight[torch.from_numpy(found)] = torch.from_numpy(rows).to(table.weight)
    tell(f"word vectors: {int(found.sum()):,} of {len(pieces):,} tokens are in {config.model.vectors}")


def describe(run: RunFolder, taken: Taken) -> dict[str, object]:
    return {"from": str(run.path), "step": run.facts.step, **asdict(taken)}


def read_record(folder: Path) -> list[str]:
    """Return the names of the tensors that were taken when the run started."""
    try:
        record = read_json(folder / RECORD, STATE)
        return [*record["whole"], *record["begun"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder / RECORD}: cannot be read ({error}). Copy the whole folder again.") from None
