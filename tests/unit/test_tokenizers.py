"""Tokenizers: nothing is lost, text never becomes a special token, the same texts give the same file."""

import hashlib
import json
import subprocess
import sys

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seqloom.errors import ModelError, UsageError
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers, load_tokenizer
from seqloom.text.tokenizer import BYTE_OF
from seqloom.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK

TEXTS = [
    "A man in a green shirt plays the guitar.",
    "Ein Mann in einem grünen Hemd spielt Gitarre.",
    "the men play, the man plays; the <s> and the </s> and <pad> <pad> <unk>",
    "</s></s></s></s> <0x41><0x41> 12 + 12 = 24",
] * 5
LOSSLESS = ("bpe", "unigram", "char")
KINDS = (*LOSSLESS, "word")
LEARNED = {kind: learn_tokenizer(kind, TEXTS, 300) for kind in KINDS}

any_text = st.text(st.characters(exclude_categories=["Cs"]))
tricky = st.lists(
    st.sampled_from(
        [*SPECIALS, "<0x41>", "<0xE2>", "\0", "\n", "\r\n", " ", "\t", "▁", "Ġ", "é", "e\u0301", "\u2028", "man"]
    )
)


@pytest.mark.parametrize("kind", LOSSLESS)
@settings(max_examples=150, deadline=None)
@given(text=any_text | tricky.map("".join))
@example(text="")
@example(text="\ufffd\ufeff\U0010ffff हिन्दी  \x00\x7f\x80")
def test_any_text_comes_back(kind, text):
    tokenizer = LEARNED[kind]
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert not {PAD, BOS, EOS, UNK} & set(ids)
    assert max(ids, default=0) < len(tokenizer)


@pytest.mark.parametrize("kind", KINDS)
def test_specials_come_first_and_are_dropped_when_decoding(kind):
    tokenizer = LEARNED[kind]
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert tokenizer.pieces([0, 1, 2, 3]) == list(SPECIALS) == ["<pad>", "<s>", "</s>", "<unk>"]
    assert tokenizer.decode([BOS, *tokenizer.encode("the man"), EOS, PAD, UNK]) == "the man"


@pytest.mark.parametrize("kind", KINDS)
def test_special_looking_words_are_words(kind):
    tokenizer = LEARNED[kind]
    ids = tokenizer.encode("the <pad> <unk>")
    assert not {PAD, BOS, EOS, UNK} & set(ids)  # all three words stand in the training text
    assert tokenizer.decode(ids) == "the <pad> <unk>"


def test_words_are_split_at_blanks_and_unknown_ones_marked():
    tokenizer = LEARNED["word"]
    ids = tokenizer.encode("the \t man\nplatypus plays;")
    assert tokenizer.pieces(ids) == ["▁the", "▁man", "<unk>", "▁plays;"]
    assert ids[2] == UNK
    assert tokenizer.decode(ids) == "the man plays;"


@pytest.mark.parametrize("kind", KINDS)
def test_batch_equals_one_by_one(kind):
    tokenizer = LEARNED[kind]
    assert tokenizer.encode_batch(TEXTS[:4]) == [tokenizer.encode(text) for text in TEXTS[:4]]
    assert tokenizer.encode_batch([]) == []


@pytest.mark.parametrize("kind", LOSSLESS)
def test_pieces_are_readable(kind):
    tokenizer = LEARNED[kind]
    pieces = tokenizer.pieces(tokenizer.encode("the €\n"))
    assert "".join(pieces) == "the▁<0xE2><0x82><0xAC>↵"
    assert "".join(tokenizer.pieces(tokenizer.encode("grünen"))) in ("grünen", "gr<0xC3><0xBC>nen")


def test_pieces_hold_whole_letters_where_they_were_learned():
    tokenizer = learn_tokenizer("bpe", ["größe"] * 9, 300)
    assert tokenizer.pieces(tokenizer.encode("größe")) == ["größe"]


def test_an_id_outside_the_vocabulary_is_refused():
    with pytest.raises(ModelError, match="99999 is outside"):
        LEARNED["bpe"].pieces([99999])


def test_byte_letters_are_those_of_the_library():
    library = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    assert BYTE_OF.keys() == set(library.alphabet())
    for char in "\0 aé€\U0001f600":
        ((letters, _),) = library.pre_tokenize_str(char)
        assert bytes(BYTE_OF[letter] for letter in letters) == char.encode()


def test_learned_pieces_are_used():
    for kind in ("bpe", "unigram"):
        assert len(LEARNED[kind].encode("the man plays the guitar.")) < 20


@pytest.mark.parametrize(("kind", "least"), [("bpe", 260), ("unigram", 260), ("char", 260), ("word", 5)])
def test_vocab_size_includes_everything(kind, least):
    with pytest.raises(UsageError, match=f"{least - 1} is too small for {kind}: want at least {least}"):
        learn_tokenizer(kind, TEXTS, least - 1)
    smallest = learn_tokenizer(kind, TEXTS, least)
    assert len(smallest) == least
    assert len(learn_tokenizer(kind, TEXTS, least + 3)) <= least + 3
    if kind != "word":
        assert smallest.decode(smallest.encode("grün €")) == "grün €"


