"""Verdicts that rest on people outside or on shuffles: no single stranger decides them, and dependence blames
nobody.
"""

from __future__ import annotations

import numpy as np
import pytest

from obverse.attack.attacks import Intersection, Membership
from obverse.attack.finding import Finding

KINDS = np.array(["flu", "gout", "ulcer", "cancer"], dtype=object)


def averaged(generator: np.random.Generator, outsiders: int, leaks: bool, attributes: int = 400) -> Finding:
    """Averages of twenty people, or of twenty others; the first person outside looks as much like them as anybody
    can.
    """
    world = generator.beta(2, 2, attributes)
    people = (generator.random((40 + outsiders, attributes)) < world).astype(float)
    members = people[:20]
    others = people[20:40]
    outside = people[40:]
    averages = (members if leaks else others).mean(axis=0)
    outside[0] = averages > world
    return Membership().run(averages, world, members, outside)


@pytest.mark.parametrize("outsiders", [6, 12, 30])
def test_one_stranger_who_looks_like_a_member_acquits_no_averages(outsiders: int) -> None:
    """The threshold of so few people outside is the clearest of them; members are compared with all of them too."""
    found = averaged(np.random.default_rng(1), outsiders, leaks=True)
    assert (found.rate.wins, found.leaks, len(found.tests)) == (0, True, 2)


def test_members_of_other_averages_are_blamed_no_more_often_than_stated() -> None:
    """400 averages of other people, each blamed with a chance of at most 5 %: 36 or more in 1 of 1,000 runs."""
    assert sum(averaged(np.random.default_rng(seed), 20, leaks=False).leaks for seed in range(400)) < 36


def visited(generator: np.random.Generator, related: bool) -> Finding:
    """Two releases with classes of two secrets each, and fifteen people known of each class, who win or lose
    together.
    """
    zips = np.repeat(np.arange(8), 2).astype(str).astype(object)
    first = {"zip": zips, "ill": np.concatenate([KINDS[generator.permutation(4)[:2]] for _ in range(8)])}
    second = {"zip": zips, "ill": np.concatenate([KINDS[generator.permutation(4)[:2]] for _ in range(8)])}
    if related:
        other = [KINDS[~np.isin(KINDS, first["ill"][2 * place : 2 * place + 2])][0] for place in range(8)]
        second["ill"] = np.stack([first["ill"][::2], np.array(other, dtype=object)], axis=1).ravel()
    known = {"zip": np.repeat(np.arange(8), 15).astype(str).astype(object), "ill": np.repeat(first["ill"][::2], 15)}
    return Intersection().run(first, second, known, ("zip",), "ill", truth="ill")


def test_unrelated_releases_are_blamed_no_more_often_than_stated() -> None:
    """As many of them, as rarely; intervals of independent trials blamed every third, since fifteen people are one
    draw.
    """
    assert sum(visited(np.random.default_rng(seed), related=False).leaks for seed in range(400)) < 36


def test_releases_that_leave_one_secret_together_are_blamed() -> None:
    found = visited(np.random.default_rng(1), related=True)
    assert (found.rate.wins, found.rate.trials, found.leaks) == (120, 120, True)
    assert found.usual < 0.5


def test_two_rows_are_too_few_to_judge_an_intersection() -> None:
    first = {"zip": np.array(["1", "1"], dtype=object), "ill": KINDS[:2]}
    second = {"zip": np.array(["1", "1"], dtype=object), "ill": KINDS[[0, 2]]}
    known = {"zip": np.array(["1"], dtype=object), "ill": KINDS[:1]}
    found = Intersection().run(first, second, known, ("zip",), "ill", truth="ill")
    assert (found.rate.wins, found.verdict) == (1, "too few to judge")
