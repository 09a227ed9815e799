"""What goes over the wire, as types: requests, answers and the OpenAPI document come from them.

What only DeepL's or OpenAI's shape has stands in its own file.
The description of a field also completes the sentence "NAME must be ..." when a request gets it wrong.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

MOST_ALTERNATIVES = 10
MOST_N_BEST = 10
WIDEST_BEAM = 32  # that a client may ask for

Texts = Annotated[str | Annotated[list[str], Meta(min_length=1)], Meta(description="a text, or a list of texts")]
Text = Annotated[str, Meta(description="a text")]
Source = Annotated[str, Meta(description="the code of a language that is served, or auto")]
Target = Annotated[str, Meta(description="the code of a language that is served")]
OptionalTarget = Annotated[str, Meta(description="the code of a language that is served; empty if there is only one")]
Format = Annotated[Literal["text", "html"], Meta(description="text or html")]
Alternatives = Annotated[
    int,
    Meta(description=f"a whole number of further translations, 0 to {MOST_ALTERNATIVES}", ge=0, le=MOST_ALTERNATIVES),
]
Beam = Annotated[int, Meta(description=f"a whole number of hypotheses, 1 to {WIDEST_BEAM}", ge=1, le=WIDEST_BEAM)]
NBest = Annotated[int, Meta(description=f"a whole number of outputs, 1 to {MOST_N_BEST}", ge=1, le=MOST_N_BEST)]
Key = Annotated[str | None, Meta(description="the key of this server, if it wants one")]


class Said(Struct, kw_only=True):
    """What every request may carry; the names that clients use for the key differ."""

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
    filesTranslation: bool = False  # noqa: N815
    supportedFilesFormat: list[str] = []  # noqa: N815
    language: DefaultPair


class Error(Struct):
    error: str


class OwnRequest(Said, kw_only=True):
    """/v1/translate"""

    q: Texts
    source: Source = "auto"
    target: OptionalTarget = ""
    format: Format = "text"
    beam: Beam | None = None
    n_best: NBest = 1
    alternatives: Alternatives = 0
    alignment: Annotated[bool, Meta(description="true or false")] = False


class Hypothesis(Struct):
    text: str
    score: float
    log_prob: float


class Alignment(Struct):
    """Words are what stands between blanks; links are pairs of their numbers, from 0, source first."""

    source: list[str]
    target: list[str]
    links: list[list[int]]


class OwnTranslation(Struct, kw_only=True):
    text: str
    source: str
    target: str
    confidence: Annotated[float, Meta(ge=0, le=100)] | None
    model: str | None  # None: nothing was to be translated
    hypotheses: list[Hypothesis]
    alternatives: list[str] | UnsetType = UNSET
    alignment: Alignment | UnsetType | None = UNSET


class OwnAnswer(Struct):
    translations: list[OwnTranslation]


class ExplainRequest(Said, kw_only=True):
    q: Text
    source: Source = "auto"
    target: OptionalTarget = ""


class Attention(Struct):
    """The attention of one translation: weights[i][j] is what target piece i gave to source piece j."""

    version: int
    kind: str
    source: list[str]
    target: list[str]
    weights: list[list[float]]


class ExplainAnswer(Struct):
    """One for each line that was translated; null where the model has no attention, or the line is too long."""

    lines: list[Attention | None]


class ModelFacts(Struct, kw_only=True):
    name: str
    source: str
    target: str
    kind: str
    parameters: int | None
    beam: int
    max_tokens: int
    made_by: str | None


class ModelAnswer(Struct):
    version: str
    models: list[ModelFacts]
