"""Quantiles from a noisy tree: exact without noise, intervals that cover, noise drawn once, bounds that hold.

Coverage tests treat each cell as one run. A binomial test fails an honest interval with chance below 1e-6 each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from obverse.core.errors import InvariantBroken
from obverse.core.rng import Rng
from obverse.mechanisms import DiscreteGaussian, DiscreteLaplace
from obverse.mechanisms.base import Additive
from obverse.plan.release import quantile_tree
from obverse.plan.release.quantile_tree import (
    NoisyTree,
    Quantiles,
    Spread,
    extreme,
    nearest,
    one_sided,
    percentile_cont,
    percentile_disc,
    spread,
)
from obverse.testing.noiseless import Identity, SeededRng
from obverse.testing.statistics import fits

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
LIGHT = settings(deadline=None, max_examples=60)
LAPLACE = DiscreteLaplace(1, Fraction(12))
GAUSS = DiscreteGaussian(Fraction(1), Fraction(200))


def grow(
    rows: list[list[int]], branching: int, height: int, mechanism: Additive, rng: Rng | None = None, one: int = 1
) -> NoisyTree:
    """A tree of cells, each a list of the leaves of its rows."""
    pairs = sorted((cell, leaf) for cell, leaves in enumerate(rows) for leaf in leaves)
    cell = np.array([c for c, _ in pairs], dtype=np.int64)
    leaf = np.array([v for _, v in pairs], dtype=np.int64)
    weight = np.full(len(pairs), one, dtype=np.int64)
    return NoisyTree(len(rows), branching, height, cell, leaf, weight, mechanism, rng or SeededRng(1))


def repeated(leaves: Integers, runs: int, branching: int, height: int, mechanism: Additive, seed: int = 1) -> NoisyTree:
    """The same cell many times, with noise of its own each time."""
    leaf, weight = np.unique(leaves, return_counts=True)
    cell = np.repeat(np.arange(runs), len(leaf))
    each = [np.tile(array, runs).astype(np.int64) for array in (leaf, weight)]
    return NoisyTree(runs, branching, height, cell, each[0], each[1], mechanism, SeededRng(seed))


def covers(held: NDArray[np.bool_], level: float) -> bool:
    """Whether as many runs hold as a coverage of `level` allows: a binomial test with false alarm 1e-6."""
    n = len(held)
    misses = int(np.count_nonzero(~held))
    logs = np.array([math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(misses)])
    k = np.arange(misses)
    fewer = np.exp(logs + k * math.log(1 - level) + (n - k) * math.log(level)).sum()
    return bool(1 - fewer > 1e-6)


# ------------------------------------------------------------------------------------------------- without noise

SHAPES = st.sampled_from([(2, 5), (4, 3), (16, 2), (3, 3)])
CELLS = st.lists(st.lists(st.integers(0, 26), min_size=1, max_size=30), min_size=1, max_size=5)
QS = st.lists(st.sampled_from([0.0, 0.01, 0.07, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.9, 0.99, 1.0]), min_size=1, max_size=3)


@LIGHT
@given(cells=CELLS, qs=QS, shape=SHAPES, one=st.sampled_from([1, 1024]))
def test_without_noise_the_interpolated_quantile_is_that_of_the_rows(
    cells: list[list[int]], qs: list[float], shape: tuple[int, int], one: int
) -> None:
    found = percentile_cont(grow(cells, *shape, Identity(), one=one), qs, 0.95, one=one)
    assert found.value == pytest.approx(np.array([[np.quantile(cell, q) for q in qs] for cell in cells]), abs=1e-9)
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()


@LIGHT
@given(cells=CELLS, qs=QS, shape=SHAPES)
def test_without_noise_the_discrete_quantile_is_the_least_value_that_reaches_its_share(
    cells: list[list[int]], qs: list[float], shape: tuple[int, int]
) -> None:
    def least(cell: list[int], q: float) -> int:
        share = Fraction(str(q)).limit_denominator(1000)
        index = max(-(-len(cell) * share.numerator // share.denominator), 1)
        return sorted(cell)[index - 1]

    found = percentile_disc(grow(cells, *shape, Identity()), qs, 0.95)
    assert found.value.tolist() == [[least(cell, q) for q in qs] for cell in cells]


@LIGHT
@given(cells=CELLS, shape=SHAPES)
def test_without_noise_extremes_are_exact(cells: list[list[int]], shape: tuple[int, int]) -> None:
    tree = grow(cells, *shape, Identity())
    top = extreme(tree, "max", 0.95)
    bottom = extreme(tree, "min", 0.95)
    assert top.value[:, 0].tolist() == [max(cell) for cell in cells]
    assert bottom.value[:, 0].tolist() == [min(cell) for cell in cells]
    assert (top.low == top.value).all()
    assert (bottom.high == bottom.value).all()
    assert (top.high == tree.leaves - 1).all()
    assert (bottom.low == 0).all()


def test_as_noise_goes_answers_go_to_the_exact_ones() -> None:
    cells = [[1, 5, 5, 9], [200, 3], [77]]
    for mechanism in (DiscreteLaplace(1, Fraction(1, 60)), DiscreteGaussian(Fraction(1), Fraction(1, 400))):
        tree = grow(cells, 4, 4, mechanism)
        assert percentile_cont(tree, [0.5], 0.95).value[:, 0].tolist() == [5, 101.5, 77]
        assert extreme(tree, "max", 0.95).value[:, 0].tolist() == [9, 200, 77]


# -------------------------------------------------------------------------------------------------------- the tree


def test_each_node_has_its_exact_count_and_one_noise_for_ever() -> None:
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, 64, size=200).tolist() for _ in range(3)]
    exact = grow(rows, 4, 3, Identity())
    noisy = grow(rows, 4, 3, LAPLACE)
    for level in (2, 0, 1):
        cell, node = np.divmod(rng.integers(0, 3 * 4**level, size=50), 4**level)
        width = 4 ** (2 - level)
        counts = exact.children(cell, node, level)
        for i, (c, v) in enumerate(zip(cell, node)):
            assert counts[i].tolist() == [sum(leaf // width == 4 * v + j for leaf in rows[c]) for j in range(4)]
        first = noisy.children(cell, node, level)
        again = noisy.children(cell[::-1].copy(), node[::-1].copy(), level)[::-1]
        assert np.array_equal(first, again)
        assert not np.array_equal(first, counts)


def test_noise_is_drawn_once_for_each_node_looked_at_and_for_no_other() -> None:
    drawn: list[int] = []

    class Counting(DiscreteLaplace):
        def sample(self, exact: Integers, rng: Rng) -> Integers:
            drawn.append(len(exact))
            return super().sample(exact, rng)

    tree = grow([[3, 60], [9]], 4, 3, Counting(1, Fraction(1)))
    tree.children(np.array([0, 1, 0]), np.array([2, 2, 2]), 1)
    tree.children(np.array([1, 0, 0]), np.array([2, 2, 3]), 1)
    assert drawn == [8, 4]


def test_the_noise_of_nodes_has_the_mechanisms_law() -> None:
    tree = repeated(np.array([5]), 40_000, 2, 3, DiscreteLaplace(1, Fraction(2)))
    cells = np.arange(40_000)
    counts = np.concatenate([tree.children(cells, np.full_like(cells, n), 2) for n in (0, 3)]).ravel()
    law = [float(tree.mechanism.probability((0,), z)[0]) for z in range(-40, 41)]
    assert fits(counts, -40, law)  # false alarm 1e-9


def test_trees_that_cannot_be_are_refused() -> None:
    one = np.ones(1, dtype=np.int64)
    bad: list[Callable[[], object]] = [
        lambda: NoisyTree(1, 2, 2, 0 * one, 4 * one, one, LAPLACE, Rng()),
        lambda: NoisyTree(1, 2, 2, one, one, one, LAPLACE, Rng()),
        lambda: NoisyTree(1, 2, 2, 0 * one, one, -one, LAPLACE, Rng()),
        lambda: NoisyTree(1, 2, 2, 0 * one, one, one.astype(float), LAPLACE, Rng()),  # type: ignore[arg-type]
        lambda: NoisyTree(1, 1, 2, 0 * one, 0 * one, one, LAPLACE, Rng()),
        lambda: NoisyTree(2**40, 2, 40, 0 * one, 0 * one, one, LAPLACE, Rng()),
        lambda: grow([[1]], 2, 2, LAPLACE).children(0 * one, 0 * one, 2),
        lambda: percentile_disc(grow([[1]], 2, 2, LAPLACE), [1.5], 0.9),
        lambda: percentile_disc(grow([[1]], 2, 2, LAPLACE), [0.5], 1.0),
        lambda: percentile_cont(grow([[1]], 2, 2, LAPLACE), [0.5], 0.9, one=0),
    ]
    for call in bad:
        with pytest.raises(InvariantBroken):
            call()


# -------------------------------------------------------------------------------------------- coefficients and bounds


def test_the_coefficients_of_the_noise_are_those_of_the_estimate() -> None:
    """Against the estimate itself, moved by one unit at each node in turn."""
    branching = 3
    height = 3
    q = 0.2

    def estimate(values: dict[tuple[int, int], float], x: int, level: int) -> float:
        """Left - q N at a border x of nodes of that level, by sharing out the parents' estimates."""
        total = count = sum(values[1, i] for i in range(branching))
        before = 0.0
        node = 0
        for depth in range(1, level + 1):
            noisy = [values[depth, node * branching + i] for i in range(branching)]
            shared = [v + (count - sum(noisy)) / branching for v in noisy]
            child = min(x // branching ** (height - depth) - node * branching, branching - (depth < level))
            before += sum(shared[:child])
            if depth < level:
                node = node * branching + child
                count = shared[child]
        return before - q * total

    nodes = [(depth, i) for depth in range(1, height + 1) for i in range(branching**depth)]
    for level, node in [(0, 0), (1, 0), (1, 2), (2, 0), (2, 4), (2, 7), (2, 8)]:
        found = spread(branching, np.array([node]), np.array([q]), level)
        for border in range(1, branching):
            x = (node * branching + border) * branching ** (height - level - 1)
            zero = dict.fromkeys(nodes, 0.0)
            moved = np.array([estimate(zero | {at: 1.0}, x, level + 1) for at in nodes])
            assert found.squares[0, border - 1] == pytest.approx((moved**2).sum())
            assert found.largest[0, border - 1] == pytest.approx((moved**2).max())
            assert found.magnitudes[0, border - 1] == pytest.approx(np.abs(moved).sum())


NOISES = [*(DiscreteLaplace(1, Fraction(s)) for s in ("1/3", "2", "40")), GAUSS, GAUSS.scaled(Fraction(1, 15))]
SUMS = [[1.0], [1.0, 1.0], [0.5] * 8, [0.9] * 3 + [0.1] * 40, [0.5] * 16 + [0.3] * 48]


@pytest.mark.parametrize("coefficients", SUMS, ids=lambda c: f"{len(c)} terms")
@pytest.mark.parametrize(
    "mechanism", [DiscreteLaplace(1, Fraction(s)) for s in ("1/3", "2", "40")] + [GAUSS, GAUSS.scaled(Fraction(1, 15))]
)
def test_sums_of_noises_stray_no_further_than_said(coefficients: list[float], mechanism: Additive) -> None:
    """150,000 sums per case, false alarm below 1e-6: six standard errors and six events."""
    n = 150_000 // max(1, len(coefficients) // 8)
    c = np.array(coefficients)
    sums = mechanism.noise(n * len(c), SeededRng(3)).reshape(n, len(c)) @ c
    figures = Spread(*(np.array([f]) for f in ((c**2).sum(), (c**2).max(), np.abs(c).sum())))
    for risk in (0.2, 0.02, 0.002):
        t = float(one_sided(figures, mechanism, risk)[0])
        for side in (sums, -sums):
            assert np.count_nonzero(side > t) <= n * risk + 6 * math.sqrt(n * risk) + 6


def test_bounds_for_many_noises_are_hardly_wider_than_they_must_be() -> None:
    c = np.array([0.5] * 16 + [0.3] * 48)
    figures = Spread(*(np.array([f]) for f in ((c**2).sum(), (c**2).max(), np.abs(c).sum())))
    for mechanism in (DiscreteLaplace(1, Fraction(10**4)), DiscreteGaussian(Fraction(1), Fraction(10**8))):
        sums = mechanism.noise(64 * 20_000, SeededRng(4)).reshape(-1, 64) @ c
        assert 0.97 < one_sided(figures, mechanism, 0.01)[0] / np.quantile(sums, 0.99) < 1.1


def test_an_unknown_noise_is_refused() -> None:
    class Uniform(Identity):
        def stddev(self) -> float:
            return 1.0

    with pytest.raises(InvariantBroken):
        percentile_disc(grow([[1]], 2, 2, Uniform()), [0.5], 0.9)


@LIGHT
@given(row=st.lists(st.floats(-50, 50), min_size=2, max_size=6), total=st.floats(0, 100))
def test_the_nearest_counts_are_a_projection(row: list[float], total: float) -> None:
    found = nearest(np.array([row]), np.array([total]))[0]
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, abs=1e-9)
    gaps = np.array(row) - found  # the same wherever an entry is positive, and no larger elsewhere
    if total > 1e-6:
        held = gaps[found > 1e-9]
        assert held.max() - held.min() < 1e-6
        assert (gaps <= held.max() + 1e-6).all()


