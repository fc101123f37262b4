"""A protocol as data: its name and its integers, the same for every client."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_origin, get_type_hints

from obverse.collect.protocols import PROTOCOLS, LocalProtocol
from obverse.core.errors import InvariantBroken, Refused

_BY_NAME = {kind.name: kind for kind in PROTOCOLS}


def protocol_json(protocol: LocalProtocol) -> dict[str, Any]:
    """The name and every field; protocols within a protocol likewise."""
    told: dict[str, Any] = {"name": protocol.name}
    for field in fields(protocol):  # type: ignore[arg-type]
        told[field.name] = _written(getattr(protocol, field.name))
    return told


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_written(each) for each in value]
    return value if isinstance(value, int) else protocol_json(value)


def protocol_of(told: Any) -> LocalProtocol:
    """The protocol that was written; anything else is refused."""
    try:
        kind = _BY_NAME[told["name"]]
        names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
        if told.keys() != names | {"name"}:
            raise KeyError
        parts = {name: _read(told[name]) for name in names}
        if not all(_fits(value, wanted) for value, wanted in ((parts[name], get_type_hints(kind)[name]) for name in names)):
            raise TypeError
        return kind(**parts)
    except (KeyError, TypeError, AttributeError, ValueError, InvariantBroken):
        raise Refused(
            "bad_spec",
            "this is not the specification of a protocol.",
            fix="Take the specification from `obverse collect spec NAME`, unchanged.",
        ) from None


def _fits(value: Any, wanted: Any) -> bool:
    """Whether it is exactly what the field is declared as: the loss of a protocol is that of its own parts and of no others.

    Several questions have parts of several kinds, and look at each themselves.
    """
    return type(value) is wanted if isinstance(wanted, type) else get_origin(wanted) is tuple and isinstance(value, tuple)


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(protocol_of(each) for each in value)
    if isinstance(value, dict):
        return protocol_of(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value
