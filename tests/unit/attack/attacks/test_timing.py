from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from obverse.attack.attacks import Timing
from obverse.attack.attacks.timing import chance_of_slower, learned, measured
from obverse.attack.finding import ALPHA
from obverse.attack.lower_bound.binomial import lower
from obverse.core.errors import Refused


class Clock:
    """A clock that goes on by what each reply costs, and by nothing else."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, machine: Callable[[], float]) -> None:
        self.now = 0.0
        self.machine = machine
        monkeypatch.setattr("obverse.attack.attacks.timing.time.perf_counter", lambda: self.now)

    def costing(self, extra: float) -> Callable[[int], object]:
        def reply(number: int) -> object:
            self.now += self.machine() + extra
            return float(number)

        return reply


@pytest.mark.parametrize("count", [5, 8, 10, 25, 60, 200])
def test_whatever_the_times_are_a_side_that_does_not_matter_is_blamed_with_a_chance_of_at_most_alpha(
    count: int,
) -> None:
    """Exactly, for each number k of the 2 * count replies that lie above the limit: no chance is left to this test."""
    least = next(wins for wins in range(2 * count + 2) if wins > 2 * count or lower(wins, 2 * count, ALPHA / 2) > 0.5)
    for k in range(2 * count + 1):
        blamed = sum(
            math.comb(count, h) * math.comb(count, k - h)
            for h in range(min(k, count) + 1)
            if count - k + 2 * h >= least
        )
        assert Fraction(blamed, math.comb(2 * count, k)) <= Fraction(repr(ALPHA)), (count, k)


def test_equal_times_lie_on_the_same_side_of_the_limit() -> None:
    ticks = np.array([0.1, 0.1, 0.2, 0.2])
    assert learned(ticks, np.full(4, 0.1)) == (pytest.approx(0.15), True)
    assert learned(np.full(4, 0.1), ticks) == (pytest.approx(0.15), False)
    same = Timing().run(np.full(40, 0.1), np.full(40, 0.1))
    assert (same.rate.wins, same.rate.trials, same.leaks, same.figures["auc"]) == (20, 40, False, 0.5)


def test_replies_that_are_far_apart_are_told_apart_though_quick_ones_vary_among_themselves() -> None:
    """The quick ones that are guessed are all slower than those that teach; a limit close to these would blame them."""
    quick = np.tile([1e-6, 3e-6], 10)
    slow = np.full(20, 0.01)
    found = Timing().run(slow, quick)
    assert (found.rate.wins, found.leaks) == (20, True)


def test_quantised_times_give_away_as_much_as_they_tell() -> None:
    """One tick more for every reply with the person, and for half of those without: three of four are told apart."""
    found = Timing().run(np.full(400, 0.2), np.tile([0.1, 0.1, 0.2, 0.2], 100))
    assert (found.leaks, found.rate.value, found.figures["auc"]) == (True, 0.75, 0.75)
    assert found.figures["median_with_ms"] == pytest.approx(200)


def test_a_faster_reply_is_as_good_as_a_slower_one() -> None:
    generator = np.random.default_rng(3)
    faster = generator.normal(0.004, 0.0005, 400)
    usual = generator.normal(0.005, 0.0005, 400)
    found = Timing().run(faster, usual)
    assert found.leaks
    assert "faster" in found.sentence
    assert found.figures["auc"] < 0.2


def test_the_area_is_the_chance_that_a_pair_is_in_order() -> None:
    generator = np.random.default_rng(4)
    one = generator.integers(0, 6, 30) / 10
    two = generator.integers(0, 5, 20) / 10
    pairs = [(a > b) + (a == b) / 2 for a, b in itertools.product(one, two)]
    assert chance_of_slower(one, two) == pytest.approx(np.mean(pairs))
    assert chance_of_slower(np.array([]), two) == 0.5


def test_drift_and_bursts_of_the_machine_are_no_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 runs, each blamed wrongly with a chance of at most 5 %: more than 20 with one below 0.1 %; the seeds are
    fixed.
    """
    blamed = 0
    for seed in range(200):
        generator = np.random.default_rng([seed, 1])
        steps = itertools.count()
        drift = lambda: 0.004 + 1e-5 * next(steps) + 0.003 * (next(steps) % 37 < 12) + generator.exponential(1e-4)  # noqa: B023, E731
        clock = Clock(monkeypatch, drift)
        blamed += Timing(60).ask(clock.costing(0.0), clock.costing(0.0), seed=seed).leaks
    assert blamed <= 20


def test_a_little_time_is_found_under_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine gets slower by four times what the person costs; the person is found all the same, with these
    seeds.
    """
    generator = np.random.default_rng(5)
    steps = itertools.count()
    clock = Clock(monkeypatch, lambda: 0.004 + 4e-7 * next(steps) + generator.exponential(2e-4))
    found = Timing(1000).ask(clock.costing(2e-4), clock.costing(0.0))
    assert found.leaks
    assert found.figures["auc"] > 0.55


def test_both_sides_get_the_same_questions_in_each_half() -> None:
    asked: dict[str, list[int]] = {"with": [], "without": []}
    order: list[str] = []

    def side(name: str) -> Callable[[int], object]:
        def reply(number: int) -> object:
            asked[name].append(number)
            order.append(name)
            return 1.0

        return reply

    times = measured(side("with"), side("without"), 40, 7)
    assert asked["with"] == asked["without"] == list(range(1, 41))
    assert [len(one) for one in times] == [40, 40]
    assert order[::2].count("with") == order[1::2].count("with") == 20
    assert order[::2] != order[1::2]


def test_an_interface_that_stops_answering_is_not_timed() -> None:
    with pytest.raises(Refused) as refused:
        Timing(20).ask(lambda number: 1.0 if number < 5 else None, lambda number: 1.0)
    assert refused.value.code == "not_answered"
