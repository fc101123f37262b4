"""Parameters of a Bind: bytes and a type to a value of Python, which then becomes one literal of the question.

The types of parameters that a client leaves open: a cast says it, or the column that stands beside.
"""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from obverse.core.errors import Refused
from obverse.server.postgres import types as v
from obverse.server.postgres.messages import PARAMETERS_MAX, Bind, decoded, violation
from obverse.server.postgres.statements import Word, tokenize

CASTS = {
    "int": v.INT4,
    "integer": v.INT4,
    "int4": v.INT4,
    "int2": v.INT2,
    "smallint": v.INT2,
    "int8": v.INT8,
    "bigint": v.INT8,
    "oid": v.OID,
    "text": v.TEXT,
    "varchar": v.VARCHAR,
    "name": v.NAME,
    "bool": v.BOOL,
    "boolean": v.BOOL,
    "date": v.DATE,
    "timestamp": v.TIMESTAMP,
    "timestamptz": v.TIMESTAMPTZ,
    "float8": v.FLOAT8,
    "float4": v.FLOAT4,
    "real": v.FLOAT4,
    "double": v.FLOAT8,
    "numeric": v.NUMERIC,
    "decimal": v.NUMERIC,
    "regclass": v.TEXT,
}
COMPARING = ("=", "<", ">", "<=", ">=", "<>", "!=", "BETWEEN", "AND", "IN", "(", ",", "LIKE", "ILIKE")
DIGITS = 20  # of a number of a parameter that are read: longer ones are too large anyhow
SAMPLES: Mapping[int, Any] = {
    v.BOOL: True, v.INT2: 1, v.INT4: 1, v.INT8: 1, v.OID: 1, v.FLOAT4: 1.0, v.FLOAT8: 1.0, v.NUMERIC: Decimal(1),
    v.DATE: dt.date(2020, 1, 1), v.TIMESTAMP: dt.datetime(2020, 1, 1), v.TIMESTAMPTZ: dt.datetime(2020, 1, 1),
}  # fmt: skip


def sample(oid: int) -> Any:
    """A value of the type, to stand in where columns are described before values are known."""
    return [] if oid in v.ELEMENT else SAMPLES.get(oid, "")


def parameter_types(text: str, given: Sequence[int], columns: Mapping[str, int]) -> tuple[int, ...]:
    """One type for each $n of the text: the given one, else by a cast or by the nearest column before it, else text."""
    found = tokenize(text)
    places = [(at, int(word.text[1:DIGITS])) for at, word in enumerate(found) if word.kind == "parameter"]
    count = max([len(given), *(number for _, number in places)])
    if count > PARAMETERS_MAX or any(number < 1 for _, number in places):
        raise Refused("too_many_parameters", f"a question has at most {PARAMETERS_MAX} parameters, from $1 on.")
    types = [given[n] if n < len(given) else 0 for n in range(count)]
    for at, number in places:
        if types[number - 1] in (0, v.UNKNOWN):
            types[number - 1] = _cast(found, at) or _beside(found, at, columns)
    return tuple(oid or v.TEXT for oid in types)


def _cast(found: Sequence[Word], at: int) -> int:
    """$1::int, CAST($1 AS int)"""
    rest = found[at + 1 : at + 8]
    signs = [word.text for word in rest]
    start = 2 if signs[:2] == [":", ":"] else 1 if rest and rest[0].upper == "AS" else 0
    if not start:
        return 0
    if len(rest) > start + 1 and signs[start + 1] == ".":
        start += 2
    oid = CASTS.get(rest[start].name, 0) if len(rest) > start else 0
    return v.ARRAY.get(oid, 0) if signs[start + 1 : start + 3] == ["[", "]"] else oid


def _beside(found: Sequence[Word], at: int, columns: Mapping[str, int]) -> int:
    """By LIMIT, by the column before, or by the one after a comparison."""
    if at and found[at - 1].upper in ("LIMIT", "OFFSET"):
        return v.INT8
    for word in reversed(found[max(0, at - 12) : at]):
        if word.kind == "parameter" or word.text in COMPARING or word.upper in COMPARING:
            continue
        if word.name in columns:
            return columns[word.name]
        break
    after = found[at + 1 : at + 5]
    named = [word.name for word in after if word.name in columns]
    return columns[named[0]] if after and after[0].text in "=<>!" and named else 0


TRUE = ("t", "true", "y", "yes", "on", "1")
FALSE = ("f", "false", "n", "no", "off", "0")
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
        raise Refused(
            "bad_value", "a parameter is not a value of its type.", fix="check the values and types sent."
        ) from None


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
    inner = inner[1:-1]
    at = 0
    found = []
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
