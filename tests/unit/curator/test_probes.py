"""Probes of rows: only on the curator's word, only for the curator, on the record without an outcome."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

import obverse
from obverse.curator.check import check
from obverse.curator.probes import CLIPPED, CROWDED, MERGED, MISSING, OUTSIDE, SHARED, SPELLED, UNLISTED
from obverse.ledger.transfer import exported
from tests.unit.session.test_views_as_sources import PostgresPlace

TOML = """
[project]
name = "probed"
version = 2
[budget]
epsilon = 10
[tables.people]
source = "d.duckdb:people"
unit = "person"
[tables.people.columns]
town = { type = "text" }
age = { type = "integer", bounds = [0, 99] }
sex = { type = "text", values = ["F", "M"], nullable = true }
born = { type = "date", bounds = [1900-01-01, 2020-12-31], nullable = false }
weight = { type = "double", bounds = [0, 200] }
[tables.visits]
source = "d.duckdb:visits"
unit = "person -> people.person"
limits = { rows = 3 }
[tables.items]
source = "d.duckdb:items"
unit = "visit -> visits.visit -> people.person"
limits = { rows = 3 }
"""


def project(folder: Path, *, odd: bool) -> Path:
    (folder / "obverse.toml").write_text(TOML)
    with duckdb.connect(str(folder / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT range AS person, 'T' || range % 3 AS town FROM range(20)")
        connection.execute("ALTER TABLE people ADD age INTEGER DEFAULT 30")
        connection.execute("ALTER TABLE people ADD sex VARCHAR DEFAULT 'F'")
        connection.execute("ALTER TABLE people ADD born DATE DEFAULT DATE '2000-01-01'")
        connection.execute("ALTER TABLE people ADD weight DOUBLE DEFAULT 70")
        connection.execute("ALTER TABLE people ALTER town TYPE VARCHAR COLLATE NOCASE")
        connection.execute("CREATE TABLE visits AS SELECT range % 20 AS person, range AS visit FROM range(60)")
        connection.execute("CREATE TABLE items AS SELECT range % 60 AS visit FROM range(90)")
        if odd:
            connection.execute("INSERT INTO people VALUES (3, 't1', 130, 'X', NULL, 'inf')")
            connection.execute("INSERT INTO visits VALUES (4, 5), (4, 61), (4, 62)")
    return folder


@pytest.mark.parametrize("odd", [False, True])
def test_what_rows_contradict_is_said_on_the_curators_word_alone(tmp_path: Path, odd: bool) -> None:
    folder = project(tmp_path, odd=odd)
    with obverse.open(folder) as session:
        session.ask("SELECT COUNT(*) FROM people", epsilon=1)
        before = list(session.ledger.entries())
    told = {MERGED, SHARED, SPELLED, OUTSIDE, CLIPPED, UNLISTED, MISSING, CROWDED}
    assert not [finding for finding in check(folder) if finding.message in told]
    found = {(finding.about, finding.message) for finding in check(folder, sniff=True) if finding.message in told}
    expected = {
        ("people", MERGED), ("visits.visit", SHARED), ("people.town", SPELLED), ("people.age", CLIPPED),
        ("people.sex", UNLISTED), ("people.born", MISSING), ("people.weight", CLIPPED), ("visits", CROWDED),
    }  # fmt: skip
    assert found == (expected if odd else set())
    with obverse.open(folder) as session:
        added = list(session.ledger.entries())[len(before) :]
        said = "".join(line for _, line in exported(session.ledger, lambda number: ""))  # type: ignore[arg-type]
        assert session.ask("SELECT COUNT(*) FROM people", epsilon=1).claim.assumes == ()
    assert [entry.kind for entry in added] == ["custody"] * 3
    assert "probes of its source" in said
    assert not any(words in said for words in told)


def test_no_analyst_sees_what_a_probe_found(tmp_path: Path) -> None:
    """Two projects, of which rows of one contradict what is believed: after both were probed all that is shown is
    alike.
    """
    shown = []
    for odd in (False, True):
        (tmp_path / str(odd)).mkdir()
        folder = project(tmp_path / str(odd), odd=odd)
        with obverse.open(folder) as session:
            session.ask("SELECT COUNT(*) FROM people", epsilon=1)
        assert len([one for one in check(folder, sniff=True) if one.level == "warn"]) == (10 if odd else 2)
        with obverse.open(folder) as session:
            answer = session.ask("SELECT COUNT(*) FROM visits", epsilon=1)
            claim = replace(answer.claim, receipt="")
            said = claim.sentence.replace(answer.claim.receipt, "")
            records = [(entry.kind, sorted(entry.fields)) for entry in session.ledger.entries()]
            explained = session.explain("SELECT COUNT(*) FROM people").as_json()
            shown.append((replace(claim, sentence=said), session.tables(), session.budget(), explained, records))
    assert shown[0] == shown[1]


def test_rows_are_probed_by_check_on_the_curators_word_alone() -> None:
    """No other part of the product knows the probes; what an analyst reaches is not made of them."""
    source = Path(obverse.__file__).parent
    knowing = {
        file.relative_to(source).as_posix() for file in source.rglob("*.py") if "curator.probes" in file.read_text()
    }
    assert knowing == {"curator/check.py"}
    text = (source / "curator/check.py").read_text()
    assert text.count("contradicted(") == 1
    assert text.count("probed(loaded) if sniff") == text.count("probed(") - 1 == 1


POSTGRES = """
[project]
name = "probed"
version = 2
[engine]
kind = "postgres"
dsn_env = "VIEWS_DSN"
[budget]
epsilon = 10
[tables.people]
source = "public.people"
unit = "person"
[tables.people.columns]
town = { type = "text", values = ["Rome", "Oslo"] }
age = { type = "integer", bounds = [0, 99], nullable = false }
weight = { type = "double", bounds = [0, 200] }
"""


def test_the_same_probes_run_on_postgres(tmp_path: Path) -> None:
    """A probe that an engine refuses says nothing, so each is seen to find what is there."""
    place = PostgresPlace(tmp_path)
    place.run(
        "CREATE TABLE people (person INTEGER, town TEXT, age INTEGER, weight DOUBLE PRECISION)",
        "INSERT INTO people SELECT n, 'Rome', 30, 70 FROM generate_series(1, 9) AS g(n)",
    )
    (tmp_path / "obverse.toml").write_text(POSTGRES)

    def warned() -> set[tuple[str, str]]:
        told = {MERGED, CLIPPED, UNLISTED, MISSING}
        return {(one.about, one.message) for one in check(tmp_path, sniff=True) if one.message in told}

    assert warned() == set()
    place.run("INSERT INTO people VALUES (3, 'ROME', NULL, 300)")
    assert warned() == {
        ("people", MERGED), ("people.town", UNLISTED), ("people.age", MISSING), ("people.weight", CLIPPED),
    }  # fmt: skip
