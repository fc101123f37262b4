"""Rows that look alike: texts of a column as codes, and the classes of several columns together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.core.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.targets import Table

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
    import numpy as np

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
    """Two columns that tell who is who, as codes that are equal where they name the same; who is not named is like nobody."""
    import numpy as np

    both = coded(np.concatenate([first, second]))
    gap = both.texts.index(None) if None in both.texts else -1
    one, other = both.codes[: len(first)], both.codes[len(first) :]
    return np.where(one == gap, -1, one), np.where(other == gap, -2, other)


def joined(columns: Sequence[Codes], count: int) -> Classes:
    """The classes of rows that have the same code in every column."""
    import numpy as np

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
    import numpy as np

    width = int(value.max(initial=0)) + 1
    return np.bincount(np.unique(group * width + value) // width, minlength=groups)
