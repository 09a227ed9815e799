"""Lines that are made to fill the memory, to show nothing or to come from a strange file: a fault in their place."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from seqloom.cli.app import main
from seqloom.data import corpus, lines
from seqloom.data.corpus import CorpusSpec, Fault, Pair, Row, read_rows, row_chunks
from seqloom.data.letters import is_blank
from seqloom.data.lines import first_few, name_of, read_lines, whole_lines
from seqloom.errors import DataError

SETTINGS = (
    "model.kind=rnn", "model.width=8", "model.layers=1", "train.max_steps=1", "train.schedule=constant",
    "text.tokenizer=char", "text.vocab_size=300", "data.valid_pairs=5",
)  # fmt: skip
READ_A_BOMB = """
import resource, sys
from pathlib import Path
from seqloom.data.lines import read_lines
resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))
print(*(line if isinstance(line, str) else line.kind for line in read_lines(Path(sys.argv[1]))), sep="|")
"""


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line may have 32 bytes, and blocks have 8."""
    monkeypatch.setattr(lines, "LONGEST_LINE", 32)
    monkeypatch.setattr(lines, "BLOCK_SIZE", 8)


def rows_of(path: Path, content: str | bytes) -> list[Row]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_rows(CorpusSpec.parse(str(path))))


@pytest.mark.usefixtures("short_lines")
@pytest.mark.parametrize("length", [31, 32, 33, 40, 41, 1000])
@pytest.mark.parametrize("end", ["", "\n", "\nafter", "\nafter\n\nlast\n"])
def test_a_line_over_the_limit_is_a_fault_and_the_others_keep_their_places(tmp_path, length, end):
    text = "one\n" + "x" * length + end
    (tmp_path / "a.txt").write_text(text, "utf-8")
    (tmp_path / "a.gz").write_bytes(gzip.compress(text.encode()))
    size = length + end.startswith("\n")
    for name in ("a.txt", "a.gz"):
        fault = Fault("endless line", 2, f"{size:,} bytes, 32 are allowed")
        after = end.removeprefix("\n").splitlines()
        assert list(read_lines(tmp_path / name)) == ["one", fault if size > 32 else "x" * length, *after]


@pytest.mark.usefixtures("short_lines")
def test_a_bad_byte_after_an_endless_line_has_its_line_and_its_offset(tmp_path):
    content = b"x" * 50 + b"\nok\n" + b"y" * 60 + b"\n\xff\n"
    (tmp_path / "a.txt").write_bytes(content)
    found = list(read_lines(tmp_path / "a.txt"))
    assert [fault.line for fault in found if isinstance(fault, Fault)] == [1, 3, 4]
    assert found[1] == "ok"
    assert found[3] == Fault("invalid UTF-8", 4, f"byte 0xff at offset {content.index(0xFF)}")


@pytest.mark.usefixtures("short_lines")
def test_where_every_line_counts_an_endless_one_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("x" * 50, "utf-8")
    with pytest.raises(DataError, match=r"a\.txt, line 1: endless line: 50 bytes, 32 are allowed\. Split the line"):
        list(whole_lines(tmp_path / "a.txt"))


def test_the_doctor_names_an_endless_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lines, "LONGEST_LINE", 4000)
    monkeypatch.setattr(lines, "BLOCK_SIZE", 1000)
    (tmp_path / "a.tsv").write_text("a b\tc d\n" * 20 + "x" * 5000 + "\ty\n", "utf-8")
    main(["doctor", str(tmp_path / "a.tsv")])
    said = capsys.readouterr().out
    assert "kept 20 of 21 pairs" in said and "endless line" in said and "fold -s" in said


@pytest.mark.usefixtures("short_lines")
@pytest.mark.parametrize("end", ["", "\n", "\nafter"])
def test_running_text_on_one_line_ends_at_blanks(tmp_path, end):
    text = " ".join(f"word{number}" for number in range(50))
    (tmp_path / "a.txt").write_text(text + end, "utf-8")
    spec = CorpusSpec.parse(str(tmp_path / "a.txt"), form="text")
    found = [row.source for row in read_rows(spec) if isinstance(row, Pair)]
    assert " ".join(found) == text + end.replace("\n", " ").rstrip(" ")
    assert len(found) > 3 and max(map(len, found)) <= 32
    (tmp_path / "a.txt").write_text("x" * 100 + " y\nz\n", "utf-8")  # no blank to end at
    kinds = [row.kind if isinstance(row, Fault) else row.source for row in read_rows(spec)]
    assert kinds == ["endless line", "z"]


def test_a_packed_endless_line_is_read_in_little_memory(tmp_path):
    # Members follow each other: the content is that of all of them. It is packed as well as text may be.
    member = gzip.compress(os.urandom(1 << 16).hex().encode() + bytes(12 << 20), 9)
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(member * 24 + gzip.compress(b"\nafter\n"))
    done = subprocess.run([sys.executable, "-c", READ_A_BOMB, str(bomb)], capture_output=True, text=True, check=False)
    assert done.stdout == "endless line|after\n", done.stderr


@pytest.mark.parametrize(
    "text", ["\u200b", "\ufeff\u200d", "\u00ad \u2060", "\u3164", "\ufe0f", "\U000e0041", " \u200e\t"]
)
def test_text_that_shows_nothing_is_an_empty_side(tmp_path, text):
    assert is_blank(text)
    cell = text.replace("\t", " ")
    for content in (f"a\tb\n{cell}\tb\na\t{cell}\nc\td\n", f"a\tb\tx\n{cell}\tb\tx\na\t{cell}\tx\nc\td\tx\n"):
        (tmp_path / "a.tsv").write_text(content, "utf-8")
        columns = "1,2" if "x" in content else None
        found = list(read_rows(CorpusSpec.parse(str(tmp_path / "a.tsv"), columns)))
        assert [row.line for row in found] == [1, 2, 3, 4]
        assert found[1] == Fault("empty side", 2, "source, only characters that show nothing")
        assert found[2] == Fault("empty side", 3, "target, only characters that show nothing")


@pytest.mark.parametrize("text", ["a", "\u200ba", "\U0001f600", "क\u094d\u200d", "\u00a0.", "한", "\u0301"])
def test_text_that_shows_something_is_kept(tmp_path, text):
    assert not is_blank(text)
    assert rows_of(tmp_path / "a.tsv", f"a\tb\n{text}\t{text}\n")[1] == Pair(2, text, (text,))


def test_long_rows_come_in_small_chunks(monkeypatch):
    monkeypatch.setattr(corpus, "MOST_CHARS", 100)
    rows = [Pair(line, "x" * 60, ("y",)) for line in range(5)]
    assert [len(chunk) for chunk in row_chunks(rows)] == [2, 2, 1]
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)
    assert first_few(iter(["x" * 60] * 5), 4, len) == ["x" * 60] * 2
    assert first_few(iter(["x"] * 5), 4, len) == ["x"] * 4


def test_training_on_a_file_whose_name_is_not_utf8(tmp_path, capsys):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/f\xff.tsv")
    Path(name).write_text("".join(f"w{number} a\tb{number} c\n" for number in range(60)), "utf-8")
    assert name_of(name).endswith(r"f\xff.tsv")
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    assert main(["train", name, "--out", str(tmp_path / "out"), "--threads", "1", *settings]) == 0
    assert "Traceback" not in capsys.readouterr().err
    assert main(["info", str(tmp_path / "out")]) == 0
