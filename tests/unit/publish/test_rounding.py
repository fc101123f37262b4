"""Whole numbers without negatives, near unbiased estimates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.publish.rounding import on_simplex, together, whole
from obverse.publish.workload import Attribute, Workload


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30), st.integers(0, 200))
def test_the_projection_is_the_nearest_point_without_negatives(values: list[float], total: int) -> None:
    given_ = np.array(values)
    found = on_simplex(given_, float(total))
    assert found.min() >= 0
    assert abs(found.sum() - total) < 1e-6
    if total:  # the conditions of Karush, Kuhn and Tucker: one multiplier where positive, not less elsewhere
        moved = given_ - found
        inside = moved[found > 1e-9]
        assert np.ptp(inside) < 1e-6
        assert (moved[found <= 1e-9] <= inside.max() + 1e-6).all()


@given(st.lists(st.floats(0, 50), min_size=1, max_size=30))
def test_rounding_moves_no_entry_by_one_and_keeps_the_total(values: list[float]) -> None:
    given_ = np.array(values)
    total = round(given_.sum())
    found = whole(given_, total)
    assert found.sum() == total
    assert found.min() >= 0
    assert (np.abs(found - given_) <= 1 + 1e-6).all()


@pytest.mark.parametrize("total", [0.0, -3.0, 0.4])
def test_a_total_that_is_not_positive_is_nobody(total: float) -> None:
    workload = Workload((Attribute("a", (1, 2)), Attribute("b", (1, 2, 3))), ((0,), (1,)))
    found, agree = together(workload, {(0,): np.array([1.0, -4.0]), (1,): np.array([-1.0, -1.0, -1.0])}, total)
    assert agree
    assert all(not table.any() for table in found.values())


def test_tables_over_too_many_cells_agree_in_their_total_alone() -> None:
    workload = Workload(tuple(Attribute(n, tuple(range(2000))) for n in "ab"), ((0,), (1,)))
    rng = np.random.default_rng(1)
    found, agree = together(workload, {(0,): rng.normal(3, 5, 2000), (1,): rng.normal(3, 5, 2000)}, 6000.2)
    assert not agree
    assert [int(table.sum()) for table in found.values()] == [6000, 6000]
