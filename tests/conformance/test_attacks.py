"""Each attack finds the leak that is planted for it, and does not blame a target that has none."""

from __future__ import annotations

import numpy as np
import pytest

from obverse.attack.attacks import ATTACKS

SEED = 20261116  # of what the targets are made of, so that a failure can be seen again


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_planted_leak_is_found(attack) -> None:
    found = attack.planted(np.random.default_rng(SEED))
    assert found.leaks, found
    assert found.sentence.endswith(".")
    assert found.as_json()["leaks"] is True


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_honest_target_is_not_blamed(attack) -> None:
    """A target is blamed wrongly with a chance of at most alpha; the seed is fixed, so this does not flicker."""
    found = attack.honest(np.random.default_rng(SEED))
    assert not found.leaks, found
    assert 0 <= found.interval[0] <= found.rate.value <= found.interval[1] <= 1
