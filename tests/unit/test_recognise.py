"""What a file is, by its content: separators, encodings, headers, units of translation memories, elements of arrays."""

import json
from pathlib import Path
from typing import Any

import pytest

from seqloom.data.corpus import CorpusSpec, Fault, Pair, ReadAs, read_rows
from seqloom.data.encodings import check_encoding, encoding_of, likely_encoding
from seqloom.data.headers import known_couple, names_columns
from seqloom.data.json_array import array_elements
from seqloom.data.separators import find_delimiter
from seqloom.data.tmx_xliff import read_units
from seqloom.errors import UsageError

FILE = Path("a.csv")


def rows(file: Path, text: str | bytes, read_as: ReadAs | None = None) -> list[Any]:
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_rows(CorpusSpec.parse(str(file), read_as)))


@pytest.mark.parametrize(
    ("line", "usual", "want"),
    [
        ("yes, {n};oui, {n}", ",", ";"),
        ("yes, {n};oui", ",", ";"),
        ("{n},5 km;far away", ",", ";"),
        ("a{n}\tb,c", ",", "\t"),
        ("a{n},b; c", ",", ","),
        ("a{n}, b", ",", ","),
        ("a{n}\tb;c", "\t", "\t"),
        ("a{n} ||| b, c", "\t", "|||"),
        ("a{n}|b", "\t", "|"),
        ("a sentence, and more {n}", "\t", "\t"),
        ("{n}", ",", ","),
    ],
)
def test_what_cuts_all_lines_alike_and_is_no_punctuation_separates(line: str, usual: str, want: str) -> None:
    assert find_delimiter(FILE, [[line.format(n=n) for n in range(50)]], usual) == want


def test_a_few_odd_lines_do_not_decide_and_two_that_fit_are_asked_about() -> None:
    lines = [f"a{n};b" for n in range(50)]
    assert find_delimiter(FILE, [[*lines, "no separator", "one, two; three; four"]], ",") == ";"
    assert find_delimiter(FILE, [lines[:10], [f"yes, {n};b" for n in range(50)]], ",") == ";"
    with pytest.raises(UsageError, match="both commas and semicolons"):
        find_delimiter(FILE, [[f"a{n},b;c" for n in range(50)]], ",")


def test_the_whole_file_is_sampled_not_its_beginning_alone(tmp_path: Path) -> None:
    """The first lines have no comma, all later ones have: they alone would show two separators that fit."""
    text = "".join(f"a{n};b\n" for n in range(40_000)) + "".join(f"yes, a{n};oui, b\n" for n in range(90_000))
    found = rows(tmp_path / "a.csv", text)
    assert found[-1] == Pair(130_000, "yes, a89999", ("oui, b",))
    assert not any(isinstance(row, Fault) for row in found)


