"""Ours on trial are not refuted, and their broken twins are; a claim that stands is never called verified.

Each trial has a false-alarm rate of 1e-6, and nothing is retried.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from obverse.core.rng import Rng
from obverse.local.protocols import PROTOCOLS
from obverse.mechanisms import MECHANISMS
from obverse.plan.aggregates import AGGREGATES
from obverse.testing.seeded import SeededRng
from obverse.testing.verify import aggregates, mechanisms, protocols, twins


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


def test_every_broken_twin_is_refuted(tmp_path: Path) -> None:
    for one in twins(SeededRng(4), tmp_path):
        found = one.verdict(20_000)
        assert found.refuted, (one.name, found.sentence)
        assert found.sentence.startswith("Refuted")


@pytest.mark.soak
def test_nothing_is_refuted_by_many_more_outputs(tmp_path: Path) -> None:
    trials = [*mechanisms(Rng()), *protocols(Rng()), *aggregates(Rng(), tmp_path)]
    assert len(trials) >= len(MECHANISMS) + len(PROTOCOLS) + len(AGGREGATES)
    for one in trials:
        found = one.verdict(1_000_000 if one.name.split()[0] in {kind.name for kind in MECHANISMS} else 100_000)
        assert not found.refuted, (one.name, found.sentence)
