"""Generating: the model's own distribution, a window that moves along, prompts read as in running text."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from seqloom.config import load_config
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.models.api import LanguageModel
from seqloom.models.build import build_model
from seqloom.runtime.generator import Generator, check_task
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, PAD, UNK

TOKENIZER = learn_tokenizer("char", ["abcde fgh"], 300)
SETTINGS = ["model.kind=gpt", "task.name=language", "task.window=8", "model.width=8", "model.heads=2", "model.layers=1"]


class Counting(LanguageModel):
    """After x comes the letter after x, with a little chance of b; notes how much it reads."""

    context = 6

    def __init__(self, context: int) -> None:
        super().__init__()
        self.context, self.target_vocab_size = context, len(TOKENIZER)
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.readings: list[list[int]] = []
        self.next = dict(zip(*map(TOKENIZER.encode, ("abcdefgh", "bcdefgha")), strict=True))
        self.next[EOS] = TOKENIZER.encode("a")[0]

    def begin(self, rows: int) -> Any:
        return 0

    def read(self, tokens: Tensor, state: Any, trace: Any = None) -> tuple[Tensor, Any]:
        self.readings.append(tokens[0].tolist())
        assert self.context == 0 or state + tokens.shape[1] <= self.context
        follows = torch.tensor([[self.next.get(int(token), 5) for token in tokens[0]]])
        return follows[..., None].double(), state + tokens.shape[1]

    def project(self, hidden: Tensor) -> Tensor:
        logits = torch.zeros(*hidden.shape[:-1], self.target_vocab_size).double()
        logits.scatter_(-1, hidden.long(), 12.0)
        logits[..., TOKENIZER.encode("b")[0]] += 11.0
        return logits


def make(model: LanguageModel) -> Generator:
    return Generator(model, Tokenizers(TOKENIZER, TOKENIZER), load_config(None, SETTINGS))


def build(kind: str) -> Generator:
    torch.manual_seed(3)
    return make(build_model(load_config(None, [*SETTINGS, f"model.kind={kind}"]), len(TOKENIZER), len(TOKENIZER), True))


def test_it_goes_on_and_reads_each_token_once() -> None:
    model = Counting(context=0)
    assert make(model).generate("ab", tokens=5, top_k=1) == "abcdefg"
    assert [len(part) for part in model.readings] == [3, 1, 1, 1, 1]
    assert model.readings[0] == [EOS, *TOKENIZER.encode("ab")]


def test_a_full_window_goes_on_from_its_last_half() -> None:
    model = Counting(context=6)
    assert make(model).generate("abc", tokens=9, top_k=1) == "abcdefghabcd"
    ids = TOKENIZER.encode("abcdefghabcd")
    assert model.readings[0] == [EOS, *ids[:3]]
    assert model.readings[3] == ids[3:6]  # the window had 6, the seventh came
    assert all(len(part) <= 6 for part in model.readings)


def test_a_long_prompt_is_read_from_its_end() -> None:
    model = Counting(context=6)
    assert make(model).generate("abcdefgh" * 5, tokens=2, top_k=1).endswith("hab")
    assert model.readings[0] == TOKENIZER.encode("fgh")


def test_lines_of_a_prompt_end_as_in_a_text() -> None:
    generator = make(Counting(context=0))
    a, b = TOKENIZER.encode("ab")
    assert generator.encode("") == [EOS]
    assert generator.encode("a\r\n\nb") == [EOS, a, EOS, EOS, b]
    assert generator.encode("a\n") == [EOS, a, EOS]
    with pytest.raises(UsageError, match="lone surrogate"):
        generator.encode("a\ud800")


@pytest.mark.parametrize("kind", ["gpt", "rnn"])
def test_the_same_seed_gives_the_same_text(kind: str) -> None:
    generator = build(kind)
    text = generator.generate("ab", tokens=20, seed=2)
    assert text == generator.generate("ab", tokens=20, seed=2)
    assert text != generator.generate("ab", tokens=20, seed=3)
    assert text != "ab" + "".join(generator.stream("ab", 20, seed=2, number=1))
    assert "".join(generator.stream("ab", 20, seed=2)) == text[2:]
    text.encode()


@pytest.mark.parametrize("kind", ["gpt", "rnn"])
def test_tokens_are_drawn_as_the_model_says(kind: str) -> None:
    """The share of each first token over many seeds is its probability; special ones never come."""
    generator = build(kind)
    model = generator.model
    with torch.no_grad():
        model.output.bias[torch.tensor([0, 1, 3])] += 50  # type: ignore[union-attr, index]
        model.output.bias[: 4 + 250] -= 8  # type: ignore[union-attr, index]
        hidden, _ = model.read(torch.tensor([[EOS]]), model.begin(1))
        logits = model.project(hidden)[0, 0].index_fill(0, torch.tensor([0, 1, 3]), -torch.inf)
    drawn = Counter(
        next(generator.draw_tokens([EOS], 1, SearchRequest(sample=1).filled(), np.random.default_rng(seed)))
        for seed in range(150)
    )
    assert not {0, 1, 3} & drawn.keys()
    for token, share in enumerate(logits.softmax(-1).tolist()):
        assert abs(drawn[token] / 150 - share) < 0.13


def test_wrong_wishes_are_refused() -> None:
    generator = make(Counting(context=0))
    for wish in ({"tokens": 0}, {"seed": -1}, {"temperature": 0.0}, {"top_p": 1.5}):
        with pytest.raises(UsageError):
            generator.stream("a", **wish)
    with pytest.raises(UsageError, match="seqloom generate"):
        generator.hypotheses(["a"])


@pytest.mark.parametrize("task", ["translate", "classify", "tag", "masked", "denoise"])
def test_what_goes_on_with_no_text_is_sent_to_the_verb_that_answers(task: str) -> None:
    run: Any = SimpleNamespace(path="runs/x", config=load_config(None, [f"task.name={task}"]))
    with pytest.raises(UsageError, match=f"trained for {task!r}.*Use `seqloom translate runs/x`"):
        check_task(run)


def test_words_that_a_vocabulary_lacks_are_named_once() -> None:
    words = learn_tokenizer("word", ["the cat sat", "a dog"], 50)
    generator = Generator(Counting(context=0), Tokenizers(words, words), load_config(None, SETTINGS))
    assert generator.unknown_words("the zebra\r\nsat hello zebra") == ["zebra", "hello"]
    assert generator.unknown_words("") == make(Counting(context=0)).unknown_words("zebra \N{SNOWMAN}") == []
    with pytest.raises(UsageError, match="lone surrogate"):
        generator.unknown_words("a\ud800")


@pytest.mark.parametrize("kind", ["gpt", "rnn"])
def test_a_language_model_as_a_plain_module(kind):
    """Its logits give the next token that greedy generation writes."""
    model = build(kind)
    ids, wanted = model.module.batch(["ab"])
    assert ids.tolist()[0][1:] == wanted.tolist()[0][:-1]
    logits = model.module(ids)
    assert logits.shape == (1, ids.shape[1], len(model.tokenizers.target))
    logits.sum().backward()
    logits = logits.detach()
    logits[0, -1, [PAD, BOS, UNK]] = -torch.inf
    best = logits[0, -1].argmax().item()
    assert model.tokenizer.decode([best]) == "".join(model.stream("ab", tokens=1, top_k=1))
    assert "module" in dir(model) and "write" not in dir(model)
    with pytest.raises(UsageError, match=r"wants module\(ids\)"):
        model.module(ids, ids)
    assert model.translate(["ab"]) == list(model.translate(iter(["ab"])))
