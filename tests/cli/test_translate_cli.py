"""`seqloom translate` as a script uses it: one line in, one line out, whatever the lines hold."""

import gzip
import io
import subprocess
import sys

import pytest

from seqloom.cli.app import main
from seqloom.runtime.translator import Translator
from seqloom.workflows import translate as workflow


@pytest.fixture
def translate(tiny_model, monkeypatch, capsys):
    """Run the command in this process: bytes or text on standard input; (code, output lines, errors)."""

    def run(*words, stdin=b""):
        content = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        code = main(["translate", str(tiny_model), *map(str, words)])
        out, err = capsys.readouterr()
        assert out == "" or out.endswith("\n")
        return code, out.split("\n")[:-1], err

    return run


@pytest.fixture(scope="module")
def translator(tiny_model):
    return Translator.load(tiny_model)


TEXTS = ["abc", "", "  ", "head", "a\u2028b", "\x00", "x" * 40]


def test_one_line_in_one_line_out(translate, translator):
    code, lines, err = translate(stdin="\n".join(TEXTS) + "\n")
    assert code == 0
    assert lines == [" ".join(text.splitlines()) for text in translator.translate(TEXTS)]
    assert lines[1] == lines[2] == ""
    assert err == ""


@pytest.mark.parametrize(
    "content", [b"abc\nhead", b"abc\r\nhead\r\n", b"\xef\xbb\xbfabc\nhead\n"], ids=["no end", "CRLF", "BOM"]
)
def test_ends_of_lines(content, translate, translator, tmp_path):
    expected = translator.translate(["abc", "head"])
    assert translate(stdin=content)[1] == expected
    (tmp_path / "in.txt").write_bytes(content)
    assert translate(tmp_path / "in.txt")[1] == expected


def test_nothing_in_nothing_out(translate, tmp_path):
    (tmp_path / "empty.txt").touch()
    assert translate(stdin="") == (0, [], "")
    assert translate(tmp_path / "empty.txt") == (0, [], "")
    assert translate(stdin="\n")[1] == [""]


def test_gzip_and_dash(translate, translator, tmp_path):
    (tmp_path / "in.txt.gz").write_bytes(gzip.compress(b"abc\nhead\n"))
    assert translate(tmp_path / "in.txt.gz")[1] == translator.translate(["abc", "head"])
    assert translate("-", stdin="abc\n")[1] == translator.translate(["abc"])


def test_scores_and_n_best(translate, translator):
    found = translator.hypotheses(["abc", "", "head"], n_best=3)
    _, lines, _ = translate("--n-best", 3, "--scores", stdin="abc\n\nhead\n")
    rows = [line.split("\t") for line in lines]
    assert [row[0] for row in rows] == ["1"] * 3 + ["2"] * 3 + ["3"] * 3
    assert [row[2] for row in rows] == [t.text for ranked in found for t in ranked]
    assert [float(row[1]) for row in rows] == pytest.approx([t.score for ranked in found for t in ranked], abs=1e-4)
    assert translate("--n-best", 3, stdin="abc\n")[1] == [f"1\t{t.text}" for t in found[0]]
    best = translator.hypotheses(["abc"])[0][0]
    assert translate("--scores", stdin="abc\n")[1] == [f"{best.score:.4f}\t{best.text}"]


def test_beam_is_used(translate, translator):
    best = translator.hypotheses(["abcdef"], beam=1)[0][0]
    assert translate("--beam", 1, "--scores", stdin="abcdef\n")[1] == [f"{best.score:.4f}\t{best.text}"]


def test_chunks_keep_order_and_line_numbers(translate, translator, monkeypatch, tmp_path):
    monkeypatch.setattr(workflow, "CHUNK_LINES", 3)
    texts = [letter * n for n, letter in enumerate("abcdefgh", 1)] + ["x" * 300]
    (tmp_path / "in.txt").write_text("\n".join(texts) + "\n", "utf-8")
    expected = translator.translate([*texts[:-1], "x" * 250], beam=1)
    for words, stdin, name in ([], "\n".join(texts), "standard input"), ([tmp_path / "in.txt"], "", "in.txt"):
        code, lines, err = translate(*words, "--beam", 1, stdin=stdin)
        assert (code, lines) == (0, expected)
        assert f"{name}, line 9: a sentence of 300 tokens, the model takes 250: the last 50 were cut off." in err


def test_a_line_end_in_the_output_does_not_split_the_line(translate, monkeypatch):
    monkeypatch.setattr(Translator, "join", lambda self, parts: [workflow_translation("a\nb\r\nc\u2028d")])
    assert translate(stdin="x\n")[1] == ["a b c d"]


def workflow_translation(text):
    from seqloom.runtime.translator import Translation

    return Translation(text, -1.0, -1.0)


def test_invalid_utf8_is_named_after_the_good_lines(translate, translator, tmp_path):
    expected = translator.translate(["abc"])
    code, lines, err = translate(stdin=b"abc\ncaf\xe9\nhead\n")
    assert (code, lines) == (3, expected)
    assert err.startswith("seqloom: standard input, line 2: invalid UTF-8: byte 0xe9 at offset 3")
    (tmp_path / "in.txt").write_bytes(b"abc\ncaf\xe9\nhead\n")
    code, lines, err = translate(tmp_path / "in.txt")
    assert (code, lines) == (3, expected)
    assert "in.txt, line 2: invalid UTF-8" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--beam", 0), "--beam 0: want at least 1"),
        (("--n-best", 0), "--n-best 0: want 1"),
        (("--beam", 2, "--n-best", 3), "--n-best 3: want 1 to 2"),
        (("--threads", 0), "threads = 0"),
        (("nowhere.txt",), "nowhere.txt: no such file"),
    ],
)
def test_a_wrong_option(words, said, translate):
    code, lines, err = translate(*words, stdin="abc\n")
    assert (code, lines) == (2, [])
    assert said in err


def test_a_closed_standard_input(tiny_model, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["translate", str(tiny_model)]) == 2
    assert "standard input is closed" in capsys.readouterr().err


def test_a_program_that_waits_gets_its_answer(tiny_model, environment, translator):
    """Line by line over a pipe that stays open, as in a terminal."""
    expected = translator.translate(["abc", "head"])
    words = [sys.executable, "-m", "seqloom", "translate", str(tiny_model)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as child:
        for text, answer in zip(["abc", "head"], expected, strict=True):
            child.stdin.write(f"{text}\n".encode())
            child.stdin.flush()
            assert child.stdout.readline().decode() == f"{answer}\n"
        rest, _ = child.communicate(b"abc", timeout=60)
        assert rest.decode() == f"{expected[0]}\n"
    assert child.returncode == 0


def test_a_line_arrives_in_pieces():
    class Pieces(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(2)

    found = [text for chunk in workflow.ready_chunks(Pieces("aé\n\nbcd\ne".encode())) for text in chunk]
    assert found == ["aé", "", "bcd", "e"]
