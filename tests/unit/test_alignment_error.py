"""Alignment error rate: by hand, by its bounds, on the gold that people made."""

import pytest

from seqloom.errors import DataError
from seqloom.metrics.alignment_error import Gold, check_gold, measure_alignments, parse_gold
from seqloom.metrics.significance import estimate


def scores(found, golds):
    return {name: measured.score for name, measured in measure_alignments(found, golds).items()}


def test_gold_counts_from_one_and_sure_is_possible():
    golds = parse_gold(["1-1 2p3 2-2", "", "  10p1\t10-1 "], "x.gold")
    assert golds[0] == Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (1, 2)}))
    assert golds[1] == Gold(frozenset(), frozenset())
    assert golds[2] == Gold(frozenset({(9, 0)}), frozenset({(9, 0)}))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("1", "'1' is not a link: want i-j (sure) or ipj (possible)"),
        ("1-", "'1-' is not a link"),
        ("a-b", "'a-b' is not a link"),
        ("1-2-3", "is not a link"),
        ("1?2", "is not a link"),
        ("-1-2", "is not a link"),
        ("1-2,", "is not a link"),
        ("9" * 5000 + "-1", "is not a link"),
        ("0-1", "'0-1': words of a gold alignment are counted from 1"),
        ("1p0", "'1p0': words of a gold alignment are counted from 1"),
    ],
)
def test_what_is_no_link_is_named_with_its_line(word, said):
    with pytest.raises(DataError) as raised:
        parse_gold(["1-1", f"2-2 {word} 3-3"], "x.gold")
    assert str(raised.value).startswith("x.gold, line 2: ")
    assert said in str(raised.value)


def test_a_link_beyond_the_words_is_refused():
    gold = Gold(frozenset({(2, 0)}), frozenset({(2, 0), (0, 4)}))
    check_gold(gold, 3, 5, "x.gold, line 7")
    with pytest.raises(DataError, match="line 7: a link to source word 3, but the source of this pair has 2 words"):
        check_gold(gold, 2, 5, "x.gold, line 7")
    with pytest.raises(DataError, match="a link to target word 5, but the target of this pair has 4 words"):
        check_gold(gold, 3, 4, "x.gold, line 7")


def test_by_hand():
    """Two pairs: |A & S| = 1 + 1, |A & P| = 2 + 1, |A| = 3 + 1, |S| = 2 + 1."""
    golds = parse_gold(["1-1 2-2 3p2", "1-1"], "x")
    found = scores([[(0, 0), (2, 1), (3, 3)], [(0, 0)]], golds)
    assert found == {
        "aer": pytest.approx(100 * (1 - (2 + 3) / (4 + 3))),
        "precision": pytest.approx(100 * 3 / 4),
        "recall": pytest.approx(100 * 2 / 3),
    }


def test_bounds():
    golds = parse_gold(["1-1 2p2 3-3"], "x")
    assert scores([[(0, 0), (2, 2)]], golds) == {"aer": 0.0, "precision": 100.0, "recall": 100.0}
    assert scores([[(0, 0), (1, 1), (2, 2)]], golds)["aer"] == 0.0  # a possible link costs nothing
    assert scores([[(0, 1), (1, 0)]], golds) == {"aer": 100.0, "precision": 0.0, "recall": 0.0}
    assert scores([[]], golds) == {"aer": 100.0, "precision": 100.0, "recall": 0.0}
    assert scores([[]], parse_gold([""], "x")) == {"aer": 0.0, "precision": 100.0, "recall": 100.0}
    assert scores([[(0, 0), (0, 0)]], parse_gold(["1-1"], "x"))["precision"] == 100.0  # a link counts once


def test_intervals_come_from_resampled_sentences():
    golds = parse_gold(["1-1 2-2"] * 50, "x")
    found = estimate(measure_alignments([[(0, 0), (1, 1)]] * 25 + [[(0, 1)]] * 25, golds))
    assert found["aer"].low < found["aer"].score < found["aer"].high
    assert found["recall"].score == 50.0
    assert 30 < found["recall"].low < 50 < found["recall"].high < 70
    assert "bs:1000" in found["aer"].signature


@pytest.mark.data
def test_the_gold_of_the_hansards(data_dir):
    """447 pairs, 4,038 sure and 13,400 possible links, as the shared task tells; every link is to a word."""
    folder = data_dir / "hansards-gold-en-fr"
    golds = parse_gold((folder / "enfr.gold").read_text("utf-8").splitlines(), "enfr.gold")
    pairs = [line.split("|||") for line in (folder / "enfr.src-tgt").read_text("utf-8").splitlines()]
    assert len(golds) == len(pairs) == 447
    assert sum(len(gold.sure) for gold in golds) == 4038
    assert sum(len(gold.possible - gold.sure) for gold in golds) == 13400
    for line, (gold, (source, target)) in enumerate(zip(golds, pairs, strict=True), 1):
        check_gold(gold, len(source.split()), len(target.split()), f"line {line}")
    assert scores([gold.sure for gold in golds], golds)["aer"] == 0.0
    diagonal = [[(i, i) for i in range(min(len(s.split()), len(t.split())))] for s, t in pairs]
    assert scores(diagonal, golds)["aer"] > 50
