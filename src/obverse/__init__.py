"""Obverse: learn from sensitive data without exposing anyone in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from obverse._version import __version__
from obverse.core.errors import BudgetExceeded, ObverseError, Refused

if TYPE_CHECKING:
    from obverse.answers.answer import Answer
    from obverse.dbapi import connect
    from obverse.session.rehearsal import rehearse
    from obverse.session.session import Session, open

_LAZY = {
    "Answer": "obverse.answers.answer",
    "Session": "obverse.session.session",
    "connect": "obverse.dbapi",
    "open": "obverse.session.session",
    "rehearse": "obverse.session.rehearsal",
}

__all__ = [
    "Answer",
    "BudgetExceeded",
    "ObverseError",
    "Refused",
    "Session",
    "__version__",
    "connect",
    "open",
    "rehearse",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'obverse' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
