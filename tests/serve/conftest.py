"""A running server on loopback, with two tiny random models (en-de, de-en), and a plain client to talk to it."""

import asyncio
import http.client
import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TEXTS = ["the cat sat on the mat", "a small dog ran", "die Katze schläft dort", "ein kleiner Hund . ! ?"]
SMALL = (
    "model.kind=rnn model.cell=gru model.layers=1 model.width=8 text.tokenizer=char text.vocab_size=300 "
    "data.max_tokens=60 decode.beam=2 decode.min_length=8 decode.no_repeat_ngram=3"
)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The sentence of a refusal (in OpenAI's shape: its message), which has nothing of Python in it."""
        assert self.headers["content-type"] == "application/json"
        said = self.json
        assert set(said) - {"message"} == {"error"}, said
        sentence = said["error"]
        if isinstance(sentence, dict):
            assert set(sentence) == {"message", "type", "param", "code"}, said
            sentence = sentence["message"]
        assert isinstance(sentence, str) and sentence.endswith("."), said
        assert not any(word in sentence for word in ("Traceback", "Error", "Exception", "object at")), said
        return sentence


@dataclass(frozen=True)
class Running:
    """A server and what may be asked of it."""

    port: int
    service: Any
    server: Any

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, headers: dict[str, str] | None = None, /, **fields: Any) -> Answer:
        """A JSON body."""
        return self.ask("POST", path, json.dumps(fields), {"Content-Type": "application/json", **(headers or {})})

    def translate(self, q: Any, source: str = "en", target: str = "de", **fields: Any) -> Answer:
        return self.post("/translate", q=q, source=source, target=target, **fields)


@pytest.fixture(scope="session")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """make_folder("data.source_lang=en", seed=3): a model folder as `train` leaves it, with random weights."""
    import torch

    from seqloom.config import dump_config, load_config
    from seqloom.models.build import build_model
    from seqloom.models.weights import save_weights
    from seqloom.text.learn import learn_tokenizer
    from seqloom.text.sides import Tokenizers
    from seqloom.text.vocabulary import EOS

    def make(*settings: str, seed: int = 3) -> Path:
        folder = tmp_path_factory.mktemp("served") / "model"
        folder.mkdir()
        config = load_config(overrides=[*SMALL.split(), *settings])
        tokenizer = learn_tokenizer(config.text.tokenizer, TEXTS, config.text.vocab_size)
        torch.manual_seed(seed)
        model = build_model(config, len(tokenizer), len(tokenizer), True)
        with torch.no_grad():
            for weights in model.parameters():
                weights *= 3.0  # different texts have different outputs
            for index, piece in enumerate(tokenizer.pieces(range(len(tokenizer)))):
                model.output.bias[index] = 0.0 if piece.isalpha() else -30.0  # letters, no loose bytes
            model.output.bias[tokenizer.encode(" ")[0]] = 5.0  # several words
            model.output.bias[EOS] = 9.0  # outputs end soon after they may
        (folder / "config.toml").write_text(dump_config(config), "utf-8")
        facts = {"format": 1, "params": 9, "step": 4, "data_hash": "d", "finished": True, "version": "0.1.0"}
        (folder / "run.json").write_text(json.dumps(facts), "utf-8")
        Tokenizers(tokenizer, tokenizer).save(folder)
        save_weights(model, folder / "model.safetensors")
        return folder

    return make


@pytest.fixture(scope="session")
def folders(make_folder: Callable[..., Path]) -> tuple[Path, Path]:
    return (
        make_folder("data.source_lang=en", "data.target_lang=de"),
        make_folder("data.source_lang=de", "data.target_lang=en", seed=4),
    )


@pytest.fixture(scope="session")
def pairs(folders: tuple[Path, Path]) -> list[Any]:
    from seqloom.workflows.serve import load_pair

    return [load_pair(str(folder), threads=1) for folder in folders]


@contextmanager
def serving(service: Any) -> Iterator[Running]:
    from seqloom.serve.server import Server, listen

    with listen("127.0.0.1", 0) as bound:
        started = threading.Event()
        server = Server(service, started.set)
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        thread.start()
        assert started.wait(30)
        yield Running(bound.getsockname()[1], service, server)
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive(), where_it_hangs(thread, server)


def where_it_hangs(thread: threading.Thread, server: Any) -> str:
    """In one line, which is all that a summary shows: what the thread does, and what every task waits for."""
    frame = sys._current_frames().get(thread.ident or 0)
    stack = [f"{line.name}:{line.lineno}" for line in traceback.extract_stack(frame)[-6:]]
    tasks = [f"{task.get_coro()} {task.get_stack(limit=1)}" for task in asyncio.all_tasks(server.loop)]
    return f"{stack} {tasks} {len(server.server_state.connections)} connections"


@pytest.fixture(scope="session")
def serve() -> Callable[..., Any]:
    """`with serve(service) as running`"""
    return serving


@pytest.fixture(scope="module")
def server(pairs: list[Any]) -> Iterator[Running]:
    """One server for all tests of a file that do not change it."""
    from seqloom.serve.service import Service

    with serving(Service(pairs)) as running:
        yield running


@pytest.fixture(scope="module")
def locked(pairs: list[Any]) -> Iterator[Running]:
    """The same with a key."""
    from seqloom.serve.service import Service

    with serving(Service(pairs, key="open sesame")) as running:
        yield running


class Gate:
    """A search that waits until it is let go on, and remembers what it was asked: for tests of queues and deadlines."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.begun = threading.Semaphore(0)
        self.batches: list[list[str]] = []

    def find(self, texts: Any, wanted: Any) -> list[Any]:
        from seqloom.runtime.translator import Translation
        from seqloom.serve.finding import Found

        self.batches.append([*texts])
        self.begun.release()
        assert self.opened.wait(60)
        return [Found([Translation(text.upper(), 0.0, 0.0)]) for text in texts]

    def wait_for_batch(self) -> None:
        assert self.begun.acquire(timeout=30)


@pytest.fixture
def gated(pairs: list[Any]) -> Iterator[Callable[..., Any]]:
    """gated(Limits(...)): a service whose en-de model waits at a gate; (service, gate)."""
    from seqloom.serve.batcher import Limits
    from seqloom.serve.service import Service

    gates = []

    def make(limits: Any = None) -> tuple[Any, Gate]:
        service, gate = Service(pairs[:1], limits or Limits()), Gate()
        service.models["en", "de"].batcher.find = gate.find
        gates.append(gate)
        return service, gate

    yield make
    for gate in gates:
        gate.opened.set()


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that another thread does."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


@pytest.fixture(scope="session")
def eventually() -> Callable[..., None]:
    return until


@pytest.fixture(scope="session")
def three(make_folder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An RNNsearch, an LSTM without attention and a Transformer; none of them knows its languages."""
    kinds = {
        "rnnsearch": "model.attention=additive",
        "lstm": "model.cell=lstm model.attention=none",
        "transformer": "model.kind=transformer model.heads=2",
    }
    place = tmp_path_factory.mktemp("three")
    for name, settings in kinds.items():
        make_folder(*settings.split()).rename(place / name)
    return [place / name for name in kinds]
