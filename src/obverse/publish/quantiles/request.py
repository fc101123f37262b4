"""`publish quantiles`: a declared number cut into public leaves, the groups that it is told by, and the release."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from obverse.catalog.model import Catalog, Column
from obverse.core.bounds import Interval
from obverse.core.errors import Refused, invariant
from obverse.core.numbers import exact
from obverse.core.types import Type
from obverse.publish.pipeline import Priced, Release, priced, terms_of
from obverse.publish.quantiles.leaves import Leaves
from obverse.publish.quantiles.method import Quantiles
from obverse.publish.tables.request import Cut, Wanted, asked, quoted, undeclared
from obverse.publish.workload import Attribute
from obverse.session.session import Session

LEAVES_MAX = 4096
LEAVES_USUAL = 1024
EDGES_MAX = 400  # leaves that are written one by one
AT = "0.25,0.5,0.75"


@dataclass(frozen=True, slots=True)
class Distribution:
    """One number of one declared table, by groups; its quantiles, ranges and leaves."""

    table: str
    column: str
    by: tuple[str, ...] = ()
    at: str = AT
    ranges: tuple[str, ...] = ()
    single: bool = False
    bins: Mapping[str, str] = field(default_factory=dict)
    where: str = ""

    @property
    def title(self) -> str:
        by = f" by {' x '.join(self.by)}" if self.by else ""
        return f"{self.table}: quantiles of {self.column}{by}" + (f", where {self.where}" if self.where else "")

    @property
    def recipe(self) -> dict[str, Any]:
        """What a release's folder keeps of it."""
        return {"verb": "quantiles"} | asdict(self)

    @property
    def wanted(self) -> Wanted:
        """The cells that are counted: leaves within groups."""
        bins = {name: text for name, text in self.bins.items() if name != self.column}
        return Wanted(self.table, ((self.column, *self.by),), bins, self.where)

    @property
    def note(self) -> str:
        """What the ledger keeps of it."""
        binned = "".join(f" --bins {name}={text}" for name, text in sorted(self.bins.items()))
        ranges = "".join(f" --range {one}" for one in self.ranges)
        return f"publish quantiles {self.title}, at {self.at}{ranges}{' --cells' if self.single else ''}{binned}"


def quantile_release(
    session: Session, told: Distribution, epsilon: Fraction | None = None, delta: Fraction | None = None
) -> Release:
    """Planned and priced; no row is read."""
    if told.column in told.by:
        raise Refused("bad_workload", f"{told.column!r} cannot be told by itself.", fix="Leave it out of --by.")
    leaves, given = laid_out(session.catalog, told)
    workload, question = asked(session.catalog, told.wanted, given)
    missing = question.keys[0].null_cell
    invariant(workload.attributes[0].cells == leaves.count + missing, "a leaf for each number, and one for none")
    ranges = tuple(leaves.between(*_numbers(one, "bad_range", 2)) for one in told.ranges)
    method = Quantiles(workload, leaves, _numbers(told.at, "bad_quantile"), ranges, told.single)
    made = priced(session, told.note, question, method.draft(terms_of(session)), epsilon, delta)
    if missing:
        made = _with_bias(made, f"rows of {told.table} whose {told.column} is missing are in no distribution")
    return Release(told.title, method, made, told.recipe)


def _with_bias(made: Priced, words: str) -> Priced:
    """With these words after what its claim says of bias."""
    costed = made.planned.costed
    costed = replace(costed, bias="; ".join(filter(None, (costed.bias, words))))
    return replace(made, planned=replace(made.planned, costed=costed))


def laid_out(catalog: Catalog, told: Distribution) -> tuple[Leaves, dict[str, Cut]]:
    """The line's leaves, and how a row gets its own."""
    leaves, text = cut(declared(catalog, told), told.bins.get(told.column, ""))
    return leaves, {told.column: (Attribute(told.column, leaves.names(), Type.TEXT), text)}


def declared(catalog: Catalog, told: Distribution) -> Column:
    """The number as it is declared."""
    table = catalog.tables.get(told.table)
    if table is None or table.public:
        raise Refused(
            "unknown_table",
            f"there is no private table {told.table!r} here.",
            fix="`obverse tables` lists what is declared; a public table needs no release.",
        )
    if told.column not in table.columns or table.columns[told.column].hidden:
        raise undeclared(table, told.column)
    return table.columns[told.column]