@pytest.mark.parametrize("given", ["", "x", "ab", '"', "\n"])
def test_separators_that_make_no_sense(given: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--delimiter"):
        rows(tmp_path / "a.csv", "a,b\n", ReadAs(delimiter=given))


def test_the_user_decides(tmp_path: Path) -> None:
    assert rows(tmp_path / "a.csv", "a,b;c\n", ReadAs(delimiter="semicolon")) == [Pair(1, "a,b", ("c",))]
    assert rows(tmp_path / "a.csv", "a;b~c\n", ReadAs(delimiter="~")) == [Pair(1, "a;b", ("c",))]
    assert rows(tmp_path / "a.tsv", b"caf\xe9\tx\n", ReadAs(encoding="latin-1")) == [Pair(1, "café", ("x",))]
    assert rows(tmp_path / "a.tsv", b"a\x81\tx\nb\ty\n", ReadAs(encoding="cp1252")) == [
        Fault("invalid bytes", 1, "not cp1252"),
        Pair(2, "b", ("y",)),
    ]
    for options in (ReadAs(delimiter=","), ReadAs("1,2", delimiter=",")):
        with pytest.raises(UsageError, match="JSON lines, not a table"):
            rows(tmp_path / "a.jsonl", '{"source": "a", "target": "b"}\n', options)
    with pytest.raises(UsageError, match=r"windows-1525: no such encoding. Did you mean 'windows-125"):
        check_encoding("windows-1525")
    with pytest.raises(UsageError, match="no such encoding"):
        check_encoding("base64")


TEXTS = {
    "windows-1252": "le garçon a oublié à l'aube, déjà vu",
    "windows-1251": "это хорошо, слово номер",
    "koi8-r": "это хорошо, слово номер",
    "windows-1250": "zażółć gęślą jaźń",
    "shift_jis": "これは日本語の文です",
    "gb18030": "这是中文句子，很好",
    "euc-kr": "안녕하세요 세계",
    "mac-roman": "le garçon a oublié à l'aube, déjà vu",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_likely_encoding(name: str) -> None:
    assert likely_encoding(f"plain words\t{TEXTS[name]}\n".encode(name) * 9) == name


@pytest.mark.parametrize(
    "text", ["hello\tworld\n", "слово\tdelo\n", "これは\t日本\n", "\0\tx\n" + "plain text\ty\n" * 40]
)
@pytest.mark.parametrize("name", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_the_encoding_that_bytes_prove(text: str, name: str) -> None:
    assert encoding_of((text * 20).encode(name)) == name
    assert encoding_of(("\ufeff" + text.lstrip("\0")).encode(name)) == name


def test_headers_by_name_and_by_the_numbers_below() -> None:
    assert known_couple(["id", "English", "French"]) == ("English", "French")
    assert known_couple(["English", "anglais"]) is None  # one language twice: a pair
    assert known_couple(["text", "Sentiment"], "labelled") == ("Sentiment", "text")
    assert known_couple(["source", "target"], "labelled") is None
    assert names_columns([["n", "phrase"], ["1", "a"], ["2", "b"], ["3,5", "c"]])
    assert not names_columns([["0", "phrase"], ["1", "a"], ["2", "b"], ["3", "c"]])
    assert not names_columns([["n", "phrase"], ["1", "a"]])
    assert not names_columns([])


def test_an_array_is_read_in_parts_and_keeps_its_lines() -> None:
    table = [{"n": n, "deep": [[n], {"x": "] , ["}]} for n in range(2000)]
    content = json.dumps(table, indent=1)
    text = content.split("\n")
    found = list(array_elements(content[place : place + 997] for place in range(0, len(content), 997)))
    assert [element for _, element in found] == table
    assert all(text[line - 1].strip() == "{" for line, _ in found)
    assert [line for line, _ in array_elements([json.dumps(table[:5])])] == [1, 2, 3, 4, 5]
    assert list(array_elements(["[]"])) == [] and list(array_elements(["[\n\n]\nignored"])) == []


@pytest.mark.parametrize("text", ['[{"a": 1}, {"a"', '[{"a": 1}', '[{"a": 1} {', "[1, 2, nonsense, 3]"])
def test_a_broken_array_ends_with_a_fault(text: str) -> None:
    *_, (_, last) = array_elements([text])
    assert isinstance(last, Fault) and last.kind == "broken array"


TMX = '<?xml version="1.0"?>\n{doctype}<tmx version="1.4"><header srclang="{source}"/><body>\n{body}\n</body></tmx>'
UNIT = '<tu><tuv xml:lang="{a}"><seg>{x}</seg></tuv>{more}\n<tuv xml:lang="{b}"><seg>{y}</seg></tuv></tu>'


def tmx(*units: dict[str, str], source: str = "*all*", doctype: str = "") -> str:
    texts = [{"a": "en", "b": "fr", "x": "hello", "y": "bonjour", "more": ""} | unit for unit in units]
    return TMX.format(doctype=doctype, source=source, body="\n".join(UNIT.format(**unit) for unit in texts))


def test_units_of_a_memory(tmp_path: Path) -> None:
    marked = 'a <ph>code<sub>deep</sub></ph>b<hi type="x"> c</hi>\n     d &amp; e<it pos="begin"/>'
    found = rows(tmp_path / "a.tmx", tmx({"x": marked}, {"y": " "}, {"b": "de"}, {"a": "EN"}), ReadAs("en,fr"))
    assert [row for row in found if isinstance(row, Pair)] == [
        Pair(3, "a b c d & e", ("bonjour",)),
        Pair(10, "hello", ("bonjour",)),
    ]
    assert [row.kind for row in found if isinstance(row, Fault)] == ["empty side", "missing language"]


def test_the_source_is_the_one_that_the_memory_names(tmp_path: Path) -> None:
    assert rows(tmp_path / "a.tmx", tmx({}, source="fr")) == [Pair(3, "bonjour", ("hello",))]
    assert rows(tmp_path / "a.tmx", tmx({}, {"a": "EN", "b": "FR"}, source="en")) == [
        Pair(3, "hello", ("bonjour",)),
        Pair(5, "hello", ("bonjour",)),
    ]
    assert rows(tmp_path / "a.tmx", tmx({}), ReadAs("fr,en")) == [Pair(3, "bonjour", ("hello",))]
    assert rows(tmp_path / "a.tmx", tmx({}), ReadAs("French,English")) == [Pair(3, "bonjour", ("hello",))]
    with pytest.raises(UsageError, match="no text in 'de'; the file has: en, fr"):
        rows(tmp_path / "a.tmx", tmx({}), ReadAs("en,de"))


def test_nothing_outside_of_a_memory_is_read_and_entities_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    outside = f'<!DOCTYPE tmx SYSTEM "{secret}">'
    assert rows(tmp_path / "a.tmx", tmx({"x": "caf&eacute;"}, doctype=outside)) == [Pair(3, "café", ("bonjour",))]
    for declared in (f'<!ENTITY e SYSTEM "{secret}">', '<!ENTITY e "text">', f'<!ENTITY % e SYSTEM "{secret}"> %e;'):
        (fault,) = rows(tmp_path / "a.tmx", tmx({"x": "&e;"}, doctype=f"<!DOCTYPE tmx [{declared}]>"))
        assert fault.kind == "bad XML" and "entity 'e'" in fault.detail and "secret" not in fault.detail
    (fault,) = rows(tmp_path / "a.tmx", tmx({"x": "&e;"}, doctype=outside))
    assert fault.kind == "bad XML" and "&e; is not declared" in fault.detail


def test_elements_without_end_inside_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text("<tmx>" + "<a>" * 100_000)
    (fault,) = read_units(tmp_path / "a.tmx", "tmx")
    assert isinstance(fault, Fault) and "more than 200 deep" in fault.detail
