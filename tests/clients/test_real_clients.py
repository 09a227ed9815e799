"""The clients that people have, unmodified: `make clients` installs them into a throw-away environment and runs this.

They are large, so they are no part of the development environment: without SEQLOOM_CLIENTS, the folder that has them,
these tests are skipped.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("served_to_clients", HERE.parent / "serve" / "conftest.py")
assert spec is not None and spec.loader is not None
fixtures = importlib.util.module_from_spec(spec)
sys.modules["served_to_clients"] = fixtures
spec.loader.exec_module(fixtures)
make_folder, folders, pairs, server = fixtures.make_folder, fixtures.folders, fixtures.pairs, fixtures.server

PYTHON = ("deepl", "openai", "litellm", "langchain-openai", "llm")
NODE = ("deepl-node", "openai-node")


@pytest.fixture(scope="module")
def installed():
    folder = os.environ.get("SEQLOOM_CLIENTS")
    if not folder:
        pytest.skip("the clients are not installed: `make clients` does it (it needs a network)")
    return Path(folder)


def outcome(words):
    done = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.partition(" ")[0] in (*PYTHON, *NODE))


@pytest.fixture(scope="module")
def said(installed, server, pairs):
    """What each client reports."""
    expected = pairs[0].translator.translate("a small dog")
    python = [str(installed / "python" / "bin" / "python"), str(HERE / "ask_python.py"), server.address, expected]
    node = ["node", str(HERE / "ask_node.mjs"), server.address, expected, str(installed / "node")]
    return outcome(python) | outcome(node)


@pytest.mark.parametrize("client", [*PYTHON, *NODE])
def test_a_client_that_people_have_works_as_it_is(said, client):
    assert said[client] == "ok"
