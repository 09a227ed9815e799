"""What a class sees of a ladder: honest stars, comparable papers, the same colours, the sentences of each rung."""

import json
from types import SimpleNamespace

import msgspec
import pytest

from seqloom.evaluation.report import NO_FOUR_WORDS
from seqloom.explain import charts
from seqloom.ladder.charts import FAMILY_COLOURS, draw_charts
from seqloom.ladder.document import Sample
from seqloom.ladder.pages import to_html, to_markdown
from seqloom.ladder.papers import PUBLISHED, is_same_pair, published_for
from seqloom.ladder.report import describe_run, gather_warnings
from seqloom.ladder.run import summarise
from seqloom.ladder.rungs import RUNGS
from seqloom.ladder.samples import NUM_SAMPLES, gather_samples, spread_by_length
from seqloom.ladder.tables import MFU, YOUNG, cost_table, make_blocks, step_table
from seqloom.metrics.testset import Item
from tests.ladder_documents import document, row, settle, step


def p_of(told, name):
    table = step_table(told)
    return {line[0]: line[table.head.index("p")] for line in table.rows}[name]


@pytest.mark.parametrize(("epochs", "shown"), [((3, 3), "0.001 *"), ((0.4, 3), "0.001 (*)"), ((3, 0.4), "0.001 (*)")])
def test_a_star_of_less_than_one_epoch_is_in_brackets(epochs, shown):
    rows = [row("lstm", epoch=epochs[0]), row("gru", epoch=epochs[1], against=step("lstm", 2.5, 0.001))]
    told = document(*rows)
    assert p_of(told, "gru") == shown
    page, terminal = to_markdown("x", make_blocks(told, [])), summarise(told)
    assert ("(*) is significant on these sentences, but one of the two rungs saw less" in page) == ("(" in shown)
    young = "gru" if epochs[1] < 1 else "lstm"
    note = f"Note: less than one epoch of the training data was seen ({young} 40%)."
    assert (note in terminal) == ("(" in shown)


def test_no_significance_is_no_doubtful_star():
    told = document(row("lstm", epoch=0.4), row("gru", against=step("lstm", 0.1, 0.4)))
    assert p_of(told, "gru") == "0.400"


def test_a_rung_of_less_than_one_epoch_has_a_warning():
    scores = SimpleNamespace(beam=SimpleNamespace(warnings=["few"]))
    told = gather_warnings([row("lstm", epoch=0.99), row("gru", epoch=1)], {"lstm": scores, "gru": scores})
    assert told == {"lstm": [YOUNG, "few"], "gru": ["few"]}


def test_a_note_on_bleu_is_left_out_where_bleu_is_not_shown():
    scores = {"lstm": SimpleNamespace(beam=SimpleNamespace(warnings=[NO_FOUR_WORDS, "few"]))}
    assert gather_warnings([row("lstm")], scores, "exact_match") == {"lstm": ["few"]}
    assert gather_warnings([row("lstm")], scores, "bleu") == {"lstm": [NO_FOUR_WORDS, "few"]}


def test_papers_are_for_translations_and_stand_beside_the_same_languages():
    assert published_for(["en", "fr"], "bleu") == published_for(["en", "es"], "bleu") == list(PUBLISHED)
    assert published_for(["en", "fr"], "exact_match") == published_for(["", ""], "bleu") == []
    beside = {
        languages: {one.data for one in PUBLISHED if is_same_pair(one, languages.split())}
        for languages in ("en fr", "en-GB FR", "de en", "en es", "fr en")
    }
    assert beside["en fr"] == beside["en-GB FR"] == {"WMT14 en-fr", "Multi30k en-fr"}
    assert beside["de en"] == {"Multi30k de-en"}
    assert beside["en es"] == beside["fr en"] == set()


def test_without_papers_there_is_no_column_for_them():
    dates = msgspec.structs.replace(document(row("lstm")), published=[])
    assert step_table(dates).head[-1] == "p"
    assert "published" not in to_markdown("x", make_blocks(dates, []))
    assert step_table(document(row("lstm")), papers=False).head[-1] == "p"


