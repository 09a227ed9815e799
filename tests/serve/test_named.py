"""Classifiers, taggers, gap fillers, language models and other models behind one server, each by its name."""

import contextlib
import http.client
import json
import warnings

import pytest

from seqloom.config import dump_config, load_config
from seqloom.errors import UsageError
from seqloom.runtime.inputs import TURN
from seqloom.serve.continuing import MOST_OPEN_EACH, Cut
from seqloom.serve.server import greeting
from seqloom.serve.service import Service, check_names
from seqloom.text.labels import learn_labels, one_word
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import EOS
from seqloom.workflows.serve import load_pair, load_single

TEXTS = ["the cat sat on the mat", "a small dog ran", "unlikely unbelievable endings"] * 4
LABELS = {"classify": ["very good", "bad", "so so"], "tag": ["DET", "NOUN", "VERB", "ADP"]}
TASKS = {
    "stars": "classify", "tags": "tag", "bert": "masked", "book": "language", "sounds": "pronounce", "talk": "dialogue",
}  # fmt: skip
SMALL = "model.kind=rnn model.width=8 model.layers=1 data.max_tokens=60 decode.beam=2"


@pytest.fixture(scope="module")
def folders_by_name(tmp_path_factory):
    """A model folder with random weights for each task, and the name of the model as the folder's name."""
    import torch

    from seqloom.models.build import build_model
    from seqloom.models.weights import save_weights

    place = tmp_path_factory.mktemp("named")
    for name, task in TASKS.items():
        folder = place / name
        folder.mkdir()
        config = load_config(overrides=[*SMALL.split(), f"task.name={task}"])
        source = learn_tokenizer("word" if task == "masked" else "char", TEXTS, 300)
        target = learn_labels(map(one_word, LABELS[task])) if task in LABELS else source
        tokenizers = Tokenizers(source, target)
        torch.manual_seed(3)
        model = build_model(config, len(source), len(target), tokenizers.joint)
        if task == "language":
            with torch.no_grad():
                model.output.bias[EOS] = -50.0  # it never ends by itself
        (folder / "config.toml").write_text(dump_config(config), "utf-8")
        (folder / "run.json").write_text('{"format": 1, "params": 9, "step": 4, "finished": true}', "utf-8")
        tokenizers.save(folder)
        save_weights(model, folder / "model.safetensors")
    return place


@pytest.fixture(scope="module")
def singles(folders_by_name):
    return {name: load_single(str(folders_by_name / name), threads=1) for name in TASKS}


@pytest.fixture(scope="module")
def named(pairs, singles, serve):
    """Two translators and a model of each other task."""
    with serve(Service(pairs, singles=[*singles.values()])) as running:
        yield running


@pytest.fixture(scope="module")
def client(named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip("openai")
    with module.OpenAI(base_url=f"{named.address}/v1", api_key="any", max_retries=0) as made:
        yield made


def test_a_text_gets_its_labels(named, singles):
    labeller = singles["stars"].answering
    [found] = named.post("/models/stars", inputs="a small dog").json
    assert [one["label"] for one in found] == [one.text for one in labeller.hypotheses(["a small dog"], n_best=3)[0]]
    assert sum(one["score"] for one in found) == pytest.approx(1, abs=1e-5)
    many = named.post("/models/stars", inputs=["a small dog", " ", "the cat"], parameters={"top_k": 1}).json
    assert [len(one) for one in many] == [1, 0, 1] and many[0][0]["label"] == found[0]["label"]


def test_words_get_their_tags(named, singles):
    text = "the  cat sat\ton"
    found = named.post("/models/tags", inputs=text).json
    assert " ".join(one["entity"] for one in found) == singles["tags"].answering.label([text])[0]
    assert [text[one["start"] : one["end"]] for one in found] == ["the", "cat", "sat", "on"]
    assert all(0 < one["score"] <= 1 for one in found)
    assert named.post("/models/tags", inputs=["", "cat"]).json[0] == []


def test_gaps_are_filled(named, singles):
    found = named.post("/models/bert", inputs="the ___ sat", parameters={"top_k": 3}).json
    assert [one["sequence"] for one in found] == [
        one.text for one in singles["bert"].answering.hypotheses(["the ___ sat"], n_best=3)[0]
    ]
    assert len(named.post("/models/bert", inputs="the ___ sat", parameters={"top_k": 1000}).json) > 3


def test_the_client_of_hugging_face_classifies_and_tags(named):
    hub = pytest.importorskip("huggingface_hub")
    client = hub.InferenceClient(f"{named.address}/models/stars", token="any")
    assert {one.label for one in client.text_classification("a small dog")} == {"very good", "bad", "so so"}
    assert len(client.text_classification("a small dog", top_k=2)) == 2
    tagged = hub.InferenceClient(f"{named.address}/models/tags", token="any").token_classification("the cat")
    assert [(one.word, one.start, one.end) for one in tagged] == [("the", 0, 3), ("cat", 4, 7)]


def test_a_model_that_writes_answers_prompts(client, singles):
    translator = singles["sounds"].answering
    answer = client.completions.create(model="sounds", prompt=["the cat", "dog"])
    assert [choice.text for choice in answer.choices] == translator.translate(["the cat", "dog"])
    said = client.chat.completions.create(model="sounds", messages=[{"role": "user", "content": "the cat"}])
    assert said.choices[0].message.content == translator.translate("the cat")
    assert client.responses.create(model="sounds", input="dog").output_text == translator.translate("dog")


def test_a_model_of_dialogues_reads_the_earlier_turns(client, singles):
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "the cat"},
        {"role": "assistant", "content": "sat"},
        {"role": "user", "content": "on"},
    ]
    translator = singles["talk"].answering
    turns = ["the cat", "sat", "on"][-translator.config.task.turns :]
    answer = client.chat.completions.create(model="talk", messages=messages)
    assert answer.choices[0].message.content == translator.translate(TURN.join(turns))


