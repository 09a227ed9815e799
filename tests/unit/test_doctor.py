"""The doctor finds what was broken on purpose, stays quiet about what is fine, and accounts for every line."""

import gzip
import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec, Fault, ReadAs, checked_rows, usable_pairs
from seqloom.data.doctor import examine
from seqloom.data.findings import KINDS, SEVERITIES, Finding, Report, shorten
from seqloom.data.letters import SCRIPTS, scripts_of
from seqloom.data.lines import GZIP
from seqloom.data.repair import write_repaired
from seqloom.data.swapped_sides import Direction
from seqloom.errors import DataError, UsageError

WHO = [("the boy", "le garçon"), ("my sister", "ma sœur"), ("the old man", "le vieil homme"), ("she", "elle")]
DOES = [("is reading", "lit"), ("has bought", "a acheté"), ("wants to see", "veut voir"), ("forgot", "a oublié")]
WHAT = [("the newspaper", "le journal"), ("a house", "une maison"), ("these apples", "ces pommes"), ("it", "cela")]
WHEN = [("today", "aujourd'hui"), ("with his friends", "avec ses amis"), ("in the morning", "le matin"), ("", "")]
WHY = [
    ("because of you", "à cause de vous"),
    ("and it is good", "et c'est bien"),
    ("for the children", "pour les enfants"),
]


def clean_pairs() -> list[tuple[str, str]]:
    """768 English-French pairs without a fault."""
    pairs = [
        tuple(" ".join(word for word in side if word) + "." for side in zip(*words, strict=True))
        for words in itertools.product(WHO, DOES, WHAT, WHEN, WHY)
    ]
    random.Random(3).shuffle(pairs)
    return pairs  # type: ignore[return-value]


@pytest.fixture
def examined(tmp_path: Path):
    """The report on these pairs as a TSV file, or on these bytes."""

    def run(content: list[tuple[str, str]] | str | bytes, name: str = "a.tsv", **settings: object) -> Report:
        if isinstance(content, list):
            content = "".join(f"{source}\t{target}\n" for source, target in content)
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        allow_loss = bool(settings.pop("allow_loss", False))
        spec = CorpusSpec.parse(str(tmp_path / name))
        return examine(spec, DataConfig(**settings), allow_loss=allow_loss)  # type: ignore[arg-type]

    return run


def with_lines(changes: dict[int, tuple[str, str]]) -> list[tuple[str, str]]:
    """The clean pairs with some lines (from 1) replaced."""
    pairs = clean_pairs()
    for line, pair in changes.items():
        pairs[line - 1] = pair
    return pairs


def test_clean_pairs_have_nothing_to_report(examined) -> None:
    report = examined(clean_pairs())
    assert (report.kept, report.total, report.findings, report.hard) == (768, 768, [], False)
    assert "kept 768 of 768 pairs\n  reads    columns separated by tabs; column 1 is the source" in report.render()
    assert report.render().endswith("\n  nothing to report")


# --- kept and reported --------------------------------------------------------------------------------------------

CLEAN = clean_pairs()
REPORTED = {
    "swapped columns": {7: CLEAN[6][::-1], 700: CLEAN[699][::-1]},
    "wrong script": {
        5: ("the boy reads", "мальчик читает"),
        9: ("мальчик", "le garçon"),
        11: ("男の子は", "le garçon"),
    },
    "mojibake": {3: ("the boy", "le garÃ§on"), 4: ("the boyâ€™s", "du gar\ufffdon"), 6: ("Ð¼Ð°Ð»", "HelloÂ\xa0you")},
    "control character": {2: ("nul\0", "x y z"), 8: ("the\u2028boy", "le garçon"), 12: ("she is", "elle\x85est")},
    "length ratio": {13: ("she wants to see these apples in the morning.", "a"), 17: ("she", "x" * 300)},
    "untranslated copy": {19: ("She is reading the newspaper", "she is reading the Newspaper"), 20: ("same", "same")},
    "duplicate": {21: CLEAN[0], 23: CLEAN[0], 25: CLEAN[1]},
}


@pytest.mark.parametrize("kind", REPORTED)
def test_what_is_kept_and_reported(kind: str, examined) -> None:
    report = examined(with_lines(REPORTED[kind]))
    found = report.finding(kind)
    assert found is not None, report.render()
    assert (found.count, found.lines) == (len(REPORTED[kind]), list(REPORTED[kind]))
    assert (found.severity, report.kept, report.total, report.hard) == ("kept", 768, 768, False)


