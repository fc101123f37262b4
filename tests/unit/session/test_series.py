"""ask(above=T, first=C): the first counts of a list that pass, priced by C and not by the list."""

from __future__ import annotations

from pathlib import Path

import pytest

import obverse
from obverse.core.errors import Refused
from obverse.testing import synthetic

TOML = """
[project]
name = "days"
[privacy]
neighbours = "{neighbours}"
[budget]
epsilon = 100
[tables.cases]
source = "cases.parquet"
unit = "row"
[tables.cases.columns]
day = {{ type = "integer", bounds = [0, 365] }}
age = {{ type = "integer", bounds = [0, 99] }}
"""
BY_DAY = "SELECT day, COUNT(*) FROM cases GROUP BY day"


@pytest.fixture(params=["add-remove", "replace"])
def session(tmp_path: Path, request: pytest.FixtureRequest) -> obverse.Session:
    """A thousand cases on days 100, 200 and 300, ten on each other day."""
    days = [d for d in range(366) for _ in range(1000 if d in (100, 200, 300) else 10)]
    frame = {"day": days, "age": [30] * len(days)}
    return obverse.open(synthetic({"cases": frame}, TOML.format(neighbours=request.param), tmp_path / "p"))


def test_the_first_that_pass_are_named_and_nothing_else_is_told(session: obverse.Session) -> None:
    """At epsilon 10 noise of 400 is drawn with probability far below 1e-100."""
    found = session.ask(BY_DAY, above=500, first=2, epsilon=10)
    assert found.rows == ((100,), (200,))
    assert [c.name for c in found.columns] == ["day"]
    assert found.claim.mechanisms == ("sparse_vector",)
    assert "less" in found.claim.bias
    assert session.ask(BY_DAY, above=500, first=5, epsilon=10).rows == ((100,), (200,), (300,))
    assert session.ask(BY_DAY, above=5000, first=1, epsilon=10).rows == ()


def test_the_price_is_the_epsilon_and_the_noise_grows_with_the_names_not_with_the_list(
    session: obverse.Session,
) -> None:
    deviations = [session.explain(BY_DAY, above=500, first=c, epsilon=1).measures[0]["stddev"] for c in (1, 2, 10)]
    assert deviations == sorted(deviations)
    short = session.explain(
        "SELECT day, COUNT(*) FROM cases WHERE day < 10 GROUP BY day", above=500, first=1, epsilon=1
    )
    assert short.measures[0]["stddev"] == deviations[0]
    before = session.ledger.spent().amount
    session.ask(BY_DAY, above=500, first=2, epsilon=1)
    assert session.ledger.spent().amount - before == 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM cases",
        "SELECT day, SUM(age) FROM cases GROUP BY day",
        "SELECT day, COUNT(*), COUNT(age) FROM cases GROUP BY day",
        "SELECT day, COUNT(*) FROM cases GROUP BY day ORDER BY 2",
        "SELECT day, COUNT(*) FROM cases GROUP BY day HAVING COUNT(*) > 3",
        "SELECT day, COUNT(*) FROM cases GROUP BY day LIMIT 3",
        "SELECT day, COUNT(*) FROM cases GROUP BY ROLLUP(day)",
        "SELECT day, COUNT(*) + 1 FROM cases GROUP BY day",
    ],
)
def test_what_is_no_list_of_counts_is_refused_for_nothing(session: obverse.Session, sql: str) -> None:
    with pytest.raises(Refused) as refused:
        session.ask(sql, above=3)
    assert refused.value.code == "bad_parameter"
    assert session.ledger.spent().amount == 0


def test_numbers_that_make_no_sense_are_refused(session: obverse.Session) -> None:
    for wish in ({"first": 0}, {"first": 10**6}, {"first": True}, {"within": 3}):
        with pytest.raises(Refused) as refused:
            session.ask(BY_DAY, above=3, **wish)
        assert refused.value.code == "bad_parameter"
