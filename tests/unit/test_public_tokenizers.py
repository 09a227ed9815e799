"""Parts of public tokenizers: those of T5, XLM-R, Llama, GPT-2, GPT-4 and CLIP are accepted and give the same ids."""

import base64
import io
import json
import random
import time

import pytest
import tokenizers
from tokenizers import Regex, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE, Unigram

from seqloom.errors import ModelError
from seqloom.text.charsmap import check_charsmap
from seqloom.text.foreign import ForeignTokenizer, open_public
from seqloom.text.public_parts import SHORTENING, WORD_EXPRESSIONS

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
TEXTS = ["The ﬁrst ① cat  sat!", "Straße ²", "日本語 ok", "it's 12345 o'clock\n\n  x", "", "  ", "É\u0301", "a" * 50]


@pytest.fixture(scope="module")
def charsmap() -> str:
    """The table of a sentencepiece model with its usual rules (nmt_nfkc)."""
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat on the mat", "a dog"] * 20), model_writer=model, vocab_size=30,
        hard_vocab_limit=False, minloglevel=5, normalization_rule_name="nmt_nfkc",
    )  # fmt: skip
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()


def unigram() -> tokenizers.Tokenizer:
    letters = "▁abcdefghijklmnopqrstuvwxyz0123456789'!ß"
    pieces = [*SPECIALS, *letters, "▁the", "▁cat", *(f"<0x{byte:02X}>" for byte in range(256))]
    return tokenizers.Tokenizer(Unigram([(piece, -float(n)) for n, piece in enumerate(pieces)], 3, byte_fallback=True))


def bytes_of_gpt() -> tokenizers.Tokenizer:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    return tokenizers.Tokenizer(BPE({piece: n for n, piece in enumerate([*SPECIALS, *letters])}, []))


def t5(charsmap: str) -> tokenizers.Tokenizer:
    engine, table = unigram(), base64.b64decode(charsmap)
    blanks = normalizers.Replace(Regex(" {2,}"), " ")
    engine.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Precompiled(table), blanks])
    engine.pre_tokenizer = pre_tokenizers.Metaspace()
    engine.decoder = decoders.Metaspace()
    return engine


def llama() -> tokenizers.Tokenizer:
    engine = unigram()
    engine.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    engine.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return engine


def same_ids(engine: tokenizers.Tokenizer) -> ForeignTokenizer:
    """Open it as an imported file would be, and compare its ids with the library's."""
    tokenizer = ForeignTokenizer(open_public(json.loads(engine.to_str())), SPECIALS)
    for text in TEXTS:
        plain = engine.encode(text, add_special_tokens=False).ids
        assert [tokenizer.theirs[index] for index in tokenizer.encode(text)] == plain
    return tokenizer


def test_the_parts_of_t5_and_xlm_r(charsmap):
    tokenizer = same_ids(t5(charsmap))
    assert tokenizer.decode(tokenizer.encode("the ① cat")) == "the 1 cat"


def test_the_parts_of_llama():
    tokenizer = same_ids(llama())
    assert tokenizer.decode(tokenizer.encode("the cat é")) == "the cat é"
    assert tokenizer.decode([]) == ""


@pytest.mark.parametrize("expression", sorted(WORD_EXPRESSIONS), ids=lambda expression: expression[:20])
def test_the_splits_of_gpt(expression):
    engine = bytes_of_gpt()
    engine.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(expression), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    engine.decoder = decoders.ByteLevel()
    tokenizer = same_ids(engine)
    assert tokenizer.decode(tokenizer.encode(TEXTS[0])) == TEXTS[0]
    for text in (" " * 50_000 + "a", "a" * 50_000, "a1" * 25_000, "\r\n " * 15_000, "'" * 50_000, "Aa" * 25_000):
        began = time.process_time()
        assert tokenizer.encode(text)
        assert time.process_time() - began < 5, "its time grows faster than the text"


@pytest.mark.parametrize("expression", sorted(SHORTENING))
def test_blanks_that_become_one(expression):
    engine = llama()
    engine.normalizer = normalizers.Replace(Regex(expression), "▁")
    same_ids(engine)


def test_a_split_at_a_text():
    engine = unigram()
    engine.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_next")
    same_ids(engine)


def test_a_table_of_sentencepiece_passes(charsmap):
    check_charsmap(charsmap)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table[:3], "not a table"),
        (lambda table: table[:5000], "not a table"),
        (lambda table: table[:-1], "not a table|codec"),
        (lambda table: table + b"a" * 200 + b"\0", "a replacement of more than 128 bytes"),
        (lambda table: table + b"\xff\0", "codec"),
        (lambda table: table[:4] + b"\xff\xff\xff\x7f" * 2 + table[12:], "offset beyond"),
        (lambda table: (2**31 - 1024).to_bytes(4, "little") + table[4:], "not a table"),
        (lambda table: (2**32 - 1024).to_bytes(4, "little") + table[4:], "not a table"),
    ],
)
def test_a_table_with_a_wrong_part(charsmap, change, said):
    with pytest.raises(ModelError, match=said):
        check_charsmap(base64.b64encode(change(base64.b64decode(charsmap))).decode())


def test_no_table_that_passes_makes_the_library_fail(charsmap):
    """Bytes of a good table changed at random: refused, or every text has an answer."""
    draw, good, passed = random.Random(3), base64.b64decode(charsmap), 0
    letters = "".join(map(chr, range(0x20, 0x2FFF)))
    for _ in range(60):
        table = bytearray(good)
        for _ in range(draw.choice([1, 3, 50])):
            table[draw.randrange(4, len(table))] = draw.randrange(256)
        try:
            check_charsmap(base64.b64encode(bytes(table)).decode())
        except ModelError:
            continue
        passed += 1
        assert len(normalizers.Precompiled(bytes(table)).normalize_str(letters).encode()) <= 128 * len(letters)
    assert passed >= 3
