"""Surveys where nobody is trusted: a class with two coins, Apple's emoji, RAPPOR's own figures, local against
central.
"""

from __future__ import annotations

import csv
import os
from fractions import Fraction
from math import log
from pathlib import Path

import numpy as np
import pytest

from obverse.catalog.load import loads
from obverse.collect.collector import Collection
from obverse.collect.estimate import estimate
from obverse.collect.planning import chosen, foresee, people_needed
from obverse.collect.protocols import CountMean, Direct, Rappor
from obverse.collect.randomness.coins import Coins
from obverse.collect.spec import Spec
from obverse.collect.tally import Tally, tallied
from obverse.testing.noiseless import SeededRng

EMOJI = Path(__file__).parents[3] / "shared" / "data" / "emoji_sentiment_occurrences.csv"
CLASS = """
[project]
name = "class"
[surveys.cheated]
question = "Have you ever copied an exercise?"
options = ["no", "yes"]
protocol = "two_coins"
epsilon = 1.0987
people = 100
retention_days = 30
purpose = "To learn what a class does, and of nobody in it."
consent = "I agree that my randomized answer is counted."
"""


def survey(text: str = CLASS, name: str = "cheated") -> Spec:
    declared = loads(text, ".").surveys[name]
    return Spec(declared, chosen(declared).protocol)


def test_a_class_of_100_with_a_share_of_a_fifth_is_expected_to_say_yes_35_times() -> None:
    """Responsible data science: 0.2 * 3/4 + 0.8 * 1/4 = 0.35; and 2 * 0.35 - 1/2 gives the fifth back."""
    coins = Direct.two_coins()
    assert Fraction(1, 5) * coins.own + Fraction(4, 5) * coins.other == Fraction(35, 100)
    spec = survey()
    found = {row.item: row for row in estimate(spec, Tally(spec.digest, 100, np.array([65, 35]))).rows}
    assert found["yes"].value == pytest.approx(0.2)
    assert found["yes"].value == pytest.approx(2 * 0.35 - 0.5)
    assert found["yes"].deviation == pytest.approx((0.75 * 0.25 / 100) ** 0.5 / 0.5)


def test_the_class_survey_runs_from_coins_to_an_interval_that_holds_the_truth(tmp_path: Path) -> None:
    """Responsible data science, the class survey: tokens, reports, collector; six deviations miss with a chance
    below 1e-8.
    """
    collection = Collection(tmp_path, survey())
    spec = collection.spec
    coins = Coins(os.urandom)
    from obverse.collect.collector import Submitted

    came = []
    for student, token in enumerate(collection.tokens(1000)):
        answer = "yes" if student % 5 == 0 else "no"
        came.append(
            Submitted(spec.frame.framed(0, spec.protocol.report(spec.code(answer), coins, spec.seed(token))), token)
        )
    collection.add(came)
    yes = estimate(spec, collection.tally()).rows[1]
    assert abs(yes.value - 0.2) < 6 * yes.deviation


def test_who_said_yes_may_well_have_meant_no() -> None:
    """Statistical privacy tools, deniability: of those who say yes 3 in 7 mean it, where a fifth of all does."""
    coins = Direct.two_coins()
    share = Fraction(1, 5)
    said = share * coins.own + (1 - share) * coins.other
    assert share * coins.own / said == Fraction(3, 7)


def test_reports_of_two_coins_lose_ln_3() -> None:
    """Lecture 4: the ratio of probabilities is 3 for either answer, so epsilon = ln 3."""
    coins = Direct.two_coins()
    for sent in (b"\x00", b"\x01"):
        ratio = coins.probability(0, sent) / coins.probability(1, sent)
        assert max(ratio, 1 / ratio) == 3
    assert log(3) <= float(coins.loss()) < log(3) + 1e-12


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 3), Fraction(9, 10)])
def test_the_truth_with_chance_p_loses_ln_of_1_plus_p_over_1_minus_p(chance: Fraction) -> None:
    """Differential privacy 2024: epsilon = ln((1 + p) / (1 - p)); p = 1/2 is the two coins."""
    assert float(Direct.truthful(2, chance).loss()) == pytest.approx(log((1 + chance) / (1 - chance)), abs=1e-12)


def test_apples_emoji_are_found_by_the_count_mean_sketch() -> None:
    """Responsible data science, Apple's case: m = 1024, k = 65,536, epsilon = 4; real counts where they are at hand."""
    if EMOJI.exists():
        rows = list(csv.DictReader(EMOJI.open()))
        people = {chr(int(row["codepoint"], 16)): int(row["occurrences"]) for row in rows}
    else:
        people = {chr(0x1F600 + rank): 15_000 // (1 + rank) for rank in range(200)}
    from obverse.collect.randomness.hashing import item_key

    protocol = CountMean.published()
    assert (protocol.columns, protocol.rows) == (1024, 65_536)
    assert 3.99 < protocol.loss() <= 4
    keys = np.array([item_key(emoji) for emoji in people], dtype=np.uint64)
    some = list(people.values())[:20]
    held = np.repeat(keys[:20], some)
    rng = SeededRng(6)
    tally = tallied(b"emoji", protocol, protocol.reports(held, rng))
    found = protocol.estimate(tally.counts, tally.n, keys[:20])
    truth = np.array(some) / sum(some)
    off = np.abs(found.value - truth) / np.sqrt(found.variance)
    assert off.max() < 6.5
    assert [int(i) for i in np.argsort(-found.value)[:3]] == [0, 1, 2]


def test_a_daily_budget_of_16_that_renews_itself_is_480_in_a_month() -> None:
    """Responsible data science: 16 a day, renewed daily, as found in macOS; a lifetime cap stops it, and cards print
    both.
    """
    from obverse.collect.card import card_json

    text = CLASS.replace('protocol = "two_coins"\nepsilon = 1.0987', 'protocol = "direct"\nepsilon = 2')
    renewed = survey(text + "per_day = 8\nreports = 240\n")
    assert card_json(renewed)["epsilon"]["day"] == "16"
    assert card_json(renewed)["epsilon"]["lifetime"] == "480"
    capped = survey(text + "per_day = 8\nreports = 240\nlifetime = 16\n")
    assert card_json(capped)["epsilon"]["lifetime"] == "16"


def test_rappors_own_parameters_lose_4_394_for_ever_and_1_074_each_time() -> None:
    """Statistical privacy tools, RAPPOR's defaults: 16 bits, 2 hashes, 64 cohorts, p = 1/2, q = 3/4, f = 1/2."""
    published = Rappor.published()
    assert float(published.lasting()) == pytest.approx(4.394, abs=0.001)
    assert float(published.loss()) == pytest.approx(1.074, abs=0.001)


def test_who_trusts_nobody_needs_many_more_people() -> None:
    """Statistical privacy tools, local against central: noise falls with the root of n instead of with n itself."""
    spec = survey()
    for people in (1_000, 100_000):
        foreseen = foresee(spec, people)
        assert foreseen.deviation == pytest.approx(0.75**0.5 / people**0.5)
        assert foreseen.central == pytest.approx(2**0.5 / (log(3) * people))
    assert people_needed(spec, 0.01) > 80_000
    assert 2**0.5 / (log(3) * 1_000) < foresee(spec, 80_000).deviation
