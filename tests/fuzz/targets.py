"""What is fuzzed: every reader of a file or a body from outside, as a function of bytes.

A target takes any bytes. It returns, or raises one of the errors for people; everything else is a fault.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from seqloom.data.corpus import CorpusSpec, read_rows
from seqloom.data.store_checks import check_store
from seqloom.errors import DataError, ModelError, SeqloomError, UsageError
from seqloom.files.lock import holder
from seqloom.inside.curves import training_curves
from seqloom.runtime.checkpoints import newest_checkpoint
from seqloom.runtime.ctranslate2_check import check_files
from seqloom.runtime.engine_folder import read_manifest
from seqloom.runtime.folder import load_model, open_run, read_golden
from seqloom.runtime.onnx_check import BadGraph, check_graph
from seqloom.serve.body import parse_form, parse_json, parse_multipart
from seqloom.serve.messages import Said
from seqloom.serve.refusal import Refusal
from seqloom.text.charsmap import check_charsmap
from seqloom.text.sides import Tokenizers, load_tokenizer
from seqloom.training.metrics_log import cut_after
from seqloom.training.state import RunState
from seqloom.workflows.info import describe, render
from tests.fuzz.folder import good_folder, rehash
from tests.fuzz.samples import SAMPLES

Read = Callable[[Path], object]  # reads a folder in which one file was changed


@dataclass(frozen=True)
class Target:
    """run: reads bytes; refusals: the errors that it may raise; good: content to begin from."""

    run: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]
    good: Callable[[], bytes]
    json: bool = False  # values of the content may be exchanged, too


def data(ending: str) -> Target:
    """A data file of this format."""

    def run(content: bytes) -> None:
        with TemporaryDirectory() as folder:
            file = Path(folder) / f"a.{ending}"
            file.write_bytes(content)
            for row in read_rows(CorpusSpec.parse(str(file))):
                row.line.bit_length()

    return Target(run, (DataError, UsageError), lambda: SAMPLES[ending], ending == "json")


def part(name: str, read: Read, as_json: bool = False) -> Target:
    """A file of a model folder, whose manifests fit it again."""

    def run(content: bytes) -> None:
        with TemporaryDirectory() as place:
            folder = Path(place) / "model"
            shutil.copytree(good_folder(), folder, copy_function=os.link)  # the files are replaced, never changed
            (folder / name).unlink()
            (folder / name).write_bytes(content)
            for manifest in folder.rglob("manifest.json"):
                own = manifest.read_bytes()
                manifest.unlink()
                manifest.write_bytes(own)
            rehash(folder)
            read(folder)

    return Target(run, (SeqloomError,), lambda: (good_folder() / name).read_bytes(), as_json)


def load(folder: Path) -> None:
    load_model(open_run(folder))
    render(folder, describe(folder))


def encode(folder: Path) -> None:
    tokenizer = load_tokenizer(folder / "tokenizer" / "tokenizer.json")
    tokenizer.decode(tokenizer.encode("a b \u00e9\U0001f600 </s>"))
    tokenizer.pieces(range(len(tokenizer)))


def resume(folder: Path) -> None:
    if found := newest_checkpoint(folder / "checkpoints", lambda notice: None):
        RunState.from_json(found.state)
        found.tensors("model")


def store(folder: Path) -> None:
    sizes = [len(side.tokens()) for side in (Tokenizers.load(folder).source, Tokenizers.load(folder).target)]
    check_store(folder / "store", *sizes)


def log_of(folder: Path) -> None:
    training_curves([folder])
    cut_after(folder / "metrics.jsonl", 3)


def engine(content: bytes) -> None:
    """manifest.json of an engine, in a folder with its other files."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "model"
        shutil.copytree(good_folder(), folder, copy_function=os.link)
        (folder / "engine").mkdir(exist_ok=True)
        (folder / "engine" / "manifest.json").unlink(missing_ok=True)
        (folder / "engine" / "manifest.json").write_bytes(content)
        read_manifest(open_run(folder))


def model_bin(content: bytes) -> None:
    run = open_run(good_folder())
    with TemporaryDirectory() as place:
        (Path(place) / "config.json").write_text("{}", "utf-8")
        (Path(place) / "model.bin").write_bytes(content)
        check_files(Path(place), run.config, run.tokenizers)


def foreign(content: bytes) -> None:
    with TemporaryDirectory() as place:
        begin = b'{"foreign": ["[PAD]", "[CLS]", "[SEP]", "[MASK]"], "tokenizer": '
        (Path(place) / "t.json").write_bytes(begin + content + b"}")
        tokenizer = load_tokenizer(Path(place) / "t.json")
        tokenizer.decode(tokenizer.encode("the cat  is \u00c9\u0301 \U0001f600"))


def lock(content: bytes) -> None:
    with TemporaryDirectory() as place:
        (Path(place) / "lock").write_bytes(content)
        holder(Path(place) / "lock")


def body(content: bytes) -> None:
    msgspec.convert(parse_json(content), Said, strict=False)


def multipart(content: bytes) -> None:
    parse_multipart(content, "xyz")


REQUEST = (Refusal, msgspec.ValidationError)
TARGETS = {
    **{f"data.{ending}": data(ending) for ending in SAMPLES["data"].decode().split()},
    "run.json": part("run.json", load, as_json=True),
    "config.toml": part("config.toml", load),
    "model.safetensors": part("model.safetensors", load),
    "tokenizer.json": part("tokenizer/tokenizer.json", encode, as_json=True),
    "golden.json": part("golden.json", lambda folder: read_golden(folder / "golden.json"), as_json=True),
    "metrics.jsonl": part("metrics.jsonl", log_of),
    "state.json": part("checkpoints/step-00000003/state.json", resume, as_json=True),
    "checkpoint manifest": part("checkpoints/step-00000003/manifest.json", resume, as_json=True),
    "checkpoint tensors": part("checkpoints/step-00000003/model.safetensors", resume),
    "store manifest": part("store/manifest.json", store, as_json=True),
    "store ids": part("store/train/source.ids", store),
    "store starts": part("store/train/target.starts", store),
    "store texts": part("store/valid/texts.jsonl", store),
    "engine manifest": Target(engine, (ModelError,), lambda: SAMPLES["engine"], json=True),
    "onnx": Target(check_graph, (BadGraph,), lambda: SAMPLES["onnx"]),
    "model.bin": Target(model_bin, (ValueError,), lambda: SAMPLES["model.bin"]),
    "foreign tokenizer": Target(foreign, (ModelError,), lambda: SAMPLES["foreign"], json=True),
    "charsmap": Target(lambda content: check_charsmap(content.decode("latin-1")), (ModelError,), lambda: b"AAQAAA=="),
    "lock": Target(lock, (), lambda: json.dumps({"pid": 1, "host": "a", "since": "b"}).encode(), json=True),
    "json body": Target(body, REQUEST, lambda: SAMPLES["body"], json=True),
    "form body": Target(parse_form, REQUEST, lambda: b"q=a+b&source=en&target=de&q=c"),
    "multipart body": Target(multipart, REQUEST, lambda: SAMPLES["multipart"]),
}
