"""Every registered mechanism passes the suite; each check notices a tenth of the noise missing where it can."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from obverse.core.loss import ApproxLoss
from obverse.mechanisms import MECHANISMS, DiscreteGaussian, KeyThreshold, Mechanism
from obverse.mechanisms.base import Example
from obverse.mechanisms.ladder import Ladder
from obverse.testing.conformance.mechanism import check_mechanism, seen_by_evidence

# Where a million outputs do not show that a tenth of the noise is missing: how much noise is left when they do, and on
# which inputs. The exact law (by_law) and the fit (by_fit) see the tenth in both.
# - discrete_gaussian: the (epsilon, delta) that zCDP promises is not tight enough; half of the noise shows.
# - ladder: epsilon is 2 / scale. Half of it, 1 / scale, comes from the rungs; the other half from how many integers
#   these have, but on the best inputs that we know (a reach of 1 and one of 2) only about 1 / scale - 1 / scale^2, and
#   the nearer to that, the rarer the one output that shows it: about 1 in 2 step scale^2. So a tenth shows only below
#   epsilon 0.3 or so, by tens of millions of outputs (an estimate); a third shows at epsilon 1, by one million.
SEEN_BY_EVIDENCE = {
    "discrete_gaussian": (Fraction(1, 2), DiscreteGaussian.examples()[0]),
    "ladder": (Fraction(2, 3), Example(Ladder(Fraction(2), 40, 3), (0, 1), (3, 2), range(0))),
}


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.name)
def test_a_mechanism_keeps_its_claim_and_less_noise_is_noticed(kind: type[Mechanism]) -> None:
    found = [check_mechanism(example) for example in kind.examples()]
    assert found, "a mechanism brings examples"
    assert any(verdict.by_law for verdict in found)
    assert all(verdict.by_fit for verdict in found)
    assert any(verdict.by_evidence for verdict in found) or kind.name in SEEN_BY_EVIDENCE


@pytest.mark.parametrize("name", SEEN_BY_EVIDENCE)
def test_where_evidence_misses_a_tenth_it_sees_what_is_said_and_the_honest_one_stands(name: str) -> None:
    """Seeded. False alarm of the honest one: 1e-9."""
    less, example = SEEN_BY_EVIDENCE[name]
    assert seen_by_evidence(example, less)
    assert not seen_by_evidence(example, Fraction(1), draws=200_000)


def test_names_are_unique() -> None:
    assert len({kind.name for kind in MECHANISMS}) == len(MECHANISMS)


@dataclass(frozen=True, slots=True)
class Overspent(KeyThreshold):
    """States half of the delta that it spends."""

    def loss(self) -> ApproxLoss:
        return replace(KeyThreshold.loss(self), delta=self.delta / 2)


def test_a_delta_that_is_overspent_fails() -> None:
    with pytest.raises(AssertionError, match="exceeds"):
        check_mechanism(Overspent.examples()[1], draws=10_000)
