"""Seqloom's own endpoints, under /v1: scores, n-best, word alignments, facts of the models, health."""

from typing import TYPE_CHECKING

from starlette.responses import Response

from seqloom import __version__
from seqloom.inside.views import VIEWS
from seqloom.serve.endpoint import Endpoint
from seqloom.serve.finding import Wanted
from seqloom.serve.glossary import Glossary
from seqloom.serve.messages import (
    OFFERED,
    BesideFacts,
    Health,
    Hypothesis,
    ModelAnswer,
    ModelFacts,
    NamedFacts,
    OwnAnswer,
    OwnRequest,
    OwnTexts,
    OwnTranslation,
    Said,
)
from seqloom.serve.named import Named
from seqloom.serve.refusal import busy
from seqloom.serve.service import Model, Service
from seqloom.serve.translation import Translated, Wish, translate

if TYPE_CHECKING:
    from seqloom.runtime.translator import Translator


async def translate_in_full(service: Service, said: OwnTexts) -> OwnAnswer:
    options = {name: getattr(said, name) for name in OFFERED}
    wanted = Wanted.of(service.search, alignment=said.alignment, **options)
    texts = [said.q] if isinstance(said.q, str) else said.q
    glossary = Glossary(said.glossary) if said.glossary else None
    found = await translate(service, Wish(texts, said.source, said.target, said.format, wanted, glossary))
    return OwnAnswer([in_full(one, wanted) for one in found])


def in_full(one: Translated, wanted: Wanted) -> OwnTranslation:
    hypotheses = one.found.hypotheses
    answer = OwnTranslation(
        text=one.text,
        source=one.source,
        target=one.target,
        confidence=one.guess.confidence if one.guess else None,
        model=one.model.name if one.model and hypotheses else None,
        hypotheses=[Hypothesis(each.text, each.score, each.log_prob) for each in hypotheses],
    )
    if wanted.alternatives:
        answer.alternatives = one.found.alternatives
    if wanted.alignment:
        answer.alignment = hypotheses[0].alignment if hypotheses else None
    return answer


async def describe(service: Service, _: Said) -> ModelAnswer:
    pairs = [facts_of(model, service.search.beam) for model in service.models.values()]
    return ModelAnswer(__version__, pairs, [named_facts(one) for one in service.named.values()])


def named_facts(model: Named) -> NamedFacts:
    return NamedFacts(
        name=model.name,
        task=model.task,
        answers=model.shape,
        kind=model.answering.config.model.kind,
        parameters=model.answering.facts.get("params"),
        labels=model.answering.labels if model.shape in ("labels", "tags") else [],
        address="/v1/completions" if model.writes else f"/models/{model.name}",
    )


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
        views=views_of(model.translator),
        beside=[beside_facts(name, one) for name, one in model.beside.items()],
        made_by=facts.get("version"),
    )


def beside_facts(name: str, translator: "Translator") -> BesideFacts:
    return BesideFacts(
        name=name,
        kind=translator.config.model.kind,
        parameters=translator.facts.get("params"),
        views=views_of(translator),
    )


def views_of(translator: "Translator") -> list[str]:
    return [name for name, view in VIEWS.items() if view.fits(translator.config)]


async def alive(service: Service, _: None) -> Health:
    if service.stuck:
        raise busy("A model does not answer, and loading it again did not help: restart the server.")
    return Health("ok")


async def ready(service: Service, _: None) -> Health:
    if not service.ready:
        raise busy("A model did not answer in time and is loaded again.")
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
    Endpoint("GET", "/v1/model", "The models that are served", describe, ModelAnswer, Said),
    Endpoint("GET", "/v1/healthz", "Is the server alive?", alive, Health),
    Endpoint("GET", "/v1/readyz", "Does it take requests?", ready, Health),
    Endpoint("GET", "/metrics", "Figures for Prometheus", metrics, str, Said),
]
