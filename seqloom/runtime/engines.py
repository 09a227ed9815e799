"""Chooses the engine that runs a model: the converted one in its folder, else torch, if possible with a faster step.

auto          the fastest that is available and fits
ctranslate2   engine/ of the folder, for Transformers, or an error that says what is wrong with it; compact weights
              need no engine/
onnx          the same for recurrent models
recurrent     torch with a faster step, for recurrent models on a CPU
torch         the reference: the weights themselves, through the contract of models
"""

import importlib.util
import os
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from seqloom.errors import ModelError, UsageError, did_you_mean
from seqloom.models.compact_weights import is_compact
from seqloom.models.stored_shapes import read_shapes
from seqloom.runtime.ctranslate2_check import check_binary, check_files
from seqloom.runtime.ctranslate2_files import model_files
from seqloom.runtime.engine_ctranslate2 import CTranslate2Engine
from seqloom.runtime.engine_folder import FOLDER, has_engine, read_manifest, why_not
from seqloom.runtime.folder import RunFolder, check_hash, load_model
from seqloom.runtime.transformer_weights import TransformerWeights

if TYPE_CHECKING:
    from seqloom.models.api import Seq2Seq
    from seqloom.runtime.parts import Engine

CONVERTED = ("ctranslate2", "onnx")  # what engine/ may hold
ENGINES = ("auto", *CONVERTED, "recurrent", "torch")
MOST_THREADS = 1024  # more must be a typo
Notice = Callable[[str], None]


def check_request(engine: str, threads: int | None) -> None:
    if engine not in ENGINES:
        raise UsageError(f"engine = {engine!r}: want {', '.join(ENGINES)}.{did_you_mean(engine, ENGINES)}")
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"threads = {threads}: want 1 to {MOST_THREADS}")


def open_converted(
    runs: Sequence[RunFolder], engine: str, threads: int | None, device: str, notice: Notice
) -> "Engine | None":
    """The engine in engine/; None if torch must be used, with a notice if the user did not ask for that."""
    must = engine in CONVERTED
    if engine in ("torch", "recurrent") or (not must and (runs[0].checkpoint or not can_convert(runs[0]))):
        return None
    if len(runs) > 1 and must:
        raise UsageError(f"--engine {engine}: an ensemble runs only on the torch engine; leave out --engine")
    fault = "an ensemble needs the torch engine" if len(runs) > 1 else ""
    if runs[0].checkpoint:
        fault = f"training has not finished; `seqloom finish {runs[0].path}` makes one"
    if engine == "ctranslate2" and not fault:
        fault = why_not(runs[0].config)
    if not fault and not is_cpu(device):
        fault = f"only the torch engine runs on device {device}"
    try:
        if fault:
            raise ModelError(f"{runs[0].path / FOLDER}: {fault}")
        return load_converted(runs[0], engine, threads or usable_cores())
    except ModelError as error:
        if must:
            raise
        notice(f"{error} Until then the torch engine is used." if not fault else f"{fault}.")
        return None


def is_cpu(device: str) -> bool:
    if device == "cpu":
        return True
    from seqloom.runtime.engine_torch import find_device  # torch takes seconds to import; only it can resolve "auto"

    return find_device(device).type == "cpu"


def can_convert(run: RunFolder) -> bool:
    """Whether a folder has an engine, or compact weights that CTranslate2 can run without one."""
    return has_engine(run.path) or (not why_not(run.config) and is_compact(run.weights))


def load_converted(run: RunFolder, asked: str, threads: int) -> "Engine":
    if asked != "onnx" and not has_engine(run.path) and is_compact(run.weights):
        return load_compact(run, threads)
    manifest = read_manifest(run)
    folder, size, made_for = run.path / FOLDER, run.config.decode.batch_size, manifest.engine
    if made_for not in CONVERTED or (asked in CONVERTED and asked != made_for):
        raise ModelError(f"{folder}: made for {made_for}; `seqloom export {run.path} --format {asked}` makes another.")
    if made_for == "onnx":
        if importlib.util.find_spec("onnxruntime") is None:
            raise ModelError(f"{folder}: ONNX Runtime is not installed: pip install 'seqloom[onnx]'.")
        from seqloom.runtime.engine_onnx import OnnxEngine

        return OnnxEngine(folder, len(run.tokenizers.target), size, threads)
    try:
        check_files(folder, run.config, run.tokenizers)
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder}: not an engine of this model: {error}.") from None
    has_shortlist, longest = "vmap.txt" in manifest.files, run.config.longest_output
    return CTranslate2Engine(folder, run.tokenizers, size, threads, shortlist=has_shortlist, longest=longest)


def load_compact(run: RunFolder, threads: int) -> "Engine":
    """CTranslate2 on compact weights, whose files for it are made in memory."""
    check_hash(run)
    read_shapes(run.weights)  # names what is wrong with a damaged file
    try:
        files = model_files(TransformerWeights.read(run.config, run.weights), run.tokenizers, "int8")
        check_binary(BytesIO(files["model.bin"]), run.config, run.tokenizers)
    except ValueError as error:
        raise ModelError(
            f"{run.weights}: not the weights of this model: {error}. Copy the whole folder again."
        ) from None
    size, longest = run.config.decode.batch_size, run.config.longest_output
    return CTranslate2Engine(run.weights, run.tokenizers, size, threads, longest=longest, files=files)


def faster_engine(model: "Seq2Seq", engine: str, batch_size: int) -> "Engine | None":
    """The faster engine for a recurrent model on a CPU; None if the reference engine must be used."""
    from seqloom.models.rnn import RecurrentSeq2Seq
    from seqloom.runtime.engine_torch import RecurrentEngine

    if isinstance(model, RecurrentSeq2Seq) and engine != "torch" and next(model.parameters()).is_cpu:
        return RecurrentEngine(model, batch_size)
    if engine == "recurrent":
        raise UsageError("engine = 'recurrent' is for one recurrent model on a CPU; use auto")
    return None


def load_torch_model(runs: Sequence[RunFolder], threads: int | None, device: str) -> "Seq2Seq":
    """The model of a folder, or an ensemble of several; `threads` sets the torch threads of the whole process."""
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
