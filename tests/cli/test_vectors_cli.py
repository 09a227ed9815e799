"""`seqloom vectors`: trained, asked, measured, drawn; what is refused; nothing but training imports torch."""

import gzip
import io
import json
import random
import sys

import numpy as np
import pytest

from seqloom.cli.app import build_app, hyphen_as_file, main
from seqloom.vectors.files import load_vectors, save_vectors
from seqloom.vectors.word_vectors import WordVectors

PARTS = ("train", "nearest", "analogy", "similarity", "plot")
SPY = """
import sys
from seqloom.cli.app import main
for line in sys.argv[1:]:
    code = main(line.split())
    heavy = {"torch", "sacrebleu", "gensim", "matplotlib"} & sys.modules.keys()
    if heavy or code:
        sys.exit(f"{line}: imported {sorted(heavy)}, exit code {code}")
"""
WORDS = ["man", "woman", "king", "queen", "table", "chair", "lamp"]
MATRIX = [[1, 0, 0], [-1, 0, 0.1], [1, 1, 0], [-1, 1, 0.1], [0, 0, 1], [0, 0.1, 1], [0.3, 0, 1]]


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """The exit code, the lines on standard output, and standard error, in a folder with vectors.bin."""
    monkeypatch.chdir(tmp_path)
    save_vectors(WordVectors(WORDS, np.array(MATRIX, np.float32)), tmp_path / "v.bin")

    def run(*words, stdin=""):
        raw = io.BufferedReader(io.BytesIO(stdin.encode()))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw, encoding="utf-8"))
        code = main(["vectors", *map(str, words)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out.splitlines(), err

    return run


@pytest.fixture
def text() -> str:
    draw = random.Random(1)
    lines = [f"The {draw.choice(['cat', 'dog'])} {draw.choice(['eats', 'sleeps'])}, now!" for _ in range(200)]
    return "\n".join(lines) + "\n"


SMALL = ("--size", 6, "--epochs", 2, "--threads", 1)


def test_training_writes_a_file_that_can_be_asked(call, text, tmp_path):
    (tmp_path / "t.txt.gz").write_bytes(gzip.compress(text.encode()))
    code, out, err = call("train", "t.txt.gz", "--out", "new/w.vec", *SMALL)
    assert (code, out) == (0, [])
    assert "200 texts, 800 words; 0 of them not used (words that occur fewer than 5 times)" in err
    assert "6 vectors of size 6 by skipgram" in err
    assert "words/s: new/w.vec" in err
    found = load_vectors(tmp_path / "new/w.vec")
    assert found.words[:2] == ["now", "the"]
    code, out, _ = call("nearest", "new/w.vec", "Cat", "--k", 2)
    assert code == 0
    assert len(out) == 2


@pytest.mark.parametrize("method", ["cbow", "glove"])
def test_training_into_a_folder_tells_how_they_were_made(call, text, method, tmp_path):
    assert call("train", "-", "--out", "runs/w", "--method", method, *SMALL, stdin=text)[0] == 0
    facts = json.loads((tmp_path / "runs/w/vectors.json").read_text())
    assert facts["method"] == method
    assert facts["window"] == {"cbow": 5, "glove": 10}[method]
    assert facts["used_words"] == 800
    assert facts["loss"] > 0
    assert (tmp_path / "runs/w/vectors.vocab").read_text().splitlines()[0] == "now 200"
    assert call("nearest", "runs/w", "cat")[0] == 0


def test_one_column_of_a_table_case_and_signs(call, text, tmp_path):
    rows = "".join(f"x{line}\t{text}\n" for line, text in enumerate(text.splitlines()))
    (tmp_path / "p.tsv").write_text("id\ttext\n" + rows + "a broken row\n")
    words = ("train", "p.tsv", "--keep-case", "--spaces", *SMALL)
    code, _, err = call(*words, "--column", "text", "--out", "a.bin")
    assert code == 0
    assert "left out, missing column: 1 (line 202)" in err
    assert set(load_vectors(tmp_path / "a.bin").words) == {"The", "now!", "cat", "dog", "eats,", "sleeps,"}
    assert call(*words, "--column", 2, "--out", "b.bin", "--min-count", 1)[0] == 0
    assert "text" in load_vectors(tmp_path / "b.bin").words  # a number asks for no header
    code, _, err = call(*words, "--column", "txet", "--out", "c.bin")
    assert (code, "Did you mean 'text'" in err) == (2, True)
    assert call(*words, "--column", "1,2", "--out", "c.bin")[0] == 2


@pytest.mark.parametrize("name", ["p.tsv", "p.csv.gz", "p.jsonl", "p.JSON"])
def test_a_table_without_a_column_is_refused(call, name, tmp_path):
    (tmp_path / name).write_text("a\tb\n")
    code, _, err = call("train", name, "--out", "w.bin", *SMALL)
    assert (code, f"{name}: this is a table; choose the column with the text: --column" in err) == (2, True)
    assert not (tmp_path / "w.bin").exists()


def test_a_line_that_is_no_text_is_left_out_and_told(call, text, tmp_path):
    (tmp_path / "t.txt").write_bytes(text.encode() + b"\xff\n")
    code, _, err = call("train", "t.txt", "--out", "w.bin", *SMALL)
    assert code == 0
    assert "kept 200 of 201 lines" in err
    assert "left out, invalid UTF-8: 1 (line 201)" in err


def test_why_there_is_no_text_is_told_with_lines(call, text, tmp_path):
    (tmp_path / "latin.txt").write_bytes("müde Wörter\n".encode("latin-1") * 3)
    code, _, err = call("train", "latin.txt", "--out", "w.bin", *SMALL)
    assert (code, "latin.txt: has no words" in err) == (3, True)
    assert "left out, invalid UTF-8: 3 (lines 1, 2, 3); the first: byte 0xfc at offset 1" in err and "iconv" in err
    (tmp_path / "pairs.tsv").write_text("".join(f"{line}\t{line}\n" for line in text.splitlines()))
    code, _, err = call("train", "pairs.tsv", "--column", 3, "--out", "w.bin", *SMALL)
    assert (code, "pairs.tsv: has no words" in err, "kept 0 of 200 lines" in err) == (3, True, True)
    assert "2 columns, want column 3" in err and "check --column 3 and the separator" in err
    assert not (tmp_path / "w.bin").exists()


def test_nothing_is_written_over(call, text, tmp_path):
    (tmp_path / "t.txt").write_text(text)
    for out in ("t.txt", "v.bin"):
        code, _, err = call("train", "t.txt", "--out", out, *SMALL)
        assert (code, "already exists" in err) == (2, True)
    assert (tmp_path / "t.txt").read_text() == text


@pytest.mark.parametrize("there", ["a.html", "a.png"])
def test_no_picture_is_written_over(call, there, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'seqloom[plots]'")
    (tmp_path / there).write_text("mine")
    for out in (there, "a"):
        code, _, err = call("plot", "v.bin", "--out", out)
        assert (code, f"--out {out}: {there} already exists. Choose another name, or remove it." in err) == (2, True)
    assert (tmp_path / there).read_text() == "mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["v.bin", there])


def test_nearest_in_rows_and_as_json(call):
    code, out, _ = call("nearest", "v.bin", "king", "--k", 2)
    assert (code, out) == (0, ["man\t0.7071", "lamp\t0.2032"])
    code, out, _ = call("nearest", "v.bin", "king", "TABLE", "--k", 1)
    assert (code, out) == (0, ["king\tman\t0.7071", "TABLE\tchair\t0.9950"])
    code, out, _ = call("nearest", "v.bin", "king", "--k", 1, "--json")
    assert json.loads(out[0])["king"][0][0] == "man"


def test_analogies_of_words_and_of_a_file(call, tmp_path):
    code, (best, _), _ = call("analogy", "v.bin", "man", "king", "woman", "--k", 2)
    assert (code, best.split("\t")[0], float(best.split("\t")[1]) > 0.9) == (0, "queen", True)
    questions = ": family\nman king woman queen\nMan Woman King lamp\n: gram1\nman king boy lad\nking man queen woman\n"
    (tmp_path / "q.txt").write_text(questions)
    code, out, _ = call("analogy", "v.bin", "q.txt")
    assert code == 0
    rows = {line.split("  ")[0]: line.split() for line in out}
    assert rows["family"][1:4] == ["1", "2", "50.0"]
    assert rows["gram1"][1:4] == ["1", "1", "100.0"]
    assert rows["gram1"][-1] == "1"
    assert rows["total"][1:4] == ["2", "3", "66.7"]
    assert [row for row in rows if row in ("meanings", "forms")] == ["meanings", "forms"]
    assert out[-1] == "left out: questions with a word that is not among the 7 words"
    told = json.loads(call("analogy", "v.bin", "q.txt", "--json")[1][0])
    assert (told["total"]["right"], told["total"]["left_out"], told["forms"]["asked"]) == (2, 1, 1)


def test_similarity_of_words_and_with_people(call, tmp_path):
    assert call("similarity", "v.bin", "man", "king")[1] == ["0.7071"]
    (tmp_path / "a.txt").write_text("man king 7\ntable chair 9\nman woman 2\nman zebra 1\n")
    (tmp_path / "b.txt").write_text("man king 2\ntable chair 1\nman woman 5\n")
    code, out, _ = call("similarity", "v.bin", "a.txt", "b.txt")
    assert code == 0
    assert out[1].split()[:2] == ["a.txt", "1.000"]
    assert out[1].split()[-3:] == ["3", "4", "1"]
    assert out[2].split()[:2] == ["b.txt", "-1.000"]
    told = json.loads(call("similarity", "v.bin", "a.txt", "--json")[1][0])
    few = {"low": None, "high": None, "no_interval": "3 pairs are too few for an interval; want 10 or more"}
    assert told["files"][0] == {"pairs": "a.txt", "spearman": 1.0, **few, "used": 3, "total": 4}


def test_pictures(call, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'seqloom[plots]'")
    code, out, _ = call("plot", "v.bin", "--out", "pictures/a", "--clusters", 2)
    assert (code, out) == (0, ["pictures/a.png", "pictures/a.html"])
    assert (tmp_path / "pictures/a.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "pictures/a.html").read_text()
    assert page.count("<circle") == 7
    assert call("plot", "v.bin", "king", "--near", 3, "--out", "b.html")[1] == ["b.html"]
    assert (tmp_path / "b.html").read_text().count("<circle") == 4
    assert "king: near man" in (tmp_path / "b.html").read_text()


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("neerest v.bin king", 2, 'Did you mean "nearest"'),
        ("nearest v.bin", 2, "no word"),
        ("nearest v.bim king", 2, "v.bim: no such file. Did you mean 'v.bin'"),
        ("nearest v.bin quene", 2, "'quene' is not among the 7 words. Did you mean 'queen'"),
        ("nearest v.bin king --k 0", 2, "--k 0"),
        ("nearest broken.bin king", 3, "broken.bin, word 2 of 2: the file ends here"),
        ("analogy v.bin man king", 2, "want three words, or one file"),
        ("analogy v.bin man king boy", 2, "'boy' is not among"),
        ("analogy v.bin nowhere.txt", 2, "nowhere.txt: no such file"),
        ("analogy v.bin unknown.txt", 3, "none of its 1 questions can be asked"),
        ("similarity v.bin", 2, "want two words"),
        ("similarity v.bin king", 2, "king: no such file"),
        ("similarity v.bin unknown.txt", 3, "unknown.txt: 0 of its 1 pairs"),
        ("train --out w.bin", 2, "no text"),
        ("train nowhere.txt --out w.bin", 2, "nowhere.txt: no such file"),
        ("train empty.txt --out w.bin", 3, "empty.txt: has no words"),
        ("train unknown.txt --out w.bin", 3, "fewer than two words occur 5 times"),
        ("train unknown.txt --out w.bin --method glov", 2, "Did you mean 'glove'"),
        ("train unknown.txt --out w.bin --size 0", 2, "--size 0: want a whole number from 1"),
        ("plot v.bin king queen --out a.html", 2, "a picture needs at least 3 words, got 2"),
        ("plot v.bin --out z.pdf", 2, "--out z.pdf: want .png, .html, or no ending for both"),
        ("plot v.bin --out a.html --clusters 0", 2, "--clusters 0: want 1 or more"),
    ],
)
def test_what_cannot_be_is_one_sentence(line, code, said, call, tmp_path):
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "unknown.txt").write_text("a b 5 c\n")
    (tmp_path / "broken.bin").write_bytes(b"2 1\naaaaaaaaa \0\0\0\0b \0")
    found, out, err = call(*line.split())
    assert (found, out) == (code, [])
    assert said in err
    assert err.startswith("seqloom: ")
    assert not (tmp_path / "w.bin").exists()


def test_without_matplotlib_a_png_is_refused_before_any_work(call, monkeypatch):
    monkeypatch.setattr("seqloom.vectors.plot.can_draw", lambda: False)
    code, _, err = call("plot", "v.bin", "--out", "a.png")
    assert (code, "seqloom[plots]" in err) == (2, True)
    assert call("plot", "v.bin", "--out", "a.html")[0] == 0


@pytest.mark.parametrize("part", PARTS)
def test_every_part_has_help_whose_examples_are_commands(part, capsys):
    app = build_app(in_full=["vectors"])
    command = app["vectors"][part]
    assert all(argument.parameter.help for argument in command.assemble_argument_collection(parse_docstring=True))
    lines = [line.split() for line in command.help_epilogue.splitlines() if line.strip().startswith("seqloom")]
    for words in lines:
        app.parse_args(hyphen_as_file(words[1:], app), exit_on_error=False, print_error=False)
    assert len(lines) >= 2


def test_a_lone_hyphen_is_the_text(call):
    app = build_app(in_full=["vectors"])
    words = ["vectors", "train", "-", "--out", "w.bin"]
    assert hyphen_as_file(words, app) == ["vectors", "train", "--out", "w.bin", "--", "-"]


def test_only_training_needs_torch(python, call, tmp_path):
    lines = ("vectors", "vectors train --help", "vectors nearest v.bin king", "vectors plot v.bin --out a.html")
    done = python("-c", SPY, *lines, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
