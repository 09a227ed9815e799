"""`seqloom score`: one row per pair, whatever the file holds; left-out pairs are reported."""

import gzip
import io
import json
import math
import sys

import pytest

from seqloom.cli.app import main
from seqloom.runtime.scoring import log_probs, score_pairs
from seqloom.runtime.translator import Translator
from seqloom.workflows import given_pairs

SOURCES = ["the cat", "a dog ran", "on the mat", "cat"]
TARGETS = ["le chat", "un chien", "là", "x y z"]
PAIRS = "".join(f"{source}\t{target}\n" for source, target in zip(SOURCES, TARGETS, strict=True))


@pytest.fixture
def score(random_model, capsys):
    def run(*words):
        code = main(["score", str(random_model("model.kind=rnn")), *map(str, words)])
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return run


@pytest.fixture(scope="module")
def translator(random_model):
    return Translator.load(random_model("model.kind=rnn"))


@pytest.fixture
def file(tmp_path):
    def write(text, name="pairs.tsv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return write


def test_one_row_a_pair_in_order(score, translator, file, monkeypatch):
    monkeypatch.setattr(given_pairs, "CHUNK_PAIRS", 3)
    code, rows, err = score(file(PAIRS))
    expected = score_pairs(translator, SOURCES, TARGETS)
    assert code == 0
    assert [[float(cell) for cell in row.split("\t")] for row in rows] == [
        pytest.approx([found.log_prob, found.mean], abs=1e-4) for found in expected
    ]
    total, tokens = sum(found.log_prob for found in expected), sum(len(found.ids) for found in expected)
    assert err == (
        f"4 pairs, log-probability {total:,.2f} over {tokens} tokens (</s> counted): "
        f"perplexity {math.exp(-total / tokens):,.3f} per token\n"
    )


def test_a_line_that_cannot_be_scored_keeps_its_place(score, translator, file, monkeypatch):
    monkeypatch.setattr(given_pairs, "CHUNK_PAIRS", 2)
    long = "x" * 31
    text = f"the cat\tle chat\n\nno tab\ncat\t \n{long}\tx\na\tb\tc\na dog ran\tun chien\n".encode() + b"caf\xe9\tx\n"
    code, rows, err = score(file(text))
    good = log_probs(translator, ["the cat", "a dog ran"], ["le chat", "un chien"])
    assert code == 0
    assert [float(row.split("\t")[0]) for row in rows] == pytest.approx(
        [good[0], *[math.nan] * 5, good[1], math.nan], abs=1e-4, nan_ok=True
    )
    assert {row for row in rows if "nan" in row} == {"nan\tnan"}
    assert "kept 2 of 8 pairs" in err
    for reason in (
        "missing column: 2 (lines 2, 3)",
        "empty side: 1 (line 4)",
        "longer than the model can read: 1 (line 5): a source of 31 tokens; the model can read 30",
        "extra column: 1 (line 6)",
        "invalid UTF-8: 1 (line 8)",
        "2 pairs, log-probability",
    ):
        assert reason in err


def test_a_header_is_no_pair(score, file):
    code, rows, err = score(file("source\ttarget\n" + PAIRS))
    assert (code, len(rows)) == (0, 4)
    assert "line 1 names the columns" in err
    assert rows == score(file(PAIRS))[1]


def test_other_forms_of_pairs(score, file, monkeypatch):
    expected = score(file(PAIRS))[1]
    source, target = file("\n".join(SOURCES), "x.en"), file("\n".join(TARGETS), "x.fr")
    assert score(f"{source},{target}")[1] == expected
    assert score(file(gzip.compress(PAIRS.encode()), "pairs.tsv.gz"))[1] == expected
    swapped = "".join(f"{target}\t{source}\n" for source, target in zip(SOURCES, TARGETS, strict=True))
    assert score(file(swapped), "--columns", "2,1")[1] == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(PAIRS.encode()))))
    assert score("-")[1] == expected


def test_per_token(score, translator, file):
    rows = score(file(PAIRS), "--per-token")[1]
    assert [row.rpartition("\t")[0] for row in rows] == score(file(PAIRS))[1]
    cells = [cell.rpartition(":") for cell in rows[0].split("\t")[2].split(" ")]
    assert [piece for piece, _, _ in cells] == ["l", "e", "▁", "c", "h", "a", "t", "</s>"]
    found = score_pairs(translator, SOURCES[:1], TARGETS[:1])[0]
    assert [float(number) for _, _, number in cells] == pytest.approx(found.token_log_probs, abs=1e-4)


def test_json(score, translator, file):
    code, rows, err = score(file(PAIRS + "broken\n"), "--json", "--per-token")
    assert (code, err, len(rows)) == (0, "", 1)
    found = json.loads(rows[0])
    assert (found["scored"], found["total"], found["excluded"]) == (4, 5, {"missing column": 1})
    assert found["perplexity"] == pytest.approx(math.exp(-found["log_prob"] / found["num_tokens"]))
    assert [pair["line"] for pair in found["pairs"]] == [1, 2, 3, 4, 5]
    assert found["pairs"][4]["log_prob"] is None
    pairs = found["pairs"][:4]
    assert [pair["log_prob"] for pair in pairs] == pytest.approx(log_probs(translator, SOURCES, TARGETS))
    assert pairs[0]["num_tokens"] == len(pairs[0]["tokens"]) == 8
    assert pairs[0]["tokens"][-1] == [
        "</s>",
        pytest.approx(pairs[0]["log_prob"] - sum(t[1] for t in pairs[0]["tokens"][:-1])),
    ]
    assert "tokens" not in json.loads(score(file(PAIRS), "--json")[1][0])["pairs"][0]


def test_with_another_model(score, random_model, file):
    other = random_model("model.kind=transformer")
    alone = [float(row.split("\t")[0]) for row in score(file(PAIRS))[1]]
    together = score(file(PAIRS), "--with", other)[1]
    both = log_probs(Translator.load_ensemble([random_model("model.kind=rnn"), other]), SOURCES, TARGETS)
    assert [float(row.split("\t")[0]) for row in together] == pytest.approx(both, abs=1e-4)
    assert both != pytest.approx(alone, abs=1e-2)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("one\ntwo\n", 3, "no pair could be scored.\nkept 0 of 2 pairs"),
        ("", 3, "no pair could be scored"),
    ],
)
def test_no_pair_at_all_is_an_error(text, code, said, score, file):
    found, _, err = score(file(text))
    assert found == code
    assert said in err


def test_wrong_calls(score, file, tmp_path):
    code, rows, err = score(f"{file(b'a', 'x.en')},{file(b'a' + bytes([10]) + b'b', 'x.fr')}")
    assert (code, rows) == (3, [])
    assert "the two files differ in length from line 2 on" in err
    code, rows, err = score("--", f"-,{file(b'a', 'x.fr')}")
    assert (code, rows) == (2, [])
    assert "two files are read twice" in err
    code, rows, err = score(tmp_path / "none.tsv")
    assert (code, rows) == (2, [])
    assert "none.tsv: no such file" in err
    assert main(["score", str(tmp_path), str(file(PAIRS))]) == 4
