"""An imported tokenizer whose ids have gaps, as when tokens were removed from a vocabulary."""

import tokenizers

from seqloom.text.foreign import ForeignTokenizer
from seqloom.text.sides import load_tokenizer
from seqloom.text.vocabulary import UNK

IDS = {"[PAD]": 0, "the": 3, "[CLS]": 4, "[SEP]": 7, "[MASK]": 8, "cat": 12, "[UNK]": 13, "sat": 90}
SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")


def with_gaps() -> ForeignTokenizer:
    engine = tokenizers.Tokenizer(tokenizers.models.WordPiece(IDS, unk_token="[UNK]"))
    engine.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    engine.decoder = tokenizers.decoders.WordPiece()
    return ForeignTokenizer(engine, SPECIALS)


def test_ids_with_gaps_are_numbered_without():
    tokenizer = with_gaps()
    assert tokenizer.theirs == [0, 4, 7, 8, 3, 12, 13, 90]
    ids = tokenizer.encode("the cat sat zebra")
    assert sorted(ids) == list(range(UNK + 1, len(tokenizer)))
    assert [tokenizer.theirs[index] for index in ids] == [3, 12, 90, 13]
    assert tokenizer.decode(tokenizer.encode("the cat sat")) == "the cat sat"
    assert set(tokenizer.tokens()[4:]) == {"the", "cat", "[UNK]", "sat"}


def test_they_are_read_again_as_they_were_and_without_a_word(tmp_path, capfd):
    tokenizer = with_gaps()
    tokenizer.save(tmp_path / "tokenizer.json")
    capfd.readouterr()
    again = load_tokenizer(tmp_path / "tokenizer.json")
    assert capfd.readouterr().out == ""  # which is where translations go
    assert again.theirs == tokenizer.theirs
    assert again.fingerprint == tokenizer.fingerprint
    assert again.encode("the cat sat") == tokenizer.encode("the cat sat")
