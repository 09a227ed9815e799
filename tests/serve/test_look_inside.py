"""/v1/explain: the document of a translation, what-ifs, and one sentence for everything that is wrong."""

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

import pytest

from seqloom.explain.document import Explained

PAIR = {"source": "en", "target": "de"}


def lane_of(answer):
    assert answer.status == 200, answer.body
    return Explained.from_json(answer.body).lanes[0]


def test_the_document_explains_the_translation(server):
    translated = server.post("/v1/translate", q="a dog", **PAIR).json["translations"][0]["text"]
    lane = lane_of(server.post("/v1/explain", q="a dog", **PAIR))
    assert lane.answers == [translated]
    assert [token.piece for token in lane.source.tokens] == ["a", "▁", "d", "o", "g", "</s>"]
    assert lane.map("decoder.attention").values.sum(1) == pytest.approx(1, abs=1e-3)
    assert lane.beam.nodes
    assert lane.notes == []  # nobody asked for the views that it lacks


def test_views_are_chosen_and_those_that_a_model_lacks_are_notes(server):
    lane = lane_of(server.post("/v1/explain", q="a dog", views=["gradients", "self"], **PAIR))
    assert lane.views() == ["gradients"]
    assert any(note.startswith("self:") for note in lane.notes)


def test_what_if_the_output_began_otherwise(server):
    plain = lane_of(server.post("/v1/explain", q="a dog", **PAIR))
    other = next(choice.id for choice in plain.steps[0].top if choice.id > 4 and choice.id != plain.target.tokens[0].id)
    forced = lane_of(server.post("/v1/explain", q="a dog", prefix=[other], **PAIR))
    assert forced.target.tokens[0].id == other
    given = lane_of(server.post("/v1/explain", q="a dog", output="Hund", **PAIR))
    assert (given.answers, given.forced) == (["Hund"], True)


def test_what_if_it_looked_elsewhere_or_a_gate_were_closed(server):
    weights = [0, 0, 0, 0, 0, 2]
    looked = lane_of(server.post("/v1/explain", q="a dog", attention=[{"position": 1, "weights": weights}], **PAIR))
    assert looked.map("decoder.attention").values[1] == pytest.approx([0, 0, 0, 0, 0, 1])
    same = [{"position": 1, "weights": weights, "map": "decoder.attention"}]
    assert lane_of(server.post("/v1/explain", q="a dog", attention=same, **PAIR)) == looked
    plain = lane_of(server.post("/v1/explain", q="a dog", output="Hund", **PAIR))
    gates = [{"map": "decoder.0.gate.update", "position": 0, "value": 1}]
    closed = lane_of(server.post("/v1/explain", q="a dog", output="Hund", gates=gates, **PAIR))
    assert closed.steps[0].log_prob != pytest.approx(plain.steps[0].log_prob)
    held = lane_of(server.post("/v1/explain", q="a dog", output="Hund", gates=[{**gates[0], "position": None}], **PAIR))
    assert held.steps[0] == closed.steps[0]
    assert held.steps[1].log_prob != pytest.approx(closed.steps[1].log_prob)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"views": ["atention"]}, "view atention: no such view. Did you mean 'attention'?"),
        ({"views": ["curves"]}, "view curves: no such view."),
        ({"views": "attention"}, "views must be a list of views: attention, "),
        ({"prefix": [99999]}, "prefix: 99999 is not the id of a word; want"),
        ({"prefix": ["x"]}, "prefix must be a list of ids of target tokens."),
        ({"heads_off": [{"map": "decoder.cross.0", "head": 0}]}, "decoder.cross.0: this model has no such part."),
        ({"heads_off": [{"map": "decoder.attention", "head": 0}]}, "decoder.attention, head 0: it has no heads."),
        ({"heads_off": [{"map": "x" * 101, "head": 0}]}, "heads_off must be a list of at most 64 heads."),
        ({"attention": [{"position": 0, "weights": [1]}]}, "1 attention weights for 6 source tokens; want one each."),
        (
            {"attention": [{"position": 0, "weights": [0] * 6}]},
            "attention weights must not be negative",
        ),
        (
            {"attention": [{"position": 0, "weights": [1] * 6, "map": "encoder.self.0"}]},
            "encoder.self.0: only attention to",
        ),
        ({"gates": [{"map": "x", "position": 0, "value": 2}]}, "gates must be a list of at most 64 gates with"),
        ({"gates": [{"map": "(", "position": 0, "value": 1}]}, "(: this model has no such part."),
        ({"q": "a" * 601}, "A text of 601 characters is too long to explain; the most is 600."),
        ({"q": "a\n" * 2500}, "A text of 5,000 characters is too long to explain; the most is 600."),
        ({"q": " "}, "the text is empty: give a text to explain."),
    ],
)
def test_what_is_wrong_is_one_sentence(server, fields, sentence):
    answer = server.post("/v1/explain", **{"q": "a dog", **PAIR, **fields})
    assert answer.status == 400
    assert answer.error.startswith(sentence)


def test_those_who_translate_do_not_wait_and_too_many_who_explain_are_refused(server, monkeypatch):
    release = threading.Event()
    monkeypatch.setattr("seqloom.serve.service.MOST_EXPLAINING_EACH", 10)  # as if they were of several clients
    for model in server.service.models.values():
        monkeypatch.setattr(model.translator, "explain", lambda *words, **settings: release.wait(20) and Explained())
    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(server.post, "/v1/explain", q="a dog", **PAIR) for _ in range(10)]
        refused = [one.result().error for _, one in zip(range(2), as_completed(asked), strict=False)]
        assert refused == ["8 texts wait to be explained; try again in a second."] * 2
        assert server.post("/v1/translate", q="a dog", **PAIR).status == 200
        assert sum(one.done() for one in asked) == 2
        release.set()
    assert sorted(one.result().status for one in asked) == [200] * 8 + [503] * 2


def test_curves_of_the_served_models(make_folder, serve):
    from seqloom.serve.service import Service
    from seqloom.workflows.serve import load_pair

    folder = make_folder("model.attention=none")
    with serve(Service([load_pair(str(folder), 1)])) as running:
        assert running.get("/v1/curves").json["curves"] == []
        (folder / "metrics.jsonl").write_text('{"event": "train", "step": 10, "loss": 5}\n')
        (curve,) = Explained.from_json(running.get("/v1/curves").body).curves
        assert (curve.name, curve.values) == ("loss", [5.0])
        (folder / "metrics.jsonl").unlink()
