"""What the corpus says must hold of an answer, beyond that there is one."""

from __future__ import annotations

from typing import Any


def test_the_clock_is_one_moment_and_is_recorded_with_the_debit(with_eve: Any) -> None:
    """sql_escape-071"""
    asked = with_eve.ask("SELECT COUNT(*) FROM people WHERE joined > CURRENT_DATE AND joined < now()")
    assert asked.about is not None
    assert asked.about["now"].startswith("20")


def test_an_average_is_clamped_into_the_declared_bounds(with_eve: Any) -> None:
    """sql_numeric-012"""
    answer = with_eve.ask("SELECT AVG(salary) FROM people WHERE name='eve'", epsilon=0.01).answer
    assert 0 <= answer.low <= answer.value <= answer.high <= 500_000


def test_a_variance_is_never_negative(with_eve: Any) -> None:
    """sql_numeric-010"""
    answer = with_eve.ask("SELECT VARIANCE(salary) FROM people", epsilon=0.01).answer
    assert 0 <= answer.low <= answer.value


def test_a_sum_of_zero_width_is_charged_like_any_other(with_eve: Any) -> None:
    """sql_numeric-015"""
    asked = with_eve.ask("SELECT SUM(salary*0) FROM people", epsilon=0.11)
    assert asked.charges == ("charge", "settle")


def test_the_sensitivity_of_a_doubled_column_doubles(with_eve: Any) -> None:
    """sql_numeric-016"""
    (once,) = with_eve.session.explain("SELECT SUM(salary) FROM people").measures
    (twice,) = with_eve.session.explain("SELECT SUM(salary + salary) FROM people").measures
    assert (once["l1"], twice["l1"]) == (500_000, 1_000_000)
    assert twice["stddev"] > 1.99 * once["stddev"]


def test_all_public_keys_are_there_whoever_is(with_eve: Any) -> None:
    """sql_presence-005"""
    sql = "SELECT sex, COUNT(*) FROM people WHERE sex IN ('F','M','X') AND name = 'eve' GROUP BY sex"
    assert [row[0] for row in with_eve.ask(sql).answer] == ["F", "M", "X"]


def test_two_counts_are_noised_apart_and_charged_together(with_eve: Any) -> None:
    """sql_presence-014: their difference does not show the NULLs."""
    explained = with_eve.session.explain("SELECT COUNT(salary), COUNT(*) FROM people")
    assert [m["mechanism"] for m in explained.measures] == ["discrete_laplace"] * 2
    assert explained.joint_l1 == 2
    assert explained.price.epsilon == "0.1"


def test_a_comparison_is_made_on_the_noisy_count(with_eve: Any) -> None:
    """sql_presence-017"""
    answer = with_eve.ask("SELECT COUNT(*) > 5 AS many, COUNT(*) AS n FROM people WHERE name LIKE 'e%'").answer
    ((many, n),) = answer
    assert many == (n > 5)


def test_an_alias_does_not_become_markup(with_eve: Any) -> None:
    """sql_syntax-020"""
    html = with_eve.ask('SELECT COUNT(*) AS "<script>alert(1)</script>" FROM people').answer._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_tautology_changes_neither_noise_nor_price(with_eve: Any) -> None:
    """sql_syntax-022"""
    plain = with_eve.session.explain("SELECT COUNT(*) FROM people")
    tautology = with_eve.session.explain("SELECT COUNT(*) FROM people WHERE name = 'x' OR TRUE")
    assert (plain.measures, plain.price) == (tautology.measures, tautology.price)


def test_the_order_of_rows_is_that_of_the_public_keys(hospitals: dict[str, Any]) -> None:
    """sql_presence-009, -010: never the engine's own order, which shows how rows came in."""
    sql = "SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT 2 OFFSET 1"
    assert {tuple(row[0] for row in one.ask(sql).answer) for one in hospitals.values()} == {("M", "X")}
