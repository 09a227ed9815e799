"""Initialise a new model from an old one (fine-tuning): copy every tensor whose name and shape match.

Weights have the same names in all kinds of models. So the encoder of a BERT can initialise a classifier, a tagger or a
translator; the blocks of a GPT a decoder; and a denoising model a whole translator.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from seqloom.text.vocabulary import FIRST_WORD

TARGET_SIDE = ("output.", "target_table.")  # one row per token of the target vocabulary
POSITION_TABLE = "positions.table"  # one row per position: a short table fills the first rows of a longer one


@dataclass
class Taken:
    """Where each tensor of the new model came from, by name."""

    whole: list[str] = field(default_factory=list)  # copied whole
    begun: dict[str, int] = field(default_factory=dict)  # position tables: number of rows that were copied
    labels: dict[str, str] = field(default_factory=dict)  # output layers of labels: "2 of 3 labels" were copied
    shared: dict[str, str] = field(default_factory=dict)  # another name of a tensor -> the name it is listed under
    new: dict[str, str] = field(default_factory=dict)  # not copied: the reason
    unused: list[str] = field(default_factory=list)  # tensors of the old model that were not copied

    @property
    def names(self) -> list[str]:
        """The tensors copied from the old model, each once; without output layers that also have rows of new labels."""
        return [*self.whole, *self.begun]


@torch.no_grad()
def take_over(model: nn.Module, old: Mapping[str, Tensor], same_target: bool) -> Taken:
    """Copy every tensor that matches.

    `old` is a whole state_dict, with tied tensors under each of their names. `same_target`: both models have the same
    target vocabulary, so rows of their output layers mean the same tokens.
    """
    tensors = model.state_dict(keep_vars=True)
    listed: dict[int, str] = {}  # a tensor that two layers share is filled once, under the first name that matches
    taken = Taken()
    for name, tensor in tensors.items():
        if id(tensor) not in listed and not misfit(name, tensor, old.get(name), same_target):
            listed[id(tensor)] = name
            rows = fill(name, tensor, old[name])
            if rows < len(tensor):
                taken.begun[name] = rows
            else:
                taken.whole.append(name)
    for name, tensor in tensors.items():
        first = listed.setdefault(id(tensor), name)
        if first != name:
            taken.shared[name] = first
        elif name not in taken.names:
            taken.new[name] = misfit(name, tensor, old.get(name), same_target)
    taken.unused = unused_of(old, taken.names)
    return taken


@torch.no_grad()
def take_labels(model: nn.Module, old: Mapping[str, Tensor], taken: Taken, rows: Mapping[int, int]) -> None:
    """Copy the rows of labels that both models know (new row -> old row) into an output layer that was not copied."""
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
    """Copy a tensor, or the rows that two position tables have in common; returns the number of rows copied."""
    rows = min(len(tensor), len(source)) if name.endswith(POSITION_TABLE) else len(tensor)
    tensor[:rows] = source[:rows].to(tensor)
    return rows


def misfit(name: str, tensor: Tensor, source: Tensor | None, same_target: bool) -> str:
    """The reason why a tensor cannot be copied; empty if it can."""
    if source is None:
        return "not there"
    if not same_target and name.startswith(TARGET_SIDE):
        return "another vocabulary"
    here, there = list(tensor.shape), list(source.shape)
    if name.endswith(POSITION_TABLE):
        here, there = here[1:], there[1:]
    return "" if here == there else f"shape {here} here, {there} there"


def unused_of(old: Mapping[str, Tensor], taken: Collection[str]) -> list[str]:
    """Tensors of the old model that were copied under none of their names."""
    used = {old[name].data_ptr() for name in taken}
    return [name for name, tensor in old.items() if tensor.data_ptr() not in used]


def render_taken(taken: Taken, origin: str) -> str:
    """One line per part of the model: `encoder: 36 tensors from runs/bert`; in a mixed part, what is new is listed."""
    lines = []
    for part in dict.fromkeys(map(part_of, [*taken.names, *taken.labels, *taken.shared, *taken.new])):
        whole = [name for name in taken.whole if part_of(name) == part]
        words = [f"{count(len(whole))} from {origin}"] if whole else []
        words += [
            f"the first {rows} positions from {origin}, the others new"
            for name, rows in taken.begun.items()
            if part_of(name) == part
        ]
        some = {labels for name, labels in taken.labels.items() if part_of(name) == part}  # weight and bias alike
        words += [f"{labels} from {origin}" for labels in some]
        words += [f"shares {name} with {first}" for name, first in taken.shared.items() if part_of(name) == part]
        new = {name: why for name, why in taken.new.items() if part_of(name) == part}
        lines.append(f"  {part}: {'; '.join([*words, *render_new(new, alone=not words)])}")
    if taken.unused:
        lines.append(f"  in {origin} but not used: {render_groups(taken.unused)}")
    return "\n".join(lines)


def part_of(name: str) -> str:
    return name.partition(".")[0]


def render_new(new: Mapping[str, str], alone: bool) -> list[str]:
    """Newly initialised tensors, grouped by the reason."""
    groups = []
    for why in dict.fromkeys(new.values()):
        names = [name for name, reason in new.items() if reason == why]
        what = count(len(names)) if alone else render_groups(names)
        groups.append(f"new: {what} ({why})")
    return groups


def render_groups(names: Collection[str]) -> str:
    """Number of tensors per kind of layer, over all depths: `decoder.*.cross (24)`."""
    groups: dict[str, int] = {}
    for name in names:
        parts = ["*" if part.isdigit() else part for part in name.split(".")]
        group = ".".join(parts[:3] if "*" in parts[:2] else parts[:1])
        groups[group] = groups.get(group, 0) + 1
    return ", ".join(f"{group} ({number})" for group, number in groups.items())


def count(number: int) -> str:
    return f"{number} tensor{'s' * (number != 1)}"
