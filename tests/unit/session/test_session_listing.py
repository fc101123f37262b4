"""SELECT DISTINCT without an aggregate: declared values, said to be no more than that; whatever depends on rows is
refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import obverse
from obverse.core.claim import DECLARED, PUBLIC
from obverse.core.errors import Refused
from obverse.server.postgres import runner
from obverse.session.rehearsal import rehearse

DEPENDS_ON_ROWS = [
    "SELECT DISTINCT sex FROM people WHERE age > 119",
    "SELECT DISTINCT sex FROM people WHERE sex = 'F'",
    "SELECT DISTINCT sex FROM people WHERE FALSE",
    "SELECT DISTINCT sex FROM (SELECT sex FROM people WHERE age > 119) AS old",
    "WITH old AS (SELECT sex FROM people WHERE age > 119) SELECT DISTINCT sex FROM old",
    "SELECT DISTINCT sex FROM people JOIN visits ON people.person_id = visits.person_id",
    "SELECT DISTINCT sex FROM people LEFT JOIN visits ON people.person_id = visits.person_id",
    "SELECT DISTINCT sex FROM people JOIN rooms ON people.sex = rooms.room",
    "SELECT DISTINCT sex FROM people WHERE person_id IN (SELECT person_id FROM visits)",
    "SELECT DISTINCT sex FROM (SELECT sex FROM people UNION ALL SELECT sex FROM people) AS t",
    "SELECT DISTINCT sex FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY person_id, sex) AS t",
    "SELECT DISTINCT sex FROM people WHERE age > 119 GROUP BY sex",
    "SELECT DISTINCT sex FROM people WHERE age > 119 LIMIT 1",
]
DECLARATIONS = [
    "SELECT DISTINCT sex FROM people",
    "SELECT DISTINCT p.sex FROM (SELECT sex FROM people) AS p",
    "SELECT DISTINCT sex, age > 50 AS old FROM people",
    "SELECT DISTINCT sex FROM people ORDER BY sex DESC LIMIT 1",
    "SELECT DISTINCT cost > 500 AS dear FROM visits",
]


@pytest.mark.parametrize("sql", DEPENDS_ON_ROWS)
def test_a_list_that_depends_on_rows_is_refused_for_free(sql: str, session: obverse.Session) -> None:
    """It listed every declared value, and claimed to be exact."""
    for ask in (session.ask, session.explain):
        with pytest.raises(Refused) as refused:
            ask(sql)
        assert refused.value.code == "distinct_needs_count"
        assert refused.value.span is not None
        assert refused.value.why
        assert "COUNT(*)" in refused.value.fix
    assert session.ledger.spent().amount == 0


def test_what_the_refusal_suggests_works(session: obverse.Session) -> None:
    assert session.ask("SELECT sex, COUNT(*) FROM people WHERE age > 119 GROUP BY sex").rows
    assert session.ask("SELECT DISTINCT sex FROM people").rows


@pytest.mark.parametrize("sql", DECLARATIONS)
def test_a_list_of_declared_values_claims_no_more_than_that(sql: str, session: obverse.Session, folder: Path) -> None:
    answer = session.ask(sql)
    for found in (answer, rehearse(folder, sql)):
        assert found.claim == DECLARED
        assert (found.price.epsilon, found.price.share) == ("0", 0.0)
    assert "exact" not in f"{DECLARED.sentence} {session.explain(sql).note} {runner.after(answer)}".lower()
    assert "no private row was read" in DECLARED.sentence.lower()  # of a public table that lists values some are
    assert "every combination" not in DECLARED.sentence  # LIMIT leaves some of them
    assert session.ledger.spent().amount == 0


@pytest.mark.parametrize("clause", ["HAVING COUNT(*) > 5", "ORDER BY COUNT(*)"])
def test_a_list_by_noisy_counts_is_priced(clause: str, session: obverse.Session) -> None:
    """HAVING and ORDER BY with an aggregate read rows with noise, so WHERE is answered too."""
    answer = session.ask(f"SELECT DISTINCT sex FROM people WHERE age > 10 GROUP BY sex {clause}")
    assert answer.price.epsilon == "0.1"
    assert answer.claim not in (DECLARED, PUBLIC)


def test_public_rows_are_still_exact(session: obverse.Session) -> None:
    """They are read: what is not there is not listed."""
    answer = session.ask("SELECT DISTINCT room FROM rooms WHERE room = 'nowhere'")
    assert answer.claim == PUBLIC
    assert answer.rows == ()
    assert "exact" in runner.after(answer)
