"""Ours on trial are not refuted, and their broken twins are; a claim that stands is never called verified.

Each trial has a false-alarm rate of 1e-6, and nothing is retried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest

from obverse.collect.protocols import PROTOCOLS
from obverse.core.rng import Rng
from obverse.mechanisms import MECHANISMS, DiscreteLaplace
from obverse.plan.aggregates import AGGREGATES
from obverse.publish.registry import METHODS
from obverse.review.targets import Inputs, Target, of_mechanism
from obverse.testing.conformance.release import releases
from obverse.testing.noiseless import SeededRng
from obverse.testing.verify import aggregates, everything, mechanisms, methods, protocols, twins


def test_no_mechanism_is_refuted_and_the_bound_comes_near() -> None:
    near = 0.0
    for one in mechanisms(SeededRng(1)):
        found = one.verdict(20_000)
        assert not found.refuted, (one.name, found.sentence)
        near = max(near, found.evidence.epsilon / (found.claimed or 1))
    assert near > 0.8


def test_no_local_protocol_is_refuted() -> None:
    names = set()
    for one in protocols(SeededRng(2)):
        found = one.verdict(4_000)
        assert not found.refuted, (one.name, found.sentence)
        assert found.evidence.epsilon > 0.1, (one.name, found.sentence)
        names.add(one.name)
    assert names == {kind.name for kind in PROTOCOLS}


def test_no_aggregate_is_refuted(tmp_path: Path) -> None:
    names = set()
    for one in aggregates(SeededRng(3), tmp_path):
        found = one.verdict(2_000)
        assert not found.refuted, (one.name, found.sentence)
        names.add(one.name)
    assert names == {aggregate.name for aggregate in AGGREGATES}


def outputs(name: str) -> int:
    """A course spreads its loss over many steps: it takes more outputs to see half of its noise missing at epsilon
    1.
    """
    return 80_000 if name.startswith("synthetic") else 20_000


def test_every_broken_twin_is_refuted(tmp_path: Path) -> None:
    for one in twins(SeededRng(4), tmp_path):
        found = one.verdict(outputs(one.name))
        assert found.refuted, (one.name, found.sentence)
        assert found.sentence.startswith("Refuted")


@dataclass
class Table:
    """A release of two counts, whose noise is or is not what it claims."""

    name: str
    scale: Fraction

    def on_trial(self, rng: Rng) -> Target:
        target = of_mechanism(DiscreteLaplace(1, self.scale), Inputs(((3, 0), (4, 0))), rng)
        return replace(target, epsilon=1.0)


def test_whatever_says_how_it_is_tried_can_be_put_on_trial() -> None:
    honest, broken = methods((Table("honest", Fraction(1)), Table("broken", Fraction(1, 2))), SeededRng(5))
    assert not honest.verdict(20_000).refuted
    assert broken.verdict(20_000).refuted
    assert broken.name == "broken"


@pytest.mark.soak
def test_nothing_is_refuted_by_many_more_outputs(tmp_path: Path) -> None:
    trials = list(everything(Rng(), tmp_path))
    assert len(trials) >= len(MECHANISMS) + len(PROTOCOLS) + len(AGGREGATES)
    for one in trials:
        found = one.verdict(1_000_000 if one.name.split()[0] in {kind.name for kind in MECHANISMS} else 100_000)
        assert not found.refuted, (one.name, found.sentence)


def test_no_release_method_is_refuted_and_each_shows_some_loss(tmp_path: Path) -> None:
    """False alarm: 1e-6 for each method. With half of the noise the same trial refutes each (broken twins)."""
    names = set()
    for one in methods(releases(tmp_path), SeededRng(6)):
        found = one.verdict(outputs(one.name))
        assert not found.refuted, (one.name, found.sentence)
        assert found.evidence.epsilon > 0.3, (one.name, found.sentence)
        names.add(one.name)
    assert names == {method.name for method in METHODS}
