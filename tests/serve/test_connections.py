"""Clients that open many connections, send slowly, in tiny pieces or not at all, or do not take their answers."""

import json
import logging
import re
import resource
import signal
import socket
import time
from contextlib import ExitStack, suppress

import pytest

from seqloom.serve import connection
from seqloom.serve.body import parse_form
from seqloom.serve.limits import Limits
from seqloom.serve.quiet_log import SELDOM, Seldom
from seqloom.serve.service import Service

VALID = json.dumps({"q": "the cat", "source": "en", "target": "de"}).encode()


def head(length, path="/translate", **more):
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *more.pop("lines", ())]
    lines += [f"Content-Length: {length}"] if length is not None else ["Transfer-Encoding: chunked"]
    return "\r\n".join([*lines, "", ""]).encode()


def connect(running, message=b""):
    line = socket.create_connection(("127.0.0.1", running.port), timeout=60)
    line.sendall(message)
    return line


def rest_of(line):
    """What the server still says until it closes the connection."""
    said = b""
    with suppress(ConnectionError):
        while part := line.recv(65536):
            said += part
    return said


def answer_of(line):
    """One answer: its headers, and a body of the length that they announce; both may come in pieces."""
    said = b""
    while part := line.recv(65536):
        said += part
        before, found, body = said.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", before)
        if found and length and len(body) >= int(length[1]):
            break
    return said


def status_of(said):
    return int(said.split()[1])


@pytest.fixture
def limited(pairs, serve):
    """limited(header=0.5): a server with these limits, which ends with the test."""
    with ExitStack() as stack:
        yield lambda **limits: stack.enter_context(serve(Service(pairs[:1], Limits(**limits))))


@pytest.mark.parametrize("said", [b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "])
def test_a_connection_without_a_whole_header_is_closed(limited, said):
    running = limited(header=0.3)
    with connect(running, said) as line:
        assert rest_of(line) == b""


def test_one_byte_now_and_then_does_not_keep_a_connection(limited):
    running = limited(header=0.5)
    with connect(running, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ") as line, suppress(ConnectionError):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            line.sendall(b"a")
            time.sleep(0.05)
        pytest.fail("it is still open")


def test_after_an_answer_the_next_header_has_the_same_time(limited):
    running = limited(header=2.0)
    request = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connect(running, request) as line:
        assert answer_of(line).startswith(b"HTTP/1.1 200")
        line.sendall(request + b"GET /hea")
        assert rest_of(line).startswith(b"HTTP/1.1 200")


def test_idle_connections_beyond_the_limit_give_way_the_oldest_first(limited):
    running = limited(connections=8)
    with ExitStack() as stack:
        lines = [stack.enter_context(connect(running)) for _ in range(30)]
        assert running.get("/health").status == 200
        assert rest_of(lines[0]) == rest_of(lines[10]) == b""
        lines[-1].sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert rest_of(lines[-1]).startswith(b"HTTP/1.1 200"), "the latest is still open"


def test_a_request_that_is_being_answered_gives_way_to_nobody(gated, serve):
    service, gate = gated(Limits(connections=2))
    with serve(service) as running, connect(running, head(len(VALID)) + VALID) as line, ExitStack() as stack:
        gate.wait_for_batch()
        _ = [stack.enter_context(connect(running)) for _ in range(6)]
        gate.opened.set()
        assert answer_of(line).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("soft", "hard", "most"), [(1024, 1024, 832), (1024, 50_000, 4096), (100, 100, 50), (9999, 9999, 4096)]
)
def test_there_are_fewer_connections_than_files_that_may_be_open(monkeypatch, soft, hard, most):
    said = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: said.append(limits))
    assert connection.most_connections(4096) == most
    assert said == ([(4096 + connection.SPARE_FILES, hard)] if hard > 9999 else [])


def test_a_client_that_takes_no_answer_is_cut_off(limited, eventually):
    running = limited(deadline=0.5, header=0.5)
    with connect(running) as line, suppress(OSError):
        line.settimeout(5)
        for _ in range(40):  # far more than the kernel keeps
            line.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 50)
    with connect(running, b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 300):
        eventually(lambda: not running.server.server_state.connections, 60)


def pieces(num, size=1):
    return (b"%x\r\n" % size + b"x" * size + b"\r\n") * num


@pytest.mark.parametrize("path", ["/translate", "/v1/explain", "/translate_file", "/nothing"])
def test_a_body_in_tiny_pieces_is_refused(limited, path):
    running = limited()
    with connect(running) as line, suppress(ConnectionError):
        line.sendall(head(None, path) + pieces(20_000))
        said = rest_of(line)
        assert b'{"error":' in said and status_of(said) in (400, 403, 404)
    assert running.translate("the cat").status == 200


def test_a_body_in_pieces_of_a_usual_size_is_read(limited):
    running = limited()
    body = b'{"q": "the cat", "source": "en", "target": "de", "x": "' + b"x" * 900_000 + b'"}'
    chunks = [body[at : at + 1000] for at in range(0, len(body), 1000)]
    message = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    with connect(running, head(None) + message) as line:
        assert answer_of(line).startswith(b"HTTP/1.1 200")


def test_a_body_that_is_announced_far_too_large_is_refused_before_it_is_sent(limited):
    running = limited()
    with connect(running, head(10**12)) as line:
        said = answer_of(line)
        assert status_of(said) == 413 and b'{"error":' in said
        with suppress(ConnectionError):
            for _ in range(1000):
                line.sendall(b"x" * 65536)
            pytest.fail("it reads on")


def test_a_slow_body_has_a_deadline_of_its_own(limited):
    running = limited(upload=0.3)
    with connect(running, head(100) + b'{"q"') as line:
        said = answer_of(line)
        assert status_of(said) == 408 and b"0.3 seconds" in said


