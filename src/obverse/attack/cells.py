"""What a released cell may stand for: a value itself, a mask, a range, a set of values, or anything.

Written forms: `130**` and `3*` (a sign for each star), `*` or nothing (anything), `[20-30)`, `[20, 30]`, `20-29`, `<30`,
`>=40`, `{a, b}`, `a | b` (each part again such a cell), `a .. d` (texts in that order), and `1940s`, `1945` or `1945-07` for
dates of that time. A cell always stands for what is written like it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]
    Bools = NDArray[np.bool_]

ANYTHING = ("*", "", "?")
END = r"-?\d+(?:\.\d+)?|\d{4}-\d{2}-\d{2}"
RANGE = re.compile(rf"([\[(]?)\s*({END})\s*(?:-|–|,|;|\.\.|to)\s*({END})\s*([\])]?)")
HALF = re.compile(rf"(<=|>=|<|>|≤|≥)\s*({END})")
PART_OF_A_DATE = re.compile(r"\d{4}(-\d{2})?|\d{3}0s")
EITHER, FROM_TO = " | ", " .. "
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def standing(cells: Sequence[str | None], values: Sequence[str | None]) -> list[Places]:
    """For each cell, the places of the known values that it may stand for. A value that is not known may be anything."""
    import numpy as np

    known = _Known(values)
    return [np.flatnonzero(known.fits(cell)) if known.general(cell) else known.alike(cell) for cell in cells]


class _Known:
    """The known values, ready to be compared: as texts by length, as numbers, and as dates."""

    def __init__(self, values: Sequence[str | None]) -> None:
        import numpy as np

        self.texts = np.array(["" if v is None else v for v in values], dtype=np.str_)
        self.unknown = np.array([v is None or v in ANYTHING for v in values], dtype=bool)
        self.lengths = np.array([0 if v is None else len(v) for v in values])
        self.numbers = np.array([_number(v) for v in values], dtype=np.float64)
        self.dates = np.array([bool(v and DATE.match(v)) for v in values], dtype=bool)
        self._always = np.flatnonzero(self.unknown)
        self._patterns: dict[tuple[bool, ...], dict[str, list[int]]] = {}
        self._places: dict[object, list[int]] = {}
        for place, (said, number) in enumerate(zip(values, self.numbers)):
            self._places.setdefault(said if np.isnan(number) else float(number), []).append(place)

    def general(self, cell: str | None) -> bool:
        """Whether the cell may stand for several values."""
        if cell is None or cell in ANYTHING or "*" in cell or cell[0] in "[({<>≤≥" or RANGE.fullmatch(cell):
            return True
        if EITHER in cell or FROM_TO in cell:
            return True
        return bool(PART_OF_A_DATE.fullmatch(cell)) and bool(self.dates.any())

    def alike(self, cell: str | None) -> Places:
        """The places of the value itself; a number however it is written."""
        import numpy as np

        number = _number(cell)
        found = self._places.get(cell if np.isnan(number) else number, [])
        return np.union1d(np.array(found, dtype=np.int64), self._always)

    def fits(self, cell: str | None) -> Bools:
        import numpy as np

        if cell is None or cell in ANYTHING:
            return np.ones(len(self.texts), dtype=bool)
        return np.asarray(self._stands(cell) | (self.texts == cell) | self.unknown, dtype=bool)

    def _stands(self, cell: str) -> Bools:
        import numpy as np

        if EITHER in cell:
            return np.asarray(np.logical_or.reduce([self.fits(part) for part in cell.split(EITHER)]), dtype=bool)
        if FROM_TO in cell:
            first, _, last = cell.partition(FROM_TO)
            return np.asarray((self.texts >= first) & (self.texts <= last), dtype=bool)
        if cell[0] == "{" and cell[-1] == "}":
            parts = [part for part in re.split(r"\s*[,;|]\s*", cell[1:-1].strip()) if part]
            return np.isin(self.texts, parts) | np.isin(self.numbers, [_number(part) for part in parts])
        if (found := HALF.fullmatch(cell)) is not None:
            return self._beyond(*found.groups())
        if (found := RANGE.fullmatch(cell)) is not None:
            opening, low, high, closing = found.groups()
            if DATE.match(low) or float(low) <= _number(high):
                return self._beyond(">" if opening == "(" else ">=", low) & self._beyond("<" if closing == ")" else "<=", high)
        if PART_OF_A_DATE.fullmatch(cell):
            begun = np.strings.startswith(self.texts, cell[:3] if cell.endswith("s") else cell)
            return np.asarray((self.dates & begun) | (self.numbers == _number(cell)), dtype=bool)
        if "*" in cell:
            held = np.zeros(len(self.texts), dtype=bool)
            held[self._masked(tuple(sign == "*" for sign in cell)).get(cell, [])] = True
            return held
        return np.zeros(len(self.texts), dtype=bool)

    def _masked(self, stars: tuple[bool, ...]) -> dict[str, list[int]]:
        """The places of values of this length by what they read with these stars; made once for all cells of the pattern."""
        import numpy as np

        if stars not in self._patterns:
            found = self._patterns.setdefault(stars, {})
            for place in np.flatnonzero(self.lengths == len(stars)).tolist():
                said = "".join("*" if star else sign for star, sign in zip(stars, str(self.texts[place])))
                found.setdefault(said, []).append(place)
        return self._patterns[stars]

    def _beyond(self, sign: str, end: str) -> Bools:
        """Values on one side of a number, or of a date."""
        import numpy as np

        left: NDArray[Any] = self.texts if DATE.match(end) else self.numbers
        right: Any = np.str_(end) if DATE.match(end) else float(end)
        comparable = self.dates if DATE.match(end) else ~np.isnan(self.numbers)
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
    try:
        return float(value) if value and value[0] in "-.0123456789" else float("nan")
    except ValueError:
        return float("nan")
