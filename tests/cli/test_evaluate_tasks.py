"""`seqloom evaluate` of models that summarise, talk, pronounce or restore: each by its own measures."""

import json
import math

import pytest

from seqloom.cli.app import main
from seqloom.runtime.scoring import log_probs
from seqloom.runtime.translator import Translator


@pytest.fixture
def evaluate(capsys):
    def run(*words):
        code = main(["evaluate", *map(str, words), "--allow-loss"])
        return code, *capsys.readouterr()

    return run


def test_a_summary_is_compared_with_the_first_sentence(evaluate, random_model, tmp_path):
    file = tmp_path / "test.tsv"
    file.write_text("The cat sat. It ran.\tThe cat sat\nA dog. No.\tA small dog\n", "utf-8")
    code, out, _ = evaluate(random_model("task.name=summarise", brief=True), file, "--json")
    assert code == 0
    found = json.loads(out)
    assert list(found)[:3] == ["rouge_1", "rouge_2", "rouge_l"]
    assert found["against"]["name"] == "first sentence"
    assert found["against"]["scores"]["rouge_1"]["score"] == pytest.approx(100 * (1 + 4 / 5) / 2)
    assert found["baseline"] is None
    _, out, _ = evaluate(random_model("task.name=summarise", brief=True), file)
    assert "ROUGE-1 (+)" in out
    assert "first sentence" in out


def test_a_summary_is_compared_with_the_first_sentence_and_another_model(evaluate, random_model, tmp_path):
    file = tmp_path / "test.tsv"
    file.write_text("The cat sat. It ran.\tThe cat sat\nA dog. No.\tA small dog\n", "utf-8")
    ours, theirs = (random_model("task.name=summarise", seed=seed, brief=True) for seed in (3, 4))
    found = json.loads(evaluate(ours, file, "--against", theirs, "--json")[1])
    assert (found["against"]["name"], found["baseline"]["name"]) == (str(theirs), "first sentence")
    assert found["baseline"]["scores"]["rouge_1"]["score"] == pytest.approx(100 * (1 + 4 / 5) / 2)
    _, out, _ = evaluate(ours, file, "--against", theirs)
    assert str(theirs) in out
    assert "first sentence" in out


def test_a_dialogue_tells_perplexity_and_diversity(evaluate, random_model, tmp_path):
    file = tmp_path / "test.tsv"
    file.write_text("a cat\tthe mat\na cat\tno\nthe dog\tran\n", "utf-8")
    folder = random_model("task.name=dialogue", brief=True)
    code, out, _ = evaluate(folder, file, "--json")
    assert code == 0
    found = json.loads(out)
    translator = Translator.load(folder)
    pairs = [("a cat", "the mat"), ("a cat", "no"), ("the dog", "ran")]  # both answers to the first count
    tokens = sum(len(translator.tokenizers.target.encode(target)) + 1 for _, target in pairs)
    want = math.exp(-sum(log_probs(translator, *zip(*pairs, strict=True))) / tokens)
    assert found["perplexity"]["score"] == pytest.approx(want, rel=1e-5)
    assert found["diversity"]["distinct_1"][1] == 100  # "the mat", "ran": three different words
    _, out, _ = evaluate(folder, file)
    assert "perplexity (-)" in out
    assert "distinct-2" in out


def test_dialogue_models_are_compared_by_perplexity_where_they_have_the_same_tokens(evaluate, random_model, tmp_path):
    file = tmp_path / "test.tsv"
    file.write_text("a cat\tthe mat\na cat\tno\nthe dog\tran\n", "utf-8")
    ours, theirs = (random_model("task.name=dialogue", seed=seed, brief=True) for seed in (3, 4))
    alone = json.loads(evaluate(theirs, file, "--json")[1])["perplexity"]["score"]
    found = json.loads(evaluate(ours, file, "--against", theirs, "--json")[1])
    assert found["against"]["scores"]["perplexity"]["score"] == pytest.approx(alone)
    difference = found["against"]["differences"]["perplexity"]["difference"]
    assert difference == pytest.approx(found["perplexity"]["score"] - alone)
    words = random_model("task.name=dialogue", "text.tokenizer=word")
    found = json.loads(evaluate(ours, file, "--against", words, "--json")[1])
    assert "perplexity" not in found["against"]["differences"]
    assert "Perplexity is not compared: the other model has another tokenizer" in found["warnings"][0]


def test_perplexity_is_compared_on_the_same_answers_only(evaluate, random_model, tmp_path):
    file = tmp_path / "test.tsv"
    file.write_text("a cat\tthe mat\nthe dog is small\tran\n", "utf-8")
    ours, short = random_model("task.name=dialogue"), random_model("task.name=dialogue", "data.max_tokens=10")
    found = json.loads(evaluate(ours, file, "--against", short, "--json")[1])
    assert "perplexity" not in found["against"]["differences"]
    assert "Perplexity is not compared: one of the two models cannot take" in found["warnings"][0]


def test_a_pronunciation_is_right_when_any_matches(evaluate, random_model, tmp_path):
    folder = random_model("task.name=pronounce")
    said = Translator.load(folder).translate("cat")
    file = tmp_path / "test.tsv"
    file.write_text(f"cat\tK AE T\ncat\t{said}\ndog\tD AO G\n", "utf-8")
    found = json.loads(evaluate(folder, file, "--json")[1])
    assert list(found)[:2] == ["phoneme_error_rate", "word_error_rate"]
    assert found["word_error_rate"]["score"] == 50
    assert found["sentences"] == 2


def test_a_denoiser_is_asked_to_restore_the_same_noise_each_time(evaluate, random_model, tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("the cat sat. a dog ran!\na small dog\n\nthe mat\n", "utf-8")
    folder = random_model("task.name=denoise", "task.hide=0.4", "task.permute=true")
    first, again = (json.loads(evaluate(folder, file, "--json")[1]) for _ in range(2))
    assert list(first)[:3] == ["perplexity", "chrf", "exact_match"]
    assert first["perplexity"] == again["perplexity"]
    assert first["against"]["name"] == "the noisy text unchanged"
    assert first["against"]["scores"]["chrf"]["score"] > first["chrf"]["score"]  # these weights are random
    assert "_" in " ".join(bad["source"] for bad in first["worst"])
    code, _, err = evaluate(folder, file, "--beam", "2")
    assert code == 2
    assert "trained for 'denoise', which is measured without ensembles and search: leave" in err
    code, _, err = evaluate(folder, file, "--against", folder)
    assert code == 2
    assert "--against compares models of: translate, summarise, dialogue, pronounce, classify" in err


def test_texts_that_a_denoiser_cannot_take_are_counted_aloud(evaluate, random_model, tmp_path):
    file = tmp_path / "text.txt"
    folder = random_model("task.name=denoise", "data.max_tokens=20", "train.batch_tokens=100")
    file.write_text("the cat\n" + "b" * 30 + "\n", "utf-8")
    code, out, err = evaluate(folder, file, "--json")
    assert (code, json.loads(out)["too_long"]) == (0, 1)
    assert "1 of 2 texts have more than the 20 tokens the model takes: left out" in err
    file.write_text(("b" * 30 + "\n") * 2, "utf-8")
    code, _, err = evaluate(folder, file)
    assert (code, "Traceback" in err) == (3, False)
    assert "no text is left: all 2 have more than the 20 tokens the model takes" in err
