"""From the fields of a request to a checked type; what is wrong is said by its name, in a sentence of ours."""

from functools import cache
from typing import Any, TypeVar, get_args

import msgspec
from msgspec.structs import FieldInfo

from seqloom.serve.body import Fields
from seqloom.serve.refusal import Refusal

T = TypeVar("T", bound=msgspec.Struct)


def read_request(fields: Fields, kind: type[T]) -> T:
    """The request as its type; fields that it does not know are left alone, as clients send all sorts of them."""
    said = {}
    for field in fields_of(kind):
        if field.name in fields.values:
            said[field.name] = read_field(field, fields.values[field.name], fields.typed)
        elif field.required:
            raise Refusal(400, f"{field.name} is missing: it must be {wanted(field)}.")
    return kind(**said)


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    """To look at annotations takes as long as all else of a request."""
    return msgspec.structs.fields(kind)


def read_field(field: FieldInfo, value: Any, typed: bool) -> Any:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # in JSON 2.0 is a whole number
    try:
        got = msgspec.convert(value, field.type, strict=typed)
        msgspec.json.encode(got)  # half of a surrogate pair is no text
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        raise Refusal(400, f"{field.name} must be {wanted(field)}.") from None
    return got


def wanted(field: FieldInfo) -> str:
    """The description of its type, or of the member of a union that has one."""
    metas = [meta for member in (field.type, *get_args(field.type)) for meta in get_args(member)]
    found = (meta.description for meta in metas if isinstance(meta, msgspec.Meta) and meta.description)
    return next(found, "as /openapi.json says")
