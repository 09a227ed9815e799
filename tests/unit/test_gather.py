"""From file names to checked pairs: what is refused, and what the messages name."""

import json
import sys
from dataclasses import replace

import pytest

from seqloom.config import Config, DataConfig, load_config
from seqloom.data import doctor
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import DataError, ModelError, UsageError
from seqloom.evaluation.records import read_pairs
from seqloom.training import data as gather
from seqloom.training.data import gather_corpora, gather_data, refuse_bad_data
from seqloom.training.request import Settled, TrainRequest

SETTINGS = ["text.tokenizer=char", "text.vocab_size=300", "data.valid_pairs=5"]
OF_TASK = {"classify": ["task.name=classify", "model.kind=bag"], "language": ["task.name=language", "model.kind=gpt"]}


@pytest.fixture
def spec(tmp_path):
    """Give pairs a file."""

    def write(name, lines, columns=None, form="pairs"):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
        return CorpusSpec.parse(str(tmp_path / name), columns, form=form)

    return write


def good(start=0, more=""):
    return [f"word {n}\tmot {n}{more}" for n in range(start, start + 60)]


def prepared(folder, specs, valid=(), told=None, task="translate"):
    config = load_config(overrides=[*SETTINGS, *OF_TASK.get(task, ())])
    return gathered(folder, specs, config, valid, told)


def gathered(folder, specs, config, valid=(), told=None):
    folder.mkdir(exist_ok=True)
    tell = told.append if told is not None else lambda text: None
    request = TrainRequest(tuple(spec.name for spec in specs), folder, quiet=True, tell=tell)
    return gather_data(Settled(request, config, tuple(specs), tuple(valid)))


def test_several_turns_are_asked_for_only_where_the_sources_hold_them(spec, tmp_path):
    one, three = (load_config(overrides=[*SETTINGS, "task.name=dialogue", f"task.turns={n}"]) for n in (1, 3))
    lone, joined = spec("lone.tsv", good()), spec("joined.tsv", [*good(), "word <turn> mot <turn> more\tyes"])
    with pytest.raises(UsageError, match=r"task\.turns = 3: no source of .*lone\.tsv holds more than one turn\. Write"):
        gathered(tmp_path / "run", [lone], three)
    gathered(tmp_path / "run", [lone, joined], three)
    gathered(tmp_path / "lone", [lone], one)


def test_the_culprit_is_named_and_no_other(spec):
    train, valid = spec("train.tsv", good()), spec("valid.tsv", ["one column"] * 3)
    with pytest.raises(DataError) as caught:
        refuse_bad_data([train], valid, Config(), False, print)
    said = str(caught.value)
    assert said.startswith(f"{valid.name}: kept 0 of 3 pairs")
    assert "line 1: 1 column, want 2" in said
    assert f"`seqloom doctor {train.name} --valid {valid.name}` shows all" in said
    assert f"{train.name}: kept" not in said


@pytest.mark.parametrize(
    ("task", "form", "words"),
    [
        ("translate", "pairs", ""),
        ("summarise", "pairs", " --task summarise"),
        ("classify", "labelled", " --task classify"),
        ("tag", "tagged", " --task tag"),
    ],
)
def test_the_doctor_is_advised_with_the_task_and_the_columns(task, form, words, spec):
    bad = spec("bad.tsv", ["alone"] * 3, form=form)
    config = Config(task=replace(Config().task, name=task))
    with pytest.raises(DataError) as caught:
        refuse_bad_data([bad], None, config, False, print)
    assert f"`seqloom doctor {bad.name}{words}` shows all" in str(caught.value)
    with pytest.raises(DataError) as caught:
        refuse_bad_data([spec("bad.tsv", ["alone"] * 3, "2,1", form)], None, config, False, print)
    assert f"`seqloom doctor {bad.name} --columns 2,1{words}` shows all" in str(caught.value)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("pairs", ""),
        ("labelled", " --task classify"),
        ("tagged", " --task tag"),
        ("text", " --task masked"),
        ("stream", " --task language"),
    ],
)
def test_evaluating_advises_the_doctor_with_a_task_too(form, words, spec):
    bad = spec("bad.tsv", [""] * 3, form=form)
    with pytest.raises(DataError) as caught:
        read_pairs(bad, DataConfig(), False, print)
    assert f"`seqloom doctor {bad.name}{words}` shows details" in str(caught.value)


def labelled(*labels, number=30):
    return [f"{labels[n % len(labels)]}\tfilm {n}" for n in range(number)]


def test_labels_that_only_the_validation_file_has_are_named_beside_those_that_are_known(spec, tmp_path):
    told = []
    train = spec("train.tsv", labelled("very good", "bad"), form="labelled")
    valid = spec("valid.tsv", [*labelled("bad"), "so so\tx", "fair\ty", "so so\tz"], form="labelled")
    prepared(tmp_path / "run", [train], [valid], told, task="classify")
    (finding,) = [text for text in told if "line 31: so so" in text]
    assert "line 32: fair" in finding and "the training data has: very good, bad" in finding
    assert any("left out, unknown label: 3 (lines 31, 32, 33); the first: so so" in text for text in told)


