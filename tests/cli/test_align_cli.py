"""`seqloom align`: Pharaoh rows, gold, and what is refused."""

import json

import pytest

from seqloom.cli.app import main
from seqloom.metrics.alignment_error import measure_alignments, parse_gold
from seqloom.runtime.translator import Translator
from seqloom.runtime.word_alignment import align_words
from seqloom.workflows import given_pairs

SOURCES = ["the cat", "a dog ran .", "on the mat"]
TARGETS = ["le chat", "un chien .", "là"]
PAIRS = "".join(f"{source}\t{target}\n" for source, target in zip(SOURCES, TARGETS, strict=True))
GOLD = "1-1 2-2\n1-1 2p2 4-3\n\n"


@pytest.fixture
def align(random_model, capsys):
    def run(*words, kind="rnn"):
        code = main(["align", str(random_model(f"model.kind={kind}", "model.layers=3")), *map(str, words)])
        out, err = capsys.readouterr()
        return code, out.split("\n")[:-1], err

    return run


@pytest.fixture
def file(tmp_path):
    def write(text, name="pairs.tsv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return write


@pytest.fixture
def expected(random_model):
    return align_words(Translator.load(random_model("model.kind=rnn", "model.layers=3")), SOURCES, TARGETS)


def pharaoh(links):
    return " ".join(f"{i}-{j}" for i, j in links)


def test_one_row_a_pair_in_order(align, file, expected, monkeypatch):
    monkeypatch.setattr(given_pairs, "CHUNK_PAIRS", 2)
    assert align(file(PAIRS)) == (0, [pharaoh(links) for links in expected], "")
    assert any(expected)


def test_a_line_that_is_no_pair_has_an_empty_row(align, file, expected):
    long = "x" * 31
    text = PAIRS.replace("a dog", f"broken\n{long}\tx\na dog")
    code, rows, err = align(file(text))
    assert code == 0
    assert rows == [pharaoh(expected[0]), "", "", pharaoh(expected[1]), pharaoh(expected[2])]
    assert "kept 3 of 5 pairs" in err
    assert "missing column: 1 (line 2)" in err
    assert "longer than the model can read: 1 (line 3): a " in err


def test_forms_of_pairs(align, file):
    rows = align(file(PAIRS))[1]
    assert align(f"{file(chr(10).join(SOURCES), 'x.en')},{file(chr(10).join(TARGETS), 'x.fr')}")[1] == rows
    assert align(file(PAIRS.replace("\t", "  ||| "), "x.src-tgt"))[1] == rows
    assert align(file("\n" + PAIRS.replace("\t", " ||| "), "x.src-tgt"))[1] == ["", *rows]
    _, found, err = align(file("source\ttarget\n" + PAIRS))
    assert found == rows
    assert err == "line 1 names the columns: it is not a pair and has no row\n"
    code, barred, err = align(file("the cat ||| le chat\nno bar\na ||| b ||| c\n", "y.src-tgt"))
    assert (code, barred) == (0, [rows[0], "", ""])
    assert "kept 1 of 3 pairs" in err


def test_bars_in_a_table_are_text(align, file):
    """What the name says a file is comes before what its first line looks like."""
    json_lines = '{"source": "a ||| b", "target": "c"}\n{"source": "the cat", "target": "le chat"}\n'
    for text, name in ((json_lines, "x.jsonl"), ("a ||| b,c\nthe cat,le chat\n", "x.csv")):
        code, rows, err = align(file(text, name))
        assert (code, len(rows), rows[1]) == (0, 2, align(file(PAIRS))[1][0]), err
        assert "left out" not in err


def test_a_transformer(align, file, random_model):
    translator = Translator.load(random_model("model.kind=transformer", "model.layers=3"))
    found = align_words(translator, SOURCES, TARGETS)
    assert align(file(PAIRS), kind="transformer")[1] == [pharaoh(links) for links in found]


def test_gold(align, file, expected):
    code, rows, err = align(file(PAIRS), "--gold", file(GOLD, "gold"))
    assert code == 0
    assert rows == [pharaoh(links) for links in expected]
    measured = measure_alignments(expected, parse_gold(GOLD.splitlines(), "gold"))
    for name, line in zip(("aer", "precision", "recall"), err.splitlines()[1:], strict=True):
        assert f" {measured[name].score:.2f} " in line
        assert " .. " in line
    assert "alignment error rate (-)" in err


def test_json(align, file, expected):
    code, rows, err = align(file(PAIRS + "broken\n"), "--gold", file(GOLD + "\n", "gold"), "--json")
    assert (code, err, len(rows)) == (0, "", 1)
    found = json.loads(rows[0])
    assert found["alignments"] == [[[*link] for link in links] for links in expected] + [[]]
    assert (found["aligned"], found["total"], found["excluded"]) == (3, 4, {"missing column": 1})
    measured = measure_alignments([*expected, []], parse_gold((GOLD + "\n").splitlines(), "gold"))
    for name in ("aer", "precision", "recall"):
        assert found[name]["score"] == pytest.approx(measured[name].score)
        assert found[name]["low"] <= found[name]["score"] <= found[name]["high"]
    assert "aer" not in json.loads(align(file(PAIRS), "--json")[1][0])


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("1-1\n1-1\n1:1\n", "gold, line 3: '1:1' is not a link"),
        ("1-1\n0-0\n\n", "gold, line 2: '0-0': words of a gold alignment are counted from 1"),
        ("1-1\n1-1\n", "gold has 2 lines, "),
        ("1-1\n1-4\n\n", "gold, line 2: a link to target word 4, but the target of this pair has 3 words"),
        (b"1-1\n\xff\n\n", "gold, line 2: invalid UTF-8"),
    ],
)
def test_broken_gold_is_named_before_anything_is_aligned(gold, said, align, file):
    code, rows, err = align(file(PAIRS), "--gold", file(gold, "gold"))
    assert (code, rows) == (3, [])
    assert said in err


def test_two_files_that_do_not_fit_are_refused_before_anything_is_printed(align, file, monkeypatch):
    monkeypatch.setattr(given_pairs, "CHUNK_PAIRS", 1)
    code, rows, err = align(f"{file('a', 'x.en')},{file('a' + chr(10) + 'b', 'x.fr')}")
    assert (code, rows) == (3, [])
    assert "the two files differ in length from line 2 on" in err
    code, rows, err = align(f"{file('a', 'x.en')},-")
    assert (code, rows) == (2, [])
    assert "standard input can be read only once" in err


def test_wrong_calls(align, file, random_model, capsys, tmp_path):
    code, rows, err = align(file("one\ntwo\n"))
    assert code == 3
    assert "no pair could be aligned" in err
    code, rows, err = align(file(PAIRS), "--gold", tmp_path / "none")
    assert (code, rows) == (2, [])
    assert "none: no such file" in err
    fixed = random_model("model.kind=rnn", "model.attention=none")
    assert main(["align", str(fixed), str(file(PAIRS))]) == 2
    assert "this model has no attention" in capsys.readouterr().err
