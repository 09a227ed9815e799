"""--init, rates and adapters by `seqloom.train`: which tensors are copied, and exact resume of such runs."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from seqloom.config import dump_config, load_config
from seqloom.config.recipes import find_recipe
from seqloom.errors import ModelError, UsageError
from seqloom.models.build import build_model
from seqloom.runtime.folder import load_model, open_run
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.training.init_from import Beginning, begin
from seqloom.training.loop import Loop
from seqloom.training.request import TrainRequest
from seqloom.training.settings import look_ahead
from seqloom.workflows.train import train

SHAPE = ["model.kind=transformer", "model.layers=1", "model.width=8", "model.heads=2", "text.tokenizer=char"]
TRAIN = [
    "train.max_steps=6",
    "train.valid_every=4",
    "train.save_every=2",
    "train.warmup=2",
    "train.average=1",
    "train.batch_tokens=1024",
    "train.threads=1",
    "data.valid_pairs=10",
    "data.max_tokens=60",
]


class Killed(Exception):
    """Stands for a kill: nothing is saved on the way out."""


@pytest.fixture(scope="module")
def text(tiny_pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = [line.partition("\t")[0] for line in tiny_pairs.read_text("utf-8").splitlines()]
    file = tmp_path_factory.mktemp("text") / "plain.txt"
    file.write_text("".join(f"{a} {b} . {c} {a} !\n" for a, b, c in zip(words, words[7:], words[3:], strict=False)))
    return file


def denoise(text: Path, out: Path) -> Any:
    settings = [*SHAPE, *TRAIN, "task.hide=0.3", "task.permute=true"]
    return train(text, out=out, task="denoise", recipe="transformer-small", overrides=settings, quiet=True)


@pytest.fixture(scope="module")
def old(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A denoiser to begin from."""
    folder = tmp_path_factory.mktemp("init") / "old"
    denoise(text, folder)
    return folder


@pytest.fixture
def begun(old: Path, tiny_pairs: Path) -> Callable[..., Any]:
    """begun(out, *settings, **options): a training that begins from it."""

    def run(out: Path, *settings: str, **options: Any) -> Any:
        options = {"pairs": tiny_pairs, "init": old, "recipe": "transformer-small", "quiet": True} | options
        return train(out=out, overrides=[*TRAIN, *settings], **options)

    return run


