"""Bounds on places: kept on generated trees, by the nearest whole numbers there are, and told where they leave no
room.
"""

from __future__ import annotations

import itertools
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import Refused
from obverse.publish.hierarchy.bounds import Bound, bound_of, limits_of, nearest, programs
from obverse.publish.hierarchy.spine import Spine
from obverse.publish.hierarchy.topdown import constrained
from tests.unit.publish.hierarchy.test_spine import spines, sums

SMALL = Spine(("all", "leaf"), (np.zeros(2, dtype=np.int64),))


def bound(level: int, cells: Any, numbers: Any, *, least: bool) -> Bound:
    return Bound("public", level, np.array(cells, dtype=bool), np.array(numbers, dtype=np.int64), least)


@settings(max_examples=40, deadline=None)
@given(spines(), st.integers(1, 3), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_bounds_that_hold_of_the_truth_are_kept_and_children_add_up(
    spine: Spine, cells: int, seed: int, hold: bool, noisy: bool
) -> None:
    """One set of cells at several levels always leaves room. Without noise the truth comes back as it is."""
    rng = np.random.default_rng(seed)
    truth = sums(spine, rng.poisson(2.0, (cells, spine.sizes[-1])))
    chosen = rng.random(cells) < 0.6
    bounds = []
    for level in range(len(spine.sizes)):
        there = truth[level][chosen].sum(axis=0)
        bounds.append(bound(level, chosen, np.maximum(there - rng.integers(0, 2, len(there)), 0), least=True))
        bounds.append(bound(level, chosen, there + rng.integers(0, 2, len(there)), least=False))
    held = (1, truth[1].sum(axis=0)) if hold else None
    bounds = [one for one in bounds if not hold or one.level >= 1]
    estimates = sums(spine, truth[-1] + rng.normal(0, 3 if noisy else 0, truth[-1].shape))
    limits = limits_of(spine, bounds)
    found, missed = constrained(spine, estimates, held, limits)
    assert not missed
    for level, one in enumerate(found):
        assert one.min() >= 0
        assert not any(limit.broken(one).any() for limit in limits[level])
        if level:
            assert (np.add.reduceat(one, spine.starts(level), axis=-1) == found[level - 1]).all()
    if held is not None:
        assert (found[1].sum(axis=0) == held[1]).all()
    if not noisy:
        assert all((a == b).all() for a, b in zip(found, truth))


@settings(max_examples=40, deadline=None)
@given(spines(), st.integers(0, 2**32 - 1))
def test_sets_of_cells_that_overlap_are_kept_and_where_sums_fail_it_is_told(spine: Spine, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = sums(spine, rng.poisson(2.0, (3, spine.sizes[-1])))
    last = len(spine.sizes) - 1
    bounds = [
        bound(last, cells, truth[last][np.array(cells, dtype=bool)].sum(axis=0), least=least)
        for cells in ([1, 1, 0], [0, 1, 1])
        for least in (True, False)
    ]
    limits = limits_of(spine, bounds)
    found, missed = constrained(spine, sums(spine, truth[-1] + rng.normal(0, 3, truth[-1].shape)), None, limits)
    assert not any(limit.broken(found[last]).any() for limit in limits[last])
    for level in range(1, last + 1):
        apart = np.abs(np.add.reduceat(found[level], spine.starts(level), axis=-1) - found[level - 1]).sum(axis=0)
        assert {node: int(apart[node]) for node in np.flatnonzero(apart)} == {
            node: by for (above, node), by in missed.items() if above == level - 1
        }


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=4, max_size=4), st.lists(st.integers(0, 6), min_size=4, max_size=4))
def test_the_program_finds_the_nearest_whole_numbers_that_miss_sums_by_the_least(
    target: list[int], ends: list[int]
) -> None:
    """Against all whole numbers of two cells in two places."""
    at = np.array(target).reshape(2, 2)
    low = np.minimum(ends[:2], ends[2:])
    high = np.maximum(ends[:2], ends[2:])
    found, apart = nearest(at, [(np.array([True, True]), low, high)], np.array([3, 2]), by_cell=True)
    best = min(
        (int(np.abs(x.sum(axis=1) - [3, 2]).sum()), int(np.abs(x - at).sum()))
        for x in (np.array(one).reshape(2, 2) for one in itertools.product(range(9), repeat=4))
        if (x.sum(axis=0) >= low).all() and (x.sum(axis=0) <= high).all()
    )
    assert (apart, int(np.abs(found - at).sum())) == best
    assert (found.sum(axis=0) >= low).all()
    assert (found.sum(axis=0) <= high).all()


def test_bounds_come_back_from_their_json_and_those_that_contradict_each_other_are_refused() -> None:
    first = bound(1, [1, 0], [3, 4], least=True)
    assert bound_of(first.as_json()).as_json() == first.as_json()
    with pytest.raises(Refused) as refused:
        limits_of(SMALL, [first, bound(0, [1, 0], [6], least=False)])
    assert refused.value.code == "bad_bounds"


def test_what_bounds_need_is_asked_for_by_an_extra_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(Refused) as refused:
        programs()
    assert refused.value.code == "extra_missing"
    name = (refused.value.fix or "").partition("[")[2].partition("]")[0]
    extras = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert any(one.startswith("scipy") for one in extras[name])
    assert name in extras["all"][0]
