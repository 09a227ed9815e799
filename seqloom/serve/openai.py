"""OpenAI's chat API: the model is a pair of languages (en-de) or a name; the last message with text is its input.

A translator translates it, a language model continues it; a model of dialogues reads the earlier messages, too.
"""

import re
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response, StreamingResponse

from seqloom.runtime.inputs import TURN
from seqloom.serve.endpoint import Endpoint
from seqloom.serve.messages import Said
from seqloom.serve.named import Named
from seqloom.serve.service import Model, Service
from seqloom.serve.writing import Part, Tokens, WritingOptions, Written, all_models, begin_stream, find_model, write

PIECES = re.compile(r"\s*\S+|\s+$")


class ContentPart(Struct):
    type: Literal["text"]
    text: str


class Message(Struct):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None


class StreamOptions(Struct):
    include_usage: bool | None = None


class ChatRequest(WritingOptions, kw_only=True):
    model: Annotated[str, Meta(description="the name of a model: see /v1/models")]
    messages: Annotated[list[Message], Meta(description="a list of messages that are text", min_length=1)]
    max_completion_tokens: Tokens | None = None  # OpenAI's newer name of max_tokens
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


class ChatChoice(Struct):
    index: int
    message: ChatMessage
    finish_reason: str


class Usage(Struct, frozen=True):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


NOTHING_USED = Usage(0, 0, 0)


class ChatAnswer(Struct, kw_only=True):
    id: str
    object: str = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice] = []
    usage: Usage = NOTHING_USED


class ErrorFacts(Struct):
    message: str
    type: str
    param: str | None
    code: str | None


class ChatError(Struct):
    error: ErrorFacts


async def complete(service: Service, said: ChatRequest) -> ChatAnswer | Response:
    model = find_model(service, said.model)
    prompt = prompt_of(model, said.messages)
    said.max_tokens = said.max_tokens or said.max_completion_tokens
    answer = ChatAnswer(id=f"chatcmpl-{uuid.uuid4().hex}", created=int(time.time()), model=model.name)
    counted = said.stream_options is not None and bool(said.stream_options.include_usage)
    if said.stream and isinstance(model, Named) and model.continuing is not None:
        total = Written([])
        parts = await begin_stream(service, model, [prompt], said, total)
        return StreamingResponse(stream_parts(answer, parts, counted, total), media_type="text/event-stream")
    [written] = await write(service, model, [prompt], said)
    answer.usage = usage_of([written])
    answer.choices = [
        ChatChoice(place, ChatMessage("assistant", text), finish)
        for place, (text, finish) in enumerate(zip(written.texts, written.finish, strict=True))
    ]
    if not said.stream:
        return answer
    return StreamingResponse(stream(answer, counted), media_type="text/event-stream")


def prompt_of(model: Model | Named, messages: Sequence[Message]) -> str:
    """The last message with text; for a model of dialogues, the whole chat."""
    texts = [text for one in messages if (text := text_of(one))]
    if isinstance(model, Named) and model.task == "dialogue":
        said = [text for one in messages if one.role in ("user", "assistant") and (text := text_of(one))]
        return TURN.join(said[-model.answering.config.task.turns :])
    return texts[-1] if texts else ""


def text_of(message: Message) -> str:
    if isinstance(message.content, list):
        return "\n".join(part.text for part in message.content)
    return message.content or ""


def usage_of(written: Sequence[Written]) -> Usage:
    prompt, completion = (sum(one.prompt_tokens for one in written), sum(one.tokens for one in written))
    return Usage(prompt, completion, prompt + completion)


async def stream_parts(
    answer: ChatAnswer, parts: AsyncIterator[Part], counted: bool, total: Written
) -> AsyncIterator[bytes]:
    """What a language model writes, as it writes it."""
    begun = -1
    async for part in parts:
        if part.index > begun:
            begun = part.index
            yield event(answer, begun, {"role": "assistant", "content": ""})
        yield event(answer, part.index, {"content": part.text} if part.text else {}, part.finish)
    if counted:
        yield data(chunk(answer) | {"choices": [], "usage": usage_of([total])})
    yield b"data: [DONE]\n\n"


async def stream(answer: ChatAnswer, counted: bool) -> AsyncIterator[bytes]:
    """The finished translation word by word, as clients of a stream expect it."""
    for choice in answer.choices:
        yield event(answer, choice.index, {"role": "assistant", "content": ""})
        for piece in PIECES.findall(choice.message.content):
            yield event(answer, choice.index, {"content": piece})
        yield event(answer, choice.index, {}, choice.finish_reason)
    if counted:
        yield data(chunk(answer) | {"choices": [], "usage": answer.usage})
    yield b"data: [DONE]\n\n"


def event(answer: ChatAnswer, index: int, delta: dict[str, str], finish_reason: str | None = None) -> bytes:
    return data(chunk(answer) | {"choices": [{"index": index, "delta": delta, "finish_reason": finish_reason}]})


def chunk(answer: ChatAnswer) -> dict[str, Any]:
    return {"id": answer.id, "object": "chat.completion.chunk", "created": answer.created, "model": answer.model}


def data(said: Any) -> bytes:
    return b"data: " + msgspec.json.encode(said) + b"\n\n"


def in_short(model: Model | Named) -> ChatModel:
    return ChatModel(model.name, "model", 0, "seqloom")


async def list_models(service: Service, _: Said) -> ChatModels:
    return ChatModels("list", [in_short(model) for model in all_models(service).values()])


async def show_model(service: Service, said: ModelRequest) -> ChatModel:
    return in_short(find_model(service, said.id))


ENDPOINTS = [
    Endpoint(
        "POST", "/v1/chat/completions", "Translate or write, as a chat", complete, ChatAnswer, ChatRequest,
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
