"""Built-in recipes: each is complete, builds and trains; those of papers have the papers' sizes."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from seqloom.config import TASKS, Config, load_config, recipes
from seqloom.config.recipes import Recipe, built_in_recipes, find_recipe, first_line, render_recipes
from seqloom.data.batch import Batch, pad_sources, pad_targets
from seqloom.data.language_windows import Windows
from seqloom.errors import UsageError
from seqloom.models.build import build_model
from seqloom.tasks.build import build_task
from seqloom.training.optimizers import make_optimizer
from seqloom.training.precision import products_in
from seqloom.training.resume import flatten

ALL = {recipe.name: recipe for recipe in built_in_recipes()}
PAPERS = {  # parameters in millions, as each paper states them
    "sutskever2014": 384,
    "vaswani2017-base": 65,
    "vaswani2017-big": 213,
}
SMALLEST = 20  # tokens of a vocabulary in these tests


def vocabularies(config: Config) -> tuple[int, int]:
    return config.text.vocab_size, config.text.target_vocab_size or config.text.vocab_size


def count_parameters(config: Config) -> int:
    with torch.device("meta"):
        model = build_model(config, *vocabularies(config), config.text.joint)
    return sum(parameter.numel() for parameter in model.parameters())


def shrunk(config: Config) -> Config:
    """The same kind of model with hardly any width: what is left of a recipe when its size is taken away."""
    model = config.model
    sizes = {"width": 16, "heads": 2, "ffn_size": 8, "embed_size": 8 if model.kind == "rnn" else 0}
    if model.encoder_width:
        sizes["encoder_width"] = 24
    if model.maxout:
        sizes["maxout"] = 4
    return replace(config, model=replace(model, **sizes))


@pytest.mark.parametrize("name", ALL)
def test_every_recipe_reads_and_says_what_it_is_for(name):
    assert load_config(ALL[name].file)
    assert ALL[name].file.read_text("utf-8").startswith("# ")
    assert ALL[name].summary


@pytest.mark.parametrize("name", ALL)
def test_every_recipe_knows_when_to_stop(name):
    train = load_config(ALL[name].file).train
    assert train.max_steps or train.max_epochs


@pytest.mark.parametrize("name", ALL)
def test_every_recipe_builds_at_full_size(name):
    assert count_parameters(load_config(ALL[name].file)) > 10_000


def batch_of(form: str) -> Any:
    """Two records of a task's form, as its loss takes them."""
    src, src_mask = pad_sources([[5, 6, 7], [8, 9]])
    if form == "stream":
        return Windows(src, src.flip(1), fresh=True)
    if form in ("labelled", "tagged"):
        tgt_out = torch.tensor([[10], [12]]) if form == "labelled" else src + 10
        return Batch(src, src_mask, src[:, :0], tgt_out, torch.ones_like(tgt_out, dtype=torch.bool), torch.arange(2))
    return Batch(src, src_mask, *pad_targets([[10, 11, 13], [12]]), torch.arange(2))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ALL)
def test_every_recipe_trains_all_of_its_model_in_one_step(name, precision):
    config = shrunk(load_config(ALL[name].file))
    torch.manual_seed(1)
    model = build_model(config, SMALLEST, SMALLEST, config.text.joint)
    batch = batch_of(TASKS[config.task.name].form)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = make_optimizer(model, config.train)
    with products_in(precision, torch.device("cpu")):
        loss = build_task(config).loss(model, batch, config.train.label_smoothing)
    (loss.smoothed / loss.num_tokens).backward()
    optimizer.step()
    assert not [name for name, parameter in model.named_parameters() if torch.equal(parameter, before[name])]


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_that_states_its_size_has_it(name):
    assert count_parameters(load_config(ALL[name].file)) / 1e6 == pytest.approx(PAPERS[name], rel=0.01)


def test_rnnsearch_of_the_paper_has_the_size_that_follows_from_it():
    """The paper counts no parameters; from its appendix: tables, GRUs in two directions, decoder, score, output."""
    E, H, V, M = 620, 1000, 30_000, 500
    tables, encoder = 2 * V * E, 2 * 3 * H * (E + H)
    decoder, score = 3 * H * (E + 2 * H + H) + H * H, H * (H + 2 * H) + H
    output = 2 * M * (E + H + 2 * H) + V * M
    found = count_parameters(load_config(ALL["bahdanau2015-rnnsearch50"].file))
    assert found == pytest.approx(tables + encoder + decoder + score + output, rel=0.001)  # and the biases
    assert 80e6 < found < 81e6


def test_the_vocabulary_that_the_transformer_paper_names_does_not_make_its_count():
    """What the recipe's comment says of it."""
    config = load_config(ALL["vaswani2017-base"].file, ["text.vocab_size=37000"])
    assert count_parameters(config) / 1e6 == pytest.approx(63.1, abs=0.1)


