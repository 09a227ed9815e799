"""Files of endless blank lines, and packed files that unpack to hundreds of times their size: refused, at once."""

import gzip
import time
from pathlib import Path

import pytest

from seqloom.cli.app import main
from seqloom.data import lines, unpacked
from seqloom.data.lines import read_lines
from seqloom.errors import DataError

MEGABYTE = 1 << 20
TSV = b"a b\tc d\n"
BLANK = {"blank": b"\n", "Windows": b"\r\n", "blanks and tabs": b" \t\n"}


def written(file: Path, before: bytes, repeated: bytes, megabytes: int) -> Path:
    """A file of so many megabytes, packed if its name ends in .gz."""
    block = repeated * (MEGABYTE // len(repeated))
    with gzip.open(file, "wb", 9) if file.suffix == ".gz" else file.open("wb") as stream:
        stream.write(before)
        for _ in range(megabytes):
            stream.write(block)
    return file


@pytest.mark.parametrize(
    ("name", "kind"),
    [*(("a.tsv", kind) for kind in BLANK), ("a.tsv.gz", "blank"), ("a.csv", "blank"), ("a.jsonl", "Windows")],
)
def test_millions_of_blank_lines_are_refused_at_once(tmp_path, capsys, monkeypatch, name, kind):
    if name != "a.tsv.gz":
        monkeypatch.setattr(lines, "MOST_BLANK", 100_000)
    file = written(tmp_path / name, TSV if name != "a.jsonl" else b'{"source": "a", "target": "b"}\n', BLANK[kind], 4)
    started = time.process_time()
    assert main(["doctor", str(file)]) == 3
    assert time.process_time() - started < 6, "a million lines are read, and none of the millions after them"
    [said] = capsys.readouterr().err.splitlines()
    assert f"more than {lines.MOST_BLANK:,} blank lines one after the other, until line " in said


@pytest.mark.parametrize("name", ["a.json", "a.tmx", "open.csv"])
def test_millions_of_blank_lines_between_records(tmp_path, capsys, monkeypatch, name):
    monkeypatch.setattr(lines, "MOST_BLANK", 100_000)
    begin = {"a.json": b"[", "a.tmx": b'<tmx version="1.4"><header srclang="en"/><body>', "open.csv": b'"a'}[name]
    file = written(tmp_path / name, begin, b"\n", 4)
    started = time.process_time()
    assert main(["doctor", str(file)]) == 3
    assert time.process_time() - started < 6
    assert "Traceback" not in capsys.readouterr().err


def test_blank_lines_are_counted_again_after_each_line_with_text(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MOST_BLANK", 20)
    monkeypatch.setattr(lines, "BLOCK_SIZE", 8)
    (tmp_path / "a.txt").write_text(("\n" * 18 + "text\n") * 5, "utf-8")
    assert sum(line == "text" for line in read_lines(tmp_path / "a.txt")) == 5
    (tmp_path / "a.txt").write_text("\n" * 50 + "text\n", "utf-8")
    with pytest.raises(DataError, match="more than 20 blank lines one after the other, until line 24"):
        list(read_lines(tmp_path / "a.txt"))


@pytest.mark.parametrize("repeated", [TSV, b"[" * 64, b"abcdefgh\tbcdefghi\n", b"a\tb\r\n"])
def test_a_packed_file_that_never_ends_is_refused(tmp_path, capsys, monkeypatch, repeated):
    monkeypatch.setattr(unpacked, "MOST_UNPACKED", MEGABYTE)
    file = written(tmp_path / "a.tsv.gz", b"", repeated, 3)
    assert main(["doctor", str(file)]) == 3
    [said] = capsys.readouterr().err.splitlines()
    assert f"{file}: unpacks to more than 200 times its size, which no text does" in said


def test_a_packed_file_that_repeats_itself_is_read_while_it_is_small(tmp_path):
    file = written(tmp_path / "a.tsv.gz", b"", TSV, 1)
    assert file.stat().st_size * unpacked.MOST_TIMES < MEGABYTE
    assert sum(1 for _ in read_lines(file)) == MEGABYTE // len(TSV)
