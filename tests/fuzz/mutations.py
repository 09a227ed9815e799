"""How the fuzzing changes a good file: bytes, pieces that parsers stumble over, and values of its JSON."""

import json
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

PIECES = [
    b"[", b"{", b'"', b"\\", b"\0", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"-1", b"0", b"1e999", b"NaN", b"9" * 25,
    b"9" * 5000, b"null", b"true", b"[]", b"{}", b'""', b",", b":", b"\n", b"\r", b"\t", b"\xef\xbb\xbf", b"\x1f\x8b",
    b"<", b"&", b"]]>", b"<!--", b"../", b"/dev/zero", b"[" * 2000, b"\x1b[2J", b"\xff\xff\xff\xff", b"\x80" * 9, b"%",
]  # fmt: skip
VALUES = [
    None, True, -1, 0, 1, 2**31, 2**63, 10**30, 0.5, float("nan"), float("inf"), "", "x", "\ud800", "\x1b[2J", "a\nb",
    "../x", "/dev/zero", [], {}, [[]], [0], ["x"], {"x": 1}, {"": None}, "9" * 400,
]  # fmt: skip


@st.composite
def changed_bytes(draw: st.DrawFn, good: bytes) -> bytes:
    """A good file with some bytes replaced, left out, doubled or put in."""
    content = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(content) - 1)))
        size = draw(st.integers(0, 40))
        match draw(st.sampled_from(["put in", "replace", "leave out", "double", "cut"])):
            case "put in":
                content[place:place] = draw(st.sampled_from(PIECES))
            case "replace":
                piece = draw(st.one_of(st.sampled_from(PIECES), st.binary(min_size=1, max_size=8)))
                content[place : place + len(piece)] = piece
            case "leave out":
                del content[place : place + size]
            case "double":
                content[place:place] = content[place : place + size]
            case "cut":
                del content[place:]
    return bytes(content)


@st.composite
def changed_json(draw: st.DrawFn, good: bytes) -> bytes:
    """Good JSON with one to three of its values exchanged, left out or given another name."""
    value = json.loads(good)
    for _ in range(draw(st.integers(1, 3))):
        value = changed(draw, value)
    return json.dumps(value).encode("utf-8", "surrogatepass")


def changed(draw: st.DrawFn, value: Any) -> Any:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    if not keys or draw(st.integers(0, 9)) == 0:
        return deepcopy(draw(st.sampled_from(VALUES)))
    key = draw(st.sampled_from(keys))
    match draw(st.sampled_from(["deeper", "deeper", "deeper", "remove", "rename"])):
        case "deeper":
            value[key] = changed(draw, value[key])
        case "remove":
            del value[key]
        case "rename" if isinstance(value, dict):
            value[draw(st.sampled_from(["", "x", "step", "files", "type", "../x"]))] = value.pop(key)
    return value
