"""DeepL's glossaries (API version 2): made, listed, read and deleted. The server keeps them until it stops."""

import csv
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.json import encode
from starlette.responses import Response

from seqloom.serve.endpoint import Endpoint
from seqloom.serve.glossary import MOST_TERMS, Glossary
from seqloom.serve.messages import Said, Source
from seqloom.serve.refusal import Refusal
from seqloom.serve.service import Service

MOST_GLOSSARIES = 100
MOST_STORED = 20 * MOST_TERMS  # terms of all glossaries together
Name = Annotated[str, Meta(description="a name of 1 to 1,024 characters", min_length=1, max_length=1024)]
Given = Annotated[str, Meta(description="one pair per line, separated by a tab or a comma")]
Id = Annotated[str, Meta(description="the id of a glossary")]


class GlossaryRequest(Said, kw_only=True):
    name: Name
    source_lang: Source
    target_lang: Source
    entries: Given
    entries_format: Annotated[Literal["tsv", "csv"], Meta(description="tsv or csv")] = "tsv"


class OneGlossary(Said, kw_only=True):
    glossary_id: Id


class GlossaryFacts(Struct, kw_only=True):
    glossary_id: str
    ready: bool = True
    name: str
    source_lang: str
    target_lang: str
    creation_time: str
    entry_count: int


class GlossaryList(Struct):
    glossaries: list[GlossaryFacts]


class GlossaryPair(Struct):
    source_lang: str
    target_lang: str


class GlossaryPairs(Struct):
    supported_languages: list[GlossaryPair]


@dataclass(frozen=True, slots=True)
class Stored:
    """A glossary of a server, with the pair of languages that it is for."""

    facts: GlossaryFacts
    glossary: Glossary


async def create(service: Service, said: GlossaryRequest) -> Response:
    source = service.language(said.source_lang, "source_lang")
    target = service.language(said.target_lang, "target_lang")
    service.model(source, target)
    glossary = Glossary(read_terms(said.entries, said.entries_format))
    kept = sum(stored.facts.entry_count for stored in service.glossaries.values())
    if len(service.glossaries) >= MOST_GLOSSARIES or kept + len(glossary.terms) > MOST_STORED:
        raise Refusal(
            400, f"This server keeps at most {MOST_GLOSSARIES} glossaries with {MOST_STORED:,} terms; delete one first."
        )
    facts = GlossaryFacts(
        glossary_id=str(uuid.uuid4()),
        name=said.name,
        source_lang=source,
        target_lang=target,
        creation_time=datetime.now(UTC).isoformat(),
        entry_count=len(glossary.terms),
    )
    service.glossaries[facts.glossary_id] = Stored(facts, glossary)
    return Response(encode(facts), 201, media_type="application/json")


def read_terms(text: str, format: str) -> dict[str, str]:
    """The pairs of a TSV or CSV text; further columns (languages, in DeepL's CSV) are ignored."""
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        rows = [*csv.reader(lines, strict=True)] if format == "csv" else [line.split("\t") for line in lines]
    except csv.Error:
        raise Refusal(400, "entries are not valid CSV.") from None
    terms: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        if len(row) < 2 or (format == "tsv" and len(row) > 2):
            raise Refusal(400, f"Entry {number} of the glossary is not a pair: want a source term and a target term.")
        if row[0].strip() in terms:
            raise Refusal(400, f"Entry {number} of the glossary repeats a source term.")
        terms[row[0].strip()] = row[1].strip()
    return terms


def find_glossary(service: Service, glossary_id: str, status: int = 404) -> Stored:
    stored = service.glossaries.get(glossary_id)
    if stored is None:
        raise Refusal(status, "There is no glossary with this id; the server forgets glossaries when it stops.")
    return stored


async def list_all(service: Service, _: Said) -> GlossaryList:
    return GlossaryList([stored.facts for stored in service.glossaries.values()])


async def show(service: Service, said: OneGlossary) -> GlossaryFacts:
    return find_glossary(service, said.glossary_id).facts


async def entries(service: Service, said: OneGlossary) -> Response:
    terms = find_glossary(service, said.glossary_id).glossary.terms
    text = "\n".join(f"{term}\t{wanted}" for term, wanted in terms.items())
    return Response(text, media_type="text/tab-separated-values")


async def delete(service: Service, said: OneGlossary) -> Response:
    find_glossary(service, said.glossary_id)
    del service.glossaries[said.glossary_id]
    return Response(status_code=204)


async def list_pairs(service: Service, _: Said) -> GlossaryPairs:
    return GlossaryPairs([GlossaryPair(source, target) for source, target in service.models])


ONE = "/v2/glossaries/{glossary_id}"
ENDPOINTS = [
    Endpoint(
        "POST", "/v2/glossaries", "Make a glossary", create, GlossaryFacts, GlossaryRequest, success=201
    ),
    Endpoint("GET", "/v2/glossaries", "All glossaries", list_all, GlossaryList, Said),
    Endpoint("GET", ONE, "One of them", show, GlossaryFacts, OneGlossary, statuses=(404,)),
    Endpoint("GET", ONE + "/entries", "Its terms", entries, str, OneGlossary, statuses=(404,)),
    Endpoint("DELETE", ONE, "Delete it", delete, None, OneGlossary, statuses=(404,), success=204),
    Endpoint("GET", "/v2/glossary-language-pairs", "Languages of glossaries", list_pairs, GlossaryPairs, Said),
]  # fmt: skip
