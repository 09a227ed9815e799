"""`seqloom translate` as a script uses it: one line in, one line out, whatever the lines hold."""

import gzip
import io
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from seqloom.cli.app import main
from seqloom.rerank.minimum_bayes_risk import rank_by_risk
from seqloom.runtime.folder import open_run
from seqloom.runtime.parts import Translation
from seqloom.runtime.run_facts import write_facts
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
    assert (lines[1], lines[2]) == ("", "  "), "a blank line stays as it is"
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
        assert f"{name}, line 9: a word of 300 tokens, the model takes 250: the last 50 were cut off." in err


def test_a_line_end_in_the_output_does_not_split_the_line(translate, monkeypatch):
    found = [[Translation("a\nb\r\nc\u2028d", -1.0, -1.0)]]
    monkeypatch.setattr(Translator, "answer", lambda self, *texts, **options: found)
    assert translate(stdin="x\n")[1] == ["a b c d"]


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
        (("--beam", 0), "beam = 0: want 1 to 1000"),
        (("--n-best", 0), "n_best = 0: want 1 to 1000"),
        (("--n-best", 1001), "n_best = 1001: want 1 to 1000"),
        (("--beam", 2, "--n-best", 3), "beam = 2, n_best = 3: want 1 <= n_best <= beam"),
        (("--beam", 1000), "beam = 1000: the model's vocabulary has"),
        (("--min-length", 60), "min_length = 60: the output for a source of 4 tokens is cut at 58"),
        (("--sample", 2, "--n-best", 2), "--n-best and --sample: these exclude each other"),
        (("--temperature", 0.5), "--temperature: only with --sample N"),
        (("--sample", 2, "--temperature", 0), "temperature = 0"),
        (("--mbr", 5, "--beam", 3), "--mbr 5 --beam 3"),
        (("--prefix", ""), "--prefix: empty"),
        (("--prefix", "a" * 70), "the prefix has 70 tokens, but an output for this source is cut at 58"),
        (("--prefix", "a", "--prefix-file", "b"), "--prefix and --prefix-file: give one of them"),
        (("--prefix-file", "nowhere.txt"), "nowhere.txt: no such file"),
        (("--prefix-file=-",), "--prefix-file -: standard input is the text to translate"),
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


def test_search_options_are_used(translate, translator):
    options = {"length_penalty": 0.3, "coverage_penalty": 0.4, "min_length": 8, "no_repeat_ngram": 2}
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    best = translator.hypotheses(["abcdef"], **options)[0][0]
    assert translate(*words, "--scores", stdin="abcdef\n")[1] == [f"{best.score:.4f}\t{best.text}"]
    assert best.text != translator.translate("abcdef")


def test_a_tab_in_an_output_makes_no_column():
    written = SimpleNamespace(text="a\tb\nc", score=-1.0)
    assert workflow.format_line(3, written, 1, scores=False) == "a\tb c\n"
    assert workflow.format_line(3, written, 1, scores=True) == "-1.0000\ta b c\n"
    assert workflow.format_line(3, written, 2, scores=False) == "3\ta b c\n"


def test_a_prefix_of_every_output(translate, translator):
    lines = translate("--prefix", "hh", stdin="abc\n\nhead\n")[1]
    assert lines == [t[0].text for t in translator.hypotheses(["abc", "", "head"], prefixes="hh")]
    assert lines[0].startswith("hh") and lines[1] == "" and lines[2].startswith("hh")


