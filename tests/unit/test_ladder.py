"""The ladder's parts: which rungs, compared with which, how the report is put together and drawn."""

import dataclasses
import json
import math
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from seqloom.config.recipes import find_recipe
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.explain.charts import Bar, can_draw, draw_bars, draw_lines
from seqloom.ladder import charts as ladder_charts
from seqloom.ladder import report as ladder_report
from seqloom.ladder import scores as ladder_scores
from seqloom.ladder.charts import draw_charts, length_lines
from seqloom.ladder.document import Failed, LengthBucket, Waiting, to_text
from seqloom.ladder.pages import Heading, Picture, Table, Text, to_html, to_markdown
from seqloom.ladder.papers import PUBLISHED
from seqloom.ladder.report import (
    Ladder,
    as_bytes,
    chosen_by_test,
    describe_run,
    exact_by_length,
    gather_warnings,
    unequal_shares,
)
from seqloom.ladder.rungs import RUNGS, Rung, choose_rungs, step_before
from seqloom.ladder.scores import TestSet as Sentences
from seqloom.ladder.scores import choose_metric, differences, read_scores, score_rung
from seqloom.ladder.tables import (
    CHOSEN_BY_TEST,
    PAPERS,
    cost_table,
    length_table,
    make_blocks,
    published_beside,
    recipe_table,
    step_table,
    title_of,
)
from seqloom.metrics.measures import measure
from seqloom.metrics.significance import compare
from seqloom.metrics.testset import Item
from tests.ladder_documents import document, row, settle, step

NAMES = [rung.name for rung in RUNGS]
SOUNDS = {"tokenizer": "char", "vocab_size": 287, "joint": False, "target_tokenizer": "word", "target_vocab_size": 43}


def test_all_rungs_in_the_order_of_history_each_a_recipe():
    assert choose_rungs(None) == list(RUNGS)
    assert NAMES.index("rnn") < NAMES.index("lstm") < NAMES.index("rnnsearch-additive") < NAMES.index("transformer")
    for rung in RUNGS:
        assert find_recipe(rung.recipe).is_file()
        assert not rung.before or NAMES.index(rung.before) < NAMES.index(rung.name)


def test_some_rungs_and_files_of_ones_own():
    assert [rung.name for rung in choose_rungs("transformer, rnn")] == ["transformer", "rnn"]
    assert choose_rungs("gru,my/wide.toml")[1] == Rung("wide", "my/wide.toml", "wide")


@pytest.mark.parametrize(
    "names", ["", ",", "rnn,rnn", "rnn,a/rnn.toml", "tokenizer.toml", "lock.toml", "a/report.json.toml"]
)
def test_rungs_that_cannot_each_have_a_folder_are_refused(names):
    with pytest.raises(UsageError, match="each is the name of a folder"):
        choose_rungs(names)


def test_a_step_is_measured_against_what_it_grew_out_of():
    rungs = {rung.name: rung for rung in RUNGS}
    done = [rungs[name] for name in ("rnn", "lstm", "gru", "lstm-reversed", "rnnsearch-dot")]
    assert step_before(rungs["rnn"], done) is None
    assert step_before(rungs["lstm-reversed"], done) == rungs["lstm"]
    assert step_before(rungs["rnnsearch-dot"], done) == rungs["lstm-reversed"]  # its own step is not there
    assert step_before(rungs["gru"], [rungs["gru"], rungs["lstm"]]) is None  # only what stands above


def test_every_published_row_stands_beside_a_rung():
    assert {row.rung for row in PUBLISHED} <= set(NAMES)
    french = document(row("lstm", languages=["en", "fr"]))
    assert "26.75: RNNsearch-50 (WMT14 en-fr)" in published_beside(french, "rnnsearch-additive")
    assert "WMT14 en-fr" not in published_beside(document(row("lstm")), "rnnsearch-additive")  # that one is en -> de
    assert published_beside(french, "rnnsearch-dot") == ""
    other = dataclasses.replace(PUBLISHED[0], system="LSTM", bleu=25.5)
    older = msgspec.structs.replace(french, published=[other])
    assert published_beside(older, "lstm") == "25.5: LSTM (WMT14 en-fr)"  # the document's, not today's