def test_one_source_with_many_targets(examined) -> None:
    source = CLEAN[0][0]
    report = examined(with_lines({5: (source, "une autre phrase"), 6: (source, "encore une autre"), 7: CLEAN[0]}))
    found = report.finding("many targets")
    assert found is not None and (found.count, found.lines, found.detail) == (3, [1, 5, 6], "1 source")
    repeated = report.finding("duplicate")  # an equal pair is a duplicate, and no further target
    assert repeated is not None and repeated.lines == [7]


@pytest.mark.parametrize(
    "pair",
    [
        ("SÃO PAULO, IRMÃ» E IRMÃ\xa0», Â, Ñ, Ð", "CAFÉ», ÉTÉ…, À CÔTÉ\xa0», bête, naïve, â, €"),
        ("a word\xa0: \u200b\u200d \xad", "\u202bעברית\u202c and \u2066x\u2069"),
        ("I go to Москва tomorrow with 3.14 and 2:30", "J'irai à Москва demain avec 3,14 et 14h30"),
        ("12 345", "12 345"),
        ("Ω = 1", "β!"),
    ],
)
def test_what_is_no_fault(pair: tuple[str, str], examined) -> None:
    report = examined(with_lines({100: pair}))
    assert not report.findings, report.render()


def test_swaps_are_not_told_where_the_sides_are_alike(examined) -> None:
    """The same language on both sides: an answer may look like a question."""
    english = [source for source, _ in clean_pairs()]
    sides = english[::2], english[1::2]
    assert not Direction(*sides).judges
    assert examined(list(zip(*sides, strict=True))).finding("swapped columns") is None


def test_many_swapped_lines_are_all_found(examined) -> None:
    pairs = [pair[::-1] if line % 10 == 0 else pair for line, pair in enumerate(clean_pairs(), 1)]
    found = examined(pairs).finding("swapped columns")
    assert found is not None and found.count == len(pairs) // 10 and found.lines == list(range(10, 101, 10))


@pytest.mark.parametrize("name", ["corpus.fr-en.tsv", "corpus.en-fr.tsv"])
def test_a_file_that_is_reversed_as_a_whole(name: str, examined) -> None:
    found = examined(clean_pairs(), name).finding("swapped languages")
    assert (found is not None) == (name == "corpus.fr-en.tsv")


def test_a_reversed_file_known_by_its_script(examined) -> None:
    russian = [(f"the word {n}", f"слово {n}") for n in range(60)]
    assert examined(russian, "a.en-ru.tsv").finding("swapped languages") is None
    assert examined(russian, "a.ru-en.tsv").finding("swapped languages") is not None
    assert examined(russian, "a.tsv", source_lang="ru", target_lang="en").finding("swapped languages") is not None


def test_a_line_without_letters_has_no_wrong_script(examined) -> None:
    found = examined(with_lines({5: ("the boy", "мальчик читает"), 6: ("12 + 7", "12 + 7 =")})).finding("wrong script")
    assert found is not None and found.lines == [5]


def test_scripts() -> None:
    texts = [
        "hello",
        "Слово и дело",
        "日本語のテキスト",
        "안녕하세요",
        "مرحبا",
        "café naïve",
        "123 !?",
        "x2",
        "αβγδ 12",
        "",
    ]
    names = [SCRIPTS[i] for i in scripts_of(texts)]
    assert names == ["Latin", "Cyrillic", "Han", "Hangul", "Arabic", "Latin", "", "", "Greek", ""]


# --- excluded, and hard -------------------------------------------------------------------------------------------


def test_excluded_lines_are_accounted_for(examined) -> None:
    lines = [f"{source}\t{target}" for source, target in clean_pairs()]
    lines[9], lines[19], lines[29], lines[39], lines[49] = "alone", "a\tb\tc", "a\t ", "\t\t", "x" * 101 + "\ty"
    report = examined("\n".join(lines), max_chars=100)
    assert report.unusable == {"missing column": 1, "extra column": 1, "empty side": 2, "too long": 1}
    assert (report.kept, report.total) == (763, 768)
    assert {f.kind: (f.severity, f.lines) for f in report.findings} == {
        "missing column": ("excluded", [10]),
        "extra column": ("excluded", [20]),
        "empty side": ("excluded", [30, 40]),
        "too long": ("excluded", [50]),
    }
    assert not report.hard
    assert "kept 763 of 768 pairs; not used: 1 missing column, 1 extra column" in report.account()


def test_more_than_a_twentieth_lost_is_hard_unless_allowed(examined) -> None:
    for lost, hard in ((5, False), (6, True)):
        content = "a\tb\n" * (100 - lost) + "one column\n" * lost
        assert examined(content).hard is hard
        assert (examined(content).finding("too many unusable") is not None) is hard
        assert not examined(content, allow_loss=True).hard


