"""A hundred messages that are almost HTTP, each with a name: smuggled, doubled, endless, in another protocol.

Each gets no answer or a 4xx (a 2xx where the name says so), and the server is as before. What is damaged by chance is
in test_raw_bytes.py.
"""

import json
import socket
from contextlib import suppress

import pytest

HOST = b"Host: 127.0.0.1\r\n"
KIND = b"Content-Type: application/json\r\n"
BODY = json.dumps({"q": "the cat", "source": "en", "target": "de"}).encode()
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
NEXT = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
CHUNK = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


def get(path: bytes = b"/health", headers: bytes = HOST, version: bytes = b"HTTP/1.1") -> bytes:
    return b"GET " + path + b" " + version + b"\r\n" + headers + b"\r\n"


def post(headers: bytes, body: bytes = BODY, path: bytes = b"/translate", kind: bytes = KIND) -> bytes:
    return b"POST " + path + b" HTTP/1.1\r\n" + HOST + kind + headers + b"\r\n" + body


def form(body: bytes) -> bytes:
    return post(
        b"Content-Length: %d\r\n" % len(body), body, kind=b"Content-Type: application/x-www-form-urlencoded\r\n"
    )


def parts(boundary: bytes, body: bytes) -> bytes:
    kind = b"Content-Type: multipart/form-data; boundary=" + boundary + b"\r\n"
    return post(b"Content-Length: %d\r\n" % len(body), body, kind=kind)


def said(body: object) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return post(b"Content-Length: %d\r\n" % len(content), content)


