"""Lines of leaves: estimates and variances against dense algebra, the square root's optimum, and which line is
chosen.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import InvariantBroken, Refused
from obverse.publish.quantiles.lines import (
    SCALE,
    Asked,
    Branches,
    Line,
    Sums,
    chosen,
    line_named,
    range_variance,
    roots,
    share_of_all,
    variances_of,
)

lines = st.one_of(st.builds(Sums, st.integers(1, 40)), st.builds(Branches, st.integers(2, 40), st.integers(2, 9)))


def dense(line: Line) -> list[Any]:
    cells = np.eye(line.leaves, dtype=np.int64)
    return [one.apply(cells, 0).astype(float) for one in line.maps()]


@settings(max_examples=80, deadline=None)
@given(lines, st.integers(0, 2**32 - 1), st.booleans())
def test_prefixes_and_their_variances_are_those_of_a_dense_least_squares(line: Line, seed: int, drop: bool) -> None:
    rng = np.random.default_rng(seed)
    maps = dense(line)
    own = rng.uniform(0.3, 4, len(maps))
    if drop and len(maps) > 1:  # a level that is not measured
        own[int(rng.integers(len(maps) - 1))] = math.inf
    measured = [np.where(np.isinf(v), 0.0, rng.normal(0, 5, (2, len(one)))) for one, v in zip(maps, own)]
    design = np.vstack([one / math.sqrt(v) for one, v in zip(maps, own)])
    answers = np.hstack([one / math.sqrt(v) for one, v in zip(measured, own)])
    covariance = np.linalg.inv(design.T @ design)
    running = np.tril(np.ones((line.leaves, line.leaves)))
    solved = np.linalg.lstsq(design, answers.T, rcond=None)[0].T
    weights = rng.normal(0, 1, line.leaves)
    variance, shared = line.against(own.tolist(), weights)
    assert np.allclose(line.prefixes(measured, own.tolist()), solved @ running.T)
    assert np.allclose(variance, np.diag(running @ covariance @ running.T))
    assert np.allclose(shared, running @ covariance @ weights)
    assert np.allclose(line.single(own.tolist()), np.diag(covariance))


def test_a_ranges_variance_is_that_of_the_sum_of_its_leaves() -> None:
    for line in (Sums(9), Branches(9, 3)):
        own = [0.5 + n for n in range(len(line.parts))]
        design = np.vstack([one / math.sqrt(v) for one, v in zip(dense(line), own)])
        covariance = np.linalg.inv(design.T @ design)
        for first, last in ((0, 0), (0, 8), (2, 6), (8, 8)):
            among = np.arange(first, last + 1)
            assert math.isclose(range_variance(line, own, (first, last)), covariance[np.ix_(among, among)].sum())


def test_each_map_covers_the_leaves_that_it_says() -> None:
    for line in (Sums(7), Branches(11, 3)):
        for place, one in enumerate(dense(line)):
            assert [(int(row.nonzero()[0][0]), int(row.nonzero()[0][-1])) for row in one] == line.covers(place)


def square_root(leaves: int) -> float:
    """The mean variance of a prefix at rho 1/2 by the exact square root, whose weights are real numbers."""
    weights = np.cumprod([1.0, *((2 * k - 1) / (2 * k) for k in range(1, leaves))])
    return float((weights**2).sum() * np.cumsum(weights**2).mean())


@pytest.mark.parametrize("leaves", [2, 91, 1024, 4096])
def test_whole_weights_cost_hardly_more_than_the_square_root_itself(leaves: int) -> None:
    line = Sums(leaves)
    (found,) = Asked(leaves).errors(line, variances_of(line, [1.0], squared=True))
    assert math.sqrt(found / square_root(leaves)) < 1.0005


def test_the_square_root_is_close_to_what_no_factorisation_can_beat() -> None:
    """|M|_* / n bounds every factorisation M = B A from below: |M|_* <= |B|_F |A|_F, and |A|_F^2 <= n |longest
    column|^2.
    """
    leaves = 1024
    least = float((0.5 / np.sin((2 * np.arange(1, leaves + 1) - 1) * np.pi / (4 * leaves + 2))).sum()) / leaves
    assert 1 < math.sqrt(square_root(leaves)) / least < 1.07


def test_the_weights_squared_as_a_series_are_ones() -> None:
    weights = np.array(roots(300)) / SCALE
    assert np.allclose(np.convolve(weights, weights)[:300], 1.0, atol=0.02)


@settings(max_examples=12, deadline=None)
@given(st.integers(2, 60), st.booleans(), st.booleans(), st.booleans())
def test_the_chosen_line_tells_every_leaf_and_errs_no_more_than_leaves_by_themselves(
    leaves: int, squared: bool, ranges: bool, single: bool
) -> None:
    asked = Asked(leaves, ((0, leaves // 2),) if ranges else (), single)
    line, shares = chosen(leaves, asked, squared=squared)
    assert shares[-1] > 0
    assert all(0 <= share <= 1 for share in shares)
    told = [float(share / sum(shares)) for share in shares]
    (cdf, *_) = asked.errors(line, variances_of(line, told, squared=squared))
    alone = (leaves + 1) / 2 * (1 if squared else 2)  # the mean variance of prefixes of leaves measured by themselves
    assert cdf <= alone * (1.35 if single else 1.1)


def test_gaussian_noise_takes_the_square_root_and_laplace_noise_a_weighted_tree() -> None:
    assert chosen(1024, Asked(1024), squared=True)[0] == Sums(1024)
    line, shares = chosen(1024, Asked(1024), squared=False)
    assert isinstance(line, Branches)
    assert line.branching == 16
    (error,) = Asked(1024).errors(line, variances_of(line, [float(s) for s in shares], squared=False))
    assert math.sqrt(error) < 11.0  # equal shares: 13.6
    assert chosen(1024, Asked(1024, (), True), squared=True)[0] == Branches(1024, 4)


def test_all_groups_are_measured_together_where_their_sum_would_err_much_more() -> None:
    assert share_of_all(1, squared=True) == share_of_all(1, squared=False) == 0
    assert share_of_all(3, squared=False) == 0  # under Laplace noise a small share is worth next to nothing
    assert Fraction(1, 10) < share_of_all(2, squared=True) <= share_of_all(100, squared=True) < Fraction(1, 2)
    assert share_of_all(100, squared=False) > 0


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["groups:sums", "groups:tree4.0"],
        ["groups:tree4.0"],
        ["all:sums"],
        ["groups:tree1.0"],
        ["groups:tree99.0"],
        ["groups:treex.1"],
        ["every:sums"],
        ["groups:sums.1"],
    ],
)
def test_names_that_measure_no_line_are_refused(names: list[str]) -> None:
    with pytest.raises(Refused) as refused:
        line_named(names, 20)
    assert refused.value.code == "bad_release"


def test_a_line_has_leaves_and_a_tree_branches() -> None:
    for make in (lambda: Sums(0), lambda: Branches(1, 2), lambda: Branches(5, 1)):
        with pytest.raises(InvariantBroken):
            make()
    assert Fraction(roots(2)[1], SCALE) == Fraction(1, 2)
