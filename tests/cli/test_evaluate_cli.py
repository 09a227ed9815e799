"""`seqloom evaluate`: what it reads, what it refuses, what it prints."""

import json
import shutil
from dataclasses import replace

import pytest
from sacrebleu.metrics import BLEU, CHRF

from seqloom.cli.app import main
from seqloom.rerank.minimum_bayes_risk import rank_by_risk
from seqloom.runtime.folder import open_run
from seqloom.runtime.run_facts import write_facts
from seqloom.runtime.translator import Translator

METRICS = ("bleu", "chrf", "ter", "exact_match", "token_error_rate", "character_error_rate")


@pytest.fixture
def evaluate(tiny_model, capsys):
    def run(*words):
        code = main(["evaluate", str(tiny_model), *map(str, words)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def test_file(tmp_path):
    """Four sources; the second comes twice, the third has two references."""
    file = tmp_path / "test.tsv"
    file.write_text("abc\tcba\nhead\tdaeh\nhead\tdead\nbed\tdeb\tdab\nfgh a b\thgf\n", "utf-8")
    return file


@pytest.fixture
def other_model(tiny_model, tmp_path):
    """The same model with one matrix turned around."""
    import torch

    from seqloom.models.weights import save_weights

    folder = shutil.copytree(tiny_model, tmp_path / "other")
    translator = Translator.load(folder)
    with torch.no_grad():
        translator.model.output.bias.copy_(
            translator.model.output.bias.flip(0) + torch.linspace(0, 9, len(translator.tokenizers.target))
        )
    save_weights(translator.model, folder / "model.safetensors")
    write_facts(folder, replace(open_run(folder).facts, weights_sha256=None))  # not those of its training
    return folder


def test_json_is_one_object_with_the_promised_keys(evaluate, test_file, tiny_model):
    code, out, _ = evaluate(test_file, "--json")
    assert code == 0
    found = json.loads(out)
    for name in METRICS:
        assert set(found[name]) == {"score", "low", "high", "signature"}
    run = json.loads((tiny_model / "run.json").read_text("utf-8"))
    for name in ("params", "step", "data_hash"):
        assert found[name] == run[name]
    assert found["sentences"] == 4
    assert found["lines"] == 5
    assert found["beam"] == 5
    assert found["with"] == []
    assert found["sentences_per_second"] > 0
    assert found["load_seconds"] > 0
    assert len(found["test_hash"]) == 64
    assert found["against"] is None
    assert found["excluded"] == {}
    assert {"by_length", "worst", "warnings", "seen_in_training"} <= found.keys()


def test_scores_are_those_of_the_translations(evaluate, test_file, tiny_model):
    found = json.loads(evaluate(test_file, "--json", "--beam", 2)[1])
    outputs = Translator.load(tiny_model).translate(["abc", "head", "bed", "fgh a b"], beam=2)
    streams = [["cba", "daeh", "deb", "hgf"], [None, "dead", "dab", None]]
    assert found["bleu"]["score"] == pytest.approx(BLEU().corpus_score(outputs, streams).score)
    assert found["chrf"]["score"] == pytest.approx(CHRF().corpus_score(outputs, streams).score)
    assert "nrefs:var|bs:1000|seed:12345" in found["bleu"]["signature"]
    assert found["beam"] == 2
    worst = {tuple(bad["lines"]): bad for bad in found["worst"]}
    assert worst[(2, 3)]["references"] == ["daeh", "dead"]
    assert worst[(2, 3)]["output"] == outputs[1]


def test_the_text_is_for_people(evaluate, test_file):
    code, out, err = evaluate(test_file)
    assert code == 0
    assert out.startswith("4 sentences from 5 lines")
    for word in ("BLEU", "chrF", "TER", "exact match", "95 % interval", "sentences/s", "tok:13a", "Only "):
        assert word in out
    assert err == ""


def test_against_another_model(evaluate, test_file, tiny_model, other_model):
    found = json.loads(evaluate(test_file, "--json", "--against", other_model)[1])
    rival = found["against"]
    assert rival["name"] == str(other_model)
    assert set(rival["differences"]) == set(rival["scores"]) == set(METRICS)
    for name in METRICS:
        difference = rival["differences"][name]
        assert difference["difference"] == pytest.approx(found[name]["score"] - rival["scores"][name]["score"])
        assert 0 < difference["p_value"] <= 1
        assert difference["low"] <= difference["high"]
    assert rival["scores"]["character_error_rate"] != found["character_error_rate"]
    same = json.loads(evaluate(test_file, "--json", "--against", tiny_model)[1])["against"]
    assert all(difference["p_value"] == 1 for difference in same["differences"].values())
    assert "difference" in evaluate(test_file, "--against", other_model)[1]


def test_a_rival_that_is_searched_otherwise_is_told(evaluate, test_file, tiny_model, tmp_path):
    rival = shutil.copytree(tiny_model, tmp_path / "rival")
    settings = (rival / "config.toml").read_text("utf-8")
    (rival / "config.toml").write_text(settings.replace("length_penalty = 1.0", "length_penalty = 0.25"), "utf-8")
    said = "length_penalty 1.0 here and 0.25 there"
    assert said in evaluate(test_file, "--against", rival)[1]
    assert said not in evaluate(test_file, "--against", rival, "--length-penalty", 1)[1]


def test_sources_seen_in_training_are_told(evaluate, tiny_pairs, tmp_path):
    lines = tiny_pairs.read_text("utf-8").splitlines()
    new = "hgfedcbahgfedcba\tabcdefghabcdefgh"
    (tmp_path / "some.tsv").write_text("\n".join([*lines, new]) + "\n", "utf-8")
    found = json.loads(evaluate(tmp_path / "some.tsv", "--json", "--beam", 1)[1])
    sources = {line.split("\t")[0] for line in lines}
    assert found["sentences"] == len(sources) + 1
    assert len(sources) - 20 <= found["seen_in_training"] < len(sources)  # 20 pairs were held out
    assert "were also in the training data" in found["warnings"][0]


def test_a_model_without_its_store_can_be_evaluated(tiny_model, tmp_path, test_file, capsys):
    folder = shutil.copytree(tiny_model, tmp_path / "moved", ignore=shutil.ignore_patterns("store", "checkpoints"))
    assert main(["evaluate", str(folder), str(test_file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seen_in_training"] is None


def test_two_files_and_columns(evaluate, tmp_path):
    (tmp_path / "t.en").write_text("abc\nbed\n", "utf-8")
    (tmp_path / "t.fr").write_text("cba\ndeb\n", "utf-8")
    parallel = json.loads(evaluate(f"{tmp_path / 't.en'},{tmp_path / 't.fr'}", "--json")[1])
    (tmp_path / "t.csv").write_text('id,en,fr,more\n1,abc,cba,x\n2,bed,"deb",y\n', "utf-8")
    named = json.loads(evaluate(tmp_path / "t.csv", "--json", "--columns", "en,fr")[1])
    assert parallel["test_hash"] == named["test_hash"]
    assert parallel["chrf"] == named["chrf"]


def test_lines_that_are_no_pairs_are_left_out_and_told(evaluate, tmp_path):
    lines = [f"a{'b' * n}\tb{'a' * n}" for n in range(40)]
    lines[7] = "only this"
    (tmp_path / "t.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    code, out, err = evaluate(tmp_path / "t.tsv", "--json", "--beam", 1)
    assert code == 0
    assert "kept 39 of 40" in err
    assert "line 8" in err
    found = json.loads(out)
    assert found["sentences"] == 39
    assert found["excluded"] == {"missing column": 1}


def test_too_many_of_them_are_refused_unless_allowed(evaluate, tmp_path):
    (tmp_path / "t.tsv").write_text("abc\tcba\nonly this\nbed\tdeb\n", "utf-8")
    code, out, err = evaluate(tmp_path / "t.tsv")
    assert (code, out) == (3, "")
    assert "t.tsv" in err
    assert "--allow-loss" in err
    assert evaluate(tmp_path / "t.tsv", "--allow-loss")[0] == 0


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"", 3, "no usable pair"),
        (b"abc\nabd\n", 3, "missing column"),
        (b"abc\tcba\ncaf\xe9\tx\n", 3, "invalid UTF-8"),
    ],
)
def test_a_file_that_is_no_test_set(content, code, said, evaluate, tmp_path):
    (tmp_path / "t.tsv").write_bytes(content)
    found, out, err = evaluate(tmp_path / "t.tsv", "--json")
    assert (found, out) == (code, "")
    assert said in err


def test_unequal_files_are_refused(evaluate, tmp_path):
    (tmp_path / "t.en").write_text("abc\nbed\nfed\n", "utf-8")
    (tmp_path / "t.fr").write_text("cba\n", "utf-8")
    code, _, err = evaluate(f"{tmp_path / 't.en'},{tmp_path / 't.fr'}")
    assert code == 3
    assert "unequal lines" in err


def test_wrong_calls(evaluate, test_file, tmp_path):
    assert evaluate(tmp_path / "none.tsv")[0] == 2
    assert evaluate(test_file, "--beam", 0)[0] == 2
    assert evaluate(test_file, "--columns", "1,nothing")[0] == 2
    code, _, err = evaluate(test_file, "--against", tmp_path)
    assert code == 4
    assert str(tmp_path) in err


def test_a_cut_sentence_is_named_by_its_line(evaluate, tmp_path):
    (tmp_path / "t.tsv").write_text("abc\tcba\nabc\tbca\n" + "x" * 300 + "\ty\n", "utf-8")
    _, _, err = evaluate(tmp_path / "t.tsv", "--beam", 1)
    assert "line 3: a word of 300 tokens" in err


def test_search_options_change_what_is_measured(evaluate, test_file, tiny_model):
    words = ("--beam", 3, "--length-penalty", 0.2, "--coverage-penalty", 0.3, "--min-length", 6, "--no-repeat-ngram", 2)
    found = json.loads(evaluate(test_file, "--json", *words)[1])
    options = {"length_penalty": 0.2, "coverage_penalty": 0.3, "min_length": 6, "no_repeat_ngram": 2}
    assert found["search"] == {"beam": 3, "n_best": 1, **options, "max_length": None, "mbr": None}
    outputs = Translator.load(tiny_model).translate(["abc", "head", "bed", "fgh a b"], 3, **options)
    references = [["cba", "daeh", "deb", "hgf"], [None, "dead", "dab", None]]
    assert found["chrf"]["score"] == pytest.approx(CHRF().corpus_score(outputs, references).score)


def test_minimum_bayes_risk_is_measured(evaluate, test_file, tiny_model):
    found = json.loads(evaluate(test_file, "--json", "--mbr", 6)[1])
    assert (found["beam"], found["search"]["mbr"]) == (6, 6)
    ranked = Translator.load(tiny_model).hypotheses(["abc", "head", "bed", "fgh a b"], n_best=6)
    outputs = [texts[rank_by_risk(texts)[0]] for texts in ([t.text for t in found] for found in ranked)]
    references = [["cba", "daeh", "deb", "hgf"], [None, "dead", "dab", None]]
    assert found["chrf"]["score"] == pytest.approx(CHRF().corpus_score(outputs, references).score)


def test_an_ensemble_is_measured(evaluate, test_file, tiny_model, other_model):
    found = json.loads(evaluate(test_file, "--json", "--with", other_model, "--against", tiny_model)[1])
    assert found["with"] == [str(other_model)]
    assert found["params"] == 2 * json.loads((tiny_model / "run.json").read_text("utf-8"))["params"]
    outputs = Translator.load_ensemble([tiny_model, other_model]).translate(["abc", "head", "bed", "fgh a b"])
    references = [["cba", "daeh", "deb", "hgf"], [None, "dead", "dab", None]]
    assert found["chrf"]["score"] == pytest.approx(CHRF().corpus_score(outputs, references).score)
    alone = json.loads(evaluate(test_file, "--json")[1])
    assert found["against"]["scores"]["chrf"]["score"] == pytest.approx(alone["chrf"]["score"])


def test_a_wrong_search_option_is_refused_at_once(evaluate, test_file):
    for words, said in ((("--mbr", 1), "mbr = 1: want 2"), (("--length-penalty", -1), "length_penalty = -1.0")):
        code, out, err = evaluate(test_file, *words)
        assert (code, out) == (2, "")
        assert said in err


def test_both_models_have_the_threads_and_tell_what_they_say(evaluate, test_file, tiny_model, other_model, monkeypatch):
    asked, load = [], Translator.load_ensemble.__func__

    def note(cls, folders, threads=None, device="cpu", engine="auto", notice=None):
        asked.append((threads, notice is not None))
        notice(f"{folders[0]}: a notice")
        return load(cls, folders, threads, device, engine, notice)

    monkeypatch.setattr(Translator, "load_ensemble", classmethod(note))
    code, _, err = evaluate(test_file, "--against", other_model, "--threads", 1)
    assert (code, asked) == (0, [(1, True)] * 2)
    assert err == f"{tiny_model}: a notice\n{other_model}: a notice\n"
