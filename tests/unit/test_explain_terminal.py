"""The explain document in the terminal: every view with its numbers, and no text that commands the terminal."""

import io

import numpy as np
import pytest
from rich.console import Console

from seqloom.explain.document import Explained, Map
from seqloom.explain.terminal import render, strip
from tests import explain_documents as documents


def printed(document, width=110, **options):
    file = io.StringIO()
    render(document, Console(file=file, width=width, **options))
    return file.getvalue()


def row(text, start):
    (found,) = [line for line in text.splitlines() if line.startswith(start)]
    return found


def test_the_answer_and_what_else_the_model_considered():
    text = printed(Explained(lanes=[documents.recurrent()]))
    assert f"-> {documents.TARGET}   (score -4.250)" in text
    assert f"reference: {documents.REFERENCE}" in text
    steps = text[: text.index("attention: decoder.attention")]
    assert row(steps, "l' ").split() == ["l'", "0.900", "█", "1", "other0", "0.09,", "<b>", "0.02"]
    assert row(steps, "a ").split() == ["a", "0.200", "▂", "2", "other3", "0.60"], "not the model's first choice"


def test_the_heat_map_of_attention_shows_where_the_weight_is():
    text = printed(Explained(lanes=[documents.recurrent()]))
    drawn = text[text.index("attention: decoder.attention") : text.index("gates:")]
    first = row(drawn, "l' ").removeprefix("l'").strip()
    assert first.startswith("██"), "0.78 of the first row is on the first token"
    assert row(drawn, "</s> ").rstrip().endswith("██")
    assert "weight: ░░ 0.05+" in drawn


def test_every_view_is_printed():
    text = printed(documents.everything())
    for words in (
        "attention: decoder.cross.0, mean over the heads", "self: encoder.self.0", "self: decoder.self.0",
        "heads, over 200",
        "gates: encoder.forward.0, mean over 24 units", "gradients: flow.source, fresh weights", "gradient by distance",
        "attribution: attribution.gradient.prefix", "agreement with attention", "states: encoder.states; 41%, 22%",
        "beam of 2", "Model error", "lens:", "positions:", "rnnsearch: the last state of the encoder", "curves",
    ):  # fmt: skip
        assert words in text, words
    assert (
        row(text, "trained, flow.source").split()[-1] == "-0.200" if text.count("trained, flow.source") == 1 else True
    )
    assert "0.62         0.05" in text, "agreement and its control"
    roles = "next 0.70 same 0.70 punctuation 0.70 spread 0.70"
    assert " ".join(row(text, "encoder.self.1").split()[1:]) == roles


def test_gates_are_means_over_the_units_and_numbers_with_a_sign_are_sizes():
    half = Map.of("encoder.forward.0.gate.forget", "gates", "w", "source unit", np.full((14, 4), 0.5))
    both = Map.of("encoder.forward.0.state.cell", "gates", "w", "source unit", np.tile([1.0, -1.0], (14, 2)))
    text = printed(Explained(lanes=[documents.lane("m", "rnn", maps=[half, both])]))
    assert row(text, "forget").split()[1] == "▓▓" * 14, "0.5"
    assert row(text, "|cell|").split()[1] == "██" * 14, "their mean is 0, their mean size 1"


def test_the_search_is_a_list_of_the_answer_with_the_branches_below():
    text = printed(Explained(lanes=[documents.recurrent()]))
    lines = text[text.index("beam of 2") :].splitlines()
    assert lines[1:4] == [
        "├── l'  -0.20",
        "│   ├── rival1 rival2 rival3 rival4  -0.38",
        "│   └── lost1  -3.00  pruned: rank 3 of step 1: the beam keeps 2",
    ]
    assert "└── </s>  -0.20  finished" in lines
    assert max(len(line) for line in lines[:60]) < 90, "a long sentence does not leave the screen"


def test_models_side_by_side_are_named_and_say_what_they_lack():
    text = printed(documents.lineage())
    places = [text.index(f"{name} ─") for name in ("sutskever", "rnnsearch", "transformer")]
    assert places == sorted(places)
    assert "note: attention: this model has none" in text[: places[1]]
    assert "─" not in printed(Explained(lanes=[documents.recurrent()])).splitlines()[0]


def test_a_tagger_has_one_step_per_word():
    text = printed(Explained(lanes=[documents.tagger()]))
    assert "-> PRON VERB NOUN" in text
    assert row(text, "VERB").split()[1:] == ["0.905", "█", "1", "X", "0.12"]


def test_gaps_are_named_by_what_fills_them():
    """The answer of a masked model is one text; each gap is one step."""
    text = printed(Explained(lanes=[documents.masked()]))
    assert "-> she reads old books" in text
    assert row(text, "reads  0").split()[1] == "0.905" and row(text, "old    0").split()[1] == "0.819"


@pytest.mark.parametrize("texts", [documents.HOSTILE, documents.RIGHT_TO_LEFT, documents.long_texts()])
def test_any_text_can_be_printed(texts):
    assert printed(documents.lineage(**texts))


def test_no_text_commands_the_terminal():
    evil = "\x1b[31mred\x07 [bold]markup[/bold] \u202e"
    lane = documents.recurrent(model=evil, source=evil, target=evil)
    text = printed(Explained(lanes=[lane, lane], phrases=[documents.phrases(evil)]))
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "[bold]markup[/bold]" in text


def test_a_strip_goes_from_its_lowest_to_its_highest_number():
    assert strip([0.0, 1.0, 0.5]) == "▁█▅"
    assert strip([2.0, 2.0]) == "▁▁"
    assert strip([]) == ""
    assert strip([float("nan"), 0.0, 1.0]) == " ▁█"
    assert len(strip(list(range(1000)))) == 48
