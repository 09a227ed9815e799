"""`seqloom demo`: the whole way in one command, what it prints, and what a second call does.

The model of these tests is far too small to learn anything; the real one is trained in the slow test.
"""

import io
import os
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from seqloom.cli.app import main
from seqloom.config import load_config
from seqloom.config.recipes import find_recipe
from seqloom.runtime import bundled
from seqloom.workflows import demo as workflow
from tests.docs.toy_program import FEW_DATES

TINY = """
[text]
tokenizer = "char"
vocab_size = 400
[model]
kind = "rnn"
attention = "additive"
layers = 1
width = 8
[train]
max_steps = 4
valid_every = 2
save_every = 2
log_every = 1
threads = 1
[decode]
beam = 1
"""


def shrink(patch, folder):
    """Few dates and a model that learns nothing."""
    recipe = folder / "tiny.toml"
    recipe.write_text(TINY, "utf-8")
    patch.setattr(workflow, "RECIPE", str(recipe))
    for name, number in FEW_DATES.items():
        patch.setattr(workflow, name, number)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """One call of the demo: its folder, exit code, standard output and standard error."""
    folder = tmp_path_factory.mktemp("demo")
    out, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        shrink(patch, folder)
        code = main(["demo", "--out", str(folder / "run")])
    return folder / "run", code, out.getvalue(), errors.getvalue()


@pytest.fixture
def seqloom(first, monkeypatch, capsys):
    """Run a command line beside the first call, which has shown the bundled models."""
    shrink(monkeypatch, first[0].parent)
    monkeypatch.setattr(workflow, "show_bundled", lambda console: None)

    def run(*words):
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


def test_all_steps_in_order_and_a_sentence_when_the_promise_is_not_kept(first):
    _, code, out, errors = first
    assert code == 5
    assert "% of the unseen dates are right; the demo promises 98 %" in errors
    assert "Traceback" not in errors
    titles = ["1. ", "2. Train", "3. Measure", "4. Translate", "5. Where it looked", "What to try next"]
    places = [out.index(f"\n{title}" if title[0].isdigit() else title) for title in titles]
    assert places == sorted(places)
    assert "exact match (+)" in out
    assert out.count("  ->  ") == 5 + len(workflow.EXAMPLES)
    assert "attention: ░░ 0.05+" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("installed", [True, False])
def test_it_begins_with_the_bundled_models_where_there_are_some(monkeypatch, tmp_path, random_model, installed):
    if installed:
        for name in ("en-fr", "rnnsearch", "transformer"):
            shutil.copytree(random_model("model.kind=rnn", brief=True), tmp_path / name)
    monkeypatch.setattr(bundled, "BOX", tmp_path)
    ran = []
    done = subprocess.CompletedProcess([], 0, stdout="Ils regardent.\n", stderr="")
    monkeypatch.setattr("subprocess.run", lambda words, **_: ran.append(words) or done)
    console = Console(file=io.StringIO(), width=300)
    workflow.show_bundled(console)
    text = console.file.getvalue()
    if not installed:
        assert "has no bundled models" in text and not ran
        return
    assert ran[0][1:] == ["-m", "seqloom", "translate", workflow.FIRST]
    assert "Ils regardent.   (0.0 s from a cold start)" in text
    assert text.index("rnnsearch · ") < text.index("transformer · ")


def test_the_commands_it_shows_work(first, seqloom, monkeypatch):
    commands = [shlex.split(line)[2:] for line in first[2].splitlines() if line.startswith("$ seqloom")]
    commands = [command for command in commands if workflow.FIRST not in command and workflow.COMPARED not in command]
    assert [command[0] for command in commands] == ["train", "evaluate", "translate"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"3 April 2021\n"), "utf-8"))
    for command in commands:
        code, _, errors = seqloom(*command)
        assert code == 0, errors
        assert command[0] != "train" or "nothing to do" in errors  # the very same settings and data


def test_no_date_is_in_two_files_and_no_example_in_any(first):
    files = [first[0] / "corpus" / f"{name}.tsv" for name in ("train", "valid", "test")]
    parts = [file.read_text("utf-8").splitlines() for file in files]
    days = [{line.split("\t")[1] for line in part} for part in parts]
    examples = {iso for _, iso in workflow.EXAMPLES}
    for number, one in enumerate(days):
        assert one and not one & examples
        assert not any(one & other for other in days[number + 1 :])
    assert 20 <= len(parts[1]) <= 25
    assert 30 <= len(parts[2]) <= 35


def test_examples_are_held_out_of_the_real_corpus_too(tmp_path):
    console = Console(file=io.StringIO())
    workflow.write_corpus(console, tmp_path, workflow.DEFAULT_SEED)
    written = "".join((tmp_path / f"{name}.tsv").read_text("utf-8") for name in ("train", "valid", "test"))
    assert not [iso for _, iso in workflow.EXAMPLES if iso + "\n" in written]
    assert len((tmp_path / "test.tsv").read_text("utf-8").splitlines()) >= 1000


def test_a_second_call_trains_nothing_and_measures_again(first, seqloom):
    model = first[0] / "model.safetensors"
    before = model.read_bytes(), model.stat().st_mtime_ns
    code, out, errors = seqloom("demo", "--out", first[0])
    assert code == 5
    assert "nothing to do" in errors
    assert "exact match (+)" in out
    assert "attention:" in out
    assert (model.read_bytes(), model.stat().st_mtime_ns) == before


