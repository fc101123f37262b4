"""The zero-noise limit of every additive mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, NoReturn

from obverse.core.errors import InvariantBroken
from obverse.core.rng import Rng
from obverse.mechanisms.base import Additive, Example
from obverse.mechanisms.enclosures import Enclosure

if TYPE_CHECKING:
    from obverse.mechanisms.base import Vector


@dataclass(frozen=True, slots=True)
class Identity(Additive):
    """Adds nothing.

    Claim:   none. No loss covers it: `loss` raises, and `plan.verify` knows no such mechanism, so no charge can.
    Proof:   none is needed.
    Assumes: the tables are synthetic.
    """

    name: ClassVar[str] = "identity"

    def loss(self) -> NoReturn:
        raise InvariantBroken("the identity has no loss that could be counted")

    def noise(self, n: int, rng: Rng) -> Vector:
        import numpy as np

        return np.zeros(n, dtype=np.int64)

    def mass(self, z: int) -> Enclosure:
        whole = Fraction(int(z == 0))
        return whole, whole

    def tail(self, h: int) -> Enclosure:
        return Fraction(0), Fraction(0)

    def stddev(self) -> float:
        return 0.0

    def interval(self, level: float) -> int:
        return 0

    def scaled(self, factor: Fraction) -> Identity:
        return self

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return ()
