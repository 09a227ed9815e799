"""Our own endpoints under /v1; keys; errors of the server; the files of the page."""

import pytest

from seqloom.decode.options import SearchRequest


def test_scores_are_those_of_the_translator(server, pairs):
    [found] = server.post("/v1/translate", q="a small dog", source="en", target="de", n_best=3, beam=4).json[
        "translations"
    ]
    expected = pairs[0].translator.hypotheses(["a small dog"], 4, 3)[0]
    assert [one["text"] for one in found["hypotheses"]] == [one.text for one in expected]
    assert [one["log_prob"] for one in found["hypotheses"]] == pytest.approx(
        [one.log_prob for one in expected], abs=1e-4
    )
    assert [one["score"] for one in found["hypotheses"]] == pytest.approx([one.score for one in expected], abs=1e-4)
    assert found["text"] == expected[0].text
    assert (found["source"], found["target"], found["model"], found["confidence"]) == ("en", "de", "en-de", None)
    assert "alignment" not in found and "alternatives" not in found


def test_scores_of_several_lines_are_put_together(server):
    one, two, both = (
        server.post("/v1/translate", q=q, source="en", target="de").json["translations"][0]["hypotheses"][0]
        for q in ("the cat", "a dog", "the cat\na dog")
    )
    assert both["text"] == one["text"] + "\n" + two["text"]
    assert both["log_prob"] == pytest.approx(one["log_prob"] + two["log_prob"], abs=1e-3)
    assert both["score"] == pytest.approx((one["score"] + two["score"]) / 2, abs=1e-3)


def test_alignments_link_words_of_all_lines(server, pairs):
    from seqloom.runtime.word_alignment import align_words

    lines = ["a small dog", "the cat sat"]
    fields = {"q": "\n".join(lines), "source": "en", "target": "de", "alignment": True}
    [found] = server.post("/v1/translate", **fields).json["translations"]
    aligned = found["alignment"]
    assert aligned["source"] == ["a", "small", "dog", "the", "cat", "sat"]
    assert aligned["target"] == [word for word in found["text"].replace("\n", " ").split(" ") if word]
    translations = pairs[0].translator.translate(lines)
    first, second = align_words(pairs[0].translator, lines, translations)
    width = len(translations[0].split())
    assert aligned["links"] == [list(link) for link in first] + [[3 + s, width + t] for s, t in second]


def test_a_model_without_attention_has_no_alignment(make_folder, serve):
    from seqloom.serve.service import Service
    from seqloom.workflows.serve import load_pair

    with serve(Service([load_pair(str(make_folder("model.attention=none")), 1)])) as running:
        [found] = running.post("/v1/translate", q="a dog", alignment=True).json["translations"]
        assert found["alignment"] is None and found["text"]
        assert (found["source"], found["target"], found["model"]) == ("src", "tgt", "src-tgt")
        assert "attention" not in {
            one["view"] for one in running.post("/v1/explain", q="a dog").json["lanes"][0]["maps"]
        }
        named = {"code": "src", "name": "model (input)", "targets": ["tgt"]}
        assert running.get("/languages").json[0] == named, "by its folder"


def test_a_beam_is_as_wide_as_the_outputs_need(server):
    narrow, wide = (
        server.post("/v1/translate", q="a dog", source="en", target="de", n_best=3, beam=beam).json for beam in (1, 3)
    )
    assert narrow == wide and len(wide["translations"][0]["hypotheses"]) == 3


def test_without_a_target_there_must_be_only_one(server, pairs, serve):
    from seqloom.serve.service import Service

    assert "target is missing" in server.post("/v1/translate", q="a dog").error
    with serve(Service(pairs[:1], search=SearchRequest(beam=1))) as running:
        [found] = running.post("/v1/translate", q="a small dog").json["translations"]
        assert found["text"] == pairs[0].translator.translate("a small dog", beam=1), "the beam of the server"
        assert found["target"] == "de" and found["confidence"] > 0
        assert running.get("/v1/model").json["models"][0]["beam"] == 1


