"""Which engine runs a model: a converted one where the folder has it, else torch, perhaps hastened.

auto          the fastest that is there and fits
ctranslate2   engine/ of the folder, for Transformers, or an error that says what is wrong with it
onnx          the same for recurrent models
recurrent     torch with a faster step, for recurrent models on a CPU
torch         the reference: the weights themselves, through the contract of models
"""

import importlib.util
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from seqloom.errors import ModelError, UsageError, did_you_mean
from seqloom.runtime.engine_folder import FOLDER, has_engine, read_manifest, why_not
from seqloom.runtime.folder import RunFolder, load_model

if TYPE_CHECKING:
    from seqloom.models.api import Seq2Seq
    from seqloom.runtime.requests import Engine

CONVERTED = ("ctranslate2", "onnx")  # what engine/ may hold
ENGINES = ("auto", *CONVERTED, "recurrent", "torch")
MOST_THREADS = 1024  # more is a slip of the keyboard
Notice = Callable[[str], None]


def check_request(engine: str, threads: int | None) -> None:
    if engine not in ENGINES:
        raise UsageError(f"engine = {engine!r}: want {', '.join(ENGINES)}.{did_you_mean(engine, ENGINES)}")
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"threads = {threads}: want 1 to {MOST_THREADS}")


def open_converted(
    runs: Sequence[RunFolder], engine: str, threads: int | None, device: str, notice: Notice
) -> "Engine | None":
    """The engine that engine/ holds; None where torch must answer, with a notice if nobody asked for that."""
    must = engine in CONVERTED
    if engine in ("torch", "recurrent") or (not must and not has_engine(runs[0].path)):
        return None
    if len(runs) > 1 and must:
        raise UsageError(f"--engine {engine}: several models answer together on the torch engine alone; leave it out")
    fault = "an ensemble needs the torch engine" if len(runs) > 1 else ""
    if engine == "ctranslate2" and not fault:
        fault = why_not(runs[0].config)
    if not fault and not is_cpu(device):
        fault = f"on device {device} the torch engine answers"
    try:
        if fault:
            raise ModelError(f"{runs[0].path / FOLDER}: {fault}")
        return load_converted(runs[0], engine, threads or usable_cores())
    except ModelError as error:
        if must:
            raise
        notice(f"{error} The torch engine answers until then." if not fault else f"{fault}.")
        return None


def is_cpu(device: str) -> bool:
    if device == "cpu":
        return True
    from seqloom.runtime.engine_torch import find_device  # torch takes seconds, and knows what "auto" is here

    return find_device(device).type == "cpu"


def load_converted(run: RunFolder, asked: str, threads: int) -> "Engine":
    manifest = read_manifest(run)
    folder, size, made_for = run.path / FOLDER, run.config.decode.batch_size, manifest["engine"]
    if made_for not in CONVERTED or (asked in CONVERTED and asked != made_for):
        raise ModelError(f"{folder}: made for {made_for}; `seqloom export {run.path} --format {asked}` makes another.")
    if made_for == "onnx":
        if importlib.util.find_spec("onnxruntime") is None:
            raise ModelError(f"{folder}: ONNX Runtime is not installed: pip install 'seqloom[onnx]'.")
        from seqloom.runtime.engine_onnx import OnnxEngine

        return OnnxEngine(folder, len(run.tokenizers.target), size, threads)
    from seqloom.runtime.engine_ctranslate2 import CTranslate2Engine

    has_shortlist, longest = "vmap.txt" in manifest["files"], run.config.longest_output
    return CTranslate2Engine(folder, run.tokenizers, size, threads, shortlist=has_shortlist, longest=longest)


def hasten(model: "Seq2Seq", engine: str, batch_size: int) -> "Engine | None":
    """The engine of a recurrent model on a CPU; None where the reference engine answers."""
    from seqloom.models.rnn import RecurrentSeq2Seq
    from seqloom.runtime.engine_torch import RecurrentEngine

    if isinstance(model, RecurrentSeq2Seq) and engine != "torch" and next(model.parameters()).is_cpu:
        return RecurrentEngine(model, batch_size)
    if engine == "recurrent":
        raise UsageError("engine = 'recurrent' is for one recurrent model on a CPU; use auto")
    return None


def load_torch_model(runs: Sequence[RunFolder], threads: int | None, device: str) -> "Seq2Seq":
    """The model of the folder, or an ensemble of several. `threads` holds for the whole process: torch has one pool."""
    import torch

    from seqloom.decode.ensemble import Ensemble
    from seqloom.runtime.engine_torch import find_device

    place = find_device(device)
    if threads is not None:
        torch.set_num_threads(threads)
    members = [load_model(run) for run in runs]
    model = Ensemble(members) if len(members) > 1 else members[0]
    return model.to(place)


def usable_cores() -> int:
    """The cores this process may use; a container often gives fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