def cut(column: Column, text: str) -> tuple[Leaves, str]:
    """Leaves, and the SQL that tells a row's leaf: from the declared bounds and grid, or from bins."""
    bounds = column.bounds
    if column.type is Type.INTEGER and isinstance(bounds, Interval):
        bounds = Interval(Fraction(math.ceil(bounds.lo)), Fraction(math.floor(bounds.hi)))
    if column.type not in (Type.INTEGER, Type.DOUBLE) or not isinstance(bounds, Interval) or bounds.spread == 0:
        raise Refused(
            "no_domain",
            f"{column.name!r} is not a number between declared bounds.",
            why="leaves that are read from the data would tell who is in it.",
            fix=f"declare {column.name} = {{ type = ..., bounds = [lo, hi] }} in obverse.toml.",
        )
    given = _numbers(text, "bad_bins") if text else ()
    return _edges(column, bounds, given) if len(given) > 1 else _even(column, bounds, given[0] if given else None)


def _even(column: Column, bounds: Interval, width: Fraction | None) -> tuple[Leaves, str]:
    """Leaves of one width. On a grid each holds whole steps, and is cut between grid points, so that none lies on an
    edge.
    """
    step = column.grid if column.grid is not None else Fraction(1) if column.type is Type.INTEGER else None
    if width is None:
        single = step is not None and bounds.spread // step < LEAVES_MAX
        width = step if step is not None and single else _round(bounds.spread, step)
    if width <= 0 or (step is not None and (width / step).denominator != 1):
        raise Refused(
            "bad_bins", f"a leaf of {column.name!r} holds whole steps of its grid.", fix="Write a multiple of it."
        )
    whole = step if step is not None and (column.type is Type.INTEGER or width == step) else None
    count = int(-(-bounds.spread // width)) if whole is None else int((bounds.spread // whole * whole) // width) + 1
    if not 2 <= count <= LEAVES_MAX:
        raise Refused(
            "bad_bins",
            f"{column.name!r} would have {count:,} leaves; a line has 2 to {LEAVES_MAX:,} of them.",
            fix=f"Write --bins {column.name}=WIDTH with another width.",
        )
    lows = [bounds.lo + n * width for n in range(count)]
    ends = [*(low + width - (whole or 0) for low in lows[:-1]), bounds.hi]
    leaves = Leaves(tuple(lows), tuple(ends), closed=whole is not None)
    first = bounds.lo - (step / 2 if step is not None else 0)
    text = f"WIDTH_BUCKET({quoted(column.name)}, {float(first)!r}, {float(first + count * width)!r}, {count})"
    return leaves, f"CLAMP({text}, 1, {count})"  # which keeps NULL, as LEAST would not


def _round(spread: Fraction, step: Fraction | None) -> Fraction:
    """A round width that cuts the line into about as many leaves as is usual, in whole steps."""
    least = spread / LEAVES_USUAL
    power = Fraction(10) ** math.floor(math.log10(least))
    found = next(power * by for by in (1, 2, 5, 10, 20) if power * by >= least)
    return found if step is None else step * -(-found // step)


def _edges(column: Column, bounds: Interval, given: tuple[Fraction, ...]) -> tuple[Leaves, str]:
    """Leaves from edge to edge: each holds its lower edge. The outer edges are the declared bounds."""
    inner = [edge for edge in given if bounds.lo < edge < bounds.hi]
    ends = [bounds.lo, *inner, bounds.hi]
    if len(given) > EDGES_MAX or not inner or any(a >= b for a, b in pairwise(given)):
        raise Refused(
            "bad_bins",
            f"edges of {column.name!r} rise, between its bounds, and are at most {EDGES_MAX}.",
            fix=f"Write --bins {column.name}=18,65, or a width.",
        )
    name = quoted(column.name)
    arms = " ".join(f"WHEN {name} < {float(edge)!r} THEN {n}" for n, edge in enumerate(inner))
    missing = f"WHEN {name} IS NULL THEN NULL " if column.nullable else ""
    whole = column.type is Type.INTEGER
    lows = [Fraction(-(-low.numerator // low.denominator)) if whole else low for low in ends[:-1]]
    highs = [low - 1 for low in lows[1:]] + [ends[-1]] if whole else ends[1:]
    if any(a > b for a, b in zip(lows, highs)) or any(a >= b for a, b in pairwise(lows)):
        raise Refused("bad_bins", f"a leaf of {column.name!r} would hold no whole number.", fix="Leave an edge out.")
    return Leaves(tuple(lows), tuple(highs), closed=whole), f"CASE {missing}{arms} ELSE {len(lows) - 1} END"


def _numbers(text: str, code: str, many: int = 0) -> tuple[Fraction, ...]:
    """Numbers between commas."""
    try:
        found = tuple(exact(part.strip()) for part in text.split(","))
    except Refused:
        found = ()
    if not found or (many and len(found) != many):
        raise Refused(code, f"{text!r} is not {f'{many} ' if many else ''}numbers between commas.", fix=FIXES[code])
    return found


FIXES = {
    "bad_range": "Write --range 18,65.",
    "bad_quantile": "Write --at 0.25,0.5,0.75.",
    "bad_bins": "Write --bins COLUMN=10 or COLUMN=18,65.",
}
