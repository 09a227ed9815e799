"""/openapi.json, written from the table of endpoints and their types; it names the languages served here."""

from collections.abc import Sequence
from typing import Any

import msgspec

from seqloom import __version__
from seqloom.serve.body import FILE, FORM, JSON, MULTIPART, takes_a_file
from seqloom.serve.endpoint import Endpoint
from seqloom.serve.messages import Error, Said
from seqloom.serve.service import Service

WHY = {
    400: "Something in the request is missing, wrong or over a limit",
    401: "The key is missing or wrong",
    403: "The key is missing or wrong, this is switched off, or the host or page is not allowed",
    404: "There is nothing with this name",
    408: "The body did not arrive in time",
    413: "The body is too large",
    415: "The body has an unsupported media type, encoding or charset",
    429: "This client has more work waiting than its share: try again after Retry-After seconds",
    500: "An error in the server",
    503: "The queue is full, or a model is being loaded again: try again after Retry-After seconds",
    504: "There was no answer within the deadline",
}
BINARY = {"type": "string", "format": "binary"}
REFERENCE = "#/components/schemas/{name}"


def openapi(service: Service, endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    taken = [endpoint.takes for endpoint in endpoints if endpoint.takes]
    refused = [endpoint.error for endpoint in endpoints]
    _, schemas = msgspec.json.schema_components([*taken, *refused], ref_template=REFERENCE)
    answers = []
    for endpoint in endpoints:
        (answer,), found = msgspec.json.schema_components([endpoint.answer], ref_template=REFERENCE)
        add(schemas, found)
        answers.append(answer)
    for schema in schemas.values():
        narrow(schema, service)
    for endpoint, answer in zip(endpoints, answers, strict=True):
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation(endpoint, answer, schemas)
    about = "Translations over HTTP. Fields may also come in the query string of a POST with an empty body."
    return {
        "openapi": "3.1.0",
        "info": {"title": "Seqloom", "version": __version__, "description": about},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def add(schemas: dict[str, Any], found: dict[str, Any]) -> None:
    """Add the types of an answer; two of the same name would make the document wrong about one of them."""
    for name, schema in found.items():
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two types of answers and requests have the name {name}")


def operation(endpoint: Endpoint, answer: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    statuses = {403, 500, 503, 504, *endpoint.statuses}
    if endpoint.takes:
        statuses |= {400, 408, 413, 415, 429, endpoint.no_key}
    refusal = REFERENCE.format(name=endpoint.error.__name__)
    responses = {str(status): response(WHY[status], refusal) for status in sorted(statuses)}
    if endpoint.answer is not Error:
        described_answer = {} if endpoint.answer is None else {"content": content(endpoint, answer)}
        responses[str(endpoint.success)] = {"description": "The answer", **described_answer}
    described: dict[str, Any] = {"summary": endpoint.summary, "responses": dict(sorted(responses.items()))}
    if endpoint.takes:
        own = schemas[endpoint.takes.__name__]["properties"]
        described["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": schema}
            if f"{{{name}}}" in endpoint.path
            else {"name": name, "in": "query", "schema": schema}
            for name, schema in own.items()
            if name not in Said.__struct_fields__ and (endpoint.method != "POST" or f"{{{name}}}" in endpoint.path)
        ]
    if endpoint.takes and endpoint.method == "POST":
        in_path = [each["name"] for each in described["parameters"]]
        whole = schemas[endpoint.takes.__name__]
        body = without(whole, in_path) if in_path else reference_to(endpoint.takes)
        objects = [name for name, field in whole["properties"].items() if holds_objects(field)]
        form = without(whole, [*in_path, *objects]) if objects else body  # a form has no way to write an object
        described["requestBody"] = {
            "required": True,
            "content": {kind: {"schema": body if kind == JSON else form} for kind in kinds(endpoint)},
        }
    return described


def kinds(endpoint: Endpoint) -> tuple[str, ...]:
    """The media types of its request bodies."""
    if endpoint.takes and takes_a_file(endpoint.takes):
        return (MULTIPART,)
    return (JSON,) if endpoint.streams else (JSON, FORM, MULTIPART)


def reference_to(kind: type[Said]) -> dict[str, Any]:
    return {"$ref": REFERENCE.format(name=kind.__name__)}


def without(schema: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The schema of a body without the fields that are in the address, or that such a body cannot hold."""
    properties = {name: field for name, field in schema["properties"].items() if name not in names}
    required = [name for name in schema.get("required", ()) if name not in names]
    return schema | {"properties": properties, "required": required}


def holds_objects(field: dict[str, Any]) -> bool:
    """Whether a field is an object, or a list of objects."""
    inner = [*field.get("anyOf", ()), *([field["items"]] if field.get("type") == "array" else [])]
    return "$ref" in field or field.get("type") == "object" or any(map(holds_objects, inner))


def content(endpoint: Endpoint, answer: dict[str, Any]) -> dict[str, Any]:
    if endpoint.answer is bytes:
        return {"application/octet-stream": {"schema": BINARY}}
    if endpoint.answer is str:
        return {"text/plain": {"schema": answer}}
    events: dict[str, Any] = {"text/event-stream": {"schema": {}}} if endpoint.streams else {}
    return {JSON: {"schema": answer}} | events


def response(description: str, reference: str) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": {"$ref": reference}}}}


def narrow(whole: dict[str, Any], service: Service) -> None:
    """The facts of this server: its languages, models and limits."""
    names = [model.name for model in service.models.values()]
    explained = [*names, *(name for model in service.models.values() for name in model.beside)]
    writing = [*names, *(one.name for one in service.named.values() if one.writes)]
    allowed = {
        "source": ["auto", *service.sources],
        "target": service.targets,
        "source_lang": ["", "auto", *service.sources],
        "target_lang": service.targets,
        "model": explained if "heads_off" in whole.get("properties", {}) else writing,  # only translators are explained
        "id": [*names, *service.named],
        "name": [one.name for one in service.named.values() if not one.writes],
    }
    for name, schema in whole.get("properties", {}).items():
        if name == FILE and schema.pop("contentEncoding", None):
            schema |= BINARY
        if "description" not in schema:
            continue  # of an answer
        if name == "source_lang" and name in whole.get("required", ()):  # of a glossary, which is for one language
            schema["enum"] = service.sources
            continue
        for kind in (schema, *schema.get("anyOf", ())):
            if kind.get("type") == "string" and allowed.get(name):
                kind["enum"] = allowed[name]
            elif kind.get("type") == "string" and name in ("q", "text"):
                kind.setdefault("maxLength", service.limits.characters)
            elif kind.get("type") == "array" and name in ("q", "text"):
                kind["maxItems"] = service.limits.texts
                kind["items"]["maxLength"] = service.limits.characters
        if schema.get("default") == "" and name in allowed:  # it may be left out, a target only if there is one
            del schema["default"]
            if name == "target" and len(service.targets) > 1:
                if "model" in whole["properties"]:  # which has a target
                    whole["anyOf"] = [{"required": ["target"]}, {"required": ["model"]}]
                else:
                    whole["required"] += [name]
