"""The explain document as PNG and SVG: every view, the same bytes each time, and clear refusals."""

import re

import msgspec
import numpy as np
import pytest

from seqloom.errors import UsageError
from seqloom.explain import picture as module
from seqloom.explain.document import VIEWS, Decay, Explained, Heads, Map
from seqloom.explain.panels import points
from seqloom.explain.picture import EDGE, picture
from tests import explain_documents as documents

pytest.importorskip("matplotlib")


def texts_in(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.decode())


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_a_picture_with_its_words(view):
    small = {"source": "a small cat", "target": "un petit chat"}
    document = documents.everything(**small)
    words = texts_in(picture(document, view, "svg"))
    wanted = {
        "attention": ["decoder.attention", "decoder.cross.1, mean over the heads", "petit", "small"],
        "self": ["encoder.self.0, mean over the heads"],
        "heads": ["1: previous", "4: punctuation"],
        "gates": ["encoder.backward.0.gate.forget"],
        "gradients": ["flow.source, fresh weights", "trained, slope -0.20"],
        "attribution": ["share of the source per step", "attribution.integrated.prefix"],
        "states": ["encoder.states", "axis 1: 41% of the variance"],
        "phrases": ["John admires Mary", "admire"],
        "beam": ["Model error: the model gives the reference -9.1, less than its own answer (-2.6)."],
        "lens": ["decoder layer", "words read"],
        "positions": ["entry of the positional encoding"],
        "curves": ["tokens per second", "nats per token"],
    }[view]
    assert set(wanted) <= set(words), set(wanted) - set(words)


def test_heads_are_drawn_by_their_roles_where_the_document_has_no_weights():
    """`--view heads` alone measures no weights of this sentence."""
    lane = documents.transformer()
    words = texts_in(picture(Explained(lanes=[msgspec.structs.replace(lane, maps=[])]), "heads", "svg"))
    assert {"encoder.self.1", "punctuation", "3: punctuation"} <= set(words)


def test_numbers_that_are_all_zero_and_views_that_are_empty():
    zero = Map.of("flow.source", "gradients", "w", "target source", np.zeros((15, 14)))
    lane = documents.lane(
        "m", "rnn", maps=[zero], decay=[Decay("flow.source", [0, 1], [0.0, 0.0], None)], heads=Heads(0, [])
    )
    assert picture(Explained(lanes=[lane]), "gradients", "png")
    with pytest.raises(UsageError, match="nothing to show"):
        picture(Explained(lanes=[lane]), "heads", "png")


def test_a_png_is_a_png_and_repeats_its_bytes():
    document = documents.lineage(source="a b", target="c d")
    first = picture(document, "attention", ".PNG")
    assert first.startswith(b"\x89PNG")
    assert picture(document, "attention", "png") == first
    assert picture(document, "attention", "svg") == picture(document, "attention", "svg")


def test_only_models_that_have_the_view_are_drawn():
    words = texts_in(picture(documents.lineage(source="a b", target="c d"), "attention", "svg"))
    assert [word for word in words if word.endswith(": a b")] == ["rnnsearch: a b", "transformer: a b"]


def test_text_of_a_model_is_neither_a_formula_nor_an_element():
    words = picture(
        Explained(lanes=[documents.recurrent(model="$x^2", **documents.HOSTILE)]), "attention", "svg"
    ).decode()
    assert "<script" not in words
    assert "$x^2" in words


def test_texts_of_points_do_not_cover_each_other():
    from matplotlib.figure import Figure

    found = [(f"sentence {at} of many", "", [at % 8 * 1.0, at % 5 * 1.0]) for at in range(60)]
    panel = points("60 sentences", found, [0.6, 0.4], joined=False)
    figure = Figure(figsize=(panel.width + EDGE, panel.height + EDGE + 0.3), dpi=130, layout="constrained")
    axes = figure.subplots()
    panel.draw(axes)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert 8 <= len(boxes) < len(found)
    assert f"{len(boxes)} with their text" in axes.get_title(), "the picture says that texts were left out"
    assert not [1 for at, box in enumerate(boxes) for other in boxes[:at] if box.overlaps(other)]


@pytest.mark.parametrize(
    ("view", "suffix", "words"),
    [
        ("attention", "gif", "png or svg, got 'gif'"),
        ("atention", "png", "no view 'atention'. Did you mean 'attention'?"),
        ("curves", "png", "nothing to show for the view 'curves'; it has: attention"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(view, suffix, words):
    with pytest.raises(UsageError) as refused:
        picture(documents.lineage(), view, suffix)
    assert words in str(refused.value)


def test_without_matplotlib_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(module, "can_draw", lambda: False)
    with pytest.raises(UsageError, match=r"pip install 'seqloom\[plots\]'"):
        picture(documents.lineage(), "attention", "png")
