"""From attention to words: pieces find their words, each family is read at the right position and layer."""

import re

import numpy as np
import pytest
import torch

from seqloom.config import load_config
from seqloom.errors import UsageError
from seqloom.models.api import Memory, Seq2Seq
from seqloom.models.build import build_model
from seqloom.runtime import scoring
from seqloom.runtime.translator import Translator
from seqloom.runtime.word_alignment import align_words, links, words_of_pieces
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import PAD

TEXTS = ["red green blue pink", "one two three four five", "un petit chat"]
SIZES = {"bpe": 330, "unigram": 300, "char": 270, "word": 30}


@pytest.fixture(scope="module", params=SIZES)
def tokenizer(request):
    return learn_tokenizer(request.param, TEXTS, SIZES[request.param])


class Stub(Seq2Seq):
    """Looks where it is told to: `record(source ids, target ids, trace)` writes down the attention."""

    target_vocab_size = 300

    def __init__(self, record):
        super().__init__()
        self.anchor = torch.nn.Parameter(torch.zeros(1))
        self.record = record

    def encode(self, tokens, mask, trace=None):
        return Memory(tokens[..., None].float(), mask)

    def hidden(self, tokens, memory, trace=None):
        self.record(memory.annotations[..., 0].long(), tokens, trace)
        return torch.zeros(*tokens.shape, 1)


def one_hot(places, size):
    return torch.nn.functional.one_hot(places, size).float()


def transformer_like(src, tgt_in, trace):
    """To write token i, the two upper of three layers look at token i of the source, the lowest at the first."""
    position = torch.arange(tgt_in.shape[1]).clamp(max=src.shape[1] - 1).expand_as(tgt_in)
    for depth in range(3):
        weights = one_hot(position if depth else 0 * position, src.shape[1])
        trace.record(f"decoder.cross.{depth}", weights[:, None].expand(-1, 2, -1, -1))


def recurrent_like(src, tgt_in, trace):
    """Before writing token i it looks at token i of the source, counted from the end."""
    lengths = (src != PAD).sum(1) - 1  # without </s>
    for step in range(tgt_in.shape[1]):
        place = (lengths - 1 - step).clamp(min=0)
        trace.record("decoder.attention", one_hot(place, src.shape[1])[:, None])


def stubbed(record, kind="word", **data):
    tokenizer = learn_tokenizer(kind, TEXTS, SIZES[kind])
    config = load_config(overrides=[f"data.{name}={value}" for name, value in data.items()])
    return Translator(Stub(record), Tokenizers(tokenizer, tokenizer), config)


def test_pieces_know_their_words(tokenizer):
    text = " red  été\u00a0x <unk>🙂 greenblue\t. "
    places = [set(range(*match.span())) for match in re.finditer(r"[^ \t]+", text)]
    assert len(places) == 5
    words, spans = words_of_pieces(tokenizer, [text])[0], tokenizer.spans_batch([text])[0]
    covered = [set() for _ in places]
    for word, (start, end) in zip(words.tolist(), spans, strict=True):
        letters = {place for place in range(start, end) if text[place] not in " \t"}
        assert (word == -1) == (not letters)
        if letters:
            covered[word] |= letters
    if tokenizer.kind == "word":  # it drops every blank, and the no-break space inside a word of ASCII
        places = [{place for place in word if text[place] != "\u00a0"} for word in places]
    assert covered == places
    nothing, blanks = words_of_pieces(tokenizer, ["", "  "])
    assert nothing.tolist() == []
    assert set(blanks.tolist()) <= {-1}


def test_spans_belong_to_the_ids(tokenizer):
    texts = ["red x", "", "été 🙂"]
    assert [len(spans) for spans in tokenizer.spans_batch(texts)] == [len(ids) for ids in tokenizer.encode_batch(texts)]


def test_source_pieces_are_summed_and_target_pieces_averaged():
    source_words, target_words = np.array([0, 0, 1, -1, 2]), np.array([0, -1, 1, 1, 2])
    weights = np.array(
        [
            [0.3, 0.3, 0.4, 0.0, 0.0, 0.0],  # 0.6 on word 0, though word 1 has the heaviest piece
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],  # a blank: it draws nothing away from others
            [0.0, 0.0, 0.9, 0.0, 0.1, 0.0],  # the two pieces of word 1: 0.45 on word 1, 0.55 on word 2
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.5, 0.0, 0.0, 0.5],
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],  # </s>
        ],
        dtype=np.float32,
    )
    assert links(weights, source_words, target_words) == [(0, 0), (1, 2), (2, 1)]