def test_facts_health_and_readiness(server):
    from seqloom import __version__

    about = server.get("/v1/model").json
    assert about["version"] == __version__ and [model["name"] for model in about["models"]] == ["en-de", "de-en"]
    assert about["models"][0] | {"kind": "rnn", "parameters": 9, "beam": 2, "max_tokens": 60} == about["models"][0]
    assert server.get("/v1/healthz").json == {"status": "ok"}
    assert server.get("/v1/readyz").json == {"status": "ready"}


def test_a_model_that_died_is_not_ready(pairs, serve):
    from seqloom.serve.service import Service

    with serve(Service(pairs[:1])) as running:
        task = running.service.models["en", "de"].batcher.task
        task.get_loop().call_soon_threadsafe(task.cancel)
        while running.get("/v1/readyz").status == 200:
            pass
        assert running.get("/v1/readyz").status == 503 and running.get("/v1/healthz").status == 200


def test_prometheus_reads_what_happened(server):
    server.translate("the cat sat")
    page = server.get("/metrics").body.decode()
    assert 'seqloom_requests_total{path="/translate",status="200"}' in page
    assert 'seqloom_batch_texts_count{model="en-de"}' in page
    assert 'seqloom_queue_requests{model="en-de"} 0.0' in page
    assert "process_resident_memory_bytes" in page
    server.get("/an/invented/path")
    assert "/an/invented" not in server.get("/metrics").body.decode()


KEYED = ["/translate", "/detect", "/v1/translate", "/v1/explain", "/v2/translate", "/v1/chat/completions"]


@pytest.mark.parametrize("path", KEYED)
def test_a_key_is_wanted_where_work_is_done(locked, path):
    refused = 401 if "chat" in path else 403
    for fields in ({}, {"api_key": "wrong"}, {"api_key": ""}, {"api_key": None}, {"api_key": 5}):
        answer = locked.post(path, q="a", **fields)
        assert answer.status == refused and "api_key" in answer.error
    assert locked.post(path, {"Authorization": "Bearer wrong"}, q="a").status == refused


@pytest.mark.parametrize(
    ("headers", "fields"),
    [
        ({}, {"api_key": "open sesame"}),
        ({}, {"apiKey": "open sesame"}),
        ({}, {"auth_key": "open sesame"}),
    ],
)
def test_a_key_is_taken_where_clients_put_it(locked, headers, fields):
    assert locked.post("/translate", headers, q="a", source="en", target="de", **fields).status == 200


def test_a_key_may_stand_in_a_header(pairs, serve):
    from seqloom.serve.service import Service

    with serve(Service(pairs[:1], key="k")) as running:
        for scheme in ("Bearer", "bearer", "DeepL-Auth-Key"):
            assert running.post("/detect", {"Authorization": f"{scheme} k"}, q="a").status == 200
        assert running.get("/metrics").status == 403
        assert running.get("/metrics", Authorization="Bearer k").status == 200


@pytest.mark.parametrize("path", ["/", "/languages", "/health", "/frontend/settings", "/v1/healthz", "/openapi.json"])
def test_what_a_page_needs_to_ask_for_a_key_is_open(locked, path):
    assert locked.get(path).status == 200


def test_a_fault_of_ours_says_nothing_of_itself(gated, serve, caplog):
    service, _ = gated()

    def find(texts, how):
        raise RuntimeError("secret path /x/y")

    service.models["en", "de"].batcher.find = find
    with serve(service) as running:
        answer = running.translate("a")
        assert answer.status == 500 and "secret" not in answer.body.decode() and answer.error
        assert "content-security-policy" in answer.headers
    assert "secret path" in caplog.text, "the log has it"


def test_one_bad_text_does_not_spoil_its_neighbours(gated, serve):
    from seqloom.errors import UsageError

    service, gate = gated()
    gate.opened.set()

    def find(texts, how):
        if "bad" in texts:
            raise UsageError("a secret of the model")
        return gate.find(texts, how)

    service.models["en", "de"].batcher.find = find
    with serve(service) as running:
        answer = running.translate("bad")
        assert answer.status == 400 and "secret" not in answer.error
        assert running.translate("good").json == {"translatedText": "GOOD"}


def test_the_page_and_its_files_are_served(server):
    page = server.get("/")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    for name, kind in {"studio.js": "text/javascript", "studio.css": "text/css", "icon.svg": "image/svg+xml"}.items():
        assert server.get(f"/studio/{name}").headers["content-type"].startswith(kind)