# -------------------------------------------------------------------------------------------------------- coverage

RUNS = 3000


def distributions() -> dict[str, Integers]:
    rng = np.random.default_rng(5)
    return {
        "spread": rng.integers(0, 4096, size=3000),
        "skewed": np.minimum(np.exp(rng.normal(3, 1.2, size=3000)), 4095).astype(np.int64),
        "tied": np.repeat([7, 2048, 2049, 4000], [900, 100, 1900, 100]),
        "halves": np.repeat([1000, 3000], [1500, 1500]),
        "tiny": np.array([900, 901, 3000]),
        "single": np.array([4095]),
    }


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSS], ids=lambda m: m.name)
@pytest.mark.parametrize("shape", distributions())
def test_intervals_hold_the_true_quantile(shape: str, mechanism: Additive) -> None:
    leaves = distributions()[shape]
    qs = [0.01, 0.1, 0.5, 0.75, 0.99]
    tree = repeated(leaves, RUNS, 16, 3, mechanism, seed=len(shape))
    truths: list[tuple[Quantiles, list[float]]] = [
        (percentile_disc(tree, qs, 0.8), [float(np.quantile(leaves, q, method="inverted_cdf")) for q in qs]),
        (percentile_cont(tree, qs, 0.8), [float(np.quantile(leaves, q)) for q in qs]),
    ]
    for found, truth in truths:
        held = (found.low <= np.array(truth)) & (np.array(truth) <= found.high)
        assert all(covers(held[:, i], 0.8) for i in range(len(qs)))
        assert (found.low <= found.value).all()
        assert (found.value <= found.high).all()


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSS], ids=lambda m: m.name)
@pytest.mark.parametrize("shape", distributions())
def test_intervals_hold_the_true_extremes(shape: str, mechanism: Additive) -> None:
    leaves = distributions()[shape]
    tree = repeated(leaves, RUNS, 16, 3, mechanism, seed=len(shape))
    top = extreme(tree, "max", 0.8)
    bottom = extreme(tree, "min", 0.8)
    assert covers((top.low <= leaves.max())[:, 0], 0.8)
    assert covers((bottom.high >= leaves.min())[:, 0], 0.8)
    for found in (top, bottom):
        assert ((found.low <= found.value) & (found.value <= found.high)).all()


