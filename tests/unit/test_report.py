"""The test set with its references, the tables of a report, and what people and programs read of it."""

import json

import numpy as np
import pytest

from seqloom.config import TASKS
from seqloom.evaluation import report as reports
from seqloom.evaluation.render import render, table
from seqloom.evaluation.report import bucket_by_length, find_worst, make_report
from seqloom.evaluation.seen_in_training import count_known
from seqloom.metrics.measures import METRICS, measure, perplexity
from seqloom.metrics.testset import Item, fingerprint, merge_sources


def items_of(*pairs):
    return merge_sources((line, source, (target,)) for line, (source, target) in enumerate(pairs, 1))


ITEMS = items_of(*((f"source number {n}", f"this is target number {n} of many") for n in range(120)))
GOOD = [item.references[0] for item in ITEMS]
BAD = [text.replace("target", "goal") if place % 2 else text for place, text in enumerate(GOOD)]


def test_lines_of_one_source_become_one_item_with_all_references():
    rows = [(1, "a", ("x", "y")), (2, "b", ("z",)), (5, "a", ("w", "x")), (6, "a ", ("v",))]
    assert merge_sources(rows) == [
        Item((1, 5), "a", ("x", "y", "w")),
        Item((2,), "b", ("z",)),
        Item((6,), "a ", ("v",)),
    ]


def test_the_fingerprint_is_of_the_texts_not_of_the_lines():
    first = merge_sources([(1, "a", ("x",)), (2, "b", ("y",))])
    moved = merge_sources([(7, "a", ("x",)), (9, "b", ("y",))])
    other = merge_sources([(1, "a", ("x", "y")), (2, "b", ("y",))])
    assert fingerprint(first) == fingerprint(moved)
    assert fingerprint(first) != fingerprint(other)
    assert len(fingerprint(first)) == 64


def test_buckets_by_words_hold_every_sentence_once():
    sources = ["w " * words for words in (1, 5, 6, 10, 11, 60, 61, 300)]
    outputs = ["a b c d"] * 8
    references = [["a b c d"]] * 2 + [["x y z w"]] * 6
    buckets = bucket_by_length(sources, measure(outputs, references))
    assert [(b.least, b.most, b.sentences) for b in buckets] == [
        (1, 5, 2),
        (6, 10, 2),
        (11, 15, 1),
        (41, 60, 1),
        (61, None, 2),
    ]
    assert {bucket.unit for bucket in buckets} == {"words"}
    assert buckets[0].scores["bleu"] == pytest.approx(100)
    assert buckets[1].scores["bleu"] == 0
    assert buckets[0].scores["chrf"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("sources", "buckets"),
    [
        (["cat", "horses", "a b"], [("letters", 1, 4, 2), ("letters", 5, 6, 1)]),
        (["我们今天去公园散步。", "天气很好", "我 们"], [("characters", 1, 5, 2), ("characters", 6, 10, 1)]),
        (
            ["วันนี้อากาศดี", "Москва", "ご飯"],
            [("characters", 1, 5, 1), ("characters", 6, 10, 1), ("characters", 11, 15, 1)],
        ),
        (["고양이", "말"], [("letters", 1, 4, 2)]),  # Korean has blanks
    ],
)
def test_sources_of_one_word_are_counted_in_letters_or_characters(sources, buckets):
    found = bucket_by_length(sources, measure(["x"] * len(sources), [["x"]] * len(sources)))
    assert [(b.unit, b.least, b.most, b.sentences) for b in found] == buckets


def test_the_worst_come_first_and_no_exact_match_is_among_them():
    items = items_of(*((f"s{n}", f"reference {n}") for n in range(9)))
    outputs = [item.references[0] for item in items]
    outputs[3], outputs[6] = "qqq", "reference"
    worst = find_worst(items, outputs, measure(outputs, [item.references for item in items])["chrf"])
    assert [(bad.lines, bad.output, bad.references) for bad in worst] == [
        ((4,), "qqq", ("reference 3",)),
        ((7,), "reference", ("reference 6",)),
    ]
    assert worst[0].chrf == 0 < worst[1].chrf < 100


def test_json_has_every_promised_key():
    report = make_report(ITEMS, BAD, about={"beam": 5, "params": 7, "sentences_per_second": 12.5})
    found = json.loads(json.dumps(report.to_json(), allow_nan=False))
    for name in TASKS["translate"].metrics:
        assert set(found[name]) == {"score", "low", "high", "signature"}
        assert found[name]["low"] <= found[name]["score"] <= found[name]["high"]
    assert found["exact_match"]["score"] == 50
    assert found["sentences"] == found["lines"] == 120
    assert (found["beam"], found["params"], found["sentences_per_second"]) == (5, 7, 12.5)
    assert found["test_hash"] == fingerprint(ITEMS)
    assert found["against"] is None
    assert set(found["by_length"][0]) == {"unit", "least", "most", "sentences", "bleu", "chrf"}
    assert set(found["worst"][0]) == {"lines", "chrf", "source", "output", "references"}


def test_against_tells_who_is_better():
    report = make_report(ITEMS, GOOD, rival=("runs/other", BAD))
    assert report.against.name == "runs/other"
    assert report.against.scores["exact_match"].score == 50
    difference = report.against.differences["exact_match"]
    assert difference.difference == 50
    assert difference.low > 0
    assert difference.p_value < 0.01
    assert report.to_json()["against"]["differences"]["bleu"]["p_value"] < 0.01
    text = render(report)
    assert "runs/other" in text
    assert "+50.00" in text
    assert " *" in text


