"""`seqloom ladder`: rung after rung, stopped and resumed, failures reported; the models are far too small to learn."""

import json
import os
import platform
import random
import shutil
import signal
from statistics import fmean

import pytest

from seqloom.cli.app import main
from seqloom.demo.dates import generate
from seqloom.errors import ModelError, TrainingError
from seqloom.files.durable import hash_file
from seqloom.files.lock import run_lock
from seqloom.ladder import report as ladder_report
from seqloom.ladder import run as ladder
from seqloom.ladder import scores as ladder_scores
from seqloom.ladder.tables import CHOSEN_BY_TEST
from seqloom.runtime.folder import read_config
from seqloom.text.sides import Tokenizers
from seqloom.training.loop import Loop

RUNG = """# {name}, a rung of the tests. Result: none
[text]
tokenizer = "word"
vocab_size = 50
[model]
kind = "transformer"
layers = {layers}
width = 8
heads = 2
[train]
learning_rate = 1e-3
warmup = 1
schedule = "constant"
batch_tokens = 512
valid_every = 3
save_every = 3
log_every = 1
average = 1
threads = 1
[data]
valid_pairs = 10
"""
LIMITS = ["--set", "train.max_steps=6"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A corpus of small sentences turned around, a test set, and the recipes of three rungs."""
    folder = tmp_path_factory.mktemp("ladder")
    draw = random.Random(3)
    sentences = [" ".join(draw.choices(("one", "two", "three", "four"), k=draw.randint(2, 7))) for _ in range(140)]
    lines = [f"{text}\t{' '.join(reversed(text.split()))}\n" for text in sentences]
    (folder / "train.tsv").write_text("".join(lines[:120]), "utf-8")
    (folder / "test.tsv").write_text("".join(lines[120:]), "utf-8")
    for name, layers in (("one", 1), ("two", 2), ("wild", 1)):
        (folder / f"{name}.toml").write_text(RUNG.format(name=name, layers=layers), "utf-8")
    return folder


def call(files, out, rungs, *more, budget="9h"):
    names = ",".join(str(files / f"{rung}.toml") for rung in rungs)
    words = [files / "train.tsv", "--test", files / "test.tsv", "--out", out, "--rungs", names, "--budget", budget]
    return main(["ladder", *map(str, [*words, *LIMITS, *more])])


@pytest.fixture(scope="module")
def climbed(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "ladder"
    assert call(files, out, ["one", "two"]) == 0
    return out


def report_of(out):
    return json.loads((out / "report.json").read_text("utf-8"))


def test_every_rung_is_a_model_with_scores_and_the_report_has_them(climbed):
    report = report_of(climbed)
    assert [(row["name"], row["status"]) for row in report["rungs"]] == [("one", "done"), ("two", "done")]
    assert report["rungs"][0]["params"] < report["rungs"][1]["params"]
    for row in report["rungs"]:
        run = json.loads((climbed / row["name"] / "run.json").read_text("utf-8"))
        saved = json.loads((climbed / row["name"] / "scores.json").read_text("utf-8"))
        assert (row["step"], row["valid_loss"]) == (6, run["valid_loss"])
        assert row["minutes"] == pytest.approx(run["seconds"] / 60)
        assert row["tokens_per_second"] > 0
        assert [point[1] for point in row["curve"]] == sorted((p[1] for p in row["curve"]), reverse=True)
        for search, beam in (("beam", 5), ("greedy", 1)):
            assert row[search]["beam"] == beam
            assert row[search]["bleu"] == saved[search]["bleu"]
            assert len(saved[search]["outputs"]) == row[search]["sentences"] == report["sentences"]
        log = [json.loads(line) for line in (climbed / row["name"] / "metrics.jsonl").read_text("utf-8").splitlines()]
        assert row["mfu"] == pytest.approx(fmean(event["mfu"] for event in log if event["event"] == "train"))
        assert all(0 <= bucket["exact_match"] <= 100 for bucket in row["beam"]["by_length"])
    assert report["rungs"][0]["against"] is None
    assert report["rungs"][1]["against"]["rung"] == "one"
    assert set(report["warnings"]) == {"one", "two"}
    assert report["machine"]["python"] == platform.python_version()
    assert set(report["rungs"][1]["against"]["differences"]) == {"bleu", "chrf", "exact_match", "token_error_rate"}


def test_one_tokenizer_serves_all(climbed):
    contents = {(climbed / part / "tokenizer" / "tokenizer.json").read_bytes() for part in (".", "one", "two")}
    assert len(contents) == 1


def test_the_pages_say_what_the_document_says(climbed):
    report = report_of(climbed)
    row = report["rungs"][1]
    for page in ("report.md", "report.html"):
        text = (climbed / page).read_text("utf-8")
        assert f"{row['beam']['bleu']['score']:.2f} ({row['beam']['bleu']['low']:.2f} .." in text
        assert "against one" in text
        assert "The papers" not in text  # rungs of one's own stand beside none
        assert "two, a rung of the tests." in text
        assert f"Note: Only {report['sentences']} sentences: " in text  # of both rungs
        assert f"Python {platform.python_version()}." in text
        assert "Beam 5, length penalty 1. " in text
        assert "from one: model.layers: 1 -&gt; 2" in text or "from one: model.layers: 1 -> 2" in text
    assert (climbed / "report.html").read_text("utf-8").count("data:image/png;base64,") == 3
    for chart in ("scores-by-rung.png", "scores-by-length.png", "loss-by-minutes.png"):
        assert (climbed / chart).read_bytes().startswith(b"\x89PNG")
        assert f"({chart})" in (climbed / "report.md").read_text("utf-8")


@pytest.mark.slow
def test_a_ladder_on_dates_in_too_little_time_says_so(files, tmp_path, capsys, monkeypatch):
    """Exact match, no papers, no unqualified star, and the dates as each rung wrote them."""
    monkeypatch.setattr(ladder_report, "can_draw", lambda: False)
    pairs = [f"{text}\t{date}\n" for text, date in generate(260, 1)]
    (tmp_path / "train.tsv").write_text("".join(pairs[:200]), "utf-8")
    (tmp_path / "test.tsv").write_text("".join(pairs[200:]), "utf-8")
    names = ",".join(str(files / f"{rung}.toml") for rung in ("one", "two"))
    words = [tmp_path / "train.tsv", "--test", tmp_path / "test.tsv", "--out", tmp_path / "out", "--rungs", names]
    settings = ["train.max_steps=2", "train.batch_tokens=60", "data.max_tokens=50", "train.valid_every=2"]
    limits = [word for setting in settings for word in ("--set", setting)]
    assert main(["ladder", *map(str, [*words, "--budget", "9h", *limits])]) == 0
    out, errors = capsys.readouterr()
    assert "exact match (95 %)" in out
    assert "BLEU" not in out
    ends = [part.partition("\nrung ")[0] for part in errors.split("training ends after step ")[1:]]
    assert len(ends) == 2
    assert not any("train: step" in part for part in ends)  # no progress line behind the end
    assert "Note: less than one epoch of the training data was seen (one " in out
    report = report_of(tmp_path / "out")
    assert (report["main_metric"], report["published"]) == ("exact_match", [])
    assert [set(sample["outputs"]) for sample in report["samples"]] == [{"one", "two"}] * 5
    for page in ("report.md", "report.html"):
        text = (tmp_path / "out" / page).read_text("utf-8")
        assert "Note: less than one epoch of the training data was seen" in text
        assert "What each rung wrote" in text
        assert report["samples"][0]["references"][0] in text
        assert "WMT14" not in text


def test_the_same_command_again_does_nothing_anew(files, climbed, capsys, monkeypatch):
    def not_again(*_):
        raise AssertionError("translated again")

    def remember(*arguments):
        document = ladder_report.write_report(*arguments)
        shown.append([type(row).__name__.lower() for row in document.rungs])
        return document

    shown = []
    monkeypatch.setattr("seqloom.ladder.run.write_report", remember)
    monkeypatch.setattr(ladder_scores, "translate_items", not_again)
    before = {rung: (climbed / rung / "model.safetensors").stat().st_mtime_ns for rung in ("one", "two")}
    first = report_of(climbed)
    assert call(files, climbed, ["one", "two"]) == 0
    out, errors = capsys.readouterr()
    assert errors.count("nothing to do") == 2
    assert {rung: (climbed / rung / "model.safetensors").stat().st_mtime_ns for rung in before} == before
    assert report_of(climbed) == first
    assert shown == [["done", "done"]] * 2  # what was there before is in the report from the start
    assert out.splitlines()[0].startswith("rung")
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["one", "two"]


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(files, climbed, tmp_path, capsys, monkeypatch):
    update = Loop.update

    def stop_in_the_second(loop):
        if loop.state.step == 2 and loop.folder.parent.name == "two":
            os.kill(os.getpid(), signal.SIGINT)
        update(loop)

    monkeypatch.setattr(ladder_report, "can_draw", lambda: False)
    with monkeypatch.context() as patched:
        patched.setattr(Loop, "update", stop_in_the_second)
        assert call(files, tmp_path, ["one", "two"]) == 130
    errors = capsys.readouterr().err
    assert "stopped after step 3, saved" in errors
    assert f"The same command continues from there. Finished rungs in {tmp_path} are kept" in errors
    assert [row["status"] for row in report_of(tmp_path)["rungs"]] == ["done", "waiting"]
    assert "two still to come" in (tmp_path / "report.md").read_text("utf-8")
    assert call(files, tmp_path, ["one", "two"]) == 0
    assert "continuing after step 3" in capsys.readouterr().err
    assert [row["status"] for row in report_of(tmp_path)["rungs"]] == ["done", "done"]
    assert hash_file(tmp_path / "one" / "model.safetensors") == hash_file(climbed / "one" / "model.safetensors")


def test_ctrl_c_between_two_trainings_is_a_sentence_too(files, tmp_path, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("seqloom.ladder.run.score_rung", interrupted)
    assert call(files, tmp_path, ["one"], "--valid", str(files / "test.tsv")) == 130
    said = capsys.readouterr().err
    assert "stopped. The same command continues from there." in said
    assert CHOSEN_BY_TEST in said


def test_a_rung_that_fails_is_reported_and_the_others_go_on(files, tmp_path, capsys, monkeypatch):
    run = Loop.run

    def diverge_in_the_first(loop):
        if loop.folder.parent.name == "wild":
            raise TrainingError("20 steps in a row gave a loss that is not finite: it diverged.")
        return run(loop)

    monkeypatch.setattr(Loop, "run", diverge_in_the_first)
    monkeypatch.setattr(ladder_report, "can_draw", lambda: False)
    assert call(files, tmp_path, ["wild", "one"]) == 5
    out, errors = capsys.readouterr()
    rows = {row["name"]: row for row in report_of(tmp_path)["rungs"]}
    assert rows["wild"]["status"] == "failed"
    assert "diverged" in rows["wild"]["reason"]
    assert rows["one"]["status"] == "done"
    assert rows["one"]["against"] is None
    assert "failed: 20 steps in a row" in (tmp_path / "report.md").read_text("utf-8")
    assert "wild: no model." in errors
    assert "failed: 20 steps" in out
    assert "pip install 'seqloom[plots]'" in errors
    assert not list(tmp_path.glob("*.png"))
    assert "<img" not in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--rungs", "rnn,lsmt"], "--rungs lsmt: no such rung. Did you mean 'lstm'?"),
        (["--rungs", "rnn,lstm", "--set", "model.cell=gru"], "--set model.cell=gru: these rungs differ in model.cell"),
        (["--set", "model.widht=3"], "Did you mean 'width'?"),
        (["--budget", "soon"], "--budget soon: want a time such as 20m"),
        (["--test", "nowhere.tsv"], "nowhere.tsv"),
        (["--valid", "b.txt,-"], "-: the ladder reads its data once per rung"),
        (["--threads", "-1"], "train.threads = -1: want 0 <= value"),
        (["--seed", "-1"], "train.seed = -1: want 0 <= value"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_trained(files, tmp_path, capsys, change, said):
    options = {"--test": str(files / "test.tsv"), "--budget": "9m", "--rungs": "rnn", "--out": str(tmp_path / "out")}
    options |= dict(zip(change[::2], change[1::2], strict=True))
    words = [f"{name}={value}" for name, value in options.items()]
    assert main(["ladder", str(files / "train.tsv"), *words]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())  # not even the folder


def test_a_folder_that_was_there_before_stays(files, tmp_path):
    words = [files / "train.tsv", "--test", "nowhere.tsv", "--budget", "9m", "--rungs", "rnn", "--out", tmp_path]
    assert main(["ladder", *map(str, words)]) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["report.md", "tokenizer/tokenizer.json"])
def test_files_that_no_ladder_wrote_are_not_written_over(files, tmp_path, capsys, name):
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / name).write_text("mine", "utf-8")
    assert call(files, tmp_path, ["one"]) == 2
    errors = capsys.readouterr().err
    assert f"{tmp_path} does not hold a ladder, which would overwrite its " in errors
    assert name.split("/")[0] in errors
    assert (tmp_path / name).read_text("utf-8") == "mine"


def test_less_time_than_a_rung_had_is_refused(files, climbed, tmp_path, capsys):
    """Else the report would call a model of nine hours one of eight, and compare it with those."""
    out = shutil.copytree(climbed, tmp_path / "ladder")
    assert call(files, out, ["wild", "two"], budget="8h") == 2
    assert "had 9h00m, more than this budget of 8h00m" in capsys.readouterr().err
    assert not (out / "wild").exists()


def test_a_ladder_whose_data_is_refused_leaves_no_folder(files, tmp_path, capsys):
    bad = tmp_path / "bad.tsv"
    bad.write_text("no tab here\n" * 50, "utf-8")
    words = [bad, "--test", files / "test.tsv", "--budget", "9m", "--rungs", "rnn", "--out", tmp_path / "out"]
    assert main(["ladder", *map(str, words)]) == 3
    assert "nothing was trained" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_rung_that_another_call_is_at_is_passed_over(files, climbed, tmp_path, capsys):
    """So the same command twice at once shares the work; here the test itself is the other call."""
    out = tmp_path / "ladder"
    shutil.copytree(climbed, out)
    shutil.rmtree(out / "one")
    with run_lock(out / "one"):
        assert call(files, out, ["one", "two"]) == 0
    errors = capsys.readouterr().err
    assert errors.count("another call is training one: skipped") == 2  # looked at again in the end
    assert "one: left to the other call" in errors
    assert [(row["name"], row["status"]) for row in report_of(out)["rungs"]] == [("one", "waiting"), ("two", "done")]


def test_a_rung_that_another_call_finishes_meanwhile_is_in_the_report(files, climbed, tmp_path, monkeypatch):
    """One at a time takes "two" and does not come to "one" at all: it was busy, and is done when the report is made."""
    out = tmp_path / "ladder"
    shutil.copytree(climbed, out)
    shutil.move(out / "one", tmp_path / "one")
    score = ladder.score_rung

    def other_call_ends(folder, test, tell):
        if not (out / "one" / "run.json").exists():
            shutil.rmtree(out / "one")
            shutil.move(tmp_path / "one", out / "one")
        return score(folder, test, tell)

    monkeypatch.setattr(ladder, "score_rung", other_call_ends)
    with run_lock(out / "one"):
        assert call(files, out, ["one", "two"]) == 0
    assert [row["status"] for row in report_of(out)["rungs"]] == ["done", "done"]


SMALL = (
    "text.tokenizer=word", "text.vocab_size=50", "model.width=8", "model.embed_size=8", "train.warmup=1",
    "train.valid_every=2", "train.save_every=2", "train.average=1", "train.max_steps=2", "data.valid_pairs=10",
)  # fmt: skip


def call_built_in(files, out, rungs, test="test.tsv", budget="9h", seed=1, dropout=0.1):
    settings = [word for setting in (*SMALL, f"model.dropout={dropout}") for word in ("--set", setting)]
    words = [files / "train.tsv", "--test", files / test, "--out", out, "--rungs", rungs, "--threads", 1]
    return main(["ladder", *map(str, [*words, "--budget", budget, "--seed", seed, *settings])])


def test_rungs_run_one_command_at_a_time_end_in_one_report(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ladder_report, "can_draw", lambda: False)
    out = tmp_path / "ladder"
    assert call_built_in(files, out, "lstm") == 0
    assert report_of(out)["rungs"][0]["against"] is None
    assert call_built_in(files, out, "rnn") == 0
    rows = report_of(out)["rungs"]
    assert [(row["name"], row["status"]) for row in rows] == [("rnn", "done"), ("lstm", "done")]
    assert rows[1]["against"]["rung"] == "rnn"
    assert "rung 1 of 1: rnn" in capsys.readouterr().err
    for name, other in {"seed": 2, "budget": "8h", "dropout": 0.2, "test": "train.tsv"}.items():
        copied = shutil.copytree(out, tmp_path / name)
        assert call_built_in(files, copied, "gru", **{name: other}) == 0
        assert [row["name"] for row in report_of(copied)["rungs"]] == ["gru"]
        assert f"in {copied}, but not in this report: rnn, lstm" in capsys.readouterr().err


def test_what_the_last_rung_would_be_refused_for_is_told_first(files, climbed, tmp_path, capsys, monkeypatch):
    out = shutil.copytree(climbed, tmp_path / "ladder")
    assert call(files, out, ["wild", "two"], "--set", "model.dropout=0.3") == 2
    errors = capsys.readouterr().err
    assert "rung two: " in errors
    assert "model.dropout: 0.1 there, 0.3 now" in errors
    assert not (out / "wild").exists()

    def build_one(config, *sizes):
        if config.model.layers == 2:
            raise ModelError("no such model")

    assert call(files, out, ["wild", "two"], "--valid", str(files / "test.tsv")) == 2
    assert f"rung two: {out / 'two'} was trained on other data" in capsys.readouterr().err
    assert not (out / "wild").exists()
    monkeypatch.setattr("seqloom.ladder.run.build_model", build_one)
    (tmp_path / "there").mkdir()
    for new in ("new", "there"):  # and without a tokenizer that would refuse the next call
        assert call(files, tmp_path / new, ["one", "two"]) == 4
        assert "rung two: no such model" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert not list((tmp_path / "there").iterdir())
    assert call(files, tmp_path / "labels", ["one"], "--set", "task.name=classify") == 2
    assert "rung one: task.name = classify: it writes no text, and" in capsys.readouterr().err
    assert not (tmp_path / "labels").exists()


def test_settings_of_text_are_those_of_the_one_tokenizer(files, climbed, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ladder_report, "can_draw", lambda: False)
    assert call(files, tmp_path, ["one"], "--set", "text.vocab_size=6", "--set", "train.seed=7") == 0
    assert read_config(tmp_path / "one").train.seed == 7 == report_of(tmp_path)["seed"]
    assert read_config(tmp_path / "one").text.vocab_size == 6 == len(Tokenizers.load(tmp_path / "one").source)
    capsys.readouterr()
    assert call(files, climbed, ["one"], "--set", "text.vocab_size=6") == 2
    assert "text.vocab_size: 50 there, 6 now" in capsys.readouterr().err


def test_the_folder_of_one_model_is_not_made_a_ladder(files, climbed, capsys):
    assert call(files, climbed / "one", ["two"]) == 2
    assert "is the folder of one model" in capsys.readouterr().err