RATES = ("train.rates=encoder=0.1, source_table=0",)
ADAPTERS = ("model.adapter_rank=2", "train.rates=output=0.5")


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", [pytest.param("denoise", marks=pytest.mark.slow), "adapters"])
def test_killed_and_begun_again_it_ends_in_the_same_bits(
    kind: str, text: Path, begun: Any, old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(out: Path) -> None:
        denoise(text, out) if kind == "denoise" else begun(out, *ADAPTERS)

    run(tmp_path / "whole")
    update, left = Loop.update, [1]

    def dying(self: Loop) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        update(self)

    monkeypatch.setattr(Loop, "update", dying)
    for updates in (1, 3):  # before the first checkpoint, and after it
        left[0] = updates
        with pytest.raises(Killed):
            run(tmp_path / "run")
    left[0] = 100
    old.rename(old.with_name("away"))  # a run that goes on asks it for nothing
    try:
        run(tmp_path / "run")
    finally:
        old.with_name("away").rename(old)
    assert sha256(tmp_path / "run" / "model.safetensors") == sha256(tmp_path / "whole" / "model.safetensors")


def test_what_was_taken_is_recorded_and_the_tokenizer_came_along(begun: Any, old: Path, tmp_path: Path) -> None:
    begun(tmp_path / "run", "train.learning_rate=0")
    record = json.loads((tmp_path / "run" / "started_from.json").read_text())
    assert record["from"] == str(old)
    assert record["step"] == 6
    assert not record["new"]
    assert f"| Begins from | {old} |" in (tmp_path / "run" / "card.md").read_text("utf-8")
    before, after = (load_file(folder / "model.safetensors") for folder in (old, tmp_path / "run"))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert open_run(old).tokenizers.fingerprint == open_run(tmp_path / "run").tokenizers.fingerprint
    assert open_run(tmp_path / "run").config.model.width == 8  # of the old model, not of the recipe


def test_a_frozen_part_ends_as_it_began(begun: Any, old: Path, tmp_path: Path) -> None:
    begun(tmp_path / "run", *RATES)
    before, after = (load_file(folder / "model.safetensors") for folder in (old, tmp_path / "run"))
    same = {name for name in before if torch.equal(before[name], after[name])}
    assert same == {"output.weight"}  # the tied table, under the first of its names


def test_adapters_change_attention_alone_and_are_merged_in_the_end(begun: Any, old: Path, tmp_path: Path) -> None:
    begun(tmp_path / "run", *ADAPTERS)
    before, after = (load_file(folder / "model.safetensors") for folder in (old, tmp_path / "run"))
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    matrices = {name for name in before if name.endswith(("W_q.weight", "W_kv.weight", "W_o.weight"))}
    assert changed == matrices | {"output.weight", "output.bias"}  # these by train.rates
    model = load_model(open_run(tmp_path / "run"))
    assert not [name for name, _ in model.named_parameters() if "adapter" in name]


def test_init_by_another_spelling_or_from_nowhere(begun: Any, old: Path, tiny_pairs: Path, tmp_path: Path) -> None:
    begun(tmp_path / "run", "train.max_steps=2")
    begun(tmp_path / "run", "train.max_steps=2", init=f"{old}/")
    with pytest.raises(UsageError, match=r"train.init: .* there, '' now"):
        begun(tmp_path / "run", init=None, recipe="transformer-small")
    with pytest.raises(ModelError, match="no such folder"):
        begun(tmp_path / "other", init=old / "missing")
    assert not (tmp_path / "other" / "config.toml").exists()


def test_another_tokenizer_is_refused_its_own_is_not(begun: Any, old: Path, tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="whose weights fit only its own tokens"):
        begun(tmp_path / "run", tokenizer=tiny_model)
    begun(tmp_path / "run", "train.max_steps=2", tokenizer=old)


def test_a_part_that_is_not_there_is_refused_and_can_be_put_right(begun: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'encoder'"):
        begun(tmp_path / "run", "train.rates=encodr=0")
    begun(tmp_path / "run", "train.rates=encoder=0", "train.max_steps=2")


def test_nothing_that_fits_is_an_error(begun: Any, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"none of its matrices fits a .* for the task 'language'\. Start from another",
    ):
        begun(
            tmp_path / "run", "model.kind=gpt", "model.width=4", "model.tied=false", "model.layers=2", task="language"
        )


def test_a_denoiser_becomes_a_classifier(begun: Any, old: Path, tiny_pairs: Path, tmp_path: Path) -> None:
    """The labels are the data's, the rest is taken; and it goes on though its folder holds two tokenizers by now."""
    labelled = tmp_path / "labelled.tsv"
    words = [line.partition("\t")[0] for line in tiny_pairs.read_text("utf-8").splitlines()]
    labelled.write_text("".join(f"{'long' if len(word) > 4 else 'short'}\t{word}\n" for word in words))
    begun(tmp_path / "run", pairs=labelled, task="classify")
    record = json.loads((tmp_path / "run" / "started_from.json").read_text())
    assert set(record["new"]) == {"output.weight", "output.bias"}
    begun(tmp_path / "run", "train.max_steps=8", pairs=labelled, task="classify")


def test_a_classifier_goes_on_with_new_data_and_the_labels_it_knows(
    begun: Any, tiny_pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The most frequent label comes first, so other data has another order; a label that is new begins afresh."""
    words = [line.partition("\t")[0] for line in tiny_pairs.read_text("utf-8").splitlines()]

    def train_on(out: str, labels: list[str], **options: Any) -> dict[str, torch.Tensor]:
        file = tmp_path / f"{out}.tsv"
        file.write_text("".join(f"{labels[len(word) % len(labels)]}\t{word}\n" for word in words))
        begun(tmp_path / out, "train.learning_rate=0", pairs=file, task="classify", **options)
        pieces = open_run(tmp_path / out).tokenizers.target.tokens()
        return dict(zip(pieces, load_file(tmp_path / out / "model.safetensors")["output.weight"], strict=True))

    first = train_on("first", ["a", "b", "b", "b"])
    turned = train_on("turned", ["b", "a", "a", "a"], init=tmp_path / "first", quiet=False)
    assert [*first] != [*turned]
    assert all(torch.equal(first[label], turned[label]) for label in first)
    assert f"output: 2 tensors from {tmp_path / 'first'}" in capsys.readouterr().err
    more = train_on("more", ["c", "b"], init=tmp_path / "first", quiet=False)
    assert torch.equal(first["▁b"], more["▁b"])
    assert f"output: 1 of 2 labels from {tmp_path / 'first'}" in capsys.readouterr().err


LEARNED = "model.positions=learned data.max_tokens=128"


@pytest.mark.parametrize(
    ("origin", "task", "recipe", "settings", "most"),
    [
        (f"task.name=masked {LEARNED}", "classify", "finetune-labels", "", 128),
        (f"task.name=masked {LEARNED}", "tag", None, "", 128),
        (f"task.name=masked {LEARNED}", "tag", "finetune-labels", "data.max_tokens=200", 200),  # by hand
        (f"task.name=denoise {LEARNED}", "classify", "finetune-labels", "", 128),
        ("task.name=masked data.max_tokens=128", "classify", "finetune-labels", "", 250),  # sinusoids know no end
        (f"task.name=masked {LEARNED}0 train.batch_tokens=5000", "classify", "finetune-labels", "", 250),
        (f"task.name=denoise {LEARNED}", "translate", "transformer-small", "", 250),
        (f"task.name=language model.kind=gpt {LEARNED}", "classify", "finetune-labels", "", 250),  # by its window
    ],
)
def test_a_reader_reads_no_further_than_the_learned_places(
    origin: str, task: str, recipe: str | None, settings: str, most: int, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "config.toml").write_text(dump_config(load_config(overrides=origin.split())), "utf-8")
    given = [*settings.split(), f"task.name={task}", f"train.init={tmp_path / 'old'}"]
    request = TrainRequest(("pairs.tsv",), tmp_path / "new", recipe=recipe, overrides=tuple(given))
    preview = look_ahead(request)
    known = Beginning.of(request, preview.init, preview.max_tokens).settings(task)
    config = load_config(find_recipe(recipe or "finetune-labels"), [*known, *given])
    assert config.data.max_tokens == most


@pytest.mark.parametrize("task", ["classify", "language"])
def test_word_vectors_of_a_file_begin_the_table(task: str, tmp_path: Path) -> None:
    (tmp_path / "words.vec").write_text("2 4\ncat 3 1 -2 0\ndog 0 -5 1 2\n")
    kind = "rnn" if task == "language" else "bag"
    settings = [f"task.name={task}", f"model.kind={kind}", "model.width=4", f"model.vectors={tmp_path / 'words.vec'}"]
    config = load_config(overrides=settings)
    tokenizer = learn_tokenizer("word", ["the cat sat", "Cat"], 50)
    tokenizers = Tokenizers(tokenizer, tokenizer)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    table = model.target_table if task == "language" else model.source_table
    before, told = table.weight.detach().clone(), []
    begin(model, tmp_path, config, tokenizers, fresh=False, tell=told.append)
    assert torch.equal(table.weight, before)  # a checkpoint will fill it
    begin(model, tmp_path, config, tokenizers, fresh=True, tell=told.append)
    found = [row for row, piece in enumerate(tokenizer.pieces(range(len(tokenizer)))) if piece.lower().endswith("cat")]
    assert len(found) == 2
    for row in found:
        cosine = torch.nn.functional.cosine_similarity(table.weight[row], torch.tensor([3.0, 1, -2, 0]), dim=0)
        assert cosine.item() == pytest.approx(1)
    rest = [row for row in range(len(tokenizer)) if row not in found]
    assert torch.equal(table.weight[rest], before[rest])
    assert told == [f"word vectors: 2 of {len(tokenizer)} tokens are in {tmp_path / 'words.vec'}"]


def test_word_vectors_that_know_no_token_are_refused(tmp_path: Path) -> None:
    (tmp_path / "words.vec").write_text("2 4\nKatze 3 1 -2 0\nHund 0 -5 1 2\n")
    config = load_config(overrides=["model.width=4", "model.heads=2", f"model.vectors={tmp_path / 'words.vec'}"])
    tokenizer = learn_tokenizer("word", ["the cat sat"], 50)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    with pytest.raises(UsageError, match=r"model.vectors = .*words.vec: it has none of the 7 tokens.*tokenizer=word"):
        begin(model, tmp_path, config, Tokenizers(tokenizer, tokenizer), fresh=True, tell=print)
