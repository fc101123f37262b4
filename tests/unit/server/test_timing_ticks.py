"""Answers leave at ticks that were chosen before any row was read."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.server.errors import TooMany
from obverse.server.rate_limits import Buckets
from obverse.server.timing import Departure, begun_at, first_tick, tick_after, ticks


def test_ticks_are_one_two_five_and_ten_times_that() -> None:
    assert [round(tick, 9) for tick in islice(ticks(), 8)] == [0.1, 0.2, 0.5, 1, 2, 5, 10, 20]


@given(st.floats(0, 1e4))
def test_a_tick_is_the_first_that_is_twice_the_prediction(predicted: float) -> None:
    tick = first_tick(predicted)
    assert tick >= 2 * predicted
    assert all(one < 2 * predicted for one in ticks_below(tick))


@given(st.floats(0, 1e3), st.floats(0, 1e3))
def test_only_an_overrun_waits_for_the_next(predicted: float, elapsed: float) -> None:
    first = first_tick(predicted)
    assert tick_after(first, elapsed) == (first if elapsed <= first else next(t for t in ticks() if t >= elapsed))


class Clock:
    """Time that passes only while somebody sleeps or works."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("obverse.server.timing.monotonic", lambda: self.now)
        monkeypatch.setattr("obverse.server.timing.sleep", self.passes)

    def passes(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


@pytest.mark.parametrize(
    ("planning", "running", "storing", "leaves"),
    [
        (0.0, 0.0, 0.0, 0.2),
        (0.004, 0.05, 0.002, 0.21),
        (0.0061, 0.19, 0.0093, 0.21),  # neither planning nor what ran nor storing shows
        (0.004, 0.05, 0.014, 0.22),
        (0.033, 0.05, 0.002, 0.24),  # it waited for its slot
        (0.004, 0.3, 0.002, 0.51),  # it outran its tick
    ],
)
def test_neither_planning_nor_storing_shows_in_when_a_reply_leaves(
    monkeypatch: pytest.MonkeyPatch, planning: float, running: float, storing: float, leaves: float
) -> None:
    clock = Clock(monkeypatch)
    clock.passes(planning)
    departure = Departure(0.2, begun_at(1000.0))
    clock.passes(running)
    departure.wait()
    departure.wait()  # once is all
    clock.passes(storing)
    departure.settle()
    assert clock.now - 1000.0 == pytest.approx(leaves, abs=1e-6)
    assert departure.rest_s() == 0


def test_what_was_not_charged_waits_for_the_first_tick_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    departure = Departure(5.0, clock.now)
    clock.passes(0.03)
    departure.settle()
    assert clock.now == 1000.03
    assert departure.rest_s() == pytest.approx(0.07)


def ticks_below(most: float) -> list[float]:
    found = []
    for tick in ticks():
        if tick >= most:
            return found
        found.append(tick)
    return found


def test_requests_are_counted_and_the_bucket_fills_again() -> None:
    now = [0.0]
    buckets = Buckets(60, clock=lambda: now[0])
    for _ in range(15):
        buckets.take("ana")
    with pytest.raises(TooMany) as refused:
        buckets.take("ana")
    assert refused.value.code == "too_many_requests"
    assert 0 < refused.value.wait_s <= 1
    buckets.take("ben")
    now[0] += 1.01
    buckets.take("ana")
    with pytest.raises(TooMany):
        buckets.take("ana")
