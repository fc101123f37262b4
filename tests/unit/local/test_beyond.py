"""What reports beyond a lifetime do to an estimate: their share by the schedule, and the pull, played out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from obverse.local.beyond import pull, scheduled_share
from obverse.local.protocols import Rappor
from tests.unit.local.surveys import LETTERS, lasting_spec, numbers_spec, spec_for, text_spec


@pytest.mark.parametrize(
    ("more", "share"),
    [("", 0), ("reports = 10", 0), ("reports = 10\nlifetime = 4", Fraction(6, 10)), ("reports = 10\nlifetime = 0.5", 1)],
)
def test_reports_of_fresh_coins_tell_until_the_lifetime_is_spent(more: str, share: Fraction) -> None:
    assert scheduled_share(spec_for(more=more)) == share


@pytest.mark.parametrize(("lifetime", "share"), [("100", 0), ("2", Fraction(399, 400)), ("0.5", 1)])
def test_a_permanent_answer_is_paid_once(lifetime: str, share: Fraction) -> None:
    assert scheduled_share(lasting_spec(Rappor.published(), lifetime)) == share  # 1.074 for one, 4.394 for all


def test_shares_are_pulled_towards_what_uniform_items_have() -> None:
    spec, truth, beyond = spec_for(LETTERS), np.array([0.7, 0.2, 0.1, 0.0]), 0.3
    estimated = (1 - beyond) * truth + beyond / 4
    assert pull(spec, estimated, beyond) == pytest.approx(np.abs(truth - estimated).max())


def test_texts_are_pulled_to_nothing_and_means_to_the_middle() -> None:
    assert pull(text_spec(), np.array([0.35]), 0.3) == pytest.approx(0.15)  # it was a half
    assert pull(numbers_spec(), np.array([0.7 * 0.9 + 0.3 * 0.5]), 0.3) == pytest.approx(0.9 - 0.78)


def test_no_answer_pulls_nothing_and_all_beyond_leave_nothing() -> None:
    spec = spec_for(LETTERS)
    assert pull(replace(spec, survey=replace(spec.survey, none="d")), np.array([0.9]), 0.5) == 0
    assert pull(spec, np.array([0.9]), 1.0) == 1
    assert pull(spec, np.array([0.9]), 0.0) == 0
