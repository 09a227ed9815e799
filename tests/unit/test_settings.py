"""How a run comes to its settings: recipe, overrides, budget, machine, file names; and what may change later."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom.config import Config, DataConfig, dump_config, load_config
from seqloom.config.recipes import find_recipe
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import UsageError
from seqloom.runtime.engines import usable_cores
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.training import choose_recipe as choose
from seqloom.training import precision
from seqloom.training.choose_recipe import choose_recipe
from seqloom.training.request import TrainRequest
from seqloom.training.resume import check_same_data, check_same_settings
from seqloom.training.settings import look_ahead, settle_config

RECIPE = """
[train]
max_epochs = 7
schedule = "cosine"
"""


@pytest.fixture
def spec(tmp_path: Path) -> CorpusSpec:
    (tmp_path / "a.en").write_text("one two three four\n" * 3, "utf-8")
    (tmp_path / "a.fr").write_text("un deux trois quatre cinq\n" * 3, "utf-8")
    return CorpusSpec.parse(f"{tmp_path}/a.en,{tmp_path}/a.fr")


def settle(tmp_path: Path, spec: CorpusSpec, *overrides: str, budget: float | None = None) -> Config:
    (tmp_path / "recipe.toml").write_text(RECIPE, "utf-8")
    return settled(tmp_path / "run", spec, *overrides, recipe=str(tmp_path / "recipe.toml"), budget=budget)


def settled(out: Path, spec: CorpusSpec, *overrides: str, **options: Any) -> Config:
    request = TrainRequest((spec.name,), out, overrides=overrides, **options)
    return settle_config(request, [spec], look_ahead(request))


def test_the_recipe_and_what_lies_over_it(tmp_path: Path, spec: CorpusSpec) -> None:
    config = settle(tmp_path, spec, "model.width=64", "train.threads=3")
    assert (config.train.max_epochs, config.model.width, config.train.threads) == (7, 64, 3)


@pytest.mark.parametrize("able", [False, True])
def test_the_precision_is_settled_once_and_stays_with_the_run(
    able: bool, tmp_path: Path, spec: CorpusSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "has_bfloat16", lambda device: able)
    wide, narrow = settle(tmp_path, spec, "model.width=128"), settle(tmp_path, spec, "model.width=124")
    assert wide.train.precision == ("bfloat16" if able else "float32")
    assert narrow.train.precision == "float32"  # products so small win nothing
    for wanted in ("float32", "bfloat16"):
        assert settle(tmp_path, spec, f"train.precision={wanted}").train.precision == wanted


def test_a_torch_that_does_not_know_the_processor_trains_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    for name in precision.INSTRUCTIONS:
        monkeypatch.setattr(torch.cpu, name, lambda: True)
        assert precision.has_bfloat16(cpu)
        monkeypatch.delattr(torch.cpu, name)
    assert not precision.has_bfloat16(cpu)


def test_a_run_goes_on_with_the_precision_it_has(
    tmp_path: Path, spec: CorpusSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another machine too; a folder from before the setting was trained in float32."""
    monkeypatch.setattr(precision, "has_bfloat16", lambda device: True)
    run, settled = tmp_path / "run", settle(tmp_path, spec)
    run.mkdir()
    (run / "run.json").write_text("{}", "utf-8")
    for saved, now in (("auto", "float32"), ("float32", "float32"), ("bfloat16", "bfloat16")):
        begun = replace(settled, train=replace(settled.train, precision=saved))
        (run / "config.toml").write_text(dump_config(begun), "utf-8")
        assert settle(tmp_path, spec).train.precision == now
        check_same_settings(run, settle(tmp_path, spec))
    with pytest.raises(UsageError, match=r"train.precision: 'bfloat16' there, 'float32' now"):
        check_same_settings(run, settle(tmp_path, spec, "train.precision=float32"))


def test_a_setting_of_another_family_that_would_do_nothing_is_refused(tmp_path: Path, spec: CorpusSpec) -> None:
    with pytest.raises(
        UsageError, match=r"--set model\.cell=lstm: model\.cell is only for model\.kind = rnn, but here"
    ):
        settle(tmp_path, spec, "model.cell=lstm")
    with pytest.raises(UsageError, match=r"model\.heads is only for model\.kind = transformer, but here it is rnn"):
        settle(tmp_path, spec, "model.kind=rnn", "model.heads=2")
    with pytest.raises(
        UsageError, match=r"task\.hide is only for task\.name = masked or denoise, but here it is translate"
    ):
        settle(tmp_path, spec, "task.hide=0.3")
    assert settle(tmp_path, spec, "model.kind=rnn", "model.cell=lstm").model.cell == "lstm"


