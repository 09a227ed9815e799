"""DeepL's API, as its official clients call it: /v2/translate, /v2/languages, /v2/usage."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from seqloom.serve.deepl_glossaries import find_glossary
from seqloom.serve.endpoint import Endpoint
from seqloom.serve.finding import Wanted
from seqloom.serve.glossary import Glossary
from seqloom.serve.languages import name_of
from seqloom.serve.messages import Said, Target, Texts
from seqloom.serve.refusal import Refusal
from seqloom.serve.service import Service
from seqloom.serve.translation import AUTO, Wish, translate

if TYPE_CHECKING:
    from seqloom.serve.deepl_documents import DocumentRequest

NO_QUOTA = 10**12  # characters: clients stop when they have used as many as they may
Formality = Annotated[
    Literal["default", "more", "less", "prefer_more", "prefer_less"],
    Meta(description="default, more, less, prefer_more or prefer_less; this server has no use for it and says so"),
]
NOTICE = "formality was ignored: the models of this server have one level of formality."


class DeepLRequest(Said, kw_only=True):
    text: Texts
    target_lang: Target
    source_lang: Target = ""
    tag_handling: Annotated[Literal["html", "xml", ""] | None, Meta(description="html or xml")] = None
    formality: Formality | None = None
    glossary_id: Annotated[str, Meta(description="the id of a glossary")] | None = None


class DeepLTranslation(Struct):
    detected_source_language: str
    text: str
    billed_characters: int


class DeepLAnswer(Struct):
    translations: list[DeepLTranslation]
    notice: str | UnsetType = UNSET  # what was ignored; DeepL's clients leave unknown fields alone


class DeepLLanguagesRequest(Said, kw_only=True):
    type: Annotated[Literal["source", "target"], Meta(description="source or target")] = "source"


class DeepLLanguage(Struct):
    language: str
    name: str
    supports_formality: bool | UnsetType = UNSET


class DeepLUsage(Struct):
    character_count: int
    character_limit: int


async def translate_texts(service: Service, said: DeepLRequest) -> DeepLAnswer:
    texts = [said.text] if isinstance(said.text, str) else said.text
    format = "html" if said.tag_handling else "text"
    glossary = choose_glossary(service, said)
    wish = Wish(texts, said.source_lang or AUTO, said.target_lang, format, Wanted.of(service.search), glossary)
    found = await translate(service, wish)
    answer = DeepLAnswer(
        [
            DeepLTranslation(one.source.upper(), one.text, len(text))
            for text, one in zip(texts, found, strict=True)
        ]
    )  # fmt: skip
    if said.formality not in (None, "default"):
        answer.notice = NOTICE
    return answer


def choose_glossary(service: Service, said: "DeepLRequest | DocumentRequest") -> Glossary | None:
    """The glossary that the client names, which must be for the same languages; DeepL asks for the source, too."""
    if not said.glossary_id:
        return None
    stored = find_glossary(service, said.glossary_id, 400)
    if not said.source_lang:
        raise Refusal(400, "source_lang is missing: a glossary is for one source language.")
    asked = (
        service.language(said.source_lang, "source_lang"),
        service.language(said.target_lang, "target_lang"),
    )
    if asked != (stored.facts.source_lang, stored.facts.target_lang):
        raise Refusal(400, f"This glossary is for {stored.facts.source_lang} to {stored.facts.target_lang}.")
    return stored.glossary


async def list_languages(service: Service, said: DeepLLanguagesRequest) -> list[DeepLLanguage]:
    if said.type == "source":
        return [DeepLLanguage(code.upper(), name_of(code)) for code in service.sources]
    return [DeepLLanguage(code.upper(), name_of(code), supports_formality=False) for code in service.targets]


async def usage(service: Service, _: Said) -> DeepLUsage:
    return DeepLUsage(service.metrics.total_characters(), NO_QUOTA)


ENDPOINTS = [
    Endpoint("POST", "/v2/translate", "Translate, as DeepL does", translate_texts, DeepLAnswer, DeepLRequest),
    Endpoint(
        "GET", "/v2/languages", "Languages, as DeepL does", list_languages, list[DeepLLanguage], DeepLLanguagesRequest
    ),
    Endpoint("GET", "/v2/usage", "Characters translated since the start", usage, DeepLUsage, Said),
]
