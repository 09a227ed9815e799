"""seqloom train: files -> checked pairs -> tokens -> a trained model in a folder. The same call again goes on."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from seqloom.config import TASKS, Config, dump_config
from seqloom.data.corpus import CorpusSpec
from seqloom.data.store import Store
from seqloom.errors import ModelError, UsageError, did_you_mean
from seqloom.models.build import build_model
from seqloom.nn.adapter import merge_adapters
from seqloom.nn.loss import Loss
from seqloom.runtime.engine_torch import find_device
from seqloom.runtime.folder import read_config
from seqloom.tasks.api import Task
from seqloom.tasks.build import build_task
from seqloom.text.sides import Tokenizers
from seqloom.train.checkpoint import clear_leftovers, list_checkpoints, newest_checkpoint
from seqloom.train.clock import Clock, parse_duration
from seqloom.train.durable import replace_file
from seqloom.train.lock import run_lock
from seqloom.train.log import MetricsLog
from seqloom.train.loop import Loop
from seqloom.train.precision import products_in
from seqloom.train.progress import make_progress
from seqloom.train.signals import StopFlag, stop_requested
from seqloom.train.speed import count_flops, keep_freed_memory, matmul_speed
from seqloom.train.state import seed_of
from seqloom.workflows.finish import choose_weights, write_card, write_facts, write_fast_form, write_model
from seqloom.workflows.gather import gather_corpora, gather_data
from seqloom.workflows.glance import GLANCES
from seqloom.workflows.limits import check_end, finished_facts, run_limits, steps_in_all
from seqloom.workflows.resume import check_same_settings
from seqloom.workflows.settings import find_task, settle_config
from seqloom.workflows.start_from import Beginning, begin, check_beginning, init_setting, tell_sizes
from seqloom.workflows.validation import Validation

TRY = {"language": "generate", "dialogue": "chat"}  # how to try a model; where nothing stands: translate
END_IN_LOSSES = 6  # the end of a run costs about as much as so many passes over the validation data


@dataclass(frozen=True)
class Trained:
    """What `seqloom.train` returns: the folder and what run.json says of it."""

    run: Path
    facts: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """Everything a training run is made of once its data is ready."""

    out: Path
    config: Config
    tokenizers: Tokenizers
    train: Store
    valid: Store
    device: torch.device
    tell: Callable[[str], None]
    quiet: bool


def train(
    pairs: str | Path | Sequence[str | Path],
    *,
    out: str | Path,
    valid: str | Path | None = None,
    mix: Sequence[str] = (),
    recipe: str | Path | None = None,
    overrides: Sequence[str] = (),
    task: str | None = None,
    budget: str | float | None = None,
    seed: int | None = None,
    threads: int | None = None,
    init: str | Path | None = None,
    columns: str | None = None,
    tokenizer: str | Path | None = None,
    allow_loss: bool = False,
    quiet: bool = False,
) -> Trained:
    """Train a model on pairs into the folder `out`, or go on where an earlier call stopped.

    pairs, valid, mix, columns: see `seqloom.data.corpus`; recipe: a name or a TOML file; overrides: "a.b=value";
    task: what is learned, `seqloom.config.TASKS`; budget: seconds or "20m"; init: the folder of a model to begin from;
    tokenizer: a folder to take the tokenizer from; allow_loss: train though more than 5 % of the lines cannot be used.
    """
    began = time.monotonic()
    if task is not None and task not in TASKS:
        raise UsageError(f"--task {task}: no such task.{did_you_mean(task, TASKS)} Tasks: {', '.join(TASKS)}")
    seconds = parse_duration(budget) if isinstance(budget, str) else budget
    shorthands = {"task.name": task, "train.seed": seed, "train.threads": threads}
    overrides = [*overrides, *(f"{name}={value}" for name, value in shorthands.items() if value is not None)]
    overrides += [init_setting(init)] if init else []
    tell = (lambda text: None) if quiet else partial(print, file=sys.stderr, flush=True)
    folder = Path(out)
    reused = Path(tokenizer) if tokenizer else None
    with run_lock(folder):
        task = find_task(folder, recipe, overrides)
        form = TASKS[task][0]
        specs = gather_corpora(pairs, mix, columns, folder, form)
        valid_specs = [CorpusSpec.parse(str(valid), columns, form=form)] if valid else []
        if beginning := Beginning.find(folder, recipe, overrides):
            overrides = [*beginning.settings(task), *overrides, beginning.as_setting]
            reused = beginning.take_tokenizers(task, reused)
        config = settle_config(folder, specs, recipe, overrides, seconds, reused, tell)
        if beginning and beginning.started:
            config = replace(config, text=read_config(folder).text)  # its tokenizer is what it took when it began
        if (folder / "run.json").exists():  # before it is there nothing was learned that other settings could spoil
            check_same_settings(folder, config)
        if not finished_facts(folder, config, seconds):
            check_end(config, seconds)
            check_beginning(config)
        prepare_torch(config)
        tokenizers, train_store, valid_store = gather_data(
            folder, specs, valid_specs, config, reused, allow_loss, tell, quiet
        )
        replace_file(folder / "config.toml", dump_config(config).encode())
        device = find_device(config.train.device)
        run = Run(folder, config, tokenizers, train_store, valid_store, device, tell, quiet)
        if done := finished_facts(folder, config, seconds):
            tell(f"{folder}: finished at step {done['step']}; nothing to do. A larger limit would go on from there.")
            return Trained(folder, done)
        with stop_requested() as stop:  # before this a plain Ctrl-C loses nothing: data is built whole or not at all
            return train_model(run, seconds, began, stop)


def prepare_torch(config: Config) -> None:
    keep_freed_memory()
    torch.set_num_threads(config.train.threads)
    torch.manual_seed(seed_of(config.train.seed))


def train_model(run: Run, budget: float | None, began: float, stop: StopFlag) -> Trained:
    """Build, resume, loop, finish."""
    config, folder = run.config, run.out / "checkpoints"
    clear_leftovers(folder)
    torch.manual_seed(seed_of(config.train.seed))
    model = make_model(run)
    params = sum(p.numel() for p in model.parameters())
    checkpoint = newest_checkpoint(folder, warn=run.tell)
    if checkpoint is None and list_checkpoints(folder):
        raise ModelError(
            f"{folder}: every checkpoint is damaged. Choose another --out to start anew; nothing is touched."
        )
    step = checkpoint.step if checkpoint else 0
    begin(model, run.out, config, run.tokenizers, checkpoint is None, run.tell)
    write_facts(run.out, {**known_facts(run, params), "step": step, "finished": False})
    clock = Clock(config.train, budget, checkpoint.state["seconds"] if checkpoint else 0.0, began)
    sizes, how = tell_sizes(model, params), f"{config.train.threads} threads on {run.device}, {config.train.precision}"
    run.tell(f"{config.model.kind}: {sizes}, {how}")
    loop, validation = make_loop(run, model, clock, stop, step)
    if checkpoint:
        loop.resume(checkpoint)
        run.tell(f"going on after step {checkpoint.step}")
    elif budget:
        clock.keep_free(END_IN_LOSSES * time_validation_loss(model, validation) + 3.0)
    with loop.log, loop.progress:
        reason = loop.run()
        run.tell(f"training ends after step {loop.state.step}: {reason}{tell_clipping(loop)}")
        return Trained(run.out, finish(run, loop, model, validation))


def tell_clipping(loop: Loop) -> str:
    """How often the gradient was longer than train.clip_norm."""
    share, norm = loop.state.clipped / max(1, loop.state.step), loop.config.clip_norm
    return f". The gradient was clipped to {norm:g} in {share:.0%} of the steps" if norm else ""


def make_model(run: Run) -> Any:
    sizes = (len(run.tokenizers.source), len(run.tokenizers.target), run.tokenizers.joint)
    try:
        return build_model(run.config, *sizes).to(run.device)
    except (RuntimeError, MemoryError) as error:  # torch's word for an allocation that failed
        raise UsageError(
            f"a model of these settings cannot be built: {error}. Lower model.width, model.layers or text.vocab_size."
        ) from None


def time_validation_loss(model: nn.Module, validation: Validation) -> float:
    """Seconds of the loss on the validation data: what the end of a run by the clock will cost is a few times that."""
    began = time.monotonic()
    model.eval()
    validation.loss()
    return time.monotonic() - began


def known_facts(run: Run, params: int) -> dict[str, Any]:
    """What run.json says from the start."""
    account, data = run.train.account, run.config.data
    return {
        "params": params, "data_hash": run.train.data_hash, "kept": account.kept, "total": account.total,
        "source_lang": data.source_lang, "target_lang": data.target_lang,
        **({"usual_tokens": usual_tokens(run.train)} if run.config.task.name == "translate" else {}),
    }  # fmt: skip


def usual_tokens(train: Store) -> int:
    """The length that no source of a thousand exceeds: a longer text of several sentences is none such as these."""
    return int(np.quantile(train.source_lengths, 0.999, method="higher"))


def make_loop(run: Run, model: nn.Module, clock: Clock, stop: StopFlag, step: int) -> tuple[Loop, Validation]:
    config, task = run.config, make_task(run)
    batches = task.batches(run.train, config.train.batch_tokens, config.train.seed)
    progress = make_progress(
        "train",
        steps_in_all(config.train, len(batches.epoch(0))),
        budget_seconds=clock.budget,
        start=step,
        spent_seconds=clock.seconds(),
        quiet=run.quiet,
    )
    validation = make_validation(run, model, progress.message)

    def loss_of(batch: Any, progress: float) -> Loss:
        with products_in(config.train.precision, run.device):
            return task.loss(model, batch.to(run.device), config.train.label_smoothing, progress)

    loop = Loop(
        config.train, model, loss_of, batches, validation, folder=run.out / "checkpoints",
        log=MetricsLog(run.out, step), progress=progress, clock=clock, stop=stop, task=task,
        flops_a_second=matmul_speed(run.device, config.train.precision), flops_a_token=flops_of_a_token(run, model),
    )  # fmt: skip
    return loop, validation


def make_task(run: Run) -> Task:
    task = build_task(run.config)
    task.know_pieces(run.tokenizers.source.pieces(range(len(run.tokenizers.source))))
    return task


def flops_of_a_token(run: Run, model: nn.Module) -> float:
    """Counted on the first batch, by a task of its own: what is carried from batch to batch begins untouched."""
    task = make_task(run)
    batches = task.batches(run.train, run.config.train.batch_tokens, run.config.train.seed)
    first = batches.load(batches.epoch(0)[0]).to(run.device)
    tokens = 0

    def loss() -> Loss:
        nonlocal tokens
        found = task.loss(model, first, run.config.train.label_smoothing)
        tokens = found.num_tokens
        return found

    return count_flops(model, loss) / max(1, tokens)


def make_validation(run: Run, model: Any, tell: Callable[[str], None]) -> Validation:
    """The loss on the validation data, and for some tasks a glance at what the model says."""
    config = run.config
    glance = GLANCES.get(TASKS[config.task.name][0])
    return Validation(
        model,
        make_task(run),
        run.valid,
        batch_tokens=max(config.train.batch_tokens, 2048),
        device=run.device,
        glance=glance(model, run.valid, run.tokenizers, config, run.device) if glance else None,
        tell=tell,
    )


def finish(run: Run, loop: Loop, model: nn.Module, validation: Validation) -> dict[str, Any]:
    """Validate and save the last step, choose the weights, write the model; what run.json says at the end."""
    loop.finish()
    state, config = loop.state, run.config
    chosen = choose_weights(loop, model, validation, run.tell)
    told = ", ".join(f"{name} {loss:.4f}" for name, loss in chosen.losses.items())
    run.tell(f"weights: {chosen.name} (validation loss: {told})")
    merge_adapters(model)
    write_model(run.out, model, run.valid)
    write_fast_form(run.out, run.tell)
    facts = {
        **known_facts(run, sum(p.numel() for p in model.parameters())),
        "step": state.step, "epoch": state.epoch, "passes": round(state.epoch + state.batch / len(loop.plan), 3),
        "tokens": state.tokens, "seconds": round(loop.clock.seconds(), 1),
        "weights": chosen.name, "valid_loss": chosen.losses[chosen.name], "valid_scores": state.valid_scores,
        "limits": run_limits(config, loop.clock.budget), "finished": True,
    }  # fmt: skip
    write_card(run.out, config, facts, run.train, run.valid)
    write_facts(run.out, facts)
    verb = TRY.get(config.task.name, "translate")
    run.tell(f"model in {run.out}. Try: seqloom {verb} {run.out}   or: seqloom evaluate {run.out} TEST")
    return facts
