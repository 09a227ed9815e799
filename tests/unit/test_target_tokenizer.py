"""A target with a tokenizer of its own: letters in, phonemes out."""

import pytest

from seqloom.config import load_config
from seqloom.data.corpus import CorpusSpec
from seqloom.data.text_spool import TextSpool
from seqloom.errors import UsageError
from seqloom.text.sides import Tokenizers
from seqloom.training.data import refuse_bad_data
from seqloom.training.settings import describe_tokenizer
from seqloom.training.tokenizers import BOTH, learn_tokenizers

SOUNDS = ["text.joint=false", "text.tokenizer=char", "text.vocab_size=300", "text.target_tokenizer=word"]


@pytest.fixture
def learn(tmp_path):
    """Learn from three words and their sounds; what was told."""
    (tmp_path / "words.tsv").write_text("AACHEN\tAA K AH N\nABBY\tAE B IY\nBEE\tB IY\n", "utf-8")

    def run(*overrides):
        told = []
        spec = CorpusSpec.parse(str(tmp_path / "words.tsv"))
        config = load_config(overrides=overrides)
        with TextSpool(tmp_path, BOTH) as spool:
            refuse_bad_data([spec], None, config, False, lambda text: None, [spool.add])
            return learn_tokenizers(spool, config, told.append, quiet=True), told

    return run


def test_each_side_is_split_its_own_way(learn, tmp_path):
    tokenizers, told = learn(*SOUNDS, "text.target_vocab_size=50")
    assert (tokenizers.source.kind, tokenizers.target.kind, tokenizers.joint) == ("char", "word", False)
    assert len(tokenizers.source.encode("ABBY")) == 4
    assert len(tokenizers.target.encode("AE B IY")) == 3
    assert tokenizers.target.decode(tokenizers.target.encode("AE B IY")) == "AE B IY"
    assert told == [f"tokenizer: char, {len(tokenizers.source)} tokens; of the target: word, 11"]
    tokenizers.save(tmp_path)
    assert Tokenizers.load(tmp_path).fingerprint == tokenizers.fingerprint


def test_a_tokenizer_taken_from_elsewhere_is_described_as_it_is(learn, tmp_path):
    learn(*SOUNDS)[0].save(tmp_path)
    text = describe_tokenizer(tmp_path)
    assert (text.tokenizer, text.target_tokenizer, text.joint) == ("char", "word", False)
    assert (text.vocab_size, text.target_vocab_size) == (len(Tokenizers.load(tmp_path).source), 11)


def test_without_a_size_of_its_own_the_target_has_that_of_the_source(learn):
    assert len(learn(*SOUNDS, "text.tokenizer=word", "text.vocab_size=6")[0].target) == 6
    assert len(learn(*SOUNDS, "text.target_vocab_size=7")[0].target) == 7


def test_same_is_the_source_s_kind(learn):
    tokenizers, _ = learn("text.joint=false", "text.tokenizer=char", "text.target_vocab_size=262")
    assert (tokenizers.target.kind, len(tokenizers.target)) == ("char", 262)


def test_a_size_too_small_is_called_by_its_name(learn):
    with pytest.raises(UsageError, match=r"text\.target_vocab_size = 4 is too small for word"):
        learn(*SOUNDS, "text.target_vocab_size=4")


@pytest.mark.parametrize("setting", ["text.target_tokenizer=word", "text.target_vocab_size=50"])
def test_one_vocabulary_for_both_sides_has_no_side(setting):
    with pytest.raises(UsageError, match=r"set text\.joint = false"):
        load_config(overrides=[setting])
