"""/v1/explain: the explain document of one text, with what-ifs: forced tokens, heads switched off, attention, gates.

/v1/curves: how the served models were trained.

Explaining runs in a thread of its own, one text after the other, so that clients who translate do not wait for it.
"""

import asyncio
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, field

from seqloom.errors import ModelError, UsageError, did_you_mean
from seqloom.explain.document import Explained
from seqloom.inside.curves import FILE as LOG
from seqloom.inside.curves import training_curves
from seqloom.inside.edits import Edit, head_off, set_attention, set_gate
from seqloom.inside.views import VIEWS, check_views
from seqloom.serve.endpoint import Endpoint
from seqloom.serve.messages import OptionalTarget, Said, Source
from seqloom.serve.refusal import Refusal
from seqloom.serve.service import Model, Service
from seqloom.serve.translation import AUTO, check_texts, named_languages, route

if TYPE_CHECKING:
    from seqloom.runtime.translator import Translator

QUICK = ("attention", "self", "gates", "beam")  # views for clients who name none: each takes milliseconds
NO_TORCH = "This server has no torch. It translates, but it cannot show what is inside a model: no view, no what-if."
MOST_EDITS = 64
MOST_CHARACTERS = 600  # of a text to explain: the work grows with the square of its length
Whole = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(max_length=100)]


class HeadOff(Struct, forbid_unknown_fields=True):
    """An attention head to switch off, such as {"map": "decoder.cross.0", "head": 1}."""

    map: Name
    head: Whole


class SetAttention(Struct, forbid_unknown_fields=True):
    """Attention weights of one output token, one per source token; with `map`, only in that layer (and head)."""

    position: Whole
    weights: Annotated[list[Annotated[float, Meta(ge=0, le=1e6)]], Meta(max_length=4096)]
    map: Name = ""
    head: Whole | None = None


class SetGate(Struct, forbid_unknown_fields=True):
    """The value of all units of a gate, such as decoder.0.gate.update; without a position, at every token."""

    map: Name
    value: Annotated[float, Meta(ge=0, le=1)]
    position: Whole | None = None


SHORT = {"maxLength": MOST_CHARACTERS, "pattern": r"\S"}  # refused below, with a sentence that says more
Explainable = Annotated[str, Meta(description="a text", extra_json_schema=SHORT)]
Views = Annotated[list[str], Meta(description=f"a list of views: {', '.join(VIEWS)}", max_length=len(VIEWS))]
Prefix = Annotated[list[Whole], Meta(description="a list of ids of target tokens", max_length=4096)]
ModelName = Annotated[
    str,
    Meta(
        description="the name of a model, as /v1/model gives them (of two with the same name the one beside); "
        "empty = the one that translates the text"
    ),
]
Beside = Annotated[bool, Meta(description="true or false: also those beside this model, each a lane of the document")]
Given = Annotated[str | None, Meta(description="a text, or nothing", extra_json_schema={"maxLength": MOST_CHARACTERS})]
HeadsOff = Annotated[list[HeadOff], Meta(description=f"a list of at most {MOST_EDITS} heads", max_length=MOST_EDITS)]
Attentions = Annotated[
    list[SetAttention],
    Meta(description=f"a list of at most {MOST_EDITS} positions with weights", max_length=MOST_EDITS),
]
Gates = Annotated[
    list[SetGate],
    Meta(description=f"a list of at most {MOST_EDITS} gates with position and value", max_length=MOST_EDITS),
]


class ExplainRequest(Said, kw_only=True):
    q: Explainable
    source: Source = "auto"
    target: OptionalTarget = ""
    model: ModelName = ""
    beside: Beside = False
    views: Views | None = None  # those of QUICK that the model has
    output: Given = None  # to explain instead of the model's own
    reference: Given = None
    prefix: Prefix = field(default_factory=list)
    heads_off: HeadsOff = field(default_factory=list)
    attention: Attentions = field(default_factory=list)
    gates: Gates = field(default_factory=list)


async def explain(service: Service, said: ExplainRequest) -> Explained:
    """What the model does with the text; a text in the target language has no model and is refused."""
    texts = [text for text in (said.q, said.output, said.reference) if text is not None]
    check_texts(service, texts)
    if (longest := max(map(len, texts))) > MOST_CHARACTERS:
        raise Refusal(400, f"A text of {longest:,} characters is too long to explain; the most is {MOST_CHARACTERS}.")
    try:
        model, by = find_models(service, said)
        edits = edits_of(said)
        if len(by) > 1 and (edits or said.prefix):
            raise UsageError("a what-if is for one model: give its name as model, and leave out beside")
        own = [name for name in QUICK if any(VIEWS[name].fits(one.config) for one in by)]
        views = own if said.views is None else check_views(said.views, VIEWS)
        return await model.explain(
            said.q, by, views=views, target=said.output, reference=said.reference, prefix=said.prefix, edits=edits
        )
    except (UsageError, ModelError) as error:
        raise Refusal(400, sentence(error)) from None
    except ModuleNotFoundError as error:  # a fast engine answers without it
        if error.name != "torch":
            raise
        raise Refusal(400, NO_TORCH) from None


def find_models(service: Service, said: ExplainRequest) -> "tuple[Model, list[Translator]]":
    """The served model, and those that explain the text: itself, those beside it, or one of them by its name."""
    model = named_model(service, said) if said.model else translating_model(service, said)
    first = model.beside.get(said.model, model.translator)
    others = [one for one in (model.translator, *model.beside.values()) if one is not first]
    return model, [first, *others] if said.beside else [first]


def named_model(service: Service, said: ExplainRequest) -> Model:
    """The served model that has this name, or has it beside it; languages that are given too must be its own."""
    names = {name: model for model in service.models.values() for name in (model.name, *model.beside)}
    model = names.get(said.model)
    if model is None:
        raise UsageError(f"model: want one of {', '.join(names)}.{did_you_mean(said.model, names)}")
    wanted = [said.source if said.source.lower() != AUTO else model.source, said.target or model.target]
    if wanted != [model.source, model.target]:
        raise UsageError(f"model: {said.model} translates {model.source} to {model.target}; leave out the languages")
    return model


def translating_model(service: Service, said: ExplainRequest) -> Model:
    found = route(service, said.q, *named_languages(service, said.source, said.target), "text").model
    if found is None:
        raise Refusal(400, "This text is in the target language already; give its language as source.")
    return found


async def curves(service: Service, said: Said) -> Explained:
    """The training curves of the served models and those beside; of a run that still trains, as far as it has come."""
    models = service.models.values()
    folders = [one.folder for model in models for one in (model.translator, *model.beside.values())]
    logged = [folder for folder in folders if folder is not None and (folder / LOG).is_file()]
    return Explained(curves=await asyncio.to_thread(training_curves, logged))


def edits_of(said: ExplainRequest) -> list[Edit]:
    heads = [head_off(one.map, one.head) for one in said.heads_off]
    attention = [set_attention(one.position, one.weights, one.map, one.head) for one in said.attention]
    return [*heads, *attention, *(set_gate(one.map, one.position, one.value) for one in said.gates)]


def sentence(error: Exception) -> str:
    """The message as a sentence for a client, who has no command line."""
    text = str(error).removeprefix("--")
    return text if text.endswith(".") else f"{text}."


ENDPOINTS = [
    Endpoint(
        "POST", "/v1/explain", "What a model does inside with a text, and what if it did not", explain, Explained,
        ExplainRequest,
    ),
    Endpoint("GET", "/v1/curves", "How the served models were trained", curves, Explained, Said),
]  # fmt: skip