def test_a_language_model_continues_a_prompt(client, singles):
    generator = singles["book"].answering
    wish = {"model": "book", "prompt": "the cat", "max_tokens": 12, "seed": 7, "temperature": 0.8}
    answer = client.completions.create(**wish)
    expected = "".join(generator.stream("the cat", 12, temperature=0.8, top_p=1.0, seed=7))
    assert answer.choices[0].text == expected and answer.choices[0].finish_reason == "length"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len("the cat"), 12)
    assert client.completions.create(**wish, echo=True).choices[0].text == "the cat" + expected
    chunks = [*client.completions.create(**wish, stream=True, stream_options={"include_usage": True})]
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == expected
    assert chunks[-2].choices[0].finish_reason == "length" and chunks[-1].usage.completion_tokens == 12
    several = client.completions.create(**wish, n=2).choices
    assert several[0].text == expected != several[1].text
    greedy = {**wish, "temperature": 0}
    one, other = (client.completions.create(**greedy, extra_body={"seed": seed}) for seed in (1, 2))
    assert one.choices[0].text == other.choices[0].text, "temperature 0 draws nothing"
    stop = expected[3]
    cut = client.completions.create(**wish, stop=stop).choices[0]
    assert cut.text == expected.partition(stop)[0] and cut.finish_reason == "stop"


def test_a_language_model_chats_and_responds(client):
    messages = [{"role": "user", "content": "the cat"}]
    wish = {"model": "book", "max_tokens": 8, "seed": 3}
    answer = client.chat.completions.create(messages=messages, **wish)
    whole = client.completions.create(prompt="the cat", **wish).choices[0].text
    assert answer.choices[0].message.content == whole
    chunks = [*client.chat.completions.create(messages=messages, stream=True, **wish)]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole
    assert chunks[-1].choices[0].finish_reason == "length"
    assert client.responses.create(model="book", input="the cat", max_output_tokens=8).output_text


def test_all_models_answer_at_the_same_server(named, client):
    assert [model.id for model in client.models.list()] == ["en-de", "de-en", *TASKS]
    assert named.translate("the cat").status == 200
    facts = {one["name"]: one for one in named.get("/v1/model").json["named"]}
    assert {name: one["task"] for name, one in facts.items()} == TASKS
    assert facts["stars"]["labels"] and facts["stars"]["address"] == "/models/stars"
    assert facts["book"]["address"] == "/v1/completions" and facts["book"]["labels"] == []