def test_a_source_word_that_everyone_looks_at_is_shared():
    words = np.arange(3)
    weights = np.array([[0.4, 0.6, 0.0], [0.0, 1.0, 0.0], [0.0, 0.6, 0.4]], dtype=np.float32)
    assert links(weights, words, words) == [(0, 0), (1, 1), (2, 2)]


def test_a_single_target_word_knows_where_it_looks_most():
    weights = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]], dtype=np.float32)
    assert links(weights, np.arange(3), np.arange(1)) == [(1, 0)]


def test_a_word_that_is_not_sure_has_no_link():
    source_words, target_words = np.arange(8), np.arange(3)
    even, sure, nowhere = [0.125] * 8, [0.65] + [0.05] * 7, [0.0] * 8  # the best shares: 0.14, 0.37, none
    weights = np.array([even, sure, nowhere], dtype=np.float32)
    assert links(weights, source_words, target_words) == [(0, 1)]
    assert links(weights, np.full(8, -1), target_words) == links(weights, source_words, np.full(3, -1)) == []


SOURCES = ["red green blue", "one two three four five", "pink", "red blue"]
TARGETS = ["blue red green", "five four three two one", "pink", "blue blue"]


@pytest.mark.parametrize("most_tokens", [1, 2048])
def test_a_transformer_is_read_where_its_upper_layers_write_the_word(most_tokens, monkeypatch):
    monkeypatch.setattr(scoring, "MOST_TOKENS", most_tokens)
    found = align_words(stubbed(transformer_like), SOURCES, TARGETS)
    assert found == [[(word, word) for word in range(len(target.split()))] for target in TARGETS]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_pieces_become_words(kind):
    assert align_words(stubbed(transformer_like, kind), ["x yy  zzz"], ["x yy  zzz"]) == [[(0, 0), (1, 1), (2, 2)]]


def test_a_recurrent_model_is_read_where_it_writes_the_word():
    found = align_words(stubbed(recurrent_like), SOURCES[:2], ["x y z", "a b c d e"])
    assert found == [[(0, 2), (1, 1), (2, 0)], [(0, 4), (1, 3), (2, 2), (3, 1), (4, 0)]]


def test_what_the_model_cannot_take_has_none():
    said = []
    translator = stubbed(recurrent_like, max_tokens=2)
    found = align_words(translator, ["red", "red green blue", " "], ["x", "x", "x"], lines=[4, 5, 6], warn=said.append)
    assert found == [[(0, 0)], None, None]
    assert [message[:7] for message in said] == ["line 5:", "line 6:"]


def test_texts_are_normalised_as_in_training():
    translator = stubbed(recurrent_like, kind="char", normalise="nfc")
    assert align_words(translator, ["e\u0301"], ["e\u0301"]) == [[(0, 0)]]


@pytest.mark.parametrize("settings", ["model.kind=transformer model.layers=3", "model.kind=rnn model.layers=1"])
def test_real_models_align_alike_alone_and_in_a_batch(settings):
    torch.manual_seed(1)
    config = load_config(overrides=["model.width=8", "model.heads=2", *settings.split()])
    tokenizer = learn_tokenizer("bpe", TEXTS, SIZES["bpe"])
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    translator = Translator(model, Tokenizers(tokenizer, tokenizer), config)
    together = align_words(translator, SOURCES, TARGETS)
    assert together == [align_words(translator, [s], [t])[0] for s, t in zip(SOURCES, TARGETS, strict=True)]
    for pair_links, source, target in zip(together, SOURCES, TARGETS, strict=True):
        assert pair_links == sorted(pair_links)
        assert len({word for _, word in pair_links}) == len(pair_links) <= len(target.split())
        assert all(word < len(source.split()) for word, _ in pair_links)


def test_a_model_without_attention_says_so():
    config = load_config(overrides=["model.kind=rnn", "model.attention=none", "model.width=8", "model.layers=1"])
    tokenizer = learn_tokenizer("word", TEXTS, 30)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    with pytest.raises(UsageError, match="this model has no attention"):
        align_words(Translator(model, Tokenizers(tokenizer, tokenizer), config), ["red"], ["red"])
