"""Notices about a run that cannot learn much, and about a test file or text that does not fit the model."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seqloom.cli.app import main

Run = Callable[..., tuple[int, str, str]]
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.fixture(scope="module")
def spelled(tiny_settings: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A file of 300 spelled-out numbers, and a model that was trained on it for one update."""
    folder = tmp_path_factory.mktemp("spelled")
    lines = [f"{' '.join(NUMBERS[int(digit)] for digit in str(n))}\t{n}\n" for n in range(1000, 1300)]
    (folder / "pairs.tsv").write_text("".join(lines))
    one = ["--set", "train.max_steps=1", "--set", "train.batch_tokens=64", "--set", "data.max_tokens=60"]
    assert main(["train", str(folder / "pairs.tsv"), "--out", str(folder / "run"), *tiny_settings, *one]) == 0
    return folder / "pairs.tsv", folder / "run"


def test_few_pairs_and_a_part_of_an_epoch_are_told(call: Run, tmp_path: Path) -> None:
    (tmp_path / "five.tsv").write_text("".join(f"{word}\t{word.upper()}\n" for word in NUMBERS[:5]))
    short = "model.width=8 model.layers=1 train.threads=1 train.max_steps=1 train.batch_tokens=12 data.valid_pairs=1"
    short += " data.max_tokens=10"
    settings = [word for setting in short.split() for word in ("--set", setting)]
    code, _, errors = call("train", tmp_path / "five.tsv", "--out", tmp_path / "run", *settings)
    assert code == 0, errors
    assert "only 4 pairs to learn from: expect a model that knows these by heart and little else." in errors
    share = errors.split("training ends after step 1 (")[1].split(" epochs)")[0]
    assert 0 < float(share) < 1
    assert f"less than one epoch: 1 update saw {float(share):.0%} of the training data. Expect little of" in errors


def test_enough_of_both_is_not_mentioned(call: Run, tmp_path: Path, tiny_settings: list[str]) -> None:
    (tmp_path / "many.tsv").write_text("".join(f"a{n}\tb{n}\n" for n in range(1100)))
    settings = [*tiny_settings, "--set", "train.max_steps=0", "--set", "train.max_epochs=1"]
    code, _, errors = call("train", tmp_path / "many.tsv", "--out", tmp_path / "run", *settings)
    assert code == 0, errors
    assert "(1.00 epochs)" in errors
    assert "less than one epoch" not in errors
    assert "to learn from" not in errors


def test_a_budget_is_said_in_updates_and_epochs(call: Run, tmp_path: Path, tiny_settings: list[str]) -> None:
    (tmp_path / "many.tsv").write_text("".join(f"a{n}\tb{n}\n" for n in range(1100)))
    settings = [*tiny_settings, "--set", "train.max_steps=0", "--set", "train.log_every=1", "--budget", "2s"]
    code, _, errors = call("train", tmp_path / "many.tsv", "--out", tmp_path / "run", *settings)
    assert code == 0, errors
    (told,) = [line for line in errors.splitlines() if line.startswith("budget: enough for about ")]
    assert " updates, " in told
    assert " epochs" in told


def test_exchanged_columns_are_noticed(spelled: tuple[Path, Path], call: Run) -> None:
    pairs, run = spelled
    code, out, _ = call("evaluate", run, pairs, "--columns", "2,1")
    assert code == 0
    assert "The columns look exchanged: 100% of the sources read like the targets that the model was trained on" in out
    assert "Try --columns 2,1, or exchange the two files." in out
    assert "exchanged" not in call("evaluate", run, pairs)[1]


@pytest.mark.parametrize(
    ("text", "told"), [("ONE TWO THREE", True), ("One Two THREE", False), ("NATO one two three four five", False)]
)
def test_capitals_that_the_model_never_saw_are_told_once(
    spelled: tuple[Path, Path], call: Run, tmp_path: Path, text: str, told: bool
) -> None:
    (tmp_path / "in.txt").write_text(f"one\n{text}\n{text}\n")
    code, out, errors = call("translate", spelled[1], tmp_path / "in.txt")
    assert code == 0
    assert len(out.splitlines()) == 3
    assert errors.count("written in capitals, as 0.00% of the training texts are: expect a poor output") == told
    assert ("in.txt, line 2: " in errors) == told


def test_a_model_of_capitals_is_not_warned_of(call: Run, tmp_path: Path, tiny_settings: list[str]) -> None:
    lines = [f"{NUMBERS[n % 10]} {NUMBERS[n // 10]}" for n in range(100)]
    lines = [line.upper() if n % 9 == 0 else line for n, line in enumerate(lines)]
    (tmp_path / "pairs.tsv").write_text("".join(f"{line}\tx{n}\n" for n, line in enumerate(lines)))
    code, _, errors = call("train", tmp_path / "pairs.tsv", "--out", tmp_path / "run", *tiny_settings)
    assert code == 0, errors
    assert call("translate", tmp_path / "run", "ONE TWO THREE")[2] == ""


DEVICES = [("gpu", "'cuda' (an NVIDIA GPU)"), ("cdua", "'cuda'"), ("processor", "'cpu'")]


@pytest.mark.parametrize(("device", "meant"), DEVICES)
def test_the_device_that_was_meant(
    call: Run, spelled: tuple[Path, Path], tmp_path: Path, device: str, meant: str
) -> None:
    code, _, errors = call("train", spelled[0], "--out", tmp_path / "run", "--device", device)
    assert code == 2
    assert f"train.device = '{device}': allowed: auto, cpu, cuda. Did you mean {meant}" in errors
    assert not (tmp_path / "run").exists()


def test_a_text_in_the_place_of_a_file_is_translated(
    spelled: tuple[Path, Path], call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input.txt").write_text("one two.\nthree\n")
    code, wanted, _ = call("translate", spelled[1], "input.txt")
    assert code == 0
    assert call("translate", spelled[1], "one two.\nthree") == (0, wanted, "")
    code, out, errors = call("translate", spelled[1], "three")
    assert (code, out) == (0, wanted.splitlines()[1] + "\n")
    assert errors == "three: no such file, so this is translated as a text\n"
    assert call("translate", spelled[1], "three " * 300)[0] == 0  # longer than the name of any file
    assert call("translate", spelled[1], "11/23/1963")[0] == 0


@pytest.mark.parametrize("name", ["inptu.txt", "input", "my input.txt", "deeds/input.en", "data/inputs"])
def test_what_looks_like_a_file_is_none(
    spelled: tuple[Path, Path], call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input.txt").write_text("one\n")
    (tmp_path / "data").mkdir()
    code, out, errors = call("translate", spelled[1], name)
    assert (code, out) == (2, "")
    assert f"{name}: no such file." in errors
    assert f"To translate a text itself: echo TEXT | seqloom translate {spelled[1]}" in errors
    assert ("Did you mean 'input.txt'?" in errors) == (name in ("inptu.txt", "input", "my input.txt"))