def test_the_coverage_tests_notice_margins_that_are_too_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantile_tree, "one_sided", lambda *given: 0.3 * one_sided(*given))
    leaves = distributions()["spread"]
    found = percentile_disc(repeated(leaves, RUNS, 16, 3, LAPLACE), [0.5], 0.8)
    truth = np.quantile(leaves, 0.5, method="inverted_cdf")
    assert not covers(((found.low <= truth) & (truth <= found.high))[:, 0], 0.8)
    top = extreme(repeated(np.array([3]), RUNS, 16, 3, LAPLACE), "max", 0.8)
    assert not covers((top.low <= 3)[:, 0], 0.8)


def test_intervals_are_short_where_counts_are_large() -> None:
    """Fifty thousand rows: the interval spans a few percent of the ranks, the estimate errs by a few in a thousand."""
    leaves = np.random.default_rng(6).integers(0, 65536, size=50_000)
    found = percentile_disc(repeated(leaves, 50, 16, 4, DiscreteLaplace(40, Fraction(40))), [0.1, 0.5, 0.9], 0.95)
    ranks = [np.searchsorted(np.sort(leaves), v) for v in (found.low, found.value, found.high)]
    assert np.median(ranks[2] - ranks[0]) < 1500
    assert np.abs(ranks[1] - 50_000 * np.array([0.1, 0.5, 0.9])).mean() < 200


