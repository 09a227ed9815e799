"""Data that is made to fill the memory, to take for ever or to say two things at once: each is a fault in its place."""

import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqloom.cli.app import main
from seqloom.data import corpus, csv_reader, json_array, lines, tmx_xliff
from seqloom.data.corpus import CorpusSpec, Fault, Pair, Row, read_rows, row_chunks
from seqloom.data.csv_reader import csv_rows
from seqloom.data.json_array import array_elements
from seqloom.data.letters import is_blank
from seqloom.data.lines import first_few, name_of, read_lines, text_blocks, whole_lines
from seqloom.errors import DataError

GOOD = '{"source": "a", "target": "b"}'
MANY = ", ".join(f'"k{number}": 1' for number in range(30_000))
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


def between_good_ones(path: Path, record: str) -> Row:
    """Read a record between two good ones, which it must not touch."""
    records = (GOOD, record, GOOD)
    content = "\n".join(records) if path.suffix == ".jsonl" else f"[{', '.join(records)}]"
    first, found, last = rows_of(path, content)
    assert first == Pair(1, "a", ("b",)) and last == Pair(3, "a", ("b",))
    return found


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


def test_a_packed_endless_line_is_read_in_little_memory(tmp_path):
    member = gzip.compress(bytes(16 << 20), 9)  # members follow each other: the content is that of all of them
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(member * 18 + gzip.compress(b"\nafter\n"))
    done = subprocess.run([sys.executable, "-c", READ_A_BOMB, str(bomb)], capture_output=True, text=True, check=False)
    assert done.stdout == "endless line|after\n", done.stderr


def test_an_open_quote_costs_no_more_per_line_when_the_file_grows(monkeypatch):
    looked_at = 0
    find_end = csv_reader.quotes_after

    def counted(*args, **options):
        nonlocal looked_at
        looked_at += 1
        return find_end(*args, **options)

    monkeypatch.setattr(csv_reader, "quotes_after", counted)
    counts = []
    for size in (5_000, 20_000):
        looked_at = 0
        found = list(csv_rows(iter(['a,"b', *["c,d"] * size]), ","))
        assert found[0] == (1, Fault("bad quotes", 1, "a quote is opened and not closed"))
        assert found[1:] == [(line, ["c", "d"]) for line in range(2, size + 2)]
        counts.append(looked_at)
    assert counts[0] <= csv_reader.MAX_RECORD_LINES + 1 and counts[1] == counts[0]


def test_a_quoted_cell_has_a_limit_in_characters(monkeypatch):
    monkeypatch.setattr(csv_reader, "MAX_RECORD_CHARS", 20)
    found = list(csv_rows(iter(['"a', "b" * 30, 'c",d', 'e,"f', 'g"']), ","))
    assert isinstance(found[0][1], Fault) and found[0][1].kind == "bad quotes"
    assert found[-1] == (4, ["e", "f\ng"])


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ('a,"b ""c"" d"', ["a", 'b "c" d']),
        ('"a\nb, ""\nc",d', ['a\nb, "\nc', "d"]),
        ('"",""', ["", ""]),
        ('"a\n",b', ["a\n", "b"]),
        ('a "quote",b', ['a "quote"', "b"]),
        ('5" tall,b', ['5" tall', "b"]),
    ],
)
def test_quotes_are_read_as_before(text, cells):
    assert list(csv_rows(iter([*text.split("\n"), "x,y"]), ",")) == [(1, cells), (2 + text.count("\n"), ["x", "y"])]


def test_text_after_a_closing_quote_is_a_fault_of_its_line_only():
    first, second = csv_rows(iter(['"a"b,c', "x,y"]), ",")
    assert isinstance(first[1], Fault) and second == (2, ["x", "y"])