@pytest.mark.parametrize("content", ["", "one column\n", "\n\n", "a\t\n"])
def test_no_usable_pair_is_always_hard(content: str, examined) -> None:
    report = examined(content, allow_loss=True)
    assert report.hard and report.finding("no usable pair") is not None and report.kept == 0


def test_plain_text_is_told_the_tasks_it_is_for(examined) -> None:
    finding = examined("one column\n").finding("no usable pair")
    assert finding is not None and "--task of its own (language, masked, denoise)" in finding.advice


def test_invalid_utf8_is_hard_however_little(examined) -> None:
    report = examined(b"a\tb\n" * 1000 + b"caf\xe9\tx\n", allow_loss=True)
    found = report.finding("invalid UTF-8")
    assert report.hard and found is not None and found.lines == [1001]
    assert found.examples == ["line 1001: byte 0xe9 at offset 4003"]
    assert (report.kept, report.total, report.unusable) == (1000, 1001, {"invalid UTF-8": 1})


@pytest.mark.parametrize("longer", ["en", "fr"])
def test_unequal_files_are_hard_and_both_counts_are_named(longer: str, tmp_path: Path) -> None:
    for name in ("en", "fr"):
        (tmp_path / f"a.{name}").write_text("x y\n" * (120 if name == longer else 100))
    report = examine(CorpusSpec.parse(f"{tmp_path}/a.en,{tmp_path}/a.fr"), DataConfig(), allow_loss=True)
    found = report.finding("unequal lines")
    assert report.hard and found is not None and (found.count, found.lines[0]) == (20, 101)
    assert f"{tmp_path}/a.{longer} has 120 lines" in found.detail and " has 100 lines" in found.detail
    assert (report.kept, report.total) == (100, 120)


def test_a_header_is_no_pair_and_no_loss(examined) -> None:
    report = examined("source,target\na,b\n", "a.csv")
    assert (report.kept, report.total, report.hard) == (1, 1, False)
    found = report.finding("header")
    assert found is not None and (found.severity, found.lines) == ("note", [1])


CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(["", " ", "a\tb", "a", "日本"])


@given(st.lists(st.one_of(st.tuples(CELL, CELL).map("\t".join), CELL).map(str.encode) | st.binary(max_size=8)))
def test_every_line_is_kept_or_told(lines: list[bytes]) -> None:
    """kept + told = lines, and kept are exactly the pairs that training reads, each from its own line."""
    import tempfile

    assume(not b"\n".join(lines).startswith(GZIP))  # that would be a packed file, and a damaged one

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.tsv")
        file.write_bytes(b"\n".join(lines) + b"\n")
        as_it_is = ReadAs("1,2", delimiter="tab", encoding="utf-8")
        spec, config = CorpusSpec.parse(str(file), as_it_is), DataConfig(max_chars=10)
        report = examine(spec, config)
        pairs = list(usable_pairs(spec, config))
        faults = [row for row in checked_rows(spec, config) if isinstance(row, Fault)]
        content = file.read_bytes()
        physical = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")[: content.count(b"\n")]
        assert report.kept == len(pairs) and report.total == len(physical)
        assert report.kept + sum(report.unusable.values()) == report.total
        assert sorted(row.line for row in [*pairs, *faults]) == list(range(1, len(physical) + 1))
        for pair in pairs:
            cells = physical[pair.line - 1].rstrip(b"\r").decode().split("\t")
            assert (pair.source, pair.target) == (cells[0], cells[1])


# --- between files ------------------------------------------------------------------------------------------------


