"""What a run is made of once its data is ready: the model, the task, the validation, and what run.json says first."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seqloom.config import TASKS, Config
from seqloom.data.store import Store
from seqloom.errors import UsageError
from seqloom.models.build import build_model
from seqloom.runtime.engine_torch import find_device
from seqloom.runtime.inputs import count_cases, is_in_capitals, is_wordless
from seqloom.runtime.run_facts import RunFacts
from seqloom.tasks.api import Task
from seqloom.tasks.build import build_task
from seqloom.text.sides import Tokenizers
from seqloom.text.tokenizer import Tokenizer
from seqloom.training.processes import ALONE, OneProcess
from seqloom.training.request import Tell, TrainRequest
from seqloom.training.samples import SAMPLES
from seqloom.training.speed import keep_freed_memory
from seqloom.training.state import seed_of
from seqloom.training.validation import Validation

BYTE = re.compile("<0x[0-9A-F]{2}>")  # how a tokenizer shows a byte of a rare character
ENOUGH = 100_000  # sources to look at for a share


@dataclass(frozen=True)
class Run:
    """Everything a training run is made of, once its data is ready."""

    request: TrainRequest
    config: Config
    tokenizers: Tokenizers
    train: Store
    valid: Store
    device: torch.device


def prepare_torch(config: Config) -> None:
    keep_freed_memory()
    torch.set_num_threads(config.train.threads)
    torch.manual_seed(seed_of(config.train.seed))


def find_own_device(config: Config, processes: OneProcess) -> torch.device:
    """Find the device; of several processes on a machine with GPUs, each has a GPU of its own."""
    device = find_device(config.train.device)
    if device.type == "cuda" and processes.world.size > 1:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def make_model(run: Run) -> Any:
    sizes = (len(run.tokenizers.source), len(run.tokenizers.target), run.tokenizers.joint)
    try:
        return build_model(run.config, *sizes).to(run.device)
    except (RuntimeError, MemoryError) as error:  # torch raises RuntimeError for an allocation that failed
        raise UsageError(
            f"a model with these settings cannot be built: {error}. Lower model.width, model.layers or text.vocab_size."
        ) from None


def make_task(run: Run) -> Task:
    task = build_task(run.config)
    task.know_pieces(run.tokenizers.source.pieces(range(len(run.tokenizers.source))))
    return task


def make_validation(run: Run, model: Any, task: Task, tell: Tell, processes: OneProcess = ALONE) -> Validation:
    """Put the validation together: the loss on the validation data, and for some tasks a sample of the answers."""
    config = run.config
    glance = SAMPLES[TASKS[config.task.name].shape]
    return Validation(
        model,
        task,
        run.valid,
        batch_tokens=max(config.train.batch_tokens, 2048),
        device=run.device,
        glance=glance(model, run.valid, run.tokenizers, config, run.device) if glance else None,
        tell=tell,
        processes=processes,
    )


def known_facts(run: Run, params: int) -> RunFacts:
    """Return what run.json says from the start."""
    account, data = run.train.account, run.config.data
    task = TASKS[run.config.task.name]
    return RunFacts(
        params=params, data_hash=run.train.data_hash, kept=account.kept, total=account.total,
        source_lang=data.source_lang, target_lang=data.target_lang,
        usual_tokens=usual_tokens(run.train) if task.long_inputs == "by sentence" else None,
        capitals=capitals_share(run.train, run.tokenizers.source),
        wordless=wordless_share(run.train, run.tokenizers.source) if task.copies_wordless else None,
    )  # fmt: skip


def usual_tokens(train: Store) -> int:
    """Return the length that 999 of 1000 sources do not exceed: a longer text of several sentences is split."""
    return int(np.quantile(train.source_lengths, 0.999, method="higher"))


def capitals_share(train: Store, tokenizer: Tokenizer) -> float | None:
    """Return the share of sources in capitals; None where case means nothing: to the tokenizer, or in this script."""
    if tokenizer.encode("ABCDEFGH") == tokenizer.encode("abcdefgh"):
        return None
    cases = np.array([count_cases(BYTE.sub("", piece)) for piece in tokenizer.pieces(range(len(tokenizer)))])
    ids, lengths = some_sources(train)
    upper, lower = (sum_by_source(cases[ids, case], lengths) for case in (0, 1))
    if not lower.any():
        return None
    return round(float(np.mean([is_in_capitals(*counts) for counts in zip(upper, lower, strict=True)])), 4)


def some_sources(train: Store) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return sources from all over the training data: their ids, one after the other, and the length of each."""
    some = np.unique(np.linspace(0, len(train) - 1, min(len(train), ENOUGH)).astype(np.int64))
    return train.take("source", some)


def sum_by_source(numbers: NDArray[Any], lengths: NDArray[np.int64]) -> NDArray[Any]:
    """Add up one number per token for each source."""
    return np.bincount(np.repeat(np.arange(len(lengths)), lengths), numbers, minlength=len(lengths))


def wordless_share(train: Store, tokenizer: Tokenizer) -> float:
    """Return the share of sources without a letter or digit; a byte of a rare character counts as neither."""
    pieces = tokenizer.pieces(range(len(tokenizer)))
    has_word = np.array([not is_wordless(BYTE.sub("", piece)) for piece in pieces])
    ids, lengths = some_sources(train)
    words = sum_by_source(has_word[ids], lengths)
    return round(float((words == 0).mean()), 4)
