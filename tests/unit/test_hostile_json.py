"""JSON that is nested, repeated or endless: each record that cannot be read in one way is a fault in its place."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqloom.data import json_array
from seqloom.data.corpus import CorpusSpec, Fault, Pair, Row, read_rows
from seqloom.data.json_array import array_elements
from seqloom.data.lines import text_blocks

GOOD = '{"source": "a", "target": "b"}'
MANY = ", ".join(f'"k{number}": 1' for number in range(30_000))


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
