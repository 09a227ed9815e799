"""The views: what `seqloom explain --view NAME` can show. Adding one is a function in a file of this folder and a row.

The functions are imported when they are used: checking a name and printing help need no torch.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from seqloom.config import TASKS, Config, families_of
from seqloom.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from seqloom.inside.subject import Options, Parts, Subject

EVERY = ("writes", "restores", "labels", "tags", "fills", "continues")
WRITES = ("writes", "restores")


@dataclass(frozen=True, slots=True)
class View:
    """A view: what it shows, which families have it for which shapes of answer, and its function."""

    help: str  # one sentence for a person who has never seen it
    families: Mapping[str, tuple[str, ...]]  # family -> shapes of answers (config/tasks.py)
    function: str  # module:name of a function (Subject, Options) -> Parts, which may raise Lacks

    def fits(self, config: Config) -> bool:
        return TASKS[config.task.name].shape in self.families.get(config.model.kind, ())

    def measure(self, subject: "Subject", options: "Options") -> "Parts":
        module, _, name = self.function.partition(":")
        function: Callable[[Any, Any], Parts] = getattr(import_module(module), name)
        return function(subject, options)


VIEWS: dict[str, View] = {  # in the order in which they are shown
    "attention": View(
        "attention to the source: where the model looks to write each token",
        {"rnn": WRITES, "transformer": WRITES, "gpt": ("writes",)},
        "seqloom.inside.attention:attention",
    ),
    "self": View(
        "self-attention: which tokens of the same text each token looks at, per layer and head",
        {"transformer": EVERY, "gpt": EVERY},
        "seqloom.inside.attention:self_attention",
    ),
    "heads": View(
        "what each attention head does (looks at the token before, at punctuation, at all alike), over many sentences",
        {"transformer": EVERY, "gpt": EVERY},
        "seqloom.inside.heads:heads",
    ),
    "gates": View(
        "the gates, cells and states of recurrent cells (LSTM, GRU) over time",
        {"rnn": EVERY},
        "seqloom.inside.gates:gates",
    ),
    "gradients": View(
        "gradient flow: how strongly each prediction depends on each token, trained and before training",
        {"rnn": EVERY, "transformer": EVERY, "gpt": EVERY, "bag": ("labels",)},
        "seqloom.inside.flow:gradients",
    ),
    "attribution": View(
        "which source tokens and which tokens already written each prediction came from",
        {"rnn": EVERY, "transformer": EVERY, "gpt": EVERY, "bag": ("labels",)},
        "seqloom.inside.attribution:attribution",
    ),
    "states": View(
        "the path of the encoder's and decoder's states on the axes of their largest variance (PCA)",
        {"rnn": EVERY, "transformer": EVERY, "gpt": EVERY},
        "seqloom.inside.states:states",
    ),
    "beam": View(
        "the tree of the search: what was tried, what was pruned and why, where a reference fell out",
        {"rnn": WRITES, "transformer": WRITES, "gpt": ("writes",)},
        "seqloom.inside.beam_tree:beam",
    ),
    "lens": View(
        "what the model would say from an earlier layer, or after the first words of the source",
        {"rnn": WRITES, "transformer": EVERY, "gpt": EVERY},
        "seqloom.inside.lens:lens",
    ),
    "positions": View(
        "the positional encodings, and how alike two positions are",
        {"transformer": EVERY, "gpt": EVERY},
        "seqloom.inside.positions:positions",
    ),
}
EDITABLE = ("attention", "self", "gates", "gradients", "attribution", "beam")  # views that follow edits by hand
CURVES = "curves"  # shows runs instead of a text: seqloom/inside/curves.py


def check_views(names: Iterable[str], known: Iterable[str] = (*VIEWS, CURVES)) -> list[str]:
    """These names, each once; a name may be several with commas between; UsageError for a view that does not exist."""
    several = [names] if isinstance(names, str) else names
    for name in (found := list(dict.fromkeys(name for each in several for name in each.split(",")))):
        if name not in known:
            raise UsageError(f"--view {name}: no such view.{did_you_mean(name, known)} Views: {', '.join(known)}.")
    return found


def not_edited(name: str) -> str:
    """Why a view is not shown of a model with edits; empty if it is."""
    return "" if name in EDITABLE else f"not shown with edits; these are: {', '.join(EDITABLE)}"


def why_not(name: str, config: Config) -> str:
    """Why a model of these settings does not have a view, and who has it; empty if its family has it."""
    view, task = VIEWS[name], config.task.name
    if view.fits(config):
        return ""
    shape = TASKS[task].shape
    having = [family for family in families_of(shape) if shape in view.families.get(family, ())]
    if having:
        kinds = " and ".join(filter(None, [", ".join(having[:-1]), having[-1]]))
        return f"model.kind = {config.model.kind} has no such view; models of kind {kinds} have it"
    tasks = [other for other in TASKS if any(TASKS[other].shape in shapes for shapes in view.families.values())]
    return f"a model trained for {task!r} has no such view; models trained for {', '.join(tasks)} have it"
