"""Models that label and tag, and models that fill gaps, in the shapes of Hugging Face's inference API.

OpenAI's API has no address for your own labels; [{"label", "score"}] is what clients and libraries know.

classify    [[{"label": "pos", "score": 0.98}, ...]]                              all labels, the most probable first
tag         [{"entity": "NOUN", "score": 0.97, "word": "cat", "start": 4, "end": 7}, ...]
masked      [{"sequence": "the cat sat", "score": 0.31}, ...]                     gaps are written ___
"""

import math
import re
from typing import Annotated, Any

from msgspec import Meta, Struct

from seqloom.decode.options import SearchRequest
from seqloom.serve.endpoint import Endpoint
from seqloom.serve.finding import Found, Wanted
from seqloom.serve.messages import Said, Texts
from seqloom.serve.named import Named
from seqloom.serve.refusal import Refusal
from seqloom.serve.service import Service
from seqloom.serve.translation import check_texts

WORD = re.compile(r"\S+")
FEW, MOST = 5, 1000  # answers per text, by default and at most


class Parameters(Struct):
    top_k: Annotated[int, Meta(ge=1, le=MOST)] | None = None


class InferenceRequest(Said, kw_only=True):
    name: Annotated[str, Meta(description="the name of a model: see /v1/model")]
    inputs: Texts
    parameters: Annotated[Parameters, Meta(description=f"an object, perhaps with top_k, 1 to {MOST}")] | None = None


async def infer(service: Service, said: InferenceRequest) -> list[Any]:
    model = find_labelling(service, said.name)
    texts = [said.inputs] if isinstance(said.inputs, str) else said.inputs
    check_texts(service, texts)
    top = said.parameters.top_k if said.parameters else None
    wanted = Wanted(SearchRequest(n_best=min(top or FEW, len(model.tokenizers.source))))
    found = await model.ask(texts, wanted if model.shape == "fills" else Wanted())
    service.metrics.characters.labels(model.name).inc(sum(map(len, texts)))
    answers = [SHAPED[model.shape](text, one, top) for text, one in zip(texts, found, strict=True)]
    alone = (
        isinstance(said.inputs, str) and model.shape != "labels"
    )  # as Hugging Face does: one text has a list in a list
    return answers[0] if alone else answers


def find_labelling(service: Service, name: str) -> Named:
    """The model with this name, if it labels, tags or fills."""
    model = service.named.get(name)
    if model is not None and not model.writes:
        return model
    if model is not None:
        raise Refusal(400, f"{name} was trained for '{model.task}' and writes text: use /v1/completions.")
    if name in {pair.name for pair in service.models.values()}:
        raise Refusal(400, f"{name} translates and gives no labels: use /translate or /v1/translate.")
    known = ", ".join(one.name for one in service.named.values() if not one.writes)
    raise Refusal(404, f"No such model here; those that give labels: {known or 'none'}.")


def labels(text: str, found: Found, top: int | None) -> list[dict[str, Any]]:
    return [{"label": one.text, "score": math.exp(one.log_prob)} for one in found.hypotheses[:top]]


def tags(text: str, found: Found, top: int | None) -> list[dict[str, Any]]:
    """One entry per word; `start` and `end` count characters."""
    return [
        {"entity": one.text, "score": math.exp(one.log_prob), "word": word[0], "start": word.start(), "end": word.end()}
        for word, one in zip(WORD.finditer(text), found.hypotheses, strict=True)
    ]


def fillings(text: str, found: Found, top: int | None) -> list[dict[str, Any]]:
    return [{"sequence": one.text, "score": math.exp(one.log_prob)} for one in found.hypotheses]


SHAPED = {"labels": labels, "tags": tags, "fills": fillings}
ENDPOINTS = [
    Endpoint(
        "POST", "/models/{name}", "Labels of a text, tags or gaps, as Hugging Face does", infer,
        list[Any], InferenceRequest, statuses=(404,),
    ),
]  # fmt: skip