PUBLISHED = {  # what the papers say beside the sizes; not the gradient's scale, which has a test of its own
    "sutskever2014": {
        "model.cell": "lstm", "model.attention": "none", "model.bidirectional": False, "model.dropout": 0.0,
        "train.optimizer": "sgd", "train.schedule": "halving", "train.warmup": 0, "train.max_steps": 703_000,
        "train.weight_decay": 0.0, "train.label_smoothing": 0.0, "train.average": 1,
        "decode.beam": 12, "decode.length_penalty": 0.0,
    },
    "bahdanau2015-rnnsearch50": {
        "data.max_tokens": 50, "text.tokenizer": "word", "text.joint": False, "text.vocab_size": 30_000,
        "model.cell": "gru", "model.attention": "additive", "model.decoder": "bahdanau", "model.bidirectional": True,
        "model.layers": 1, "model.dropout": 0.0, "train.optimizer": "adadelta", "train.learning_rate": 1.0,
        "train.beta2": 0.95, "train.schedule": "constant", "train.warmup": 0, "train.max_steps": 288_000,
        "train.weight_decay": 0.0, "train.label_smoothing": 0.0, "train.average": 1, "decode.length_penalty": 0.0,
    },
    "vaswani2017-base": {
        "model.norm": "post", "model.positions": "sinusoidal", "model.layers": 6, "model.width": 512,
        "model.heads": 8, "model.ffn_size": 2048, "model.dropout": 0.1, "train.optimizer": "adamw",
        "train.beta2": 0.98, "train.weight_decay": 0.0, "train.clip_norm": 0.0, "train.label_smoothing": 0.1,
        "train.schedule": "inverse_sqrt", "train.warmup": 4000, "train.batch_tokens": 25_000,
        "train.max_steps": 100_000, "train.average": 5, "decode.beam": 4, "decode.length_penalty": 0.6,
    },
}  # fmt: skip
PUBLISHED["vaswani2017-big"] = PUBLISHED["vaswani2017-base"] | {
    "text.vocab_size": 37_000, "model.width": 1024, "model.heads": 16, "model.ffn_size": 4096, "model.dropout": 0.3,
    "train.max_steps": 300_000, "train.average": 20,
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_paper_has_the_papers_settings(name):
    found = flatten(load_config(ALL[name].file))
    assert {setting: found[setting] for setting in PUBLISHED[name]} == PUBLISHED[name]
    assert ALL[name].result.startswith("Published: ")


@pytest.mark.parametrize(
    ("name", "sentences", "norm"), [("sutskever2014", 128, 5), ("bahdanau2015-rnnsearch50", 80, 1)]
)
def test_a_mean_over_sentences_is_one_over_tokens(name, sentences, norm):
    """Of 30 tokens a sentence: the gradient is 30 times as small, and so is the largest norm."""
    train = load_config(ALL[name].file).train
    assert train.batch_tokens == 30 * sentences
    assert train.clip_norm * 30 == pytest.approx(norm, rel=0.02)


def test_settings_of_the_papers():
    sutskever = load_config(ALL["sutskever2014"].file)
    assert sutskever.data.reverse_source and vocabularies(sutskever) == (160_000, 80_000)
    assert (sutskever.model.layers, sutskever.model.width, sutskever.model.init_range) == (4, 1000, 0.08)
    assert not sutskever.model.embed_scale
    assert sutskever.train.learning_rate / 30 == pytest.approx(0.7)
    vaswani = load_config(ALL["vaswani2017-base"].file)
    assert vaswani.train.learning_rate == pytest.approx((512 * 4000) ** -0.5, rel=0.01)
    big = load_config(ALL["vaswani2017-big"].file)
    assert big.train.learning_rate == pytest.approx((1024 * 4000) ** -0.5, rel=0.01)


@pytest.mark.parametrize("name", ["g2p-lstm", "g2p-rnnsearch", "g2p-transformer"])
def test_sounds_are_words_and_spelling_is_letters(name):
    text = load_config(ALL[name].file).text
    assert (text.tokenizer, text.target_tokenizer, text.joint) == ("char", "word", False)


def test_a_recipe_is_found_by_name_or_by_file(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "FOLDER", tmp_path)
    (tmp_path / "steps").mkdir()
    small, inner = tmp_path / "small.toml", tmp_path / "steps" / "first.toml"
    small.write_text("# for small data. Result: 3 BLEU on nothing\n[model]\nwidth = 8\n", "utf-8")
    inner.write_text("# a step Published: 4 BLEU\n", "utf-8")
    assert find_recipe("small") == small
    assert find_recipe(str(small)) == small
    assert find_recipe("steps/first") == inner
    assert built_in_recipes() == [
        Recipe("small", small, "for small data.", "Result: 3 BLEU on nothing"),
        Recipe("steps/first", inner, "a step", "Published: 4 BLEU"),
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("smal", "smal: no such recipe. Did you mean 'small'?"),
        ("steps/frist", "Did you mean 'steps/first'?"),
        ("x.toml", "x.toml: no such recipe file"),
        ("a/b", "a/b"),
    ],
)
def test_a_missing_recipe_is_named(name, said, tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "FOLDER", tmp_path)
    (tmp_path / "steps").mkdir()
    (tmp_path / "small.toml").write_text("# x\n", "utf-8")
    (tmp_path / "steps" / "first.toml").write_text("# x\n", "utf-8")
    with pytest.raises(UsageError) as caught:
        find_recipe(name)
    assert said in str(caught.value)


def test_the_list_shows_what_each_reached(tmp_path):
    found = [
        Recipe("a", tmp_path, "one two three four five six seven eight", "Result: 9 BLEU"),
        Recipe("long-name", tmp_path, "b", ""),
    ]
    assert render_recipes(found, None).splitlines() == [
        "a          one two three four five six seven eight",
        "           Result: 9 BLEU",
        "long-name  b",
    ]
    assert render_recipes(found, 42).splitlines() == [
        "a          one two three four five six",
        "           seven eight",
        "           Result: 9 BLEU",
        "long-name  b",
    ]


def test_an_empty_recipe_says_nothing(tmp_path):
    (tmp_path / "empty.toml").write_text("", "utf-8")
    assert first_line(tmp_path / "empty.toml") == ("", "")


def test_a_rung_named_as_a_ladder_does_is_found_near():
    with pytest.raises(UsageError, match="Did you mean 'ladder/lstm'"):
        find_recipe("lstm")
