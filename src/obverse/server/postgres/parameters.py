"""Parameters of a Bind: bytes and a type to a value of Python, which then becomes one literal of the question."""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from obverse.core.errors import Refused
from obverse.server.postgres import types as v
from obverse.server.postgres.requests import Bind, decoded, violation

TRUE, FALSE = ("t", "true", "y", "yes", "on", "1"), ("f", "false", "n", "no", "off", "0")
ZONE = re.compile(r"(?<=-\d\d-\d\d) ?[+-]\d\d(:?\d\d)?$")  # that drivers write behind a date
ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,{}"]*))\s*(,|$)', re.DOTALL)
TEXT_MAX = 64_000


def bound(bind: Bind, oids: Sequence[int]) -> tuple[Any, ...]:
    """The values of all parameters, by the types that the statement has for them."""
    if len(bind.values) != len(oids):
        raise violation(f"the statement has {len(oids)} parameters, and {len(bind.values)} values came.")
    codes = bind.formats if len(bind.formats) > 1 else (bind.formats or (0,)) * len(oids)
    return tuple(_one(raw, oid, code) for raw, oid, code in zip(bind.values, oids, codes))


def _one(raw: bytes | None, oid: int, code: int) -> Any:
    if raw is None:
        return None
    if len(raw) > TEXT_MAX:
        raise Refused("too_long", f"a parameter has at most {TEXT_MAX} bytes.")
    try:
        return v.from_binary(raw, oid) if code else from_text(decoded(raw), oid)
    except KeyError:
        raise Refused("type_error", "parameters of this type are not read here.", fix="send it as text.") from None
    except (ValueError, OverflowError, struct.error, InvalidOperation, RecursionError):
        raise Refused("bad_value", "a parameter is not a value of its type.", fix="check the values and types sent.") from None


def from_text(text: str, oid: int) -> Any:
    """A parameter in text. One without a type stays a text, which the question reads as the other side's type."""
    if oid in v.ELEMENT:
        return _items(text, v.ELEMENT[oid])
    match oid:
        case _ if oid in (v.INT2, v.INT4, v.INT8, v.OID):
            return int(text)
        case _ if oid in (v.FLOAT4, v.FLOAT8):
            return float(text)
        case _ if oid == v.NUMERIC:
            return Decimal(text)
        case _ if oid == v.BOOL:
            word = text.strip().lower()
            if word not in TRUE + FALSE:
                raise ValueError
            return word in TRUE
        case _ if oid == v.DATE:
            return dt.date.fromisoformat(ZONE.sub("", text.strip()))
        case _ if oid in (v.TIMESTAMP, v.TIMESTAMPTZ):
            found = dt.datetime.fromisoformat(text.strip())
            if found.tzinfo is not None and oid == v.TIMESTAMPTZ:
                found = found.astimezone(dt.UTC)
            return found.replace(tzinfo=None)  # a timestamp has no zone: PostgreSQL passes over one too
        case _:
            return text


def _items(text: str, element: int) -> list[Any]:
    """The members of {a,"b c",NULL}."""
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise ValueError
    inner, at, found = inner[1:-1], 0, []
    while inner.strip() and at <= len(inner):
        match = ITEM.match(inner, at)
        if match is None:
            raise ValueError
        quoted, plain, comma = match.groups()
        if quoted is not None:
            found.append(from_text(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL), element))
        else:
            found.append(None if plain.strip().upper() == "NULL" else from_text(plain.strip(), element))
        if not comma:
            break
        at = match.end()
    return found
