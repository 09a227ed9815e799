"""`seqloom serve` as a user runs it: what it prints, whom it lets in, how it stops."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from seqloom.errors import UsageError
from seqloom.serve.batcher import Limits
from seqloom.serve.server import check_open_to_others, greeting
from seqloom.serve.service import Pair, Service, check_pairs

# The command, with a model that never answers, and seconds to drain from the environment. It computes in torch, which
# does not bear that Python is taken apart beside it.
NEVER = """
import os, sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
import torch
from seqloom.runtime.folder import read_config
from seqloom.runtime.translator import Translator
from seqloom.workflows import serve as workflow

def search(*_, **__):
    x = torch.ones(300, 300)
    while True:
        x = torch.tanh(x @ x)

workflow.Limits = partial(workflow.Limits, drain=float(os.environ["DRAIN"]))
Translator.load = lambda folder, **_: SimpleNamespace(
    tokenizers=SimpleNamespace(target=range(9)), config=read_config(folder), facts={}, load_model=None,
    answer=search,
)
from seqloom.cli.app import main
sys.exit(main())
"""


@contextmanager
def started(environment, *words, program=("-m", "seqloom")):
    """A server in a process of its own; its greeting has been printed."""
    process = subprocess.Popen(
        [sys.executable, *program, "serve", *map(str, words), "--port", "0", "--threads", "1"],
        stderr=subprocess.PIPE,
        env=environment,
        encoding="utf-8",
    )
    try:
        greeting = []
        while not greeting or not greeting[-1].startswith("Ctrl-C"):
            line = process.stderr.readline()
            assert line, "".join(greeting)
            greeting.append(line)
        process.greeting = "".join(greeting)
        process.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", process.greeting)[1])
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def send(port, q, key="secret words"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"q": q, "source": "en", "target": "de", "api_key": key})
    connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
    return connection


def metrics(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics", headers={"Authorization": "Bearer secret words"})
    try:
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def refuses(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


def test_term_under_load_answers_who_was_let_in_and_exits_0(environment, folders, eventually):
    with started({**environment, "SEQLOOM_API_KEY": "secret words"}, *folders) as process:
        assert f"Seqloom serves 2 models at http://127.0.0.1:{process.port}" in process.greeting
        assert "secret words" not in process.greeting
        stranger = send(process.port, "a", key="wrong")
        assert stranger.getresponse().status == 403, "the key of the environment counts"
        waiting = [send(process.port, ["the cat sat on the mat " * 20] * 24) for _ in range(3)]
        eventually(lambda: 'seqloom_queue_requests{model="en-de"} 3.0' in metrics(process.port))
        process.send_signal(signal.SIGTERM)
        answers = [connection.getresponse() for connection in waiting]
        assert [answer.status for answer in answers] == [200] * 3
        assert all(len(json.loads(answer.read())["translatedText"]) == 24 for answer in answers)
        eventually(lambda: refuses(process.port))
        assert process.wait(30) == 0
        assert process.stderr.read() == ""
        [connection.close() for connection in (*waiting, stranger)]


@pytest.fixture
def never(environment, folders, eventually):
    """A server whose model has begun a search that does not end; the request that waits for it."""

    @contextmanager
    def start(drain):
        with started({**environment, "DRAIN": str(drain)}, folders[0], program=("-c", NEVER)) as process:
            waiting = send(process.port, "the cat")
            eventually(lambda: 'seqloom_queue_requests{model="en-de"} 1.0' in metrics(process.port))
            time.sleep(0.2)  # for the batch to begin
            yield process, waiting
            waiting.close()

    return start


def test_the_end_waits_for_no_search_beyond_the_drain(never):
    with never(drain=1) as (process, waiting):
        process.send_signal(signal.SIGTERM)
        answer = waiting.getresponse()
        assert answer.status == 503 and "shutting down" in json.loads(answer.read())["error"]
        assert process.wait(15) == 0
        assert process.stderr.read() == ""


def test_the_second_ctrl_c_ends_at_once(never, eventually):
    with never(drain=600) as (process, _):
        process.send_signal(signal.SIGINT)
        eventually(lambda: refuses(process.port))
        assert process.poll() is None, "it waits for the answer"
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0


@pytest.mark.parametrize("key", [None, "secret words"])
def test_it_greets_with_settings_to_paste(pairs, key):
    address = "http://127.0.0.1:5000"
    said = greeting(Service(pairs, key=key), address)
    assert "English -> German (en-de)" in said and "secret words" not in said
    assert said.count("YOUR") == (7 if key else 0)
    for name in ("curl", "libretranslatepy", "deep-translator", "Mastodon", "Weblate", "deepl", "openai"):
        [line] = [line for line in said.splitlines() if line.split()[0] == name]
        assert address in line


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nowhere",), 4, "no such folder"),
        (("{en_de}", "{en_de}"), 2, "both translate en to de"),
        (("{en_de}", "--host", "0.0.0.0"), 2, "--api-key"),
        (("{en_de}", "--port", "70000"), 2, "0 (any free one) to 65535"),
        (("{en_de}", "--port", "{used}"), 2, "Try another --port"),
        (("{en_de}", "--host", "no.such.host.invalid", "--insecure"), 2, "no such address"),
        (("{en_de}", "--beam", "0"), 2, "want 1 to 32"),
        (("{en_de}", "--api-key", ""), 2, "--api-key is empty"),
    ],
)
def test_what_is_wrong_is_a_sentence(folders, words, code, said, capsys):
    from seqloom.cli.app import main

    with socket.create_server(("127.0.0.1", 0)) as used:
        known = {"en_de": str(folders[0]), "used": used.getsockname()[1]}
        assert main(["serve", *(word.format(**known) for word in words)]) == code
    shown = capsys.readouterr().err
    assert said in shown and "Traceback" not in shown


def test_languages_come_from_the_folder_or_from_the_command_line(folders, make_folder):
    from seqloom.workflows.serve import load_pair

    named = load_pair(str(folders[0]), 1)
    assert (named.source, named.target) == ("en", "de")
    other = load_pair(f"fr-pt_BR={folders[0]}", 1)
    assert (other.source, other.target) == ("fr", "pt_BR")
    unnamed = load_pair(str(make_folder()), 1)
    assert (unnamed.source, unnamed.target) == ("src", "tgt")
    with pytest.raises(UsageError, match=r"The settings of neither name its languages.*SOURCE-TARGET=FOLDER"):
        check_pairs([unnamed, Pair("src", "tgt", unnamed.translator, "another")])


def test_a_language_model_is_not_served_as_a_translator(tmp_path):
    from seqloom.config import dump_config, load_config
    from seqloom.workflows.serve import load_pair

    config = load_config(overrides=["task.name=language", "model.kind=gpt"])
    (tmp_path / "config.toml").write_text(dump_config(config), "utf-8")
    with pytest.raises(UsageError, match=r"does not translate: serve it by a name, as FOLDER or NAME=FOLDER"):
        load_pair(f"en-de={tmp_path}", 1)


def test_the_server_itself_needs_no_torch(python):
    spy = "import sys, seqloom.serve.server, seqloom.runtime.translator; sys.exit('torch' in sys.modules)"
    assert python("-c", spy).returncode == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_this_machine_needs_no_key(host):
    check_open_to_others(host, None, insecure=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "example.org", "localhost.example.org", "2130706433"])
def test_others_need_a_key_or_a_word(host):
    with pytest.raises(UsageError, match="--insecure"):
        check_open_to_others(host, None, insecure=False)
    check_open_to_others(host, "k", insecure=False)
    check_open_to_others(host, None, insecure=True)


def stopping(running):
    """What a signal does, in a thread that gets none."""
    running.server.handle_exit(signal.SIGTERM, None)


def test_nobody_new_is_let_in_while_the_others_are_answered(gated, serve, eventually):
    service, gate = gated()
    with serve(service) as running:
        waiting = send(running.port, "accepted")
        gate.wait_for_batch()
        idle = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
        idle.request("GET", "/health")
        idle.getresponse().read()
        stopping(running)
        eventually(lambda: refuses(running.port))
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            idle.request("GET", "/health")
            if idle.getresponse().status == 503:
                raise ConnectionError("refused")
        gate.opened.set()
        assert json.loads(waiting.getresponse().read()) == {"translatedText": "ACCEPTED"}
        [connection.close() for connection in (waiting, idle)]


def test_who_is_not_answered_in_time_is_told_so(gated, serve):
    service, gate = gated(Limits(drain=0.3))
    with serve(service) as running:
        waiting = send(running.port, "never")
        gate.wait_for_batch()
        stopping(running)
        answer = waiting.getresponse()
        assert answer.status == 503 and "shutting down" in json.loads(answer.read())["error"]
        gate.opened.set()
        waiting.close()


def test_the_second_ctrl_c_waits_for_nobody(gated, serve):
    service, gate = gated()
    with serve(service) as running:
        waiting = send(running.port, "never")
        gate.wait_for_batch()
        running.server.handle_exit(signal.SIGINT, None)
        assert not running.server.force_exit
        running.server.handle_exit(signal.SIGINT, None)
        assert running.server.force_exit
        threading.Timer(0.2, gate.opened.set).start()
        waiting.close()