def test_slow_bodies_take_no_place_from_others(limited, eventually):
    running = limited(uploads=8, requests=4)
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(running, head(100) + b'{"q"')) for _ in range(8)]
        eventually(lambda: len(running.service.uploads.open) == 8)
        assert running.translate("the cat").status == 200
        assert status_of(slow[0].recv(65536)) == 503, "the oldest gave way"
        _ = [stack.enter_context(connect(running, head(100) + b'{"q"')) for _ in range(20)]
        assert running.translate("the cat").status == 200
    eventually(lambda: not running.service.uploads.open)


def test_a_half_sent_body_at_the_end_is_503_and_one_line(limited, caplog, eventually):
    running = limited()
    with connect(running, head(100) + b'{"q"') as line, caplog.at_level(logging.WARNING):
        eventually(lambda: running.service.uploads.open)
        running.server.handle_exit(signal.SIGTERM, None)
        said = rest_of(line)
        assert status_of(said) == 503 and b"shutting down" in said
    [record] = caplog.records
    assert "1 requests were still being sent" in record.getMessage() and not record.exc_info


@pytest.mark.parametrize(
    "path", ["/translate", "/v1/translate", "/v1/explain", "/v2/translate", "/v1/chat/completions"]
)
@pytest.mark.parametrize("where", ["header", "query"])
def test_a_wrong_key_is_refused_before_the_body_is_sent(locked, path, where):
    lines = ("Authorization: Bearer wrong",) if where == "header" else ()
    with connect(locked, head(1000, path + ("?api_key=wrong" if where == "query" else ""), lines=lines)) as line:
        said = answer_of(line)
        assert status_of(said) in (401, 403, 456) and b"key" in said


def test_the_right_key_may_be_in_header_query_or_body(locked):
    for path, headers, fields in (
        ("/translate", {"Authorization": "Bearer open sesame"}, {}),
        ("/translate?api_key=open%20sesame", {}, {}),
        ("/translate", {}, {"api_key": "open sesame"}),
    ):
        answer = locked.post(path, headers, q="the cat", source="en", target="de", **fields)
        assert answer.status == 200, path
    assert locked.translate("the cat", api_key="wrong").status == 403


FORMS = {
    "letters as %41": b"q=" + b"%41" * 349_000,
    "every other one": b"q=" + b"%41a" * 262_000,
    "percent signs": b"q=" + b"%" * 1_048_000,
    "fields without a name": b"&" * 900,
    "plus signs": b"q=" + b"+" * 1_048_000,
}


@pytest.mark.parametrize("name", FORMS)
def test_a_megabyte_of_form_is_read_quickly(name):
    started = time.process_time()
    parse_form(FORMS[name])
    assert time.process_time() - started < 0.7


def test_health_stays_quick_beside_large_forms(limited):
    running = limited()
    kind = "application/x-www-form-urlencoded"
    message = head(len(FORMS["every other one"])).replace(b"application/json", kind.encode())
    with ExitStack() as stack:
        lines = [stack.enter_context(connect(running, message + FORMS["every other one"])) for _ in range(4)]
        waits = []
        for _ in range(10):
            started = time.monotonic()
            assert running.get("/health").status == 200
            waits.append(time.monotonic() - started)
        assert sorted(waits)[5] < 1
        assert [status_of(answer_of(line)) for line in lines] == [400] * 4


@pytest.mark.parametrize(
    ("coded", "text"),
    [
        (b"a+b", "a b"), (b"%41%42c", "ABc"), (b"%c3%A9", "é"), (b"%", "%"), (b"%4", "%4"), (b"%zz%41", "%zzA"),
        (b"100%25", "100%"), ("é".encode(), "é"), (b"%2B+%26", "+ &"), (b"%00", "\0"),
    ],
)  # fmt: skip
def test_a_form_says_what_it_says_to_others(coded, text):
    from urllib.parse import parse_qsl

    assert parse_form(b"q=" + coded) == {"q": text} == dict(parse_qsl((b"q=" + coded).decode()))


def test_clients_cannot_fill_the_log(limited, capsys):
    SELDOM.seen.clear()
    running = limited()
    for _ in range(40):
        with connect(running, b"\0\0\r\n\r\n") as line:
            assert status_of(rest_of(line)) == 400
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert 1 <= said.count("Invalid HTTP request") <= 20, "ten per minute, and a minute may have ended"


def test_messages_left_out_are_counted_in_the_next_minute(monkeypatch):
    minute = 0
    monkeypatch.setattr("seqloom.serve.quiet_log.time.monotonic", lambda: 60.0 * minute)
    seldom = Seldom(2)

    def passes(message):
        record = logging.LogRecord("uvicorn.error", 30, "", 0, message, (), None)
        return bool(seldom.filter(record)) and record.getMessage()

    assert [passes("bad") for _ in range(5)] == ["bad", "bad", False, False, False]
    assert passes("other") == "other"
    minute = 1
    assert passes("bad") == "bad (3 more like this in the minute before)"
    assert passes("bad") == "bad"


def test_a_fault_in_the_middle_of_a_body_ends_the_request(limited, capsys):
    running = limited()
    with connect(running, head(None) + b"5\r\nhello\r\nnot a length\r\n") as line:
        assert status_of(rest_of(line)) == 400
    with connect(running, head(None, "/nothing") + b"5\r\nhello\r\n") as line:
        assert status_of(answer_of(line)) == 404
        line.sendall(b"not a length\r\n")
        assert b"HTTP/1.1" not in rest_of(line)
    assert "Traceback" not in capsys.readouterr().err
    assert running.service.inside == 0 and not running.service.uploads.open