def test_a_family_has_its_colour_in_every_report(monkeypatch):
    drawn = {}
    monkeypatch.setattr(charts, "finish", lambda figure, with_legend: b"")  # rendering takes most of the time
    real = charts.choose_colours

    def remember(groups, fixed):
        found = real(groups, fixed)
        drawn.update({(group, number): colour for number, (group, colour) in enumerate(found.items())})
        return found

    monkeypatch.setattr(charts, "choose_colours", remember)
    all_rungs = [row(rung.name, rung.family) for rung in RUNGS]
    for rows in (all_rungs, all_rungs[::-1], all_rungs[-2:], [row("mine", "mine"), all_rungs[0]]):
        draw_charts(document(*rows))
    seen = {}
    for (group, _), colour in drawn.items():
        seen.setdefault(group, set()).add(colour)
    assert all(len(colours) == 1 for colours in seen.values())
    assert {group: {colour} for group, colour in FAMILY_COLOURS.items()}.items() <= seen.items()
    assert len(set(FAMILY_COLOURS.values())) == len(FAMILY_COLOURS) == 5
    assert seen["mine"].isdisjoint(FAMILY_COLOURS.values())


def test_lines_of_one_family_differ_by_dash_and_marker():
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    for number in range(6):
        charts.draw_line(axes, f"rung {number}", [(0, 1), (1, 2)], "#0072B2", number)
    styles = {(line.get_linestyle(), line.get_marker()) for line in axes.lines}
    assert len(styles) == 6
    assert not axes.texts


def test_a_single_validation_is_a_large_point_with_its_value():
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    charts.draw_line(axes, "lstm", [(1.5, 3.4567)], "#0072B2", 0)
    assert axes.lines[0].get_markersize() >= 8
    charts.draw_line(axes, "gru", [(1.5, 3.4567)], "#D55E00", 1)
    assert [text.get_text() for text in axes.texts] == ["lstm: 3.46", "gru: 3.46"]
    heights = [text.get_position()[1] for text in axes.texts]
    assert heights[1] - heights[0] >= 10  # labels of the same point stand above each other


def items_of(lengths):
    return [Item((n + 1, n + 100), "x" * length, ("ref",)) for n, length in enumerate(lengths)]


def test_sentences_are_spread_over_the_lengths_whatever_the_rungs_wrote():
    places = spread_by_length(items_of([9, 1, 8, 2, 7, 3, 6, 4, 5, 10]))
    assert [items_of([9, 1, 8, 2, 7, 3, 6, 4, 5, 10])[place].source for place in places] == [
        "x" * length for length in (2, 4, 6, 8, 10)
    ]
    assert len(spread_by_length(items_of([3, 1]))) == 2
    assert spread_by_length([]) == []
    assert len(spread_by_length(items_of(range(1, 1001)))) == NUM_SAMPLES


def test_the_pages_show_what_each_rung_wrote():
    sample = Sample(
        line=7, source="24 janv 84", references=["1984-01-24"], outputs={"rnn": "1984", "gru": "1984-01-24"}
    )
    told = document(row("rnn"), row("gru"), samples=[sample])
    assert (
        "| test line 7 | 24 janv 84 |\n| --- | --- |\n| reference | 1984-01-24 |\n| rnn | 1984 |\n| gru | = 1984-01-24 "
        in to_markdown("x", make_blocks(told, []))
    )
    assert '<td class="text">= 1984-01-24</td>' in to_html("x", make_blocks(told, []), {})
    assert "What each rung wrote" not in to_markdown("x", make_blocks(document(row("rnn")), []))


def test_samples_hold_the_output_of_each_rung():
    def wrote(*texts):
        return SimpleNamespace(beam=SimpleNamespace(outputs=texts))

    found = gather_samples(items_of([2, 1]), {"rnn": wrote("a", "b"), "gru": wrote("c", "d")})
    assert [(one.line, one.source, one.references, one.outputs) for one in found] == [
        (2, "x", ["ref"], {"rnn": "b", "gru": "d"}),
        (1, "xx", ["ref"], {"rnn": "a", "gru": "c"}),
    ]


@pytest.mark.parametrize(("share", "shown"), [(0.44, "44.0%"), (1.09, "-")])
def test_an_impossible_mfu_is_not_shown(tmp_path, share, shown):
    settle(tmp_path)
    facts = {"format": 1, "params": 7, "seconds": 90.0, "step": 30, "epoch": 2, "valid_loss": 2.5, "weights": "last"}
    (tmp_path / "run.json").write_text(json.dumps(facts), "utf-8")
    event = {"event": "train", "tokens_per_second": 9.0, "loss": 9.0, "seconds": 1.0, "mfu": share}
    (tmp_path / "metrics.jsonl").write_text(json.dumps(event) + "\n", "utf-8")
    table = cost_table(document(row("lstm", mfu=describe_run(tmp_path)["mfu"])))
    assert table.rows[0][table.head.index("MFU")] == shown
    assert "measured at the start of each run" in MFU
