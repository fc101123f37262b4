"""A pytest plug-in: the fixture `refutes`, with which a test tries to refute a claim of privacy.

def test_my_noise_keeps_its_epsilon(refutes):
    assert not refutes(my_noise, 1.0)                     # called as my_noise(0.0, n) and my_noise(1.0, n)

def test_a_list_of_counts(refutes):
    assert not refutes(my_counts, 1.0, pairs=pairs(5))    # bad neighbours among lists of five numbers
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from obverse.attack.lower_bound.trial import Draw, Pair, Verdict

FALSE_ALARM = 1e-6
SAMPLES = 100_000


@dataclass(frozen=True, slots=True)
class Refutation:
    """True if the claim is refuted. Printed, it says by which event, or how far the bound came."""

    verdict: Verdict

    def __bool__(self) -> bool:
        return self.verdict.refuted

    def __repr__(self) -> str:
        return self.verdict.sentence


def refute(
    mechanism: Draw,
    epsilon: float,
    *,
    pairs: Sequence[Pair] = ((0.0, 1.0),),
    delta: float = 0.0,
    samples: int = SAMPLES,
    false_alarm: float = FALSE_ALARM,
) -> Refutation:
    """Whether samples refute that the mechanism is (epsilon, delta)-DP on these neighbours.

    `mechanism(input, n)` gives n independent outputs: numbers, rows of numbers, or texts. One that keeps its claim is
    refuted with a chance of at most `false_alarm`; one that does not need not be found.
    """
    from obverse.attack.lower_bound.trial import trial

    return Refutation(trial(mechanism, pairs, samples, claimed=epsilon, delta=delta, alpha=false_alarm))


@pytest.fixture(scope="session")
def refutes() -> Callable[..., Any]:
    """`refutes(mechanism, epsilon)`: True where the claim of privacy is refuted. See obverse.testing.plugin.refute."""
    return refute
