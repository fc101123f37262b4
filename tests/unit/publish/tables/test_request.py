"""Public knowledge about cells: evaluated on cells alone, free, and said in the statement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import obverse
from obverse.cli.main import cli
from obverse.core.errors import Refused
from obverse.publish.folder.check import check, opened
from obverse.publish.folder.write import publish
from obverse.publish.report import truth
from obverse.publish.tables.method import Tables
from obverse.publish.tables.release import table_release
from obverse.publish.tables.request import Wanted
from obverse.testing import synthetic
from obverse.testing.spies import diff, spy_on, state
from tests.unit.publish.published import rows

TOML = """\
[project]
name = "cells"
[privacy]
accounting = "{accounting}"
epsilon = 1
delta = 1e-6
[budget]
epsilon = 4
delta = 1e-5
[tables.people]
source = "people.parquet"
unit = "row"
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 90], nullable = false }}
sex = {{ type = "text", values = ["F", "M"], nullable = false }}
pregnant = {{ type = "boolean" }}
pay = {{ type = "double", bounds = [0, 10] }}
zip = {{ type = "text" }}
n = {{ type = "boolean", nullable = false }}
"""
MANY = 600
PEOPLE = {
    "age": [i % 91 for i in range(MANY)],
    "sex": ["F", "M"] * (MANY // 2),
    "pregnant": [i % 6 == 0 or i == 1 for i in range(MANY)],  # one row stands where none can
    "pay": [1.0] * MANY,
    "zip": ["z"] * MANY,
    "n": [True] * MANY,
}
WANTED = Wanted(
    "people", (("sex", "pregnant"), ("adult", "sex"), ("age",)), {"age": "0,18,65"}, zeros="sex = 'M' AND pregnant",
    derive={"adult": "age >= 18"},
)  # fmt: skip


@pytest.fixture(params=["pure", "zcdp"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[obverse.Session]:
    made = synthetic({"people": PEOPLE}, TOML.format(accounting=request.param), tmp_path / "p")
    with obverse.open(made) as opened_:
        yield opened_


def test_empty_cells_cost_nothing_and_rows_found_there_are_counted_nowhere(
    session: obverse.Session, tmp_path: Path
) -> None:
    log = spy_on(session)
    before = state(session.ledger)
    release = table_release(session, WANTED)
    assert diff(before, session.ledger).empty
    assert "reserve" not in log.events
    plain = table_release(session, replace(WANTED, zeros=""))
    assert [one.mechanism for one in release.priced.measured] == [one.mechanism for one in plain.priced.measured]
    done = publish(session, release, tmp_path / "r")
    assert all(one.holds for one in check(tmp_path / "r"))
    assert "zeros" in {one.name for one in done.checks}
    (cell,) = [
        row for row in rows(tmp_path / "r/data/01-sex-pregnant.csv") if (row["sex"], row["pregnant"]) == ("M", "true")
    ]
    assert [float(cell[name]) for name in ("count", "estimate", "low", "high")] == [0, 0, 0, 0]
    assert "Rows for which it holds, were there any, are counted nowhere" in (tmp_path / "r/statement.md").read_text()
    exact = truth(session, opened(tmp_path / "r"), "a look")
    assert [round(one.sum()) for one in exact] == [MANY - 1] * 4


def test_a_derived_column_stands_beside_its_source_and_a_table_of_it_is_its_sum(
    session: obverse.Session, tmp_path: Path
) -> None:
    publish(session, table_release(session, WANTED), tmp_path / "r")
    base = rows(tmp_path / "r/data/02-sex-age.csv")
    made = rows(tmp_path / "r/data/04-sex_adult.csv")
    assert {(row["age"], row["adult"]) for row in base} == {
        ("0 to 17", "false"),
        ("18 to 64", "true"),
        ("65 to 90", "true"),
    }
    for row in made:
        same = [one for one in base if (one["sex"], one["adult"]) == (row["sex"], row["adult"])]
        assert int(row["count"]) == sum(int(one["count"]) for one in same)
        rounded = (len(same) + 1) * 0.5e-6 + 1e-9  # each is told with six decimals
        assert abs(float(row["estimate"]) - sum(float(one["estimate"]) for one in same)) <= rounded


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (replace(WANTED, zeros="sex = 'M' AND nobody"), "column_not_declared"),
        (replace(WANTED, zeros="TRUE"), "bad_zeros"),
        (replace(WANTED, zeros="pay = 3"), "bad_zeros"),
        (replace(WANTED, zeros="sex = 'X'"), "bad_zeros"),
        (replace(WANTED, zeros="age IN (SELECT age FROM people)"), "bad_condition"),
        (replace(WANTED, zeros="COUNT(*) > 3"), "bad_condition"),
        (replace(WANTED, zeros="TRUE) FROM people --"), "parse_error"),
        (replace(WANTED, derive={"adult": "age >= 21"}), "bad_derivation"),
        (replace(WANTED, derive={"adult": "age >= 18", "pay": "sex = 'F'"}), "bad_derivation"),
        (Wanted("people", (("rich",),), {"pay": "5"}, derive={"rich": "pay > 5"}), "bad_derivation"),
        (Wanted("people", (("z", "zip"),), {}, "", {"zip": "0.1"}, derive={"z": "zip = 'z'"}), "bad_derivation"),
    ],
)
def test_what_is_no_public_knowledge_about_cells_is_refused(
    session: obverse.Session, wanted: Wanted, code: str
) -> None:
    before = state(session.ledger)
    with pytest.raises(Refused) as refused:
        table_release(session, wanted, Fraction(1), Fraction(1, 10**6))
    assert refused.value.code == code
    assert diff(before, session.ledger).empty


def test_a_column_may_have_any_name(session: obverse.Session) -> None:
    release = table_release(
        session, Wanted("people", (("n", "sex"),), {}, zeros="NOT n", derive={"v": "n OR sex = 'M'"})
    )
    assert isinstance(release.method, Tables)
    assert release.method.zeros is not None
    assert release.method.zeros.empty.tolist() == [True, False]


def test_the_command_takes_both(session: obverse.Session, tmp_path: Path) -> None:
    args = ["--by", "sex,pregnant", "--by", "adult", "--bins", "age=0,18,65", "--zeros", "sex = 'M' AND pregnant"]
    args += ["--derive", "adult=age >= 18", "-p", str(tmp_path / "p"), "--out", str(tmp_path / "r")]
    made = CliRunner().invoke(cli, ["publish", "table", "people", *args])
    assert made.exit_code == 0, made.output
    assert (tmp_path / "r/data/03-adult.csv").exists()
