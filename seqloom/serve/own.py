"""What only Seqloom has, under /v1: scores, n-best, word alignments, attention, facts of the models, health."""

from starlette.responses import Response

from seqloom import __version__
from seqloom.serve.endpoint import Endpoint
from seqloom.serve.refusal import busy
from seqloom.serve.search import How
from seqloom.serve.service import Model, Service
from seqloom.serve.shapes import (
    Attention,
    ExplainAnswer,
    ExplainRequest,
    Health,
    ModelAnswer,
    ModelFacts,
    OwnAnswer,
    OwnRequest,
    OwnTranslation,
    Said,
)
from seqloom.serve.translation import Translated, Wish, translate


async def translate_in_full(service: Service, said: OwnRequest) -> OwnAnswer:
    beam = said.beam or service.beam
    how = How(max(beam, said.n_best) if beam else None, said.n_best, said.alternatives, said.alignment)
    texts = [said.q] if isinstance(said.q, str) else said.q
    found = await translate(service, Wish(texts, said.source, said.target, said.format, how))
    return OwnAnswer([in_full(one, said) for one in found])


def in_full(one: Translated, said: OwnRequest) -> OwnTranslation:
    answer = OwnTranslation(
        text=one.text,
        source=one.source,
        target=one.target,
        confidence=one.guess.confidence if one.guess else None,
        model=one.model.name if one.model and one.hypotheses else None,
        hypotheses=one.hypotheses,
    )
    if said.alternatives:
        answer.alternatives = one.alternatives
    if said.alignment:
        answer.alignment = one.alignment
    return answer


async def explain(service: Service, said: ExplainRequest) -> ExplainAnswer:
    """The attention of the model's own translation of each line, piece by piece."""
    how = How(service.beam, attention=True)
    found = await translate(service, Wish([said.q], said.source, said.target, how=how))
    return ExplainAnswer([None if seen is None else Attention(**seen) for seen in found[0].attention])


async def describe(service: Service, _: Said) -> ModelAnswer:
    return ModelAnswer(__version__, [facts_of(model, service.beam) for model in service.models.values()])


def facts_of(model: Model, beam: int | None) -> ModelFacts:
    config, facts = model.translator.config, model.translator.facts
    return ModelFacts(
        name=model.name,
        source=model.source,
        target=model.target,
        kind=config.model.kind,
        parameters=facts.get("params"),
        beam=config.decode.beam if beam is None else beam,
        max_tokens=config.data.max_tokens,
        made_by=facts.get("version"),
    )


async def alive(service: Service, _: None) -> Health:
    return Health("ok")


async def ready(service: Service, _: None) -> Health:
    if not service.ready:
        raise busy("A model has stopped working.")
    return Health("ready")


async def metrics(service: Service, _: Said) -> Response:
    return Response(service.metrics.page(), media_type="text/plain; version=0.0.4")


ENDPOINTS = [
    Endpoint(
        "POST",
        "/v1/translate",
        "Translate, with scores, n-best and alignments",
        translate_in_full,
        OwnAnswer,
        OwnRequest,
    ),
    Endpoint("POST", "/v1/explain", "The attention behind a translation", explain, ExplainAnswer, ExplainRequest),
    Endpoint("GET", "/v1/model", "The models that are served", describe, ModelAnswer, Said),
    Endpoint("GET", "/v1/healthz", "Is the server alive?", alive, Health),
    Endpoint("GET", "/v1/readyz", "Does it take requests?", ready, Health),
    Endpoint("GET", "/metrics", "Figures for Prometheus", metrics, str, Said),
]
