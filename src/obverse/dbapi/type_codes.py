"""Type codes of DB-API 2.0: what stands in a cursor's description, what it compares equal to, and constructors."""

from __future__ import annotations

import datetime as dt

from obverse.core.types import Type


class TypeObject:
    """Equal to every type code of its kind: `description[0][1] == NUMBER`."""

    def __init__(self, name: str, *types: Type) -> None:
        self.name = name
        self.codes = frozenset(type_code(kind) for kind in types)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, str) and other in self.codes)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


def type_code(kind: Type) -> str:
    """The name of the type as obverse.toml writes it."""
    return kind.value


STRING = TypeObject("STRING", Type.TEXT)
BINARY = TypeObject("BINARY")
NUMBER = TypeObject("NUMBER", Type.INTEGER, Type.DOUBLE)
DATETIME = TypeObject("DATETIME", Type.DATE, Type.TIMESTAMP)
BOOLEAN = TypeObject("BOOLEAN", Type.BOOLEAN)
ROWID = TypeObject("ROWID")

Date, Time, Timestamp, Binary = dt.date, dt.time, dt.datetime, bytes
DateFromTicks = dt.date.fromtimestamp
TimestampFromTicks = dt.datetime.fromtimestamp


def TimeFromTicks(ticks: float) -> dt.time:
    return dt.datetime.fromtimestamp(ticks).time()
