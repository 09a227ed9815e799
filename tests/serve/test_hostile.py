"""What hostile clients send: 200 or a 4xx with one sentence, never a 5xx, and the server is the same afterwards."""

import gzip
import json
import socket
import time
from contextlib import suppress

import pytest

from seqloom.serve.body import parse_multipart
from seqloom.serve.refusal import Refusal

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
Q = b'--b\r\nContent-Disposition: form-data; name="q"\r\n\r\n'
TEXTS = {
    "nul": "a\0b",
    "control characters": "".join(map(chr, range(32))) + "x\x7f\x9f",
    "ansi escapes": "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "zwj emoji": "👩‍👩‍👧‍👦 family",
    "right-to-left override": "abc\u202edef\u202c",
    "combining marks": "e" + "\u0301" * 1000,
    "line separator": "one\u2028two\u2029three",
    "bom": "\ufeffhello",
    "empty": "",
    "spaces": "   \t ",
    "private use and unassigned": "\ue000 \U0010ffff \u0378",
    "special tokens": "</s> <pad> <unk> <s>",
    "format": "%s {0} ${x} ../../etc",
    "markup": "<script>alert(1)</script>",
    "other scripts": "مرحبا 世界 नमस्ते",
    "numbers": "12345678901234567890",
    "a reference of too many digits": "&#" + "9" * 4400 + ";",
    "a reference of too many zeros": "&#" + "0" * 4400 + "65;",
    "a hexadecimal reference": "&#x" + "f" * 4900 + ";",
    "blanks between two words": "a" + " " * 4998 + "b",
}
VALID = {"q": "the cat", "source": "en", "target": "de"}


@pytest.fixture(autouse=True)
def unchanged(server):
    """After each attack a plain sentence has the answer that it always had."""
    yield
    answer = server.translate("the cat")
    assert answer.status == 200 and answer.json == unchanged.__dict__.setdefault("before", answer.json)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("format", ["text", "html"])
def test_odd_texts_are_translated(server, name, format):
    answer = server.translate(TEXTS[name], format=format)
    assert answer.status == 200 and isinstance(answer.json["translatedText"], str)
    assert server.post("/detect", q=TEXTS[name]).status == 200
    assert server.post("/v1/translate", q=TEXTS[name], target="de", source="en", alignment=True).status == 200


@pytest.mark.parametrize("q", [1, 1.5, None, {}, {"a": "b"}, True, [1], [None], [["a"]], ["a", 2]])
def test_a_q_that_is_no_text_is_refused(server, q):
    for path in ("/translate", "/v1/translate"):
        answer = server.post(path, q=q, source="en", target="de")
        assert answer.status == 400 and answer.error == "q must be a text, or a list of texts."


BODIES = {
    "nested brackets": b"[" * 100_000 + b"]" * 100_000,
    "nested in q": b'{"q":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "nan": b'{"q": NaN, "source": "en", "target": "de"}',
    "infinity": b'{"q": "a", "alternatives": Infinity, "source": "en", "target": "de"}',
    "huge number": b'{"q": "a", "alternatives": 1e999, "source": "en", "target": "de"}',
    "many digits": b'{"q": "a", "alternatives": ' + b"9" * 10_000 + b', "source": "en", "target": "de"}',
    "lone surrogate": b'{"q": "\\ud800", "source": "en", "target": "de"}',
    "lone low surrogate": b'{"q": "\\udc00x", "source": "en", "target": "de"}',
    "surrogate in source": b'{"q": "a", "source": "\\ud800", "target": "de"}',
    "invalid utf-8": b'{"q": "\xff\xfe", "source": "en", "target": "de"}',
    "encoded surrogate": b'{"q": "\xed\xa0\x80", "source": "en", "target": "de"}',
    "cut off": b'{"q": "a", "sour',
    "not an object": b'"the cat"',
    "utf-16": '{"q": "a", "source": "en", "target": "de"}'.encode("utf-16"),
    "bom": b'\xef\xbb\xbf{"q": "a", "source": "en", "target": "de"}',
    "two documents": b"{}{}",
    "nothing of it": b"{}",
}


@pytest.mark.parametrize("name", BODIES)
def test_broken_json_is_refused(server, name):
    for path in ("/translate", "/detect", "/v1/translate", "/v2/translate", "/v1/chat/completions"):
        answer = server.ask("POST", path, BODIES[name], JSON)
        assert answer.status == 400 and answer.error, (path, answer)


def test_of_duplicate_keys_one_counts(server):
    body = b'{"q": 1, "q": "the cat", "source": "en", "source": "en", "target": "de"}'
    assert server.ask("POST", "/translate", body, JSON).json == server.translate("the cat").json


