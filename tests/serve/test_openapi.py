"""The OpenAPI document is true: schemathesis makes requests from it and finds no answer that is not in it."""

import warnings

import pytest

from seqloom.serve.app import ENDPOINTS


def test_every_endpoint_is_told(server):
    document = server.get("/openapi.json").json
    told = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert told == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    fields = document["components"]["schemas"]["TranslateRequest"]["properties"]
    assert fields["source"]["enum"] == ["auto", "en", "de"] and fields["target"]["enum"] == ["de", "en"]
    assert fields["q"]["anyOf"][0]["maxLength"] == 5000


def paths():
    return sorted((endpoint.method, endpoint.path) for endpoint in ENDPOINTS)


@pytest.fixture(scope="module")
def schema(server):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(server.get("/openapi.json").json)
    schema.config.update(base_url=server.address)
    return schema


def try_out(schema, method, path, examples):
    """Requests that the document allows and that it forbids, each answered as it says."""
    import hypothesis
    from schemathesis.generation import GenerationMode

    strategy = schema[path][method].as_strategy(generation_mode=GenerationMode.POSITIVE)
    wrong = schema[path][method].as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @hypothesis.settings(max_examples=examples, database=None, deadline=None, derandomize=True,
                         suppress_health_check=list(hypothesis.HealthCheck))  # fmt: skip
    @hypothesis.given(case=strategy)
    def right(case):
        case.call_and_validate()

    @hypothesis.settings(max_examples=examples, database=None, deadline=None, derandomize=True,
                         suppress_health_check=list(hypothesis.HealthCheck))  # fmt: skip
    @hypothesis.given(case=wrong)
    def not_right(case):
        case.call_and_validate()

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
