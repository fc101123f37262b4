"""How a hierarchy is made: from the lines of a file, or built from the values. A recipe is saved with the run, values are not.

Only a value tree and a file's lines name values, since nothing else could make them again.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any

import numpy as np

from obverse.anonymize.hierarchy import ANYTHING, Hierarchy, from_paths
from obverse.anonymize.table import Column
from obverse.core.errors import Refused

FANOUT = 4
STEPS = 16  # about so many intervals at the first level
NICE = (1, 5, 10)
FORMATS = ("%Y-%m-%d", "%m/%d/%Y", "%m/%d/%y")
POSTAL = re.compile(r"zip|post|plz", re.IGNORECASE)
NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,9})?")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One of intervals, mask, dates, tree, file; a tree and a file have lines of a value and its labels."""

    kind: str
    widths: tuple[str, ...] = ()
    bottom: str | None = None
    top: str | None = None
    lines: tuple[tuple[str, ...], ...] = ()

    def as_json(self) -> dict[str, Any]:
        told = {"kind": self.kind, "widths": list(self.widths), "bottom": self.bottom, "top": self.top}
        return {name: value for name, value in told.items() if value} | ({"lines": [list(line) for line in self.lines]}
                if self.lines else {})  # fmt: skip

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Recipe:
        lines = tuple(tuple(map(str, line)) for line in fields.get("lines", ()))
        widths = tuple(map(str, fields.get("widths", ())))
        return cls(str(fields["kind"]), widths, fields.get("bottom"), fields.get("top"), lines)


def guessed(name: str, values: Sequence[str]) -> Recipe:
    """The recipe that values seem to call for: dates, postal codes, numbers, else a tree of the values in their order."""
    if _dates(values):
        return Recipe("dates")
    digits = all(value.isdigit() for value in values)
    if values and digits and len({len(value) for value in values}) == 1 and len(values[0]) > 2:
        if POSTAL.search(name) or any(value.startswith("0") for value in values):
            return Recipe("mask")
    numbers = _numbers(values)
    if numbers:
        return Recipe("intervals", _widths(max(numbers) - min(numbers), whole=_whole(values)))
    return Recipe("tree", lines=tuple(_tree(values)))


def read(name: str, text: str, recipe: Recipe) -> Recipe:
    """What a user wrote: `intervals:5,10;top=80`, `mask`, `dates`, `tree`; filled up by what was guessed."""
    kind, *rest = text.split(";")
    kind, _, widths = kind.partition(":")
    ends = dict(part.split("=", 1) for part in rest if part.count("=") == 1)
    if kind not in BUILDERS or kind == "file" or len(ends) != len(rest) or set(ends) - {"top", "bottom"}:
        raise _unreadable(name, "use intervals:5,10,20 or intervals:5;top=80;bottom=20, mask, dates or tree.")
    told = tuple(part.strip() for part in widths.split(",") if part.strip())
    if any(not NUMBER.fullmatch(number) for number in (*told, *ends.values())):
        raise _unreadable(name, "widths and ends are numbers.")
    return Recipe(kind, told or (recipe.widths if recipe.kind == kind else ()), ends.get("bottom"), ends.get("top"),
                  recipe.lines if recipe.kind == kind else ())  # fmt: skip


def built(recipe: Recipe, name: str, values: Sequence[str]) -> Hierarchy:
    """The hierarchy of these values."""
    if recipe.kind not in BUILDERS:
        raise _unreadable(name, f"a kind is one of {', '.join(BUILDERS)}.")
    return BUILDERS[recipe.kind](recipe, name, values)


def _unreadable(name: str, fix: str) -> Refused:
    return Refused("bad_hierarchy", f"the hierarchy of {name!r} cannot be built as told.", fix=fix)


def _intervals(recipe: Recipe, name: str, values: Sequence[str]) -> Hierarchy:
    numbers = _numbers(values)
    widths = [Decimal(width) for width in recipe.widths]
    if numbers is None or any(w <= 0 for w in widths) or any(wide % narrow for narrow, wide in pairwise(widths)):
        raise _unreadable(name, "intervals need numbers, and widths of which each is a multiple of the one before.")
    low, high = (None if end is None else Decimal(end) for end in (recipe.bottom, recipe.top))
    shown = _whole([*values, *recipe.widths])
    signed = bool(numbers) and min(numbers) < 0
    levels: list[Callable[[Decimal, str], str]] = [lambda number, value: value] if (low, high) != (None, None) else []
    levels += [lambda number, _, width=width: _interval(number, width, shown, signed) for width in widths]  # type: ignore[misc]
    paths = [[_beyond(n, low, high) or at(n, v) for at in levels] for n, v in zip(numbers, values)]
    return from_paths(name, values, paths, sorted(range(len(values)), key=lambda i: (numbers[i], i)))


def _beyond(number: Decimal, low: Decimal | None, high: Decimal | None) -> str:
    """The label of what lies below the bottom or from the top on; nothing for the rest."""
    if low is not None and number < low:
        return f"<{low:f}"
    return f">={high:f}" if high is not None and number >= high else ""


