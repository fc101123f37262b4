"""One declared column: its type, bounds, grid and values, read exactly and refused when they contradict each other."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from obverse.catalog.locate import Document, KeyParts
from obverse.catalog.model import OTHER, Column
from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval
from obverse.core.errors import CatalogError, Refused
from obverse.core.numbers import exact
from obverse.core.types import INT64_MAX, INT64_MIN, Type, Value, days, micros

DOUBLE_MAX = Fraction(10) ** 300


@dataclass(frozen=True, slots=True)
class Residual:
    """Defaults of a column that lists its values: whether it may be NULL, and whether undeclared texts are a
    category.
    """

    nullable: bool = False
    other: bool = False


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?")
_HALF = re.compile("[\0\ud800-\udfff]")  # a zero byte, and halves of characters, which have no bytes
_LAST_OF_DAY = dt.time(23, 59, 59, 999999)
_EXAMPLES = {
    Type.INTEGER: "[0, 120], whole numbers of 64 bits",
    Type.DOUBLE: "[0, 500000], numbers up to 1e300",
    Type.DATE: '["2010-01-01", "2030-12-31"]',
    Type.TIMESTAMP: '["2015-01-01", "2030-12-31T18:00:00"], without a time zone',
}


def column(name: str, raw: dict[str, Any], path: KeyParts, document: Document, residual: Residual) -> Column:
    """The column as declared; its keys and their kinds were checked before."""
    kind = Type(raw["type"])
    listed = "values" in raw
    other = raw.get("other", residual.other and listed and kind is Type.TEXT)
    if "bounds" in raw and "values" in raw:
        fix = "Keep one of the two."
        raise document.error("conflict", (*path, "values"), f"{name!r} has both bounds and values", fix=fix)
    bounds: Bounds = UNBOUNDED
    values_from = None
    if "bounds" in raw:
        bounds = _interval(kind, raw["bounds"], (*path, "bounds"), document)
    if isinstance(raw.get("values"), str):
        values_from = _reference(raw["values"], (*path, "values"), document)
    elif "values" in raw:
        bounds = _listed(kind, raw["values"], (*path, "values"), document)
    if other:
        _check_other(kind, listed, (*path, "other"), document)
        bounds = with_other(bounds)
    return Column(
        name=name,
        type=kind,
        nullable=raw.get("nullable", residual.nullable or not listed),
        bounds=bounds,
        grid=_grid(kind, raw["grid"], bounds, (*path, "grid"), document) if "grid" in raw else None,
        values_from=values_from,
        hidden=raw.get("hidden", False),
        other=other,
    )


def with_other(bounds: Bounds) -> Bounds:
    """The listed values and the category of all others; no list stays none."""
    if not isinstance(bounds, Categories) or OTHER in bounds.values:
        return bounds
    return Categories((*bounds.values, OTHER))


def _check_other(kind: Type, listed: bool, path: KeyParts, document: Document) -> None:
    if not listed:
        message = "this column lists no values, so no value of it is undeclared"
        raise document.error("conflict", path, message, fix="Remove 'other', or add values = [...].")
    if kind is not Type.TEXT:
        message = f"a column of type {kind.value} cannot hold the text {OTHER}"
        why = "Its undeclared values are read as NULL."
        raise document.error("conflict", path, message, why=why, fix="Remove 'other' and keep nullable = true.")


def categories(kind: Type, values: Iterable[object]) -> Categories | None:
    """The values as a list of the type's own, or None when one is not of the type or stands twice."""
    found = tuple(fitted(kind, value) for value in values)
    if not found or None in found or len(set(found)) < len(found):
        return None
    return Categories(found)


def fitted(kind: Type, value: object) -> Value:
    """The value in the type's own Python form; None when it does not belong to the type."""
    match kind, value:
        case Type.BOOLEAN, bool():
            return value
        case _, bool():
            return None
        case Type.INTEGER, int() if INT64_MIN <= value <= INT64_MAX:
            return value
        case Type.DOUBLE, int() | float() | Decimal():
            return _double(value)
        case Type.TEXT, str() if not _HALF.search(value):
            return value
        case Type.DATE, _:
            return day_of(value)
        case Type.TIMESTAMP, _:
            return _moment(value, dt.time())
        case _:
            return None