def test_the_name_of_a_published_system_stands_alone():
    names = {one.system for one in PUBLISHED}
    assert not [name for name in names if name.startswith(("the same", "five of these", "big", "base"))]
    beside_gru = [one.system for one in PUBLISHED if one.rung == "gru"]  # the rung itself feeds the context once
    assert len(beside_gru) == 3
    assert all(name.endswith(", context at every step") for name in beside_gru)
    base = {one.data: one.bleu for one in PUBLISHED if one.system == "Transformer base"}
    assert base == {"WMT14 en-de": 27.3, "WMT14 en-fr": 38.1}


def test_what_is_said_of_the_papers_holds_beside_a_ladder_on_the_same_data():
    assert {"Multi30k en-de", "WMT14 en-fr"} <= {one.data for one in PUBLISHED}
    assert "other data" not in PAPERS
    assert "on the data named in each row" in PAPERS
    assert PAPERS in to_markdown("x", make_blocks(document(row("lstm")), []))
    assert step_table(document(row("luong"))).head[-1] == "published"


def test_every_rule_of_the_search_is_told():
    search = {"beam": 5, "length_penalty": 1.2, "min_length": 9, "no_repeat_ngram": 2}
    strict = row("lstm")
    strict = msgspec.structs.replace(strict, beam=msgspec.structs.replace(strict.beam, search=search))
    shown = to_markdown("x", make_blocks(document(strict, row("gru")), []))
    assert "Beam 5, length penalty 1.2, at least 9 tokens, no 2 tokens in a row twice (lstm)." in shown


def test_papers_stand_beside_the_rungs_that_are_there():
    shown = to_markdown("x", make_blocks(document(row("luong")), []))
    assert "| luong | global attention, input feeding | 18.1 |" in shown
    assert "Vaswani" not in shown
    assert "The papers" not in to_markdown("x", make_blocks(document(row("mine")), []))


def test_a_test_set_that_weights_were_chosen_by_is_told():
    for valid, told in ((None, False), ("valid/test.tsv", False), ("./test.tsv", True), ("x.en,x.de", False)):
        about = Ladder(Path("out"), [], "train.tsv", valid, Sentences("test.tsv", [], ""), 60.0, 1)
        assert chosen_by_test(about) == told
        shown = to_markdown("x", make_blocks(msgspec.structs.replace(document(row("lstm")), chosen_by_test=told), []))
        assert (CHOSEN_BY_TEST in shown) == told


def test_a_page_escapes_what_a_name_may_hold():
    blocks = [Heading("a < b"), Text("x & y"), Table(["a|b", "n"], [["<i>", "1"]]), Picture("p.png", 'the "chart"')]
    markdown = to_markdown("T", blocks)
    assert markdown.splitlines()[0] == "# T"
    assert "| a\\|b | n |\n| --- | ---: |\n| <i> | 1 |" in markdown
    assert '![the "chart"](p.png)' in markdown
    html = to_html("T<", blocks, {"p.png": b"\x89PNG"})
    assert "<h2>a &lt; b</h2>" in html
    assert '<td class="text">&lt;i&gt;</td><td>1</td>' in html
    assert 'alt="the &quot;chart&quot;" src="data:image/png;base64,iVBORw=="' in html
    assert "<title>T&lt;</title>" in html
    assert "http" not in html  # one file, offline


