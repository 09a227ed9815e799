"""Writes a folder of broken and odd files as people export them, each with what Seqloom should make of it.

    python -m tests.odd_files FOLDER

Every file holds the same English and French sentences, or says why it does not. `tests/cli/test_odd_files.py` runs
`doctor` and `train` on each of them.
"""

import csv
import io
import itertools
import json
import sys
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

WHO = [("the boy", "le garçon"), ("my sister", "ma sœur"), ("the old man", "le vieil homme"), ("a child", "un enfant")]
DOES = [("is reading", "lit"), ("has bought", "a acheté"), ("wants to see", "veut voir"), ("forgot", "a oublié")]
WHAT = [("the newspaper", "le journal"), ("a house", "une maison"), ("these apples", "ces pommes"), ("it", "cela")]
WHEN = [("today", "aujourd'hui"), ("with friends", "avec des amis"), ("at dawn", "à l'aube"), ("for me", "pour moi")]
Pairs = Sequence[tuple[str, str]]
PAIRS: Pairs = [
    (" ".join(word for word, _ in words) + ".", " ".join(word for _, word in words) + ".")
    for words in itertools.product(WHO, DOES, WHAT, WHEN)
]  # 256
YES: Pairs = [(f"yes, {en}", f"oui, {fr}") for en, fr in PAIRS]  # one comma per sentence
RUSSIAN: Pairs = [(f"word {n}", f"слово номер {n}, это хорошо") for n in range(60)]
LABELLED = [
    (("good", "bad")[n % 2], f"{en} {('Fine', 'Dull')[n % 2]}, {n % 125}") for n, (en, _) in enumerate(PAIRS[:160])
]
LABELLED = [(label, LABELLED[n % 125][1]) for n, (label, _) in enumerate(LABELLED)]  # 125 different texts


@dataclass(frozen=True)
class Odd:
    """A file, and what `doctor` and `train` should make of it."""

    content: bytes | dict[str, bytes]  # several: parallel files, given by their names with a comma
    says: tuple[str, ...]  # words of the doctor's report, or of the refusal
    pairs: Pairs | None = None  # what is read; None: `train` refuses the file
    options: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()  # options with which it is read, where it is refused without
    repaired_pairs: Pairs = ()


def lines(rows: Iterable[Sequence[str]], between: str = "\t", end: str = "\n") -> str:
    return "".join(between.join(row) + end for row in rows)


def table(rows: Iterable[Sequence[str]], **options: object) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", **options).writerows(rows)  # type: ignore[arg-type]
    return out.getvalue()


