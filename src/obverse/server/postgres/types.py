"""Values as PostgreSQL writes them on the wire, in text and in binary."""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from obverse.core.errors import Refused
from obverse.core.types import Type

BOOL = 16
BYTEA = 17
CHAR = 18
NAME = 19
INT8 = 20
INT2 = 21
INT4 = 23
TEXT = 25
OID = 26
UNKNOWN = 705
FLOAT4 = 700
FLOAT8 = 701
BPCHAR = 1042
VARCHAR = 1043
DATE = 1082
TIMESTAMP = 1114
TIMESTAMPTZ = 1184
NUMERIC = 1700
ELEMENT = {
    1000: BOOL, 1002: CHAR, 1003: NAME, 1005: INT2, 1007: INT4, 1016: INT8, 1009: TEXT, 1014: BPCHAR, 1015: VARCHAR,
    1021: FLOAT4, 1022: FLOAT8, 1028: OID, 1115: TIMESTAMP, 1182: DATE, 1231: NUMERIC,
}  # fmt: skip
ARRAY = {element: array for array, element in ELEMENT.items()}
SIZES = {
    BOOL: 1,
    CHAR: 1,
    NAME: 64,
    INT8: 8,
    INT2: 2,
    INT4: 4,
    OID: 4,
    FLOAT4: 4,
    FLOAT8: 8,
    DATE: 4,
    TIMESTAMP: 8,
    TIMESTAMPTZ: 8,
}
OIDS = {
    Type.INTEGER: INT8,
    Type.DOUBLE: FLOAT8,
    Type.BOOLEAN: BOOL,
    Type.TEXT: TEXT,
    Type.DATE: DATE,
    Type.TIMESTAMP: TIMESTAMP,
}
PLAIN = {INT8: "!q", INT2: "!h", INT4: "!i", OID: "!I", FLOAT4: "!f", FLOAT8: "!d"}
EPOCH = dt.datetime(2000, 1, 1)
MICRO = dt.timedelta(microseconds=1)
NUMERIC_NAN = 0xC000
NUMERIC_NEGATIVE = 0x4000


def encoded(value: Any, oid: int, code: int) -> bytes | None:
    """One cell: text (0) or binary (1)."""
    if value is None:
        return None
    return _binary(value, oid) if code else written(value).encode("utf-8", "replace")


def written(value: Any) -> str:
    """The value as text, in the forms that DateStyle ISO and UTF8 give."""
    match value:
        case bool():
            return "t" if value else "f"
        case float():
            return _float(value)
        case Decimal():
            return format(value, "f") if value.is_finite() else "NaN"
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date():
            return value.isoformat()
        case list() | tuple():
            return "{" + ",".join(_element(one) for one in value) + "}"
        case _:
            return str(value)


def _float(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    text = repr(value)
    return text.removesuffix(".0")


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    text = written(value)
    if isinstance(value, list | tuple):
        return text
    plain = text and text.upper() != "NULL" and not set(text) & set('{}",\\ \t\r\n\f\v')
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _binary(value: Any, oid: int) -> bytes:
    if oid in PLAIN:
        try:
            return struct.pack(PLAIN[oid], float(value) if oid in (FLOAT4, FLOAT8) else int(value))
        except (struct.error, OverflowError):
            raise Refused("number_out_of_range", "a number is too large for its type.", fix="ask for text.") from None
    if oid in ELEMENT and isinstance(value, list | tuple):
        return _array(value, ELEMENT[oid])
    match oid:
        case _ if oid == BOOL:
            return b"\1" if value else b"\0"
        case _ if oid == DATE:
            return struct.pack("!i", (value - EPOCH.date()).days)
        case _ if oid == TIMESTAMP:
            return struct.pack("!q", (value - EPOCH) // MICRO)
        case _ if oid == NUMERIC:
            return _numeric(Decimal(value))
        case _:
            return written(value).encode("utf-8", "replace")


def _array(values: list[Any] | tuple[Any, ...], element: int) -> bytes:
    """An array of one dimension."""
    head = struct.pack("!iii", 1 if values else 0, int(None in values), element)
    parts = [head, struct.pack("!ii", len(values), 1)] if values else [head]
    for value in values:
        cell = None if value is None else _binary(value, element)
        parts.append(struct.pack("!i", -1) if cell is None else struct.pack("!i", len(cell)) + cell)
    return b"".join(parts)


def _numeric(value: Decimal) -> bytes:
    """Digits to the base of 10,000, with the weight of the first and how many decimals are shown."""
    if not value.is_finite():
        return struct.pack("!hhHh", 0, 0, NUMERIC_NAN, 0)
    scale = max(0, -int(value.as_tuple().exponent))
    whole, _, part = format(abs(value), "f").partition(".")
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    part = part.ljust(-(-len(part) // 4) * 4, "0")
    digits = [int((whole + part)[i : i + 4]) for i in range(0, len(whole + part), 4)]
    weight = len(whole) // 4 - 1
    while digits and digits[0] == 0:
        digits = digits[1:]
        weight = weight - 1
    while digits and digits[-1] == 0:
        digits.pop()
    sign = NUMERIC_NEGATIVE if value < 0 else 0
    return struct.pack(f"!hhHh{len(digits)}H", len(digits), weight if digits else 0, sign, scale, *digits)


def _read_numeric(raw: bytes) -> Decimal:
    count, weight, sign, _ = struct.unpack("!hhHh", raw[:8])
    if sign not in (0, NUMERIC_NEGATIVE) or not 0 <= count <= 250 or not abs(weight) <= 250:
        raise ValueError
    digits = struct.unpack(f"!{count}H", raw[8:])
    found = sum((Decimal(digit).scaleb(4 * (weight - i)) for i, digit in enumerate(digits)), Decimal(0))
    return -found if sign else found


def _read_array(raw: bytes) -> list[Any]:
    dimensions, _, element = struct.unpack("!iiI", raw[:12])
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise ValueError
    count, _ = struct.unpack("!ii", raw[12:20])
    at = 20
    found = []
    if count > len(raw):
        raise ValueError
    for _ in range(count):
        (size,) = struct.unpack("!i", raw[at : at + 4])
        at += 4
        found.append(None if size < 0 else from_binary(raw[at : at + size], element))
        at += max(0, size)
    return found


def from_binary(raw: bytes, oid: int) -> Any:
    """A parameter in binary; ValueError or struct.error where it is none."""
    if oid in PLAIN:
        return struct.unpack(PLAIN[oid], raw)[0]
    if oid in ELEMENT:
        return _read_array(raw)
    readers: dict[int, Callable[[bytes], Any]] = {
        BOOL: lambda raw: struct.unpack("!?", raw)[0],
        DATE: lambda raw: EPOCH.date() + dt.timedelta(days=struct.unpack("!i", raw)[0]),
        TIMESTAMP: lambda raw: EPOCH + struct.unpack("!q", raw)[0] * MICRO,
        TIMESTAMPTZ: lambda raw: EPOCH + struct.unpack("!q", raw)[0] * MICRO,
        NUMERIC: _read_numeric,
    }
    if oid in readers:
        return readers[oid](raw)
    if oid in (0, TEXT, VARCHAR, BPCHAR, NAME, CHAR, UNKNOWN):
        return raw.decode("utf-8")
    raise KeyError(oid)
