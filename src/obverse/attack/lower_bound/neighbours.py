"""Pairs of inputs worth trying: where mechanisms over lists of numbers usually break."""

from __future__ import annotations

from typing import Literal

from obverse.core.errors import invariant

Vector = tuple[float, ...]
Pair = tuple[Vector, Vector]
Moves = Literal["one", "all"]  # which numbers neighbours may differ in: one of them, or every one


def pairs(length: int, move: float = 1.0, moves: Moves = "all", base: float = 0.0) -> tuple[Pair, ...]:
    """Neighbouring lists of this length in which a number moves by at most `move`.

    All but one flipped, all up, one up, half up and half down, one above while all others are below; each pair is to be tried
    in both directions, which the evidence does.
    """
    invariant(length >= 1, "an input has numbers")
    low: Vector = (base,) * length
    up = base + move

    def raised(places: range) -> Vector:
        return tuple(up if i in places else base for i in range(length))

    found: list[Pair] = [(low, raised(range(1))), (low, raised(range(length - 1, length)))]
    if moves == "all" and length > 1:
        half = length // 2
        found += [
            (low, raised(range(length))),
            (low, raised(range(1, length))),
            (raised(range(1)), raised(range(1, length))),
            (raised(range(length - 1)), raised(range(length - 1, length))),
            (raised(range(half)), raised(range(half, length))),
        ]
    return tuple(dict.fromkeys(found))