def test_overlap_between_files(tmp_path: Path) -> None:
    pairs = clean_pairs()
    parts = {
        "train": pairs[:600],
        "valid": [*pairs[600:650], pairs[3], (pairs[4][0], pairs[4][1].upper())],
        "test": [pairs[600], *pairs[700:]],
    }
    specs = {}
    for name, part in parts.items():
        (tmp_path / f"{name}.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in part), "utf-8")
        specs[name] = CorpusSpec.parse(f"{tmp_path}/{name}.tsv")
    report = examine(specs["train"], DataConfig(), valid=specs["valid"], test=specs["test"])
    (found,) = report.findings
    assert (found.kind, found.severity, found.count, found.other) == ("overlap", "kept", 2, specs["valid"].name)
    assert (found.lines, found.other_lines) == ([4, 5], [51, 52])
    assert "2 sources" in found.detail and "1 with the same target" in found.detail
    (between,) = report.others["valid"].findings
    assert (between.count, between.lines, between.other_lines, between.other) == (1, [1], [1], specs["test"].name)
    assert report.to_json()["valid"]["kept"] == 52


def test_a_hard_fault_of_the_valid_file_counts(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\n")
    (tmp_path / "v.tsv").write_text("one column\n")
    (tmp_path / "t.tsv").write_text("c\td\tanother reference\n")
    spec, valid, test = (CorpusSpec.parse(f"{tmp_path}/{name}.tsv") for name in "avt")
    assert not examine(spec, DataConfig(), test=test).hard
    assert examine(spec, DataConfig(), valid=valid).hard


# --- the report ---------------------------------------------------------------------------------------------------


def test_the_json_of_a_report_is_stable(examined) -> None:
    report = json.loads(json.dumps(examined("a\tb\nc\n" * 2).to_json()))
    assert set(report) == {"corpus", "languages", "reads", "kept", "total", "unusable", "hard", "findings"}
    for finding in report["findings"]:
        assert {"kind", "severity", "count", "lines", "examples", "advice"} <= set(finding)
        assert finding["severity"] in SEVERITIES and finding["advice"]


def test_the_report_shows_ten_lines_and_the_worst_first(examined) -> None:
    report = examined("a\tb\n" * 30 + "\t\n" * 20 + "one\n")
    found = report.finding("empty side")
    assert found is not None and found.count == 20 and found.lines == list(range(31, 41))
    text = report.render()
    assert "lines 31, 32" in text and "40, ..." in text
    assert text.index("hard") < text.index("excluded") < text.index("duplicate")
    assert KINDS["empty side"][1] in text


def test_examples_are_safe_for_a_terminal() -> None:
    assert shorten("a\x1b[31m\u2028b") == "a\\u001b[31m\\u2028b"
    assert shorten("x" * 100, 10) == "xxxxxxx..."
    finding = Finding("mojibake")
    for line in range(1, 20):
        finding.add(line, "x")
    assert (finding.count, len(finding.lines), len(finding.examples)) == (19, 10, 3)


# --- repair -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".tsv", ".jsonl"])
def test_repair_writes_the_usable_pairs_and_tells_of_the_rest(ending: str, examined, tmp_path: Path) -> None:
    content = b"a\tb\r\nalone\nc\t\xff\n \td\ne\xc3\xa9\tf"
    report = examined(gzip.compress(content), "a.tsv.gz")
    spec, out = CorpusSpec.parse(f"{tmp_path}/a.tsv.gz"), tmp_path / f"clean{ending}"
    write_repaired(spec, DataConfig(), report, out)
    again = CorpusSpec.parse(str(out))
    assert [(p.source, p.target) for p in usable_pairs(again, DataConfig())] == [("a", "b"), ("eé", "f")]
    assert not examine(again, DataConfig()).hard
    rest = (tmp_path / f"clean{ending}.report.tsv").read_text("utf-8").splitlines()
    assert rest == [
        "line\tkind\tdetail",
        "2\tmissing column\t1 column, want 2",
        f"3\tinvalid UTF-8\tbyte 0xff at offset {content.index(0xFF)}",
        "4\tempty side\tsource",
    ]
    assert not list(tmp_path.glob("*.part"))


def test_repair_alters_no_text(examined, tmp_path: Path) -> None:
    report = examined('"two\nlines",x\n"a\ttab",y\nplain,z\nends,"with\r"\n', "a.csv")
    spec = CorpusSpec.parse(f"{tmp_path}/a.csv")
    with pytest.raises(UsageError, match=r"3 texts hold a tab or a line end.*clean.jsonl"):
        write_repaired(spec, DataConfig(), report, tmp_path / "clean.tsv")
    write_repaired(spec, DataConfig(), report, tmp_path / "clean.jsonl")
    again = CorpusSpec.parse(f"{tmp_path}/clean.jsonl")
    assert [pair.source for pair in usable_pairs(again, DataConfig())] == ["two\nlines", "a\ttab", "plain", "ends"]
    assert [pair.target for pair in usable_pairs(again, DataConfig())][-1] == "with\r"
    assert not (tmp_path / "clean.tsv").exists()


def test_repair_refuses(examined, tmp_path: Path) -> None:
    report = examined("a\tb\n")
    spec = CorpusSpec.parse(f"{tmp_path}/a.tsv")
    for out, words in {"a.tsv": "exists", "b.txt": "tsv or .jsonl", "none/b.tsv": "no folder"}.items():
        with pytest.raises(UsageError, match=words):
            write_repaired(spec, DataConfig(), report, tmp_path / out)
    assert (tmp_path / "a.tsv").read_text() == "a\tb\n"
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("A\n")
    unequal = CorpusSpec.parse(f"{tmp_path}/s,{tmp_path}/t")
    with pytest.raises(DataError, match="differ in length"):
        write_repaired(unequal, DataConfig(), examine(unequal, DataConfig()), tmp_path / "c.tsv")
    (tmp_path / "e.tsv").write_text("alone\n")
    empty = CorpusSpec.parse(f"{tmp_path}/e.tsv")
    with pytest.raises(DataError, match="no usable pair"):
        write_repaired(empty, DataConfig(), examine(empty, DataConfig()), tmp_path / "c.tsv")
    assert not (tmp_path / "c.tsv").exists() and not (tmp_path / "c.tsv.report.tsv").exists()


def test_repair_never_writes_what_was_flagged(examined, tmp_path: Path) -> None:
    """Every kind of finding in one file: the clean file has none, and the report lists each line that is missing."""
    changes = {line: pair for lines in REPORTED.values() for line, pair in lines.items()}
    del changes[25]  # line 2, which it repeats elsewhere, is another one here
    report = examined(with_lines(changes))
    spec = CorpusSpec.parse(f"{tmp_path}/a.tsv")
    written = write_repaired(spec, DataConfig(), report, tmp_path / "clean.tsv")
    clean = CorpusSpec.parse(f"{tmp_path}/clean.tsv")
    again = examine(clean, DataConfig())
    assert [finding.kind for finding in again.findings] == []
    assert again.kept == written
    rest = [line.split("\t") for line in (tmp_path / "clean.tsv.report.tsv").read_text("utf-8").splitlines()[1:]]
    swapped = [line for line, kind, _ in rest if kind == "swapped columns"]
    assert {int(line) for line, _, _ in rest} == set(changes) and swapped == ["7", "700"]
    assert written == 768 - len(changes) + len(swapped)
    pairs = [(pair.source, pair.target) for pair in usable_pairs(clean, DataConfig())]
    assert CLEAN[6] in pairs and CLEAN[6][::-1] not in pairs and pairs.count(CLEAN[0]) == 1


def test_repair_leaves_out_what_the_test_file_has_and_refuses_a_reversed_file(tmp_path: Path) -> None:
    for name, pairs in {"a.fr-en.tsv": CLEAN, "b.tsv": CLEAN[:300], "test.tsv": CLEAN[:3]}.items():
        (tmp_path / name).write_text("".join(f"{s}\t{t}\n" for s, t in pairs), "utf-8")
    spec, test = (CorpusSpec.parse(f"{tmp_path}/{name}.tsv") for name in ("b", "test"))
    assert write_repaired(spec, DataConfig(), examine(spec, DataConfig(), test=test), tmp_path / "c.tsv") == 297
    turned = CorpusSpec.parse(f"{tmp_path}/a.fr-en.tsv")
    with pytest.raises(DataError, match=r"not written. the source looks like en.*--columns 2,1"):
        write_repaired(turned, DataConfig(), examine(turned, DataConfig()), tmp_path / "d.tsv")
    (tmp_path / "copies.tsv").write_text("same\tsame\n" * 3, "utf-8")
    copies = CorpusSpec.parse(f"{tmp_path}/copies.tsv")
    with pytest.raises(DataError, match=r"Every pair of .* has a finding"):
        write_repaired(copies, DataConfig(), examine(copies, DataConfig()), tmp_path / "d.tsv")
    assert not (tmp_path / "d.tsv").exists()


@pytest.mark.parametrize("share", [2, 3, 4])
def test_swapped_columns_are_found_where_many_lines_are_swapped(share: int, examined) -> None:
    pairs = [pair[::-1] if line % share == 0 else pair for line, pair in enumerate(CLEAN, 1)]
    found = examined(pairs).finding("swapped columns")
    assert (
        found is not None and found.count > 0.95 * len(pairs) // share and set(found.lines) <= set(range(0, 768, share))
    )
    assert "both directions are mixed" in found.detail


def test_a_first_line_like_no_other_turns_nothing(examined) -> None:
    assert examined([("[a]", "[b]"), *CLEAN]).finding("swapped columns") is None


def test_questions_and_answers_in_one_language_are_not_swapped(examined) -> None:
    """Half of the pairs are turned around, but nothing tells the two sides apart."""
    english = [source for source, _ in CLEAN]
    pairs = list(zip(english[::2], english[1::2], strict=True))
    assert examined(pairs).finding("swapped columns") is None