def test_the_main_table_tells_steps_failures_and_papers():
    rows = [
        row("lstm", bleu=20.0),
        row("gru", bleu=22.5, against=step("lstm", 2.5, 0.001)),
        row("rnnsearch-dot", bleu=22.6, against=step("gru", 0.1, 0.4)),
        Failed(name="luong", family="attention", recipe="x", summary="y", reason="it diverged"),
        Waiting(name="transformer", family="Transformer", recipe="x", summary="y"),
    ]
    table = step_table(document(*rows))
    cells = {line[0]: dict(zip(table.head, line, strict=True)) for line in table.rows}
    assert list(cells) == ["lstm", "gru", "rnnsearch-dot", "luong"]
    assert cells["gru"]["BLEU (95 %)"] == "22.50 (21.50 .. 23.50)"
    assert (cells["gru"]["step: BLEU"], cells["gru"]["p"]) == ("+2.50 against lstm", "0.001 *")
    assert (cells["rnnsearch-dot"]["step: BLEU"], cells["rnnsearch-dot"]["p"]) == ("+0.10 against gru", "0.400")
    assert (cells["lstm"]["step: BLEU"], cells["lstm"]["p"]) == ("-", "-")
    assert cells["lstm"]["parameters"] == "1.2M"
    assert cells["luong"]["published"].startswith("16.8: global attention (WMT14 en-de); 18.1: ")
    assert cells["lstm"]["published"] == "-"
    assert cells["lstm"]["target tokens/s"] == "1,500"
    assert (cells["luong"]["step: BLEU"], cells["luong"]["p"]) == ("failed: it diverged", "-")
    assert table.head.index("step: BLEU") in table.texts  # words stand to the left
    told = {line[0]: line[-1] for line in recipe_table(document(*rows)).rows}
    assert told["gru"] == "from lstm: model.cell: lstm -> gru; model.layers: 1 -> 2"
    assert (told["rnnsearch-dot"], told["lstm"], told["transformer"]) == ("from gru: nothing", "-", "-")
    text = to_markdown("x", make_blocks(document(*rows), []))
    assert "transformer still to come" in text
    assert (
        "20 minutes per rung, seed 1, 2 threads, products in float32, one tokenizer for all (bpe, 6,000 tokens)."
        in text
    )
    assert title_of(document(*rows)) == "The ladder, en -> de"


def test_a_report_without_any_rung_has_its_pages_too():
    waiting = Waiting(name="rnn", recipe="ladder/rnn", summary="s", family="f")
    empty = document(waiting)
    assert "rnn still to come" in to_html(title_of(empty), make_blocks(empty, []), {})
    assert draw_charts(empty) == {}


def test_a_note_names_its_rungs_unless_it_is_about_all():
    warnings = {"lstm": ["few"], "gru": ["few", "odd"], "luong": ["few", "odd", "strange"]}
    noted = document(row("lstm"), row("gru"), row("luong"), warnings=warnings)
    for text in (to_markdown("x", make_blocks(noted, [])), to_html("x", make_blocks(noted, []), {})):
        assert text.count("few") == 1
        assert "Note: few" in text
        assert "Note (gru, luong): odd" in text
        assert "Note (luong): strange" in text


def test_warnings_are_kept_by_rung():
    scores = {name: SimpleNamespace(beam=SimpleNamespace(warnings=[])) for name in ("lstm", "gru", "slow")}
    scores["gru"].beam.warnings = ["seen"]
    assert gather_warnings([row("lstm"), row("gru")], scores) == {"gru": ["seen"]}
    scores["slow"].beam.warnings = ["seen"]
    told = gather_warnings([row("lstm"), row("gru"), row("slow", mfu=0.05)], scores)
    assert list(told) == ["gru", "slow"]
    assert told["slow"][0] == "seen"
    assert "Other work on the machine" in told["slow"][1]


def test_a_rung_that_had_far_less_of_the_machine_than_its_family_is_told():
    shares = {"additive": 0.30, "dot": 0.28, "gaussian": 0.15, "luong": 0.45}
    rows = [row(name, mfu=share) for name, share in shares.items()]
    rows += [row("lstm", family="fixed vector", mfu=0.6), row("older", mfu=None)]  # nothing to compare with
    told = unequal_shares(rows)
    assert list(told) == ["gaussian", "luong"]
    assert "it used 15.0% of the machine's peak (MFU); the median of its family (attention) is 29.0%" in str(told)
    assert "probably took time from it, so" in told["gaussian"][0]
    assert "probably took time from the others," in told["luong"][0]
    table = cost_table(document(*rows))
    assert [line[table.head.index("MFU")] for line in table.rows][:2] == ["30.0%", "28.0%"]
    assert table.rows[-1][table.head.index("MFU")] == "-"
    assert table.head.index("weights") in table.texts