def test_most_frequent_first():
    assert learn_tokenizer("char", ["aab", "cb", "b"], 262).pieces([260, 261]) == ["b", "a"]
    assert learn_tokenizer("word", ["y z z x", "x"], 6).pieces([4, 5]) == ["▁x", "▁z"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_texts_at_all(kind):
    empty = learn_tokenizer(kind, [], 300)
    assert empty.decode(empty.encode("a b")) == ("" if kind == "word" else "a b")


def test_unknown_kind():
    with pytest.raises(UsageError, match="Did you mean 'char'"):
        learn_tokenizer("chars", TEXTS, 300)


LEARN_AND_PRINT = """
import hashlib, sys
from seqloom.text.learn import learn_tokenizer
texts = sys.stdin.read().splitlines()
for kind in ("bpe", "unigram", "char", "word"):
    print(kind, learn_tokenizer(kind, iter(texts), 300).fingerprint)
"""


def test_the_same_texts_give_the_same_file_in_another_process():
    run = subprocess.run(
        [sys.executable, "-c", LEARN_AND_PRINT], input="\n".join(TEXTS), capture_output=True, text=True, check=True
    )
    assert dict(line.split() for line in run.stdout.splitlines()) == {k: LEARNED[k].fingerprint for k in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load(kind, tmp_path):
    tokenizer = LEARNED[kind]
    file = tmp_path / "deep" / "t.json"
    tokenizer.save(file)
    loaded = load_tokenizer(file)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == tokenizer.fingerprint == loaded.fingerprint
    assert loaded.kind == kind and len(loaded) == len(tokenizer)
    text = "the <pad> man </s> <0x41>"
    assert loaded.encode(text) == tokenizer.encode(text)  # the special ones are still text after loading
    assert [entry.name for entry in file.parent.iterdir()] == ["t.json"]


def test_damaged_and_foreign_files(tmp_path):
    file = tmp_path / "t.json"
    with pytest.raises(ModelError, match="no such file; a tokenizer is expected there"):
        load_tokenizer(file)
    LEARNED["bpe"].save(file)
    whole = file.read_text("utf-8")
    foreign = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({token: n for n, token in enumerate(SPECIALS)}, unk_token="<unk>")
    )
    others = tokenizers.Tokenizer(tokenizers.models.WordLevel({"hello": 0}, unk_token="hello"))
    for content, message in [
        (whole[: len(whole) // 2], "damaged"),
        ("", "damaged"),
        ("[1, 2]", "damaged"),
        (others.to_str(), "not a Seqloom tokenizer"),
        (foreign.to_str(), "WordPiece"),
    ]:
        file.write_text(content, "utf-8")
        with pytest.raises(ModelError, match=message) as caught:
            load_tokenizer(file)
        assert str(file) in str(caught.value)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ModelError, match="damaged"):
        load_tokenizer(file)


def test_a_joint_tokenizer_is_one_file(tmp_path):
    both = Tokenizers(LEARNED["bpe"], LEARNED["bpe"])
    both.save(tmp_path)
    assert [str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.json")] == ["tokenizer/tokenizer.json"]
    loaded = Tokenizers.load(tmp_path)
    assert both.joint and loaded.joint and loaded.fingerprint == both.fingerprint
    assert Tokenizers.load(tmp_path / "tokenizer").fingerprint == both.fingerprint


def test_one_tokenizer_a_side(tmp_path):
    sides = Tokenizers(LEARNED["bpe"], LEARNED["char"])
    sides.save(tmp_path)
    loaded = Tokenizers.load(tmp_path)
    assert not loaded.joint and (loaded.source.kind, loaded.target.kind) == ("bpe", "char")
    assert loaded.fingerprint == sides.fingerprint
    assert Tokenizers(LEARNED["char"], LEARNED["bpe"]).fingerprint != sides.fingerprint


def test_a_change_of_mind_leaves_no_old_files(tmp_path):
    Tokenizers(LEARNED["bpe"], LEARNED["bpe"]).save(tmp_path)
    Tokenizers(LEARNED["bpe"], LEARNED["char"]).save(tmp_path)
    assert not Tokenizers.load(tmp_path).joint


def test_no_tokenizer_in_the_folder(tmp_path):
    with pytest.raises(ModelError, match="has no tokenizer"):
        Tokenizers.load(tmp_path)
    Tokenizers(LEARNED["bpe"], LEARNED["char"]).save(tmp_path)
    (tmp_path / "tokenizer" / "target.json").unlink()
    with pytest.raises(ModelError, match=r"target\.json: no such"):
        Tokenizers.load(tmp_path)


def test_the_file_is_a_plain_tokenizers_file(tmp_path):
    LEARNED["bpe"].save(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text("utf-8"))["model"]["type"] == "BPE"
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "t.json")).encode("the man").ids == LEARNED["bpe"].encode(
        "the man"
    )
