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
    from obverse.mechanisms.bernoulli import Bits


@dataclass(frozen=True, slots=True)
class Identity(Additive):
    """Adds nothing.

    Claim:   none. No loss covers it: `loss` raises, and `plan.verify` knows no such mechanism, so no charge can.
    Proof:   none is needed.
    Assumes: the tables are synthetic.
    """

    name: ClassVar[str] = "identity"
    least: int = 1  # units that a key has, to be told

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

    def each(self, scores: Vector, rng: Rng) -> Vector:
        """The best candidate of each row: a choice without noise."""
        import numpy as np

        return np.asarray(scores.argmax(axis=1))

    def passes(self, counts: Vector, rng: Rng) -> Bits:
        """Every key that some unit has, or as many as asked for: a threshold without noise."""
        import numpy as np

        return np.asarray(counts >= self.least)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return ()
