"""What people really give to a program: each is refused with one clear sentence, a code, and never a traceback.

Most go through `main`, which is all that the command `seqloom` calls: torch is imported once for all of them. The last
test tries a few in a process of their own.
"""

import gzip
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seqloom.cli.app import main

GOOD = "".join(f"word {n}\tmot {n}\n" for n in range(60))


def refused(done: subprocess.CompletedProcess[str], code: int, *words: object) -> None:
    """The exit code, the words of the message (file, line, suggestion), nothing on standard output, no traceback."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "seqloom: " in done.stderr
    for word in words:
        assert str(word) in done.stderr
    assert done.stdout == ""


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    """A command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin.encode())), encoding="utf-8")
        )
        capfd.readouterr()
        code = main([str(word) for word in words])
        return subprocess.CompletedProcess(words, code, *capfd.readouterr())

    return run


@pytest.fixture
def train(call, tiny_settings):
    """`seqloom train ... --out out`; what a test gives comes last, so that it counts."""
    return lambda *words: call("train", "--out", "out", *tiny_settings, *words)


@pytest.fixture
def pairs(tmp_path) -> Path:
    file = tmp_path / "good.tsv"
    file.write_text(GOOD, "utf-8")
    return file


@pytest.fixture
def model(tiny_model, tmp_path) -> Path:
    """A copy of the tiny model, to damage."""
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


# --- data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["none.tsv", "none.en,none.fr", "none.tsv.gz", "."])
def test_a_missing_file_is_a_usage_error(name, train, tmp_path):
    refused(train(name), 2, name.split(",")[0])
    assert not (tmp_path / "out").exists()


def test_a_missing_file_in_the_other_verbs(call, tiny_model, tmp_path):
    refused(call("doctor", "none.tsv"), 2, "none.tsv")
    refused(call("evaluate", tiny_model, "none.tsv"), 2, "none.tsv")
    refused(call("translate", tiny_model, "none.txt"), 2, "none.txt")


def test_a_missing_validation_file(train, pairs):
    refused(train(pairs, "--valid", "none.tsv"), 2, "none.tsv")


def test_an_empty_file(train, call, tmp_path):
    (tmp_path / "empty.tsv").touch()
    refused(train("empty.tsv"), 3, "empty.tsv")
    assert not (tmp_path / "out").exists()
    assert call("doctor", "empty.tsv").returncode == 3


def test_one_column(train, call, tmp_path):
    (tmp_path / "one.tsv").write_text("only this\nand this\n", "utf-8")
    refused(train("one.tsv"), 3, "one.tsv", "lines 1, 2")
    report = call("doctor", "one.tsv", "--json")
    assert report.returncode == 3
    assert json.loads(report.stdout)


