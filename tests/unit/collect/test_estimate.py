"""Estimates: intervals that cover, tests that are corrected, the worst that liars can do, and plans that come true."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from obverse.collect.estimate import corrected, estimate, quantile, simplex, worst_shift
from obverse.collect.planning import deviation, foresee, people_needed
from obverse.collect.protocols import Direct, Hadamard, LocalHash, Unary
from obverse.collect.simulate import simulated
from obverse.collect.tally import Tally, tallied
from obverse.core.errors import Refused
from obverse.testing.noiseless import SeededRng
from tests.unit.collect.surveys import spec_for

OPTIONS = [chr(97 + i) for i in range(8)]
PEOPLE = [3000, 1500, 800, 400, 200, 60, 40, 0]


def told(spec, rng, people=PEOPLE) -> Tally:
    codes = np.repeat(np.array(spec.codes(), dtype=np.uint64), people)
    return tallied(spec.digest, spec.protocol, spec.protocol.reports(codes, rng))


@pytest.mark.parametrize("protocol", ["direct", "unary", "local_hash", "hadamard"])
def test_intervals_cover_as_often_as_they_say(protocol: str) -> None:
    """400 intervals of 90 %: fewer than 322 or more than 392 cover with a chance below 1e-6; all at once far more."""
    spec = spec_for(OPTIONS, protocol)
    rng = SeededRng(11)
    truth = np.array(PEOPLE) / sum(PEOPLE)
    covered = wide = 0
    for _ in range(50):
        tally = told(spec, rng)
        for rows, name in ((estimate(spec, tally, level=0.9).rows, "each"),
                           (estimate(spec, tally, level=0.9, simultaneous=True).rows, "all")):  # fmt: skip
            inside = [row.low <= share <= row.high for row, share in zip(rows, truth)]
            covered += sum(inside) * (name == "each")
            wide += all(inside) * (name == "all")
    assert 322 <= covered <= 392
    assert wide >= 35  # of 50; a chance below 1e-4 under 90 %, and the seed is fixed


@pytest.mark.parametrize("protocol", ["direct", "unary", "memoised_unary"])
def test_the_simulated_law_is_that_of_reports(protocol: str) -> None:
    """Means and variances of 300 tallies each way agree within what chance allows (6 standard errors)."""
    spec = spec_for(OPTIONS, protocol)
    rng = SeededRng(12)
    generator = np.random.default_rng(5)
    people = [n // 10 for n in PEOPLE]
    ours = np.array([told(spec, rng, people).counts for _ in range(300)], dtype=float)
    theirs = np.array([simulated(spec, people, generator).counts for _ in range(300)], dtype=float)
    off = np.abs(ours.mean(0) - theirs.mean(0)) / np.sqrt((ours.var(0) + theirs.var(0)) / 300)
    assert off.max() < 6
    ratio = ours.var(0) / theirs.var(0)
    assert np.all(np.abs(np.log(ratio)) < 6 * 2 / math.sqrt(300))


def test_levels_next_to_one_have_intervals() -> None:
    assert quantile(0.95, 1) == pytest.approx(1.959964, abs=1e-6)
    for level, tests in ((math.nextafter(1, 0), 1), (1 - 1e-12, 1 << 20)):
        assert math.erfc(quantile(level, tests) / math.sqrt(2)) == pytest.approx((1 - level) / tests, rel=1e-6)


def test_too_few_reports_are_not_estimated() -> None:
    spec = spec_for(OPTIONS, "direct", more="minimum = 50")
    with pytest.raises(Refused) as caught:
        estimate(spec, told(spec, SeededRng(1), [49, 0, 0, 0, 0, 0, 0, 0]))
    assert caught.value.code == "too_few_reports"
    assert "49" not in str(caught.value)
    assert estimate(spec, told(spec, SeededRng(1), [50, 0, 0, 0, 0, 0, 0, 0])).n == 50


def test_the_simplex_view_is_the_nearest_point_of_the_simplex() -> None:
    shares = np.array([0.7, 0.5, -0.3, 0.05])
    found = simplex(shares)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    rng = np.random.default_rng(3)
    for other in rng.dirichlet(np.ones(4), 2000):
        assert ((found - shares) ** 2).sum() <= ((other - shares) ** 2).sum() + 1e-12


def test_p_values_are_corrected_by_holm() -> None:
    assert corrected(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert corrected(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("protocol", ["direct", "unary", "local_hash", "hadamard"])
def test_crafted_reports_move_a_share_by_no_more_than_is_printed(protocol: str) -> None:
    """One in a hundred sends whatever lifts the first item most, of all that can be sent."""
    spec = spec_for(OPTIONS, protocol, "1")
    target = np.array([spec.code("h")], dtype=np.uint64)
    rng = SeededRng(8)
    n = 100
    honest = told(spec, rng, [20 * n, 20 * n, 20 * n, 20 * n, 9 * n, 5 * n, 5 * n, 0])
    crafted = np.array([list(payload) for payload in spec.protocol.payloads(77)], dtype=np.uint8)
    best = 0.0
    for payload in crafted:
        liars = spec.protocol.fold(np.repeat(payload[None, :], n, axis=0))
        whole = spec.protocol.estimate(honest.counts + liars, honest.n + n, target).value[0]
        alone = spec.protocol.estimate(honest.counts, honest.n, target).value[0]
        best = max(best, whole - alone * honest.n / (honest.n + n))
    printed = worst_shift(spec, n / (honest.n + n))
    assert 0.5 * printed < best <= printed + 1e-9


@pytest.mark.parametrize("kind", [Direct, Unary, LocalHash, Hadamard])
def test_a_rare_item_errs_as_foreseen(kind) -> None:
    """2,000 estimates of an item that nobody has, all else evenly spread: they vary as foreseen, within 12 %."""
    protocol = kind.fitted(16, Fraction(1))
    rng = SeededRng(21)
    held = np.tile(np.arange(15, dtype=np.uint64), 20)
    items = np.array([15], dtype=np.uint64)
    found = [
        protocol.estimate(protocol.fold(protocol.reports(held, rng)), len(held), items).value[0] for _ in range(2000)
    ]
    assert np.std(found) / deviation(protocol, len(held)) == pytest.approx(1, abs=0.12)


def test_so_many_people_see_the_share() -> None:
    """A share is seen at the 5 % level in about 95 of 100 surveys of the planned size (else: chance < 1e-6)."""
    spec = spec_for(["no", "yes"], "direct", "1")
    n = people_needed(spec, 0.1)
    generator = np.random.default_rng(2)
    seen = 0
    for _ in range(1000):
        tally = simulated(spec, [n - round(0.1 * n), round(0.1 * n)], generator)
        row = estimate(spec, tally).rows[1]
        seen += row.value / row.deviation > NormalDist().inv_cdf(0.95)
    assert 890 <= seen <= 995
    assert foresee(spec, n).visible == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize("protocol", ["direct", "local_hash", "count_mean", "pooled_hash", "loloha", "rappor"])
def test_as_many_people_as_are_needed_see_the_share(protocol: str) -> None:
    """With what hashes leave, which more people do not lessen; where that alone hides it, nobody is told a number."""
    spec = spec_for(OPTIONS, protocol, "2")
    hidden = foresee(spec_for(OPTIONS, protocol, "2"), 10**15).visible
    for share in (0.2, 0.05, 0.01, 0.001):
        needed = people_needed(spec, share)
        assert (needed is None) == (share <= hidden)
        if needed is not None:
            assert foresee(spec, needed).visible <= share * (1 + 1e-9)
            assert foresee(spec, needed - 1).visible > share * (1 - 1e-9)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, math.nan])
def test_what_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(Refused) as caught:
        people_needed(spec_for(), share)
    assert caught.value.code == "bad_parameter"


def test_the_untrusting_model_needs_more_people() -> None:
    foreseen = foresee(spec_for(["no", "yes"], "direct", "1"), 10_000)
    assert foreseen.deviation > 50 * foreseen.central
