"""OpenAI's completions: each prompt is translated, answered or continued, by the model that the client names.

The answer is whole or a stream: of what a language model writes, as it writes it, or of the words of a finished text.
"""

import time
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from msgspec import Meta, Struct, structs
from starlette.responses import Response, StreamingResponse

from seqloom.serve.endpoint import Endpoint
from seqloom.serve.messages import Texts
from seqloom.serve.named import Named
from seqloom.serve.openai import PIECES, ChatError, StreamOptions, Usage, data, usage_of
from seqloom.serve.service import Service
from seqloom.serve.writing import Part, WritingOptions, Written, begin_stream, find_model, write


class CompletionRequest(WritingOptions, kw_only=True):
    model: Annotated[str, Meta(description="the name of a model: see /v1/models")]
    prompt: Texts
    echo: Annotated[bool | None, Meta(description="true or false: the prompt before each text")] = None
    stream: Annotated[bool | None, Meta(description="true or false")] = None
    stream_options: StreamOptions | None = None


class CompletionChoice(Struct):
    index: int
    text: str
    finish_reason: str | None = "stop"
    logprobs: None = None


class CompletionAnswer(Struct, kw_only=True):
    id: str
    object: str = "text_completion"
    created: int
    model: str
    choices: list[CompletionChoice] = []
    usage: Usage | None = None


async def complete(service: Service, said: CompletionRequest) -> CompletionAnswer | Response:
    model = find_model(service, said.model)
    prompts = [said.prompt] if isinstance(said.prompt, str) else said.prompt
    answer = CompletionAnswer(id=f"cmpl-{uuid.uuid4().hex}", created=int(time.time()), model=model.name)
    counted = said.stream_options is not None and bool(said.stream_options.include_usage)
    if said.stream and isinstance(model, Named) and model.continuing is not None:
        total = Written([])
        parts = await begin_stream(service, model, prompts, said, total)
        before = prompts if said.echo else []
        return StreamingResponse(stream_parts(answer, parts, counted, total, before), media_type="text/event-stream")
    written = await write(service, model, prompts, said)
    echoed = [prompt if said.echo else "" for prompt in prompts]
    texts = [
        (before + text, finish)
        for before, one in zip(echoed, written, strict=True)
        for text, finish in zip(one.texts, one.finish, strict=True)
    ]
    answer.choices = [CompletionChoice(place, text, finish) for place, (text, finish) in enumerate(texts)]
    answer.usage = usage_of(written)
    if not said.stream:
        return answer
    return StreamingResponse(stream(answer, counted), media_type="text/event-stream")


async def stream_parts(
    answer: CompletionAnswer, parts: AsyncIterator[Part], counted: bool, total: Written, before: Sequence[str]
) -> AsyncIterator[bytes]:
    """What a language model writes, as it writes it; `before`: prompts to repeat."""
    for index, prompt in enumerate(before):
        yield data(structs.replace(answer, choices=[CompletionChoice(index, prompt, None)]))
    async for part in parts:
        yield data(structs.replace(answer, choices=[CompletionChoice(part.index, part.text, part.finish)]))
    if counted:
        yield data(structs.replace(answer, usage=usage_of([total])))
    yield b"data: [DONE]\n\n"


async def stream(answer: CompletionAnswer, counted: bool) -> AsyncIterator[bytes]:
    """The finished texts word by word."""
    for choice in answer.choices:
        for piece in PIECES.findall(choice.text):
            part = CompletionChoice(choice.index, piece, None)
            yield data(structs.replace(answer, choices=[part], usage=None))
        yield data(
            structs.replace(answer, choices=[CompletionChoice(choice.index, "", choice.finish_reason)], usage=None)
        )
    if counted:
        yield data(structs.replace(answer, choices=[]))
    yield b"data: [DONE]\n\n"


ENDPOINTS = [
    Endpoint(
        "POST", "/v1/completions", "Translate or continue a prompt", complete, CompletionAnswer, CompletionRequest,
        no_key=401, streams=True, statuses=(404,), error=ChatError,
    ),
]  # fmt: skip
