"""What models write for prompts, for every address of OpenAI's API: translations, answers, continuations."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from seqloom.errors import UsageError
from seqloom.serve.continuing import Continuation, Sampling
from seqloom.serve.finding import Wanted
from seqloom.serve.messages import NBest, Said
from seqloom.serve.named import Named
from seqloom.serve.refusal import Refusal
from seqloom.serve.service import Model, Service
from seqloom.serve.translation import Wish, check_texts, translate

TOKENS, MOST_TOKENS = 256, 2_048  # of a continuation
MOST_CONTINUED = 4  # continuations that a request may ask for
Tokens = Annotated[int, Meta(description=f"a whole number of tokens, 1 to {MOST_TOKENS:,}", ge=1, le=MOST_TOKENS)]
Temperature = Annotated[float, Meta(description="a number, 0 to 2", ge=0, le=2)]
TopP = Annotated[float, Meta(description="a number above 0, at most 1", gt=0, le=1)]
Seed = Annotated[int, Meta(description="a whole number, 0 or more", ge=0, le=(1 << 53) - 1)]
Word = Annotated[str, Meta(min_length=1, max_length=100)]
Stop = Annotated[
    Word | Annotated[list[Word], Meta(max_length=4)], Meta(description="a text, or a list of at most 4 texts")
]


class WritingOptions(Said, kw_only=True):
    """Fields of OpenAI's requests that choose how a language model continues; other models leave them alone."""

    n: NBest | None = None
    max_tokens: Tokens | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    seed: Seed | None = None
    stop: Stop | None = None


@dataclass(slots=True)
class Written:
    """The texts for one prompt, and what they cost."""

    texts: list[str]
    finish: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    tokens: int = 0


def all_models(service: Service) -> dict[str, Model | Named]:
    return {**{model.name: model for model in service.models.values()}, **service.named}


def find_model(service: Service, name: str) -> Model | Named:
    models = all_models(service)
    if name not in models:
        raise Refusal(404, f"No such model; available: {', '.join(models)}.")
    return models[name]


def sampling_of(said: WritingOptions) -> Sampling:
    stop = [said.stop] if isinstance(said.stop, str) else said.stop or []
    return Sampling(
        tokens=said.max_tokens or TOKENS,
        temperature=1.0 if said.temperature is None else said.temperature,
        top_p=said.top_p or 1.0,
        seed=secrets.randbelow(1 << 31) if said.seed is None else said.seed,
        stop=stop,
    )


async def write(service: Service, model: Model | Named, prompts: Sequence[str], said: WritingOptions) -> list[Written]:
    """The n texts for each prompt."""
    if isinstance(model, Named) and model.continuing is not None:
        check_continued(service, model, prompts, said)
        texts = [await continue_prompt(model, prompt, said, number) for number, prompt in enumerate(prompts)]
    else:
        texts = await write_at_once(service, model, prompts, said.n or 1)
    await asyncio.to_thread(count_tokens, model, prompts, texts)
    return texts


async def write_at_once(service: Service, model: Model | Named, prompts: Sequence[str], n: int) -> list[Written]:
    wanted = Wanted.of(service.search, n_best=n)
    if isinstance(model, Model):
        answered = await translate(service, Wish(prompts, model.source, model.target, wanted=wanted))
        found = [[each.text for each in one.found.hypotheses] or [one.text] for one in answered]
    else:
        check_texts(service, prompts)
        if not model.writes:
            raise model.refuse_to_write()
        lines = [" ".join(prompt.split("\n")) for prompt in prompts]  # of a file, these are lines
        found = [[each.text for each in one.hypotheses] for one in await model.ask(lines, wanted)]
        service.metrics.characters.labels(model.name).inc(sum(map(len, lines)))
    return [Written(texts, ["stop"] * len(texts)) for texts in found]


def check_continued(service: Service, model: Named, prompts: Sequence[str], said: WritingOptions) -> None:
    check_texts(service, prompts)
    if len(prompts) * (said.n or 1) > MOST_CONTINUED:
        raise Refusal(400, f"{model.name} continues at most {MOST_CONTINUED} texts in one request (prompts x n).")


async def continue_prompt(model: Named, prompt: str, said: WritingOptions, number: int) -> Written:
    """All continuations of a prompt, one after the other."""
    written, sampling, n = Written([]), sampling_of(said), said.n or 1
    for choice in range(n):
        so_far = Continuation()
        async for _ in continuation(model, prompt, sampling, number * n + choice, so_far):
            pass
        written.texts.append(so_far.text)
        written.finish.append(so_far.finish)
        written.tokens += so_far.tokens
    return written


async def continuation(
    model: Named, prompt: str, sampling: Sampling, number: int, so_far: Continuation
) -> AsyncIterator[str]:
    """One continuation, piece by piece."""
    assert model.continuing is not None
    try:
        async for piece in model.continuing.pieces(prompt, sampling, number, so_far):
            yield piece
    except UsageError:
        raise Refusal(400, f"{model.name} cannot continue this prompt with these settings.") from None


def count_tokens(model: Model | Named, prompts: Sequence[str], written: Sequence[Written]) -> None:
    """Fill in what prompts and texts cost; a continuation has counted its own tokens."""
    tokenizers = model.translator.tokenizers if isinstance(model, Model) else model.tokenizers
    for prompt, one in zip(prompts, written, strict=True):
        one.prompt_tokens = len(tokenizers.source.encode(prompt))
        one.tokens = one.tokens or sum(map(len, tokenizers.target.encode_batch(one.texts)))


@dataclass(slots=True)
class Part:
    """A piece of the text with this number, or how that text ended."""

    index: int
    text: str = ""
    finish: str | None = None


async def begin_stream(
    service: Service, model: Named, prompts: Sequence[str], said: WritingOptions, total: Written
) -> AsyncIterator[Part]:
    """The parts of continuations as they are written; what is refused is refused before the first of them."""
    check_continued(service, model, prompts, said)
    parts = continue_in_turn(model, prompts, said, total)
    first = await anext(parts)

    async def all_parts() -> AsyncIterator[Part]:
        yield first
        async for part in parts:
            yield part

    return all_parts()


async def continue_in_turn(
    model: Named, prompts: Sequence[str], said: WritingOptions, total: Written
) -> AsyncIterator[Part]:
    sampling, n = sampling_of(said), said.n or 1
    total.prompt_tokens = sum(len(model.tokenizers.source.encode(prompt)) for prompt in prompts)
    for index in range(len(prompts) * n):
        so_far = Continuation()
        async for piece in continuation(model, prompts[index // n], sampling, index, so_far):
            yield Part(index, piece)
        total.tokens += so_far.tokens
        yield Part(index, finish=so_far.finish)