def test_the_legend_tells_the_search_and_the_machine():
    blocks = make_blocks(document(row("lstm"), row("gru")), [])
    for text in (to_markdown("x", blocks), to_html("x", blocks, {})):
        assert "Beam 5, length penalty 1.2. The step is measured" in text
        assert "Machine: Processor 9, 2 cores, torch 2.13.0, Python 3.12.1." in text
    text = to_markdown("x", make_blocks(document(row("lstm"), row("wide", penalty=0.6)), []))
    assert "Beam 5, length penalty 1.2 (lstm). Beam 5, length penalty 0.6 (wide)." in text


def test_a_processor_without_a_name_is_told_by_its_architecture(tmp_path, monkeypatch):
    monkeypatch.setattr(ladder_report, "CPU_FACTS", tmp_path / "cpuinfo")
    monkeypatch.setattr("platform.processor", lambda: "")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert ladder_report.cpu_name() == "aarch64"
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Processor 9\n", "utf-8")
    assert ladder_report.cpu_name() == "Processor 9"
    assert ladder_report.find_machine().cpu == "Processor 9"


def test_single_words_are_judged_by_exact_match():
    words = document(row("lstm", unit="letters", tokenizer=SOUNDS), metric="exact_match")
    assert "(char, 287 tokens; the target's: word, 43)" in to_markdown("x", make_blocks(words, []))
    assert step_table(words).head[5:9] == [
        "exact match (95 %)",
        "token error rate (95 %)",
        "chrF (95 %)",
        "step: exact match",
    ]


@pytest.mark.parametrize(
    ("source", "target", "metric"),
    [
        ("24 janv 84", "1984-01-24", "exact_match"),  # fewer words than BLEU counts in a row
        ("three words here", "trois mots", "exact_match"),
        ("tomato", "T AH M EY T OW", "exact_match"),  # single words
        ("A man in a hat.", "Ein Mann mit einem Hut.", "bleu"),
        ("A man in a hat.", "戴帽子的男人", "bleu"),  # a script without spaces
        ("戴帽子的男人", "A man in a hat.", "bleu"),
    ],
)
def test_the_data_choose_what_rungs_are_compared_by(source, target, metric):
    assert choose_metric(Sentences("t", [Item((1,), source, (target,))] * 3, "h")) == metric


def test_single_words_are_judged_by_exact_match_by_length_too(monkeypatch):
    words = document(row("lstm", unit="letters"), metric="exact_match")
    assert length_table(words).rows == [["lstm", "70.00", "50.00"]]
    text = to_markdown("x", make_blocks(words, ["scores-by-length.png"]))
    assert "## exact match by source length" in text
    assert "![exact match by source length: the best rung of each family](scores-by-length.png)" in text
    assert "BLEU by source length" not in text
    drawn = []
    monkeypatch.setattr(ladder_charts, "draw_lines", lambda *arguments: drawn.append(arguments) or b"")
    draw_charts(words)
    assert drawn[0][:3] == ({"attention: lstm": [(0, 70.0)]}, "letters of the source", "exact match")


def test_exact_match_by_length_is_that_of_the_outputs():
    items = [Item((n,), source, (source.upper(),)) for n, source in enumerate(("ab", "cd", "abcdef", "ghijkl"))]
    known = [
        LengthBucket(unit="letters", least=least, most=most, sentences=2, bleu=0.0, chrf=0.0)
        for least, most in ((1, 4), (5, 6))
    ]
    outputs = ["AB", "CD", "ABCDEF", "wrong"]
    found = msgspec.structs.replace(row("lstm").beam, outputs=outputs, by_length=known)
    told = exact_by_length(found, Sentences("t.tsv", items, "h" * 64))
    assert [bucket.exact_match for bucket in told] == [100.0, 50.0]
    assert [(bucket.least, bucket.most) for bucket in told] == [(1, 4), (5, 6)]


def test_bleu_by_length_names_the_sentences_of_each_group():
    table = length_table(document(row("lstm", bleu=20.0)))
    assert table.head == ["words of the source (sentences)", "1-5 (30)", "6 or more (4)"]
    assert table.rows == [["lstm", "21.00", "19.00"]]


def test_lengths_are_drawn_for_the_best_of_each_family_without_rare_ones():
    rows = [row("dot", loss=2.2), row("additive", loss=2.0, bleu=19.0), row("lstm", family="fixed vector", bleu=9.0)]
    assert length_lines(rows, "bleu") == {"attention: additive": [(0, 20.0)], "fixed vector: lstm": [(0, 10.0)]}


