"""`seqloom doctor` as a user calls it: report on standard output, exit code 3 on a hard fault, no torch."""

import json
from pathlib import Path

import pytest

GOOD = "".join(f"word {n}\tmot numéro {n}\n" for n in range(60))


@pytest.fixture
def doctor(seqloom, tmp_path: Path):
    (tmp_path / "good.tsv").write_text(GOOD, "utf-8")
    (tmp_path / "bad.tsv").write_bytes(GOOD.encode() + b"caf\xe9\tx\n")
    return lambda *words, stdin="": seqloom("doctor", *words, cwd=tmp_path, stdin=stdin)


def test_a_report_for_people_and_one_for_programs(doctor) -> None:
    text = doctor("good.tsv")
    assert (text.returncode, text.stderr) == (0, "") and "good.tsv: kept 60 of 60 pairs" in text.stdout
    about = json.loads(doctor("good.tsv", "bad.tsv", "--json").stdout)
    assert (about["format"], about["hard"], [corpus["hard"] for corpus in about["corpora"]]) == (1, True, [False, True])
    assert [(corpus["kept"], corpus["total"]) for corpus in about["corpora"]] == [(60, 60), (60, 61)]


def test_a_hard_fault_is_exit_code_3_after_the_report(doctor) -> None:
    done = doctor("bad.tsv")
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert "invalid UTF-8" in done.stdout and "line 61: byte 0xe9 at offset" in done.stdout


def test_loss_may_be_allowed(doctor, tmp_path: Path) -> None:
    (tmp_path / "holes.tsv").write_text("a\tb\nalone\n" * 9)
    assert doctor("holes.tsv").returncode == 3
    assert doctor("holes.tsv", "--allow-loss").returncode == 0


def test_held_out_files_are_compared_and_checked(doctor, tmp_path: Path) -> None:
    (tmp_path / "valid.tsv").write_text("word 7\tmot numéro 7\nnew\tnouveau\n", "utf-8")
    done = doctor("good.tsv", "--valid", "valid.tsv", "--test", "bad.tsv")
    assert done.returncode == 3  # the test file has an invalid byte
    assert "overlap" in done.stdout and "1 source of valid.tsv is here too" in done.stdout
    assert done.stdout.count("bad.tsv: kept 60 of 61") == 1


def test_columns_limit_and_standard_input(doctor) -> None:
    done = doctor("-", "--columns", "3,1", "--max-chars", 5, "--json", stdin="a\tx\tb\nc\tx\tdddddd\n")
    (corpus,) = json.loads(done.stdout)["corpora"]
    assert (corpus["corpus"], corpus["kept"], corpus["unusable"]) == ("-", 1, {"too long": 1})


def test_fix_writes_a_clean_file_and_says_so(doctor, tmp_path: Path) -> None:
    done = doctor("bad.tsv", "--fix", "clean.tsv")
    assert done.returncode == 3 and "clean.tsv: 60 pairs; the rest in clean.tsv.report.tsv" in done.stderr
    assert (tmp_path / "clean.tsv").read_text("utf-8") == GOOD
    assert "61\tinvalid UTF-8" in (tmp_path / "clean.tsv.report.tsv").read_text("utf-8")
    again = doctor("bad.tsv", "--fix", "clean.tsv")
    assert again.returncode == 2 and "exists" in again.stderr and again.stdout == ""
    assert doctor("clean.tsv").returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "which file"),
        (("god.tsv",), "Did you mean 'good.tsv'"),
        (("good.tsv", "--jsn"), "Did you mean '--json'"),
        (("good.tsv", "bad.tsv", "--fix", "c.tsv"), "one corpus at a time"),
        (("good.tsv", "--max-chars", "0"), "--max-chars"),
        (("good.tsv", "--columns", "1"), "--columns"),
        (("good.tsv", "--columns", "x,y"), "line 1"),
    ],
)
def test_usage(words: tuple[str, ...], said: str, doctor) -> None:
    done = doctor(*words)
    assert done.returncode == 2 and said in done.stderr and done.stdout == "" and "Traceback" not in done.stderr
