"""Every registered mechanism passes the suite; each check notices a tenth of the noise missing where it can."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from obverse.core.loss import ApproxLoss
from obverse.mechanisms import MECHANISMS, KeyThreshold, Mechanism
from obverse.testing.check_mechanism import Verdict, check_mechanism

UNSEEN_BY_EVIDENCE = {"discrete_gaussian"}  # the (epsilon, delta) that zCDP promises is not tight enough to refute


@pytest.fixture(scope="module")
def verdicts() -> dict[str, list[Verdict]]:
    return {kind.name: [check_mechanism(example) for example in kind.examples()] for kind in MECHANISMS}


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.name)
def test_a_mechanism_keeps_its_claim_and_less_noise_is_noticed(
    kind: type[Mechanism], verdicts: dict[str, list[Verdict]]
) -> None:
    found = verdicts[kind.name]
    assert found, "a mechanism brings examples"
    assert any(verdict.by_law for verdict in found)
    assert all(verdict.by_fit for verdict in found)
    assert any(verdict.by_evidence for verdict in found) or kind.name in UNSEEN_BY_EVIDENCE


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
