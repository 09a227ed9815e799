"""A Transformer with its fast engine: the same answers served as alone, and no torch until a request needs it."""

import json
import threading

import pytest

from seqloom.runtime.translator import Translator
from seqloom.serve.look_inside import NO_TORCH

TEXTS = ["a small cat sat on the mat.", "the dog ran. then it slept!", "die Katze schläft dort", "wo ist er ? da"]
SMALL = (
    "model.width=16", "model.heads=2", "model.layers=1", "model.ffn_size=24", "text.vocab_size=300",
    "data.max_tokens=60", "data.source_lang=en", "data.target_lang=de",
)  # fmt: skip
PLAIN = {"source": "en", "target": "de"}
SPY = """
import http.client, os, signal, sys, threading
from urllib.parse import urlsplit
from seqloom.workflows.serve import Address, serve

def ask(address):
    connection = http.client.HTTPConnection(address, timeout=60)
    for path in ("/translate", "/v1/explain", "/translate"):
        connection.request("POST", path + "?q=a+small+cat&source=en&target=de")
        answer = connection.getresponse()
        print(answer.status, answer.read().decode())
        loaded.append("torch" in sys.modules)
        sys.modules["torch"] = None  # from now on there is none
    os.kill(os.getpid(), signal.SIGTERM)

def say(greeting):
    address = next(word for word in greeting.split() if word.startswith("http://"))
    threading.Thread(target=ask, args=[urlsplit(address).netloc]).start()

loaded = []
serve(sys.argv[1:], Address(port=0), threads=1, say=say)
sys.exit("torch was imported" if loaded[0] else 0)
"""


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """A Transformer of random weights that writes no <pad> and no <s>, as none does after training; with engine/."""
    import torch

    from seqloom.config import dump_config, load_config
    from seqloom.formats.export_ctranslate2 import make_engine
    from seqloom.models.build import build_model
    from seqloom.models.weights import save_weights
    from seqloom.text.learn import learn_tokenizer
    from seqloom.text.sides import Tokenizers
    from seqloom.text.vocabulary import BOS, EOS, PAD

    folder = tmp_path_factory.mktemp("converted")
    config = load_config(overrides=SMALL)
    tokenizer = learn_tokenizer(config.text.tokenizer, TEXTS, config.text.vocab_size)
    torch.manual_seed(5)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    with torch.no_grad():
        for weights in model.parameters():
            weights += 0.2 * torch.randn_like(weights)
        model.output.bias[EOS] = 0.0
        model.output.bias[[PAD, BOS]] = -20.0
    (folder / "config.toml").write_text(dump_config(config), "utf-8")
    (folder / "run.json").write_text('{"format": 1, "finished": true}', "utf-8")
    Tokenizers(tokenizer, tokenizer).save(folder)
    save_weights(model, folder / "model.safetensors")
    make_engine(folder, tell=print)
    return folder


@pytest.fixture
def service(converted):
    from seqloom.serve.service import Service
    from seqloom.workflows.serve import load_pair

    return Service([load_pair(str(converted), threads=1)])


def test_it_says_what_the_translator_says(service, serve, converted):
    alone = Translator.load(converted, engine="torch")
    expected = alone.translate(TEXTS)
    assert len({*expected}) == len(TEXTS) and all(expected), "a test of nothing"
    with serve(service) as running:
        assert service.models["en", "de"].translator.engine.name == "ctranslate2"
        assert running.translate(TEXTS).json == {"translatedText": expected}
        [found] = running.post("/v1/translate", q=TEXTS[0], **PLAIN, n_best=3).json["translations"]
        assert [one["text"] for one in found["hypotheses"]] == [
            one.text for one in alone.hypotheses(TEXTS[:1], None, 3)[0]
        ]
        other = running.translate(TEXTS[0], alternatives=3).json
        assert other["translatedText"] == expected[0] and len(other["alternatives"]) == 3


def test_torch_is_loaded_beside_the_model_for_those_who_want_more(service, serve, eventually):
    """Who wants an alignment waits until torch is there; the others are answered meanwhile."""
    translator = service.models["en", "de"].translator
    load, go_on, loading = translator.load_model, threading.Event(), []

    def slow_load():
        loading.append(threading.current_thread().name)
        assert go_on.wait(60)
        return load()

    translator.load_model = slow_load
    with serve(service) as running:
        answers = []

        def ask():
            answers.append(running.post("/v1/translate", q=TEXTS[0], **PLAIN, alignment=True))

        threads = [threading.Thread(target=ask) for _ in range(2)]
        [thread.start() for thread in threads]
        eventually(lambda: loading)
        assert running.translate(TEXTS[0]).status == 200 and not answers
        go_on.set()
        [thread.join(60) for thread in threads]
        assert loading == ["seqloom-reference"], "once"
        for answer in answers:
            assert answer.json["translations"][0]["alignment"]["source"] == TEXTS[0].split()
    assert len(answers) == 2


def test_served_and_asked_it_needs_no_torch_and_says_what_it_cannot_show_without(converted, python):
    done = python("-c", SPY, converted)
    assert done.returncode == 0, done.stderr
    answers = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert [status for status, _ in answers] == ["200", "400", "200"]
    translated, refused, after = (json.loads(body) for _, body in answers)
    assert translated == after == {"translatedText": Translator.load(converted, threads=1).translate("a small cat")}
    assert refused["error"] == NO_TORCH
