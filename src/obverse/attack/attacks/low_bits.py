"""Low bits: noise computed in floating point leaves a trace in the last digits of what it is added to (Mironov)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.attack.finding import ALPHA, Finding, Rate, judged, share
from obverse.attack.lower_bound.events import AnyEvent
from obverse.attack.lower_bound.evidence import best, last_bit_groups
from obverse.attack.lower_bound.floating_point import Supposed

Numbers = NDArray[np.float64]


FALSE_ALARM = "A mechanism that keeps its claim is blamed with a chance of at most 5 %."


@dataclass(frozen=True, slots=True)
class LowBits:
    """Looks for an event of an answer's size and last bits that is likelier with a person, or without, than epsilon
    allows.

    Every other answer chooses the event, those between are counted. Events: answers of some sizes that are, or are not,
    multiples of a power of two; zeros at the end of the mantissa; answers that the textbook's sampler, in doubles and
    of the scale that epsilon asks for, can give around one true value and not around the other (whole numbers, found
    from medians). A trial is a counted answer of the likelier side; it is won if the event happens. The control is what
    epsilon and delta allow: e^epsilon times the chance on the other side, plus delta.

    Claim:   answers that keep (epsilon, delta) are blamed with a chance of at most 5 %.
    Proof:   one event of last bits and one of the sampler are chosen, with the likelier side, on other answers, so
             counts are binomial. Answers are blamed where an event's lower Clopper-Pearson bound on the likelier side
             exceeds e^epsilon times the upper one on the other, plus delta; each of the four bounds errs with a chance
             of at most 1.25 %.
    Assumes: answers are independent.
    """

    name: ClassVar[str] = "low_bits"
    summary: ClassVar[str] = "Read the last bits of noisy answers: do they betray what was added to?"
    epsilon: float = 1.0
    delta: float = 0.0

    def run(self, present: Numbers, absent: Numbers, target: str = "noisy answers") -> Finding:
        """Answers to one question on two databases that differ in one person."""
        figures = {"epsilon": self.epsilon, "delta": self.delta, "false_alarm": ALPHA}
        if min(len(present), len(absent)) < 2:
            quiet = "there are too few answers to choose an event and to count it."
            return judged(self.name, target, Rate(0, 0), 1.0, figures=figures, leak="", quiet=quiet)
        groups = last_bit_groups(present[::2], absent[::2], Supposed(self.epsilon))
        alpha = ALPHA / len(groups)
        chosen = [best(group, delta=self.delta, alpha=alpha) for group in groups]
        found = [self._counted(event, swapped, present[1::2], absent[1::2], alpha) for event, swapped in chosen]
        rate, allowed, told = max(found, key=lambda one: one[0].low(alpha / 2) / max(one[1], 1e-300))
        return judged(
            self.name, target, rate, allowed, figures=figures, alpha=alpha,
            leak=f"{told}: the noise is not what it claims to be. {FALSE_ALARM}",
            quiet=f"{told}.",
        )  # fmt: skip

    def _counted(
        self, event: AnyEvent, likelier_is_absent: bool, present: Numbers, absent: Numbers, alpha: float
    ) -> tuple[Rate, float, str]:
        """How often it happened on the likelier side, how often at most by what epsilon and the other side say, and
        words.
        """
        sides = [("with the person", present), ("without", absent)]
        (likelier, here), (other, there) = sides[::-1] if likelier_is_absent else sides
        rate = Rate(event.hits(here), len(here))
        beside = Rate(event.hits(there), len(there))
        allowed = min(1.0, math.exp(min(self.epsilon, 700)) * beside.high(alpha / 2) + self.delta)
        told = (
            f"happened in {share(rate.wins, rate.trials)} answers {likelier} and "
            f"{share(beside.wins, beside.trials)} {other}"
        )
        bound = (
            f"epsilon {self.epsilon:g}{f' and delta {self.delta:g}' if self.delta else ''} allows {100 * allowed:.3g} %"
        )
        return rate, allowed, f"The event '{event.words}' {told}; {bound}"

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """The textbook's sampler in doubles, added to a count of 1 or 0."""
        noise = generator.laplace(0, 4, (2, 10_000))
        return LowBits(0.25).run(1 + noise[0], 0 + noise[1], "planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The same noise on a grid of 1/1024, on which counts lie too."""
        noise = np.rint(1024 * generator.laplace(0, 4, (2, 10_000))) / 1024
        return LowBits(0.25).run(1 + noise[0], 0 + noise[1], "honest")
