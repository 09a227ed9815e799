"""The tree of a search in the terminal: the answer as a list of tokens, below each token what was tried instead."""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from seqloom.explain.document import Lane, Node
from seqloom.explain.heatmap import safe, token


def beam(lane: Lane) -> Iterable[RenderableType]:
    """The search as a tree, then the reference and the verdict."""
    assert lane.beam is not None
    children: dict[int, list[Node]] = {}
    for node in sorted(lane.beam.nodes, key=lambda one: one.rank):
        children.setdefault(node.parent, []).append(node)
    root = Tree(Text(f"beam of {lane.beam.width}: the answer, and below each token what was tried instead", "bold"))
    grow(root, -1, children)
    yield root
    if lane.beam.reference:
        table = Table("reference", "rank", "margin", "in the beam", box=None, pad_edge=False, header_style="dim")
        for row in lane.beam.reference:
            kept = "yes" if row.in_beam else "no"
            table.add_row(Text(token(row.token.piece)), str(row.rank), f"{row.margin:.2f}", kept)
        yield table
        yield Text(safe(lane.beam.verdict), "bold")


def grow(tree: Tree, parent: int, children: dict[int, list[Node]]) -> None:
    """Add the nodes below `parent`. The answer is a list and not a branch: a long sentence would leave the screen."""
    while below := children.get(parent, []):
        best = next((node for node in below if node.best), None)
        place = tree.add(branch_text([best])) if best else tree
        for node in below:
            if node is not best:
                add_branch(place, node, children)
        if best is None:
            return
        parent = best.id


def add_branch(tree: Tree, node: Node, children: dict[int, list[Node]]) -> None:
    """A branch beside the answer; a chain of single children is one line."""
    chain = [node]
    while len(below := children.get(chain[-1].id, [])) == 1:
        chain += below
    grow(tree.add(branch_text(chain)), chain[-1].id, children)


def branch_text(chain: Sequence[Node]) -> Text:
    last = chain[-1]
    text = Text(" ".join(token(node.token.piece) for node in chain), "bold" if last.best else "")
    text.append(f"  {last.score:.2f}", "dim")
    if last.fate != "kept":
        text.append(f"  {last.fate}{f': {safe(last.reason)}' if last.reason else ''}", "dim")
    return text
