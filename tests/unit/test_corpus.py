"""Readers: every format gives the same pairs, faults keep their place, and nothing ever shifts."""

import csv
import gzip
import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import DataConfig
from seqloom.data.corpus import (
    CorpusSpec,
    Fault,
    Pair,
    ReadAs,
    checked_rows,
    parse_mix,
    read_rows,
    usable_pairs,
)
from seqloom.data.csv_reader import MAX_RECORD_LINES, csv_rows
from seqloom.data.lines import STDIN, read_lines
from seqloom.data.spooled import spool_stdin
from seqloom.errors import DataError, UsageError

HELLO = [Pair(1, "hello", ("bonjour",)), Pair(2, "good bye", ("au revoir",))]


def rows(file: Path, text: str | bytes, columns: str | None = None, **options: object) -> list[Pair | Fault]:
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_rows(CorpusSpec.parse(str(file), columns), **options))  # type: ignore[arg-type]


def kinds(found: list[Pair | Fault]) -> list[str]:
    return [row.kind if isinstance(row, Fault) else "pair" for row in found]


FILES = {
    "a.tsv": b"hello\tbonjour\ngood bye\tau revoir\n",
    "no-end.txt": b"hello\tbonjour\ngood bye\tau revoir",
    "crlf-bom.tsv": b"\xef\xbb\xbfhello\tbonjour\r\ngood bye\tau revoir\r\n",
    "strange.name": b"hello\tbonjour\ngood bye\tau revoir\n",
    "a.csv": b'hello,bonjour\n"good bye","au revoir"\n',
    "a.jsonl": b'{"source": "hello", "target": "bonjour"}\n{"target": "au revoir", "source": "good bye"}\n',
    "codes.jsonl": b'{"id": "7", "en": "hello", "fr": "bonjour"}\n{"id": "8", "en": "good bye", "fr": "au revoir"}\n',
    "nested.json": b'{"id": 1, "translation": {"en": "hello", "fr": "bonjour"}}\n'
    b'{"translation": {"en": "good bye", "fr": "au revoir"}}\n',
    "two.ndjson": b'{"q": "hello", "n": 1, "a": "bonjour"}\n{"q": "good bye", "a": "au revoir"}\n',
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_pairs(tmp_path: Path, name: str, packed: bool) -> None:
    file = tmp_path / (name + ".gz" * packed)
    file.write_bytes(gzip.compress(FILES[name]) if packed else FILES[name])
    assert list(read_rows(CorpusSpec.parse(str(file)))) == HELLO


def test_parallel_files(tmp_path: Path) -> None:
    a, b = tmp_path / "a.en", tmp_path / "a.fr.gz"
    a.write_bytes(b"hello\r\ngood bye")
    b.write_bytes(gzip.compress(b"\xef\xbb\xbfbonjour\nau revoir\n"))
    spec = CorpusSpec.parse(f"{a},{b}")
    assert list(read_rows(spec)) == HELLO
    assert (spec.format, spec.languages) == ("parallel", ("en", "fr"))


def test_gzip_is_known_by_its_bytes_also_without_its_ending(tmp_path: Path) -> None:
    assert rows(tmp_path / "a.tsv", gzip.compress(FILES["a.tsv"])) == HELLO
    with pytest.raises(DataError, match="not a gzip file"):
        rows(tmp_path / "b.tsv.gz", FILES["a.tsv"])


def test_blank_lines_never_shift_parallel_files(tmp_path: Path) -> None:
    # The case that one peer turns into a-A, c-B, d-C.
    (tmp_path / "s").write_text("a\n\nc\nd\n")
    (tmp_path / "t").write_text("A\nB\nC\n\n")
    found = list(read_rows(CorpusSpec.parse(f"{tmp_path}/s,{tmp_path}/t")))
    assert found == [
        Pair(1, "a", ("A",)),
        Fault("empty side", 2, "source"),
        Pair(3, "c", ("C",)),
        Fault("empty side", 4, "target"),
    ]


def test_unequal_files_are_told_line_by_line_and_refused(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a\nb\nc\nd\n")
    (tmp_path / "t").write_text("A\nB\n")
    spec = CorpusSpec.parse(f"{tmp_path}/s,{tmp_path}/t")
    assert kinds(list(read_rows(spec))) == ["pair", "pair", "unequal lines", "unequal lines"]
    with pytest.raises(DataError, match="line 3"):
        list(usable_pairs(spec, DataConfig()))


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\x85c\x0bd\x0ce\x1ef\rg"
    assert rows(tmp_path / "a.tsv", f"{text}\tx\ny\tz\n") == [Pair(1, text, ("x",)), Pair(2, "y", ("z",))]
    assert rows(tmp_path / "a.csv", f"{text},x\ny,z\n") == [Pair(1, text, ("x",)), Pair(2, "y", ("z",))]


def test_faults_keep_their_place(tmp_path: Path) -> None:
    found = rows(tmp_path / "a.tsv", "a\tb\none\n\nx\ty\tz\n \tb\na\t\n\u00a0\t \nlast\tpair")
    assert [(row.kind, row.line) for row in found if isinstance(row, Fault)] == [
        ("missing column", 2),
        ("missing column", 3),
        ("extra column", 4),
        ("empty side", 5),
        ("empty side", 6),
        ("empty side", 7),
    ]
    assert [row for row in found if isinstance(row, Pair)] == [Pair(1, "a", ("b",)), Pair(8, "last", ("pair",))]


def test_invalid_utf8_names_the_byte_and_spares_the_other_lines(tmp_path: Path) -> None:
    raw = b"\xef\xbb\xbfcaf\xc3\xa9\tx\ncaf\xe9\ty\nd\te\n"
    found = rows(tmp_path / "a.tsv", raw)
    assert found[0] == Pair(1, "café", ("x",)) and found[2] == Pair(3, "d", ("e",))
    assert found[1] == Fault("invalid UTF-8", 2, f"byte 0xe9 at offset {raw.index(0xE9)}")


def test_invalid_utf8_far_into_a_file(tmp_path: Path) -> None:
    raw = b"hello\tbonjour\n" * 200_000 + b"a\t\xff\n"  # the bad byte is in a later block
    found = rows(tmp_path / "a.tsv", raw)
    assert found[-1] == Fault("invalid UTF-8", 200_001, f"byte 0xff at offset {len(raw) - 2}")
    assert found[-2] == Pair(200_000, "hello", ("bonjour",)) and len(found) == 200_001


def test_invalid_utf8_in_parallel_files_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"a\nb\xff\n")
    (tmp_path / "t").write_bytes(b"A\n\xfeB\n")
    found = list(read_rows(CorpusSpec.parse(f"{tmp_path}/s,{tmp_path}/t")))
    assert found[0] == Pair(1, "a", ("A",))
    assert isinstance(found[1], Fault) and found[1].kind == "invalid UTF-8"
    assert f"{tmp_path}/s: byte 0xff at offset 3" in found[1].detail and f"{tmp_path}/t: byte 0xfe" in found[1].detail


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-8-sig"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_wide_characters_are_read_with_and_without_their_mark(tmp_path: Path, encoding: str, packed: bool) -> None:
    raw = "hello\tbonjour\r\ngood bye\tau revoir\r\n".encode(encoding)
    assert rows(tmp_path / "a.tsv", gzip.compress(raw) if packed else raw) == HELLO


def test_broken_characters_of_another_encoding_keep_their_place(tmp_path: Path) -> None:
    raw = "a\tb\n".encode("utf-16") + b"\x00\xd8" + "c\td\ne\tf\n".encode("utf-16-le") + b"x"
    found = rows(tmp_path / "a.tsv", raw)
    assert found[0] == Pair(1, "a", ("b",)) and found[2] == Pair(3, "e", ("f",))
    assert found[1] == Fault("invalid bytes", 2, "not utf-16-le") and kinds(found[3:]) == ["invalid bytes"]


def test_nfc_only_when_asked(tmp_path: Path) -> None:
    text = "cafe\u0301\t\u0301x\n"
    assert rows(tmp_path / "a.tsv", text) == [Pair(1, "cafe\u0301", ("\u0301x",))]
    assert rows(tmp_path / "a.tsv", text, normalise="nfc") == [Pair(1, "café", ("\u0301x",))]


def test_a_line_of_a_megabyte_is_read_and_not_used(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text(f"a\tb\n{'x' * (1 << 20)}\ty\nc\td\n")
    spec = CorpusSpec.parse(str(file))
    assert [pair.line for pair in usable_pairs(spec, DataConfig())] == [1, 3]
    assert kinds(list(checked_rows(spec, DataConfig()))) == ["pair", "too long", "pair"]
    assert [pair.line for pair in usable_pairs(spec, DataConfig(max_chars=1 << 20))] == [1, 2, 3]


def test_csv_quotes_and_line_numbers(tmp_path: Path) -> None:
    found = rows(tmp_path / "a.csv", '"a, ""b""",x\r\n"two\r\nlines",y\n5" disk,z\nlast,w\n')
    assert found == [
        Pair(1, 'a, "b"', ("x",)),
        Pair(2, "two\nlines", ("y",)),
        Pair(4, '5" disk', ("z",)),
        Pair(5, "last", ("w",)),
    ]


@pytest.mark.parametrize("rest", ["c,d\ne,f\n", 'c,d\ne,"f"\n', 'c,"d\nd",\n'])
def test_a_quote_that_is_never_closed_costs_one_line(tmp_path: Path, rest: str) -> None:
    found = rows(tmp_path / "a.csv", f'a,b\n"open,x\n{rest}')
    assert found[0] == Pair(1, "a", ("b",))
    assert isinstance(found[1], Fault) and (found[1].kind, found[1].line) == ("bad quotes", 2)
    assert found[2:] and found[2].line == 3 and "bad quotes" not in kinds(found[2:])


def test_an_open_quote_reads_a_bounded_number_of_lines_ahead() -> None:
    read = []

    def lines() -> object:
        for i in range(10 * MAX_RECORD_LINES):
            read.append(i)
            yield '"open,x' if i == 0 else "a,b"

    found = csv_rows(lines())  # type: ignore[arg-type]
    assert isinstance(next(found)[1], Fault)
    assert len(read) <= MAX_RECORD_LINES + 2


@given(st.lists(st.tuples(*[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"))] * 2)))
def test_what_the_csv_module_writes_is_read_back(table: list[tuple[str, str]]) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    lines = out.getvalue().removesuffix("\n").split("\n") if table else []
    assert [cells for _, cells in csv_rows(iter(lines))] == [list(row) for row in table]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_headers(tmp_path: Path, name: str) -> None:
    tab = "," if name == "a.csv" else "\t"

    def table(*lines: str) -> str:
        return "".join(line.replace("|", tab) + "\n" for line in lines)

    known = rows(tmp_path / name, table("source|target", "a|b"))
    assert known == [Fault("header", 1, "source, target"), Pair(2, "a", ("b",))]
    assert rows(tmp_path / name, table("|fr|score|en", "0|b|9|a"))[1:] == [Pair(2, "b", ("a",))]
    assert rows(tmp_path / name, table("id|French|English", "1|b|a"), "english,french")[1:] == [Pair(2, "a", ("b",))]
    assert rows(tmp_path / name, table("id|fr|en", "1|b|a"), "3,2")[1:] == [Pair(2, "a", ("b",))]
    assert rows(tmp_path / name, table("x|b|a", "y|d"), "3,2") == [
        Pair(1, "a", ("b",)),
        Fault("missing column", 2, "2 columns, want column 3"),
    ]
    with pytest.raises(UsageError, match=r"'englsh'.*Did you mean 'english'"):
        rows(tmp_path / name, table("id|English|French", "1|a|b"), "englsh,french")


def test_references(tmp_path: Path) -> None:
    assert rows(tmp_path / "a.tsv", "a\tb\tc\t \td\nx\ty\n", references=True) == [
        Pair(1, "a", ("b", "c", "d")),
        Pair(2, "x", ("y",)),
    ]
    assert rows(tmp_path / "a.tsv", "a\tb\tc\n", "1,3,2") == [Pair(1, "a", ("c", "b"))]
    assert rows(tmp_path / "a.tsv", "a\t\tc\n", references=True) == [Fault("empty side", 1, "target")]
    assert rows(tmp_path / "a.csv", "src,tgt,ref2,score\na,b,c,9\n", references=True)[1:] == [Pair(2, "a", ("b", "c"))]
    many = '{"source": "a", "target": ["b", "c"]}\n'
    assert rows(tmp_path / "a.jsonl", many, references=True) == [Pair(1, "a", ("b", "c"))]
    assert kinds(rows(tmp_path / "a.jsonl", many)) == ["extra column"]


def test_jsonl_fields_by_name_path_and_place(tmp_path: Path) -> None:
    line = json.dumps({"id": "1", "text": {"de": "hallo"}, "translation": {"en": "hello", "fr": "bonjour"}, "z": "end"})
    for columns, pair in {
        "en,fr": ("hello", "bonjour"),
        "translation.fr,text.de": ("bonjour", "hallo"),
        "4,1": ("end", "1"),
    }.items():
        assert rows(tmp_path / "a.jsonl", line, columns) == [Pair(1, pair[0], (pair[1],))]


def test_jsonl_faults(tmp_path: Path) -> None:
    lines = [
        '{"src": "a", "tgt": "b"}', "{broken", '["a", "b"]', '{"src": "a"}', '{"src": "a", "tgt": null}',
        '{"src": "a", "tgt": 7}', "", '{"src": "a", "tgt": "\\ud800"}', '{"src": "c", "tgt": "d"}',
    ]  # fmt: skip
    found = rows(tmp_path / "a.jsonl", "\n".join(lines))
    want = ["pair", "bad JSON", "bad JSON", "missing column", "empty side", "bad JSON", "missing column", "bad JSON"]
    assert kinds(found) == [*want, "pair"]
    assert [row.line for row in found] == list(range(1, 10))
    with pytest.raises(UsageError, match="--columns"):
        rows(tmp_path / "b.jsonl", '{"a": "1", "b": "2", "c": "3"}\n')


@given(st.lists(st.tuples(*[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\t\r\ufeff"))] * 2)))
def test_no_pair_is_lost_or_shifted(table: list[tuple[str, str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        one, src, tgt = (Path(folder, name) for name in ("a.tsv", "a.en", "a.fr"))
        one.write_bytes("".join(f"{s}\t{t}\n" for s, t in table).encode())
        src.write_bytes("".join(f"{s}\n" for s, _ in table).encode())
        tgt.write_bytes("".join(f"{t}\n" for _, t in table).encode())
        found = list(read_rows(CorpusSpec.parse(str(one), ReadAs("1,2", delimiter="tab", encoding="utf-8"))))
        assert found == list(read_rows(CorpusSpec.parse(f"{src},{tgt}", ReadAs(encoding="utf-8"))))
        for line, ((source, target), row) in enumerate(zip(table, found, strict=True), 1):
            good = source.strip() and target.strip()
            assert row.line == line and isinstance(row, Pair) == bool(good)
            assert not good or row == Pair(line, source, (target,))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a\tb\n")
    with pytest.raises(UsageError, match=r"trian.tsv: no such file. Did you mean 'train.tsv'"):
        CorpusSpec.parse(f"{tmp_path}/trian.tsv")
    with pytest.raises(UsageError, match="no such file"):
        CorpusSpec.parse(f"{tmp_path}/train.tsv,{tmp_path}/x.fr")
    with pytest.raises(UsageError, match="Nor is there a folder"):
        CorpusSpec.parse(f"{tmp_path}/none/x.tsv")
    with pytest.raises(UsageError, match="a folder"):
        CorpusSpec.parse(str(tmp_path))
    with pytest.raises(UsageError, match="read only once"):
        CorpusSpec.parse("/dev/null")
    with pytest.raises(UsageError, match="one comma"):
        CorpusSpec.parse("a,b,c")
    with pytest.raises(UsageError, match=r"a\.en,TARGET"):
        rows(tmp_path / "a.en", "hello\n")
    with pytest.raises(UsageError, match="parallel"):
        CorpusSpec.parse(f"{tmp_path}/train.tsv,{tmp_path}/train.tsv", "1,2")


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_gzip_is_a_clear_sentence(tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress(bytes(range(32, 127)) * 9 + FILES["a.tsv"] * 99))
    if damage == "cut":
        del packed[-9:]
    else:
        packed[40] ^= 0xFF
    with pytest.raises(DataError, match="damaged gzip"):
        rows(tmp_path / "a.tsv.gz", bytes(packed))


@pytest.mark.parametrize("columns", ["1", "1,1", "0,1", "1,", ","])
def test_columns_that_make_no_sense(tmp_path: Path, columns: str) -> None:
    with pytest.raises(UsageError, match="--columns"):
        rows(tmp_path / "a.tsv", "a\tb\n", columns)


def test_mix_weights_and_names_with_colons_and_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.tsv", "a.tsv:2", "b:3.tsv", "x,y.en", "x,y.fr", "one,two.tsv"):
        Path(name).write_text("a\tb\n")
    assert parse_mix("b:3.tsv:0.5").weight == 0.5 and parse_mix("b:3.tsv:0.5").files == (Path("b:3.tsv"),)
    assert (parse_mix("a.tsv:2").weight, parse_mix("a.tsv:2").files) == (1.0, (Path("a.tsv:2"),))
    assert parse_mix("a.tsv").weight == 1.0
    assert parse_mix("x,y.en,x,y.fr:2").files == (Path("x,y.en"), Path("x,y.fr"))
    assert CorpusSpec.parse("one,two.tsv").files == (Path("one,two.tsv"),)
    for bad in ("a.tsv:0", "a.tsv:-1", "a.tsv:inf", "a.tsv:nan"):
        with pytest.raises(UsageError, match="above 0"):
            parse_mix(bad)


@pytest.mark.parametrize(
    ("files", "columns", "want"),
    [
        ("a.en,a.fr", None, ("en", "fr")),
        ("train.en.gz,train.pt_BR.gz", None, ("en", "pt_BR")),
        ("train_de.txt,train_en.txt", None, ("de", "en")),
        ("en.txt,fr.txt", None, ("en", "fr")),
        ("europarl-v7.fr-en.en,europarl-v7.fr-en.fr", None, ("en", "fr")),
        ("a.src,a.tgt", None, ("", "")),
        ("corpus.en-fr.tsv", None, ("en", "fr")),
        ("news_de_en.tsv.gz", None, ("de", "en")),
        ("eng2fra.tsv", None, ("eng", "fra")),
        ("summ.long-short.en.tsv", None, ("", "")),
        ("pairs.tsv", "en,fr", ("en", "fr")),
        ("pairs.tsv", "2,1", ("", "")),
    ],
)
def test_languages_from_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: str, columns: str | None, want: tuple[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in files.split(","):
        Path(name).write_bytes(gzip.compress(b"a\tb\n") if name.endswith(".gz") else b"a\tb\n")
    assert CorpusSpec.parse(files, columns).languages == want


class Stdin(io.TextIOWrapper):
    def __init__(self, raw: bytes, terminal: bool = False) -> None:
        super().__init__(io.BufferedReader(io.BytesIO(raw)))
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for raw in (FILES["crlf-bom.tsv"], gzip.compress(FILES["a.tsv"])):
        monkeypatch.setattr(sys, "stdin", Stdin(raw))
        assert list(read_rows(CorpusSpec.parse("-"))) == HELLO
        monkeypatch.setattr(sys, "stdin", Stdin(raw))
        spec = spool_stdin(tmp_path, "2,1")
        assert spec.files == (tmp_path / "stdin.tsv",) and [path.name for path in tmp_path.iterdir()] == ["stdin.tsv"]
        assert list(read_rows(spec)) == list(read_rows(spec)) == [Pair(p.line, p.target, (p.source,)) for p in HELLO]
    monkeypatch.setattr(sys, "stdin", Stdin(b"", terminal=True))
    with pytest.raises(UsageError, match="keyboard"):
        spool_stdin(tmp_path)


@pytest.mark.parametrize("between", ["\t", " "])
def test_labels_on_standard_input_stand_before_a_tab_or_a_blank_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    want = [Pair(n, f"film number {n} {'.' * 500}", ("pos" if n % 2 else "neg",)) for n in range(1, 2500)]
    raw = "".join(f"{pair.target}{between}{pair.source}\n" for pair in want).encode()
    assert len(raw) > 1 << 20  # more than is read at once
    for data in (raw, gzip.compress(raw)):
        monkeypatch.setattr(sys, "stdin", Stdin(data))
        assert list(read_rows(CorpusSpec.parse("-", form="labelled"))) == want
        monkeypatch.setattr(sys, "stdin", Stdin(data))
        assert list(read_rows(spool_stdin(tmp_path, form="labelled"))) == want
    monkeypatch.setattr(sys, "stdin", Stdin(b"", terminal=True))
    with pytest.raises(UsageError, match="each line label<TAB>text, or label text"):
        spool_stdin(tmp_path, form="labelled")


OTHER = b"other\tpairs\n"


@pytest.mark.parametrize(("raw", "terminal"), [(b"", False), (b"", True), (FILES["a.tsv"], False)])
def test_a_started_run_keeps_its_spooled_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes, terminal: bool
) -> None:
    """Nothing on standard input, the keyboard or the same again: the file of the first start is used, untouched."""
    file = tmp_path / "stdin.tsv"
    file.write_bytes(FILES["a.tsv"])
    before = file.stat()
    monkeypatch.setattr(sys, "stdin", Stdin(raw, terminal))
    spec = spool_stdin(tmp_path, started=True)
    assert list(read_rows(spec)) == HELLO
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert list(tmp_path.iterdir()) == [file]


def test_other_pairs_for_a_started_run_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "stdin.tsv"
    file.write_bytes(FILES["a.tsv"])
    monkeypatch.setattr(sys, "stdin", Stdin(OTHER))
    with pytest.raises(UsageError, match=r"other pairs than .*stdin\.tsv.*choose another --out"):
        spool_stdin(tmp_path, started=True)
    assert file.read_bytes() == FILES["a.tsv"]
    assert list(tmp_path.iterdir()) == [file]


def test_before_anything_is_trained_new_pairs_replace_the_old_and_nothing_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "stdin.tsv"
    file.write_bytes(FILES["a.tsv"])
    monkeypatch.setattr(sys, "stdin", Stdin(b""))
    with pytest.raises(UsageError, match="standard input is empty"):
        spool_stdin(tmp_path)
    assert file.read_bytes() == FILES["a.tsv"]
    monkeypatch.setattr(sys, "stdin", Stdin(OTHER))
    spool_stdin(tmp_path)
    assert file.read_bytes() == OTHER
    assert list(tmp_path.iterdir()) == [file]


def test_a_header_is_listed_with_what_is_not_used(tmp_path: Path) -> None:
    from seqloom.data.prepare import prepare
    from seqloom.text.learn import learn_tokenizer
    from seqloom.text.sides import Tokenizers

    file = tmp_path / "a.tsv"
    file.write_text("source\ttarget\n" + "".join(f"a{n}\tb\n" for n in range(30)) + "alone\n")
    letters = learn_tokenizer("char", [], 260)
    config = DataConfig(valid_pairs=2)
    train, _ = prepare(tmp_path / "store", [CorpusSpec.parse(str(file))], Tokenizers(letters, letters), config, seed=1)
    listing = (tmp_path / "store" / "excluded.tsv").read_text().splitlines()
    assert listing[1] == f"{file}\t1\theader: source, target"
    assert listing[2].startswith(f"{file}\t32\tmissing column")
    assert (train.account.total, train.account.kept, train.account.excluded) == (31, 30, {"missing column": 1})


def test_a_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="standard input is closed: name a file"):
        next(read_lines(STDIN))
