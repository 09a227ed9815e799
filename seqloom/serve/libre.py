"""The LibreTranslate protocol, which existing clients speak."""

import asyncio
from typing import Any

from seqloom.serve.detect import Guess, detect
from seqloom.serve.endpoint import Endpoint
from seqloom.serve.file_translation import ENDINGS
from seqloom.serve.finding import Wanted
from seqloom.serve.messages import (
    DefaultPair,
    Detected,
    DetectRequest,
    Error,
    FrontendSettings,
    Health,
    Language,
    NamedCode,
    TranslateAnswer,
    TranslateRequest,
)
from seqloom.serve.refusal import Refusal, busy
from seqloom.serve.service import Service
from seqloom.serve.translation import AUTO, Wish, check_texts, translate


async def translate_texts(service: Service, said: TranslateRequest) -> TranslateAnswer:
    texts = [said.q] if isinstance(said.q, str) else said.q
    wanted = Wanted.of(service.search, alternatives=said.alternatives)
    found = await translate(service, Wish(texts, said.source, said.target, said.format, wanted))
    answer = TranslateAnswer([one.text for one in found])
    if said.source.lower() == AUTO:
        answer.detectedLanguage = [detected(one.guess) for one in found if one.guess]
    if said.alternatives:
        answer.alternatives = [one.found.alternatives for one in found]
    return first_of(answer) if isinstance(said.q, str) else answer


def first_of(answer: TranslateAnswer) -> TranslateAnswer:
    """Answer a text with a text and a list with a list."""
    fields: dict[str, Any] = {name: getattr(answer, name) for name in answer.__struct_fields__}
    return TranslateAnswer(**{name: field[0] if isinstance(field, list) else field for name, field in fields.items()})


def detected(guess: Guess) -> Detected:
    return Detected(guess.confidence, guess.language)


async def detect_language(service: Service, said: DetectRequest) -> list[Detected]:
    check_texts(service, [said.q])
    return [detected(guess) for guess in await asyncio.to_thread(detect, said.q, service.languages)]


async def list_languages(service: Service, _: None) -> list[Language]:
    return [Language(code, service.name_of(code), service.targets_of(code)) for code in service.languages]


async def health(service: Service, _: None) -> Health:
    if not service.ready:
        raise busy("A model did not answer in time and is loaded again.")
    return Health("ok")


async def settings(service: Service, _: None) -> FrontendSettings:
    source, target = next(iter(service.models), ("", ""))
    return FrontendSettings(
        charLimit=service.limits.characters,
        frontendTimeout=500,
        apiKeys=service.key is not None,
        keyRequired=service.key is not None,
        filesTranslation=bool(service.models),
        supportedFilesFormat=ENDINGS if service.models else [],
        textsLimit=service.limits.texts,
        bodyLimit=service.limits.body,
        fileTextsLimit=service.limits.file_texts,
        fileSecondsKept=int(service.limits.file_kept),
        language=DefaultPair(NamedCode(source, service.name_of(source)), NamedCode(target, service.name_of(target))),
    )


async def switched_off(service: Service, _: None) -> None:
    raise Refusal(403, "This function is switched off on this server.")


ENDPOINTS = [
    Endpoint(
        "POST", "/translate", "Translate a text or a list of texts", translate_texts, TranslateAnswer, TranslateRequest
    ),
    Endpoint(
        "POST", "/detect", "Detect which served language a text is in", detect_language, list[Detected], DetectRequest
    ),
    Endpoint("GET", "/languages", "The served languages", list_languages, list[Language]),
    Endpoint("GET", "/health", "Is the server alive?", health, Health),
    Endpoint("GET", "/frontend/settings", "What a page needs to know", settings, FrontendSettings),
    Endpoint("POST", "/suggest", "Switched off", switched_off, Error, statuses=(403,)),
]
