"""What the server sends: each message as its bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from obverse.server.postgres.types import SIZES


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result: its name and the OID of its type."""

    name: str
    oid: int


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def text(value: str) -> bytes:
    return value.replace("\0", " ").encode("utf-8", "replace") + b"\0"


AUTHENTICATION_OK = message(b"R", struct.pack("!I", 0))
PARSE_COMPLETE, BIND_COMPLETE, CLOSE_COMPLETE = message(b"1"), message(b"2"), message(b"3")
EMPTY_QUERY, NO_DATA, SUSPENDED = message(b"I"), message(b"n"), message(b"s")


def sasl(mechanisms: Iterable[str]) -> bytes:
    return message(b"R", struct.pack("!I", 10) + b"".join(text(name) for name in mechanisms) + b"\0")


def sasl_continue(said: bytes) -> bytes:
    return message(b"R", struct.pack("!I", 11) + said)


def sasl_final(said: bytes) -> bytes:
    return message(b"R", struct.pack("!I", 12) + said)


def parameter_status(name: str, value: str) -> bytes:
    return message(b"S", text(name) + text(value))


def backend_key(number: int, secret: int) -> bytes:
    return message(b"K", struct.pack("!II", number, secret))


def negotiate(minor: int, options: Sequence[str]) -> bytes:
    """The newest minor version that is spoken here, and options that are not known."""
    return message(b"v", struct.pack("!II", minor, len(options)) + b"".join(text(name) for name in options))


def ready(status: str) -> bytes:
    return message(b"Z", status.encode())


def complete(tag: str) -> bytes:
    return message(b"C", text(tag))


def error(fields: Mapping[str, str]) -> bytes:
    return message(b"E", _fields(fields))


def notice(said: str, *, severity: str = "NOTICE", sqlstate: str = "00000", detail: str = "") -> bytes:
    fields = {"S": severity, "V": severity, "C": sqlstate, "M": said}
    return message(b"N", _fields(fields | ({"D": detail} if detail else {})))


def _fields(fields: Mapping[str, str]) -> bytes:
    return b"".join(name.encode() + text(value) for name, value in fields.items()) + b"\0"


def parameters(oids: Sequence[int]) -> bytes:
    return message(b"t", struct.pack("!H", len(oids)) + b"".join(struct.pack("!I", oid) for oid in oids))


def row_description(fields: Sequence[Field], formats: Sequence[int]) -> bytes:
    """Columns belong to no table here: what is shown is noisy, or of the catalogue."""
    parts = [struct.pack("!H", len(fields))]
    for field, code in zip(fields, formats):
        parts.append(text(field.name) + struct.pack("!IhIhih", 0, 0, field.oid, SIZES.get(field.oid, -1), -1, code))
    return message(b"T", b"".join(parts))


def data_row(cells: Sequence[bytes | None]) -> bytes:
    parts = [struct.pack("!H", len(cells))]
    for cell in cells:
        parts.append(b"\xff\xff\xff\xff" if cell is None else struct.pack("!I", len(cell)) + cell)
    return message(b"D", b"".join(parts))
