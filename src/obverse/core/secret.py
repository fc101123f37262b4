"""Exact[T]: raw aggregates that refuse repr, comparison, log and pickle."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


class Exact(Generic[T]):
    """A box around exact values. Only `plan/release/noise.py` may call `reveal` (held by a test)."""

    __slots__ = ("__held",)

    def __init__(self, held: T) -> None:
        self.__held = held

    def reveal(self) -> T:
        return self.__held

    def __repr__(self) -> str:
        return "Exact(hidden)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "Exact(hidden)"

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("exact values are not to be compared, copied, hashed or pickled")

    __eq__ = __ne__ = _refuse
    __hash__ = None  # type: ignore[assignment]
    __bool__ = __len__ = __iter__ = _refuse
    __reduce_ex__ = __reduce__ = __copy__ = __deepcopy__ = _refuse