def test_a_report_for_people_holds_scores_lengths_and_the_worst():
    items = items_of(*((f"source {'word ' * (n % 9)}{n}", f"the target number {n}") for n in range(120)))
    outputs = [item.references[0] for item in items]
    outputs[41] = "nonsense"
    search = {"beam": 4, "length_penalty": 1.0, "coverage_penalty": 0.0, "no_repeat_ngram": 2, "mbr": None}
    about = {"beam": 4, "search": search, "sentences_per_second": 1234.5}
    text = render(make_report(items, outputs, about=about, warnings=["beware"]))
    assert text.startswith(
        "120 sentences, translated with beam 4, length penalty 1, no 2 tokens in a row twice, at 1,234.5 sentences/s"
    )
    both = render(make_report(items, outputs, about=about | {"with": ["other"]}))
    assert both.startswith("120 sentences, translated by an ensemble of 2 models with beam 4")
    for name in TASKS["translate"].metrics:
        assert METRICS[name].title in text
    assert "tok:13a" in text
    assert "source words" in text
    assert "line 42 (" in text
    assert "output    nonsense" in text
    assert text.endswith("Note: beware")


def test_merged_lines_are_told_and_long_texts_are_clipped():
    items = merge_sources([(1, "s", ("x",)), (2, "s", ("y",))])
    text = render(make_report(items, ["z" * 1000]))
    assert text.startswith("1 sentence from 2 lines")
    assert "line 1, 2 (" in text
    assert "z" * 300 + " ..." in text
    assert "z" * 301 not in text


def test_few_sentences_and_a_missing_ter_are_told(monkeypatch):
    monkeypatch.setattr("seqloom.metrics.measures.TER_SECONDS", -1.0)
    report = make_report(ITEMS[:20], GOOD[:20])
    assert report.to_json()["ter"] is None
    few, ter = report.warnings
    assert few.startswith("Only 20 sentences: ")
    assert ter.startswith("TER is left out")
    assert not make_report(ITEMS, GOOD).warnings[:-1]


def test_outputs_too_short_for_bleu_are_told():
    items = items_of(*((f"s{n}", f"word {n}") for n in range(120)))
    short = make_report(items, [item.references[0] for item in items])
    assert short.scores["exact_match"].score == 100
    assert short.scores["bleu"].score == 0
    assert "BLEU counts sequences of four words" in short.warnings[0]


def test_table_aligns_words_left_and_numbers_right():
    assert table([["", "score"], ["BLEU", "1.00"], ["exact match", "100.00", "more"]][:2]) == "      score\nBLEU   1.00"


def test_known_sequences_are_counted(monkeypatch):
    monkeypatch.setattr("seqloom.evaluation.seen_in_training.ROWS_AT_ONCE", 2)
    train = [[5, 6], [7], [8, 9], [6, 5], [1, 2, 3], [9, 9], []]
    lengths = np.array([len(ids) for ids in train], dtype=np.int32)

    def take(rows):
        return np.array([index for row in rows for index in train[row]], dtype=np.uint16)

    test = [[6, 5], [5, 6], [5, 5], [7], [70], [1, 2, 3], [3, 2, 1], [1, 2, 3, 4], [9, 9], [9, 9]]
    assert count_known(test, lengths, take) == 6
    assert count_known([[1]], lengths[:0], take) == 0


def test_worst_is_bounded():
    assert len(make_report(ITEMS, ["x"] * 120).worst) == reports.WORST


def test_a_task_shows_its_own_metrics_first():
    report = make_report(ITEMS, BAD, task="summarise", rival=("first sentence", GOOD))
    assert list(report.scores)[:3] == ["rouge_1", "rouge_2", "rouge_l"]
    assert list(report.to_json())[:3] == ["rouge_1", "rouge_2", "rouge_l"]
    assert set(report.to_json()["by_length"][0]) == {"unit", "least", "most", "sentences", "rouge_1", "rouge_2"}
    assert report.scores["rouge_1"].low < report.scores["rouge_1"].score < report.scores["rouge_1"].high
    assert report.against.differences["rouge_1"].difference < 0
    text = render(report)
    assert "ROUGE-L (+)" in text
    assert "first sentence" in text
    assert "TER" not in text


def test_a_dialogue_tells_how_much_is_different_and_what_the_caller_measured():
    known = {"perplexity": perplexity([-3.0] * len(ITEMS), [3] * len(ITEMS))}
    report = make_report(ITEMS, ["the same"] * len(ITEMS), task="dialogue", known=known)
    assert next(iter(report.scores)) == "perplexity"
    assert report.scores["perplexity"].score == pytest.approx(np.e)
    outputs, people = report.diversity["distinct_1"]
    assert outputs == pytest.approx(100 * 2 / 240)
    assert people == pytest.approx(100 * 126 / 840)  # 120 numbers and six words of seven times 120
    assert ["distinct-1", "0.83", "%", "15.00", "%"] in [line.split() for line in render(report).splitlines()]
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["diversity"]["distinct_2"]
    assert not make_report(ITEMS, GOOD).diversity


def test_a_pronunciation_is_told_by_the_length_of_the_word():
    items = items_of(*((f"word{n}", "AH B") for n in range(120)))
    report = make_report(items, ["AH"] * 120, task="pronounce")
    assert report.scores["word_error_rate"].score == 100
    assert report.by_length[0].scores == {"phoneme_error_rate": 50, "word_error_rate": 100}
    assert not [warning for warning in report.warnings if "BLEU" in warning or "TER" in warning]
