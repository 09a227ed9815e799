"""Bytes that are almost HTTP: cut off, doubled, mixed up. No 5xx, no traceback, and the server is as before."""

import json
import random
import socket
from contextlib import suppress

import pytest

BODY = json.dumps({"q": "the cat", "source": "en", "target": "de"}).encode()
HOST = b"Host: 127.0.0.1\r\n"
KIND = b"Content-Type: application/json\r\n"
REQUESTS = [
    b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n",
    b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n",
    b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    b"POST /translate HTTP/1.1\r\n" + HOST + KIND + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY,
    b"POST /v1/translate HTTP/1.0\r\n" + KIND + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY,
    b"POST /detect HTTP/1.1\r\n" + HOST + KIND + b"Transfer-Encoding: chunked\r\n\r\n"
    b"5;x=y\r\n{\"q\":\r\n6\r\n\"cat\"}\r\n0\r\nTrailer: x\r\n\r\n",
    b"POST /translate?q=a&source=en&target=de HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\n\r\n",
    b"GET /v1/models/en-de HTTP/1.1\r\n" + HOST + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n",
]  # fmt: skip
ODD = [
    b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b"%", b"%00", b"\xff", b"\x80",
    b"Content-Length: 5\r\n",
    b"Content-Length: -1\r\n", b"Content-Length: 1, 2\r\n", b"Content-Length: 18446744073709551616\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"Host: evil.example\r\n", b"Expect: x\r\n",
    b"Connection: close\r\n", b"Connection: keep-alive, upgrade\r\n", b"X" * 9000 + b": y\r\n", b"a: b\r\n" * 500,
    b"FFFFFFFFFFFFFFFFF\r\n", b"-1\r\n", b"HTTP/2.0", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"http://evil.example/",
    b"Authorization: Bearer \xe9\r\n", b"Content-Type: multipart/form-data; boundary=\r\n", b"Content-Encoding: br\r\n",
    b"X-Forwarded-For: ' or 1=1\r\n", b"Origin: http://127.0.0.1\r\n", b"//", b"/../", b"?" * 50, b"&" * 2000,
]  # fmt: skip


def damaged(seed):
    """A request or two, with one to three faults."""
    rng = random.Random(seed)
    message = b"".join(rng.choices(REQUESTS, k=rng.choice((1, 1, 2))))
    for _ in range(rng.randint(1, 3)):
        at, to = sorted((rng.randint(0, len(message)), rng.randint(0, len(message))))
        message = rng.choice(
            [
                message[:at] + rng.choice(ODD) + message[at:],
                message[:at] + message[to:],
                message[:to] + message[at:],
                message[:at] + bytes([rng.randrange(256)]) + message[at + 1 :],
                message.replace(b"\r\n", rng.choice((b"\n", b"\r", b"\r\n\r\n")), rng.randint(1, 9)),
                message[:at],
            ]
        )
    return message


def statuses_of(port, message, seed):
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line, suppress(OSError):
        middle = random.Random(seed).randint(0, len(message))
        line.sendall(message[:middle])
        line.sendall(message[middle:])
        line.shutdown(socket.SHUT_WR)
        while part := line.recv(65536):
            said += part
    parts = said.split(b"HTTP/1.1 ")
    assert not parts[0], said
    return [int(part[:3]) for part in parts[1:]]


def try_seeds(server, capsys, seeds):
    for seed in seeds:
        message = damaged(seed)
        statuses = statuses_of(server.port, message, seed)
        assert all(status < 500 for status in statuses), (seed, message, statuses)
    said = capsys.readouterr().err
    assert "Traceback" not in said and "Error" not in said, said
    assert server.translate("the cat").status == 200
    assert server.service.inside == 0 and not server.service.uploads.open


def test_damaged_requests_are_refused_or_answered(server, capsys):
    try_seeds(server, capsys, range(150))


@pytest.mark.slow
def test_thousands_of_damaged_requests(server, capsys):
    try_seeds(server, capsys, range(1000, 9000))
