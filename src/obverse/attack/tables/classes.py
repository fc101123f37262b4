"""Rows that look alike: texts of a column as codes, and the classes of several columns together.

Whose rows a table's are: a person counts once in a class, however many rows they have there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.attack.targets import Table
from obverse.core.errors import Refused

Codes = NDArray[np.int64]


CELLS_MAX = 100_000_000  # counts of secrets by class that are held at once


@dataclass(frozen=True, slots=True)
class Coded:
    """A column: `texts[codes[i]]` is what row i says. None is what was left out."""

    codes: Codes
    texts: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Classes:
    """Rows that are alike in some columns."""

    codes: Codes  # the class of each row
    sizes: Codes
    first: Codes  # a row of each class

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def smallest(self) -> int:
        return int(self.sizes.min()) if len(self.sizes) else 0


def column(table: Table, name: str) -> NDArray[Any]:
    if name not in table:
        known = ", ".join(list(table)[:12])
        raise Refused("no_such_column", f"the table has no column {name!r}.", fix=f"its columns are {known}")
    return table[name]


def rows(table: Table) -> int:
    return len(next(iter(table.values()))) if table else 0


def coded(values: NDArray[Any]) -> Coded:
    """The distinct texts in order of appearance; a number is written without a fraction of zero, a gap is None."""
    seen: dict[Any, int] = {}
    codes = np.fromiter((seen.setdefault(v, len(seen)) for v in values.tolist()), dtype=np.int64, count=len(values))
    texts = [text(value) for value in seen]
    order: dict[str | None, int] = {}
    merged = np.array([order.setdefault(t, len(order)) for t in texts], dtype=np.int64)
    return Coded(merged[codes] if len(texts) else codes, tuple(order))


def text(value: object) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).strip()


def same(first: NDArray[Any], second: NDArray[Any]) -> tuple[Codes, Codes]:
    """Two columns that tell who is who, as codes that are equal where they name the same; who is not named is like
    nobody.
    """
    both = coded(np.concatenate([first, second]))
    gap = both.texts.index(None) if None in both.texts else -1
    one = both.codes[: len(first)]
    other = both.codes[len(first) :]
    return np.where(one == gap, -1, one), np.where(other == gap, -2, other)


def joined(columns: Sequence[Codes], count: int) -> Classes:
    """The classes of rows that have the same code in every column."""
    codes = np.zeros(count, dtype=np.int64)
    for one in columns:
        size = int(one.max(initial=0)) + 1
        _, codes = np.unique(codes * size + one, return_inverse=True)
    _, first, codes, sizes = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    return Classes(codes, sizes, first)


def classes(table: Table, on: Sequence[str]) -> Classes:
    return joined([coded(column(table, name)).codes for name in on], rows(table))


def held_at_most(classes: int, secrets: int) -> None:
    """Refuse what no memory holds: a count for each class and secret."""
    if classes * secrets > CELLS_MAX:
        what = f"the secret has {secrets:,} values, which is too many to be counted for each of {classes:,} classes."
        raise Refused("too_many_secrets", what, fix="Round the secret, or attack fewer people.")


def distinct(group: Codes, value: Codes, groups: int) -> Codes:
    """How many distinct values each group has."""
    width = int(value.max(initial=0)) + 1
    return np.bincount(np.unique(group * width + value) // width, minlength=groups)


@dataclass(frozen=True, slots=True)
class People:
    """Rows that name somebody, by class, with whose they are and what secret they hold; or all rows, each a person."""

    found: Classes
    whose: Codes
    secrets: Codes
    texts: tuple[str | None, ...]  # of the secrets
    noun: str  # what a trial is, in the plural

    def sizes(self) -> Codes:
        """How many different people each class has."""
        return distinct(self.found.codes, self.whose, len(self.found))

    def holders(self) -> tuple[Codes, Codes]:
        """The class of each pair of class and secret, and how many different people hold it there."""
        pairs = joined([self.found.codes, self.secrets], len(self.whose))
        return self.found.codes[pairs.first], distinct(pairs.codes, self.whose, len(pairs))


def people(table: Table, on: Sequence[str], secret: str, person: str | None) -> People:
    """The table's rows; those that name nobody are nobody's secret, and are left out."""
    if person is None:
        value = coded(column(table, secret))
        return People(classes(table, on), np.arange(rows(table)), value.codes, value.texts, "rows")
    who = column(table, person)
    named = np.array([text(one) is not None for one in who.tolist()], dtype=bool)
    if not named.any():
        raise Refused("no_rows", "the table has no rows that name a person.")
    kept = {name: values[named] for name, values in table.items()}
    value = coded(column(kept, secret))
    return People(classes(kept, on), _each(who[named]), value.codes, value.texts, "people")


def persons(table: Table, person: str | None) -> Codes:
    """A number for the person of each row; a row that names nobody is somebody else's, and without a column each row
    is.
    """
    if person is None:
        return np.arange(rows(table))
    who = column(table, person)
    found = _each(who)
    nobody = np.array([text(one) is None for one in who.tolist()], dtype=bool)
    found[nobody] = len(found) + np.arange(int(nobody.sum()))
    return np.unique(found, return_inverse=True)[1]


def _each(names: NDArray[Any]) -> Codes:
    """A number for each name, to the letter; other columns are compared without spaces around."""
    seen: dict[Any, int] = {}
    return np.fromiter((seen.setdefault(one, len(seen)) for one in names.tolist()), dtype=np.int64, count=len(names))
