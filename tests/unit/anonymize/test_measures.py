"""Secrets guessed from classes: compared with guessing one person after the other."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from obverse.anonymize.measures import by_both, by_class
from obverse.anonymize.recoding import Recoded, unchanged
from tests.unit.anonymize.tables import table


def drawn(seed: int, column: str = "a") -> Recoded:
    """Sixty people in classes of one to some; the same people, by another column, for another release."""
    random = np.random.default_rng(seed)
    columns = {
        "a": random.integers(0, 14, 60).astype(str).tolist(),
        "b": random.integers(0, 9, 60).astype(str).tolist(),
    }
    secrets = random.choice(list("wxyz"), 60, p=[0.5, 0.3, 0.1, 0.1]).tolist()
    return unchanged(table({"q": columns[column]}, {"s": secrets}))


def usual(values: list[int]) -> int | None:
    """The most frequent, the least of several."""
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value), default=None)


@pytest.mark.parametrize("seed", range(30))
def test_guesses_with_and_without_the_own_row_are_those_of_a_loop(seed: int) -> None:
    recoded = drawn(seed)
    index = recoded.index.tolist()
    secrets = recoded.table.sensitive[0].codes.tolist()
    right = without = 0
    for person, (mine, secret) in enumerate(zip(index, secrets)):
        here = [s for i, s in zip(index, secrets) if i == mine]
        others = [s for p, (i, s) in enumerate(zip(index, secrets)) if i == mine and p != person]
        right += usual(here) == secret
        without += (usual(others) if others else usual(secrets)) == secret
    assert by_class(recoded, 0) == (right, without, len(secrets))


@pytest.mark.parametrize("seed", range(30))
def test_two_releases_leave_what_both_allow(seed: int) -> None:
    one = drawn(seed)
    other = drawn(seed, "b")
    secrets = one.table.sensitive[0].codes.tolist()
    allowed = [
        [{s for j, s in zip(release.index, secrets) if j == i} for i in release.index.tolist()]
        for release in (one, other)
    ]
    wanted = sum(len(a & b) == 1 and len(a) > 1 and len(b) > 1 for a, b in zip(*allowed))
    assert by_both(one, other, 0) == wanted


def test_some_people_are_decided_by_two_releases_alone() -> None:
    assert sum(by_both(drawn(seed), drawn(seed, "b"), 0) for seed in range(30)) > 50