def test_an_array_without_line_ends_is_read_in_little_memory():
    block = (GOOD + ",") * 5000

    def blocks() -> Iterator[str]:
        yield "["
        for _ in range(20):
            yield block
        yield GOOD + "]"

    tracemalloc.start()
    try:
        count = sum(1 for _ in array_elements(blocks()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 100_001
    assert peak < 10 * len(block)


def test_an_element_of_an_array_has_a_limit(monkeypatch):
    monkeypatch.setattr(json_array, "LONGEST", 50)
    found = list(array_elements(["[1, ", '["', *["x" * 20] * 10, '"], 2]']))
    assert found[0] == (1, 1) and len(found) == 2
    assert isinstance(found[1][1], Fault) and found[1][1].kind == "broken array"


@pytest.mark.parametrize(("content", "line"), [(b'["a",\n"\xff"]', 2), (b'["a",\n\n"\xc3', 3)])
def test_an_array_with_a_bad_byte_ends_there(tmp_path, content, line):
    (tmp_path / "a.json").write_bytes(content)
    *_, last = text_blocks(tmp_path / "a.json", None, "utf-8", "\n")
    assert isinstance(last, Fault) and (last.kind, last.line) == ("invalid UTF-8", line)


@pytest.mark.parametrize("ending", ["jsonl", "json"])
@pytest.mark.parametrize(
    ("record", "said"),
    [
        ('{"source": "a", "source": "c", "target": "b"}', "the key 'source' occurs twice"),
        ('{"source" : "a", "target": "b", "so\\u0075rce": "c"}', "the key 'source' occurs twice"),
        ('{"source": ":", "target": "b", "x": {"y": 1, "y": ":"}}', "the key 'y' occurs twice"),
        ('{"source": "a", "target": "b", "x": [{"y": 1, "y": 2}]}', "the key 'y' occurs twice"),
        (f'{{"source": "a", "target": "b", {MANY}, "k29999": 2}}', "the key 'k29999' occurs twice"),
        ('{"source": "\\ud800", "target": "b"}', "surrogate"),
        ('{"source": "a", "target": "b\\udc00"}', "surrogate"),
    ],
)
def test_json_that_cannot_be_read_in_one_way(tmp_path, ending, record, said):
    fault = between_good_ones(tmp_path / f"a.{ending}", record)
    assert isinstance(fault, Fault) and fault.kind == "bad JSON" and said in fault.detail


@pytest.mark.parametrize("ending", ["jsonl", "json"])
@pytest.mark.parametrize(
    ("record", "pair"),
    [
        ('{"source": "a: \\"b\\": c", "target": "::"}', ('a: "b": c', "::")),
        ('{"source": "a", "target": "b", "x": [{"y": 1}, {"y": 2}]}', ("a", "b")),
        ('{"source": "\\ud83d\\ude00", "target": "b"}', ("\U0001f600", "b")),
    ],
)
def test_json_that_only_looks_odd_is_read(tmp_path, ending, record, pair):
    assert between_good_ones(tmp_path / f"a.{ending}", record) == Pair(2, pair[0], (pair[1],))


@pytest.mark.parametrize("ending", ["jsonl", "json"])
@pytest.mark.parametrize("field", ["source", "other"])
@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "9" * 5000 + "e5"])
def test_numbers_of_thousands_of_digits(tmp_path, ending, field, number):
    record = json.dumps({"source": "a", "target": "b"} | {field: 0}).replace("0", number)
    found = between_good_ones(tmp_path / f"a.{ending}", record)
    assert isinstance(found, Fault) or (field == "other" and found == Pair(2, "a", ("b",)))


@pytest.mark.parametrize("depth", [900, 980, 1100, 100_000])
@pytest.mark.parametrize(
    "record", ["{}", '{{"source": {}, "target": "b"}}', '{{"source": ":", "target": "b", "x": {}}}']
)
def test_lines_of_json_nested_too_deeply(tmp_path, depth, record):
    between_good_ones(tmp_path / "a.jsonl", record.format("[" * depth + "]" * depth))


@pytest.mark.parametrize("depth", [900, 980, 1100, 100_000])
def test_an_array_nested_too_deeply_is_read_up_to_there(tmp_path, depth):
    deep = "[" * depth + "]" * depth
    first, *_ = rows_of(tmp_path / "a.json", f'[{GOOD}, {{"source": "\\u0061", "target": {deep}}}, {GOOD}]')
    assert first == Pair(1, "a", ("b",))


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


def tmx(units: str) -> str:
    return f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'


def unit(source: str) -> str:
    sides = (f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in (("en", source), ("de", "b")))
    return f"<tu>{''.join(sides)}</tu>"


@pytest.mark.parametrize("bad", [unit("x" * 5000), "<tu>" + '<tuv xml:lang="en"><seg/></tuv>' * 100 + "</tu>"])
def test_a_unit_of_a_memory_has_a_limit(tmp_path, monkeypatch, bad):
    monkeypatch.setattr(tmx_xliff, "LONGEST_LINE", 4000)
    monkeypatch.setattr(tmx_xliff, "BLOCK_SIZE", 500)
    *good, last = rows_of(tmp_path / "a.tmx", tmx(unit("a") * 20 + bad + unit("a")))
    assert len(good) == 20 and all(isinstance(row, Pair) for row in good)
    assert isinstance(last, Fault) and "unit 21 has more than 4,000 characters" in last.detail


@pytest.mark.parametrize("bad", ["<!--" + "x" * 20_000 + "-->", f'<tu note="{"x" * 20_000}"/>'])
def test_a_tag_or_comment_of_a_memory_has_a_limit(tmp_path, monkeypatch, bad):
    monkeypatch.setattr(tmx_xliff, "LONGEST_LINE", 4000)
    monkeypatch.setattr(tmx_xliff, "BLOCK_SIZE", 500)
    *_, last = rows_of(tmp_path / "a.tmx", tmx(unit("a") * 20 + bad + unit("a")))
    assert isinstance(last, Fault) and "a tag or comment of more than 4,000 bytes" in last.detail


@pytest.mark.parametrize("code", ["110000", "-1", "f" * 5000, "d800", "zz", ""])
def test_a_character_code_of_xliff_that_does_not_exist(tmp_path, code):
    content = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de"><file id="1">'
        f'<unit id="1"><segment><source>a<cp hex="{code}"/></source><target>b</target></segment></unit>'
        "</file></xliff>"
    )
    assert len(rows_of(tmp_path / "a.xlf", content)) == 1


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
