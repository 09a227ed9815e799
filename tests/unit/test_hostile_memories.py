"""Translation memories (TMX, XLIFF) whose units, tags or character codes have no end or no meaning."""

from pathlib import Path

import pytest

from seqloom.data import tmx_xliff
from seqloom.data.corpus import CorpusSpec, Fault, Pair, Row, read_rows


def rows_of(path: Path, content: str | bytes) -> list[Row]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_rows(CorpusSpec.parse(str(path))))


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
