"""Sensitivity: how far one person can move an answer, as `explain` prints it, before any data is touched."""

from __future__ import annotations

from fractions import Fraction

import pytest

import obverse
from obverse.core.errors import Refused
from obverse.core.numbers import up


def l1(session: obverse.Session, sql: str) -> float:
    """The sensitivity of a question with one measure; of an order statistic the global one, told after its tree."""
    *tree, measure = session.explain(sql).measures
    assert len(tree) == ("tree" in str(tree))
    assert isinstance(measure["l1"], float)
    return measure["l1"]


def test_the_number_of_people_of_one_height_moves_by_1(heights: obverse.Session) -> None:
    """Differential privacy 2024, exercise 3.1: a hundred heights in inches, how many are exactly 5'4": 1."""
    assert l1(heights, "SELECT COUNT(*) FROM heights WHERE height = 64") == 1


def test_the_number_of_people_over_six_feet_moves_by_1(heights: obverse.Session) -> None:
    """Differential privacy 2024, first example of sensitivity: 1."""
    assert l1(heights, "SELECT COUNT(*) FROM heights WHERE height > 72") == 1


def test_the_median_height_moves_by_the_whole_range_or_half_of_it(heights: obverse.Session) -> None:
    """Differential privacy 2024, exercise 3.2: 48 for the value in the middle, 24 for the mean of the two middle
    ones.
    """
    assert l1(heights, "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY height) FROM heights") == 48
    assert l1(heights, "SELECT MEDIAN(height) FROM heights") == 24


def test_the_mean_height_moves_by_the_range_over_the_number_of_people(heights: obverse.Session) -> None:
    """Differential privacy 2024, exercise 3.3: (96 - 48) / 100 = 0.48."""
    assert l1(heights, "SELECT AVG(height) FROM heights") == up(Fraction(48, 100))


def test_the_largest_height_moves_by_the_whole_range(heights: obverse.Session) -> None:
    """Differential privacy 2024, second example: 48; told by explain: such noise would drown it, a tree of counts
    answers.
    """
    assert l1(heights, "SELECT MAX(height) FROM heights") == 48
    assert heights.explain("SELECT MAX(height) FROM heights").measures[0]["linf"] == 1


def test_a_minimum_without_bounds_is_refused_as_unbounded(staff: obverse.Session) -> None:
    """Privacy engineering, exercise 2.1: the least of positive integers has no bounded sensitivity; with both ends
    it has.
    """
    for sql in ("SELECT MIN(points) FROM staff", "SELECT MIN(GREATEST(points, 1)) FROM staff"):
        with pytest.raises(Refused) as refused:
            staff.explain(sql)
        assert refused.value.code == "no_bounds"
        assert "unbounded" in refused.value.message
    assert l1(staff, "SELECT MIN(CLAMP(points, 1, 100)) FROM staff") == 99


def test_counting_those_who_earn_a_lot_moves_by_1(staff: obverse.Session) -> None:
    """Statistical privacy tools, first example of sensitivity: how many earn at least 100,000: 1."""
    assert l1(staff, "SELECT COUNT(*) FROM staff WHERE salary >= 100000") == 1


def test_the_total_of_salaries_moves_by_the_largest_one_permitted(staff: obverse.Session) -> None:
    """Statistical privacy tools, second example: the declared maximum, here 250,000."""
    assert l1(staff, "SELECT SUM(salary) FROM staff") == 250_000


def test_the_number_of_readers_moves_by_1(survey: obverse.Session) -> None:
    """Privacy engineering, exercise 3.1 (i): 1."""
    assert l1(survey, "SELECT COUNT(*) FROM survey WHERE read_hp") == 1


def test_males_and_females_as_one_question_move_by_1_together(survey: obverse.Session) -> None:
    """Privacy engineering, exercise 3.1 (ii): a person is in one of the two, so 1, however the question is written."""
    assert l1(survey, "SELECT gender, COUNT(*) FROM survey GROUP BY gender") == 1
    side_by_side = (
        "SELECT COUNT(*) FILTER (WHERE gender = 'Male'), COUNT(*) FILTER (WHERE gender = 'Female') FROM survey"
    )
    assert survey.explain(side_by_side).joint_l1 == 1


