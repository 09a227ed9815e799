"""What the house rules look at: source files with their imports, and the sentences of a broken rule."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Import:
    line: int
    name: str  # dotted, with the imported name: seqloom.nn.cells.CELLS
    in_function: bool = False
    for_types: bool = False  # under `if TYPE_CHECKING`: it never runs


@dataclass(frozen=True)
class Source:
    name: str  # seqloom/nn/cells.py
    text: str
    tree: ast.Module

    @classmethod
    def of(cls, name: str, text: str) -> "Source":
        """A file with this name and this text; a test of a rule makes one up."""
        return cls(name, text, ast.parse(text, name))

    @property
    def module(self) -> str:
        """Its dotted name below the package: `nn.cells`; a package is its own name."""
        parts = Path(self.name).with_suffix("").parts[1:]
        return ".".join(part for part in parts if part != "__init__")

    @property
    def folder(self) -> str:
        """The row of the layer table that holds for it: `nn`, `errors`, `__init__`."""
        return self.module.partition(".")[0] or "__init__"

    @property
    def imports(self) -> list[Import]:
        return [*imports_below(self.tree)]


def imports_below(node: ast.AST, in_function: bool = False, for_types: bool = False) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(child.lineno, alias.name, in_function, for_types)
        elif isinstance(child, ast.ImportFrom):
            base = "." * child.level + (child.module or "")
            for alias in child.names:
                yield Import(child.lineno, f"{base}.{alias.name}", in_function, for_types)
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for part, typing in ((child.body, True), (child.orelse, for_types)):
                yield from imports_below(ast.Module(part, []), in_function, typing)
        else:
            inside = in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from imports_below(child, inside, for_types)


def read_sources() -> list[Source]:
    files = sorted((ROOT / "seqloom").rglob("*.py"))
    assert files
    return [Source.of(file.relative_to(ROOT).as_posix(), file.read_text("utf-8")) for file in files]


@dataclass(frozen=True)
class Rule:
    """A rule of the house: what it says, why it is there, what to do when it is broken."""

    says: str
    why: str
    do: str

    def broken(self, where: str, found: str, *, why: str = "", do: str = "") -> str:
        """The message for one place, `file:line`; `why` and `do` where the place knows them more exactly."""
        return f"{where}: {found}\n  rule: {self.says}\n  why:  {why or self.why}\n  do:   {do or self.do}"


def show(messages: list[str]) -> str:
    """All broken places, for an assertion."""
    return f"{len(messages)} broken:\n\n" + "\n\n".join(messages)
