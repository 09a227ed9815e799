"""Types of the JSON requests and answers; checks and the OpenAPI document are made from them.

Types that only DeepL or OpenAI has are in their files; search options come from their declaration (decode/options.py).
The description of a field also completes the sentence "NAME must be ..." when a request gets it wrong.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from seqloom.decode.options import OverHttp, offered_over_http
from seqloom.runtime.parts import Alignment


def whole_number(option: OverHttp) -> Meta:
    """The range of an option of search, for a message and for OpenAPI."""
    said = f"a whole number of {option.noun}, {option.least} to {option.most}"
    return Meta(description=said, ge=option.least, le=option.most)


OFFERED = offered_over_http()
Texts = Annotated[str | Annotated[list[str], Meta(min_length=1)], Meta(description="a text, or a list of texts")]
Text = Annotated[str, Meta(description="a text")]
Source = Annotated[str, Meta(description="the code of a language that is served, or auto")]
Target = Annotated[str, Meta(description="the code of a language that is served")]
OptionalTarget = Annotated[str, Meta(description="the code of a language that is served; empty if there is only one")]
Format = Annotated[Literal["text", "html"], Meta(description="text or html")]
Alternatives = Annotated[int, whole_number(OFFERED["alternatives"])]
NBest = Annotated[int, whole_number(OFFERED["n_best"])]
UploadedFile = Annotated[bytes, Meta(description="a file, in a body of multipart/form-data")]
FileName = Annotated[str, Meta(description="the name of the file; the one that comes with the file is the default")]
Key = Annotated[str | None, Meta(description="the key of this server, if it requires one")]


class Said(Struct, kw_only=True):
    """Fields of every request; the names that clients use for the key differ."""

    api_key: Key = None
    apiKey: Key = None  # noqa: N815
    auth_key: Key = None


class TranslateRequest(Said, kw_only=True):
    q: Texts
    source: Source
    target: Target
    format: Format = "text"
    alternatives: Alternatives = 0


class Detected(Struct):
    confidence: Annotated[float, Meta(ge=0, le=100)]
    language: str


class TranslateAnswer(Struct):
    translatedText: str | list[str]  # noqa: N815
    detectedLanguage: Detected | list[Detected] | UnsetType = UNSET  # noqa: N815
    alternatives: list[str | list[str]] | UnsetType = UNSET


class DetectRequest(Said, kw_only=True):
    q: Text


class Language(Struct):
    code: str
    name: str
    targets: list[str]


class Health(Struct):
    status: str


class NamedCode(Struct):
    code: str
    name: str


class DefaultPair(Struct):
    source: NamedCode
    target: NamedCode


class FrontendSettings(Struct, kw_only=True):
    charLimit: int  # noqa: N815
    frontendTimeout: int  # noqa: N815
    apiKeys: bool  # noqa: N815
    keyRequired: bool  # noqa: N815
    suggestions: bool = False
    filesTranslation: bool  # noqa: N815
    supportedFilesFormat: list[str]  # noqa: N815
    # Of this server alone; LibreTranslate does not say these.
    textsLimit: int  # noqa: N815
    bodyLimit: int  # noqa: N815
    fileTextsLimit: int  # noqa: N815
    fileSecondsKept: int  # noqa: N815
    language: DefaultPair


class Error(Struct):
    error: str


class OwnTexts(Said, kw_only=True):
    """/v1/translate without the options of search"""

    q: Texts
    source: Source = "auto"
    target: OptionalTarget = ""
    format: Format = "text"
    alignment: Annotated[bool, Meta(description="true or false")] = False
    glossary: Annotated[dict[str, str], Meta(description="an object of terms and their translations")] | None = None


def http_field(name: str, option: OverHttp) -> tuple[str, Any, int | None]:
    """A field of a body: its name, type and default."""
    number: Any = Annotated[int, whole_number(option)]
    return name, number if option.default is not None else number | None, option.default


OwnRequest: Any = defstruct(
    "OwnRequest", [http_field(*each) for each in OFFERED.items()], bases=(OwnTexts,), module=__name__, kw_only=True
)


class Hypothesis(Struct):
    text: str
    score: float
    log_prob: float


class OwnTranslation(Struct, kw_only=True):
    text: str
    source: str
    target: str
    confidence: Annotated[float, Meta(ge=0, le=100)] | None
    model: str | None  # None = there was nothing to translate
    hypotheses: list[Hypothesis]
    alternatives: list[str] | UnsetType = UNSET
    alignment: Alignment | UnsetType | None = UNSET


class OwnAnswer(Struct):
    translations: list[OwnTranslation]


class BesideFacts(Struct, kw_only=True):
    """A model that is only explained."""

    name: str
    kind: str
    parameters: int | None
    views: list[str]  # of /v1/explain


class ModelFacts(Struct, kw_only=True):
    name: str
    source: str
    target: str
    kind: str
    parameters: int | None
    beam: int
    max_tokens: int
    views: list[str]  # of /v1/explain
    beside: list[BesideFacts]
    made_by: str | None


class NamedFacts(Struct, kw_only=True):
    """A model that does not translate."""

    name: str
    task: str
    answers: str  # the shape of its answers: labels, tags, fills, writes, restores, continues
    kind: str
    parameters: int | None
    labels: list[str]
    address: str  # where to ask it


class ModelAnswer(Struct):
    version: str
    models: list[ModelFacts]
    named: list[NamedFacts]
