"""Published tables beside exact ones: errors as they came out, for the curator's eyes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.publish.folder.statement import Card, Grid, Section
from obverse.publish.method import Expected

Array = np.ndarray[Any, Any]
Floats = NDArray[np.float64]


BANDS = ((0, 0), (1, 9), (10, 99), (100, 999), (1000, None))  # sizes of true counts
LABEL = "INTERNAL"
COVERED = ("column", "missing", "read as", "not declared", "read as")


@dataclass(frozen=True, slots=True)
class Band:
    """Cells whose true count lies in a range."""

    name: str
    cells: int
    estimate: float  # mean absolute errors
    count: float
    bias: float  # mean of what counts have too much


@dataclass(frozen=True, slots=True)
class Compared:
    """One table: how wrong it came out."""

    title: str
    cells: int
    told: float  # the standard deviation of a cell, as it was told beforehand
    found: float  # the root of the mean squared error of estimates
    covered: float  # share of cells whose interval holds the truth
    largest: float  # error of an estimate
    bands: tuple[Band, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Beside:
    """One published number, and what it is of the exact ones."""

    name: str
    published: float
    exact: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Residue:
    """One column: how many values are missing or not allowed by its declaration, and how each of them is read."""

    column: str
    missing: int
    missing_as: str
    outside: int
    outside_as: str

    @property
    def cells(self) -> tuple[str, ...]:
        return self.column, f"{self.missing:,}", self.missing_as, f"{self.outside:,}", self.outside_as


@dataclass(frozen=True, slots=True)
class Coverage:
    """Rows of the raw source, and how many of them the release counts."""

    table: str
    rows: int
    counted: int
    columns: tuple[Residue, ...]

    @property
    def words(self) -> str:
        rest = self.rows - self.counted
        share = f" ({rest / self.rows:.1%})" if rest and self.rows else ""
        counted = f"The release counts {self.counted:,} and leaves out {rest:,}{share}."
        return f"The source of {self.table} has {self.rows:,} rows. {counted}"

    @property
    def grid(self) -> Grid:
        return Grid(COVERED, tuple(one.cells for one in self.columns))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def compared(told: Expected, table: Mapping[str, Array], exact: Floats) -> Compared:
    """A published table, by its columns, and the exact numbers of the same cells."""
    apart = table["estimate"] - exact
    truth = np.rint(exact)
    inside = (table["low"] <= exact + 1e-6) & (exact - 1e-6 <= table["high"])  # ends are rounded
    bands = []
    for low, high in BANDS:
        here = (truth >= low) & (truth <= (np.inf if high is None else high))
        if here.any():
            over = (table["count"] - truth)[here]
            name = str(low) if low == high else f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
            errors = float(np.abs(apart[here]).mean()), float(np.abs(over).mean()), float(over.mean())
            bands.append(Band(name, int(here.sum()), *errors))
    found = float(np.sqrt(np.mean(apart**2)))
    return Compared(
        title=told.title,
        cells=told.cells,
        told=told.stddev,
        found=found,
        covered=float(inside.mean()),
        largest=float(np.abs(apart).max()),
        bands=tuple(bands),
    )


def card(
    title: str, receipt: str, tables: Sequence[Compared], lines: Sequence[Beside] = (), coverage: Coverage | None = None
) -> Card:
    """The page that says what it is first."""
    rows = tuple(
        (t.title, f"{t.cells:,}", f"{t.told:,.3g}", f"{t.found:,.3g}", f"{t.covered:.1%}", f"{t.largest:,.3g}")
        for t in tables
    )
    heads = ("table", "cells", "told", "found", "within 95 % interval", "largest")
    first = Section(
        "Errors as they came out",
        (
            "Standard deviations of a cell's estimate, as they were told before any row was read, and the root of the "
            "mean "
            "squared error that was found. What limits on a unit's rows left out is part of the error.",
        ),
        Grid(heads, rows),
    )
    sections = [first]
    if coverage is not None:
        why = (
            "Left out are rows outside the condition, of suppressed people, without a unit, and with values read as "
            "left out."
        )
        sections.append(Section("Rows of the source", (coverage.words, why), coverage.grid))
    if lines:
        said = ("Numbers that follow from the measurements, as they were published and as exact ones give them.",)
        shown = tuple((one.name, f"{one.published:,.4g}", f"{one.exact:,.4g}") for one in lines)
        sections.append(Section("Statistics", said, Grid(("statistic", "published", "exact"), shown)))
    for table in tables:
        few = tuple(
            (b.name, f"{b.cells:,}", f"{b.estimate:,.3g}", f"{b.count:,.3g}", f"{b.bias:+,.3g}") for b in table.bands
        )
        words = (
            "Mean absolute errors of estimates and of whole numbers, and what whole numbers have too much, by "
            "true size.",
        )
        columns = ("true count", "cells", "estimate", "count", "count: bias")
        sections.append(Section(table.title, words, Grid(columns, few)))
    claim = (
        f"{LABEL}: not for release. These figures are made of exact numbers, read through the curator's own door, as "
        "the "
        f"ledger tells. They carry no privacy guarantee. Compared: the release with receipt {receipt}."
    )
    return Card(f"{LABEL}: {title}, beside the truth", claim, tuple(sections))
