"""The types of parameters that a client leaves open: a cast says it, or the column that stands beside."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from obverse.core.errors import Refused
from obverse.server.postgres import types as v
from obverse.server.postgres.requests import PARAMETERS_MAX
from obverse.server.postgres.scan import Word, words

CASTS = {
    "int": v.INT4, "integer": v.INT4, "int4": v.INT4, "int2": v.INT2, "smallint": v.INT2, "int8": v.INT8, "bigint": v.INT8,
    "oid": v.OID, "text": v.TEXT, "varchar": v.VARCHAR, "name": v.NAME, "bool": v.BOOL, "boolean": v.BOOL, "date": v.DATE,
    "timestamp": v.TIMESTAMP, "timestamptz": v.TIMESTAMPTZ, "float8": v.FLOAT8, "float4": v.FLOAT4, "real": v.FLOAT4,
    "double": v.FLOAT8, "numeric": v.NUMERIC, "decimal": v.NUMERIC, "regclass": v.TEXT,
}  # fmt: skip
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
    found = words(text)
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
