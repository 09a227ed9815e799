"""Errors as answers: a status and one sentence, in JSON."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

RETRY_AFTER = "1"  # seconds: about the time to answer a full queue of 64
SENTENCES = {
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
}
OURS = "Internal error; see the log of the server."
CODES = {401: "invalid_api_key", 404: "model_not_found"}  # names of these errors for OpenAI clients
LIKE_DEEPL, LIKE_OPENAI = (
    "/v2/",
    ("/v1/chat/", "/v1/models", "/v1/completions", "/v1/responses"),
)  # beginnings of addresses


class Refusal(Exception):
    """An error answer. Its message is for the client; no other detail of an error is sent."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = headers


def busy(sentence: str) -> Refusal:
    return Refusal(503, sentence, {"Retry-After": RETRY_AFTER})


def slow_down(seconds: int) -> Refusal:
    sentence = "Slowdown: this client has more work waiting than its share; try again when some of it is done."
    return Refusal(429, sentence, {"Retry-After": str(seconds)})


def answer_refusal(status: int, sentence: str, headers: Mapping[str, str] | None, path: str) -> Response:
    """{"error": sentence}; the clients of DeepL look for "message", those of OpenAI for an object."""
    body: dict[str, Any] = {"error": sentence}
    if path.startswith(LIKE_DEEPL):
        body["message"] = sentence
    elif path.startswith(LIKE_OPENAI):
        kind = "server_error" if status >= 500 else "invalid_request_error"
        body["error"] = {"message": sentence, "type": kind, "param": None, "code": CODES.get(status)}
    return Response(msgspec.json.encode(body), status, headers, media_type="application/json")


async def on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return answer_refusal(error.status, error.sentence, error.headers, request.url.path)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Answer requests that the library itself refuses: unknown addresses and methods."""
    assert isinstance(error, HTTPException)
    sentence = SENTENCES.get(error.status_code, "This request cannot be answered.")
    return answer_refusal(error.status_code, sentence, error.headers, request.url.path)


async def on_fault(request: Request, error: Exception) -> Response:
    """Answer an error of the server itself. The library raises it again afterwards, so that the log has it."""
    return answer_refusal(500, OURS, None, request.url.path)
