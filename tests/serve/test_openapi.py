"""The OpenAPI document is true: schemathesis makes requests from it and finds no answer that is not in it."""

import re
import warnings

import pytest

from seqloom.serve.app import ENDPOINTS
from seqloom.serve.body import takes_a_file


def test_every_endpoint_is_told(server):
    document = server.get("/openapi.json").json
    told = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert told == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    fields = document["components"]["schemas"]["TranslateRequest"]["properties"]
    assert fields["source"]["enum"] == ["auto", "en", "de"] and fields["target"]["enum"] == ["de", "en"]
    assert fields["q"]["anyOf"][0]["maxLength"] == 5000


def paths():
    """All addresses but those that take a file: no schema can say which bytes are a film with subtitles."""
    return sorted((end.method, end.path) for end in ENDPOINTS if not (end.takes and takes_a_file(end.takes)))


def without(body, *names):
    return {name: value for name, value in body.items() if name not in names}


def right_explain(body, known):
    """Heads, gates and views that this model has, and a text with a word, in a language that it reads."""
    given = without(body, "views", "prefix", "heads_off", "attention", "gates") | {"q": f"cat {body['q']}"[:600]}
    if body.get("model"):
        return without(given, "source", "target")
    return given | {"source": {"en": "de", "de": "en"}[body["target"]]}


def right_own(body, known):
    if not body.get("glossary"):
        return without(body, "glossary")
    return body | {"glossary": {f"term {number}": "x" for number, _ in enumerate(body["glossary"])}}


def right_deepl(body, known):
    """A glossary that the server has, with its languages; or none."""
    if not body.get("glossary_id"):
        return without(body, "glossary_id")
    return body | {"glossary_id": known, "source_lang": "en", "target_lang": "de"}


def right_glossary(body, known):
    """Pairs in the form that is named, from one language to the other."""
    between = "," if body.get("entries_format") == "csv" else "\t"
    pair = {"source_lang": "en", "target_lang": "de"}
    return body | pair | {"entries": "\n".join(f"{n}{between}x" for n, _ in enumerate(f"{body['entries']}x"[:9]))}


# What no schema can say is put right before a request that must be accepted is sent.
PUT_RIGHT = {
    "/v1/explain": right_explain, "/v1/translate": right_own, "/v2/translate": right_deepl,
    "/v2/glossaries": right_glossary,
}  # fmt: skip


def read_schema(server):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(server.get("/openapi.json").json)
    schema.config.update(base_url=server.address)
    key = {"Authorization": "Bearer open sesame"}
    made = server.post("/v2/glossaries", key, name="known", source_lang="en", target_lang="de", entries="cat\tKatze")
    return schema, made.json["glossary_id"]


@pytest.fixture(scope="module")
def schema(server):
    return read_schema(server)


@pytest.fixture(scope="module")
def locked_schema(locked):
    return read_schema(locked)


def try_out(schema, method, path, examples, headers=None):
    """Requests that the document allows and that it forbids, each answered as it says.

    schema: the schema of a server, and the id of a glossary that it has.
    """
    import hypothesis
    from schemathesis.generation import GenerationMode

    schema, known = schema
    put_right = PUT_RIGHT.get(path) if method == "POST" else None
    strategy = schema[path][method].as_strategy(generation_mode=GenerationMode.POSITIVE)
    wrong = schema[path][method].as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @hypothesis.settings(max_examples=examples, database=None, deadline=None, derandomize=True,
                         suppress_health_check=list(hypothesis.HealthCheck))  # fmt: skip
    @hypothesis.given(case=strategy)
    def right(case):
        if put_right:
            case.body = put_right(case.body, known)
        case.call_and_validate(headers=headers)

    @hypothesis.settings(max_examples=examples, database=None, deadline=None, derandomize=True,
                         suppress_health_check=list(hypothesis.HealthCheck))  # fmt: skip
    @hypothesis.given(case=wrong)
    def not_right(case):
        case.call_and_validate(headers=headers)

    right()
    if method == "POST" and schema[path][method].body:
        not_right()


@pytest.mark.parametrize(("method", "path"), [("POST", "/translate"), ("GET", "/v1/model")])
def test_the_document_is_true(schema, method, path):
    try_out(schema, method, path, examples=8)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), paths())
def test_the_whole_document_is_true(schema, method, path):
    try_out(schema, method, path, examples=60)


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, "wrong", "open sesame"])
@pytest.mark.parametrize(("method", "path"), paths())
def test_the_whole_document_is_true_of_a_server_with_a_key(locked_schema, method, path, key):
    headers = {"Authorization": f"Bearer {key}"} if key else None
    try_out(locked_schema, method, path, examples=20, headers=headers)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}], ids=["no key", "wrong key"])
@pytest.mark.parametrize(
    "endpoint", [end for end in ENDPOINTS if end.takes and not end.keyless], ids=lambda end: f"{end.method} {end.path}"
)
def test_every_endpoint_that_reads_a_request_asks_for_the_key(locked, endpoint, headers):
    for body in (None, b"{}", b"[" * 1000, b"\xff"):
        answer = locked.ask(endpoint.method, re.sub(r"\{\w+\}", "en-de", endpoint.path), body, headers)
        assert answer.status in ((endpoint.no_key,) if headers or not body or body == b"{}" else (400, endpoint.no_key))
        assert answer.error