@pytest.mark.parametrize(
    ("path", "fields", "status", "part"),
    [
        ("/models/en-de", {"inputs": "a"}, 400, "/v1/translate"),
        ("/models/book", {"inputs": "a"}, 400, "writes text: use /v1/completions"),
        ("/models/nothing", {"inputs": "a"}, 404, "stars, tags, bert"),
        ("/models/stars", {}, 400, "inputs is missing"),
        ("/models/stars", {"inputs": "a" * 5001}, 400, "5,000"),
        ("/models/stars", {"inputs": ["a"] * 65}, 400, "64"),
        ("/models/stars", {"inputs": "a", "parameters": {"top_k": 0}}, 400, "top_k"),
        ("/v1/completions", {"model": "stars", "prompt": "a"}, 400, "POST /models/stars"),
        ("/v1/responses", {"model": "tags", "input": "a"}, 400, "POST /models/tags"),
        ("/v1/completions", {"model": "book", "prompt": "a", "max_tokens": 0}, 400, "max_tokens must be"),
        ("/v1/completions", {"model": "book", "prompt": "a", "temperature": 3}, 400, "temperature must be"),
        ("/v1/completions", {"model": "book", "prompt": ["a"] * 5}, 400, "at most 4 texts"),
        ("/v1/completions", {"model": "book", "prompt": "a" * 5001}, 400, "5,000"),
        ("/v1/completions", {"model": "book", "prompt": "a", "stream": True, "n": 9}, 400, "at most 4 texts"),
        ("/translate", {"q": "a", "source": "en", "target": "stars"}, 400, "en, de"),
    ],
)
def test_what_a_model_cannot_do_is_said(named, path, fields, status, part):
    answer = named.post(path, **fields)
    assert answer.status == status and part in answer.error, answer


@pytest.mark.parametrize("text", ["a\0b", "\u202e", "👩‍👩‍👧", "", " ", "e" + "\u0301" * 1000, "</s> <unk> ___", "\n\n"])
def test_odd_texts_are_answered(named, text):
    for path, fields in (
        ("/models/stars", {"inputs": text}),
        ("/models/tags", {"inputs": [text]}),
        ("/models/bert", {"inputs": text}),
        ("/v1/completions", {"model": "book", "prompt": text, "max_tokens": 3}),
        ("/v1/completions", {"model": "sounds", "prompt": text}),
    ):
        answer = named.post(path, **fields)
        assert answer.status in (200, 400), (path, answer)


def test_a_client_has_so_many_continuations_and_a_stream_that_breaks_off_frees_its_place(named, eventually):
    continuing = named.service.named["book"].continuing
    fields = {"model": "book", "prompt": "a", "max_tokens": 2048, "stream": True}
    lines = []
    for _ in range(MOST_OPEN_EACH):
        line = http.client.HTTPConnection("127.0.0.1", named.port, timeout=60)
        line.request("POST", "/v1/completions", json.dumps(fields), {"Content-Type": "application/json"})
        response = line.getresponse()
        assert response.status == 200 and response.readline().startswith(b"data: {")
        lines.append((line, response))
    refused = named.post("/v1/completions", **fields)
    assert refused.status == 429 and refused.error
    for line, response in lines:
        with contextlib.suppress(OSError):
            response.close()
        line.close()
    eventually(lambda: not continuing.open)
    assert named.post("/v1/completions", **fields | {"max_tokens": 2, "stream": False}).status == 200


def test_a_server_without_a_translator(singles, serve):
    with serve(Service([], singles=[singles["stars"]])) as server:
        assert server.post("/models/stars", inputs="the cat").status == 200
        assert server.get("/languages").json == [] and server.get("/openapi.json").status == 200
        settings = server.get("/frontend/settings").json
        assert settings["filesTranslation"] is False and settings["language"]["source"]["code"] == ""
        for path in ("/translate", "/v1/translate", "/v1/explain"):
            answer = server.post(path, q="a", source="en", target="de")
            assert answer.status == 400 and "No model here translates; there are: stars." in answer.error
        assert server.post("/v1/translate", q="a").status == 400
        assert server.get("/v2/languages").json == []
        said = greeting(server.service, server.address)
        assert "stars (classify)" in said and f"curl {server.address}/models/stars -d inputs=Hello" in said


def test_names_come_from_folders_or_from_the_user(folders_by_name, folders):
    single = load_single(f"my.reviews={folders_by_name / 'stars'}", threads=1)
    assert (single.name, single.task) == ("my.reviews", "classify")
    assert load_single(str(folders[0]), threads=1) is None, "it translates"
    with pytest.raises(UsageError, match="name its languages"):
        load_single(f"x={folders[0]}", threads=1)
    with pytest.raises(UsageError, match="are both named my"):
        check_names([], [single, load_single(f"my.reviews={folders_by_name / 'tags'}", threads=1)])
    assert load_pair(f"en-xx={folders_by_name / 'sounds'}", 1).target == "xx", "named languages make a pair"


def test_a_stop_may_be_spread_over_pieces():
    cut = Cut(["END", "\n\n"])
    assert [cut.add(piece) for piece in ("a E", "N", "x E", "ND b")] == ["a ", "", "ENx ", ""]
    assert cut.found and cut.rest() == ""
    cut = Cut(["END"])
    assert cut.add("the E") + cut.rest() == "the E" and not cut.found
