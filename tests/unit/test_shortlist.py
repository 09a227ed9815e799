"""The shortlist finds which target tokens a source token becomes, and is written as CTranslate2 reads it."""

import numpy as np
import pytest

from seqloom.errors import UsageError
from seqloom.formats.shortlist import enough, learn_shortlist, write_shortlist
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers


def make_pairs(num=200):
    """Token x becomes x + 50, in another order, beside the token 99 that is in every target."""
    draw = np.random.default_rng(1)
    sources = [draw.integers(5, 25, draw.integers(2, 7)) for _ in range(num)]
    return [(source, np.append(source[::-1] + 50, 99)) for source in sources]


def test_the_likeliest_target_is_the_translation():
    likely, frequent = learn_shortlist(make_pairs(), 2)
    assert set(likely) == set(range(5, 25))
    assert all(found[0] == source + 50 and len(found) == 2 for source, found in likely.items())
    assert frequent[0] == 99
    assert set(frequent) == {99, *range(55, 75)}


def test_the_file(tmp_path):
    tokenizer = learn_tokenizer("bpe", ["a cat sat"], 280)
    a = tokenizer.encode("a")[0]
    write_shortlist({a: np.array([7, 9])}, np.array([a]), Tokenizers(tokenizer, tokenizer), tmp_path / "vmap.txt")
    tokens = tokenizer.tokens()
    first, *others = (tmp_path / "vmap.txt").read_text("utf-8").splitlines()
    assert first == "\t</s> <unk> a"
    rows = dict(line.split("\t") for line in others)
    assert rows.pop("a") == f"a {tokens[7]} {tokens[9]}"
    assert rows == {token: token for token in tokens[4:] if token != "a"}, "a token may always become itself"


def test_of_two_vocabularies_only_known_tokens_have_a_row(tmp_path):
    sides = Tokenizers(*(learn_tokenizer("bpe", [text], 280) for text in ("a cat", "un chat")))
    write_shortlist({9: np.array([7])}, np.array([8]), sides, tmp_path / "vmap.txt")
    source, target = sides.source.tokens(), sides.target.tokens()
    assert (tmp_path / "vmap.txt").read_text("utf-8").splitlines()[1:] == [f"{source[9]}\t{target[7]}"]


def test_no_more_is_learned_from_than_memory_takes(monkeypatch):
    pairs = make_pairs()
    few = sum(len(source) * len(target) for source, target in pairs[:3])
    monkeypatch.setattr("seqloom.formats.shortlist.MOST_MEETINGS", few)
    assert len(enough(pairs)) == 3
    monkeypatch.setattr("seqloom.formats.shortlist.MOST_MEETINGS", 1)
    assert len(enough(pairs)) == 1


def test_tokens_with_blanks_have_no_shortlist(tmp_path):
    tokenizer = learn_tokenizer("char", ["a cat"], 300)
    with pytest.raises(UsageError, match="bpe, unigram or word"):
        write_shortlist({}, np.array([], np.int64), Tokenizers(tokenizer, tokenizer), tmp_path / "x")
