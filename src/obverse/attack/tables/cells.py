"""What a released cell may stand for: a value itself, a mask, a range, a set of values, or anything.

Written forms: `130**` and `3*` (a sign for each star), `*` or nothing (anything), `[20-30)`, `[20, 30]`, `20-29`,
`<30`, `>=40`, `{a, b}`, `a | b` (each part again such a cell), `a .. d` (texts in that order), and `1940s`, `1945` or
`1945-07` for dates of that time, however dates are written: 1945-07-31, 7/31/1945 or 7/31/45. A cell always stands for
what is written like it; a number is the same however it is written, whatever its size.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
Bools = NDArray[np.bool_]


ANYTHING = ("*", "", "?")
END = r"-?\d+(?:\.\d+)?|\d{4}-\d{2}-\d{2}"
RANGE = re.compile(rf"([\[(]?)\s*({END})\s*(?:-|–|,|;|\.\.|to)\s*({END})\s*([\])]?)")
HALF = re.compile(rf"(<=|>=|<|>|≤|≥)\s*({END})")
PART_OF_A_DATE = re.compile(r"\d{4}(-\d{2})?|\d{3}0s")
EITHER = " | "
FROM_TO = " .. "
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
MONTH_FIRST = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b")
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?")
WHOLE_MAX = 2.0**53  # from here on doubles leave numbers out


def standing(cells: Sequence[str | None], values: Sequence[str | None]) -> list[Places]:
    """For each cell, the places of the known values that it may stand for.

    A value that is not known may be anything.
    """
    known = _Known(values)
    return [np.flatnonzero(known.fits(cell)) if known.general(cell) else known.alike(cell) for cell in cells]


class _Known:
    """The known values, ready to be compared: as texts by length, as numbers, and as dates."""

    def __init__(self, values: Sequence[str | None]) -> None:
        self.written = np.array(["" if v is None else v for v in values], dtype=np.str_)
        values = [v if v is None else _year_first(v) for v in values]
        self.texts = np.array(["" if v is None else v for v in values], dtype=np.str_)
        self.unknown = np.array([v is None or v in ANYTHING for v in values], dtype=bool)
        self.numbers = np.array([_number(v) for v in values], dtype=np.float64)
        self.exact = [_exact(v) for v in values] if (np.abs(self.numbers) >= WHOLE_MAX).any() else None
        self.dates = np.array([bool(v and DATE.match(v)) for v in values], dtype=bool)
        self._always = np.flatnonzero(self.unknown)
        joined = np.flatnonzero(np.strings.find(self.written, EITHER) >= 0).tolist()
        self._joined = [(place, str(self.written[place])) for place in joined]  # values that are written as two
        self._patterns: dict[tuple[bool, ...], dict[str, list[int]]] = {}
        self._places: dict[object, list[int]] = {}
        for place, said in enumerate(values):
            self._places.setdefault(_key(said), []).append(place)

    def general(self, cell: str | None) -> bool:
        """Whether the cell may stand for several values."""
        cell = cell and _year_first(cell)
        if cell is None or cell in ANYTHING or "*" in cell or cell[0] in "[({<>≤≥" or RANGE.fullmatch(cell):
            return True
        if EITHER in cell or FROM_TO in cell:
            return True
        return bool(PART_OF_A_DATE.fullmatch(cell)) and bool(self.dates.any())

    def alike(self, cell: str | None) -> Places:
        """The places of the value itself; a number however it is written."""
        found = self._places.get(_key(cell and _year_first(cell)), [])
        return np.union1d(np.array(found, dtype=np.int64), self._always)

    def fits(self, cell: str | None) -> Bools:
        if cell is None or cell in ANYTHING:
            return np.ones(len(self.texts), dtype=bool)
        return np.asarray(self._stands(cell) | (self.texts == _year_first(cell)) | self.unknown, dtype=bool)

    def _stands(self, written: str) -> Bools:
        cell = _year_first(written)
        if EITHER in cell:
            held = np.asarray(np.logical_or.reduce([self.fits(part) for part in written.split(EITHER)]), dtype=bool)
            held[
                [place for place, text in self._joined if f"{EITHER}{text}{EITHER}" in f"{EITHER}{written}{EITHER}"]
            ] = True
            return held
        if FROM_TO in cell:  # in the order of texts as they are written, dates too
            texts = self.texts if written == cell else self.written
            parts = written.split(FROM_TO)
            ends = [(FROM_TO.join(parts[:at]), FROM_TO.join(parts[at:])) for at in range(1, len(parts))]
            return np.asarray(
                np.logical_or.reduce([(texts >= low) & (texts <= high) for low, high in ends]), dtype=bool
            )
        if cell[0] == "{" and cell[-1] == "}":
            parts = [part for part in re.split(r"\s*[,;|]\s*", cell[1:-1].strip()) if part]
            held = np.zeros(len(self.texts), dtype=bool)
            held[[place for part in parts for place in self._places.get(_key(part), [])]] = True
            return held
        if (found := HALF.fullmatch(cell)) is not None:
            return self._beyond(*found.groups())
        if (found := RANGE.fullmatch(cell)) is not None:
            opening, low, high, closing = found.groups()
            if DATE.match(low) or float(low) <= _number(high):
                return self._beyond(">" if opening == "(" else ">=", low) & self._beyond(
                    "<" if closing == ")" else "<=", high
                )
        if PART_OF_A_DATE.fullmatch(cell):
            begun = np.strings.startswith(self.texts, cell[:3] if cell.endswith("s") else cell)
            return np.asarray((self.dates & begun) | (self.numbers == _number(cell)), dtype=bool)
        if "*" in cell:
            held = np.zeros(len(self.texts), dtype=bool)
            held[self._masked(tuple(sign == "*" for sign in written)).get(written, [])] = True
            return held
        return np.zeros(len(self.texts), dtype=bool)

    def _masked(self, stars: tuple[bool, ...]) -> dict[str, list[int]]:
        """The places of values of this length by what they read with these stars; made once for all cells of the
        pattern.
        """
        if stars not in self._patterns:
            found = self._patterns.setdefault(stars, {})
            for texts in (self.texts, self.written):  # of dates either form may be masked
                for place in np.flatnonzero(np.strings.str_len(texts) == len(stars)).tolist():
                    said = "".join("*" if star else sign for star, sign in zip(stars, str(texts[place])))
                    found.setdefault(said, []).append(place)
        return self._patterns[stars]

    def _beyond(self, sign: str, end: str) -> Bools:
        """Values on one side of a number, or of a date."""
        left: NDArray[Any] = self.texts if DATE.match(end) else self.numbers
        right: Any = np.str_(end) if DATE.match(end) else float(end)
        comparable = self.dates if DATE.match(end) else ~np.isnan(self.numbers)
        if self.exact is not None and not DATE.match(end):
            left = np.array([Decimal(0) if one is None else one for one in self.exact], dtype=object)
            right = Decimal(end)
        match sign:
            case "<":
                held = left < right
            case ">":
                held = left > right
            case "<=" | "≤":
                held = left <= right
            case _:
                held = left >= right
        return np.asarray(held & comparable, dtype=bool)


def _number(value: str | None) -> float:
    return float(value) if value and NUMBER.fullmatch(value) else float("nan")


def _exact(value: str | None) -> Decimal | None:
    return Decimal(value) if value and NUMBER.fullmatch(value) else None


def _key(value: str | None) -> object:
    """What two cells that say the same have in common: a number, else the text."""
    found = _exact(value)
    return value if found is None else found


def _year_first(text: str) -> str:
    """Dates in it as 1945-07-31; a year of two digits is of 1969 to 2068, as `anonymize` reads it."""
    return MONTH_FIRST.sub(_turned, text) if "/" in text else text


def _turned(found: re.Match[str]) -> str:
    form = "%m/%d/%Y" if len(found[3]) == 4 else "%m/%d/%y"
    try:
        return dt.datetime.strptime(found[0], form).date().isoformat()
    except ValueError:  # 13/45/2000 is no date
        return found[0]
