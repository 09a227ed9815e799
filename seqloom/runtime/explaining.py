"""`explain` of every loaded model: what it did with a text, as the explain document.

model = seqloom.load("runs/x")
document = model.explain("a sentence", views=["attention"])
document.lanes[0].map("decoder.attention").values       -> NumPy array (target tokens, source tokens)
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from seqloom.explain.document import Explained
    from seqloom.inside.edits import Edit

Self = TypeVar("Self", bound="Explains")


class Explains:
    """Base of the loaded models: they know their folder and explain what they do."""

    folder: Path | None = None  # that it was loaded from

    def opened_from(self: Self, folder: Path) -> Self:
        """This model, which was loaded from a run folder."""
        self.folder = folder
        return self

    def explain(
        self,
        text: str,
        *,
        target: str | None = None,
        reference: str | None = None,
        views: Iterable[str] | None = None,
        sentences: Sequence[str] | None = None,
        beside: Sequence[Any] = (),
        top: int = 5,
        strict: bool = True,
        prefix: Sequence[int] = (),
        edits: "Sequence[Edit]" = (),
    ) -> "Explained":
        """What this model does with a text, as the explain document, whose maps are NumPy arrays.

        target: an output to explain instead of the model's own. reference: a translation to force through the search.
        views: names such as "attention" and "gates"; without them all that the model has. sentences: texts to measure
        attention heads and the axes of states on; without them held-out texts of the run. beside: other loaded models
        on the same text, one lane each. top: how many alternatives each step has. strict: a view that no model has is
        an error; otherwise a note says so. prefix: ids of tokens that the output
        must begin with. edits: heads switched off, attention or gates set by hand (seqloom.inside.edits).
        """
        from seqloom.inside.lanes import explain  # loads torch, which a converted translator does without

        models: list[Any] = [self, *beside]
        return explain(
            models,
            text,
            target=target,
            reference=reference,
            views=views,
            sentences=sentences,
            top=top,
            strict=strict,
            prefix=prefix,
            edits=edits,
        )
