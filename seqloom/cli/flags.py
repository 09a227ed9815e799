"""Groups of options that several commands share. Each is declared once and flattened into the command line."""

import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter, default_name_transform

from seqloom.data.read_as import ReadAs
from seqloom.decode.options import SearchRequest, offered_by
from seqloom.errors import UsageError

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


@dataclass(frozen=True, slots=True)
class BulkFlags:
    """Options for a large file: where the output goes and who works."""

    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = field(
        default=None,
        metadata={
            "help": "write the output to this new file, in chunks: a stopped command continues when it is repeated; "
            ".gz packs it"
        },
    )
    workers: int | None = field(
        default=None,
        metadata={"help": "with --out: number of worker processes, each with one thread [default: 1]"},
    )
    ray: str | None = field(
        default=None,
        metadata={"help": "with --out: work on a Ray cluster: HOST:PORT, auto or local (extra scale)"},
    )

    def check(self) -> None:
        """Refuse workers without an output file: only a file can be written in order and continued."""
        if self.out is None and (self.workers is not None or self.ray is not None):
            option = "--workers" if self.workers is not None else "--ray"
            raise UsageError(f"{option}: needs --out FILE, where the output goes")


NO_BULK = BulkFlags()
BULK_FLAGS = flattened("bulk", "out", "workers", "ray")