def test_a_few_lines_with_one_column_are_named_and_the_rest_is_used(train, tmp_path):
    lines = GOOD.splitlines()
    lines[41] = "only this"
    (tmp_path / "mostly.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    done = train("mostly.tsv")
    assert done.returncode == 0, done.stderr
    assert "59 of 60" in done.stderr
    assert "line 42: 1 column, want 2" in done.stderr


def test_too_many_unusable_lines_are_refused_unless_allowed(train, tmp_path):
    lines = [line if n % 10 else "only this" for n, line in enumerate(GOOD.splitlines())]
    (tmp_path / "holes.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    refused(train("holes.tsv"), 3, "holes.tsv", "--allow-loss")
    allowed = train("holes.tsv", "--allow-loss")
    assert allowed.returncode == 0, allowed.stderr
    assert "54 of 60" in allowed.stderr


def test_unequal_parallel_files(train, tmp_path):
    (tmp_path / "a.en").write_text("one\ntwo\nthree\nfour\n", "utf-8")
    (tmp_path / "a.fr").write_text("un\ndeux\n", "utf-8")
    refused(train("a.en,a.fr"), 3, "a.en,a.fr", "line 3")


def test_invalid_utf8_is_found_with_its_line(train, call, model, tmp_path):
    lines = GOOD.encode().splitlines(keepends=True)
    lines[6] = b"caf\xe9\tcoffee\n"
    (tmp_path / "latin.tsv").write_bytes(b"".join(lines))
    refused(train("latin.tsv"), 3, "latin.tsv", "line 7: byte 0xe9")
    refused(call("evaluate", model, "latin.tsv"), 3, "latin.tsv", "line 7: byte 0xe9")
    (tmp_path / "latin.txt").write_bytes(b"fine\ncaf\xe9\n")
    done = call("translate", model, "latin.txt")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert "latin.txt, line 2: invalid UTF-8" in done.stderr


def test_a_line_of_a_megabyte_is_excluded_and_named(train, tmp_path):
    lines = GOOD.splitlines()
    lines[20] = "x" * 1_000_000 + "\ty"
    (tmp_path / "long.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    done = train("long.tsv")
    assert done.returncode == 0, done.stderr
    assert "59 of 60" in done.stderr
    assert "line 21: 1000000 characters" in done.stderr
    assert len(done.stderr) < 20_000


def test_translating_a_line_of_a_megabyte_gives_one_line(call, tiny_model):
    done = call("translate", tiny_model, "--beam", 1, stdin="ab\n" + "a" * 1_000_000 + "\ncd\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 3
    assert "line 2" in done.stderr
    assert len(done.stderr) < 20_000


def test_what_is_no_gzip(train, tmp_path):
    (tmp_path / "a.tsv.gz").write_text(GOOD, "utf-8")
    refused(train("a.tsv.gz"), 3, "a.tsv.gz")
    (tmp_path / "cut.tsv.gz").write_bytes(gzip.compress(GOOD.encode())[:-20])
    refused(train("cut.tsv.gz"), 3, "cut.tsv.gz")


def test_broken_json_lines(train, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"source": "a", "target": "b"}\n{"source": "a"\n', "utf-8")
    refused(train("a.jsonl"), 3, "a.jsonl", "line 2: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--columns", "9,9"), "--columns 9,9: want two or more"),
        (("--columns", "x"), "--columns x: want two or more"),
        (("--mix", "none.tsv:2"), "none.tsv: no such file"),
        (("--mix", "x:y:z"), "x:y:z: no such file"),
        (("--mix=-:2",), "--mix -: standard input can be read only once"),
        (("--valid=-",), "--valid -: standard input can be read only once"),
    ],
)
def test_nonsense_about_columns_and_mixtures(words, said, train, pairs):
    refused(train(pairs, *words), 2, said)


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
@pytest.mark.parametrize(
    "words", [("--beam", 0), ("--beam", 100_000_000), ("--threads", 0), ("--threads", 1_000_000)], ids=str
)
def test_numbers_out_of_all_reason(verb, words, call, tiny_model, pairs):
    more = [pairs] if verb == "evaluate" else []
    refused(call(verb, tiny_model, *more, *words, stdin="abc\n"), 2, words[0].strip("-"), words[1], "want ")


def test_a_bad_validation_file_is_named_and_shown(train, pairs, tmp_path):
    (tmp_path / "valid.tsv").write_text("one\nun\n", "utf-8")
    done = train(pairs, "--valid", "valid.tsv")
    refused(done, 3, "valid.tsv: kept 0 of 2 pairs", "line 1: 1 column, want 2", f"doctor {pairs} --valid valid.tsv")
    assert "good.tsv: kept" not in done.stderr


def test_pairs_from_a_pipe_need_to_be_piped_in_only_once(call, tiny_settings, tmp_path):
    words = ("train", "-", "--out", "out", *tiny_settings)
    assert call(*words, stdin=GOOD).returncode == 0
    refused(call(*words, stdin="other\tpairs\n"), 2, "other pairs than out/stdin.tsv")
    again = call(*words)
    assert again.returncode == 0, again.stderr
    assert "nothing to do" in again.stderr
    assert (tmp_path / "out" / "stdin.tsv").read_text("utf-8") == GOOD


# --- settings -----------------------------------------------------------------------------------------------------


def test_an_unknown_key_in_a_recipe_gets_a_suggestion(train, pairs, tmp_path):
    (tmp_path / "mine.toml").write_text("[model]\nwidht = 64\n\n[trian]\nseed = 1\n", "utf-8")
    refused(train(pairs, "--recipe", "mine.toml"), 2, "mine.toml", "model.widht", "'width'", "trian", "'train'")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "model.attenton=none"), "Did you mean 'attention'?"),
        (("--set", "model.cell=lsmt"), "Did you mean 'lstm'?"),
        (("--set", "nonsense"), "--set nonsense: want section.name=value"),
        (("--set", "model.layers=-1"), "model.layers"),
        (("--set", "train.rates=encoder=x"), "want parts with a number"),
        (("--set", "model.vectors=none.vec"), "model.vectors = none.vec: no such file"),
        (("--task", "clasify"), "--task clasify: no such task. Did you mean 'classify'? Tasks: translate"),
        (("--recipe", "none"), "none: no such recipe"),
        (("--recipe", "none.toml"), "none.toml: no such recipe"),
        (("--budget", "soon"), "soon"),
        (("--threads", "-3"), "-3"),
        (("--seed", "x"), "x"),
    ],
)
def test_a_wrong_option_of_train(words, said, train, pairs, tmp_path):
    refused(train(pairs, *words), 2, said)
    assert not (tmp_path / "out" / "config.toml").exists()
    assert not (tmp_path / "out" / "store").exists(), "before the data is read"


def test_a_tokenizer_from_a_folder_that_has_none(train, pairs):
    refused(train(pairs, "--tokenizer", "none"), 4, "none", "tokenizer")


def test_a_recipe_that_is_no_toml(train, pairs, tmp_path):
    (tmp_path / "mine.toml").write_text("model: {width: 3}\n", "utf-8")
    refused(train(pairs, "--recipe", "mine.toml"), 2, "mine.toml", "not a TOML file")


