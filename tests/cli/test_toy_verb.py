"""Adding a verb is one place each: a function in workflows/, one in cli/, a line in VERBS. This test does it."""

import sys

import pytest

import seqloom.cli
import seqloom.workflows
from seqloom.cli import app
from seqloom.cli.app import VERBS, build_app, main

LINE = "Count the words of a file."

WORKFLOW = '''
"""Count the words of a file."""

from pathlib import Path

from seqloom.errors import DataError


def count_words(file: Path, least: int) -> int:
    """The number of words with at least `least` characters."""
    words = [word for word in file.read_text("utf-8").split() if len(word) >= least]
    if not words:
        raise DataError(f"{file}: no word has {least} characters; lower --least")
    return len(words)
'''

COMMAND = '''
"""seqloom count: parse, call the workflow, print."""

from pathlib import Path

from seqloom.workflows.count import count_words


def count(file: Path, /, *, least: int = 1) -> None:
    """Count the words of a file.

    Parameters
    ----------
    file
        a text file
    least
        characters that a word has at least

    Examples
    --------
        seqloom count notes.txt --least 3
    """
    print(count_words(file, least))
'''


@pytest.fixture
def count_verb(tmp_path, monkeypatch):
    """The two files and the line in VERBS, as a contributor would write them, for one test."""
    for package, text in ((seqloom.workflows, WORKFLOW), (seqloom.cli, COMMAND)):
        folder = tmp_path / package.__name__
        folder.mkdir()
        (folder / "count.py").write_text(text, "utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        monkeypatch.setattr(package, "count", None, raising=False)  # importing sets it; here it is taken back
    monkeypatch.setattr(app, "VERBS", {**VERBS, "count": LINE})
    yield
    for name in ("seqloom.workflows.count", "seqloom.cli.count"):
        sys.modules.pop(name, None)


@pytest.fixture
def notes(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("a small cat sat\n", "utf-8")
    return str(file)


def test_the_verb_runs(count_verb, notes, capsys):
    assert main(["count", notes]) == 0
    assert main(["count", notes, "--least", "2"]) == 0
    assert capsys.readouterr().out.split() == ["4", "3"]


def test_the_verb_is_in_the_list_and_has_its_own_help(count_verb, capsys):
    assert main(["--help"]) == 0
    assert f"count {LINE}" in " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert main(["count", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Usage: seqloom count" in shown
    assert "characters that a word has at least" in shown
    assert "seqloom count notes.txt --least 3" in shown
    assert build_app(in_full=["count"])["count"].help.splitlines()[0] == LINE


def test_its_errors_are_sentences_with_exit_codes(count_verb, notes, capsys):
    assert main(["count", notes, "--least", "9"]) == 3
    assert "no word has 9 characters; lower --least" in capsys.readouterr().err
    assert main(["count", notes, "--leats", "2"]) == 2
    assert "See `seqloom count --help`" in capsys.readouterr().err
    assert main(["cuont", notes]) == 2
    assert "Did you mean 'count'?" in capsys.readouterr().err


def test_without_the_line_there_is_no_such_verb(notes, capsys):
    assert main(["count", notes]) == 2
    assert "no such command" in capsys.readouterr().err