def test_an_empty_cell_gets_an_answer_within_the_domain_and_a_wide_interval() -> None:
    tree = NoisyTree(200, 16, 3, *[np.empty(0, dtype=np.int64)] * 3, LAPLACE, SeededRng(7))
    found = percentile_cont(tree, [0.25, 0.5], 0.95)
    assert ((found.value >= 0) & (found.value <= tree.leaves - 1)).all()
    assert np.median(found.high - found.low) > 0.9 * tree.leaves
    silent = NoisyTree(2, 16, 3, *[np.empty(0, dtype=np.int64)] * 3, Identity(), SeededRng(7))
    assert (percentile_disc(silent, [0.5], 0.95).value == 8 * 256 + 8 * 16 + 8).all()


def test_fractional_weights_count_as_parts_of_rows() -> None:
    """Two rows of half weight at one place are one row; many of them err like one."""
    half = NoisyTree(
        1, 4, 2, *(np.array(a, dtype=np.int64) for a in ([0] * 4, [1, 1, 6, 9], [4, 4, 8, 8])), Identity(), Rng()
    )
    assert percentile_cont(half, [0.0, 0.5, 0.75, 1.0], 0.95, one=8).value[0].tolist() == [1, 6, 7.5, 9]
    assert list(itertools.chain(*percentile_disc(half, [0.3, 0.34, 0.67], 0.95).value.tolist())) == [1, 6, 9]


