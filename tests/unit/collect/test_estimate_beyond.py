"""Reports beyond a lifetime: their share by the schedule, and shares among the others."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.collect.estimate import Uninformative, pull, scheduled_share, uniform_shares
from obverse.collect.protocols import Rappor
from tests.unit.collect.surveys import LETTERS, lasting_spec, spec_for, text_spec


@pytest.mark.parametrize(
    ("more", "share"),
    [
        ("", 0),
        ("reports = 10", 0),
        ("reports = 10\nlifetime = 4", Fraction(6, 10)),
        ("reports = 10\nlifetime = 0.5", 1),
    ],
)
def test_reports_of_fresh_coins_tell_until_the_lifetime_is_spent(more: str, share: Fraction) -> None:
    assert scheduled_share(spec_for(more=more)) == share


@pytest.mark.parametrize(("lifetime", "share"), [("100", 0), ("2", Fraction(399, 400)), ("0.5", 1)])
def test_a_permanent_answer_is_paid_once(lifetime: str, share: Fraction) -> None:
    assert scheduled_share(lasting_spec(Rappor.published(), lifetime)) == share  # 1.074 for one, 4.394 for all


def test_shares_are_pulled_towards_what_uniform_items_have() -> None:
    spec = spec_for(LETTERS)
    truth = np.array([0.7, 0.2, 0.1, 0.0])
    beyond = 0.3
    towards = uniform_shares(spec, LETTERS)
    estimated = (1 - beyond) * truth + beyond * towards
    assert pull(estimated, towards, beyond) == pytest.approx(np.abs(truth - estimated).max())
    assert Uninformative(beyond, beyond, beyond).informed(estimated, towards) == pytest.approx(truth)
    assert pull(estimated, towards, 0.0) == 0


def test_texts_have_no_share_of_what_carries_no_answer_and_its_mean_is_the_middle() -> None:
    sure = Uninformative(0.3, 0.3, 0.3)
    assert uniform_shares(text_spec(), ["any", "text"]).tolist() == [0, 0]
    assert sure.informed(np.array([0.35]), 0.0) == pytest.approx(0.5)
    assert sure.informed(np.array([0.7 * 0.9 + 0.3 * 0.5]), 0.5) == pytest.approx(0.9)


def test_the_option_for_no_answer_has_all_of_it() -> None:
    spec = spec_for(LETTERS)
    with_none = replace(spec, survey=replace(spec.survey, none="d"))
    assert uniform_shares(with_none, LETTERS).tolist() == [0, 0, 0, 1]


@settings(max_examples=300)
@given(
    truth=st.floats(0, 1), towards=st.floats(0, 1), ends=st.lists(st.floats(0, 0.99), min_size=3, max_size=3),
    noise=st.floats(0, 0.2),
)  # fmt: skip
def test_an_interval_holds_at_every_share_that_may_be(
    truth: float, towards: float, ends: list[float], noise: float
) -> None:
    least, share, most = sorted(ends)
    shown = (1 - share) * truth + share * towards
    low, high = Uninformative(least, most, most).interval(np.array([shown - noise]), np.array([shown + noise]), towards)
    assert low[0] - 1e-9 <= truth <= high[0] + 1e-9
