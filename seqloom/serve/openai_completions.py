"""OpenAI's completions: each prompt is translated; the answer is whole or a stream of its words."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from typing import Annotated

from msgspec import Meta, Struct, structs
from starlette.responses import Response, StreamingResponse

from seqloom.serve.endpoint import Endpoint
from seqloom.serve.finding import Wanted
from seqloom.serve.messages import NBest, Said, Texts
from seqloom.serve.openai import PIECES, ChatError, StreamOptions, Usage, count_tokens, data, find_model
from seqloom.serve.service import Service
from seqloom.serve.translation import Wish, translate


class CompletionRequest(Said, kw_only=True):
    model: Annotated[str, Meta(description="the name of a model: see /v1/models")]
    prompt: Texts
    n: NBest | None = None
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
    choices: list[CompletionChoice]
    usage: Usage | None = None


async def complete(service: Service, said: CompletionRequest) -> CompletionAnswer | Response:
    model, n = find_model(service, said.model), said.n or 1
    prompts = [said.prompt] if isinstance(said.prompt, str) else said.prompt
    wish = Wish(prompts, model.source, model.target, wanted=Wanted.of(service.search, n_best=n))
    found = await translate(service, wish)
    texts = [text for one in found for text in [each.text for each in one.found.hypotheses] or [one.text]]
    answer = CompletionAnswer(
        id=f"cmpl-{uuid.uuid4().hex}",
        created=int(time.time()),
        model=model.name,
        choices=[CompletionChoice(place, text) for place, text in enumerate(texts)],
        usage=await asyncio.to_thread(count_tokens, model, "\n".join(prompts), texts),
    )
    if not said.stream:
        return answer
    counted = said.stream_options is not None and bool(said.stream_options.include_usage)
    return StreamingResponse(stream(answer, counted), media_type="text/event-stream")


async def stream(answer: CompletionAnswer, counted: bool) -> AsyncIterator[bytes]:
    """The finished texts word by word."""
    for choice in answer.choices:
        for piece in PIECES.findall(choice.text):
            part = CompletionChoice(choice.index, piece, None)
            yield data(structs.replace(answer, choices=[part], usage=None))
        yield data(structs.replace(answer, choices=[CompletionChoice(choice.index, "")], usage=None))
    if counted:
        yield data(structs.replace(answer, choices=[]))
    yield b"data: [DONE]\n\n"


ENDPOINTS = [
    Endpoint(
        "POST", "/v1/completions", "Translate a prompt", complete, CompletionAnswer, CompletionRequest,
        no_key=401, streams=True, statuses=(404,), error=ChatError,
    ),
]  # fmt: skip
