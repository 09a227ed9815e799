"""The alignment document and its map in the terminal."""

import io
import json
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from seqloom.errors import DataError
from seqloom.explain.alignment import alignment_document, check_alignment
from seqloom.explain.heatmap import render_heatmap


def diagonal(source, target):
    weights = np.zeros((len(target), len(source)))
    weights[range(len(target)), [min(i, len(source) - 1) for i in range(len(target))]] = 1.0
    return alignment_document(source, target, weights)


def lines_of(document, width=80):
    return render_heatmap(document, width).plain.split("\n")


def test_each_weight_stands_under_its_source_and_beside_its_target():
    document = alignment_document(list("abc"), list("xy"), [[0.0, 0.98, 0.02], [0.5, 0.3, 0.2]])
    assert lines_of(document)[:4] == ["  a b c", "x · ██· ", "y ▓▓▒▒▒▒", ""]


def test_shades_change_at_the_numbers_of_the_legend():
    weights = [0.04, 0.05, 0.19, 0.2, 0.39, 0.4, 0.69, 0.7]
    text = lines_of(alignment_document(list("abcdefgh"), ["x"], [weights]))
    assert text[1] == "x · ░░░░▒▒▒▒▓▓▓▓██"
    assert text[-1] == "attention: ░░ 0.05+  ▒▒ 0.2+  ▓▓ 0.4+  ██ 0.7+"


def test_words_are_written_downwards_and_end_above_their_column():
    text = lines_of(diagonal(["le", "chat"], ["the", "cat"]))
    assert text[:6] == ["      c", "      h", "    l a", "    e t", "the ██· ", "cat · ██"]


def test_a_long_source_goes_on_below_within_the_width():
    source = [chr(97 + i % 26) for i in range(200)]
    text = lines_of(diagonal(source, list("xyz")))
    assert max(map(cell_len, text)) <= 80
    headers = [line for line in text if line.startswith("  ")]
    assert "".join(headers).replace(" ", "") == "".join(source)
    assert len(headers) == 3
    assert sum(line.startswith("x ") for line in text) == 3


def test_one_column_a_letter_when_two_do_not_fit():
    assert len(lines_of(diagonal(["a"] * 39, ["x"]))[0]) == 2 + 2 * 39 - 1
    assert lines_of(diagonal(["a"] * 40, ["x"]))[0] == "  " + "a" * 40


def test_colour_fills_cells_and_survives_a_pipe():
    document = diagonal(list("ab"), list("xy"))
    terminal = Console(force_terminal=True, color_system="truecolor", width=80, file=io.StringIO())
    with terminal.capture() as got:
        terminal.print(render_heatmap(document, colour=True))
    assert "48;2;255;190;60" in got.get()  # the hottest background, for the weight 1
    assert "█" not in render_heatmap(document, colour=True).plain
    assert "\x1b" not in render_heatmap(document, colour=False).plain


@pytest.mark.parametrize(
    ("piece", "drawn"),
    [
        (" ", "␣"),
        ("\u00a0", "␣"),
        ("\x1b", "␛"),
        ("\n", "␊"),
        ("\x7f", "␡"),
        ("\x9b", "�"),
        ("\u202e", "�"),
        ("\u2028", "�"),
        ("\ud800", "�"),
        ("\u0301", "◌\u0301"),
        ("", "∅"),
        ("漢", "漢"),
        ("ä", "ä"),
        ("a\u0308", "a\u0308"),
    ],
)
def test_what_is_drawn_for_a_piece(piece, drawn):
    assert lines_of(diagonal([piece], ["x"]))[0] == f"  {drawn}"


def test_right_to_left_letters_cannot_reorder_a_line():
    text = lines_of(diagonal(list("שלום"), ["שלום", "a"]))
    assert text[0].replace(" ", "") == "".join(f"\u200e{letter}\u200e" for letter in "שלום")
    assert text[1].startswith("\u200eשלום\u200e ")


PIECES = st.lists(st.text(max_size=12), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(PIECES, PIECES, st.integers(20, 120))
def test_any_text_stays_in_its_columns(source, target, width):
    text = lines_of(diagonal(source, target), width)
    assert max(map(cell_len, text)) <= max(width, len("attention: ░░ 0.05+  ▒▒ 0.2+  ▓▓ 0.4+  ██ 0.7+"))
    rows = [line for line in text[:-1] if set(line) & set("·░▒▓█")]
    assert len(rows) >= len(target)
    allowed = {"\u200e"}
    assert not [
        c
        for line in text
        for c in line
        if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in allowed
    ]


def test_the_document_is_plain_versioned_json():
    document = alignment_document(("a", "b"), ("x",), np.array([[0.25, 0.75]], dtype=np.float32))
    assert json.loads(json.dumps(document)) == document
    assert document == {
        "version": 1,
        "kind": "alignment",
        "source": ["a", "b"],
        "target": ["x"],
        "weights": [[0.25, 0.75]],
    }


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, "version 2"),
        ({"kind": "gates"}, "gates"),
        ({"source": ["a"]}, "rows"),
        ({"target": ["x", "y"]}, "2 rows"),
        ({"target": [3]}, "target"),
        ({"weights": [[0.5, float("nan")]]}, "row 0"),
        ({"weights": [[0.5, 1.5]]}, "row 0"),
        ({"weights": None}, "weights"),
    ],
)
def test_a_broken_document_is_refused_with_the_reason(change, says):
    document = {**alignment_document(["a", "b"], ["x"], [[0.5, 0.5]]), **change}
    with pytest.raises(DataError, match=says):
        check_alignment(document)
    with pytest.raises(DataError):
        render_heatmap(document)


def test_an_empty_translation_is_an_empty_map():
    assert render_heatmap(alignment_document(["a"], [], [])).plain.startswith("  a\n\n")
