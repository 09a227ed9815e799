"""DeepL's API, as its official clients call it: /v2/translate, /v2/languages, /v2/usage."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from seqloom.serve.endpoint import Endpoint
from seqloom.serve.finding import Wanted
from seqloom.serve.languages import name_of
from seqloom.serve.messages import Said, Target, Texts
from seqloom.serve.service import Service
from seqloom.serve.translation import AUTO, Wish, translate

NO_QUOTA = 10**12  # characters: clients stop when they have used as many as they may
Formality = Annotated[
    Literal["default", "prefer_more", "prefer_less"],
    Meta(description="default, prefer_more or prefer_less; this server ignores it"),
]
NoGlossary = Annotated[Literal[""], Meta(description="empty: this server has no glossaries")]


class DeepLRequest(Said, kw_only=True):
    text: Texts
    target_lang: Target
    source_lang: Target = ""
    tag_handling: Annotated[Literal["html", "xml", ""] | None, Meta(description="html or xml")] = None
    formality: Formality | None = None
    glossary_id: NoGlossary | None = None


class DeepLTranslation(Struct):
    detected_source_language: str
    text: str
    billed_characters: int


class DeepLAnswer(Struct):
    translations: list[DeepLTranslation]


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
    wish = Wish(texts, said.source_lang or AUTO, said.target_lang, format, Wanted.of(service.search))
    found = await translate(service, wish)
    return DeepLAnswer(
        [
            DeepLTranslation(one.source.upper(), one.text, len(text))
            for text, one in zip(texts, found, strict=True)
        ]
    )  # fmt: skip


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
