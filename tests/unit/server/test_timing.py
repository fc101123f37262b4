"""Predictions count what makes a question dear, from its plan alone. Figures are measured; here they are ordered."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from obverse.server.timing import LONG_S, PUBLIC_S, ROWS, predicted_s
from obverse.session.planning import Planned, Wish, plan, read
from obverse.session.project import Project, load_project
from tests import served

COUNT = "SELECT COUNT(*) AS n FROM people"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    toml = served.TOML.replace("rows_about = 1000", "rows_about = 100000").replace(
        "rows_about = 5000", "rows_about = 500000"
    )
    return load_project(served.project(Path(tmp_path_factory.mktemp("predicted")), toml))


def planned(sql: str, project: Project) -> Planned:
    question = read(sql, project.catalog, dt.datetime.now())
    return plan(sql, question, project.catalog, Wish(epsilon=1, delta=1e-8), "key")  # type: ignore[arg-type]


def seconds(sql: str, project: Project) -> float:
    return predicted_s(planned(sql, project), project.catalog)


@pytest.mark.parametrize(
    ("dear", "cheap", "times"),
    [
        (COUNT + " WHERE " + " AND ".join(f"replace(town, 'a', '{n}') <> 'q'" for n in range(100)), COUNT, 10),
        (
            f"SELECT SUM(CASE {' '.join(f'WHEN age > {n} THEN {n}' for n in range(90, 0, -1))} ELSE 0 END) FROM people",
            COUNT,
            5,
        ),
        ("SELECT date_trunc('week', born) AS w, COUNT(*) FROM people GROUP BY 1", COUNT, 3),
        ("SELECT town, COUNT(*) FROM people GROUP BY town", "SELECT sex, COUNT(*) FROM people GROUP BY sex", 1.5),
        (
            "SELECT COUNT(*) FROM visits a JOIN visits b ON a.person_id = b.person_id"
            " JOIN visits c ON a.person_id = c.person_id",
            "SELECT COUNT(*) FROM visits",
            10,
        ),
    ],
    ids=["functions", "cases", "a long list of keys", "discovered keys", "many to many"],
)
def test_what_is_dear_is_predicted_so(dear: str, cheap: str, times: float, project: Project) -> None:
    assert seconds(dear, project) > times * seconds(cheap, project)


def test_a_public_table_of_unknown_size_is_not_free(project: Project) -> None:
    joined = "SELECT COUNT(*) FROM visits v JOIN clinics c ON v.clinic = c.clinic"
    tables = dict(project.catalog.tables)
    tables["clinics"] = replace(tables["clinics"], rows_about=1)
    known = replace(project.catalog, tables=tables)
    asked = planned(joined, project)
    assert predicted_s(asked, project.catalog) - predicted_s(asked, known) == pytest.approx((ROWS - 1) * PUBLIC_S)


def test_the_longest_texts_of_one_unit_are_planned_for(project: Project) -> None:
    """A listed text is short, whatever a row holds."""
    free = seconds(COUNT + " WHERE upper(town) = 'X'", project)
    listed = seconds(COUNT + " WHERE upper(sex) = 'X'", project)
    assert free - listed > LONG_S / 2
