"""A tokenizer file from a stranger: only the shapes that Seqloom writes or imports, and no crash of the library."""

import json
from pathlib import Path

import pytest
import tokenizers
from tokenizers import decoders, normalizers, pre_tokenizers

from seqloom.errors import ModelError
from seqloom.text.foreign import ForeignTokenizer
from seqloom.text.learn import LEARNERS, learn_tokenizer
from seqloom.text.shapes import LONGEST_TOKEN
from seqloom.text.sides import load_tokenizer
from seqloom.text.tokenizer import Tokenizer

TEXTS = ["the cat sat on the mat", "a dog"]
DOUBLE = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
FIXED = {
    "strategy": {"Fixed": 10**8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
    "pad_token": "<pad>",
}  # fmt: skip
CUT = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}
STRANGE_PARTS = {
    "normalizer": [
        DOUBLE,
        {"type": "Sequence", "normalizers": [DOUBLE] * 40},
        {"type": "Precompiled", "precompiled_charsmap": "AAAAAAAA"},
        {"type": "Precompiled", "precompiled_charsmap": "%%"},
        {"type": "Precompiled", "precompiled_charsmap": None},
        {"type": "Prepend", "prepend": "a" * 17},
        {"type": "Prepend", "prepend": 3},
        {"type": "NoSuchThing"},
        {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""},
        {"type": "Replace", "pattern": {"String": ""}, "content": ""},
        3,
    ],
    "pre_tokenizer": [
        {"type": "FixedLength", "length": 0},
        {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False},
        {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": False},
        {"type": "Split", "pattern": {"Regex": ["(a+)+$"]}, "behavior": "Isolated", "invert": False},
        {"type": "Split", "pattern": {"Regex": "(a+)+$", "String": " "}, "behavior": "Isolated", "invert": False},
        {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}] * 1000},
    ],
    "decoder": [
        {"type": "Sequence", "decoders": [DOUBLE] * 40},
        {"type": "Strip", "content": " ", "start": 10**9, "stop": 10**9},
        {"type": "Strip", "content": " ", "start": 1, "stop": 1},
        {"type": "Strip", "content": "ab", "start": 1, "stop": 0},
    ],
    "post_processor": [
        {
            "type": "TemplateProcessing", "pair": [], "special_tokens": {},
            "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 1000,
        },
    ],
}  # fmt: skip
PARTS = [(name, part) for name, parts in STRANGE_PARTS.items() for part in parts]


def write(file: Path, parts: object) -> Path:
    file.write_text(json.dumps(parts), "utf-8")
    return file


def parts_of(tokenizer: Tokenizer) -> dict:
    return json.loads(tokenizer.content)


def public() -> tokenizers.Tokenizer:
    words = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "the", "cat", "tt"]
    model = tokenizers.models.WordPiece({word: index for index, word in enumerate(words)}, unk_token="[UNK]")
    engine = tokenizers.Tokenizer(model)
    engine.normalizer = normalizers.BertNormalizer()
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.WordPiece()
    return engine


def imported() -> dict:
    return json.loads(ForeignTokenizer(public(), ("[PAD]", "[CLS]", "[SEP]", "[MASK]")).content)


@pytest.mark.parametrize("kind", LEARNERS)
def test_what_seqloom_learns_is_read(tmp_path, kind):
    learned = learn_tokenizer(kind, TEXTS, 300)
    learned.save(tmp_path / "t.json")
    again = load_tokenizer(tmp_path / "t.json")
    assert (again.fingerprint, again.encode(TEXTS[0])) == (learned.fingerprint, learned.encode(TEXTS[0]))


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize(("name", "part"), PARTS, ids=lambda given: str(given)[:40])
def test_parts_that_seqloom_does_not_write(tmp_path, kind, name, part):
    file = write(tmp_path / "t.json", parts_of(learn_tokenizer(kind, TEXTS, 300)) | {name: part})
    with pytest.raises(ModelError, match=r"t\.json: "):
        load_tokenizer(file)


@pytest.mark.parametrize(("name", "part"), PARTS, ids=lambda given: str(given)[:40])
def test_parts_that_no_imported_tokenizer_has(tmp_path, name, part):
    content = imported()
    write(tmp_path / "t.json", content)
    load_tokenizer(tmp_path / "t.json")
    content["tokenizer"][name] = part
    with pytest.raises(ModelError, match=r"t\.json: "):
        load_tokenizer(write(tmp_path / "t.json", content))


@pytest.mark.parametrize("kind", LEARNERS)
def test_padding_and_truncation_are_reset(tmp_path, kind):
    learned = learn_tokenizer(kind, TEXTS, 300)
    changed = parts_of(learned) | {"padding": FIXED, "truncation": CUT}
    again = load_tokenizer(write(tmp_path / "t.json", changed))
    assert again.encode(TEXTS[0]) == learned.encode(TEXTS[0])