def test_charts_are_png_files_and_the_same_numbers_make_the_same_bytes():
    assert can_draw()
    bars = [Bar("lstm", "fixed", 20.0, 20.5, 21.0), Bar("gru 中", "other", 22.0, 21.0, 23.0)]  # an odd interval
    drawn = draw_bars(bars, "BLEU")
    assert drawn.startswith(b"\x89PNG")
    assert drawn == draw_bars(bars, "BLEU")
    assert drawn != draw_bars(bars[:1], "BLEU")
    assert draw_bars([Bar("$x^$ $", "", 1, 1, 1)], "no formula").startswith(b"\x89PNG")
    assert draw_lines({"_wide": [(0, 1)]}, "x", "y").startswith(b"\x89PNG")  # no warning that it has no legend
    assert draw_lines({f"line {n}": [(0, n), (1, n)] for n in range(9)}, "x", "y", ["a", "b"]).startswith(b"\x89PNG")
    assert set(draw_charts(document(row("lstm")))) == {
        "scores-by-rung.png",
        "scores-by-length.png",
        "loss-by-minutes.png",
    }


@pytest.fixture
def rung_folder(tmp_path, monkeypatch):
    """A folder that pretends to be a trained rung; its translations are counted."""
    calls = []

    def translate(translator, items, beam, say):
        calls.append(beam)
        search = SearchRequest(beam=beam, length_penalty=translator.config.decode.length_penalty).filled().facts()
        return SimpleNamespace(texts=[f"{item.references[0]} {beam}" for item in items], seconds=0.5, search=search)

    tokenizers = SimpleNamespace(source=SimpleNamespace(encode_batch=lambda texts: [[5] for _ in texts]))
    monkeypatch.setattr(
        ladder_scores.Translator,
        "load",
        lambda folder, threads: SimpleNamespace(
            config=ladder_scores.read_config(folder), tokenizers=tokenizers, count_split=lambda texts: 2
        ),
    )
    settle(tmp_path)
    monkeypatch.setattr(ladder_scores, "translate_items", translate)
    monkeypatch.setattr(ladder_scores, "count_seen", lambda *_: 3)
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "run.json").write_text('{"format": 1, "finished": true}', "utf-8")
    return tmp_path, calls


SENTENCES = Sentences(
    "t.tsv", [Item((n,), f"word {n}", (f"das Wort ist {n} und {n * n} mal",)) for n in range(12)], "h" * 64
)


def test_the_same_weights_are_translated_once(rung_folder):
    folder, calls = rung_folder
    first = score_rung(folder, SENTENCES, print)
    assert calls == [5, 1]
    assert first.beam.outputs[2] == "das Wort ist 2 und 4 mal 5"
    assert first.seen_in_training == 3
    assert any("also in the training data" in text for text in first.beam.warnings)
    assert any("longer than the model is used to" in text for text in first.beam.warnings)
    assert to_text(score_rung(folder, SENTENCES, print)) == (folder / "scores.json").read_text("utf-8")
    assert first == read_scores(folder)
    assert calls == [5, 1]


def test_another_beam_in_the_settings_is_no_other_search(rung_folder):
    folder, calls = rung_folder
    score_rung(folder, SENTENCES, print)
    settle(folder, "decode.beam=2", "decode.batch_size=3")
    score_rung(folder, SENTENCES, print)
    assert calls == [5, 1]


@pytest.mark.parametrize("change", ["weights", "test", "file", "run", "search"])
def test_what_is_no_longer_so_is_measured_anew(rung_folder, change):
    folder, calls = rung_folder
    score_rung(folder, SENTENCES, print)
    test = SENTENCES
    if change == "weights":
        (folder / "model.safetensors").write_bytes(b"others")
    elif change == "test":
        test = Sentences("t.tsv", SENTENCES.items[:5], "i" * 64)
    elif change == "search":
        settle(folder, "decode.length_penalty=0.5")
    elif change == "run":
        (folder / "run.json").write_text('{"format": 1, "finished": false}', "utf-8")
    else:
        (folder / "scores.json").write_text("{", "utf-8")
    score_rung(folder, test, print)
    assert calls == [5, 1, 5, 1]