FIELD = b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
REST = FIELD % (b"source", b"en") + FIELD % (b"target", b"de") + b"--b--\r\n"
GOOD = {"source": "en", "target": "de"}
MESSAGES = {
    # where one request ends and the next begins
    "length and chunks": post(LENGTH + CHUNKED, CHUNK + NEXT),
    "chunks and length": post(CHUNKED + LENGTH, CHUNK + NEXT),
    "two lengths": post(LENGTH + b"Content-Length: 5\r\n"),
    "a list of lengths": post(b"Content-Length: 53, 5\r\n"),
    "a length with a plus": post(b"Content-Length: +53\r\n"),
    "a hexadecimal length": post(b"Content-Length: 0x35\r\n"),
    "a length of letters": post(b"Content-Length: abc\r\n"),
    "an empty length": post(b"Content-Length:\r\n"),
    "a negative length": post(b"Content-Length: -1\r\n"),
    "a huge length": post(b"Content-Length: 99999999999999999999\r\n"),
    "a length of 2^63": post(b"Content-Length: 9223372036854775808\r\n"),
    "a length with an underscore": post(b"Content-Length: 5_3\r\n"),
    "a length of other digits": post("Content-Length: \u0665\u0663\r\n".encode()),
    "a length with a tab": post(b"Content-Length\t: 53\r\n"),
    "a coding with a tab": post(b"Transfer-Encoding:\tchunked\r\n" + LENGTH, CHUNK),
    "a coding in capitals": post(b"TRANSFER-ENCODING: CHUNKED\r\n" + LENGTH, CHUNK),
    "a coding twice": post(CHUNKED + CHUNKED, CHUNK),
    "an unknown coding": post(b"Transfer-Encoding: xchunked\r\n", CHUNK),
    "chunked, identity": post(b"Transfer-Encoding: chunked, identity\r\n", CHUNK),
    "gzip, chunked": post(b"Transfer-Encoding: gzip, chunked\r\n", CHUNK),
    "a quoted coding": post(b'Transfer-Encoding: "chunked"\r\n', CHUNK),
    "a folded coding": post(b"Transfer-Encoding:\r\n chunked\r\n", CHUNK),
    "a NUL in the coding": post(b"Transfer-Encoding: chunked\0\r\n", CHUNK),
    "chunks in 1.0": post(CHUNKED, CHUNK).replace(b"HTTP/1.1", b"HTTP/1.0"),
    # chunks
    "a negative chunk": post(CHUNKED, b"-1\r\n\r\n"),
    "an endless chunk": post(CHUNKED, b"F" * 20 + b"\r\n"),
    "a chunk of 2^64": post(CHUNKED, b"10000000000000000\r\n"),
    "a chunk with 0x": post(CHUNKED, b"0x5\r\nhello\r\n0\r\n\r\n"),
    "a chunk that lies": post(CHUNKED, b"3\r\nhello\r\n0\r\n\r\n"),
    "a long extension": post(CHUNKED, b"5;" + b"x" * 100_000 + b"\r\nhello\r\n0\r\n\r\n"),
    "many extensions": post(CHUNKED, b"5" + b";a=b" * 20_000 + b"\r\nhello\r\n0\r\n\r\n"),
    "many trailers": post(CHUNKED, CHUNK[:-2] + b"a: b\r\n" * 20_000 + b"\r\n"),
    "a long trailer": post(CHUNKED, CHUNK[:-2] + b"a: " + b"b" * 200_000 + b"\r\n\r\n"),
    "a trailer with a length": post(CHUNKED, b"5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n"),
    "zeros before a size": post(CHUNKED, b"0" * 100_000 + b"5\r\nhello\r\n0\r\n\r\n"),
    "lone line feeds": post(CHUNKED, b"5\nhello\n0\n\n"),
    # the head
    "no host": get(headers=b""),
    "two hosts": get(headers=HOST + b"Host: evil.example\r\n"),
    "an empty host": get(headers=b"Host:\r\n"),
    "a host with a path": get(headers=b"Host: 127.0.0.1/../x\r\n"),
    "a host with a name before": get(headers=b"Host: 127.0.0.1@evil.example\r\n"),
    "a host that ends so": get(headers=b"Host: evil.example#127.0.0.1\r\n"),
    "a host of blanks": get(headers=b"Host: 127.0.0.1 evil.example\r\n"),
    "a foreign address": get(b"http://evil.example/health"),
    "a long host": get(headers=b"Host: " + b"a" * 60_000 + b"\r\n"),
    "a blank before a colon": get(headers=HOST + b"X : y\r\n"),
    "a header without a name": get(headers=HOST + b": y\r\n"),
    "a header without a colon": get(headers=HOST + b"nothing\r\n"),
    "a folded header": get(headers=HOST + b"X: y\r\n z\r\n"),
    "a NUL in a header": get(headers=HOST + b"X: a\0b\r\n"),
    "a lone CR": get(headers=HOST + b"X: a\rY: b\r\n"),
    "10,000 headers": get(headers=HOST + b"a: b\r\n" * 10_000),
    "a long name": get(headers=HOST + b"x" * 100_000 + b": y\r\n"),
    "an origin of null": get(headers=HOST + b"Origin: null\r\n"),
    "an origin elsewhere": get(headers=HOST + b"Origin: http://evil.example\r\n"),
    "a long path": get(b"/" + b"a" * 100_000),
    "a path of dots": get(b"/studio/../../../etc/passwd"),
    "coded dots": get(b"/studio/%2e%2e%2f%2e%2e%2fetc/passwd"),
    "twice coded": get(b"/studio/%252e%252e/x"),
    "a back slash": get(b"/studio\\..\\x"),
    "a NUL in a path": get(b"/models/%00"),
    "a bad escape": get(b"/models/%zz%"),
    "bytes in a path": get(b"/models/\xff\xfe"),
    "a fragment": get(b"/nothing#x"),
    "blanks in a path": get(b"/a b c"),
    "a tab in a path": get(b"/a\tb"),
    "no path": get(b""),
    "only a star": get(b"*"),
    "a query of &": get(b"/languages?" + b"&" * 50_000),
    "a query of keys": get(b"/v1/model?" + b"a=b&" * 5_000),
    "a bad query": get(b"/v1/model?%ff=%fe"),
    "a method of letters": b"A" * 100_000 + b" / HTTP/1.1\r\n\r\n",
    "an unknown method": b"FETCH / HTTP/1.1\r\n" + HOST + b"\r\n",
    "trace": b"TRACE / HTTP/1.1\r\n" + HOST + b"\r\n",
    "connect": b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a small method": b"get / HTTP/1.1\r\n" + HOST + b"\r\n",
    "version 9.9": get(version=b"HTTP/9.9", path=b"/nothing"),
    "no version": b"GET /nothing\r\n\r\n",
    "a version of letters": get(version=b"HTTP/x.y"),
    "another protocol": get(version=b"RTSP/1.0"),
    # other protocols
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(27),
    "h2c": get(
        b"/nothing",
        HOST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    ),
    "websocket": get(
        b"/nothing",
        HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n",
    ),
    "TLS": bytes.fromhex("16030100c2010000be0303") + bytes(100),
    "SSH": b"SSH-2.0-x\r\n",
    "SMTP": b"EHLO x\r\n",
    "FTP": b"USER x\r\n",
    "proxy": b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + get(),
    "SOCKS": b"\x05\x01\x00",
    "binary proxy": b"\r\n\r\n\0\r\nQUIT\n" + bytes(16),
    "line feeds": b"\n" * 100_000,
    "JSON alone": BODY,
    # bodies
    "deep JSON": said(b'{"q":' + b"[" * 100_000),
    "deep in another field": said(b'{"q": "a", "x": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}"),
    "same key": said(b'{"q": 1, "q": [], "source": "en", "target": "de"}'),
    "NaN": said(b'{"q": "a", "source": "en", "target": "de", "alternatives": NaN}'),
    "minus zero": said(GOOD | {"q": "a", "alternatives": -0.5}),
    "1e308": said(GOOD | {"q": "a", "alternatives": 1e308}),
    "true as a number": said(GOOD | {"q": "a", "alternatives": True}),
    "q of a thousand": said(GOOD | {"q": ["a"] * 1000}),
    "q of lists": said(GOOD | {"q": [["a"]]}),
    "a format": said(GOOD | {"q": "a", "format": "x" * 10_000}),
    "keys of a prototype": said({"__proto__": {"q": "a"}, "constructor": 1}),
    "an empty list": said(GOOD | {"q": []}),
    "a language of escapes": said({"q": "a", "source": "\x1b[2J", "target": "de"}),
    "a language of a megabyte": said({"q": "a", "source": "x" * 900_000, "target": "de"}),
    "a key of a list": said(GOOD | {"q": "a", "api_key": ["x"]}),
    "a form of one key": form(b"a" * 900_000),
    "a form of JSON": form(BODY),
    "a form of brackets": form(b"q[]=a&q[0]=b&source=en&target=de"),
    "a bad escape in a form": form(b"q=%ff%fe&source=en&target=de"),
    "a form of equals": form(b"=" * 100_000),
    "2,000 fields": form(b"q=a&" * 2000),
    "parts without an end": parts(b"b", FIELD % (b"q", b"a")),
    "another boundary": parts(b"c", FIELD % (b"q", b"a") + REST),
    "a boundary of blanks": parts(b"   ", REST),
    "a long boundary": parts(b"b" * 10_000, REST),
    "parts without a name": parts(b"b", FIELD.replace(b'; name="%s"', b"") % b"a" + b"--b--\r\n"),
    "a file as a text": parts(b"b", FIELD.replace(b'"%s"', b'"q"; filename="../../x"') % b"a" + REST),
    "nested parts": parts(
        b"b", b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nx\r\n--c--\r\n--b--\r\n"
    ),
    "5,000 parts": parts(b"b", FIELD % (b"x", b"") * 5000 + b"--b--\r\n"),
    "headers of a part": parts(b"b", b"--b\r\n" + b"a: b\r\n" * 5000 + b"\r\nx\r\n--b--\r\n"),
    "a long header of a part": parts(
        b"b", b"--b\r\nContent-Disposition: " + b"x" * 100_000 + b"\r\n\r\nx\r\n--b--\r\n"
    ),
    "a packed part": post(b"Content-Encoding: gzip\r\n" + LENGTH),
    "a base64 part": parts(b"b", b"--b\r\nContent-Transfer-Encoding: base64\r\n\r\nYQ==\r\n--b--\r\n"),
    "two types": post(LENGTH + b"Content-Type: text/plain\r\n", path=b"/nothing"),
    "a type of slashes": post(LENGTH, kind=b"Content-Type: " + b"/" * 10_000 + b"\r\n"),
    "a charset of UTF-7": post(LENGTH, kind=b"Content-Type: application/json; charset=utf-7\r\n"),
    "a strange expectation": post(b"Expect: 42\r\n" + LENGTH, path=b"/nothing"),
}
# These are no attack on this server: what they ask is answered as usual.
ANSWERED = {
    "a coding in capitals", "a coding with a tab", "zeros before a size", "a query of &", "a query of keys", "same key",
    "no version", "proxy", "a folded header", "an origin of null", "10,000 headers",
    "a long name",
}  # fmt: skip


def talk(server, message: bytes) -> list[int]:
    """The statuses of all answers to these bytes."""
    answer = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line, suppress(ConnectionError):
        line.sendall(message)
        line.shutdown(socket.SHUT_WR)
        while part := line.recv(65536):
            answer += part
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize("name", MESSAGES)
def test_a_hostile_message_is_refused(server, eventually, capfd, name):
    statuses = talk(server, MESSAGES[name])
    least = 200 if name in ANSWERED else 400
    assert all(least <= status < 500 for status in statuses), statuses
    assert len(statuses) < 2 or name == "HTTP/2", "one request was taken for two"  # its preface is two in HTTP/1
    assert "Traceback" not in capfd.readouterr().err
    eventually(lambda: server.service.inside == 0 and not server.service.uploads.open)


def test_the_server_is_as_before(server):
    assert server.translate("the cat").status == 200
    assert len(MESSAGES) >= 100