@pytest.mark.parametrize(
    "body",
    [
        b"q=%FF&source=en&target=de",
        b"q=%ED%A0%80&source=en&target=de",
        b"q=\xff",
        b"&".join([b"q=a"] * 2000),
        b"%",
        b"&&&=",
    ],
    ids=["invalid utf-8", "surrogate", "raw bytes", "2,000 fields", "percent", "nothing"],
)
def test_broken_forms_are_refused(server, body):
    assert server.ask("POST", "/translate", body, FORM).status == 400
    assert server.ask("POST", "/translate", body, FORM).error


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("", b"x"),
        ("; boundary=b", b"not multipart"),
        ("; boundary=b", b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n"),
        ("; boundary=b", Q.replace(b'"q"', b'"q"; filename="f"') + b"x\r\n--b--\r\n"),
        ("; boundary=b", Q + b"\xff\r\n--b--\r\n"),
        ("; boundary=" + "b" * 5000, b"--b--"),
        ("; boundary=b; charset=unicode_escape", Q + b"\\ud800\r\n--b--\r\n"),
        ("; boundary=b; charset=punycode", b"--b--"),
    ],
)
def test_broken_multipart_is_refused(server, header, body):
    kind = {"Content-Type": "multipart/form-data" + header}
    answer = server.ask("POST", "/translate?source=en&target=de", body, kind)
    assert answer.status in (400, 415) and answer.error


def test_a_multipart_body_of_semicolons_takes_no_longer_than_others():
    part = Q.replace(b'"q"', b'"q"; x="' + b";" * 4000) + b"x\r\n"
    started = time.process_time()
    with pytest.raises(Refusal):
        parse_multipart(part * 250 + b"--b--\r\n", "b")
    assert time.process_time() - started < 0.5


def test_whatever_charset_a_header_names_fields_are_utf_8(server):
    """RFC 2231 has another way to spell it, and quotes may hide it: the library is told nothing of either."""
    body = Q + "die Katze é\r\n--b--\r\n".encode()
    for setting in ("charset*=utf-8''punycode", 'x="; charset=punycode; y="; charset=utf-8'):
        kind = {"Content-Type": f"multipart/form-data; boundary=b; {setting}"}
        answer = server.ask("POST", "/translate?source=de&target=de", body, kind)
        assert answer.json == {"translatedText": "die Katze é"}


def test_a_header_of_blanks_is_read_at_once(locked):
    started = time.monotonic()
    answer = locked.get("/metrics", Authorization="Bearer " + "\xa0" * 100_000)
    assert answer.status == 403 and time.monotonic() - started < 5


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/xml",
        "image/png",
        "x",
        "application/json; charset=utf-16",
        "multipart/form-data; boundary=b; charset =punycode",
    ],
)
def test_a_wrong_content_type_is_refused(server, kind):
    answer = server.ask("POST", "/translate", json.dumps(VALID), {"Content-Type": kind})
    assert answer.status == 415 and answer.error


def test_a_body_without_a_type_is_read_as_json(server):
    assert server.ask("POST", "/translate", json.dumps(VALID)).json == server.translate("the cat").json


def test_a_gzip_bomb_is_not_unpacked(server):
    bomb = gzip.compress(b'{"q": "' + b"a" * 50_000_000 + b'"}')
    assert len(bomb) < 1 << 20
    answer = server.ask("POST", "/translate", bomb, {**JSON, "Content-Encoding": "gzip"})
    assert answer.status == 415 and answer.error


def test_a_single_word_of_a_megabyte_is_too_long(server):
    answer = server.translate("a" * 1_000_000)
    assert answer.status == 400 and "1,000,000 characters" in answer.error


def test_a_body_over_the_limit_is_refused_in_json(server):
    for size in (1 << 20, 3 << 20):
        answer = server.translate("a" * size)
        assert answer.status == 413 and "1,048,576 bytes" in answer.error


def test_the_limits_hold_to_the_letter(server):
    assert server.translate("?" * 5000).status == 200
    assert server.translate("😀" * 5000).status == 200, "characters, not bytes"
    assert server.translate("?" * 5001).status == 400
    assert server.translate(["a"] * 64).status == 200
    assert server.translate(["a"] * 65).status == 400
    assert server.translate("a", alternatives=10).status == 200
    assert server.translate("a", alternatives=11).status == 400
    assert server.translate("a", alternatives=-1).status == 400


def talk(server, message: bytes) -> bytes:
    """What the server says to these bytes; it may hang up at any moment."""
    answer = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line, suppress(OSError):
        line.sendall(message)
        line.shutdown(socket.SHUT_WR)
        while part := line.recv(65536):
            answer += part
    return answer


def test_a_huge_header_is_refused(server):
    answer = talk(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Big: " + b"a" * 300_000 + b"\r\n\r\n")
    assert answer == b"" or answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))


@pytest.mark.parametrize(
    "message",
    [
        b"\x16\x03\x01\x02\x00\x01",
        b"GET\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"\0" * 1000,
    ],
    ids=["tls", "half a line", "negative length", "zeros"],
)  # fmt: skip
def test_what_is_no_http_is_refused(server, message):
    answer = talk(server, message)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize(
    "path", ["/studio/../app.py", "/studio/%2e%2e/app.py", "//etc/passwd", "/studio/", "/%00", "/translate/", "/%C3%A9"]
)
def test_odd_paths_lead_nowhere(server, path):
    assert server.get(path).status == 404 and server.get(path).error


def test_every_answer_tells_browsers_to_be_careful(server):
    for path in ("/", "/health", "/nothing", "/studio/studio.js"):
        headers = server.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