def test_what_is_asked_of_a_tokenizer_that_is_given_is_refused(tmp_path: Path, spec: CorpusSpec) -> None:
    both = learn_tokenizer("word", ["one two", "un deux"], 50)
    Tokenizers(both, both).save(tmp_path / "old")

    def settle_given(*overrides: str) -> Config:
        return settled(tmp_path / "run", spec, *overrides, tokenizer=tmp_path / "old")

    assert settle_given("model.width=64").text.vocab_size == len(both)
    with pytest.raises(UsageError, match=r"--set text.vocab_size=9: the tokenizer is taken from .*old, not learned"):
        settle_given("model.width=64", " text.vocab_size=9")
    with pytest.raises(UsageError, match=r"--set text.vocab_size=9: the tokenizer is taken from r/bert, not learned"):
        settle_given("train.init=r/bert", "text.vocab_size=9")  # whose tokenizer was copied


def test_a_given_tokenizer_must_fit_the_model(tmp_path: Path, spec: CorpusSpec) -> None:
    sides = (learn_tokenizer("char", ["a"], 300), learn_tokenizer("char", ["b"], 300))
    Tokenizers(*sides).save(tmp_path)
    (tmp_path / "recipe.toml").write_text(RECIPE, "utf-8")
    given = {"recipe": str(tmp_path / "recipe.toml"), "tokenizer": tmp_path}
    with pytest.raises(UsageError, match=r"the tokenizer of .* does not fit: model.kind = gpt .* text.joint = true"):
        settled(tmp_path / "run", spec, "model.kind=gpt", **given)


def test_a_run_that_goes_on_from_an_earlier_model_refuses_them_too(tmp_path: Path, spec: CorpusSpec) -> None:
    with pytest.raises(UsageError, match=r"--set text.vocab_size=9: the tokenizer is taken from r/bert, not learned"):
        settle(tmp_path, spec, "train.init=r/bert", "text.vocab_size=9")


def test_languages_come_from_the_names_unless_given(tmp_path: Path, spec: CorpusSpec) -> None:
    assert settle(tmp_path, spec).data.source_lang == "en"
    config = settle(tmp_path, spec, "data.target_lang=br")
    assert (config.data.source_lang, config.data.target_lang) == ("en", "br")


