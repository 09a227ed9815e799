"""From names to checked pairs: what is refused, who is named, and what is told."""

import json
import sys
from pathlib import Path

import pytest

from seqloom.config import Config, load_config
from seqloom.data import doctor
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import DataError, ModelError, UsageError
from seqloom.workflows import gather
from seqloom.workflows.gather import gather_corpora, gather_data, refuse_bad_data, refuse_lone_turns

SETTINGS = ["text.tokenizer=char", "text.vocab_size=300", "data.valid_pairs=5"]


@pytest.fixture
def spec(tmp_path):
    """Give pairs a file."""

    def write(name, lines, columns=None):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
        return CorpusSpec.parse(str(tmp_path / name), columns)

    return write


def good(start=0, more=""):
    return [f"word {n}\tmot {n}{more}" for n in range(start, start + 60)]


def prepared(folder, specs, valid=(), told=None):
    folder.mkdir(exist_ok=True)
    tell = told.append if told is not None else lambda text: None
    return gather_data(folder, specs, valid, load_config(overrides=SETTINGS), None, False, tell, quiet=True)


def test_several_turns_are_asked_for_only_where_the_sources_hold_them(spec):
    config = load_config(overrides=["task.name=dialogue", "task.turns=3"])
    lone, joined = spec("lone.tsv", good()), spec("joined.tsv", [*good(), "word <turn> mot <turn> more\tyes"])
    with pytest.raises(UsageError, match=r"task\.turns = 3: no source of .*lone\.tsv holds more than one turn\. Write"):
        refuse_lone_turns([lone], config)
    refuse_lone_turns([lone, joined], config)
    refuse_lone_turns([lone], load_config(overrides=["task.name=dialogue"]))
    with pytest.raises(UsageError, match="no source of"):
        settings = [*SETTINGS, "task.name=dialogue", "task.turns=3"]
        gather_data(Path(lone.name).parent, [lone], (), load_config(overrides=settings), None, False, print, quiet=True)


def test_the_culprit_is_named_and_no_other(spec):
    train, valid = spec("train.tsv", good()), spec("valid.tsv", ["one column"] * 3)
    with pytest.raises(DataError) as caught:
        refuse_bad_data([train], valid, Config(), False, print)
    said = str(caught.value)
    assert said.startswith(f"{valid.name}: kept 0 of 3 pairs")
    assert "line 1: 1 column, want 2" in said
    assert f"`seqloom doctor {train.name} --valid {valid.name}` shows all" in said
    assert f"{train.name}: kept" not in said


def test_all_that_is_bad_is_told_at_once(spec):
    bad = [spec(name, ["one column"]) for name in ("a.tsv", "b.tsv", "valid.tsv")]
    with pytest.raises(DataError) as caught:
        refuse_bad_data(bad[:2], bad[2], Config(), False, print)
    for one in bad:
        assert f"{one.name}: kept 0 of 1 pairs" in str(caught.value)


def test_findings_of_the_validation_file_are_told(spec):
    told = []
    valid = spec("valid.tsv", [*good(100), "only this"])
    refuse_bad_data([spec("train.tsv", good())], valid, Config(), False, told.append)
    assert [text.splitlines()[0] for text in told] == [f"{valid.name}: kept 60 of 61 pairs; not used: 1 missing column"]


def test_the_validation_file_is_read_once_and_compared_with_every_corpus(spec, monkeypatch):
    told, read = [], []
    rows = doctor.checked_rows
    monkeypatch.setattr(doctor, "checked_rows", lambda one, *more: read.append(one.name) or rows(one, *more))
    specs = [spec("a.tsv", good()), spec("b.tsv", good(100))]
    valid = spec("valid.tsv", [good()[3], *good(200), good(100)[4]])
    refuse_bad_data(specs, valid, Config(), False, told.append)
    assert sorted(read) == sorted([*(one.name for one in specs), valid.name])
    assert [("overlap" in text, text.split(":")[0]) for text in told] == [(True, one.name) for one in specs]


def test_references_are_no_fault_of_a_validation_file(spec):
    told = []
    refuse_bad_data([spec("a.tsv", good())], spec("v.tsv", good(100, "\tmore")), Config(), False, told.append)
    assert told == []


def test_columns_that_training_does_not_use_are_told(spec, tmp_path):
    told = []
    train = spec("a.tsv", ["id\ten\tfr\tfr2", *(f"{n}\tword {n}\tmot {n}\tm {n}" for n in range(60))], "en,fr,fr2")
    prepared(tmp_path / "run", [train], told=told)
    assert "--columns: training learns en -> fr; fr2 is used in validation only" in told
    told.clear()
    prepared(tmp_path / "other", [CorpusSpec.parse(train.name, "en,fr")], told=told)
    assert not [text for text in told if "--columns" in text]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", r"run\.json: damaged"),
        ("[]", r"run\.json: damaged"),
        ('{"format": 99, "version": "9.9"}', "written by Seqloom 9.9"),
        ('{"format": 1}', "no data_hash"),
        ('{"format": 1, "data_hash": 7}', "data_hash = 7, want str"),
    ],
)
def test_a_damaged_run_is_a_sentence(spec, tmp_path, content, said):
    train = spec("a.tsv", good())
    prepared(tmp_path / "run", [train])
    (tmp_path / "run" / "run.json").write_text(content)
    with pytest.raises(ModelError, match=said):
        prepared(tmp_path / "run", [train])


def test_going_on_with_the_same_data_and_with_other(spec, tmp_path):
    train = spec("a.tsv", good())
    store = prepared(tmp_path / "run", [train])[1]
    (tmp_path / "run" / "run.json").write_text(json.dumps({"format": 1, "data_hash": store.data_hash}))
    assert prepared(tmp_path / "run", [train])[1].data_hash == store.data_hash
    with pytest.raises(UsageError, match="trained on other data"):
        prepared(tmp_path / "run", [spec("b.tsv", good(7))])


class Untouched:
    """A standard input that must not be read."""

    def isatty(self):
        return False

    @property
    def buffer(self):
        raise AssertionError("read")


@pytest.mark.parametrize(
    ("pairs", "mix", "said"),
    [
        ("a.tsv", ["-:2"], "--mix -: standard input can be read only once"),
        ("-", ["-"], "--mix -: standard input can be read only once"),
        ("-,a.tsv", [], "PAIRS -,a.tsv: standard input can be read only once"),
        (["-", "-"], [], "- is given twice"),
    ],
)
def test_standard_input_where_it_cannot_be(pairs, mix, said, spec, tmp_path, monkeypatch):
    spec("a.tsv", good())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", Untouched())
    with pytest.raises(UsageError, match=said):
        gather_corpora(pairs, mix, None, tmp_path)
    assert not (tmp_path / "stdin.tsv").exists()


def test_standard_input_is_no_validation_file(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Untouched())
    with pytest.raises(UsageError, match="--valid -: standard input can be read only once"):
        prepared(tmp_path / "run", [spec("a.tsv", good())], [CorpusSpec.parse("-")])


def test_a_started_run_is_known_by_its_facts(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(gather, "spool_stdin", lambda folder, columns, started, form: seen.append(started))
    monkeypatch.setattr(gather, "refuse_stdin", lambda where, specs: None)
    gather_corpora("-", [], None, tmp_path)
    (tmp_path / "run.json").write_text("{}")
    gather_corpora("-", [], None, tmp_path)
    assert seen == [False, True]
