"""The six column types and the literal values that belong to them."""

from __future__ import annotations

import datetime as dt
from enum import Enum

Value = bool | int | float | str | dt.date | dt.datetime | None

EPOCH = dt.datetime(1970, 1, 1)


class Type(Enum):
    INTEGER = "integer"  # 64 bits
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"  # microseconds, no zone

    @property
    def numeric(self) -> bool:
        return self in (Type.INTEGER, Type.DOUBLE)

    @property
    def temporal(self) -> bool:
        return self in (Type.DATE, Type.TIMESTAMP)


INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1


def days(date: dt.date) -> int:
    """Days since 1970-01-01: the integer that bounds of dates are kept in."""
    return (date - EPOCH.date()).days


def micros(moment: dt.datetime) -> int:
    """Microseconds since 1970-01-01: the integer that bounds of timestamps are kept in."""
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


def date_of(number: int) -> dt.date:
    return EPOCH.date() + dt.timedelta(days=number)


def moment_of(number: int) -> dt.datetime:
    return EPOCH + dt.timedelta(microseconds=number)
