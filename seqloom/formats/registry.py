"""The formats that `seqloom export` writes: one row per format, one file per format and direction.

To add a format: a file export_NAME.py with a check and a writer, and a row here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from seqloom.formats.check_engine import EngineOptions, Tell
from seqloom.formats.export_compact import check_compact, export_compact
from seqloom.formats.export_ctranslate2 import check_ctranslate2, export_ctranslate2, make_ctranslate2_engine
from seqloom.formats.export_hugging_face import check_hf, export_hf
from seqloom.formats.export_onnx import check_onnx, export_onnx, make_onnx_engine
from seqloom.runtime.folder import RunFolder


@dataclass(frozen=True)
class Format:
    """How a model is written in one format, and which options of `export` the format takes."""

    check: Callable[[RunFolder], None]  # UsageError for a model that cannot be exported to it
    write: Callable[[RunFolder, Path], None]  # writes into an empty folder
    make_engine: Callable[[RunFolder, EngineOptions, Tell], Path] | None = None  # writes engine/ of the run folder
    options: frozenset[str] = frozenset()  # int8, data, shortlist


FORMATS = {
    "ctranslate2": Format(
        check_ctranslate2,
        export_ctranslate2,
        make_ctranslate2_engine,
        frozenset({"int8", "data", "shortlist"}),
    ),
    "compact": Format(check_compact, export_compact),
    "hf": Format(check_hf, export_hf),
    "onnx": Format(check_onnx, export_onnx, make_onnx_engine, frozenset({"int8", "data"})),
}
