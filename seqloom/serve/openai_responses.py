"""OpenAI's responses: the last input with text is translated, answered or continued, by the model of this name.

The answer is whole, or a stream of the events that its words make once it is finished.
"""

import time
import uuid
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response, StreamingResponse

from seqloom.serve.endpoint import Endpoint
from seqloom.serve.messages import Said
from seqloom.serve.openai import PIECES, ChatError
from seqloom.serve.service import Service
from seqloom.serve.writing import Temperature, Tokens, TopP, WritingOptions, find_model, write

NoResponse = Annotated[Literal[""], Meta(description="empty: this server stores no responses")]


class InputPart(Struct):
    type: Literal["input_text", "output_text"]
    text: str


class InputMessage(Struct):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[InputPart]
    type: Literal["message"] = "message"


Input = Annotated[str | list[InputMessage], Meta(description="a text, or a list of messages that are text")]


class ResponseRequest(Said, kw_only=True):
    model: Annotated[str, Meta(description="the name of a model: see /v1/models")]
    input: Input
    max_output_tokens: Tokens | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    stream: Annotated[bool | None, Meta(description="true or false")] = None
    previous_response_id: NoResponse | None = None


class ResponseAnswer(Struct, kw_only=True):
    """The fields that OpenAI's types require."""

    id: str
    object: str = "response"
    created_at: int
    status: str
    model: str
    output: list[dict[str, Any]]
    usage: dict[str, Any] | None = None
    error: None = None
    incomplete_details: None = None
    instructions: None = None
    metadata: dict[str, str] = {}
    parallel_tool_calls: bool = False
    temperature: float | None = None
    top_p: float | None = None
    tool_choice: str = "none"
    tools: list[Any] = []
    store: bool = False


async def respond(service: Service, said: ResponseRequest) -> ResponseAnswer | Response:
    model, text = find_model(service, said.model), text_of(said.input)
    options = WritingOptions(max_tokens=said.max_output_tokens, temperature=said.temperature, top_p=said.top_p)
    [written] = await write(service, model, [text], options)
    answered = written.texts[0]
    answer = ResponseAnswer(
        id=f"resp_{uuid.uuid4().hex}",
        created_at=int(time.time()),
        status="completed",
        model=model.name,
        output=[message(f"msg_{uuid.uuid4().hex}", [part(answered)], "completed")],
        usage={
            "input_tokens": written.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written.tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": written.prompt_tokens + written.tokens,
        },
    )
    if not said.stream:
        return answer
    return StreamingResponse(stream(answer, answered), media_type="text/event-stream")


def text_of(given: str | list[InputMessage]) -> str:
    """The text of the last message that has some."""
    if isinstance(given, str):
        return given
    texts = [
        one.content if isinstance(one.content, str) else "\n".join(each.text for each in one.content) for one in given
    ]
    return next(filter(None, reversed(texts)), "")


def message(name: str, content: list[dict[str, Any]], status: str) -> dict[str, Any]:
    return {"id": name, "type": "message", "role": "assistant", "status": status, "content": content}


def part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


async def stream(answer: ResponseAnswer, text: str) -> AsyncIterator[bytes]:
    """The events of OpenAI's stream: the finished translation word by word."""
    begun = msgspec.structs.replace(answer, status="in_progress", output=[], usage=None)
    name = answer.output[0]["id"]
    at = {"output_index": 0}
    inside = {"item_id": name, "output_index": 0, "content_index": 0}
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
        ("response.output_item.added", {**at, "item": message(name, [], "in_progress")}),
        ("response.content_part.added", {**inside, "part": part("")}),
        *(
            ("response.output_text.delta", {**inside, "delta": piece, "logprobs": []})
            for piece in PIECES.findall(text)
        ),
        ("response.output_text.done", {**inside, "text": text, "logprobs": []}),
        ("response.content_part.done", {**inside, "part": part(text)}),
        ("response.output_item.done", {**at, "item": answer.output[0]}),
        ("response.completed", {"response": answer}),
    ]  # fmt: skip
    for number, (kind, fields) in enumerate(events):
        said = msgspec.json.encode({"type": kind, "sequence_number": number, **fields})
        yield f"event: {kind}\ndata: ".encode() + said + b"\n\n"


ENDPOINTS = [
    Endpoint(
        "POST", "/v1/responses", "Translate, answer or continue an input", respond, ResponseAnswer, ResponseRequest,
        no_key=401, streams=True, statuses=(404,), error=ChatError,
    ),
]  # fmt: skip