@pytest.mark.slow
def test_ctrl_c_saves_and_the_same_command_goes_on_to_the_same_weights(first, seqloom, tmp_path, monkeypatch):
    from seqloom.training.loop import Loop

    update = Loop.update

    def stop_in_the_third(loop):
        if loop.state.step == 2:
            os.kill(os.getpid(), signal.SIGINT)
        update(loop)

    with monkeypatch.context() as patched:
        patched.setattr(Loop, "update", stop_in_the_third)
        code, out, errors = seqloom("demo", "--out", tmp_path / "run")
    assert code == 130
    assert "stopped after step 3, saved" in errors
    assert "3. Measure" not in out
    code, out, errors = seqloom("demo", "--out", tmp_path / "run")
    assert "continuing after step 3" in errors
    assert "3. Measure" in out
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == (first[0] / "model.safetensors").read_bytes()


def test_another_seed_in_the_same_folder_is_refused_and_changes_nothing(first, seqloom):
    before = (first[0] / "corpus" / "train.tsv").read_bytes()
    code, _, errors = seqloom("demo", "--out", first[0], "--seed", 2)
    assert code == 2
    assert "train.tsv holds other dates" in errors
    assert "--seed" in errors
    assert "--out" in errors
    assert (first[0] / "corpus" / "train.tsv").read_bytes() == before


@pytest.mark.parametrize(("seed", "shown"), [(1, "--recipe dates"), (7, "--recipe dates --seed 7")])
def test_the_seed_reaches_training_and_the_command_it_shows(monkeypatch, seed, shown):
    calls = []
    monkeypatch.setattr("seqloom.workflows.demo.train", lambda *words, **settings: calls.append(settings))
    console = Console(file=io.StringIO(), width=300)
    workflow.train_model(console, Path("runs/x"), seed)
    assert calls[0]["seed"] == seed
    assert console.file.getvalue().rstrip().endswith(f"--out runs/x {shown}")


@pytest.mark.parametrize(("score", "code"), [(98.0, 0), (97.99, 5)])
def test_the_exit_code_follows_the_score(first, seqloom, monkeypatch, score, code):
    monkeypatch.setattr(workflow, "train_model", lambda console, out, seed: None)
    monkeypatch.setattr(workflow, "measure", lambda console, out: score)
    assert seqloom("demo", "--out", first[0])[0] == code


def test_a_folder_that_cannot_be_is_a_sentence(tmp_path, seqloom):
    (tmp_path / "file").write_text("")
    code, _, errors = seqloom("demo", "--out", tmp_path / "file" / "run")
    assert code == 2
    assert str(tmp_path / "file") in errors
    assert "Traceback" not in errors


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="wants a folder that nobody can write into, not even root")
def test_a_folder_that_cannot_be_written_is_a_wrong_call(seqloom):
    code, _, errors = seqloom("demo", "--out", "/proc/self")
    assert code == 2
    assert "/proc/self: cannot write there" in errors
    assert "choose another --out" in errors


@pytest.mark.parametrize("terminal", [True, False])
def test_the_map_has_colour_in_a_terminal_only(terminal):
    class Aligner:
        def align(self, source):
            return list(source), list("1998"), np.eye(4, len(source))

    console = Console(file=io.StringIO(), force_terminal=terminal, color_system="truecolor", width=80)
    workflow.draw_alignment(console, Aligner())
    drawn = console.file.getvalue()
    assert ("48;2;" in drawn) == terminal
    assert ("██" in drawn) != terminal


@pytest.mark.parametrize("found", [True, False])
def test_a_shell_that_does_not_find_seqloom_is_told_what_to_do(tmp_path, monkeypatch, found):
    (tmp_path / "activate").write_text("")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr("shutil.which", lambda name: "/bin/seqloom" if found else None)
    console = Console(file=io.StringIO(), width=300)
    workflow.say_what_next(console, Path("runs/x"), 90.0)
    assert (f"source {tmp_path / 'activate'}" in console.file.getvalue()) != found
    assert "in 1.5 minutes" in console.file.getvalue()


def test_a_folder_with_brackets_is_shown_as_it_is():
    console = Console(file=io.StringIO(), width=300)
    workflow.step(console, "into [red]x", "evaluate", Path("runs/[red]x y"))
    assert console.file.getvalue() == "\ninto [red]x\n$ seqloom evaluate 'runs/[red]x y'\n"


def test_help_shows_examples(capsys):
    assert main(["demo", "--help"]) == 0
    assert "seqloom demo --out runs/dates --seed 7" in capsys.readouterr().out


def test_the_recipe_is_what_the_demo_says_it_is():
    config = load_config(find_recipe("dates"))
    assert (config.model.kind, config.model.attention, config.text.tokenizer) == ("rnn", "additive", "char")
    assert config.train.threads == 1  # the same model on any number of cores
    assert config.train.seed == workflow.DEFAULT_SEED
    assert config.train.max_steps and config.train.max_steps % config.train.save_every == 0


@pytest.mark.slow
def test_the_real_demo_keeps_its_promise(tmp_path, capsys):
    began = time.process_time()
    code = main(["demo", "--out", str(tmp_path / "run")])
    out, errors = capsys.readouterr()
    assert code == 0, errors
    assert "(wrong; correct:" not in out
    assert time.process_time() - began < 240  # of the processor: the machine may have more to do
