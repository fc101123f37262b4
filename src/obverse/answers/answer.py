"""Answer: rows with their noise intervals, the claim, the price, and what is left. Its bytes are what the ledger
stores.

Rows and intervals as JSON knows them, and back by the types of their columns.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from obverse.answers import frames as shown
from obverse.core.claim import Claim
from obverse.core.errors import Refused
from obverse.core.types import Type, Value

DATED = (Type.DATE, Type.TIMESTAMP)
End = float | int | dt.date
Bar = tuple[End, End] | None


def plain(value: Value) -> Any:
    """As JSON knows it: no infinity and no integer beyond 64 bits, which public tables alone can give."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value)
    return value.isoformat() if isinstance(value, dt.date) else value


def plain_bars(bars: Sequence[Sequence[Bar]]) -> list[list[Any]]:
    return [[None if bar is None else [plain(end) for end in bar] for bar in row] for row in bars]


def typed_rows(rows: Any, types: Sequence[Type]) -> tuple[tuple[Value, ...], ...]:
    if not any(kind in DATED for kind in types):
        return tuple(map(tuple, rows))
    return tuple(tuple(typed(v, kind) for v, kind in zip(row, types)) for row in rows)


def typed_bars(bars: Any, types: Sequence[Type]) -> tuple[tuple[Bar, ...], ...]:
    if not any(kind in DATED for kind in types):
        return tuple(tuple(b and (b[0], b[1]) for b in row) for row in bars)
    return tuple(tuple(_bar(b, kind) for b, kind in zip(row, types)) for row in bars)


def typed(value: Any, kind: Type) -> Value:
    if value is None:
        return None
    if kind is Type.DATE:
        return dt.date.fromisoformat(value)
    if kind is Type.TIMESTAMP:
        return dt.datetime.fromisoformat(value)
    return float(value) if kind is Type.DOUBLE else value


def _bar(bar: Any, kind: Type) -> Bar:
    """An interval's ends: dates are read as dates, numbers stay as they were written."""
    if bar is None:
        return None
    low, high = ((typed(end, kind) if kind in DATED else end) for end in bar)
    assert isinstance(low, (int, float, dt.date))
    assert isinstance(high, (int, float, dt.date))
    return low, high


VERSION = 1
Row = tuple[Value, ...]


class ColumnInfo(NamedTuple):
    """One column of an answer."""

    name: str
    type: Type
    role: str  # "key" or "value"


class Price(NamedTuple):
    """What the question cost: epsilon and delta of it alone, its share of the budget, and whether it was stored."""

    epsilon: str
    delta: str
    share: float
    stored: bool


class Remaining(NamedTuple):
    """What is left: the share of the budget, epsilon where losses are pure, and how many more such questions fit."""

    share: float
    epsilon: str | None
    like_this: int | None

    @property
    def more(self) -> str:
        """How many more such questions fit, in words; nothing where that is not known."""
        if self.like_this is None:
            return ""
        return f"about {self.like_this:,} more like this" if self.like_this else "not enough for another like this"


class Series(NamedTuple):
    """A whole column: values and the ends of their noise intervals (None where there is none)."""

    value: list[Any]
    low: list[Any]
    high: list[Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A private answer. Iteration gives row tuples; one cell has `.value .low .high`; `answer["n"]` a whole column."""

    columns: tuple[ColumnInfo, ...]  # name, type and role (key or value) of each
    rows: tuple[Row, ...]  # of noisy values, as tuples
    intervals: tuple[tuple[Bar, ...], ...]  # the noise interval of each cell, None where it has none
    level: float  # that an interval holds what was there before noise: 0.95 unless told
    claim: Claim  # what is promised to whom, in data and in one sentence
    price: Price  # epsilon, delta, their share of the budget, and whether it came from store
    remaining: Remaining  # what is left for who asked, and how many more like this it pays for
    plan: str = ""  # what was done, as text

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Series:
        names = [c.name for c in self.columns]
        if name not in names:
            raise KeyError(f"no column {name!r}; there are {', '.join(names)}")
        i = names.index(name)
        bars = [row[i] for row in self.intervals]
        return Series([r[i] for r in self.rows], [b and b[0] for b in bars], [b and b[1] for b in bars])

    @property
    def value(self) -> Value:
        """The one cell of an answer that has one; else the error not_scalar."""
        return self._cell()[0]

    @property
    def low(self) -> End | None:
        """The lower end of its noise interval."""
        bar = self._cell()[1]
        return None if bar is None else bar[0]

    @property
    def high(self) -> End | None:
        """The upper end of its noise interval."""
        bar = self._cell()[1]
        return None if bar is None else bar[1]

    def _cell(self) -> tuple[Value, Bar]:
        if len(self.rows) != 1 or len(self.columns) != 1:
            raise Refused(
                "not_scalar",
                f"the answer has {len(self.rows)} rows and {len(self.columns)} columns, not one cell.",
                fix='Iterate over it, or read a column with answer["name"].',
            )
        return self.rows[0][0], self.intervals[0][0]

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "version": VERSION,
            "columns": [{"name": c.name, "type": c.type.value, "role": c.role} for c in self.columns],
            "rows": self._plain_rows(),
            "intervals": plain_bars(self.intervals) if self._dated else self.intervals,
            "level": self.level,
            "claim": self.claim.as_json(),
            "price": self.price._asdict(),
            "remaining": self.remaining._asdict(),
        }

    @property
    def _dated(self) -> bool:
        return any(c.type in DATED for c in self.columns)

    def _plain_rows(self) -> Any:
        """Rows as JSON knows them; private ones without dates are so already, and may be a million."""
        if self._dated or self.price.epsilon == "0":
            return [[plain(v) for v in row] for row in self.rows]
        return self.rows

    def to_bytes(self) -> bytes:
        """What is stored and sent: the released part only; what is left is told anew each time."""
        fields = self.as_json()
        del fields["remaining"]
        fields["plan"] = self.plan
        return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)

    @classmethod
    def from_bytes(cls, stored: bytes, remaining: Remaining) -> Answer:
        """What `to_bytes` gave, with what is left now."""
        fields = orjson.loads(stored)
        columns = tuple(ColumnInfo(c["name"], Type(c["type"]), c["role"]) for c in fields["columns"])
        types = [c.type for c in columns]
        rows = typed_rows(fields["rows"], types)
        bars = typed_bars(fields["intervals"], types)
        price = Price(**fields["price"])
        return cls(
            columns, rows, bars, fields["level"], Claim.from_json(fields["claim"]), price, remaining, fields["plan"]
        )

    def from_store(self) -> Answer:
        """The same answer, marked as given again for nothing."""
        return replace(self, price=self.price._replace(stored=True))

    def to_arrow(self) -> Any:
        """A pyarrow.Table: values, then the ends of their noise intervals as `name_low` and `name_high`."""
        return shown.to_arrow(self)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with the same columns as `to_arrow`."""
        return shown.to_pandas(self)

    def to_polars(self) -> Any:
        """A polars.DataFrame with the same columns as `to_arrow`."""
        return shown.to_polars(self)

    def plot(self) -> Any:
        """An altair.Chart: bars of the first column of numbers, with their noise intervals."""
        from obverse.answers.chart import chart

        return chart(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        return shown.text(self)

    def _repr_html_(self) -> str:
        return shown.html(self)


def is_one_answer(stored: bytes) -> bool:
    """Whether stored bytes are the answer to one question; a batch is a list of them, and a release has blocks."""
    fields = orjson.loads(stored)
    return isinstance(fields, dict) and "columns" in fields
