"""What crosses the pipe from a caged process, as JSON alone: finished answers by the types of their columns, public
rows value by value, and errors that were met before anything was charged. Nothing from a cage is ever unpickled.

Frames on a socket between processes: four bytes of length, then the content.
"""

from __future__ import annotations

import datetime as dt
import math
import socket
import struct
from collections.abc import Sequence
from decimal import Decimal
from time import monotonic
from typing import Any

import orjson

from obverse.answers.answer import ColumnInfo, plain, plain_bars, typed_bars, typed_rows
from obverse.core.engine import PublicRows
from obverse.core.errors import CatalogError, ObverseError
from obverse.core.types import Type, Value
from obverse.plan.release.postprocess import Finished

LENGTH = struct.Struct("!I")
LONGEST = 1 << 30


def send(sock: socket.socket, content: bytes) -> None:
    sock.sendall(LENGTH.pack(len(content)) + content)


def receive(sock: socket.socket, deadline: float | None = None, longest: int = LONGEST) -> bytes:
    """The next frame. TimeoutError after the deadline (of the monotonic clock), EOFError when the other side is
    gone.
    """
    (length,) = LENGTH.unpack(_exactly(sock, LENGTH.size, deadline))
    if length > longest:
        raise EOFError("a frame that is too long")
    return _exactly(sock, length, deadline)


def _exactly(sock: socket.socket, wanted: int, deadline: float | None) -> bytes:
    parts = []
    missing = wanted
    while missing:
        left = None if deadline is None else deadline - monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        sock.settimeout(left)
        try:
            part = sock.recv(min(missing, 1 << 20))
        except ConnectionError:
            raise EOFError("the other side is gone") from None
        if not part:
            raise EOFError("the other side is gone")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


Table = Sequence[Sequence[Any]]
_NUMBERS = {int, float, type(None)}  # a whole number beyond 64 bits is a double
_KINDS: dict[Type, set[type]] = {
    Type.INTEGER: _NUMBERS,
    Type.DOUBLE: _NUMBERS,
    Type.TEXT: {str, type(None)},
    Type.BOOLEAN: {bool, type(None)},
    Type.DATE: {dt.date, type(None)},
    Type.TIMESTAMP: {dt.datetime, type(None)},
}
_ENDS = {int, float, dt.date, dt.datetime, type(None)}


def finished_bytes(finished: Finished) -> bytes:
    dated = any(c.type in (Type.DATE, Type.TIMESTAMP) for c in finished.columns)
    return orjson.dumps(
        {
            "columns": [[c.name, c.type.value, c.role] for c in finished.columns],
            "rows": [[plain(v) for v in row] for row in finished.rows] if dated else finished.rows,
            "intervals": plain_bars(finished.intervals) if dated else finished.intervals,
        }
    )


def finished_from(content: bytes) -> Finished:
    fields = orjson.loads(content)
    columns = tuple(ColumnInfo(str(name), Type(kind), str(role)) for name, kind, role in fields["columns"])
    types = [c.type for c in columns]
    rows = typed_rows(fields["rows"], types)
    bars = typed_bars(fields["intervals"], types)
    if not _fitting(rows, bars, types):
        raise ValueError("not an answer")
    return Finished(columns, rows, bars)


def _fitting(rows: Table, bars: Table, types: Sequence[Type]) -> bool:
    """Whether each row has a value, and an interval or none, of its column's type: what says otherwise is no child
    of ours.
    """
    if len(rows) != len(bars) or {len(row) for row in (*rows, *bars)} - {len(types)}:
        return False
    known = [_KINDS[kind] for kind in types]
    ends = {end for column in zip(*bars) for bar in column if bar is not None for end in map(type, bar)}
    return ends <= _ENDS and all({type(value) for value in column} <= kinds for column, kinds in zip(zip(*rows), known))


def public_bytes(found: PublicRows) -> bytes:
    return orjson.dumps({"names": found.names, "rows": [[_tagged(v) for v in row] for row in found.rows]})


def public_from(content: bytes) -> PublicRows:
    fields = orjson.loads(content)
    return PublicRows(tuple(fields["names"]), tuple(tuple(_untagged(v) for v in row) for row in fields["rows"]))


def _tagged(value: Any) -> Any:
    """What JSON has no word for goes as its kind and its text."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -(2**63) <= value < 2**63 else {"integer": str(value)}
        case float():
            return value if math.isfinite(value) else {"double": repr(value)}
        case dt.datetime():
            return {"timestamp": value.isoformat()}
        case dt.date():
            return {"date": value.isoformat()}
        case Decimal():
            return {"decimal": str(value)}
        case _:
            return {"text": str(value)}


_UNTAGGED: dict[str, Any] = {
    "integer": int,
    "double": float,
    "timestamp": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "decimal": Decimal,
    "text": str,
}


def _untagged(value: Any) -> Value:
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return]
    ((kind, text),) = value.items()
    return _UNTAGGED[kind](text)  # type: ignore[no-any-return]


def error_bytes(error: ObverseError) -> bytes:
    return orjson.dumps([error.code, error.message, error.why, error.fix, error.place])


def error_from(content: bytes) -> CatalogError:
    code, message, why, fix, place = (str(part) for part in orjson.loads(content))
    return CatalogError(code, message, why=why, fix=fix, place=place)