def test_readers_males_and_females_as_one_question_move_by_2_together(survey: obverse.Session) -> None:
    """Privacy engineering, exercise 3.1 (iii): (i) and (ii) together 2, not 3."""
    sql = (
        "SELECT COUNT(*) FILTER (WHERE read_hp), COUNT(*) FILTER (WHERE gender = 'Male'), "
        "COUNT(*) FILTER (WHERE gender = 'Female') FROM survey"
    )
    assert survey.explain(sql).joint_l1 == 2


def test_the_four_counts_of_gender_by_reading_move_by_1_together(survey: obverse.Session) -> None:
    """Privacy engineering, exercise 3.1 (iv): disjoint, so 1, as groups or side by side."""
    assert l1(survey, "SELECT gender, read_hp, COUNT(*) FROM survey GROUP BY gender, read_hp") == 1
    counts = [
        f"COUNT(*) FILTER (WHERE gender = '{gender}' AND {read})"
        for gender in ("Male", "Female")
        for read in ("read_hp", "NOT read_hp")
    ]
    assert survey.explain(f"SELECT {', '.join(counts)} FROM survey").joint_l1 == 1


def test_the_total_of_books_moves_by_7(survey: obverse.Session) -> None:
    """Privacy engineering, exercise 3.1 (v): 7."""
    assert l1(survey, "SELECT SUM(owned_hp_books) FROM survey") == 7


def test_the_average_of_books_is_released_as_a_sum_and_a_count(survey: obverse.Session) -> None:
    """Privacy engineering, exercise 3.1 (vi): with people added and removed the divisor is private too.

    The count moves by 1; the sum is taken about 3, the middle of 0..7, so that it moves by 4 and not by 7.
    """
    count, total = survey.explain("SELECT AVG(owned_hp_books) FROM survey").measures
    assert (count["name"], count["l1"]) == ('count("owned_hp_books")', 1)
    assert (total["name"], total["l1"]) == ('sum("owned_hp_books" about 3)', 4)


def test_a_histogram_moves_by_1_or_2_and_costs_one_epsilon(survey: obverse.Session, heights: obverse.Session) -> None:
    """Lecture 4 and privacy engineering 3.2: disjoint bins; one count when a person is added, two when one is
    replaced.
    """
    bins = "SELECT owned_hp_books, COUNT(*) FROM survey GROUP BY owned_hp_books"
    assert l1(survey, bins) == 1
    assert survey.explain(bins).price.epsilon == survey.explain("SELECT COUNT(*) FROM survey").price.epsilon == "0.1"
    assert l1(heights, "SELECT height // 12, COUNT(*) FROM heights GROUP BY 1") == 2


def test_the_fraction_who_wear_socks_moves_by_one_over_n(heights: obverse.Session) -> None:
    """Lecture 4, example of a proportion: 1/n, here 1/100."""
    assert l1(heights, "SELECT AVG(CASE WHEN socks THEN 1 ELSE 0 END) FROM heights") == up(Fraction(1, 100))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_d_fractions_over_n_people_move_by_at_most_d_over_n(heights: obverse.Session, d: int) -> None:
    """Lecture 4, sequence of d statistical queries: at most d/n together, and so much noise for each."""
    fractions = ", ".join(f"AVG(CASE WHEN height > {50 + 5 * i} THEN 1 ELSE 0 END)" for i in range(d))
    explained = heights.explain(f"SELECT {fractions} FROM heights")
    assert explained.joint_l1 == up(Fraction(d, 100))
    alone = heights.explain("SELECT AVG(CASE WHEN height > 50 THEN 1 ELSE 0 END) FROM heights")
    assert explained.measures[0]["stddev"] == pytest.approx(d * alone.measures[0]["stddev"], rel=1e-3)
