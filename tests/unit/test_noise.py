"""Noise for denoising: how much is hidden, the lengths of spans, and what stays unchanged."""

import itertools

import numpy as np
import pytest

from seqloom.data.noise import MEAN_SPAN, draw_spans, infill, permute_sentences, sentence_ends
from seqloom.text.learn import learn_tokenizer
from seqloom.text.vocabulary import MASK


def texts_of(lengths: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Texts whose tokens count up from 10, so that what is missing can be told."""
    ids = np.concatenate([np.arange(10, 10 + length) for length in lengths]).astype(np.uint16)
    return ids, np.array(lengths, np.int64)


def rows(ids: np.ndarray, lengths: np.ndarray) -> list[list[int]]:
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])]


def test_what_is_visible_keeps_its_order_and_the_rest_is_under_masks() -> None:
    ids, lengths = texts_of([1, 2, 40, 7, 200])
    for seed in range(20):
        for row, length in zip(rows(*infill(ids, lengths, 0.3, np.random.default_rng(seed))), lengths, strict=True):
            seen = [token for token in row if token != MASK]
            assert seen == sorted(set(seen))
            assert set(seen) <= set(range(10, 10 + length))
            for before, after in itertools.pairwise([9, *row, 10 + length]):
                if MASK not in (before, after):
                    assert after == before + 1  # nothing is hidden without a mask


@pytest.mark.parametrize("hide", [0.0, 0.15, 0.5, 0.9])
def test_the_share_that_is_hidden_is_exact_on_average(hide: float) -> None:
    ids, lengths = texts_of([7] * 3000)
    noised, found = infill(ids, lengths, hide, np.random.default_rng(1))
    assert len(noised) == found.sum()
    assert 1 - (noised != MASK).sum() / len(ids) == pytest.approx(hide, abs=0.02)


def test_where_nothing_is_to_be_hidden_nothing_changes() -> None:
    ids, lengths = texts_of([1, 5, 30])
    noised, found = infill(ids, lengths, 0.0, np.random.default_rng(1))
    assert noised.tolist() == ids.tolist()
    assert found.tolist() == lengths.tolist()


def test_spans_are_poisson_and_some_hide_nothing() -> None:
    hidden = np.full(300, 300, np.int64)
    spans, number = draw_spans(hidden, np.random.default_rng(1))
    assert [part.sum() for part in np.split(spans, np.cumsum(number)[:-1])] == hidden.tolist()
    assert spans.mean() == pytest.approx(MEAN_SPAN, abs=0.05)
    assert spans.var() == pytest.approx(MEAN_SPAN, abs=0.1)
    assert (spans == 0).mean() == pytest.approx(np.exp(-MEAN_SPAN), abs=0.01)


def test_every_order_of_spans_and_words_is_as_likely() -> None:
    """One token of three under a mask of width one: it stands first, second or last, and no place is preferred."""
    ids, lengths = texts_of([3] * 6000)
    noised = [row for row in rows(*infill(ids, lengths, 1 / 3, np.random.default_rng(2))) if len(row) == 3]
    places = np.bincount([row.index(MASK) for row in noised], minlength=3) / len(noised)
    np.testing.assert_allclose(places, 1 / 3, atol=0.03)


def test_sentences_change_places_inside_their_text_only() -> None:
    pieces = ["<pad>", "<s>", "</s>", "<unk>", "▁a", "▁b", ".", "▁c", "▁d", '!"']
    ends = sentence_ends(pieces)
    ids, lengths = np.array([4, 5, 6, 7, 9, 8, 4, 4, 6, 5]), np.array([6, 4])
    seen = set()
    for seed in range(40):
        row, other = rows(permute_sentences(ids, lengths, ends, np.random.default_rng(seed)), lengths)
        seen.add(tuple(row))
        assert other in ([4, 4, 6, 5], [5, 4, 4, 6])
    sentences = [(4, 5, 6), (7, 9), (8,)]
    assert seen == {sum(order, ()) for order in itertools.permutations(sentences)}


PLAIN = "It costs 3.14 euros at example.org today. Really!"


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char", "word"])
def test_a_dot_inside_a_number_or_a_name_ends_no_sentence(kind: str) -> None:
    tokenizer = learn_tokenizer(kind, [PLAIN], 400)
    ends, ids = sentence_ends(tokenizer.pieces(range(len(tokenizer)))), np.array(tokenizer.encode(PLAIN))
    seen = set()
    for seed in range(20):
        order = permute_sentences(ids, np.array([len(ids)]), ends, np.random.default_rng(seed))
        seen.add(tokenizer.decode(order.tolist()).strip())
    turned = "Really! It costs 3.14 euros at example.org today."
    assert seen == {PLAIN, turned if kind == "word" else turned.replace("! ", "!")}


@pytest.mark.parametrize(
    ("pieces", "why"),
    [
        (["去", "。", "来", "▁"], "wide marks have no blank behind them"),
        (["go", ".", "come", "##ing"], "of a vocabulary without blanks nobody can tell where one was"),
    ],
)
def test_sentences_without_blanks_between_them(pieces: list[str], why: str) -> None:
    ids = np.array([0, 1, 2, 1])
    orders = [
        permute_sentences(ids, np.array([4]), sentence_ends(pieces), np.random.default_rng(seed)).tolist()
        for seed in range(20)
    ]
    assert [2, 1, 0, 1] in orders, why
