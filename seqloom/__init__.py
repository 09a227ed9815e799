"""Seqloom weaves one sequence into another: bring a two-column file, get a trained, measured, translating model.

    seqloom.train("pairs.tsv", out="runs/x")
    seqloom.load("runs/x").translate("a sentence")

Names are loaded when they are first used, so that `import seqloom` and `seqloom --help` do not wait for torch.
"""

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqloom.runtime.answering import Answering
    from seqloom.runtime.translator import Translator
    from seqloom.workflows.train import train

__version__ = "0.1.0"
__all__ = ["Translator", "__version__", "load", "train"]

LAZY = {"Translator": "seqloom.runtime.translator", "train": "seqloom.workflows.train"}


def load(folder: str | Path, threads: int | None = None, device: str = "cpu") -> "Answering":
    """The model in a run folder, ready to answer: a Translator, or what labels texts, tags words or fills gaps."""
    from seqloom.runtime.answering import load_answering

    return load_answering([Path(folder)], threads, device=device)


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module 'seqloom' has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(LAZY[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__


class Package(ModuleType):
    """`seqloom.train` is the function. Python would put the folder of that name in its place once it is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "train" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = Package
