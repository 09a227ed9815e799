"""OpenAI's chat API: the model is a pair of languages (en-de); the last message with text is translated."""

import asyncio
import re
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response, StreamingResponse

from seqloom.serve.endpoint import Endpoint
from seqloom.serve.finding import Wanted
from seqloom.serve.messages import NBest, Said
from seqloom.serve.refusal import Refusal
from seqloom.serve.service import Model, Service
from seqloom.serve.translation import Wish, translate

PIECES = re.compile(r"\s*\S+|\s+$")


class ContentPart(Struct):
    type: Literal["text"]
    text: str


class Message(Struct):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None


class StreamOptions(Struct):
    include_usage: bool | None = None


class ChatRequest(Said, kw_only=True):
    model: Annotated[str, Meta(description="the name of a model: see /v1/models")]
    messages: Annotated[list[Message], Meta(description="a list of messages that are text", min_length=1)]
    n: NBest | None = None
    stream: Annotated[bool | None, Meta(description="true or false")] = None
    stream_options: StreamOptions | None = None


class ModelRequest(Said, kw_only=True):
    id: Annotated[str, Meta(description="the name of a model: see /v1/models")]


class ChatModel(Struct):
    id: str
    object: str
    created: int
    owned_by: str


class ChatModels(Struct):
    object: str
    data: list[ChatModel]


class ChatMessage(Struct):
    role: str
    content: str


class Choice(Struct):
    index: int
    message: ChatMessage
    finish_reason: str


class Usage(Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatAnswer(Struct, kw_only=True):
    id: str
    object: str = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage


class ErrorFacts(Struct):
    message: str
    type: str
    param: str | None
    code: str | None


class ChatError(Struct):
    error: ErrorFacts


async def complete(service: Service, said: ChatRequest) -> ChatAnswer | Response:
    model = find_model(service, said.model)
    text, n = next(filter(None, map(text_of, reversed(said.messages))), ""), said.n or 1
    wanted = Wanted.of(service.search, n_best=n)
    [answered] = await translate(service, Wish([text], model.source, model.target, wanted=wanted))
    texts = [one.text for one in answered.found.hypotheses] or [answered.text]
    answer = ChatAnswer(
        id=f"chatcmpl-{uuid.uuid4().hex}",
        created=int(time.time()),
        model=model.name,
        choices=[Choice(place, ChatMessage("assistant", text), "stop") for place, text in enumerate(texts)],
        usage=await asyncio.to_thread(count_tokens, model, text, texts),
    )
    if not said.stream:
        return answer
    counted = said.stream_options is not None and bool(said.stream_options.include_usage)
    return StreamingResponse(stream(answer, counted), media_type="text/event-stream")


def find_model(service: Service, name: str) -> Model:
    models = {model.name: model for model in service.models.values()}
    if name not in models:
        raise Refusal(404, f"No such model; available: {', '.join(models)}.")
    return models[name]


def text_of(message: Message) -> str:
    if isinstance(message.content, list):
        return "\n".join(part.text for part in message.content)
    return message.content or ""


def count_tokens(model: Model, source: str, targets: Sequence[str]) -> Usage:
    tokenizers = model.translator.tokenizers
    prompt = len(tokenizers.source.encode(source))
    completion = sum(map(len, tokenizers.target.encode_batch(targets)))
    return Usage(prompt, completion, prompt + completion)


async def stream(answer: ChatAnswer, counted: bool) -> AsyncIterator[bytes]:
    """The finished translation word by word, as clients of a stream expect it."""
    for choice in answer.choices:
        yield event(answer, choice.index, {"role": "assistant", "content": ""})
        for piece in PIECES.findall(choice.message.content):
            yield event(answer, choice.index, {"content": piece})
        yield event(answer, choice.index, {}, "stop")
    if counted:
        yield data(chunk(answer) | {"choices": [], "usage": answer.usage})
    yield b"data: [DONE]\n\n"


def event(answer: ChatAnswer, index: int, delta: dict[str, str], finish_reason: str | None = None) -> bytes:
    return data(chunk(answer) | {"choices": [{"index": index, "delta": delta, "finish_reason": finish_reason}]})


def chunk(answer: ChatAnswer) -> dict[str, Any]:
    return {"id": answer.id, "object": "chat.completion.chunk", "created": answer.created, "model": answer.model}


def data(said: Any) -> bytes:
    return b"data: " + msgspec.json.encode(said) + b"\n\n"


def in_short(model: Model) -> ChatModel:
    return ChatModel(model.name, "model", 0, "seqloom")


async def list_models(service: Service, _: Said) -> ChatModels:
    return ChatModels("list", [in_short(model) for model in service.models.values()])


async def show_model(service: Service, said: ModelRequest) -> ChatModel:
    return in_short(find_model(service, said.id))


ENDPOINTS = [
    Endpoint(
        "POST", "/v1/chat/completions", "Translate, as a chat", complete, ChatAnswer, ChatRequest,
        no_key=401, streams=True, statuses=(404,), error=ChatError,
    ),
    Endpoint(
        "GET", "/v1/models", "The models, as OpenAI lists them", list_models, ChatModels, Said,
        no_key=401, error=ChatError,
    ),
    Endpoint(
        "GET", "/v1/models/{id}", "One of them", show_model, ChatModel, ModelRequest,
        no_key=401, statuses=(404,), error=ChatError,
    ),
]  # fmt: skip
