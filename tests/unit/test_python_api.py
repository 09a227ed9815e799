"""The public Python names as people call them: settings as a dict, any kind of texts, the model as a torch module."""

import itertools
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import seqloom

SMALL = {
    "model": {"kind": "rnn", "width": 16, "layers": 1, "bidirectional": False},
    "text.tokenizer": "char",
    "train": {"max_steps": 2, "batch_tokens": 256, "valid_every": 2},
    "data.valid_pairs": 20,
}


def test_train_takes_a_dict_and_a_device_and_its_result_is_loaded(tiny_pairs, tmp_path):
    trained = seqloom.train(tiny_pairs, out=tmp_path / "x", overrides=SMALL, device="cpu", threads=1, quiet=True)
    model = trained.load()
    assert (model.config.model.width, model.config.model.bidirectional, trained.facts.step) == (16, False, 2)
    assert isinstance(model.translate("abc"), str)
    assert trained.load(threads=1, device="cpu").translate("abc") == model.translate("abc")


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"model.widht": 8}, "Did you mean 'width'"),
        ({"model": {"width": "wide"}}, "model.width"),
        ({"model": {"bidirectional": "yes"}}, "model.bidirectional"),
        ("model.widht=8", "Did you mean 'width'"),
    ],
)
def test_a_wrong_setting_is_a_sentence(overrides, said, tiny_pairs, tmp_path):
    with pytest.raises(seqloom.UsageError, match=said):
        seqloom.train(tiny_pairs, out=tmp_path / "x", overrides=overrides, quiet=True)
    assert not (tmp_path / "x").exists()


def test_a_wrong_device_is_a_sentence(tiny_pairs, tmp_path):
    with pytest.raises(seqloom.UsageError, match="gpu"):
        seqloom.train(tiny_pairs, out=tmp_path / "x", overrides=SMALL, device="gpu", quiet=True)


@pytest.fixture(scope="module")
def model(tiny_model):
    return seqloom.load(tiny_model)


TEXTS = ["abc", "de", "hgf", ""]


def test_every_collection_of_texts_gives_a_list(model):
    wanted = model.translate(TEXTS)
    assert isinstance(wanted, list)
    for texts in (tuple(TEXTS), np.array(TEXTS), dict.fromkeys(TEXTS).keys()):
        assert model.translate(texts) == wanted
    assert model.hypotheses(tuple(TEXTS)) == model.hypotheses(TEXTS)
    assert [found[0].text for found in model.hypotheses(iter(TEXTS))] == wanted


def test_an_iterator_gives_an_iterator_that_reads_ahead_a_little(model):
    taken = itertools.count()
    endless = (f"abc{next(taken) % 7}" for _ in itertools.count())
    found = model.translate(endless)
    first = list(itertools.islice(found, 3))
    assert first == model.translate(["abc0", "abc1", "abc2"])
    assert next(taken) == 256  # it takes one number itself
    assert list(itertools.islice(found, 254))[-1] == model.translate(f"abc{257 % 7}"), "chunk by chunk, in order"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "want a text or a list of texts, got None: leave missing values out"),
        (3, r"want a text or a list of texts, got 3 \(int\)"),
        (b"abc", "got bytes: decode them first"),
        ({"a": 1}, "want a text or a list of texts"),
        (["abc", None], "line 2: want text, got None: leave missing values out"),
        (["abc", 2.5], r"line 2: want text, got 2.5 \(float\): turn it into text first"),
        (iter(["abc", float("nan")]), r"line 2: want text, got nan \(float\)"),
    ],
)
def test_what_is_no_text_is_named(given, said, model):
    with pytest.raises(seqloom.UsageError, match=said):
        list(model.translate(given))
    if not hasattr(given, "__next__"):
        with pytest.raises(seqloom.UsageError):
            model.hypotheses(given)


def test_one_text_where_a_list_is_wanted_is_named(model):
    with pytest.raises(seqloom.UsageError, match="want a list of texts, got one text"):
        model.hypotheses("abc")


def test_dir_shows_what_is_public(model, tmp_path):
    assert "translate" in dir(model) and "module" in dir(model)
    for private in ("model_given", "said", "open_first", "fill", "intake", "load_model"):
        assert private not in dir(model)
        assert hasattr(model, private)
    (tmp_path / "words.txt").write_text("cat 1 0\ndog 0 1\n", "utf-8")
    vectors = seqloom.load_vectors(tmp_path / "words.txt")
    assert "nearest" in dir(vectors) and "place_of" not in dir(vectors)
    for thing in (model, vectors):
        assert all(hasattr(thing, name) for name in dir(thing))
        assert dir(thing) == sorted(dir(thing))


class TestModule:
    """`seqloom.load(folder).module`: forward(source_ids, target_ids) gives logits."""

    def test_its_logits_are_those_that_score_pairs(self, tiny_model):
        model = seqloom.load(tiny_model)
        module = model.module
        assert isinstance(module, torch.nn.Module)
        source, target, wanted = module.batch(["abc", "hgfed"], ["cba", "d"])
        logits = module(source, target)
        assert logits.shape == (2, 4, len(model.tokenizers.target))
        log_probs = logits.log_softmax(-1).gather(2, wanted[..., None])[..., 0].masked_fill(wanted == 0, 0).sum(1)
        found = [score.log_prob for score in seqloom.score(tiny_model, ["abc", "hgfed"], ["cba", "d"])]
        assert log_probs.tolist() == pytest.approx(found, abs=1e-3)

    def test_a_training_step_of_ones_own_changes_what_the_model_says(self, tiny_model):
        """One pair is learned by heart."""
        model = seqloom.load(tiny_model)
        assert model.translate("abc") != "hhh"
        torch.manual_seed(1)
        module = model.module.train()
        optimizer = torch.optim.Adam(module.parameters(), 0.01)
        source, target, wanted = module.batch(["abc"], ["hhh"])
        losses = []
        for _ in range(80):
            loss = F.cross_entropy(module(source, target).flatten(0, 1), wanted.flatten(), ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.6 < 1.5 < losses[0]
        assert model.translate("abc") == "hhh", "the same object answers with the new weights"
        assert not module.training, "and without dropout"

    def test_the_page_shows_lines_that_run(self, tiny_pairs, tmp_path, monkeypatch):
        page = (Path(__file__).parents[2] / "docs/how-to/train-a-model.md").read_text("utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        blocks = [block for block in blocks if block.startswith("import seqloom")]  # the others have made-up names
        assert len(blocks) == 2
        (tmp_path / "pairs.tsv").write_text(tiny_pairs.read_text("utf-8"), "utf-8")
        monkeypatch.chdir(tmp_path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # the page leaves its file open
            for block in blocks:
                exec(compile(block, "train-a-model.md", "exec"), {})

    def test_padding_changes_nothing(self, tiny_model):
        module = seqloom.load(tiny_model).module
        alone = module(*module.batch(["abc"], ["cba"])[:2])
        beside = module(*module.batch(["abc", "hgfedc"], ["cba", "hgfedc"])[:2])[:1, :4]
        torch.testing.assert_close(alone, beside, atol=1e-5, rtol=1e-5)

    def test_what_it_wants_is_a_sentence(self, tiny_model):
        module = seqloom.load(tiny_model).module
        with pytest.raises(seqloom.UsageError, match=r"wants module\(source_ids, target_ids\)"):
            module(torch.tensor([[5, 2]]))
        with pytest.raises(seqloom.UsageError, match="2 sources and 1 targets"):
            module.batch(["a", "b"], ["c"])
