"""The tokenizers of a live page (seqloom/explain/live/tokenizer.js, run by node) cut and join texts as ours do."""

import json
import random
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from seqloom.formats.live_model import vocabulary
from seqloom.runtime.inputs import encode_texts
from seqloom.text.learn import LEARNERS, learn_tokenizer

NODE = shutil.which("node")
SCRIPTS = Path(__file__).parents[2] / "seqloom" / "explain" / "live"
ASK = """
import { readFileSync } from "node:fs";
const [scripts, asked] = process.argv.slice(2);
const { Tokenizer } = await import(`${scripts}/tokenizer.js`);
const { described, normalise, texts, rows } = JSON.parse(readFileSync(asked, "utf-8"));
const tokenizer = new Tokenizer(described, normalise, { unknown: 3 });
console.log(JSON.stringify({
  reads: tokenizer.reads,
  ids: texts.map((text) => { try { return tokenizer.encode(text); } catch (error) { return error.message; } }),
  texts: rows.map((row) => tokenizer.decode(row)),
}));
"""
LEARNED = [
    "the small cat sat on the mat, and the dog ran away.",
    "Un été à Paris: l'œuvre coûte 12,50 € (≈ 13 $)!",
    "Straße 27b; 北京 東京 Москва नमस्ते שלום مرحبا",
    "thirtieth November twenty twenty-nine 24 janv 84",
] * 3
ODD = [
    "", " ", "\t", "\n\n", "   ", "\x1c", "\x1f ", "\u3000", "\u0085", "\ufeff", " a", "a ", "  a  b  ", "a\tb\nc\r\nd",
    "\ufeffthe cat", "the\u0085cat", "the\u00a0cat", "the\u3000cat", "the\u200bcat", "the\u2028cat", "cat\u2003 ",
    "\u0085 \u0085",
    "<s>", "</s>", "<pad> <unk>", "<0x41>", "<0xE4>", "▁the", "▁", "▁▁ the", "a▁b", "Ġthe", "Ċ",
    "naïve", "nai\u0308ve", "e\u0301te\u0301", "\u0301", "Å", "\u212b", "ﬁ", "😀", "👩‍👩‍👧", "🇫🇷", "\U00020000",
    "١٢٣", "½", "x²", "①", "€100", "1,000.50", "don't", "rock'n'roll", "C++", "a_b", "--", "...", "!?", "\x00",
    "a\x07b",
    "ᾳ", "ǆ", "क्षि", "한국어", "ไทย", "ℵ", "\ue000", "\ufffd", "\uffff", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
]  # fmt: skip


def many_texts(number):
    """Odd texts, and random ones out of words that were learned, other words and single characters of any kind."""
    draw = random.Random(5)
    words = " ".join(LEARNED).split() + [text for text in ODD if text]
    signs = [chr(code) for code in range(1, 0x11000, 7) if unicodedata.category(chr(code)) not in ("Cs", "Cn")]
    texts = list(ODD)
    while len(texts) < number:
        parts = [draw.choice(draw.choice((words, words, signs))) for _ in range(draw.randint(1, 9))]
        texts.append(draw.choice(("", " ", " ", "  ")).join(parts))
    return texts


def ask(tmp_path, described, texts, rows=(), normalise="none"):
    if NODE is None:
        pytest.skip("node is not installed")
    (tmp_path / "ask.mjs").write_text(ASK, "utf-8")
    asked = {"described": described, "normalise": normalise, "texts": texts, "rows": [*rows]}
    (tmp_path / "asked.json").write_text(json.dumps(asked), "utf-8")
    words = [NODE, str(tmp_path / "ask.mjs"), str(SCRIPTS), str(tmp_path / "asked.json")]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("normalise", ["none", "nfc"])
@pytest.mark.parametrize("kind", LEARNERS)
def test_texts_are_cut_as_in_python(tmp_path, kind, normalise):
    tokenizer = learn_tokenizer(kind, LEARNED, 400)
    texts = many_texts(700)
    expected = encode_texts(texts, tokenizer, normalise)
    found = ask(tmp_path, vocabulary(tokenizer), texts, normalise=normalise)
    assert [pair for pair in zip(texts, found["ids"], expected, strict=True) if pair[1] != pair[2]] == []


@pytest.mark.parametrize("kind", LEARNERS)
def test_ids_are_joined_as_in_python(tmp_path, kind):
    """Also ids that no text has: bytes that are not UTF-8."""
    tokenizer = learn_tokenizer(kind, LEARNED, 400)
    draw = random.Random(6)
    rows = [draw.choices(range(len(tokenizer)), k=draw.randint(0, 8)) for _ in range(400)]
    rows += encode_texts(many_texts(300), tokenizer, "none")
    found = ask(tmp_path, vocabulary(tokenizer), [], rows)
    expected = [tokenizer.decode(row) for row in rows]
    assert [pair for pair in zip(rows, found["texts"], expected, strict=True) if pair[1] != pair[2]] == []


def test_half_a_character_is_refused_and_an_imported_tokenizer_reads_nothing(tmp_path):
    tokenizer = learn_tokenizer("char", LEARNED, 400)
    assert ask(tmp_path, vocabulary(tokenizer), ["a\ud800b"])["ids"] == [
        "half of a surrogate pair is not a character: type the text again"
    ]
    imported = {"kind": "sentencepiece", "pieces": ["<pad>", "<s>", "</s>", "<unk>", "▁the", "▁ca", "t"]}
    found = ask(tmp_path, imported, [], [[4, 5, 6, 2]])
    assert found["reads"] is False and found["texts"] == ["the cat"]
