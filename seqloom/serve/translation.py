"""Translates the texts of a request; every protocol calls this and gives the answer its own format."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from seqloom.runtime.parts import Alignment, Translation
from seqloom.serve.detect import Guess, detect, is_loaded
from seqloom.serve.finding import Found, Wanted
from seqloom.serve.glossary import Glossary
from seqloom.serve.marks import Segment
from seqloom.serve.refusal import Refusal
from seqloom.serve.segments import join, split, to_translate
from seqloom.serve.service import Model, Service

AUTO = "auto"
SURE = 80.0  # percent: confidence from which a text counts as already in the target language and stays unchanged
INLINE = 10_000  # characters; longer texts are split and joined in a thread, so that no other client waits
PLAIN = Wanted()
NOTHING_FOUND = Found([])


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client asks for, in any protocol."""

    texts: Sequence[str]
    source: str
    target: str
    format: str = "text"
    wanted: Wanted = PLAIN
    glossary: Glossary | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """Where one text goes: its language, its model, and the parts to translate."""

    guess: Guess | None
    source: str
    model: Model | None  # None = the text is already in the target language
    segments: list[Segment]

    @property
    def parts(self) -> list[Segment]:
        return to_translate(self.segments) if self.model else []


@dataclass(frozen=True, slots=True)
class Translated:
    """The answer to one text, before a protocol gives it a shape."""

    text: str
    source: str
    target: str
    guess: Guess | None
    model: Model | None
    found: Found = NOTHING_FOUND  # empty if the text was not translated


async def translate(service: Service, wish: Wish) -> list[Translated]:
    """A translation for each text, in order."""
    check_texts(service, wish.texts)
    source, target = named_languages(service, wish.source, wish.target)
    if source not in (AUTO, target):
        service.model(source, target)  # refuse a wrong pair of languages first

    def plan() -> list[Route]:
        routes = [route(service, text, source, target, wish.format) for text in wish.texts]
        if wish.glossary is None:
            return routes
        return [replace(route, segments=wish.glossary.apply(route.segments)) for route in routes]

    at_once = sum(map(len, wish.texts)) < INLINE and (source != AUTO or is_loaded())
    routes = plan() if at_once else await asyncio.to_thread(plan)
    found = await ask_models(service, routes, wish.wanted)

    def finish() -> list[Translated]:
        return [
            put_together(text, route, target, answers, wish)
            for text, route, answers in zip(wish.texts, routes, found, strict=True)
        ]

    return finish() if at_once else await asyncio.to_thread(finish)


def named_languages(service: Service, source: str, target: str) -> tuple[str, str]:
    """The served languages that a client means: the source may be AUTO; without a target, the only one."""
    known = service.language(target, "target") if target else only_target(service)
    return AUTO if source.lower() == AUTO else service.language(source, "source"), known


def check_texts(service: Service, texts: Sequence[str]) -> None:
    limits = service.limits
    if len(texts) > limits.texts:
        raise Refusal(400, f"{len(texts):,} texts are more than the {limits.texts} that a request may have.")
    longest = max(map(len, texts), default=0)
    if longest > limits.characters:
        raise Refusal(400, f"A text of {longest:,} characters is longer than the {limits.characters:,} allowed.")


def only_target(service: Service) -> str:
    service.check_translates()
    if len(service.targets) > 1:
        raise Refusal(400, f"target is missing: it must be one of {', '.join(service.targets)}.")
    return service.targets[0]


def route(service: Service, text: str, source: str, target: str, format: str) -> Route:
    segments, guess = split(text, format), None
    if source == AUTO:
        guess = guess_source(
            service, "\n".join(part.text for part in to_translate(segments)), target
        )  # without markup, which is not in any language
        source = guess.language
    model = None if source == target else service.model(source, target)
    return Route(guess, source, model, segments)


def guess_source(service: Service, text: str, target: str) -> Guess:
    """The most probable language among those with a model to the target; the target itself only if that is sure."""
    sources = service.sources_of(target)
    if not sources:
        raise Refusal(400, f"No served model translates to {target}.")
    guesses = detect(text, [*sources, *([] if target in sources else [target])])
    sure = guesses[0].language != target or guesses[0].confidence >= SURE
    return next((guess for guess in guesses if sure or guess.language != target), guesses[0])


async def ask_models(service: Service, routes: Sequence[Route], wanted: Wanted) -> list[list[Found]]:
    """The outputs for the parts of each text: one request per model, all at the same time.

    Parts with markup are a request of their own, because their words are aligned.
    """
    asked: dict[tuple[Model, Wanted], list[str]] = {}
    places: list[list[tuple[Model, Wanted]]] = []
    for route in routes:
        keys = [(route.model, replace(wanted, alignment=True) if part.marks else wanted) for part in route.parts]
        places.append([(model, own) for model, own in keys if model is not None])
        for key, part in zip(places[-1], route.parts, strict=True):
            asked.setdefault(key, []).append(part.text)
    answers = {key: iter(found) for key, found in zip(asked, await ask_each(asked), strict=True)}
    for (model, _), texts in asked.items():
        service.metrics.characters.labels(model.name).inc(sum(map(len, texts)))
    return [[next(answers[key]) for key in keys] for keys in places]


async def ask_each(asked: dict[tuple[Model, Wanted], list[str]]) -> list[list[Found]]:
    """The outputs of all, at the same time; the usual one costs no task of its own."""
    if len(asked) == 1:
        [((model, own), texts)] = asked.items()
        return [await model.ask(texts, own)]
    tasks = [asyncio.ensure_future(model.ask(texts, own)) for (model, own), texts in asked.items()]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def put_together(text: str, route: Route, target: str, parts: list[Found], wish: Wish) -> Translated:
    if not parts:
        return Translated(text, route.source, target, route.guess, route.model)

    def whole(texts: Sequence[str]) -> str:
        alignments = [part.alignments.get(text) for part, text in zip(parts, texts, strict=True)]
        return join(route.segments, iter(texts), wish.format, alignments)

    hypotheses = [
        Translation(
            whole([one.text for one in ranked]),
            sum(one.score for one in ranked) / len(ranked),
            sum(one.log_prob for one in ranked),
            join_alignments([one.alignment for one in ranked]) if wish.format == "text" and not wish.glossary else None,
        )
        for ranked in zip(*(part.hypotheses for part in parts), strict=False)
    ]
    alternatives = [
        whole([nth(part, number) for part in parts]) for number in range(max(len(part.alternatives) for part in parts))
    ]
    found = Found(hypotheses, alternatives)
    return Translated(hypotheses[0].text, route.source, target, route.guess, route.model, found)


def nth(part: Found, number: int) -> str:
    """The n-th alternative of a part; its best output if it has fewer."""
    return part.alternatives[number] if number < len(part.alternatives) else part.hypotheses[0].text


def join_alignments(alignments: Sequence[Alignment | None]) -> Alignment | None:
    """The words of all parts, concatenated, with the links between them; None if a part has no alignment."""
    joined = Alignment([], [], [])
    for one in alignments:
        if one is None:
            return None
        before = len(joined.source), len(joined.target)
        joined.links.extend([before[0] + source, before[1] + target] for source, target in one.links)
        joined.source.extend(one.source)
        joined.target.extend(one.target)
    return joined