def test_the_number_of_threads_is_written_down(
    tmp_path: Path, spec: CorpusSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert settle(tmp_path, spec).train.threads == usable_cores() > 0
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert settle(tmp_path, spec).train.threads == 7
    assert settle(tmp_path, spec, "train.threads=3").train.threads == 3


def test_a_budget_replaces_the_limits_of_the_recipe_but_not_those_by_hand(tmp_path: Path, spec: CorpusSpec) -> None:
    assert settle(tmp_path, spec, budget=60.0).train.max_epochs == 0
    config = settle(tmp_path, spec, "train.max_steps=9", budget=60.0)
    assert (config.train.max_steps, config.train.max_epochs) == (9, 0)


def test_without_a_recipe_a_run_that_goes_on_keeps_its_own(tmp_path: Path, spec: CorpusSpec) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.toml").write_text(dump_config(replace(Config(), data=DataConfig(max_chars=77))), "utf-8")
    refused = settled(run, spec)
    assert refused.data.max_chars != 77, "a run that was refused before it began left nothing that holds"
    (run / "run.json").write_text("{}", "utf-8")
    said: list[str] = []
    assert settled(run, spec, tell=said.append).data.max_chars == 77
    assert said == []


def test_without_a_recipe_a_new_run_says_which_and_why(tmp_path: Path, spec: CorpusSpec) -> None:
    said: list[str] = []
    assert settled(tmp_path / "new", spec, tell=said.append).model.kind == "transformer"
    assert "recipe transformer-small with model.positions=rotary: " in said[0]
    assert "sentences" in said[0]


def test_single_words_are_read_by_characters(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("hello\thɛloʊ\nworld\twɜːld\n", "utf-8")
    choice = choose_recipe("translate", [CorpusSpec.parse(str(tmp_path / "words.tsv"))], DataConfig())
    assert choice.recipe == "characters-rnn"
    assert "characters" in choice.reason


@pytest.mark.parametrize(("number", "epochs"), [(100, 300), (20_000, 20), (3_000_000, 1)])
def test_the_size_of_the_data_decides_the_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, epochs: int
) -> None:
    (tmp_path / "pairs.tsv").write_text(
        "a sentence of some fifty letters, more or less so\tune phrase de lettres\n", "utf-8"
    )
    monkeypatch.setattr(choose, "estimate_pairs", lambda specs, sizes: number)
    choice = choose_recipe("translate", [CorpusSpec.parse(str(tmp_path / "pairs.tsv"))], DataConfig())
    assert choice.settings == (f"train.max_epochs={epochs}", "model.positions=rotary")
    assert f"{number:,} pairs" in choice.reason


def test_the_pairs_are_counted_and_their_number_is_estimated_only_where_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file sorted by length, as many are: its first lines are short."""
    lines = [f"{'a ' * (1 + number // 100)}\t{'b ' * (1 + number // 100)}\n" for number in range(9000)]
    (tmp_path / "pairs.tsv").write_text("".join(lines), "utf-8")
    spec = CorpusSpec.parse(str(tmp_path / "pairs.tsv"))
    assert choose_recipe("translate", [spec], DataConfig()).reason == "sentences (typical: 90 characters), 9,000 pairs"
    assert "18,000 pairs" in choose_recipe("translate", [spec, spec], DataConfig()).reason
    monkeypatch.setattr(choose, "LOOKED_AT", 8000)
    found = int(choose_recipe("translate", [spec], DataConfig()).reason.split("about ")[1].split()[0].replace(",", ""))
    assert 9000 <= found < 11_000


def test_a_few_words_with_a_blank_are_still_words(tmp_path: Path) -> None:
    for blanks, recipe in ((9, "characters-rnn"), (50, "transformer-small")):
        lines = ["ice cream\ta is\n"] * blanks + ["ice\tais\n"] * (1000 - blanks)
        (tmp_path / "words.tsv").write_text("".join(lines), "utf-8")
        choice = choose_recipe("translate", [CorpusSpec.parse(str(tmp_path / "words.tsv"))], DataConfig())
        assert choice.recipe == recipe


@pytest.mark.parametrize("settings", [["train.max_steps=5"], ["train.max_epochs=2"]])
def test_the_epochs_of_the_recipe_are_told_only_where_they_hold(
    tmp_path: Path, spec: CorpusSpec, settings: list[str]
) -> None:
    said: list[str] = []
    settled(tmp_path / "a", spec, tell=said.append)
    assert "epochs" in said[0]
    settled(tmp_path / "b", spec, *settings, tell=said.append)
    assert "epochs" not in said[1]
    settled(tmp_path / "c", spec, tell=said.append, budget=60.0)
    assert "epochs" not in said[2]


def test_the_chosen_transformer_has_rotary_positions_unless_the_user_wants_others(
    tmp_path: Path, spec: CorpusSpec
) -> None:
    assert settled(tmp_path / "a", spec).model.positions == "rotary"
    assert settled(tmp_path / "b", spec, "model.positions=sinusoidal").model.positions == "sinusoidal"
    assert settled(tmp_path / "c", spec, recipe="transformer-small").model.positions == "sinusoidal"


def test_settings_of_the_chosen_recipe_may_be_changed(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("hello\thɛloʊ\nworld\twɜːld\n", "utf-8")
    spec = CorpusSpec.parse(str(tmp_path / "words.tsv"))
    config = settled(tmp_path / "run", spec, "model.embed_size=32")
    assert (config.model.kind, config.model.embed_size) == ("rnn", 32)


def saved(tmp_path: Path, config: Config) -> Path:
    (tmp_path / "config.toml").write_text(dump_config(config), "utf-8")
    return tmp_path


def test_other_settings_are_refused_with_a_diff(tmp_path: Path) -> None:
    config = Config()
    wanted = replace(config, model=replace(config.model, width=512), train=replace(config.train, seed=5))
    with pytest.raises(UsageError, match=r"(?s)model.width: 256 there, 512 now.*train.seed: 1 there, 5 now"):
        check_same_settings(saved(tmp_path, config), wanted)


@pytest.mark.parametrize("change", [{"max_steps": 9}, {"max_epochs": 9}, {"log_every": 1}, {"patience": 3}])
def test_what_ends_a_run_later_or_only_says_more_may_change(tmp_path: Path, change: dict[str, int]) -> None:
    config = Config()
    check_same_settings(saved(tmp_path, config), replace(config, train=replace(config.train, **change)))


def test_other_data_is_refused(tmp_path: Path) -> None:
    check_same_data(tmp_path, "abc", "abc")
    with pytest.raises(UsageError, match="other data"):
        check_same_data(tmp_path, "abc", "abd")


@pytest.mark.parametrize(("task", "begun", "recipe"), [
    ("classify", False, "classify-lstm"), ("classify", True, "finetune-labels"), ("tag", False, "tag-bilstm"),
    ("tag", True, "finetune-labels"), ("masked", True, "bert-small"),
])  # fmt: skip
def test_labels_have_a_recipe_of_their_own_and_another_one_from_an_earlier_model(task, begun, recipe) -> None:
    choice = choose_recipe(task, [], DataConfig(), begun)
    assert choice.recipe == recipe
    assert load_config(find_recipe(recipe), choice.settings).task.name == task
