"""Texts, languages and wishes -> translations: what every protocol calls, each dressing the answer in its own shape."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seqloom.serve.detect import Guess, detect
from seqloom.serve.refusal import Refusal
from seqloom.serve.search import Found, How
from seqloom.serve.segments import Segment, join, split
from seqloom.serve.service import Model, Service
from seqloom.serve.shapes import Alignment, Hypothesis

AUTO = "auto"
SURE = 80.0  # percent: only then is a text left as it is because it seems to be in the target language already
INLINE = 10_000  # characters; more are looked through in a thread, so that nobody else waits
PLAIN = How()


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client wants, in the words of no protocol."""

    texts: Sequence[str]
    source: str
    target: str
    format: str = "text"
    how: How = PLAIN


@dataclass(frozen=True, slots=True)
class Route:
    """What becomes of one text."""

    guess: Guess | None
    source: str
    model: Model | None  # None: it is in the target language
    segments: list[Segment]

    @property
    def parts(self) -> list[str]:
        return to_translate(self.segments) if self.model else []


@dataclass(frozen=True, slots=True)
class Translated:
    text: str
    source: str
    target: str
    guess: Guess | None
    model: Model | None
    hypotheses: list[Hypothesis]
    alternatives: list[str]
    alignment: Alignment | None = None
    attention: Sequence[dict[str, Any] | None] = ()  # of each part


async def translate(service: Service, wish: Wish) -> list[Translated]:
    """A translation for each text, in order."""
    check_texts(service, wish.texts)
    target = service.language(wish.target, "target") if wish.target else only_target(service)
    source = AUTO if wish.source.lower() == AUTO else service.language(wish.source, "source")
    if source not in (AUTO, target):
        service.model(source, target)  # say what is wrong before anything is looked at

    def plan() -> list[Route]:
        return [route(service, text, source, target, wish.format) for text in wish.texts]

    routes = plan() if sum(map(len, wish.texts)) < INLINE else await asyncio.to_thread(plan)
    found = await ask_models(service, routes, wish.how)
    return [
        put_together(text, route, target, answers, wish)
        for text, route, answers in zip(wish.texts, routes, found, strict=True)
    ]


def check_texts(service: Service, texts: Sequence[str]) -> None:
    limits = service.limits
    if len(texts) > limits.texts:
        raise Refusal(400, f"{len(texts):,} texts are more than the {limits.texts} that a request may have.")
    longest = max(map(len, texts), default=0)
    if longest > limits.characters:
        raise Refusal(400, f"A text of {longest:,} characters is longer than the {limits.characters:,} allowed.")


def only_target(service: Service) -> str:
    if len(service.targets) > 1:
        raise Refusal(400, f"target is missing: it must be one of {', '.join(service.targets)}.")
    return service.targets[0]


def route(service: Service, text: str, source: str, target: str, format: str) -> Route:
    segments, guess = split(text, format), None
    if source == AUTO:
        guess = guess_source(service, "\n".join(to_translate(segments)), target)  # tags are no words of a language
        source = guess.language
    model = None if source == target else service.model(source, target)
    return Route(guess, source, model, segments)


def to_translate(segments: Sequence[Segment]) -> list[str]:
    return [segment.text for segment in segments if segment.translate]


def guess_source(service: Service, text: str, target: str) -> Guess:
    """The likeliest language among those that have a model to the target, and the target itself if that is sure."""
    sources = service.sources_of(target)
    if not sources:
        raise Refusal(400, f"There is no model to {target} here.")
    guesses = detect(text, [*sources, *([] if target in sources else [target])])
    sure = guesses[0].language != target or guesses[0].confidence >= SURE
    return next((guess for guess in guesses if sure or guess.language != target), guesses[0])


async def ask_models(service: Service, routes: Sequence[Route], how: How) -> list[list[Found]]:
    """What the models find for the parts of each text: one question for each model, all at the same time."""
    parts: dict[Model, list[str]] = {}
    for route in routes:
        if route.model and route.parts:
            parts.setdefault(route.model, []).extend(route.parts)
    tasks = [asyncio.ensure_future(model.ask(texts, how)) for model, texts in parts.items()]
    try:
        answers = {model: iter(found) for model, found in zip(parts, await asyncio.gather(*tasks), strict=True)}
    finally:
        for task in tasks:
            task.cancel()
    for model, texts in parts.items():
        service.metrics.characters.labels(model.name).inc(sum(map(len, texts)))
    return [[next(answers[route.model]) for _ in route.parts] if route.model else [] for route in routes]


def put_together(text: str, route: Route, target: str, found: list[Found], wish: Wish) -> Translated:
    if not found:
        return Translated(text, route.source, target, route.guess, route.model, [], [])

    def whole(texts: Sequence[str]) -> str:
        return join(route.segments, iter(texts), wish.format)

    hypotheses = [
        Hypothesis(
            whole([one.text for one in ranked]),
            sum(one.score for one in ranked) / len(ranked),
            sum(one.log_prob for one in ranked),
        )
        for ranked in zip(*(answer.hypotheses for answer in found), strict=False)
    ]
    alternatives = [
        whole([nth(answer, number) for answer in found])
        for number in range(max(len(answer.alternatives) for answer in found))
    ]
    return Translated(
        hypotheses[0].text,
        route.source,
        target,
        route.guess,
        route.model,
        hypotheses,
        alternatives,
        join_alignments(found) if wish.how.align and wish.format == "text" else None,
        [answer.attention for answer in found],
    )


def nth(answer: Found, number: int) -> str:
    """A part that has fewer alternatives keeps its best."""
    return answer.alternatives[number] if number < len(answer.alternatives) else answer.hypotheses[0].text


def join_alignments(found: Sequence[Found]) -> Alignment | None:
    """The words of all parts in a row, and the links between them; None when the model could not tell for a part."""
    joined = Alignment([], [], [])
    for answer in found:
        if answer.alignment is None:
            return None
        before = len(joined.source), len(joined.target)
        joined.links += [[before[0] + source, before[1] + target] for source, target in answer.alignment.links]
        joined.source += answer.alignment.source
        joined.target += answer.alignment.target
    return joined
