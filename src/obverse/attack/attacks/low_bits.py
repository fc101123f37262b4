"""Low bits: noise computed in floating point leaves a trace in the last digits of what it is added to (Mironov)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.attack.finding import Finding, Rate, judged, share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LowBits:
    """Tells from an answer's size and the place of its last bit whether a person is in the data.

    Half of the answers with and without the person teach how often each looks like that, the others are guessed. A trial is one
    of these; it is won if the guess is right. The control is what epsilon allows: from an answer with pure epsilon, nobody
    guesses right, at even odds, more often than e^epsilon / (1 + e^epsilon). Only counts near zero betray themselves so.
    """

    name: ClassVar[str] = "low_bits"
    summary: ClassVar[str] = "Read the last bits of noisy answers: do they betray what was added to?"
    epsilon: float = 1.0

    def run(self, present: Numbers, absent: Numbers, target: str = "noisy answers") -> Finding:
        """Answers to one question on two databases that differ in one person."""
        import numpy as np

        count = min(len(present), len(absent)) // 2
        learned = [np.bincount(looks(side[:count]), minlength=LOOKS) + 0.5 for side in (present, absent)]
        likelier = np.log(learned[0]) - np.log(learned[1])
        wins = 0
        for side, is_present in ((present, True), (absent, False)):
            judged_ones = side[count : 2 * count]
            wins += int(((likelier[looks(judged_ones)] > 0) == is_present).sum())
        allowed = 1 / (1 + math.exp(-self.epsilon))
        rate = Rate(wins, 2 * count)
        told = f"{share(wins, 2 * count)} answers are told apart by their last bits"
        bound = f"epsilon {self.epsilon:g} allows {100 * allowed:.3g} %"
        return judged(
            self.name, target, rate, allowed, figures={"epsilon": self.epsilon},
            leak=f"{told}, and {bound}: the noise is not what it claims to be.", quiet=f"{told}; {bound}.",
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """The textbook's sampler in doubles, added to a count of 1 or 0."""
        noise = generator.laplace(0, 4, (2, 10_000))
        return LowBits(0.25).run(1 + noise[0], 0 + noise[1], "planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The same noise on a grid of 1/1024, on which counts lie too."""
        import numpy as np

        noise = np.rint(1024 * generator.laplace(0, 4, (2, 10_000))) / 1024
        return LowBits(0.25).run(1 + noise[0], 0 + noise[1], "honest")


SIZES, PLACES = (-8, 8), (-62, 2)  # powers of two, beyond which answers look alike
LOOKS = 2 * (SIZES[1] - SIZES[0] + 1) * (PLACES[1] - PLACES[0] + 1)


def looks(numbers: Numbers) -> NDArray[np.int64]:
    """Sign, size and last bit of each number as one code."""
    import numpy as np

    fraction, exponent = np.frexp(np.abs(numbers))
    whole = np.ldexp(fraction, 53).astype(np.int64)
    lowest = np.log2(np.maximum(whole & -whole, 1)).astype(np.int64)
    size = np.clip(exponent.astype(np.int64), *SIZES) - SIZES[0]
    place = np.clip(exponent.astype(np.int64) - 53 + lowest, *PLACES) - PLACES[0]
    wide = PLACES[1] - PLACES[0] + 1
    return np.asarray((size * wide + place) * 2 + (numbers < 0), dtype=np.int64)