def test_a_validation_file_without_a_known_label_is_refused(spec, tmp_path):
    train = spec("train.tsv", labelled("good", "bad"), form="labelled")
    valid = spec("valid.tsv", labelled("pos", "neg"), form="labelled")
    with pytest.raises(DataError) as caught:
        prepared(tmp_path / "run", [train], [valid], task="classify")
    said = str(caught.value)
    assert said.startswith(f"{valid.name}: ") and "line 1: pos" in said and "line 2: neg" in said
    assert "no label of this file is in the training data; the training data has: good, bad" in said
    assert "check the spelling" in said
    assert f"`seqloom doctor {train.name} --valid {valid.name} --task classify` shows all" in said


def test_one_label_is_nothing_to_learn_but_files_may_have_one_each(spec, tmp_path):
    good, bad = (spec(f"{label}.tsv", labelled(label), form="labelled") for label in ("good", "bad"))
    with pytest.raises(DataError, match=r"(?s)hard +one label +30.*every line has good: nothing to distinguish"):
        prepared(tmp_path / "run", [good], task="classify")
    prepared(tmp_path / "run", [good, bad], [good], task="classify")


def test_a_text_on_one_line_cannot_be_parted(spec, tmp_path):
    one = spec("one.txt", ["all of it on one line"], form="stream")
    with pytest.raises(DataError) as caught:
        prepared(tmp_path / "run", [one], task="language")
    said = str(caught.value)
    assert said.startswith(f"{one.name}: 1 usable line of text: too few to hold any out for validation.")
    assert "--valid, or break this one into lines" in said and "pair" not in said and "source" not in said


def test_blank_lines_alone_train_no_language_model(spec, tmp_path):
    with pytest.raises(DataError, match="only blank lines"):
        prepared(tmp_path / "run", [spec("blank.txt", [""] * 50, form="stream")], task="language")


def test_all_that_is_bad_is_told_at_once(spec):
    bad = [spec(name, ["one column"]) for name in ("a.tsv", "b.tsv", "valid.tsv")]
    with pytest.raises(DataError) as caught:
        refuse_bad_data(bad[:2], bad[2], Config(), False, print)
    for one in bad:
        assert f"{one.name}: kept 0 of 1 pairs" in str(caught.value)


def test_findings_of_the_validation_file_are_told(spec):
    told = []
    valid = spec("valid.tsv", [*good(100), "only this"])
    specs = [spec("train.tsv", good())]
    refuse_bad_data(specs, valid, Config(), False, told.append)
    assert told[0].startswith(f"{specs[0].name}: reads columns separated by tabs; column 1 is the source")
    assert [text.splitlines()[0] for text in told[1:]] == [
        f"{valid.name}: kept 60 of 61 pairs; not used: 1 missing column"
    ]


def test_the_validation_file_is_read_once_and_compared_with_every_corpus(spec, monkeypatch):
    told, read = [], []
    rows = doctor.checked_rows
    monkeypatch.setattr(doctor, "checked_rows", lambda one, *more: read.append(one.name) or rows(one, *more))
    specs = [spec("a.tsv", good()), spec("b.tsv", good(100))]
    valid = spec("valid.tsv", [good()[3], *good(200), good(100)[4]])
    refuse_bad_data(specs, valid, Config(), False, told.append)
    assert sorted(read) == sorted([*(one.name for one in specs), valid.name])
    assert [("overlap" in text, text.split(":")[0]) for text in told[:2]] == [(True, one.name) for one in specs]


def test_references_are_no_fault_of_a_validation_file(spec):
    told = []
    refuse_bad_data([spec("a.tsv", good())], spec("v.tsv", good(100, "\tmore")), Config(), False, told.append)
    assert [text.split(": ")[1].split(" ")[0] for text in told] == ["reads", "reads"]


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
        gather_corpora(TrainRequest(tuple(pairs) if isinstance(pairs, list) else (pairs,), tmp_path, mix=mix), "pairs")
    assert not (tmp_path / "stdin.tsv").exists()


def test_standard_input_is_no_validation_file(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Untouched())
    with pytest.raises(UsageError, match="--valid -: standard input can be read only once"):
        prepared(tmp_path / "run", [spec("a.tsv", good())], [CorpusSpec.parse("-")])


def test_a_started_run_is_known_by_its_facts(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(gather, "spool_stdin", lambda folder, columns, started, form: seen.append(started))
    monkeypatch.setattr(gather, "refuse_stdin", lambda where, specs: None)
    request = TrainRequest(("-",), tmp_path)
    gather_corpora(request, "pairs")
    (tmp_path / "run.json").write_text("{}")
    gather_corpora(request, "pairs")
    assert seen == [False, True]
