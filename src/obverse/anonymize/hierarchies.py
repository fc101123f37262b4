"""How a hierarchy is made: from the lines of a file, or built from the values. A recipe is saved with the run, values
are not.

Only a value tree and a file's lines name values, since nothing else could make them again.

A generalisation hierarchy: for each level the group that every value of a column belongs to, coarser from level to
level.
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
from numpy.typing import NDArray

from obverse.anonymize.table import Codes, Column
from obverse.core.errors import Refused

ANYTHING = "*"


@dataclass(frozen=True, slots=True)
class Level:
    """The group of each code, and the label of each group; None is the label of what is missing."""

    groups: Codes
    labels: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Levels from the values themselves up to `*`, which alone also covers what is missing.

    `ranks` orders the codes: numbers and dates by size, others so that every group is a stretch. `ordered` says which.
    """

    name: str
    levels: tuple[Level, ...]
    ranks: Codes
    ordered: bool

    @property
    def height(self) -> int:
        return len(self.levels)

    def lift(self, low: int, high: int) -> Codes:
        """The group at the higher level of each group at the lower one."""
        below = self.levels[low]
        above = self.levels[high]
        found = np.zeros(len(below.labels), dtype=np.int32)
        found[below.groups] = above.groups
        return found

    def spread(self, level: int) -> NDArray[np.float64]:
        """For each group of a level (values under it - 1) / (all values - 1): 0 for one value, 1 for `*`."""
        at = self.levels[level]
        under = np.bincount(at.groups[:-1], minlength=len(at.labels))  # missing is no value among others
        found = np.maximum(under - 1, 0) / max(len(at.groups) - 2, 1)
        if level:  # a star among the values themselves is a value
            found[[label == ANYTHING for label in at.labels]] = 1.0
        return found

    def losses(self, people: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each level the mean over people of their group's spread."""
        spreads = (self.spread(i)[level.groups] for i, level in enumerate(self.levels))
        return np.array([float((spread * people).sum() / max(people.sum(), 1)) for spread in spreads])


def from_paths(
    name: str, values: Sequence[str], paths: Sequence[Sequence[str]], order: Sequence[int] = ()
) -> Hierarchy:
    """From each value's labels at levels 1, 2 ...; a level `*` is added where there is none. `order` tells places by
    size.

    Groups must be nested: what shares a label at one level shares it at all higher ones; and nothing is wider than `*`.
    """
    height = max((len(path) for path in paths), default=0)
    if any(len(path) != height for path in paths):
        raise Refused("not_a_hierarchy", f"the hierarchy of {name!r} has lines of different lengths.")
    tops = {path[-1] for path in paths} if height else set()
    rows = [list(path) if tops == {ANYTHING} else [*path, ANYTHING] for path in paths]
    levels = [Level(np.arange(len(values) + 1, dtype=np.int32), (*values, None))]
    for depth in range(len(rows[0]) if rows else 1):
        levels.append(_level([row[depth] for row in rows]))
    for low, high in pairwise(levels):
        _check_nested(name, low, high)
    others = [row for value, row in zip(values, rows) if value != ANYTHING]
    if any(label == ANYTHING and above != ANYTHING for row in others for label, above in pairwise(row)):
        what = f"the hierarchy of {name!r} has a label above `{ANYTHING}`, which stands for anything."
        raise Refused("not_a_hierarchy", what, fix="Let nothing follow after it on a line.")
    ranks = np.empty(len(values) + 1, dtype=np.int32)
    ranks[[*(order or _by_labels(rows)), len(values)]] = np.arange(len(values) + 1, dtype=np.int32)
    return Hierarchy(name, tuple(levels), ranks, bool(order))


def _level(labels: list[str]) -> Level:
    seen: dict[str, int] = {}
    groups = [seen.setdefault(label, len(seen)) for label in labels]
    if set(seen) <= {ANYTHING}:
        return Level(np.zeros(len(labels) + 1, dtype=np.int32), (ANYTHING,))
    return Level(np.array([*groups, len(seen)], dtype=np.int32), (*seen, None))


def _check_nested(name: str, low: Level, high: Level) -> None:
    lowest = np.full(len(low.labels), len(high.labels))
    highest = np.full(len(low.labels), -1)
    np.minimum.at(lowest, low.groups, high.groups)
    np.maximum.at(highest, low.groups, high.groups)
    if np.any((highest >= 0) & (lowest != highest)):
        raise Refused(
            "not_a_hierarchy",
            f"the hierarchy of {name!r} is not nested: values share a label at one level and not at the next.",
            fix="Let each label of a level stand under one label of the level after it.",
        )


def _by_labels(rows: list[list[str]]) -> list[int]:
    """Values brought together by their labels, the highest level first."""
    first = [{label: place for place, label in reversed(list(enumerate(level)))} for level in zip(*rows)]
    return sorted(range(len(rows)), key=lambda i: ([first[d][rows[i][d]] for d in reversed(range(len(first)))], i))


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
    """The recipe that values seem to call for: dates, postal codes, numbers, else a tree of the values in their
    order.
    """
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
            fix="Add a line for each value, also for (other) where undeclared ones are read so; or leave the hierarchy "
            "out.",
        )
    numbers = _numbers(values)
    order = sorted(range(len(values)), key=lambda i: (numbers[i], i)) if numbers else ()
    return from_paths(name, values, [known[value] for value in values], order)


def _by_tree(recipe: Recipe, name: str, values: Sequence[str]) -> Hierarchy:
    return _by_lines(recipe if recipe.lines else Recipe("tree", lines=tuple(_tree(values))), name, values)


def _tree(values: Sequence[str]) -> list[tuple[str, ...]]:
    """Values in their order, by fours, sixteens ...; it says nothing about what they mean."""
    ordered = sorted(values)
    paths = {value: [value] for value in values}
    width = FANOUT
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
