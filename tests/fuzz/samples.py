"""Small good contents of every format that no model folder holds."""

import gzip
import json
import struct

PAIRS = [("a b", "c d"), ("the cat", "die Katze"), ("\u00e9\U0001f600", "x")]
ROWS = [{"source": source, "target": target} for source, target in PAIRS]
UNITS = "".join(
    f'<tu><tuv xml:lang="en"><seg>{a}</seg></tuv><tuv xml:lang="de"><seg>{b}</seg></tuv></tu>' for a, b in PAIRS
)
SEGMENTS = "".join(
    f'<trans-unit id="{n}"><source>{a}</source><target>{b}</target></trans-unit>' for n, (a, b) in enumerate(PAIRS)
)
FOREIGN = {
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Prepend", "prepend": "t"},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated", "invert": False}, {"type": "Whitespace"},
    ]},
    "post_processor": None,
    "decoder": {"type": "Sequence", "decoders": [
        {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]},
    "model": {
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
        "vocab": {
            word: n for n, word in enumerate(["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "the", "t", "##t", "cat"])
        },
    },
}  # fmt: skip


def onnx_graph() -> bytes:
    """A graph of one node and one weight: what onnx.proto calls model, graph, node, attribute and tensor."""

    def field(number: int, content: bytes | int) -> bytes:
        if isinstance(content, int):
            return bytes([number << 3, content])
        return bytes([number << 3 | 2, len(content)]) + content

    tensor = field(1, 1) + field(2, 1) + field(8, b"w") + field(9, struct.pack("<f", 1.0))
    node = field(1, b"tokens") + field(1, b"w") + field(2, b"y") + field(4, b"Add")
    return field(1, 10) + field(7, field(1, node) + field(2, b"g") + field(5, tensor)) + field(8, field(2, 20))


def model_bin() -> bytes:
    """The beginning of a model file of CTranslate2."""

    def text(word: bytes) -> bytes:
        return struct.pack("<H", len(word) + 1) + word + b"\0"

    flag = text(b"encoder/pre_norm") + struct.pack("<BBI", 0, 1, 1) + b"\1"
    bias = text(b"decoder/projection/bias") + struct.pack("<BIBI", 1, 3, 0, 12) + bytes(12)
    return (
        struct.pack("<I", 6) + text(b"TransformerSpec") + struct.pack("<II", 7, 2) + flag + bias + struct.pack("<I", 0)
    )


SAMPLES = {
    "data": b"tsv csv jsonl json tmx xlf tsv.gz txt",
    "tsv": "\n".join("\t".join(pair) for pair in PAIRS).encode(),
    "txt": "\n".join(f"{a} ||| {b}" for a, b in PAIRS).encode(),
    "csv": ("source,target\n" + "\n".join(f'"{a}","{b}"' for a, b in PAIRS)).encode(),
    "jsonl": "\n".join(map(json.dumps, ROWS)).encode(),
    "json": json.dumps(ROWS).encode(),
    "tmx": f'<tmx version="1.4"><header srclang="en"/><body>{UNITS}</body></tmx>'.encode(),
    "xlf": (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file source-language="en" '
        f'target-language="de"><body>{SEGMENTS}</body></file></xliff>'
    ).encode(),
    "tsv.gz": gzip.compress("\n".join("\t".join(pair) for pair in PAIRS).encode(), mtime=0),
    "engine": json.dumps({
        "format": 1, "engine": "onnx", "version": "1", "precision": "float32",
        "made_from": {"weights": "", "tokenizers": "", "settings": ""}, "files": {"step.onnx": ""},
    }).encode(),
    "onnx": onnx_graph(),
    "model.bin": model_bin(),
    "foreign": json.dumps(FOREIGN).encode(),
    "body": json.dumps({"q": ["a", "b"], "source": "en", "target": "de", "format": "text"}).encode(),
    "multipart": b'--xyz\r\nContent-Disposition: form-data; name="q"\r\n\r\nabc\r\n--xyz--\r\n',
}  # fmt: skip
