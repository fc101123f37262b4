"""Exact sums become released integers in the cells' public order, every cell with noise; anything odd is a defect."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from obverse.core.errors import InvariantBroken
from obverse.core.secret import Exact
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.pricing import Plan, with_mechanisms
from obverse.plan.release.noise import randomize, randomize_keys
from obverse.session.planning import Planned
from obverse.testing.noiseless import Identity, SeededRng

GROUPED = "SELECT kind, COUNT(*), SUM(age) FROM visits GROUP BY kind"  # a, b, c and NULL: four cells


@pytest.fixture
def costed(planned: Callable[..., Planned]) -> Plan:
    return planned(GROUPED).costed


def columns(places: list[int], *sums: list[int]) -> Exact[dict[str, np.ndarray]]:  # type: ignore[type-arg]
    held = {"k": np.array(places, dtype=np.int64)}
    return Exact(held | {f"m{i}": np.array(values, dtype=np.int64) for i, values in enumerate(sums)})


def test_rows_are_put_at_their_cells_place_whatever_their_order(costed: Plan) -> None:
    bare = with_mechanisms(costed, (Identity(), Identity()))
    found = randomize(columns([3, 0, 2], [30, 10, 20], [3, 1, 2]), bare, SeededRng(1))
    assert [found.sums[i].tolist() for i in range(2)] == [[10, 0, 20, 30], [1, 0, 2, 3]]


def test_absent_cells_get_noise_like_any_other(costed: Plan) -> None:
    noise = [randomize(columns([], [], []), costed, SeededRng(seed)) for seed in range(200)]
    for measure in range(2):
        drawn = np.stack([released.sums[measure] for released in noise])
        assert drawn.shape == (200, 4)
        assert all(len(set(drawn[:, cell].tolist())) > 3 for cell in range(4))


def test_cells_and_measures_are_noised_independently(costed: Plan) -> None:
    """Not one draw for all (false alarm below 1e-60: two independent columns of 200 draws never agree everywhere)."""
    noise = [randomize(columns([], [], []), costed, SeededRng(seed)) for seed in range(200)]
    drawn = np.stack([np.concatenate(list(released.sums.values())) for released in noise])
    for a in range(drawn.shape[1]):
        for b in range(a):
            assert not np.array_equal(drawn[:, a], drawn[:, b])


def test_the_noise_is_that_of_the_measures_own_mechanism(costed: Plan) -> None:
    quiet = DiscreteLaplace(1, Fraction(1, 50))
    found = randomize(columns([0], [7], [9]), with_mechanisms(costed, (quiet, costed.mechanisms[1])), SeededRng(3))
    assert found.sums[0].tolist() == [7, 0, 0, 0]
    assert found.sums[1].tolist() != [9, 0, 0, 0]


@pytest.mark.parametrize("places", [[0, 0], [1, 2, 1], [-1], [4], [2**40]])
def test_a_cell_that_stands_twice_or_is_none_of_the_plans_is_a_defect(places: list[int], costed: Plan) -> None:
    ones = [1] * len(places)
    with pytest.raises(InvariantBroken, match="cell"):
        randomize(columns(places, ones, ones), costed, SeededRng(1))


def test_sums_and_places_that_are_no_integers_are_a_defect(costed: Plan) -> None:
    good = np.array([0], dtype=np.int64)
    double = np.array([1.0])
    for held in ({"k": good, "m0": double, "m1": good}, {"k": double, "m0": good, "m1": good}):
        with pytest.raises(InvariantBroken):
            randomize(Exact(held), costed, SeededRng(1))


def test_a_sum_beyond_62_bits_is_a_defect(costed: Plan) -> None:
    with pytest.raises(InvariantBroken):
        randomize(columns([0], [2**63 - 1], [0]), costed, SeededRng(1))


def test_keys_may_come_in_any_order(planned: Callable[..., Planned]) -> None:
    costed = planned("SELECT note, COUNT(*) FROM visits GROUP BY note", delta=1e-6).costed
    columns = {
        "part": [0, -1, 0, -1], "id": [1, 1, 0, 0], "k": [0] * 4, "leaf": [0] * 4, "m": [9000, 9000, 1, 1],
    }  # fmt: skip
    exact = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
    found = randomize(Exact(exact | {"f0": np.array(["b", "b", "a", "a"], dtype=object)}), costed, SeededRng(1))
    assert [keys.tolist() for keys in found.keys] == [["b"]]
    assert found.sums[0].tolist() == [pytest.approx(9000, abs=500)]


def keyed(names: list[str], votes: list[int], sums: list[int]) -> Exact[dict[str, np.ndarray]]:  # type: ignore[type-arg]
    numbers = {"n": np.array(votes, dtype=np.int64), "m0": np.array(sums, dtype=np.int64)}
    return Exact(numbers | {"f0": np.array(names, dtype=object)})


def test_keys_come_in_batches_and_leave_in_the_order_of_their_values(planned: Callable[..., Planned]) -> None:
    costed = planned("SELECT note, COUNT(*) FROM visits GROUP BY note", delta=1e-6).costed
    batches = [keyed(["d", "b"], [9000, 1], [9000, 1]), keyed([], [], []), keyed(["a", "c"], [2, 8000], [2, 8000])]
    found = randomize_keys(batches, costed, SeededRng(1))
    assert [keys.tolist() for keys in found.keys] == [["c", "d"]]
    assert found.sums[0].tolist() == [pytest.approx(8000, abs=500), pytest.approx(9000, abs=500)]
    assert found.sums[0].tolist() != [8000, 9000]


def test_a_key_of_two_batches_is_a_defect(planned: Callable[..., Planned]) -> None:
    costed = planned("SELECT note, COUNT(*) FROM visits GROUP BY note", delta=1e-6).costed
    with pytest.raises(InvariantBroken, match="twice"):
        randomize_keys([keyed(["a"], [9000], [9000])] * 2, costed, SeededRng(1))


def test_keys_pass_by_chance_alike_whatever_the_batches(planned: Callable[..., Planned]) -> None:
    """At the threshold a key passes with chance P[Z >= 0]: 4,000 keys each way, false alarm below 1e-9 (6
    deviations).
    """
    costed = planned("SELECT note, COUNT(*) FROM visits GROUP BY note", delta=1e-6).costed
    assert costed.threshold is not None
    least = costed.threshold.threshold
    names = [f"{i:04}" for i in range(4000)]
    chance = float(costed.threshold.probability((least,), 1)[0])
    for size in (1, 7, 4000):
        pieces = [names[start : start + size] for start in range(0, 4000, size)]
        batches = (keyed(piece, [least] * len(piece), [0] * len(piece)) for piece in pieces)
        passed = randomize_keys(batches, costed, SeededRng(size)).cells
        assert abs(passed - 4000 * chance) < 6 * (4000 * chance * (1 - chance)) ** 0.5


def test_votes_and_sums_that_are_no_integers_are_a_defect(planned: Callable[..., Planned]) -> None:
    costed = planned("SELECT note, COUNT(*) FROM visits GROUP BY note", delta=1e-6).costed
    good = np.array([9], dtype=np.int64)
    double = np.array([1.0])
    name = np.array(["a"], dtype=object)
    for held in ({"n": good, "m0": double}, {"n": double, "m0": good}, {"n": good, "m0": np.repeat(good, 2)}):
        with pytest.raises(InvariantBroken):
            randomize_keys([Exact(held | {"f0": name})], costed, SeededRng(1))
