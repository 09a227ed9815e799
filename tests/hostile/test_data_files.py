"""A hundred data files from a stranger, each given to `doctor`: an answer within a second, or one sentence.

Encodings, packing, tables, JSON and XML at their extremes. What each of them means is tested elsewhere; here it is
that none hangs, takes a gigabyte, shows a traceback or sends its control characters to the terminal.
"""

import gzip
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.hostile.bounds import end_of, put_in_place

ROW = b"a b\tc d\n"
ROWS = ROW * 50
OBJECT = b'{"source": "a", "target": "b"}\n'
PACKED = gzip.compress(ROWS, mtime=0)
TMX = b'<tmx version="1.4"><header srclang="en"/><body>%s</body></tmx>'
UNIT = b'<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>'


def zipped() -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../etc/x.tsv", bytes(1 << 20))
    return out.getvalue()


def wrong_sum() -> bytes:
    return PACKED[:-8] + bytes(8)


def units(inner: bytes, times: int = 1) -> bytes:
    return TMX % (UNIT * 3 + inner * times)


CASES: dict[str, dict[str, bytes]] = {
    "tsv": {
        "empty": b"",
        "one byte": b"\n",
        "a mark": b"\xef\xbb\xbf",
        "two marks": b"\xef\xbb\xbf" * 2 + ROWS,
        "mark inside": ROWS + b"\xef\xbb\xbf" + ROWS,
        "UTF-16 mark alone": b"\xff\xfe",
        "odd UTF-16": b"\xff\xfe" + b"a\0" * 50 + b"a",
        "UTF-16 without pairs": b"\xff\xfe" + b"\0\xd8" * 500,
        "UTF-32 beyond": b"\xff\xfe\0\0" + b"\xff\xff\xff\x7f" * 50,
        "UTF-7": b"+AGE-\t+AGI-\n" * 50,
        "overlong": b"\xc0\x80\t\xe0\x80\xaf\n" * 50,
        "CESU": b"\xed\xa0\xbd\xed\xb8\x80\ta\n" * 50,
        "five bytes": b"\xf8\x88\x80\x80\x80\ta\n" * 50,
        "all bytes": bytes(range(256)) * 50,
        "zeros": bytes(5000),
        "escapes": b"\x1b[2J\x1b]0;x\x07\ta\n" * 50,
        "bells": b"\x07a\tb\n" * 50,
        "C1": "\u009b2Ja\tb\n".encode() * 50,
        "lone CR": b"a\tb\r" * 50,
        "CR and LF": b"a\tb\r\r\n" * 50,
        "LF CR": b"a\tb\n\r" * 50,
        "separators": "a\u2028\tb\u2029\x85\n".encode() * 50,
        "a million tabs": b"\t" * 1_000_000,
        "tabs": b"\t" * 9 + b"\n" * 40,
        "a thousand columns": b"\t".join([b"a"] * 1000) + b"\n",
        "wide after narrow": ROWS + b"x\t" * 100_000 + b"\n",
        "directions": "\u202ea\tb\u2066\n".encode() * 50,
        "combining": ("a" + "\u0301" * 50_000 + "\tb\n").encode() * 2,
        "noncharacters": "\ufffe\uffff\U0010ffff\ta\n".encode() * 50,
        "header of names": b"source\tsource\ttarget\ttarget\n" + ROWS,
        "sep": b"sep=\t\nsep=;\n" + ROWS,
        "sep of a quote": b'sep="\n' + ROWS,
        "formulas": b"=cmd|' /C calc'!A0\t@SUM(1)\n" * 50,
        "html": b"<script>alert(1)</script>\t&#0;\n" * 50,
        "percent": b"%s%n{0}\t${x}\n" * 50,
        "one letter": b"a",
        "only tabs": b"\t\n" * 500,
        "numbers": b"9" * 5000 + b"\t1e999\n",
        "digits": "\u0661\t\u0967\n".encode() * 50,
    },
    "tsv.gz": {
        "empty": b"",
        "two bytes": b"\x1f\x8b",
        "head": PACKED[:10],
        "half": PACKED[: len(PACKED) // 2],
        "without sum": PACKED[:-8],
        "wrong sum": wrong_sum(),
        "wrong size": PACKED[:-4] + b"\xff" * 4,
        "plain": ROWS,
        "zeros behind": PACKED + bytes(1000),
        "rubbish behind": PACKED + b"rubbish",
        "twice packed": gzip.compress(PACKED),
        "many members": gzip.compress(ROW) * 500,
        "empty members": gzip.compress(b"") * 2000,
        "an unknown method": b"\x1f\x8b\x07" + PACKED[3:],
        "every flag": PACKED[:3] + b"\xff" + PACKED[4:],
        "a name without end": PACKED[:3] + b"\x08" + PACKED[4:10] + b"n" * 50_000,
        "a broken block": PACKED[:12] + b"\xff" * 20 + PACKED[32:],
        "half of UTF-16": gzip.compress(b"\xff\xfea"),
        "a line of zeros": gzip.compress(bytes(6 << 20)),
        "a zip": zipped(),
    },
    "csv": {
        "one quote": b'"',
        "quotes": b'"' * 10_001,
        "open": b'a,"b\n' * 500,
        "in the middle": b'a"b"c,"d"e\n' * 50,
        "only commas": b"," * 100_000,
        "empty cells": b'"",""\n' * 500,
        "a cell of lines": b'"' + b"a\n" * 50_000 + b'",b\n',
        "semicolons and commas": b"a,b;c,d\n" * 50,
        "a quote at the end": b"a,b\n" * 50 + b'a,"',
        "NUL": b'a,"\0"\n' * 50,
        "CR in quotes": b'"a\rb",c\n' * 50,
        "spaces": b'"a" , "b"\n' * 50,
        "same names": b"a,a,a\n" * 50,
        "header alone": b"source,target\n",
        "long header": b"source,target," + b"x" * 100_000 + b"\na,b,c\n",
        "zip": zipped(),
        "sep": b"sep=\n" * 50,
        "quoted quotes": b'"""""","""a"""\n' * 50,
    },
    "jsonl": {
        "deep list": b"[" * 50_000,
        "deep closed": b"[" * 50_000 + b"]" * 50_000,
        "deep object": b'{"a":' * 50_000,
        "NaN": b'{"source": NaN, "target": "b"}\n' * 9,
        "Infinity": OBJECT + b'{"source": -Infinity, "target": "b"}\n',
        "1e999": OBJECT + b'{"source": 1e999, "target": "b"}\n',
        "comment": b"// x\n" + OBJECT,
        "trailing comma": OBJECT + b'{"source": "a", "target": "b",}\n',
        "single quotes": b"{'source': 'a', 'target': 'b'}\n" * 9,
        "same key": b'{"source": "a", "source": "b", "target": "c"}\n' * 9,
        "a mark": b"\xef\xbb\xbf" + OBJECT * 9,
        "marks": (b"\xef\xbb\xbf" + OBJECT) * 9,
        "surrogate": OBJECT + b'{"source": "\\ud800", "target": "b"}\n',
        "NUL": b'{"source": "\\u0000", "target": "b"}\n' * 9,
        "escape": b'{"\\u001b[2J": "a", "x": "b"}\n' * 9,
        "a long key": b'{"' + b"k" * 1_000_000 + b'": "a", "x": "b"}\n',
        "many keys": b"{" + b",".join(b'"k%d": 1' % n for n in range(20_000)) + b"}\n",
        "null": b"null\n" * 9,
        "numbers": b"1\n-0\n1e5\n",
        "lists": b'["a", "b"]\n["a"]\n[]\n' * 9,
        "mixed": OBJECT + b'["a", "b"]\n' + b'"a"\n',
        "two on a line": OBJECT.strip() * 2 + b"\n",
        "digits": OBJECT + b'{"source": "a", "target": "b", "x": ' + b"9" * 5000 + b"}\n",
        "empty keys": b'{"": "a", "": "b"}\n' * 9,
        "prototype": b'{"__class__": "a", "__proto__": "b"}\n' * 9,
        "nested columns": b'{"translation": {"en": {"x": 1}, "de": []}}\n' * 9,
        "record separators": b"\x1e" + OBJECT * 3,
        "CR": OBJECT.replace(b"\n", b"\r\n") * 9,
    },
    "json": {
        "open": b"[",
        "open object": b"[{",
        "commas": b"[" + b"," * 100_000 + b"]",
        "lists": b"[" + b"[]," * 100_000 + b"[]]",
        "deep": b"[" * 50_000 + b"]" * 50_000,
        "a text without end": b'["' + b"a" * 200_000,
        "an object": b'{"data": []}',
        "rubbish behind": b'[["a", "b"]] x',
        "two arrays": b'[["a", "b"]][["c", "d"]]',
        "escapes without end": b'["' + b"\\" * 100_001,
        "nothing inside": b"[]",
        "NaN": b"[NaN, Infinity]",
        "surrogate": b'[["\\ud800", "b"]]',
        "a number without end": b"[" + b"1" * 100_000,
        "a mark inside": b'[["a", "b"], \xef\xbb\xbf["c", "d"]]',
        "no comma": b'[["a", "b"] ["c", "d"]]',
    },
    "tmx": {
        "empty": TMX % b"",
        "cut": units(UNIT)[:-20],
        "entity": b'<!DOCTYPE tmx [<!ENTITY a "aaaa">]>' + units(b"<tu>&a;</tu>"),
        "outside": b'<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + units(b"<tu>&a;</tu>"),
        "parameter entity": b'<!DOCTYPE tmx [<!ENTITY % a SYSTEM "http://127.0.0.1:1/"> %a;]>' + units(b""),
        "deep": units(b"<x>" * 20_000),
        "deep closed": units(b"<hi>" * 20_000 + b"</hi>" * 20_000),
        "attributes": units(b"<tu " + b" ".join(b'a%d="1"' % n for n in range(20_000)) + b"/>"),
        "same attribute": units(b'<tu a="1" a="2"/>'),
        "comment": units(b"<!-- -- -->"),
        "instruction": b'<?xml-stylesheet href="file:///x"?>' + units(b""),
        "another encoding": b'<?xml version="1.0" encoding="UTF-16"?>' + units(b""),
        "no such encoding": b'<?xml version="1.0" encoding="x-none"?>' + units(b""),
        "no text encoding": b'<?xml version="1.0" encoding="hex"?>' + units(b""),
        "UTF-7": b'<?xml version="1.0" encoding="UTF-7"?>' + units(b""),
        "a prefix without a name": units(b"<q:tu/>"),
        "CDATA": units(b"<tu><![CDATA[" + b"]" * 50_000),
        "NUL": units(b"\0"),
        "a number of a character": units(b"<tu>&#0;&#xd800;&#x110000;</tu>"),
        "include": units(b'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd"/>'),
        "two roots": units(b"") * 2,
        "units in units": units(b"<tu>" * 2000 + b"</tu>" * 2000),
        "languages": units(b'<tu><tuv xml:lang="\x1b[2J"><seg>a</seg></tuv></tu>'),
        "long language": units(b'<tu><tuv xml:lang="' + b"e" * 100_000 + b'"><seg>a</seg></tuv></tu>'),
    },
}
FILES = [(ending, name) for ending, cases in CASES.items() for name in cases]


@pytest.mark.parametrize(("ending", "name"), FILES)
def test_a_hostile_file_is_answered(tmp_path, capfd, ending, name):
    (tmp_path / f"a.{ending}").write_bytes(CASES[ending][name])
    end_of(["doctor", tmp_path / f"a.{ending}"], capfd, [0, 2, 3])


@pytest.mark.parametrize("kind", ["FIFO", "socket", "folder", "/dev/tty", "itself", "nowhere", "nothing"])
@pytest.mark.parametrize("words", [["doctor"], ["train", "--out", "run"], ["plan"]], ids=lambda words: words[0])
def test_a_file_of_data_that_is_no_file(tmp_path, monkeypatch, capfd, words, kind):
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").touch()
    put_in_place(Path("a.tsv"), kind)
    end_of([words[0], "a.tsv", *words[1:]], capfd, [2, 3])


def test_there_are_enough_of_them():
    assert len(FILES) >= 100
