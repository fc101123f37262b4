"""Canonical JSON: one text for one value, whatever the classes that hold it are called.

Stored identities (of a catalog, of a query) are hashes of it, so its rules never change:

1. A tag is a literal in the encoder, never the name of a class or a field.
2. A field at its default is left out, so that a new field leaves every earlier identity as it was.
3. Text, booleans, 64-bit integers and NULL are JSON's own; every other value is a tagged list.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from fractions import Fraction
from typing import Any

from obverse.core.bounds import Bounds, Categories, Interval, Unbounded
from obverse.core.types import Value

Json = Any  # None, bool, int, str, or lists and dictionaries of them


def canonical(value: Json) -> bytes:
    """The one way to write a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest(value: Json) -> str:
    """The SHA-256 of a value's canonical text."""
    return hashlib.sha256(canonical(value)).hexdigest()


def fields(**values: Json) -> dict[str, Json]:
    """A JSON object of the fields that are not at their default (None, False, empty)."""
    return {
        name: value for name, value in values.items() if not (value is None or value is False or value in ("", [], {}))
    }


def number_json(number: Fraction | int) -> str:
    """An exact number, in lowest terms."""
    exact = Fraction(number)
    return f"{exact.numerator}/{exact.denominator}"


def value_json(value: Value | Fraction) -> Json:
    """A literal value."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return ["double", value.hex()]
        case Fraction():
            return ["fraction", number_json(value)]
        case dt.datetime():
            return ["timestamp", value.isoformat()]
        case dt.date():
            return ["date", value.isoformat()]


def bounds_json(bounds: Bounds) -> Json:
    """Declared bounds; None where nothing is known."""
    match bounds:
        case Interval(lo, hi):
            return ["interval", number_json(lo), number_json(hi)]
        case Categories(values):
            return ["values", [value_json(value) for value in values]]
        case Unbounded():
            return None