def test_padding_and_truncation_of_an_imported_one_are_reset(tmp_path):
    content = imported()
    content["tokenizer"] |= {"padding": FIXED, "truncation": CUT}
    assert len(load_tokenizer(write(tmp_path / "t.json", content)).encode("the cat the cat")) == 4


@pytest.mark.parametrize("index", [10**9, -1, 1.5, "4", None, 2**70, 5, 300])
@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
def test_ids_are_numbered_from_0_without_a_gap(tmp_path, kind, index):
    parts = parts_of(learn_tokenizer(kind, TEXTS, 280))
    vocabulary = parts["model"]["vocab"]
    vocabulary[next(word for word, at in vocabulary.items() if at == 6)] = index
    with pytest.raises(ModelError, match=r"t\.json: .* its ids are not"):
        load_tokenizer(write(tmp_path / "t.json", parts))


@pytest.mark.parametrize("index", [10**9, -1, 1.5])
def test_ids_of_an_imported_one_are_bounded(tmp_path, index):
    content = imported()
    content["tokenizer"]["model"]["vocab"]["cat"] = index
    with pytest.raises(ModelError, match=r"t\.json: .* ids"):
        load_tokenizer(write(tmp_path / "t.json", content))


@pytest.mark.parametrize(
    "vocabulary", [None, [], {}, 3, [["<pad>", 0.0]], {"<pad>": 0}, [3], [["a", "b", "c"]]], ids=str
)
@pytest.mark.parametrize("kind", LEARNERS)
def test_short_and_strange_vocabularies(tmp_path, kind, vocabulary):
    parts = parts_of(learn_tokenizer(kind, TEXTS, 300))
    parts["model"]["vocab"] = vocabulary
    with pytest.raises(ModelError, match=r"t\.json: "):
        load_tokenizer(write(tmp_path / "t.json", parts))
    content = imported()
    content["tokenizer"]["model"]["vocab"] = vocabulary
    with pytest.raises(ModelError, match=r"t\.json: "):
        load_tokenizer(write(tmp_path / "t.json", content))


@pytest.mark.parametrize(
    ("kind", "token"),
    [("char", "xy"), ("char", "<0xZZ>"), ("bpe", "日"), ("bpe", ""), ("word", "a" * LONGEST_TOKEN * 2)],
)
def test_tokens_are_spelled_as_their_kind_spells_them(tmp_path, kind, token):
    parts = parts_of(learn_tokenizer(kind, TEXTS, 300))
    vocabulary = parts["model"]["vocab"]
    vocabulary[token] = vocabulary.pop(next(word for word, at in vocabulary.items() if at == len(vocabulary) - 1))
    parts["model"]["merges"] = [] if "merges" in parts["model"] else None
    if parts["model"]["merges"] is None:
        del parts["model"]["merges"]
    with pytest.raises(ModelError, match=r"t\.json: .*token"):
        load_tokenizer(write(tmp_path / "t.json", parts))


SPECIAL = '["<pad>", "<s>", "</s>", "<unk>"'
OTHER = [
    '{"sentencepiece": 3}',
    '{"sentencepiece": "", "vocabulary": 3}',
    f'{{"sentencepiece": "AAAA", "vocabulary": {SPECIAL}]}}',
    f'{{"sentencepiece": "", "vocabulary": {SPECIAL}, 3]}}',
    '{"foreign": 3}',
    '{"foreign": [1, 2], "tokenizer": []}',
    '{"foreign"' + "[" * 100_000,
]


@pytest.mark.parametrize("content", OTHER, ids=lambda content: content[:40])
def test_other_kinds_of_content(tmp_path, content):
    (tmp_path / "t.json").write_text(content, "utf-8")
    with pytest.raises(ModelError, match=r"t\.json: "):
        load_tokenizer(tmp_path / "t.json")


@pytest.mark.parametrize("call", ["encode_batch", "spans_batch", "decode"])
def test_a_crash_of_the_library_is_a_model_error(call):
    """PanicException is a BaseException: `except Exception` lets it through, and a server's worker would die."""
    engine = public()
    engine.pre_tokenizer = pre_tokenizers.FixedLength(length=0)
    engine.decoder = decoders.Strip("t", 0, 9)
    tokenizer = ForeignTokenizer(engine, ("[PAD]", "[CLS]", "[SEP]", "[MASK]"))
    given = [7] if call == "decode" else ["the cat"]
    with pytest.raises(ModelError, match="its library failed"):
        getattr(tokenizer, call)(given)


def test_a_word_that_cannot_be_encoded_is_a_model_error():
    engine = tokenizers.Tokenizer(tokenizers.models.WordPiece({"a": 0}, unk_token="[UNK]"))
    with pytest.raises(ModelError, match="its library failed"):
        ForeignTokenizer(engine, (None,) * 4).encode("b")