def test_the_speed_of_a_run_is_the_median_and_its_curve_that_of_validation(tmp_path):
    settle(tmp_path, "data.source_lang=en", "train.threads=2")
    facts = {"format": 1, "params": 7, "seconds": 90.0, "step": 30, "epoch": 2, "tokens": 900, "valid_loss": 2.5}
    (tmp_path / "run.json").write_text(json.dumps({**facts, "weights": "last"}), "utf-8")
    speeds = [100.0, 900.0, 200.0, 120.0, 110.0]
    shares = [0.2, 0.4, 0.3, 0.5, 0.0]  # the last: before the machine's speed was known
    events = [
        {"event": "train", "tokens_per_second": speed, "loss": 9.0, "seconds": 1.0, "mfu": share}
        for speed, share in zip(speeds, shares, strict=True)
    ]
    losses = [(30.0, 3.5), (60.0, 2.5), (90.0, "nan")]
    events += [{"event": "valid", "loss": loss, "seconds": seconds} for seconds, loss in losses]
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events), "utf-8")
    told = describe_run(tmp_path)
    assert told["tokens_per_second"] == 120.0
    assert told["mfu"] == pytest.approx(0.35)
    assert told["curve"] == [(0.5, 3.5), (1.0, 2.5)]
    assert (told["minutes"], told["params"], told["threads"], told["languages"]) == (1.5, 7, 2, ["en", "de"])
    (tmp_path / "metrics.jsonl").write_text("", "utf-8")
    for _ in ("empty", "deleted"):
        assert describe_run(tmp_path)["tokens_per_second"] == 10.0  # of the whole run
        assert describe_run(tmp_path)["mfu"] is None
        (tmp_path / "metrics.jsonl").unlink(missing_ok=True)
    (tmp_path / "run.json").write_text(json.dumps({**facts, "weights": "last", "valid_loss": math.nan}), "utf-8")
    assert describe_run(tmp_path)["valid_loss"] is None  # what JSON has no number for


def test_a_loss_that_overflowed_is_a_dash_and_no_obstacle():
    told = document(row("rnn", family="fixed vector", loss=None, curve=[]), row("lstm", family="fixed vector"))
    assert [cells[4] for cells in step_table(told).rows] == ["-", "2.000"]
    assert [cells[4] for cells in cost_table(told).rows] == ["-", "7.39"]
    assert [*length_lines(told.rungs, "bleu")] == ["fixed vector: lstm"]
    assert draw_charts(told)


def test_differences_are_those_of_the_paired_test_and_kept_until_the_other_changes(rung_folder, monkeypatch):
    folder, _ = rung_folder
    scores = score_rung(folder, SENTENCES, print)
    wrong = ["das Wort ist nicht da"] * len(SENTENCES.items)
    change = msgspec.structs.replace
    others = change(scores, weights="w", beam=change(scores.beam, outputs=wrong))
    got = differences(folder, scores, "lstm", others, SENTENCES)
    ours, theirs = (measure(one.beam.outputs, SENTENCES.references, "de") for one in (scores, others))
    wanted = compare(ours, theirs)
    assert got["bleu"].difference == pytest.approx(wanted["bleu"].difference)
    assert got["chrf"].p_value == pytest.approx(wanted["chrf"].p_value)
    assert read_scores(folder).against.rung == "lstm"
    monkeypatch.setattr(ladder_scores, "compare", lambda *_: {})
    assert differences(folder, scores, "lstm", others, SENTENCES) == got
    old = change(scores, against=change(scores.against, method=1))
    assert differences(folder, old, "lstm", others, SENTENCES) == {}  # p-values of an earlier method
    assert differences(folder, scores, "lstm", change(others, weights="v"), SENTENCES) == {}
    assert differences(folder, scores, "gru", others, SENTENCES) == {}
    monkeypatch.setattr(ladder_scores, "compare", compare)
    searched = change(others, beam=change(others.beam, search={"length_penalty": 0.5}))
    assert differences(folder, scores, "gru", searched, SENTENCES) == got


def test_the_name_of_a_file_that_is_no_utf8_is_no_obstacle():
    assert as_bytes("t\udce9st é") == "t\\udce9st é".encode()