def test_a_prefix_of_each_output(translate, translator, tmp_path, monkeypatch):
    monkeypatch.setattr(workflow, "CHUNK_LINES", 2)
    file = tmp_path / "prefixes.txt"
    file.write_text("hh\n\nff\n", "utf-8")
    (tmp_path / "in.txt").write_text("abc\nhead\nbed\n", "utf-8")
    want = [t[0].text for t in translator.hypotheses(["abc", "head", "bed"], prefixes=["hh", "", "ff"])]
    assert translate(tmp_path / "in.txt", "--prefix-file", file) == (0, want, "")
    code, lines, err = translate("--prefix-file", file, stdin="abc\nhead\nbed\nbed\n")
    assert code == 3 and "prefixes.txt: 3 lines, but the input has more" in err
    code, lines, err = translate("--prefix-file", file, stdin="abc\nhead\n")
    assert (code, lines) == (3, want[:2])
    assert "prefixes.txt: more lines than the 2 of the input" in err
    file.write_text("hh\n\n" + "f" * 80 + "\n", "utf-8")
    code, lines, err = translate(tmp_path / "in.txt", "--prefix-file", file)
    assert (code, lines) == (3, want[:2])
    assert "prefixes.txt, line 3: the prefix has 80 tokens" in err
    file.write_text("hh\n\n", "utf-8")
    code, lines, err = translate(tmp_path / "in.txt", "--prefix-file", file)
    assert (code, lines) == (3, []), "two files are counted before the first line is translated"
    assert f"prefixes.txt: 2 lines, but {tmp_path / 'in.txt'} has 3: want one prefix per line" in err
    file.write_bytes(b"hh\ncaf\xe9\n\n")
    code, _, err = translate(tmp_path / "in.txt", "--prefix-file", file)
    assert code == 3 and "prefixes.txt, line 2: invalid UTF-8" in err


def test_alternatives(translate, translator):
    lines = translate("--alternatives", 3, "--prefix", "h", "--beam", 2, "--scores", stdin="abc\nhead\n")[1]
    found = translator.alternatives(["abc", "head"], 3, beam=2, prefixes="h")
    rows = [line.split("\t") for line in lines]
    assert [row[0] for row in rows] == ["1"] * 3 + ["2"] * 3
    assert [row[2] for row in rows] == [t.text for ranked in found for t in ranked]
    assert [float(row[1]) for row in rows] == pytest.approx([t.score for r in found for t in r], abs=1e-4)


def test_samples_are_the_same_for_a_seed_however_the_lines_come(translate, translator, monkeypatch):
    words = ("--sample", 2, "--temperature", 0.9, "--top-k", 40, "--top-p", 0.95, "--seed", 9)
    texts = ["abc", "head", "bed", "abc"]
    found = translator.sample(texts, 2, temperature=0.9, top_k=40, top_p=0.95, seed=9)
    want = [f"{line}\t{' '.join(t.text.splitlines())}" for line, ranked in enumerate(found, 1) for t in ranked]
    assert translate(*words, stdin="\n".join(texts))[1] == want
    monkeypatch.setattr(workflow, "CHUNK_LINES", 1)
    assert translate(*words, stdin="\n".join(texts))[1] == want
    assert translate("--sample", 2, "--seed", 8, stdin="\n".join(texts))[1] != want


def test_minimum_bayes_risk(translate, translator):
    found = [t.text for t in translator.hypotheses(["abcdef"], n_best=8)[0]]
    best = found[rank_by_risk(found)[0]]
    assert translate("--mbr", 8, stdin="abcdef\n")[1] == [best]
    two = translate("--mbr", 8, "--n-best", 2, stdin="abcdef\n")[1]
    assert two[0] == f"1\t{best}" and two[1].removeprefix("1\t") in found
    drawn = [t.text for t in translator.sample(["abcdef"], 6, seed=3)[0]]
    chosen = translate("--mbr", 6, "--sample", 1, "--seed", 3, stdin="abcdef\n")[1]
    assert chosen == [" ".join(drawn[rank_by_risk(drawn)[0]].splitlines())]


def test_an_ensemble(translate, tiny_model, translator, tmp_path):
    import torch

    from seqloom.models.weights import save_weights

    other = shutil.copytree(tiny_model, tmp_path / "other")
    changed = Translator.load(other)
    with torch.no_grad():
        changed.model.output.bias.add_(torch.linspace(0, 5, len(changed.tokenizers.target)))
    save_weights(changed.model, other / "model.safetensors")
    write_facts(other, replace(open_run(other).facts, weights_sha256=None))  # not those of its training
    best = Translator.load_ensemble([tiny_model, other, other]).hypotheses(["abcdef"])[0][0]
    words = ("--with", other, "--with", other, "--scores")
    assert translate(*words, stdin="abcdef\n")[1] == [f"{best.score:.4f}\t{best.text}"]
    assert best.score != translator.hypotheses(["abcdef"])[0][0].score
    code, _, err = translate("--with", tmp_path / "none", stdin="abc\n")
    assert code == 4 and "no such folder" in err


def test_a_run_knows_how_long_its_texts_were(tiny_model):
    assert json.loads((tiny_model / "run.json").read_text("utf-8"))["usual_tokens"] == 6  # words of two to six letters