def archive(*names: str, mimetype: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        if mimetype:
            packed.writestr("mimetype", mimetype)
        for name in names:
            packed.writestr(name, "<xml/>" * 50)
    return out.getvalue()


def tmx(units: Iterable[dict[str, str]], doctype: str = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">') -> str:
    body = "".join(
        "<tu>\n"
        + "".join(f'  <tuv xml:lang="{code}"><seg>{text}</seg></tuv>\n' for code, text in unit.items())
        + "</tu>\n"
        for unit in units
    )
    return (
        f'<?xml version="1.0"?>\n{doctype}\n<tmx version="1.4"><header srclang="en-US"/><body>\n{body}</body></tmx>\n'
    )


def xliff_1(pairs: Pairs) -> str:
    units = "".join(
        f'<trans-unit id="{n}"><source>{escape(en)}</source><target>{escape(fr)}</target>'
        "<alt-trans><source>old</source><target>vieux</target></alt-trans></trans-unit>\n"
        for n, (en, fr) in enumerate(pairs)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\n'
        f'<file source-language="en" target-language="fr" original="x" datatype="plaintext"><body>\n{units}'
        "</body></file></xliff>\n"
    )


def xliff_2(pairs: Pairs) -> str:
    units = "".join(
        f'<unit id="{n}"><segment><source>{escape(en)[:4]}<pc id="1">{escape(en)[4:]}</pc></source>'
        f'<target>{escape(fr)}<ph id="2"/></target></segment></unit>\n'
        for n, (en, fr) in enumerate(pairs)
    )
    return (
        '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="fr">\n'
        f'<file id="f1">\n{units}</file></xliff>\n'
    )


def marked(text: str) -> str:
    """A text of TMX with codes of formatting, which are not part of it."""
    return f'<bpt i="1">&lt;b&gt;</bpt>{escape(text)}<ept i="1">&lt;/b&gt;</ept>'


def subtitles(pairs: Pairs) -> str:
    return "".join(
        f"{n}\n00:00:{n % 60:02},000 --> 00:00:{n % 60:02},900\n{en}\n\n" for n, (en, _) in enumerate(pairs, 1)
    )


def mixed_encodings() -> bytes:
    rows = [lines([pair]).encode("cp1252" if n in (9, 19) else "utf-8") for n, pair in enumerate(PAIRS)]
    return b"".join(rows)


def bomb() -> str:
    entities = '<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    return tmx([{"en-US": "&b;", "fr": "x"}] * 3, entities)


NUMBERED = [(str(n), en, fr) for n, (en, fr) in enumerate(PAIRS, 1)]
SWAPPED = [(fr, en) if n % 2 else (en, fr) for n, (en, fr) in enumerate(PAIRS)]
DECIMALS = [(f"{n},5 km", f"{en} {n}") for n, (en, _) in enumerate(PAIRS)]
ODD_FILES: dict[str, Odd] = {
    "semicolons.csv": Odd(
        lines(YES, ";").encode(), ("separated by semicolons; column 1 is the source, column 2 the target",), YES
    ),
    "tabs.csv": Odd(lines(PAIRS).encode(), ("separated by tabs",), PAIRS),
    "unicode-text.txt": Odd(
        lines(PAIRS, end="\r\n").encode("utf-16"), ("separated by tabs, UTF-16-LE",), PAIRS
    ),  # as Excel calls it
    "utf-16-le.tsv": Odd(lines(PAIRS).encode("utf-16-le"), ("UTF-16-LE",), PAIRS),
    "utf-16-be.csv": Odd(table(PAIRS).encode("utf-16-be"), ("separated by commas, UTF-16-BE",), PAIRS),
    "utf-32.tsv": Odd(lines(PAIRS).encode("utf-32"), ("UTF-32-LE",), PAIRS),
    "russian-utf-16.tsv": Odd(lines(RUSSIAN).encode("utf-16-le"), ("UTF-16-LE",), RUSSIAN),
    "byte-order-mark.csv": Odd(table(PAIRS).encode("utf-8-sig"), ("separated by commas",), PAIRS),
    "windows-1252.csv": Odd(
        table(PAIRS).encode("cp1252"),
        ("invalid UTF-8", "looks like windows-1252 (Western European", "garçon", "--encoding windows-1252"),
        repaired=("--encoding", "windows-1252"),
        repaired_pairs=PAIRS,
    ),
    "windows-1251.tsv": Odd(
        lines(RUSSIAN).encode("cp1251"),
        ("looks like windows-1251 (Cyrillic", "слово", "--encoding windows-1251"),
        repaired=("--encoding", "windows-1251"),
        repaired_pairs=RUSSIAN,
    ),
    "mixed-encodings.tsv": Odd(
        mixed_encodings(), ("invalid UTF-8", "lines 10, 20", "another encoding than the rest", "windows-1252")
    ),
    "english-french.csv": Odd(
        table([("English", "French"), *PAIRS]).encode(),
        ("column 1 'English' is the source, column 2 'French' the target", "header"),
        PAIRS,
    ),
    "id-en-fr.csv": Odd(
        table([("id", "en", "fr"), *NUMBERED]).encode(),
        ("column 2 'en' is the source, column 3 'fr' the target",),
        PAIRS,
    ),
    "id-phrase-traduction.csv": Odd(
        table([("id", "phrase", "traduction"), *NUMBERED]).encode(),
        ("which columns are source and target? Line 1 names: id, phrase, traduction", "--columns phrase,traduction"),
        repaired=("--columns", "phrase,traduction"),
        repaired_pairs=PAIRS,
    ),
    "three-columns.tsv": Odd(
        lines(NUMBERED).encode(),
        ("extra column", "Say which two to use: --columns 2,3"),
        repaired=("--columns", "2,3"),
        repaired_pairs=PAIRS,
    ),
    "en-fr-de.csv": Odd(
        table([("en", "fr", "de"), *((en, fr, "das") for en, fr in PAIRS)]).encode(),
        ("which columns are source and target? Line 1 names: en, fr, de",),
        repaired=("--columns", "en,fr"),
        repaired_pairs=PAIRS,
    ),
    "blanks-after-commas.csv": Odd(
        "".join(f'"{en}", "{fr}"\n' for en, fr in YES).encode(), ("separated by commas",), YES
    ),
    "empty-columns.csv": Odd(lines([(*pair, "", "") for pair in PAIRS], ";").encode(), ("semicolons",), PAIRS),
    "sep-line.csv": Odd(("sep=;\r\n" + lines(YES, ";", "\r\n")).encode(), ("separator line", "semicolons"), YES),
    "decimal-commas.csv": Odd(lines(DECIMALS, ";").encode(), ("semicolons",), DECIMALS),
    "two-separators.csv": Odd(
        lines([(f"a{n},b", f"c,d{n}") for n in range(99)], ";").encode(),
        ("both commas and semicolons cut its lines", "--delimiter ','"),
        repaired=("--delimiter", ";"),
        repaired_pairs=[(f"a{n},b", f"c,d{n}") for n in range(99)],
    ),
    "commas-without-quotes.csv": Odd(
        lines([*PAIRS[:100], *YES[100:]], ",").encode(), ("too many unusable", "the separator in quotes")
    ),
    "quoted-line-ends.csv": Odd(
        table([(en.replace(" ", "\n", 1), fr) for en, fr in PAIRS]).encode(),
        ("tab or line end",),
        [(en.replace(" ", "\n", 1), fr) for en, fr in PAIRS],
    ),
    "quoted.tsv": Odd(table(PAIRS, delimiter="\t", quoting=csv.QUOTE_ALL).encode(), ("separated by tabs",), PAIRS),
    "bars.txt": Odd(lines(YES, " ||| ").encode(), ("separated by '|||'",), YES),
    "old-mac.tsv": Odd(lines(PAIRS, end="\r").encode(), ("line ends of old Macs",), PAIRS),
    "zero-bytes.tsv": Odd(
        lines([("the\0 end", "la fin\0"), *PAIRS]).encode(),
        ("control character", "U+0000", "line 1"),
        [("the\0 end", "la fin\0"), *PAIRS],
    ),
    "entities.tsv": Odd(
        lines([("salt &amp; pepper", "sel &amp; poivre"), *PAIRS]).encode(),
        ("HTML entity", "line 1", "&amp;"),
        [("salt &amp; pepper", "sel &amp; poivre"), *PAIRS],
    ),
    "swapped-in-half.tsv": Odd(lines(SWAPPED).encode(), ("swapped columns", "128"), SWAPPED),
    "labels-last.tsv": Odd(
        lines((text, label) for label, text in LABELLED).encode(),
        ("labels never repeat", "columns look exchanged: --columns 2,1"),
        options=("--task", "classify"),
        repaired=("--columns", "2,1"),
        repaired_pairs=[(text, label) for label, text in LABELLED],
    ),
    "labels.jsonl": Odd(
        "".join(json.dumps({"comments": text, "verdict": label}) + "\n" for label, text in LABELLED).encode(),
        ("which fields are label and text? It has: comments, verdict",),
        options=("--task", "classify"),
        repaired=("--columns", "verdict,comments"),
        repaired_pairs=[(text, label) for label, text in LABELLED],
    ),
    "array.json": Odd(
        json.dumps([{"en": en, "fr": fr} for en, fr in PAIRS], indent=1).encode(),
        ("a JSON array; field 'en' is the source, field 'fr' the target",),
        PAIRS,
    ),
    "lists.json": Odd(json.dumps(PAIRS).encode(), ("a JSON array; element '1' is the source",), PAIRS),
    "cut-off.json": Odd(
        json.dumps([{"en": en, "fr": fr} for en, fr in PAIRS], indent=1).encode()[:-20], ("broken array", "not read")
    ),
    "object.json": Odd(
        json.dumps({"data": [{"en": en, "fr": fr} for en, fr in PAIRS]}, indent=1).encode(),
        ("one JSON object over several lines", "jq -c"),
    ),
    "memory.tmx": Odd(
        tmx({"en-US": marked(en), "fr-FR": marked(fr)} for en, fr in PAIRS).encode(),
        ("a TMX file; the language 'en-US' is the source, the language 'fr-FR' the target",),
        PAIRS,
    ),
    "three-languages.tmx": Odd(
        tmx({"de": "x", "en": escape(en), "fr": escape(fr)} for en, fr in PAIRS)
        .replace("en-US", "en")
        .encode("utf-16"),
        ("which languages are source and target? The file has: en, de, fr",),
        repaired=("--columns", "en,fr"),
        repaired_pairs=PAIRS,
    ),
    "cut-off.tmx": Odd(
        tmx({"en-US": escape(en), "fr": escape(fr)} for en, fr in PAIRS).encode()[:-1000],
        ("bad XML", "no element found"),
    ),
    "windows-1252.tmx": Odd(
        tmx({"en-US": escape(en), "fr": escape(fr)} for en, fr in PAIRS).encode("cp1252"),
        ("bad XML", "--encoding windows-1252", "garçon"),
        repaired=("--encoding", "windows-1252"),
        repaired_pairs=PAIRS,
    ),
    "one-language.tmx": Odd(
        tmx({"en-US": escape(en)} for en, _ in PAIRS).encode(), ("texts in one language only (en-US)",)
    ),
    "entity-bomb.tmx": Odd(bomb().encode(), ("bad XML", "declares the entity 'a'")),
    "old.xlf": Odd(
        xliff_1(PAIRS).encode(),
        ("an XLIFF file; the language 'en' is the source, the language 'fr' the target",),
        PAIRS,
    ),
    "new.xlf": Odd(xliff_2(PAIRS).encode(), ("an XLIFF file; the language 'en' is the source",), PAIRS),
    "film.srt": Odd(subtitles(PAIRS).encode(), ("sub-titles", "not pairs", "source.txt,target.txt")),
    "catalogue.po": Odd(
        "".join(f'msgid "{en}"\nmsgstr "{fr}"\n\n' for en, fr in PAIRS).encode(), ("gettext catalogue", "po2tmx")
    ),
    "workbook.xlsx": Odd(archive("[Content_Types].xml", "xl/workbook.xml"), ("an Excel workbook", "CSV UTF-8")),
    "sheet.ods": Odd(
        archive("content.xml", mimetype="application/vnd.oasis.opendocument.spreadsheet"),
        ("an OpenDocument spreadsheet", "CSV UTF-8"),
    ),
    "old-workbook.xls": Odd(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(999), ("an old Office file", "CSV UTF-8")),
    "letter.docx": Odd(archive("[Content_Types].xml", "word/document.xml"), ("a Word document",)),
    "paper.pdf": Odd(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n" * 9, ("a PDF document",)),
    "corpus.zip": Odd(archive("corpus/train.tsv"), ("a zip archive", "Unpack it")),
    "page.html": Odd(b"<!DOCTYPE html>\n<html><body>hello</body></html>\n", ("XML with the root <html>",)),
    "moses.en,moses.fr": Odd(
        {
            "moses.en": "".join(f"{en}\n" for en, _ in PAIRS).encode(),
            "moses.fr": "".join(f"{fr}\n" for _, fr in PAIRS[:-3]).encode(),
        },
        ("unequal lines", "moses.fr has 253 lines"),
    ),
    "one-utf-16.en,one-utf-16.fr": Odd(
        {
            "one-utf-16.en": "".join(f"{en}\n" for en, _ in PAIRS).encode("utf-16"),
            "one-utf-16.fr": "".join(f"{fr}\n" for _, fr in PAIRS).encode(),
        },
        ("two parallel files, UTF-16-LE",),
        PAIRS,
    ),
}


def write_odd_files(folder: Path) -> None:
    """Write all of them."""
    for name, odd in ODD_FILES.items():
        for file, content in (odd.content if isinstance(odd.content, dict) else {name: odd.content}).items():
            (folder / file).write_bytes(content)


if __name__ == "__main__":
    write_odd_files(Path(sys.argv[1]))
