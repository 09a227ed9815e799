"""Accuracy, F1, confusions and what is significant, on answers whose numbers are known."""

import json

import pytest

from seqloom.evaluation.label_report import (
    Mistake,
    macro_f1,
    make_label_report,
    mean,
    measure_labels,
    most_confused,
    rows_of,
)

WANTED = [["pos"]] * 60 + [["neg"]] * 40
SAID = [["pos"]] * 50 + [["neg"]] * 10 + [["neg"]] * 30 + [["pos"]] * 10


def test_one_label_a_text() -> None:
    report = make_label_report("classify", WANTED, SAID)
    assert report.scores["accuracy"].score == 80
    assert 70 < report.scores["accuracy"].low < 80 < report.scores["accuracy"].high < 90
    # F1: pos 2*50/(60+60), neg 2*30/(40+40)
    assert report.scores["macro_f1"].score == pytest.approx(100 * (50 / 60 + 30 / 40) / 2)
    assert "whole_texts" not in report.scores and "new_words" not in report.scores
    pos, neg = report.labels
    assert (pos.label, pos.wanted, pos.said, pos.right) == ("pos", 60, 60, 50)
    assert (neg.precision, neg.recall, neg.f1) == (75, 75, 75)
    assert pos.precision == pos.recall == pytest.approx(100 * 50 / 60)
    assert report.confusions == {"neg": {"neg": 30, "pos": 10}, "pos": {"neg": 10, "pos": 50}}
    assert (report.texts, report.places, report.warnings) == (100, 100, [])


def test_one_tag_a_word() -> None:
    wanted = [["D", "N"], ["N"], ["D", "N", "V"]]
    said = [["D", "N"], ["V"], ["D", "V", "V"]]
    report = make_label_report("tag", wanted, said, new=[[False, True], [True], [False, True, False]])
    assert report.scores["accuracy"].score == pytest.approx(100 * 4 / 6)
    assert report.scores["whole_texts"].score == pytest.approx(100 / 3)
    assert report.scores["new_words"].score == pytest.approx(100 / 3)
    assert report.scores["macro_f1"].score == pytest.approx(100 * (1 + 2 / 4 + 2 / 4) / 3)
    assert report.places == 6
    assert report.warnings == ["Only 3 texts: the intervals are rough, and small differences cannot be detected."]


def test_texts_are_resampled_and_not_their_words() -> None:
    """Words that are right or wrong together tell less than as many words of their own."""
    together = measure_width([["x"] * 10] * 40, [["x"] * 10] * 20 + [["y"] * 10] * 20)
    apart = measure_width([["x"]] * 400, [["x"], ["y"]] * 200)
    assert together > 2 * apart


def measure_width(wanted: list[list[str]], said: list[list[str]]) -> float:
    found = make_label_report("tag", wanted, said).scores["accuracy"]
    return found.high - found.low


def test_no_new_word_no_score() -> None:
    assert "new_words" not in measure_labels([["a"]], [["a"]], [[False]])


def test_a_label_that_is_never_wanted_or_never_said_has_no_score_to_divide_by() -> None:
    rows = {row.label: row for row in make_label_report("classify", [["a"], ["b"]], [["a"], ["c"]]).labels}
    assert (rows["c"].precision, rows["c"].recall, rows["c"].f1, rows["c"].wanted) == (0, 0, 0, 0)
    assert (rows["b"].precision, rows["b"].recall, rows["b"].said) == (0, 0, 0)
    assert make_label_report("classify", [["a"], ["b"]], [["a"], ["c"]]).scores["macro_f1"].score == pytest.approx(
        100 / 3
    )


def test_another_model_on_the_same_texts() -> None:
    worse = [["neg"]] * 60 + [["neg"]] * 40
    report = make_label_report("classify", WANTED, SAID, rival=("other", worse))
    assert report.against is not None
    assert report.against.scores["accuracy"].score == 40
    found = report.against.differences["accuracy"]
    assert found.difference == 40 and found.low > 0 and found.p_value < 0.01
    same = make_label_report("classify", WANTED, SAID, rival=("twin", SAID)).against
    assert same is not None and same.differences["accuracy"].p_value == 1


def test_the_table_of_confusions_holds_the_labels_with_most_mistakes() -> None:
    from collections import Counter

    counts = Counter({(f"l{n}", f"l{n + 1}"): n for n in range(1, 20)} | {("right", "right"): 1000})
    table = most_confused(counts)
    assert len(table) == 8 and "right" not in table and "l19" in table and table["l18"]["l19"] == 18
    assert most_confused(Counter({("a", "a"): 3})) == {}
    assert rows_of(counts)[0].label == "right"


def test_the_surest_mistakes_come_first() -> None:
    mistakes = [Mistake(n, "t", "a", "b", n / 10) for n in range(9)]
    report = make_label_report("classify", WANTED, SAID, mistakes=mistakes)
    assert [mistake.line for mistake in report.mistakes] == [8, 7, 6, 5, 4]


def test_the_report_as_json_and_as_a_text() -> None:
    mistakes = [Mistake(3, "a dull film", "neg", "pos", 0.98)]
    report = make_label_report("classify", WANTED, SAID, mistakes=mistakes, rival=("twin", SAID), about={"params": 7})
    found = json.loads(json.dumps(report.to_json()))
    assert found["accuracy"]["score"] == 80 and found["params"] == 7 and found["labels"][0]["label"] == "pos"
    text = report.render()
    for said in ("100 texts", "accuracy (+)", "80.00", "macro F1 (+)", "pos", "correct \\ predicted", "twin", "+0.00"):
        assert said in text
    assert "line 3 (98%): predicted pos, correct neg\n    a dull film" in text


def test_many_labels_are_cut_short_in_the_text_alone() -> None:
    labels = [[f"l{n:02}"] for n in range(60)]
    report = make_label_report("classify", labels, labels)
    assert len(report.labels) == 60 and "and 20 rarer labels (--json lists all)" in report.render()


def test_a_mean_of_nothing_is_nothing() -> None:
    assert mean([0.0], [0]).score == 0
    assert mean([3.0, 1.0], [1, 3]).score == 1


def test_macro_f1_of_no_label_at_all() -> None:
    import numpy as np

    assert macro_f1(np.zeros(6)) == 0
