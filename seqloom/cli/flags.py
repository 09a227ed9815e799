"""Groups of options that several commands share. Each is declared once and flattened into the command line."""

import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from cyclopts import Group, Parameter, default_name_transform

from seqloom.data.read_as import ReadAs
from seqloom.decode.options import SearchRequest, offered_by

DATA_OPTIONS = tuple(option.name for option in fields(ReadAs))
NO_OPTIONS = SearchRequest()


def search_flags(verb: str) -> Parameter:
    """The search options that a command offers: `search: Annotated[SearchRequest, search_flags("chat")]`."""
    return flattened("search", *offered_by(verb))


def rival_flags(verb: str) -> Parameter:
    """The same options once more, for the other side of a comparison: `--against-beam`."""
    panel = Group("Search options of --against (default: the option above)", sort_key=1)
    return flattened("against_search", *offered_by(verb), prefix="against-", group=panel)


def flattened(*names: str, prefix: str = "", **more: Any) -> Parameter:
    """A parameter that is a group of options; of its fields, only these become options of the command."""
    only = re.compile(f"^(?:{'|'.join(names)})$")
    return Parameter(
        name="*",
        parse=only,
        help="options that several commands share",
        name_transform=lambda name: prefix + default_name_transform(name),
        **more,
    )


DATA_FLAGS = flattened("reading", *DATA_OPTIONS)  # how files are read: `reading: Annotated[ReadAs, DATA_FLAGS]`


@dataclass(frozen=True, slots=True)
class ModelFlags:
    """The models of an ensemble, the threads and the engine."""

    with_: tuple[Path, ...] = field(
        default=(),
        metadata={"help": "another model, to translate with an ensemble; may be given several times"},
    )
    threads: int | None = field(default=None, metadata={"help": "number of threads [default: all cores]"})
    engine: str = field(
        default="auto",
        metadata={"help": "auto, ctranslate2, onnx, recurrent or torch; auto = the fastest one in the folder"},
    )


ALL_MODEL_FLAGS = ModelFlags()
