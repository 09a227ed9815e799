"""Parse the body of a request into a checked type. It may be JSON, form, multipart, or the query string."""

import asyncio
import re
from collections.abc import AsyncGenerator, Coroutine, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeGuard, TypeVar, get_args

import msgspec
from msgspec.structs import FieldInfo
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from seqloom.serve.refusal import Refusal

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
MOST_FIELDS = 1000
FILE = "file"  # the field of a file, in every protocol
LARGE = 1 << 14  # bytes: parsing so much takes a millisecond
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
RUN = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
BOUNDARY = re.compile(r"[ !#-:<-\[\]-~]{1,70}")  # printable, without " ; \
# The library takes long for a header of nothing but semicolons, and a body has room for hundreds of them.
ODD_PART = re.compile(rb"^content-disposition:(?:[^\r\n;]*+;){9}", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fields:
    """Names and their values. Values from JSON have types; all others are text, and their names may occur twice."""

    values: dict[str, Any]
    typed: bool


async def read_fields(request: Request, query: dict[str, Any], body: bytes, with_file: bool = False) -> Fields:
    """The fields of a request, from the query string and the body; those of the body win.

    A large body is parsed in a thread, because other requests would wait for it.
    """
    said = request.headers.get("content-type", ""), body, with_file
    fields = parse_body(*said) if len(body) < LARGE else await asyncio.to_thread(parse_body, *said)
    return Fields(query | fields.values, fields.typed)


def check_encoding(request: Request) -> None:
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "Send the body uncompressed.")


def parse_body(content_type: str, body: bytes, with_file: bool = False) -> Fields:
    kind, settings = read_content_type(content_type)
    if not body:
        return Fields({}, typed=False)
    if kind == JSON or kind.endswith("+json") or not kind:
        return Fields(parse_json(body), typed=True)
    if kind == FORM:
        return Fields(parse_form(body), typed=False)
    if kind == MULTIPART:
        return Fields(parse_multipart(body, settings.get("boundary", ""), with_file), typed=False)
    raise Refusal(415, f"Send the body as {JSON}, {FORM} or {MULTIPART}.")


def read_content_type(header: str) -> tuple[str, dict[str, str]]:
    """The media type and its settings. Only UTF-8 is accepted: other charsets can produce lone surrogates."""
    kind, *words = header.split(";")
    halves = [word.partition("=") for word in words]
    settings = {name.strip().lower(): value.strip().strip('"') for name, _, value in halves}
    if settings.get("charset", "utf-8").lower() not in ("utf-8", "utf8"):
        raise Refusal(415, "Send the body as UTF-8.")
    return kind.strip().lower(), settings


def parse_json(body: bytes) -> dict[str, Any]:
    try:
        said = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Refusal(400, "The body is not valid JSON.") from None
    if not isinstance(said, dict):
        raise Refusal(400, "The body must be a JSON object.")
    return said


def parse_form(body: bytes) -> dict[str, Any]:
    said = body.split(b"&") if body else []
    try:
        if len(said) > MOST_FIELDS:
            raise ValueError("too many fields")
        halves = [field.partition(b"=") for field in said if field]
        pairs = [(unquote(name), unquote(value)) for name, _, value in halves]
    except ValueError:  # too many fields, or invalid UTF-8
        raise Refusal(400, f"The form is not valid: want UTF-8 and at most {MOST_FIELDS:,} fields.") from None
    if len(pairs) == 1 and pairs[0][0].lstrip().startswith("{"):
        raise Refusal(400, f"The body looks like JSON but is sent as a form: set Content-Type: {JSON}.")
    return gather(pairs)


def unquote(raw: bytes) -> str:
    """The text that a form spells with + and %41; each run of %s is converted at once, which takes milliseconds."""
    return RUN.sub(convert_run, raw.replace(b"+", b" ")).decode()


def convert_run(match: re.Match[bytes]) -> bytes:
    return bytes.fromhex(match[0].replace(b"%", b" ").decode("ascii"))


def parse_multipart(body: bytes, boundary: str, with_file: bool = False) -> dict[str, Any]:
    """The fields of a multipart body, and its file as the bytes of `file` and the text of `filename`.

    The library sees only the boundary of the header, so that no client can choose a decoder.
    """
    if not boundary:
        raise Refusal(400, f"The Content-Type {MULTIPART} has no boundary.")
    headers = Headers({"Content-Type": f'{MULTIPART}; boundary="{boundary}"'})

    async def once() -> AsyncGenerator[bytes, None]:
        yield body

    try:
        if not BOUNDARY.fullmatch(boundary) or ODD_PART.search(body):
            raise MultiPartException("odd")
        parser = MultiPartParser(
            headers, once(), max_files=int(with_file), max_fields=MOST_FIELDS, max_part_size=len(body)
        )
        parser.spool_max_size = len(body) + 1  # a file stays in memory
        form = run_through(parser.parse())
        files = {name: (value.filename or "", value.file.read()) for name, value in form.items() if is_file(value)}
        run_through(form.close())
        filename, content = files.pop(FILE, ("", b""))
        if files:
            raise MultiPartException("a file by another name")
        # Around the file there is only UTF-8: the library would take anything else for Latin-1.
        body.replace(content, b"", 1).decode()
    except (MultiPartException, KeyError, ValueError):
        most = f"at most {MOST_FIELDS:,} fields, {f'one file, named {FILE}' if with_file else 'no files'}"
        raise Refusal(400, f"The multipart body is not valid: want {most}.") from None
    found = gather((name, value) for name, value in form.multi_items() if isinstance(value, str))
    if content or filename:
        found[FILE] = content
        found.setdefault("filename", filename)
    return found


def is_file(value: str | UploadFile) -> TypeGuard[UploadFile]:
    return not isinstance(value, str)


def run_through(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, as there is no event loop in a thread."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("it waits")


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


def read_request(fields: Fields, kind: type[S]) -> S:
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


@cache
def takes_a_file(kind: type[msgspec.Struct]) -> bool:
    return any(field.name == FILE for field in fields_of(kind))


def read_field(field: FieldInfo, value: Any, typed: bool) -> Any:
    if field.name == FILE and not isinstance(value, bytes):  # msgspec would read a text as base64
        raise Refusal(400, f"{FILE} must be {wanted(field)}.")
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