@pytest.mark.parametrize("there", [40, 3])  # most leaves, or few of them
def test_leaves_may_come_in_any_order(there: int) -> None:
    rng = np.random.default_rng(5)
    place = rng.choice(3 * 16, size=there, replace=False)
    weight = rng.integers(1, 2**40, size=there)
    several = np.concatenate((place, place[:1]))  # one of them in two parts
    for places, weights in ((place, weight), (several, np.concatenate((weight, [7])))):
        order = np.argsort(places)
        trees = [
            NoisyTree(3, 4, 2, chosen // 16, chosen % 16, those, Identity(), Rng())
            for chosen, those in ((places, weights), (places[order], weights[order]))
        ]
        exact = np.bincount(places, weights.astype(float), 48).reshape(3, 4, 4).sum(axis=2)
        for tree in trees:
            assert tree.children(np.arange(3), np.zeros(3, dtype=np.int64), 0).tolist() == exact.tolist()


def test_thousands_of_cells_are_one_vector_operation_per_level() -> None:
    rng = np.random.default_rng(8)
    place = np.unique(rng.integers(0, 4000 * 65536, size=200_000))
    weight = np.ones_like(place)
    tree = NoisyTree(4000, 16, 4, place // 65536, place % 65536, weight, LAPLACE, SeededRng(9))
    assert percentile_cont(tree, [0.25, 0.5, 0.75], 0.95).value.shape == (4000, 3)
