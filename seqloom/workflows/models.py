"""seqloom models: the bundled models, and which model and input the words of a command mean."""

from dataclasses import dataclass
from typing import Any

from seqloom.errors import ModelError
from seqloom.runtime.bundled import BOX, DEFAULT, NAMES, find_model, is_installed
from seqloom.runtime.bundled import model_and_input as model_and_input
from seqloom.runtime.folder import read_facts
from seqloom.runtime.folder_sizes import size_of


@dataclass(frozen=True)
class Bundled:
    """A model in the box."""

    name: str
    about: str
    bytes: int
    params: int | None
    measured: str | None
    licence: str | None

    def to_json(self) -> dict[str, Any]:
        return vars(self)


def bundled_models() -> list[Bundled]:
    """The bundled models of this installation; ModelError if it has none."""
    found = []
    for name, about in NAMES.items():
        if is_installed(name):
            folder = find_model(BOX / name)
            facts = read_facts(folder)
            found.append(Bundled(name, about, size_of(folder), facts.params, facts.measured, facts.licence))
    if not found:
        raise ModelError(
            f"this installation of Seqloom has no bundled models ({BOX} is empty). Install a released wheel, or "
            "train a model of your own: seqloom train pairs.tsv --out runs/x"
        )
    return found


def render(models: list[Bundled]) -> str:
    """One block per model for people."""
    lines = []
    for model in models:
        usual = " (used where no model is named)" if model.name == DEFAULT else ""
        size = "" if model.params is None else f", {model.params / 1e6:.1f} M parameters"
        lines.append(f"{model.name:<11} {model.about}{usual}")
        details = (f"{model.bytes / 1e6:.1f} MB{size}", model.measured, model.licence)
        lines += [f"{'':<11} {detail}" for detail in details if detail]
    return "\n".join(lines)
