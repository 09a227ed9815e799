"""Labels of any text: short, long, empty, of many pieces; the same alone and in a batch."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import seqloom
from seqloom.config import dump_config, load_config
from seqloom.errors import UsageError
from seqloom.models.build import build_model
from seqloom.models.weights import save_weights
from seqloom.runtime.answering import load_answering
from seqloom.runtime.gap_filler import GapFiller, with_a_gap
from seqloom.runtime.labeller import Labeller
from seqloom.runtime.translator import Translator
from seqloom.text.labels import learn_labels, one_word
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.tags import NO_WORD, cut_at_words
from seqloom.text.vocabulary import FIRST_WORD

TEXTS = ["the cat sat on the mat", "a small dog ran", "unlikely unbelievable endings"] * 4
LABELS = {"classify": ["very good", "bad", "so so"], "tag": ["DET", "NOUN", "VERB", "ADP"]}
SMALL = "model.width=8 model.layers=1 model.heads=2 data.max_tokens=9 decode.batch_size=3"


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[..., Path]:
    """make_folder("tag", "model.kind=rnn"): a model folder with random weights that prefers the special ids."""

    def make(task: str, *settings: str, tokenizer: str = "bpe") -> Path:
        folder = tmp_path / f"{task}-{tokenizer}-{len(settings)}"
        folder.mkdir()
        config = load_config(overrides=[*SMALL.split(), f"task.name={task}", *settings])
        source = learn_tokenizer(tokenizer, TEXTS, 300)
        target = learn_labels(map(one_word, LABELS[task])) if task in LABELS else source
        tokenizers = Tokenizers(source, target)
        torch.manual_seed(3)
        model = build_model(config, len(source), len(target), tokenizers.joint)
        with torch.no_grad():
            model.output.weight.mul_(5)
            model.output.bias[:FIRST_WORD] = 50.0
        (folder / "config.toml").write_text(dump_config(config), "utf-8")
        (folder / "run.json").write_text('{"format": 1, "params": 9, "step": 4, "finished": true}', "utf-8")
        tokenizers.save(folder)
        save_weights(model, folder / "model.safetensors")
        return folder

    return make


KINDS = [("model.kind=rnn",), ("model.kind=transformer",), ("model.kind=bag",)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_as_it_is_written_for_each_text(kind, make_folder) -> None:
    labeller = Labeller.load(make_folder("classify", *kind))
    assert sorted(labeller.labels) == sorted(LABELS["classify"])
    found = labeller.label([*TEXTS, "", "  \t"])
    assert set(found[:-2]) <= set(LABELS["classify"])  # though the special ids are the likeliest
    assert found[-2:] == ["", ""]
    assert labeller.label([]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_sum_to_one_and_a_batch_changes_nothing(kind, make_folder) -> None:
    labeller = Labeller.load(make_folder("classify", *kind))
    together = labeller.probabilities(["", *TEXTS])
    for text, found in zip(["", *TEXTS], together, strict=True):
        assert found.shape == (3,) and found.sum() == pytest.approx(1, abs=1e-5)
        assert np.allclose(labeller.probabilities([text])[0], found, atol=1e-5)
        if text:
            assert labeller.label([text]) == [labeller.labels[found.argmax()]]


@pytest.mark.parametrize(
    ("texts", "said"),
    [("abc", "want a list of texts"), (["ab\ud83d"], "lone surrogate"), ([7], r"want text, got \d+ \(int\)")],
)
def test_probabilities_of_what_is_no_text(texts, said, make_folder) -> None:
    with pytest.raises(UsageError, match=said):
        Labeller.load(make_folder("classify")).probabilities(texts)


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("tokenizer", ["bpe", "char", "word"])
def test_one_tag_a_word_however_long_the_text_and_its_words(kind, tokenizer, make_folder) -> None:
    labeller = Labeller.load(make_folder("tag", *kind, tokenizer=tokenizer))
    texts = [
        "the cat", "cat", " the  cat\tsat ", "unlikely unbelievable endings of it all", "x" * 200,
        f"the {'unbelievable' * 20} end", " ".join(["the cat sat"] * 30), "日本 \u2003 né", "", "a b",
    ]  # fmt: skip
    for text, tags, found in zip(texts, labeller.label(texts), labeller.probabilities(texts), strict=True):
        assert len(tags.split()) == len(text.split()) == len(found)
        assert set(tags.split()) <= set(LABELS["tag"])
        assert [labeller.labels[best] for best in found.argmax(-1)] == tags.split()


def test_parts_of_a_long_text_are_read_like_texts_of_their_own(make_folder) -> None:
    labeller = Labeller.load(make_folder("tag", "model.kind=rnn", tokenizer="word"))
    words = ["the", "cat", "sat", "on", "the", "mat", "a", "small", "dog", "ran", "unlikely"]  # 11 words, 9 fit
    found = labeller.probabilities([" ".join(words)])[0]
    apart = labeller.probabilities([" ".join(words[:9]), " ".join(words[9:])])
    assert np.allclose(found, np.concatenate(apart), atol=1e-6)


def test_the_parts_of_a_long_text_vote_by_their_length(make_folder) -> None:
    labeller = Labeller.load(make_folder("classify", "model.kind=rnn", tokenizer="word"))
    words = ["the", "cat", "sat", "on", "the", "mat", "a", "small", "dog", "ran", "unlikely"]
    found = labeller.probabilities([" ".join(words)])[0]
    first, second = labeller.probabilities([" ".join(words[:9]), " ".join(words[9:])])
    assert np.allclose(found, (11 * first + 4 * second) / 15, atol=1e-6)  # places with BOS and EOS


@pytest.mark.parametrize(
    ("words", "most", "parts"),
    [
        ([0, 1, 2], 3, [(0, 3)]),
        ([], 3, [(0, 0)]),
        ([0, 0, 1, 1, 2], 3, [(0, 2), (2, 5)]),
        ([0, 1, 1, 1, 1, 1, 2], 2, [(0, 1), (1, 3), (3, 5), (5, 7)]),  # a word of five pieces
        ([0, NO_WORD, 1, NO_WORD, 2, 2], 3, [(0, 2), (2, 4), (4, 6)]),
        ([NO_WORD] * 5, 2, [(0, 2), (2, 4), (4, 5)]),
        ([0, NO_WORD, NO_WORD, 0], 2, [(0, 2), (2, 4)]),
    ],
)
def test_cuts_stand_before_words(words, most, parts) -> None:
    assert [(part.start, part.stop) for part in cut_at_words(words, most)] == parts


def test_the_n_best_labels_with_their_log_probabilities(make_folder) -> None:
    labeller = Labeller.load(make_folder("classify", "model.kind=rnn"))
    (ranked,), (found,) = labeller.hypotheses(["the cat"], n_best=3), labeller.probabilities(["the cat"])
    assert [answer.text for answer in ranked] == [labeller.labels[i] for i in np.argsort(-found)]
    assert [answer.score for answer in ranked] == pytest.approx(sorted(np.log(found), reverse=True), abs=1e-5)
    with pytest.raises(UsageError, match="--n-best 4: the model knows 3 labels"):
        labeller.hypotheses(["the cat"], n_best=4)


@pytest.mark.parametrize(
    ("call", "option"),
    [
        (lambda model: model.hypotheses(["x"], 5), "--beam"),
        (lambda model: model.hypotheses(["x"], min_length=2), "--min-length"),
        (lambda model: model.hypotheses(["x"], prefixes="a"), "--prefix "),
        (lambda model: model.hypotheses(["x"], n_best=2), "--n-best"),
        (lambda model: model.sample(["x"], 2), "--sample"),
        (lambda model: model.alternatives(["x"], 2), "--alternatives"),
    ],
)
def test_what_is_for_search_is_refused(call, option, make_folder) -> None:
    with pytest.raises(UsageError, match="trained for 'tag' and uses no search") as caught:
        call(Labeller.load(make_folder("tag", "model.kind=rnn")))
    assert str(caught.value).startswith(option)


def test_a_folder_is_opened_for_what_it_was_trained_to_do(make_folder, tiny_model) -> None:
    folders = {task: make_folder(task, "model.kind=rnn") for task in ("classify", "tag", "masked")}
    kinds = {task: type(load_answering([folder])).__name__ for task, folder in folders.items()}
    assert kinds == {"classify": "Labeller", "tag": "Labeller", "masked": "GapFiller"}
    assert type(load_answering([tiny_model])).__name__ == "Translator"
    with pytest.raises(UsageError, match="only models that translate"):
        load_answering([folders["tag"], folders["classify"]])
    with pytest.raises(UsageError, match="trained for 'tag'; it writes no text"):
        Translator.load(folders["tag"])
    assert type(seqloom.load(folders["tag"])).__name__ == "Labeller"
    assert load_answering([folders["tag"]]).translate("the cat").count(" ") == 1


@pytest.mark.parametrize("tokenizer", ["bpe", "char", "word"])
def test_gaps_are_filled_and_the_rest_stays(tokenizer, make_folder) -> None:
    filler = GapFiller.load(make_folder("masked", "model.kind=transformer", "data.max_tokens=30", tokenizer=tokenizer))
    texts = ["the ___ sat", "___ cat", "the cat ___", "no gap", "", "___ the ___"]
    found = filler.fill(texts)
    assert found[3:5] == ["no gap", ""]
    assert not [text for text in found if "___" in text or "<" in text]
    assert found[0].startswith("the") and found[0].endswith(" sat")
    assert found[2].startswith("the cat") and len(found[2]) >= len("the cat")
    assert filler.fill([texts[0]]) == found[:1]
    with pytest.raises(UsageError, match="the model takes 30"):
        filler.fill(["the cat " * 40 + "___"])


def test_an_unknown_word_is_no_gap_and_stays(make_folder) -> None:
    filler = GapFiller.load(make_folder("masked", "model.kind=transformer", tokenizer="word"))
    with torch.no_grad():
        filler.model.output.bias[FIRST_WORD + 1] = 999.0
    word = filler.tokenizers.source.decode([FIRST_WORD + 1])
    texts = ["Zebra ___ sat", "___ zebra ___", "the ___ mat"]
    assert filler.fill(texts) == [text.replace("___", word) for text in texts]


@pytest.mark.parametrize(("text", "asked"), [("a b c", "a ___ c"), ("a", "___"), ("a b", "a ___"), ("", "")])
def test_a_word_in_the_middle_becomes_a_gap(text, asked) -> None:
    assert with_a_gap(text) == (asked or "___")


def test_a_model_for_something_else_is_refused(make_folder) -> None:
    with pytest.raises(UsageError, match="trained for 'masked'; Labeller needs one for 'classify' or 'tag'"):
        Labeller.load(make_folder("masked", "model.kind=rnn"))
    with pytest.raises(UsageError, match="trained for 'tag'; GapFiller needs one for 'masked'"):
        GapFiller.load(make_folder("tag", "model.kind=rnn"))


def test_a_label_that_is_all_but_impossible_has_a_finite_score(make_folder) -> None:
    labeller = Labeller.load(make_folder("classify", "model.kind=rnn"))
    with torch.no_grad():
        labeller.model.output.bias[FIRST_WORD] = 500.0
    ((first, *_, last),) = labeller.hypotheses(["the cat"], n_best=3)
    assert first.score == 0 and -100 < last.score < -80


def test_the_n_best_fillings_are_the_likeliest_of_all(make_folder) -> None:
    """Two gaps, every pair of tokens tried: the probability of a filling is the product over its gaps."""
    filler = GapFiller.load(make_folder("masked", "model.kind=transformer", "data.max_tokens=30", tokenizer="word"))
    ids, gaps = filler.with_gaps("the ___ sat ___")
    ((first, second),) = filler.read([ids], [[place + 1 for place in gaps]])
    products = np.log(np.outer(first, second))
    wanted = np.sort(products.ravel())[::-1][:7]
    (ranked,) = filler.hypotheses(["the ___ sat ___"], n_best=7)
    assert [answer.log_prob for answer in ranked] == pytest.approx(wanted, abs=1e-4)
    assert [answer.score for answer in ranked] == pytest.approx(wanted / 2, abs=1e-4)
    assert len({answer.text for answer in ranked}) == 7
    words = filler.tokenizers.source.decode
    row, column = np.unravel_index(products.argmax(), products.shape)
    assert ranked[0].text == f"the {words([row + FIRST_WORD])} sat {words([column + FIRST_WORD])}"
    assert filler.fill(["the ___ sat ___"]) == [ranked[0].text]
    assert [len(found) for found in filler.hypotheses(["no gap", "a ___"], n_best=10**6)] == [1, len(first)]
    assert filler.translate(["  ", "no gap"]) == ["  ", "no gap"]


def test_the_command_ranks_fillings(seqloom, make_folder) -> None:
    folder = make_folder("masked", "model.kind=transformer", "data.max_tokens=30", tokenizer="word")
    done = seqloom("translate", folder, "--n-best", "3", "--scores", stdin="the ___ sat\nno gap\n")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [line for line, _, _ in rows] == ["1", "1", "1", "2"]
    scores = [float(score) for _, score, _ in rows[:3]]
    assert scores == sorted(scores, reverse=True)
    assert all(text.startswith("the ") and text.endswith(" sat") for _, _, text in rows[:3])
    assert rows[3][2] == "no gap"


@pytest.mark.parametrize("task", ["classify", "tag", "masked"])
def test_a_reader_as_a_plain_module(task, make_folder) -> None:
    """Its logits are those behind the probabilities of the labels; a loss on them reaches every weight."""
    model = seqloom.load(make_folder(task, "model.kind=transformer"))
    (ids,) = model.module.batch(["the cat", "a dog"])
    logits = model.module(ids)
    places = 1 if task == "classify" else ids.shape[1]
    assert logits.shape == (2, places, len(model.tokenizers.target))
    (wanted,) = model.read([model.pieces(["the cat"])[0].ids])
    own = logits[0, : len(wanted), FIRST_WORD:].softmax(-1)
    torch.testing.assert_close(own, wanted, atol=1e-5, rtol=1e-4)
    logits.sum().backward()
    assert all(weights.grad is not None for weights in model.module.parameters())
    with pytest.raises(UsageError, match=r"wants module\(ids\)"):
        model.module(ids, ids)
    assert "module" in dir(model) and "read" not in dir(model)
    assert list(model.translate(iter(["the cat"]))) == [model.translate("the cat")]
