"""Finish a run before its end: the model is made from the newest checkpoint, as at a normal end.

No checkpoint and no line of the log is changed. The same `seqloom train` afterwards therefore continues from that
checkpoint, and ends with the same weights as if nothing had happened in between.
"""

import copy
from pathlib import Path

from seqloom.data.store import Store
from seqloom.errors import DataError, ModelError
from seqloom.runtime.checkpoints import FOLDER, STATE, newest_checkpoint
from seqloom.runtime.engine_torch import find_device
from seqloom.runtime.folder import WEIGHTS, read_config, read_facts
from seqloom.runtime.run_facts import RunFacts
from seqloom.text.sides import Tokenizers
from seqloom.training.finish import complete, tell_where
from seqloom.training.init_from import begin
from seqloom.training.request import Tell, TrainRequest
from seqloom.training.run_end import run_limits
from seqloom.training.run_parts import Run, make_model, make_task, make_validation, prepare_torch
from seqloom.training.signals import StopFlag
from seqloom.training.state import RunState


def finish_stopped(out: Path, tell: Tell) -> RunFacts:
    """Make the model of a run that was stopped or killed; what run.json says then."""
    config, facts = read_config(out), read_facts(out)
    if facts.finished and (out / WEIGHTS).is_file():
        tell(f"{out}: finished at step {facts.step}; nothing to do.")
        return facts
    checkpoint = newest_checkpoint(out / FOLDER, warn=tell)
    if checkpoint is None:
        raise ModelError(f"{out}: no good checkpoint to finish from. Run the same `seqloom train` command again.")
    prepare_torch(config)
    request = TrainRequest(pairs=(), out=out, tell=tell)
    run = Run(request, config, Tokenizers.load(out), *open_stores(out), find_device(config.train.device))
    model = make_model(run)
    begin(model, out, config, run.tokenizers, False, tell)
    model.load_state_dict(checkpoint.tensors("model"))
    model.eval()
    state = RunState.from_json(checkpoint.state, checkpoint.path / STATE)
    tell(f"{out}: the model is made from step {state.step:,}")
    task = make_task(run)
    validation = make_validation(run, model, copy.copy(task), tell)
    if state.step not in state.valid_losses and (event := validation(state, StopFlag())):
        state.valid_losses[state.step], state.valid_scores = event["loss"], event["scores"]
    batches = task.batches(run.train, config.train.batch_tokens, config.train.seed)
    limits = run_limits(config, None) | {"steps": float(state.step)}  # the same `seqloom train` asks for more
    done = complete(run, model, validation, state, len(batches.epoch(state.epoch)), lambda: state.seconds, limits)
    tell_where(run)
    tell("The same `seqloom train` command can still continue the run, as if it had not been finished.")
    return done


def open_stores(out: Path) -> tuple[Store, Store]:
    try:
        return Store.open(out / "store", "train"), Store.open(out / "store", "valid")
    except (DataError, OSError) as error:
        raise ModelError(f"{error} Without it, only the same `seqloom train` command can finish the run.") from None