def _double(value: int | float | Decimal) -> float | None:
    """The nearest double, with one zero only; None when there is none."""
    try:
        double = float(value)
    except OverflowError:
        return None
    return double + 0.0 if math.isfinite(double) else None


def day_of(value: object) -> dt.date | None:
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else None


def _moment(value: object, time_of_day: dt.time) -> dt.datetime | None:
    """A timestamp; a date alone means that day at the time given."""
    date = day_of(value)
    if date is not None:
        return dt.datetime.combine(date, time_of_day)
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        try:
            return dt.datetime.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, dt.datetime) and value.tzinfo is None else None


def _interval(kind: Type, raw: list[object], path: KeyParts, document: Document) -> Interval:
    if kind not in _EXAMPLES:
        why = f"Bounds are for numbers, dates and timestamps; this column is {kind.value}."
        fix = "Give the allowed values instead, or leave the bounds out."
        raise document.error("bad_bounds", path, "this column cannot have bounds", why=why, fix=fix)
    lo = _bound(kind, raw[0], dt.time())
    hi = _bound(kind, raw[1], _LAST_OF_DAY)
    if lo is None or hi is None:
        message = f"bounds of type {kind.value} are expected"
        raise document.error("bad_bounds", path, message, fix=f"Write for example {_EXAMPLES[kind]}.")
    if lo > hi:
        message = "the smallest value is above the largest"
        raise document.error("bad_bounds", path, message, fix="Write the smaller one first.")
    return Interval(lo, hi)


def _bound(kind: Type, raw: object, time_of_day: dt.time) -> Fraction | None:
    """One bound as the exact number that intervals hold; None when it is not of the type."""
    if kind is Type.DATE:
        date = day_of(raw)
        return None if date is None else Fraction(days(date))
    if kind is Type.TIMESTAMP:
        moment = _moment(raw, time_of_day)
        return None if moment is None else Fraction(micros(moment))
    if isinstance(raw, bool) or not isinstance(raw, (int, Decimal)):
        return None
    try:
        number = exact(raw)
    except Refused:
        return None
    if kind is Type.INTEGER:
        return number if number.denominator == 1 and INT64_MIN <= number <= INT64_MAX else None
    return number if abs(number) <= DOUBLE_MAX else None


def _grid(kind: Type, raw: int | Decimal, bounds: Bounds, path: KeyParts, document: Document) -> Fraction:
    grid = exact(raw)
    if not kind.numeric:
        raise document.error("bad_grid", path, f"a column of type {kind.value} has no grid", fix="Leave the grid out.")
    if kind is Type.INTEGER and grid.denominator != 1:
        raise document.error("bad_grid", path, "the grid of an integer column is a whole number", fix="Write grid = 1.")
    if isinstance(bounds, Interval) and any((end / grid).denominator != 1 for end in (bounds.lo, bounds.hi)):
        why = "Otherwise rounding to the grid could leave the bounds."
        fix = "Choose bounds that are multiples of the grid."
        raise document.error("bad_grid", path, "the grid does not divide both bounds", why=why, fix=fix)
    return grid


def _reference(text: str, path: KeyParts, document: Document) -> tuple[str, str]:
    table, dot, name = text.partition(".")
    if not (table and dot and name):
        fix = 'Write "table.column", or a list such as ["F", "M"].'
        raise document.error("bad_values", path, "expected the column of a public table", fix=fix)
    return table, name


def _listed(kind: Type, raw: list[object], path: KeyParts, document: Document) -> Categories:
    listed = categories(kind, raw)
    if listed is None:
        raise _bad_list(kind, document.place(path))
    return listed


def _bad_list(kind: Type, place: str) -> CatalogError:
    message = f"expected one or more different values of type {kind.value}"
    why = "Each group of the list is answered, so it is finite, typed and without NULL or repetition."
    return CatalogError("bad_values", message, why=why, fix="Correct the list or the type.", place=place)
