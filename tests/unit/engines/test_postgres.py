"""PostgreSQL as engine: a role that can only read, settings that are seen to be made, and the whole way of a
question.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.catalog.load import loads
from obverse.core.errors import CatalogError, Failed, InvariantBroken, LedgerError, Refused
from obverse.curator.check import check
from obverse.curator.partitions import publish_data
from obverse.engines.postgres import AMONG
from tests.servers import postgres_address

TOML = """
[project]
name = "clinic"
[engine]
kind = "postgres"
dsn_env = "CLINIC_DSN"
[budget]
epsilon = 10
[tables.visits]
source = "clinic.visits"
unit = "person"
limits = { rows = 3 }
[tables.visits.columns]
ward = { type = "text", values = ["a", "b", "é"] }
cost = { type = "double", bounds = [0, 100], grid = 0.25 }
[tables.wards]
source = "clinic.wards"
public = true
"""
MADE = """
CREATE SCHEMA clinic;
CREATE TABLE clinic.visits (person BIGINT, ward TEXT, cost NUMERIC(10, 2), secret TEXT);
INSERT INTO clinic.visits SELECT n % 500, (ARRAY['a', 'b', 'é'])[1 + n % 3], n % 80, 'eve' FROM generate_series(1, \
3000) AS n;
CREATE TABLE clinic.wards (ward TEXT, beds INTEGER);
INSERT INTO clinic.wards VALUES ('a', 3), ('b', 4), ('é', 5);
CREATE TABLE clinic.salaries (person BIGINT);
GRANT USAGE ON SCHEMA clinic TO only_reader;
GRANT SELECT ON clinic.visits, clinic.wards TO only_reader;
"""
COUNTED = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward"


class Server:
    """A database with the tables above, its owner, and the address of the role that the engine takes."""

    def __init__(self) -> None:
        import psycopg

        self.address = postgres_address()
        self.owner = psycopg.connect(self.address, autocommit=True)
        if not self.owner.execute("SELECT 1 FROM pg_roles WHERE rolname = 'only_reader'").fetchone():
            self.owner.execute("CREATE ROLE only_reader LOGIN")
        self.owner.execute(f"REVOKE TEMPORARY ON DATABASE {self.owner.info.dbname} FROM PUBLIC")
        self.owner.execute(MADE)
        self.reader = self.address.replace("postgres:@", "only_reader@")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server()
    monkeypatch.setenv("CLINIC_DSN", made.reader)
    yield made
    made.owner.close()


@pytest.fixture
def project(tmp_path: Path, server: Server) -> Path:
    (tmp_path / "obverse.toml").write_text(TOML)
    return tmp_path


def engine_over(text: str = TOML) -> Any:
    from obverse.engines.postgres import PostgresEngine

    return PostgresEngine(loads(text, Path("/")))


def test_a_question_goes_the_whole_way(project: Path) -> None:
    with obverse.open(project) as session:
        answer = session.ask(COUNTED, epsilon=5)
        assert [row[0] for row in answer.rows] == ["a", "b", "é"]
        assert all(abs(row[1] - 500) < 60 for row in answer.rows)  # 3 of each person's 6 rows count
        again = session.ask(COUNTED, epsilon=5)
        assert again.rows == answer.rows
        assert again.price.stored
        assert session.ask("SELECT SUM(beds) FROM wards").rows == ((12,),)


def test_the_same_table_has_one_budget_whatever_name_it_is_reached_by(
    project: Path, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with obverse.open(project) as session:
        session.ask(COUNTED, epsilon=5)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("ANOTHER_NAME", f"{server.reader}&application_name=another")
    (other / "obverse.toml").write_text(TOML.replace("CLINIC_DSN", "ANOTHER_NAME"))
    with obverse.open(other) as session:
        assert session.ask(COUNTED, epsilon=5).price.stored
    changed = TOML.replace('unit = "person"', 'unit = "row"').replace("limits = { rows = 3 }\n", "")
    (other / "obverse.toml").write_text(changed)
    with pytest.raises(LedgerError, match="unit"), obverse.open(other):
        pass


@pytest.mark.parametrize("public", [False, True])
def test_a_view_of_a_private_table_is_the_same_data(project: Path, server: Server, public: bool) -> None:
    with obverse.open(project) as session:
        session.ask(COUNTED, epsilon=5)
    server.owner.execute("CREATE VIEW clinic.inner_view AS SELECT * FROM clinic.visits")
    server.owner.execute("CREATE VIEW clinic.outer_view AS SELECT * FROM clinic.inner_view")
    server.owner.execute("GRANT SELECT ON clinic.outer_view TO only_reader")
    private = TOML[TOML.index("[tables.visits]") : TOML.index("[tables.wards]")]
    seen = '[tables.visits]\nsource = "clinic.outer_view"\npublic = true\n'
    seen = TOML.replace(private, seen) if public else TOML.replace("clinic.visits", "clinic.outer_view")
    (project / "obverse.toml").write_text(seen)
    if public:
        with pytest.raises(CatalogError) as error, obverse.open(project):
            pass
        assert error.value.code == "public_is_private"
        return
    with obverse.open(project) as session:
        assert session.ledger.spent().amount == 5


def test_a_partition_has_no_budget_beside_that_of_its_table(server: Server) -> None:
    server.owner.execute("CREATE TABLE clinic.whole (id bigint, year int) PARTITION BY LIST (year)")
    server.owner.execute("CREATE TABLE clinic.part_a PARTITION OF clinic.whole FOR VALUES IN (1)")
    server.owner.execute("CREATE TABLE clinic.part_b PARTITION OF clinic.whole FOR VALUES IN (2)")
    named = ("whole", "part_a", "part_b")
    numbers = [server.owner.execute(f"SELECT 'clinic.{n}'::regclass::oid::bigint").fetchone()[0] for n in named]
    whole, one, other = [{row[0] for row in server.owner.execute(AMONG, {"t": n}).fetchall()} for n in numbers]
    assert whole == set(numbers)
    assert one == {numbers[0], numbers[1]}
    assert other == {numbers[0], numbers[2]}


def test_a_private_table_cannot_be_declared_public_beside_its_budget(project: Path) -> None:
    with obverse.open(project) as session:
        session.ask(COUNTED)
    private = TOML[TOML.index("[tables.visits]") : TOML.index("[tables.wards]")]
    public = TOML.replace(private, '[tables.visits]\nsource = "clinic.visits"\npublic = true\n')
    (project / "obverse.toml").write_text(public)
    with pytest.raises(CatalogError) as error, obverse.open(project):
        pass
    assert error.value.code == "public_is_private"


def test_changed_rows_are_told_to_the_curator_alone_and_published_by_his_act(project: Path, server: Server) -> None:
    with obverse.open(project) as session:
        session.ask(COUNTED)
        publish_data(project)
    server.owner.execute("INSERT INTO clinic.visits SELECT 1000 + n, 'a', 1, '' FROM generate_series(1, 300) AS n")
    server.owner.execute("SELECT pg_stat_force_next_flush()")
    with obverse.open(project) as session:
        assert not session.ask(COUNTED).price.stored  # a version was published since
        assert session.ask(COUNTED).price.stored
    assert any(finding.about == "visits" and "changed" in finding.message for finding in check(project))
    publish_data(project)
    assert not any("changed" in finding.message for finding in check(project))


def test_check_tells_what_the_role_can_do_beyond_reading(
    project: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> list[str]:
        return [finding.message for finding in check(project) if finding.about == "engine"]

    assert told() == []
    server.owner.execute(
        "GRANT SELECT ON clinic.salaries TO only_reader; GRANT UPDATE (ward) ON clinic.visits TO only_reader"
    )
    server.owner.execute("GRANT CREATE ON SCHEMA clinic TO only_reader")
    server.owner.execute(f"GRANT TEMPORARY, CREATE ON DATABASE {server.owner.info.dbname} TO only_reader")
    server.owner.execute("GRANT pg_read_all_settings TO only_reader")
    try:
        found = " ".join(told())
    finally:
        server.owner.execute("REVOKE pg_read_all_settings FROM only_reader")
    for words in (
        "write to clinic.visits",
        "clinic.salaries",
        "schema clinic",
        "create schemas",
        "temporary",
        "pg_read_all",
    ):
        assert words in found
    monkeypatch.setenv("CLINIC_DSN", server.address)
    assert [message for message in told() if "superuser" in message]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO clinic.wards VALUES ('x', 1)",
        "CREATE TEMPORARY TABLE x (a INTEGER)",
        "CREATE TABLE clinic.x (a INTEGER)",
        "SELECT set_config('transaction_read_only', 'off', true); DELETE FROM clinic.visits",
        "COMMIT; DROP TABLE clinic.visits",
        "SELECT * FROM clinic.salaries",
        "SELECT pg_read_file('/etc/passwd')",
        "COPY clinic.wards TO '/tmp/obverse-leak.csv'",
    ],
)
def test_nothing_can_be_written_and_nothing_undeclared_is_read(sql: str, server: Server) -> None:
    engine = engine_over()
    try:
        with pytest.raises(Refused):
            engine.run_public(sql, timeout_s=10)
        with pytest.raises((Failed, InvariantBroken)):
            engine.run(sql, timeout_s=10)
    finally:
        engine.close()
    assert server.owner.execute("SELECT COUNT(*) FROM clinic.visits").fetchone() == (3000,)
    assert server.owner.execute("SELECT COUNT(*) FROM pg_class WHERE relname = 'x'").fetchone() == (0,)


def test_the_role_could_not_write_even_if_it_had_the_right(server: Server) -> None:
    server.owner.execute("GRANT ALL ON clinic.wards TO only_reader")
    engine = engine_over()
    try:
        with pytest.raises(Refused):
            engine.run_public("INSERT INTO clinic.wards VALUES ('x', 1)", timeout_s=10)
    finally:
        engine.close()
    assert server.owner.execute("SELECT COUNT(*) FROM clinic.wards").fetchone() == (3,)


def test_a_connection_that_was_lost_is_made_anew_and_one_that_breaks_in_a_question_is_charged(server: Server) -> None:
    engine = engine_over()
    readers = "usename = 'only_reader' AND datname = current_database()"
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {readers}"

    def cut_once_it_sleeps() -> None:
        ends = time.monotonic() + 60
        while not server.owner.execute(f"{cut} AND wait_event = 'PgSleep'").fetchall() and time.monotonic() < ends:
            time.sleep(0.01)

    try:
        server.owner.execute(cut)
        assert engine.run("SELECT CAST(1 AS BIGINT) AS k", timeout_s=10).reveal()["k"].tolist() == [1]
        cutter = threading.Thread(target=cut_once_it_sleeps)
        cutter.start()
        with pytest.raises(Failed) as failed:
            engine.run("SELECT CAST(COUNT(pg_sleep(60)) AS BIGINT) AS k", timeout_s=120)
        cutter.join()
        assert failed.value.charged
        assert engine.run("SELECT CAST(2 AS BIGINT) AS k", timeout_s=10).reveal()["k"].tolist() == [2]
    finally:
        engine.close()


def test_a_server_that_went_away_after_the_debit_is_a_failure_that_stays_charged(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_over()
    engine._address = "postgresql://nobody@/nowhere?host=/nowhere"
    engine.close()
    with pytest.raises(Failed) as failed:
        engine.run("SELECT CAST(1 AS BIGINT) AS k", timeout_s=5)
    assert failed.value.charged


def test_what_a_server_lacks_is_told_before_anything_is_asked(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def code(text: str = TOML) -> str:
        with pytest.raises(CatalogError) as error:
            engine_over(text)
        return error.value.code

    assert code(TOML.replace("clinic.visits", "clinic.nothing")) == "source_missing"
    server.owner.execute("REVOKE SELECT ON clinic.visits FROM only_reader")
    assert code() == "source_unreadable"
    assert code(TOML.replace('source = "clinic.visits"', 'source = "python"')) == "bad_source"
    monkeypatch.setenv("CLINIC_DSN", server.reader.replace("only_reader", "nobody_here"))
    assert code() == "engine_unreachable"
    monkeypatch.delenv("CLINIC_DSN")
    assert code() == "engine_unreachable"
    assert code(TOML.replace('dsn_env = "CLINIC_DSN"', 'service = "no_such_service"')) == "engine_unreachable"
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert code() == "extra_missing"


def test_a_database_whose_texts_are_not_unicode_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"latin_{os.getpid()}"
    server.owner.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    try:
        monkeypatch.setenv("CLINIC_DSN", server.reader.replace(server.owner.info.dbname, name))
        with pytest.raises(CatalogError) as error:
            engine_over()
        assert error.value.code == "engine_unfit"
    finally:
        server.owner.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_the_settings_of_a_role_cannot_undo_ours(server: Server) -> None:
    database = server.owner.info.dbname
    for setting in ("standard_conforming_strings = off", "timezone = 'Asia/Tokyo'", "search_path = clinic"):
        server.owner.execute(f"ALTER ROLE only_reader IN DATABASE {database} SET {setting}")
    engine = engine_over()
    try:
        found = engine.run_public(
            "SELECT current_setting('timezone'), current_setting('search_path'), 'a\\'", timeout_s=5
        ).rows
        assert found == (("UTC", "pg_catalog", "a\\"),)
    finally:
        engine.close()


def test_a_view_is_read_whole_before_it_is_asked(project: Path, server: Server) -> None:
    """Its own expressions run on every row; one that raises would tell of that row."""
    server.owner.execute("CREATE VIEW clinic.costly AS SELECT person, ward, 1 / (cost - 79) AS cost FROM clinic.visits")
    server.owner.execute("GRANT SELECT ON clinic.costly TO only_reader")
    (project / "obverse.toml").write_text(TOML.replace('"clinic.visits"', '"clinic.costly"'))
    with pytest.raises(CatalogError) as error, obverse.open(project):
        pass
    assert error.value.code == "source_unreadable"


def test_a_rehearsal_reads_no_private_table(project: Path, server: Server) -> None:
    server.owner.execute("REVOKE SELECT ON clinic.visits FROM only_reader")
    answer = obverse.rehearse(project, COUNTED)
    assert [row[0] for row in answer.rows] == ["a", "b", "é"]
    joined = (
        "SELECT w.beds, COUNT(*) FROM visits AS v JOIN wards AS w ON v.ward = w.ward GROUP BY w.beds ORDER BY w.beds"
    )
    assert [row[0] for row in obverse.rehearse(project, joined).rows] == [3, 4, 5]


def test_listed_values_of_a_fixed_length_come_without_their_blanks(project: Path, server: Server) -> None:
    server.owner.execute("ALTER TABLE clinic.wards ALTER COLUMN ward TYPE CHAR(5)")
    (project / "obverse.toml").write_text(TOML.replace('values = ["a", "b", "é"]', 'values = "wards.ward"'))
    with obverse.open(project) as session:
        rows = session.ask(COUNTED, epsilon=5).rows
    assert [row[0] for row in rows] == ["a", "b", "é"]
    assert all(row[1] > 300 for row in rows)
