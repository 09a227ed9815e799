"""What a new model takes from an old one: every tensor whose name and shape fit.

Weights have the same names in all shapes of a model, so a BERT's encoder becomes that of a classifier, a tagger or a
translator, a GPT's blocks a decoder, and a denoiser everything.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from seqloom.text.vocabulary import FIRST_WORD

TARGET_SIDE = ("output.", "target_table.")  # a row a token of the target's vocabulary
PLACES = "positions.table"  # a row a place: a shorter table is the begin of a longer one


@dataclass
class Taken:
    """What became of each name of the new model's tensors."""

    whole: list[str] = field(default_factory=list)
    begun: dict[str, int] = field(default_factory=dict)  # tables of places: so many rows are from the old one
    labels: dict[str, str] = field(default_factory=dict)  # layers of labels: "2 of 3 labels" are from the old one
    shared: dict[str, str] = field(default_factory=dict)  # a further name of a tensor that is told of
    new: dict[str, str] = field(default_factory=dict)  # why
    unused: list[str] = field(default_factory=list)  # of the old model

    @property
    def names(self) -> list[str]:
        """All that came from the old model, each tensor once; not what has rows of new labels, which are to learn."""
        return [*self.whole, *self.begun]


@torch.no_grad()
def take_over(model: nn.Module, old: Mapping[str, Tensor], same_target: bool) -> Taken:
    """Copy what fits. `old`: a whole state_dict, tied tensors under each of their names; `same_target`: both models
    say words of one vocabulary, so that rows of the output mean the same."""
    tensors = model.state_dict(keep_vars=True)
    told: dict[int, str] = {}  # a tensor that two layers share is filled once, by the first name that fits
    taken = Taken()
    for name, tensor in tensors.items():
        if id(tensor) not in told and not misfit(name, tensor, old.get(name), same_target):
            told[id(tensor)] = name
            rows = fill(name, tensor, old[name])
            if rows < len(tensor):
                taken.begun[name] = rows
            else:
                taken.whole.append(name)
    for name, tensor in tensors.items():
        first = told.setdefault(id(tensor), name)
        if first != name:
            taken.shared[name] = first
        elif name not in taken.names:
            taken.new[name] = misfit(name, tensor, old.get(name), same_target)
    taken.unused = unused_of(old, taken.names)
    return taken


@torch.no_grad()
def take_labels(model: nn.Module, old: Mapping[str, Tensor], taken: Taken, rows: Mapping[int, int]) -> None:
    """Copy the rows of labels that both models know (row here -> row there) into a layer of labels that is new."""
    tensors, here, there = model.state_dict(), [*rows], [*rows.values()]
    known = sum(row >= FIRST_WORD for row in rows)
    for name in [name for name in taken.new if name.startswith("output.")]:
        if not known or name not in old or old[name].shape[1:] != tensors[name].shape[1:]:
            continue
        tensors[name][here] = old[name][there].to(tensors[name])
        del taken.new[name]
        labels = len(tensors[name]) - FIRST_WORD
        if known == labels:
            taken.whole.append(name)
        else:
            taken.labels[name] = f"{known} of {labels} labels"
    taken.unused = unused_of(old, [*taken.names, *taken.labels])


def fill(name: str, tensor: Tensor, source: Tensor) -> int:
    """How many rows were taken: all, or of a table of places those that both have."""
    rows = min(len(tensor), len(source)) if name.endswith(PLACES) else len(tensor)
    tensor[:rows] = source[:rows].to(tensor)
    return rows


def misfit(name: str, tensor: Tensor, source: Tensor | None, same_target: bool) -> str:
    """Why a tensor cannot be taken; empty when it can."""
    if source is None:
        return "not there"
    if not same_target and name.startswith(TARGET_SIDE):
        return "another vocabulary"
    here, there = list(tensor.shape), list(source.shape)
    if name.endswith(PLACES):
        here, there = here[1:], there[1:]
    return "" if here == there else f"shape {here} here, {there} there"


def unused_of(old: Mapping[str, Tensor], taken: Collection[str]) -> list[str]:
    """Tensors of the old model that nobody took, under none of their names."""
    used = {old[name].data_ptr() for name in taken}
    return [name for name, tensor in old.items() if tensor.data_ptr() not in used]


def render_taken(taken: Taken, origin: str) -> str:
    """A line a part of the model: `encoder: 36 tensors from runs/bert`; a part that is mixed names what is new."""
    lines = []
    for part in dict.fromkeys(map(part_of, [*taken.names, *taken.labels, *taken.shared, *taken.new])):
        whole = [name for name in taken.whole if part_of(name) == part]
        said = [f"{count(len(whole))} from {origin}"] if whole else []
        said += [
            f"the first {rows} places from {origin}, the others new"
            for name, rows in taken.begun.items()
            if part_of(name) == part
        ]
        some = {labels for name, labels in taken.labels.items() if part_of(name) == part}  # of weight and bias the same
        said += [f"{labels} from {origin}" for labels in some]
        said += [f"shares {name} with {first}" for name, first in taken.shared.items() if part_of(name) == part]
        new = {name: why for name, why in taken.new.items() if part_of(name) == part}
        lines.append(f"  {part}: {'; '.join([*said, *render_new(new, alone=not said)])}")
    if taken.unused:
        lines.append(f"  not used of {origin}: {render_groups(taken.unused)}")
    return "\n".join(lines)


def part_of(name: str) -> str:
    return name.partition(".")[0]


def render_new(new: Mapping[str, str], alone: bool) -> list[str]:
    """What begins afresh, by the reason for it."""
    said = []
    for why in dict.fromkeys(new.values()):
        names = [name for name, reason in new.items() if reason == why]
        what = count(len(names)) if alone else render_groups(names)
        said.append(f"new: {what} ({why})")
    return said


def render_groups(names: Collection[str]) -> str:
    """How many tensors under each layer, its number left out: `decoder.*.cross (24)`."""
    groups: dict[str, int] = {}
    for name in names:
        parts = ["*" if part.isdigit() else part for part in name.split(".")]
        group = ".".join(parts[:3] if "*" in parts[:2] else parts[:1])
        groups[group] = groups.get(group, 0) + 1
    return ", ".join(f"{group} ({number})" for group, number in groups.items())


def count(number: int) -> str:
    return f"{number} tensor{'s' * (number != 1)}"
