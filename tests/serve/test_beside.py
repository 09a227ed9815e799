"""Models beside a served one: `serve --beside`, their names in /v1/model, and /v1/explain by all of them or by one."""

import pytest

from seqloom.cli.app import main
from seqloom.errors import UsageError
from seqloom.explain.document import Explained
from seqloom.serve.server import greeting
from seqloom.serve.service import Service
from seqloom.workflows.serve import load_pair

NAMES = ["rnnsearch", "lstm", "transformer"]


def beside(*words):
    return [load_pair(str(word), 1, engine="torch") for word in words]


@pytest.fixture(scope="module")
def server(three, serve):
    first, *others = three
    with serve(Service([load_pair(f"en-de={first}", 1)], beside=beside(*others))) as running:
        yield running


def lanes_of(answer):
    assert answer.status == 200, answer.body
    return Explained.from_json(answer.body).lanes


def test_they_are_named_with_their_views_and_translate_nothing(server):
    (model,) = server.get("/v1/model").json["models"]
    assert (model["name"], [other["name"] for other in model["beside"]]) == ("en-de", NAMES[1:])
    assert model["beside"][0]["kind"] == "rnn" and "self" not in model["beside"][0]["views"]
    assert "heads" in model["beside"][1]["views"]
    assert [one["id"] for one in server.get("/v1/models").json["data"]] == ["en-de"]
    assert "(en-de), beside it lstm, beside it transformer" in greeting(server.service, server.address)


def test_all_explain_the_same_text_and_say_why_they_lack_a_view(server):
    lanes = lanes_of(server.post("/v1/explain", q="a dog", beside=True))
    assert [lane.model for lane in lanes] == NAMES
    assert {lane.source.text for lane in lanes} == {"a dog"}
    assert [lane.views() for lane in lanes] == [
        ["attention", "gates", "beam"],
        ["gates", "beam"],
        ["attention", "self", "beam"],
    ]
    assert any(note.startswith("attention:") for note in lanes[1].notes)
    (alone,) = lanes_of(server.post("/v1/explain", q="a dog"))
    assert alone.answers == lanes[0].answers and alone.notes == []
    chosen = lanes_of(server.post("/v1/explain", q="a dog", model="lstm", beside=True))
    assert [lane.model for lane in chosen] == ["lstm", "rnnsearch", "transformer"]


def test_a_what_if_is_for_one_of_them(server):
    (plain,) = lanes_of(server.post("/v1/explain", q="a dog", model="transformer"))
    heads = [{"map": "decoder.cross.0", "head": 0}]
    (changed,) = lanes_of(server.post("/v1/explain", q="a dog", model="transformer", heads_off=heads))
    assert plain.model == changed.model == "transformer"
    assert changed.steps[0].log_prob != plain.steps[0].log_prob
    (served,) = lanes_of(server.post("/v1/explain", q="a dog", model="en-de"))
    assert served.model == "rnnsearch"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"model": "ltsm"}, "model: want one of en-de, lstm, transformer. Did you mean 'lstm'?."),
        ({"model": "lstm", "target": "fr"}, "model: lstm translates en to de; leave out the languages."),
        ({"beside": True, "prefix": [9]}, "a what-if is for one model: give its name as model, and leave out beside."),
        ({"beside": "yes"}, "beside must be true or false"),
    ],
)
def test_what_is_wrong_is_one_sentence(server, fields, sentence):
    answer = server.post("/v1/explain", q="a dog", **fields)
    assert answer.status == 400 and answer.error.startswith(sentence)


def test_the_curves_of_all_are_shown(server, three):
    for folder in three:
        (folder / "metrics.jsonl").write_text('{"event": "train", "step": 10, "loss": 5}\n')
    curves = Explained.from_json(server.get("/v1/curves").body).curves
    assert [curve.run for curve in curves] == NAMES
    for folder in three:
        (folder / "metrics.jsonl").unlink()


def test_a_model_stands_beside_the_one_with_its_languages(three, pairs):
    service = Service(pairs, beside=beside(f"de-en={three[1]}", f"en-de={three[2]}"))
    assert {model.name: [*model.beside] for model in service.models.values()} == {
        "en-de": ["transformer"],
        "de-en": ["lstm"],
    }


def test_what_cannot_stand_beside_is_a_sentence(three, pairs):
    with pytest.raises(UsageError, match=r"lstm: it translates fr to de, .* en-de, de-en\..*--beside en-de=.*three"):
        Service(pairs, beside=beside(f"fr-de={three[1]}"))
    with pytest.raises(
        UsageError, match="it translates src to tgt, and the models that are served translate en-de, de-en"
    ):
        Service(pairs, beside=beside(three[1]))
    (first,) = beside(three[0])
    with pytest.raises(UsageError, match="another model is named rnnsearch too; rename one of the folders"):
        Service([first], beside=beside(three[0]))
    with pytest.raises(UsageError, match="src-tgt has 3 models beside it; 3 is the most"):
        Service([first], beside=[*beside(*three[1:]), *renamed(first, "a", "b")])


def test_a_folder_may_be_named_as_the_languages_are(three, serve):
    """The name means the folder; the served model answers requests without a name."""
    first, second = (load_pair(f"en-de={folder}", 1, engine="torch") for folder in three[:2])
    (other,) = renamed(second, "en-de")
    with serve(Service([first], beside=[other])) as running:
        (model,) = running.get("/v1/model").json["models"]
        assert (model["name"], [one["name"] for one in model["beside"]]) == ("en-de", ["en-de"])
        (named,) = lanes_of(running.post("/v1/explain", q="a dog", model="en-de"))
        (unnamed,) = lanes_of(running.post("/v1/explain", q="a dog"))
        both = lanes_of(running.post("/v1/explain", q="a dog", beside=True))
    assert "attention" not in named.views() and "attention" in unnamed.views()  # the LSTM of `three` has none
    assert [lane.views() for lane in both] == [unnamed.views(), named.views()]


def test_a_folder_named_as_other_languages_that_are_served_is_refused(three, pairs):
    (other,) = renamed(load_pair(f"de-en={three[1]}", 1, engine="torch"), "en-de")
    with pytest.raises(UsageError, match="another model is named en-de too; rename one of the folders"):
        Service(pairs, beside=[other])


def renamed(pair, *names):
    from copy import copy
    from dataclasses import replace

    for name in names:
        translator = copy(pair.translator)
        translator.folder = translator.folder.with_name(name)
        yield replace(pair, translator=translator)


def test_the_command_refuses_what_cannot_be_loaded(three, tmp_path, capsys):
    assert main(["serve", str(three[0]), "--beside", str(tmp_path / "nowhere"), "--port", "0"]) == 4
    assert "no such folder" in capsys.readouterr().err
    assert main(["serve", str(three[0]), "--beside", str(three[0]), "--port", "0", "--threads", "1"]) == 2
    assert "another model is named rnnsearch too" in capsys.readouterr().err