def _interval(number: Decimal, width: Decimal, whole: bool, signed: bool) -> str:
    start = (number / width).to_integral_value("ROUND_FLOOR") * width
    if not whole:
        return f"[{start.normalize():f}, {(start + width).normalize():f})"
    return f"{start:f} to {start + width - 1:f}" if signed else f"{start:f}-{start + width - 1:f}"


def _mask(recipe: Recipe, name: str, values: Sequence[str]) -> Hierarchy:
    longest = max((len(value) for value in values), default=1)
    paths = [[v[: max(len(v) - i, 0)] + "*" * min(i, len(v)) for i in range(1, longest)] + [ANYTHING] for v in values]
    codes = all(value.isascii() and value.isdigit() and len(value) == longest for value in values)
    return from_paths(name, values, paths, sorted(range(len(values)), key=lambda i: values[i]) if codes else ())


def _by_date(recipe: Recipe, name: str, values: Sequence[str]) -> Hierarchy:
    days = _dates(values)
    if days is None:
        raise _unreadable(name, "dates are written 2000-09-27, or 9/27/2000 with the month first, all in one way.")
    paths = [[f"{d.year:04}-{d.month:02}", f"{d.year:04}", f"{d.year // 10 * 10:04}s", ANYTHING] for d in days]
    return from_paths(name, values, paths, sorted(range(len(values)), key=lambda i: (days[i], i)))


def _by_lines(recipe: Recipe, name: str, values: Sequence[str]) -> Hierarchy:
    known = {line[0]: line[1:] for line in recipe.lines}
    if any(known[line[0]] != line[1:] for line in recipe.lines):
        what = f"the hierarchy of {name!r} has two lines for one value, with other labels."
        raise Refused("not_a_hierarchy", what, fix="Keep one of them.")
    if any(value not in known for value in values):
        raise Refused(
            "value_not_in_hierarchy",
            f"the table has values of {name!r} that its hierarchy does not.",
            fix="Add a line for each value, also for (other) where undeclared ones are read so; or leave the hierarchy out.",
        )
    numbers = _numbers(values)
    order = sorted(range(len(values)), key=lambda i: (numbers[i], i)) if numbers else ()
    return from_paths(name, values, [known[value] for value in values], order)


def _by_tree(recipe: Recipe, name: str, values: Sequence[str]) -> Hierarchy:
    return _by_lines(recipe if recipe.lines else Recipe("tree", lines=tuple(_tree(values))), name, values)


def _tree(values: Sequence[str]) -> list[tuple[str, ...]]:
    """Values in their order, by fours, sixteens ...; it says nothing about what they mean."""
    ordered, paths, width = sorted(values), {value: [value] for value in values}, FANOUT
    while width < len(ordered):
        for start in range(0, len(ordered), width):
            group = ordered[start : start + width]
            label = " | ".join(group) if len(group) <= FANOUT else f"{group[0]} .. {group[-1]}"
            for value in group:
                paths[value].append(label)
        width *= FANOUT
    return [(*paths[value], ANYTHING) for value in ordered]


def _widths(span: Decimal, *, whole: bool) -> tuple[str, ...]:
    """Widths that double from a round number on, up to the span."""
    if span <= 0:
        return ()
    power = Decimal(10) ** (span / STEPS).adjusted()
    width = next(nice * power for nice in NICE if nice * power >= span / STEPS)
    width = max(width, Decimal(2)) if whole else width
    found = []
    while width < span:
        found.append(f"{width.normalize():f}")
        width *= 2
    return tuple(found)


def in_time(column: Column) -> Column:
    """The column with its values in the order of time, where they are dates; others stay as they are."""
    days = _dates(column.values)
    if days is None:
        return column
    order = sorted(range(len(days)), key=lambda i: (days[i], i))
    places = np.empty(column.size, dtype=np.int32)
    places[[*order, column.missing]] = np.arange(column.size, dtype=np.int32)
    return Column(column.name, tuple(column.values[i] for i in order), places[column.codes])


def has_order(values: Sequence[str]) -> bool:
    """Whether values are numbers or dates; the order of texts is only that of the alphabet."""
    return _numbers(values) is not None or _dates(values) is not None


def _whole(values: Sequence[str]) -> bool:
    return not any("." in value for value in values)


def _numbers(values: Sequence[str]) -> list[Decimal] | None:
    if not values or not all(NUMBER.fullmatch(value) for value in values):
        return None
    try:
        return [Decimal(value) for value in values]
    except InvalidOperation:
        return None


def _dates(values: Sequence[str]) -> list[dt.date] | None:
    for form in FORMATS if values else ():
        try:
            return [dt.datetime.strptime(value, form).date() for value in values]
        except ValueError:
            continue
    return None


BUILDERS: dict[str, Callable[[Recipe, str, Sequence[str]], Hierarchy]] = {
    "intervals": _intervals,
    "mask": _mask,
    "dates": _by_date,
    "tree": _by_tree,
    "file": _by_lines,
}