# --- folders ------------------------------------------------------------------------------------------------------


def test_an_output_folder_that_cannot_be_written(call, pairs, tiny_settings):
    """Below a regular file: no rights help there, not even root's."""
    below = pairs / "out"
    refused(call("train", pairs, "--out", below, *tiny_settings), 2, below)


def test_an_output_folder_that_is_a_file(call, pairs, tiny_settings):
    refused(call("train", pairs, "--out", pairs, *tiny_settings), 2, pairs)
    assert pairs.read_text("utf-8") == GOOD


@pytest.mark.parametrize("words", [("info",), ("info", "--check"), ("translate",), ("evaluate", "PAIRS")])
@pytest.mark.parametrize("place", ["missing", "empty", "file"])
def test_a_folder_that_is_no_model(words, place, call, pairs, tmp_path):
    if (words[0], place) == ("translate", "file"):
        return  # without a model, a file is what the bundled model translates
    folder = {"missing": tmp_path / "none", "empty": tmp_path / "empty", "file": pairs}[place]
    (tmp_path / "empty").mkdir()
    if (words[0], place) == ("evaluate", "file"):  # a file of outputs may take the place of a model, but not this one
        folder = tmp_path / "model.safetensors"
        folder.write_bytes(b"")
    verb, *more = [str(pairs) if word == "PAIRS" else word for word in words]
    refused(call(verb, folder, *more, stdin="a\n"), 4, folder)


def cut(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


DAMAGES = {
    "cut weights": (lambda model: cut(model / "model.safetensors"), "model.safetensors"),
    "empty weights": (lambda model: (model / "model.safetensors").write_bytes(b""), "model.safetensors"),
    "no weights": (lambda model: (model / "model.safetensors").unlink(), "model.safetensors"),
    "broken settings": (lambda model: (model / "config.toml").write_text("x y"), "config.toml"),
    "unknown setting": (lambda model: (model / "config.toml").write_text("[model]\nwidht = 3\n"), "config.toml"),
    "no settings": (lambda model: (model / "config.toml").unlink(), "config.toml"),
    "other settings": (
        lambda model: (model / "config.toml").write_text(
            (model / "config.toml").read_text().replace("width = 16", "width = 24")
        ),
        "model",
    ),
    "cut tokenizer": (lambda model: [cut(file) for file in (model / "tokenizer").iterdir()], "tokenizer"),
    "no tokenizer": (lambda model: shutil.rmtree(model / "tokenizer"), "tokenizer"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_model_is_named_and_not_used(damage, call, model):
    break_it, named = DAMAGES[damage]
    break_it(model)
    refused(call("translate", model, stdin="abc\n"), 4, named)


@pytest.mark.parametrize("damage", ["cut weights", "empty weights", "no weights", "broken settings", "unknown setting"])
def test_info_and_evaluate_find_the_damage_too(damage, call, model, pairs):
    break_it, named = DAMAGES[damage]
    break_it(model)
    refused(call("info", model), 4, named)
    refused(call("evaluate", model, pairs), 4, named)


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 99, "version": "9.9"}'])
def test_info_of_a_damaged_or_newer_run(content, call, model):
    (model / "run.json").write_text(content)
    refused(call("info", model), 4, model)


def test_changed_weights_do_not_pass_the_check(call, model):
    golden = json.loads((model / "golden.json").read_text("utf-8"))
    (model / "golden.json").write_text(json.dumps(golden).replace('"target": "', '"target": "other '))
    done = call("info", model, "--check")
    assert done.returncode == 4, done.stderr
    assert "golden" in done.stderr


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("doctor none.tsv", 2, "none.tsv"),
        ("doctor a.en,a.fr", 3, ""),
        ("train good.tsv --out x --set model.attenton=none", 2, "Did you mean 'attention'?"),
        ("info good.tsv", 4, "good.tsv"),
        ("translate model", 4, "model.safetensors"),
    ],
)
def test_the_same_in_a_process_of_its_own(line, code, said, seqloom, model, pairs, tmp_path):
    cut(model / "model.safetensors")
    (tmp_path / "a.en").write_text("one\ntwo\n", "utf-8")
    (tmp_path / "a.fr").write_text("un\n", "utf-8")
    done = seqloom(*line.split(), cwd=tmp_path, stdin="abc\n")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert said in done.stderr


@pytest.mark.parametrize("words", ["score LM PAIRS", "align LM PAIRS", "evaluate MODEL PAIRS --with LM"])
def test_a_language_model_is_no_translator(words, random_model, call, tmp_path):
    """Its scores of pairs would be numbers without a meaning."""
    (tmp_path / "pairs.tsv").write_text(GOOD, "utf-8")
    names = {"LM": random_model("task.name=language", "model.kind=gpt"), "MODEL": random_model(), "PAIRS": "pairs.tsv"}
    done = call(*(names.get(word, word) for word in words.split()))
    refused(done, 2, "trained for 'language'", "seqloom generate")
