"""What a client sends: the bodies of its messages, read to values. Every length is checked before it is believed."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from obverse.core.errors import Refused

PARAMETERS_MAX = 1_000
NAME_MAX = 1_024


@dataclass(frozen=True, slots=True)
class Query:
    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    name: str
    text: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    shown: tuple[int, ...]  # formats of the result's columns


@dataclass(frozen=True, slots=True)
class Describe:
    kind: str  # S or P
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    portal: str
    rows_max: int  # 0: all


@dataclass(frozen=True, slots=True)
class Close:
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Plain:
    """A message without a body that matters: Sync, Flush, Terminate, or one that is refused."""

    kind: bytes


Request = Query | Parse | Bind | Describe | Execute | Close | Plain
ENDS = b"X"
IGNORED = b"dcf"  # of a COPY that was refused: they are passed over, as PostgreSQL does


def violation(what: str) -> Refused:
    return Refused("protocol_violation", what)


class Body:
    """The bytes of one message, read from the front."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def number(self, kind: str) -> int:
        """An integer in network order: h and i signed, H and I not."""
        size = struct.calcsize(f"!{kind}")
        (found,) = struct.unpack(f"!{kind}", self.take(size))
        return int(found)

    def take(self, size: int) -> bytes:
        if size < 0 or self._at + size > len(self._raw):
            raise violation("a message is shorter than it says.")
        self._at += size
        return self._raw[self._at - size : self._at]

    def text(self) -> str:
        """A text that a zero byte ends."""
        end = self._raw.find(b"\0", self._at)
        if end < 0:
            raise violation("a text in a message has no end.")
        raw = self.take(end - self._at)
        self._at += 1
        return decoded(raw)

    def name(self) -> str:
        found = self.text()
        if len(found) > NAME_MAX:
            raise Refused("too_long", f"a name has at most {NAME_MAX} characters.")
        return found

    def count(self) -> int:
        found = self.number("H")
        if found > PARAMETERS_MAX:
            raise Refused("too_many_parameters", f"a question has at most {PARAMETERS_MAX} parameters.")
        return found

    def done(self) -> None:
        if self._at != len(self._raw):
            raise violation("a message is longer than it says.")


def decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("not_encodable", "this text is not UTF-8.", fix="set the client's encoding to UTF8.") from None


def read(kind: bytes, raw: bytes) -> Request:
    """One message after the start."""
    body = Body(raw)
    made: Request
    match kind:
        case b"Q":
            made = Query(body.text())
        case b"P":
            made = Parse(body.name(), body.text(), tuple(body.number("I") for _ in range(body.count())))
        case b"B":
            made = _bind(body)
        case b"D":
            made = Describe(_target(body), body.name())
        case b"C":
            made = Close(_target(body), body.name())
        case b"E":
            made = Execute(body.name(), max(0, body.number("i")))
        case b"S" | b"H" | b"X":
            made = Plain(kind)
        case b"F" | b"d" | b"c" | b"f" | b"p":
            return Plain(kind)
        case _:
            raise violation("this kind of message is not known.")
    body.done()
    return made


def _target(body: Body) -> str:
    found = body.take(1)
    if found not in (b"S", b"P"):
        raise violation("only statements and portals are described or closed.")
    return found.decode()


def _bind(body: Body) -> Bind:
    portal, statement = body.name(), body.name()
    formats = tuple(body.number("H") for _ in range(body.count()))
    values = tuple(_value(body) for _ in range(body.count()))
    shown = tuple(body.number("H") for _ in range(body.count()))
    if any(code not in (0, 1) for code in (*formats, *shown)):
        raise violation("a format is text (0) or binary (1).")
    if len(formats) not in (0, 1, len(values)):
        raise violation("there are not as many formats as parameters.")
    return Bind(portal, statement, formats, values, shown)


def _value(body: Body) -> bytes | None:
    size = body.number("i")
    return None if size == -1 else body.take(size)
