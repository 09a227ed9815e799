"""Parse the body of a request into a checked type. It may be JSON, form, multipart, or the query string."""

import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_args
from urllib.parse import parse_qsl

import msgspec
from msgspec.structs import FieldInfo
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from seqloom.serve.refusal import Refusal

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
MOST_FIELDS = 1000
MOST_DRAINED = (
    8  # times the limit: read so much of a body that is too large, because a client that still sends reads no answer
)
T = TypeVar("T", bound=msgspec.Struct)
BOUNDARY = re.compile(r"[ !#-:<-\[\]-~]{1,70}")  # printable, without " ; \
# The library takes long for a header of nothing but semicolons, and a body has room for hundreds of them.
ODD_PART = re.compile(rb"^content-disposition:(?:[^\r\n;]*+;){9}", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fields:
    """Names and their values. Values from JSON have types; all others are text, and their names may occur twice."""

    values: dict[str, Any]
    typed: bool


async def read_fields(request: Request, most: int) -> Fields:
    """The fields of a request, from the query string and the body; those of the body win."""
    query = parse_form(request.scope["query_string"])
    body = await read_body(request, most)
    kind, settings = read_content_type(request.headers.get("content-type", ""))
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "Send the body uncompressed.")
    if not body:
        return Fields(query, typed=False)
    if kind == JSON or kind.endswith("+json") or not kind:
        return Fields(query | parse_json(body), typed=True)
    if kind == FORM:
        return Fields(query | parse_form(body), typed=False)
    if kind == MULTIPART:
        return Fields(query | await parse_multipart(body, settings.get("boundary", "")), typed=False)
    raise Refusal(415, f"Send the body as {JSON}, {FORM} or {MULTIPART}.")


def read_content_type(header: str) -> tuple[str, dict[str, str]]:
    """The media type and its settings. Only UTF-8 is accepted: other charsets can produce lone surrogates."""
    kind, *words = header.split(";")
    halves = [word.partition("=") for word in words]
    settings = {name.strip().lower(): value.strip().strip('"') for name, _, value in halves}
    if settings.get("charset", "utf-8").lower() not in ("utf-8", "utf8"):
        raise Refusal(415, "Send the body as UTF-8.")
    return kind.strip().lower(), settings


async def read_body(request: Request, most: int) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= most:
            chunks.append(chunk)
        elif size > MOST_DRAINED * most:
            break
    if size > most:
        raise Refusal(413, f"The body is larger than {most:,} bytes.")
    return b"".join(chunks)


def parse_json(body: bytes) -> dict[str, Any]:
    try:
        said = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Refusal(400, "The body is not valid JSON.") from None
    if not isinstance(said, dict):
        raise Refusal(400, "The body must be a JSON object.")
    return said


def parse_form(body: bytes) -> dict[str, Any]:
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:  # too many fields, or invalid UTF-8
        raise Refusal(400, f"The form is not valid: want UTF-8 and at most {MOST_FIELDS:,} fields.") from None
    if len(pairs) == 1 and pairs[0][0].lstrip().startswith("{"):
        raise Refusal(400, f"The body looks like JSON but is sent as a form: set Content-Type: {JSON}.")
    return gather(pairs)


async def parse_multipart(body: bytes, boundary: str) -> dict[str, Any]:
    """The fields of a multipart body.

    The library sees only the boundary of the header, so that no client can choose a decoder.
    """
    headers = Headers({"Content-Type": f'{MULTIPART}; boundary="{boundary}"'})

    async def once() -> AsyncGenerator[bytes, None]:
        yield body

    try:
        body.decode()  # the library would take broken UTF-8 for Latin-1
        if not BOUNDARY.fullmatch(boundary) or ODD_PART.search(body):
            raise MultiPartException("odd")
        parser = MultiPartParser(headers, once(), max_files=0, max_fields=MOST_FIELDS, max_part_size=len(body))
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError):
        raise Refusal(400, f"The multipart body is not valid: want at most {MOST_FIELDS:,} fields, no files.") from None
    return gather((name, value) for name, value in form.multi_items() if isinstance(value, str))


def gather(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Collect the values: a name that occurs once has a text, one that occurs again a list."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found


def read_request(fields: Fields, kind: type[T]) -> T:
    """Convert the fields to the type of the request. Unknown fields are ignored, because clients send many of them."""
    said = {}
    for field in fields_of(kind):
        if field.name in fields.values:
            said[field.name] = read_field(field, fields.values[field.name], fields.typed)
        elif field.required:
            raise Refusal(400, f"{field.name} is missing: it must be {wanted(field)}.")
    return kind(**said)


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    """The types of the fields, cached: reading annotations takes as long as the rest of a request."""
    return msgspec.structs.fields(kind)


def read_field(field: FieldInfo, value: Any, typed: bool) -> Any:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # in JSON 2.0 is a whole number
    try:
        got = msgspec.convert(value, field.type, strict=typed)
        msgspec.json.encode(got)  # half of a surrogate pair is not text
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        raise Refusal(400, f"{field.name} must be {wanted(field)}.") from None
    return got


def wanted(field: FieldInfo) -> str:
    """The description of its type, or of the member of a union that has one."""
    metas = [meta for member in (field.type, *get_args(field.type)) for meta in get_args(member)]
    found = (meta.description for meta in metas if isinstance(meta, msgspec.Meta) and meta.description)
    return next(found, "as /openapi.json says")
