"""One budget for several machines: what they agree on, what each notices, and what is refused."""

import shutil
import sys
import threading
from dataclasses import replace
from fractions import Fraction

import pytest

from obverse.catalog.model import Server
from obverse.core.errors import BudgetExceeded, LedgerError, Refused
from obverse.core.ledger import Budget, Stored
from obverse.ledger.home import Home
from obverse.ledger.opened import version_now
from obverse.ledger.opening import acknowledge, changed, private_here, publish
from obverse.ledger.postgres import server
from obverse.ledger.postgres.server import PostgresServer
from obverse.ledger.sources import FileSource, NamedSource
from tests.servers import needed, postgres_address

psycopg = needed("psycopg")


def code_of(action, *args, **kwargs):
    with pytest.raises((LedgerError, Refused)) as caught:
        action(*args, **kwargs)
    return caught.value.code


@pytest.fixture
def machine(world, database):
    """Another machine: a home of its own and, if told so, a copy of the data elsewhere."""

    def made(name: str = "second") -> Home:
        return Home(world.root / name / "home")

    return made


@pytest.fixture
def claimed(world, database):
    return world.claimed("one", world.file("people.csv"))


@pytest.fixture
def rows(database):
    """The database as its owner sees it, past all triggers."""
    with psycopg.connect(database, autocommit=True, options="-c session_replication_role=replica") as connection:
        yield connection


TABLES = ("ledger", "dataset", "identity", "published", "unit_path", "entry", "answer", "note")


def saved(rows):
    return {table: rows.execute(f"SELECT * FROM obverse.{table}").fetchall() for table in TABLES}


def restored(rows, copy):
    """The whole database as it was: a backup put back by the server's owner."""
    for table in reversed(TABLES):
        rows.execute(f"DELETE FROM obverse.{table}")
    for table in TABLES:
        for row in copy[table]:
            rows.execute(f"INSERT INTO obverse.{table} VALUES ({', '.join(['%s'] * len(row))})", row)


def test_two_machines_spend_from_one_budget(world, claimed, machine, ask):
    here = world.open(claimed)
    there = world.open(claimed, machine())
    assert here.dataset == there.dataset
    ask(here.ledger, "plan", "0.7", answer=b"bytes")
    assert there.ledger.spent().amount == Fraction(7, 10)
    assert isinstance(ask(there.ledger, "plan", "0.7"), Stored)
    with pytest.raises(BudgetExceeded):
        ask(there.ledger, "another", "0.4")
    ask(there.ledger, "another", "0.3")
    assert here.ledger.verify() == there.ledger.verify()


def test_the_same_name_or_the_same_rows_are_the_same_data_on_every_machine(world, claimed, machine):
    here = world.open(claimed)
    other_rows = replace(claimed, sources=(FileSource("t", world.file("b.csv", "changed\n")), claimed.sources[1]))
    other_name = replace(claimed, sources=(claimed.sources[0], NamedSource("another")))
    assert world.open(other_rows, machine("second")).dataset.id == here.dataset.id
    assert world.open(other_name, machine("third")).dataset.id == here.dataset.id


def test_the_same_path_on_another_machine_may_hold_other_data(world, claimed, machine):
    here = world.open(claimed)
    path = world.file("people.csv", "other people\n")
    other = replace(claimed, sources=(FileSource("people", path), NamedSource("other people")))
    assert world.open(other, machine()).dataset.id != here.dataset.id


def test_joining_two_datasets_is_refused_on_every_machine(world, claimed, machine):
    world.open(claimed)
    plants = replace(claimed, sources=(FileSource("plants", world.file("plants.csv", "p\n")), NamedSource("plants")))
    world.open(plants, machine())
    both = replace(claimed, sources=(claimed.sources[0], *plants.sources))
    assert code_of(world.open, both, machine("third")) == "dataset_conflict"


def test_a_home_and_a_database_that_mean_two_datasets_are_refused(world, claimed, machine):
    world.open(claimed)
    moved = replace(claimed, sources=(FileSource("t", world.file("people.csv", "all new\n")), NamedSource("new")))
    world.open(replace(moved, sources=moved.sources[1:]), machine())
    assert code_of(world.open, moved) == "dataset_conflict"


def test_a_dataset_without_a_name_is_refused(world, claimed):
    assert code_of(world.open, replace(claimed, sources=claimed.sources[:1])) == "dataset_unnamed"


def test_other_terms_or_other_units_are_refused_on_every_machine(world, claimed, machine):
    table = replace(claimed.sources[0], unit="person (integer)")
    world.open(replace(claimed, sources=(table, claimed.sources[1])))
    other = replace(claimed, terms=replace(claimed.terms, unit="household"))
    assert code_of(world.open, other, machine("second")) == "terms_conflict"
    renamed = replace(table, name="renamed", unit="household (integer)")
    assert (
        code_of(world.open, replace(claimed, sources=(renamed, claimed.sources[1])), machine("third"))
        == "terms_conflict"
    )


def test_data_counted_in_a_file_is_not_counted_in_a_server_too_nor_the_other_way_round(world, claimed):
    in_a_file = replace(claimed, server=None)
    world.open(in_a_file)
    assert code_of(world.open, claimed) == "ledger_elsewhere"
    plants = replace(claimed, sources=(FileSource("plants", world.file("plants.csv", "p\n")), NamedSource("plants")))
    world.open(plants)
    assert code_of(world.open, replace(plants, server=None)) == "ledger_elsewhere"


def test_what_is_private_on_one_machine_is_not_public_on_another(world, claimed, machine):
    world.open(claimed)
    assert private_here(machine(), claimed.sources[:1], world.server)
    assert not private_here(machine(), claimed.sources[:1])


def test_a_version_that_one_machine_publishes_is_the_version_of_all(world, claimed, machine):
    home = machine()
    path = world.root / "people.csv"
    here = world.open(claimed)
    there = world.open(claimed, home)
    path.write_text("person,age\n1,42\n2,17\n")
    assert changed(home, there, claimed.sources) == ("table0",)
    version = publish(home, there, claimed.sources)
    assert version_now(here) == version_now(there) == version
    assert changed(world.home, here, claimed.sources) == ()


def test_eight_machines_that_register_at_once_get_one_dataset(world, claimed, machine):
    found = []

    def one(n):
        found.append(world.open(claimed, machine(f"machine {n}")).dataset.id)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_restored_server_is_noticed_and_costs_what_was_seen_since(world, claimed, machine, rows, ask):
    here = world.open(claimed)
    there = world.open(claimed, machine())
    ask(there.ledger, "monday", "0.2")
    copy = saved(rows)
    ask(here.ledger, "tuesday", "0.3")
    restored(rows, copy)
    assert code_of(ask, here.ledger, "wednesday") == "ledger_rolled_back"
    assert code_of(world.open, claimed) == "ledger_rolled_back"
    again = acknowledge(world.home, claimed, "the server was restored")
    world.opened.append(again)
    assert again.ledger.spent().amount == Fraction(1, 2)
    assert world.open(claimed).ledger.verify() == again.ledger.head()
    assert there.ledger.spent().amount == Fraction(1, 2)


def test_each_machine_that_saw_what_was_lost_acknowledges_for_itself(world, claimed, machine, rows, ask):
    home = machine()
    here = world.open(claimed)
    there = world.open(claimed, home)
    copy = saved(rows)
    ask(here.ledger, "here", "0.1")
    ask(there.ledger, "there", "0.2")
    restored(rows, copy)
    for which in (world.home, home):
        assert code_of(world.open, claimed, which) == "ledger_rolled_back"
        world.opened.append(acknowledge(which, claimed, "the server was restored"))
    assert world.open(claimed).ledger.spent().amount >= Fraction(3, 10)


def test_another_database_is_no_fresh_budget(world, claimed, ask, monkeypatch):
    ask(world.open(claimed).ledger, "plan", "0.7")
    monkeypatch.setenv("OBVERSE_TEST_LEDGER", postgres_address())
    assert code_of(world.open, claimed) == "ledger_missing"
    again = acknowledge(world.home, claimed, "the server is gone")
    world.opened.append(again)
    assert again.ledger.spent().amount == Fraction(7, 10)
    assert world.open(claimed).ledger.budget() == Budget(Fraction(1), Fraction(1, 10**6))


def test_a_tail_that_was_cut_off_is_noticed_even_by_a_machine_that_never_saw_it(world, claimed, machine, rows, ask):
    ask(world.open(claimed).ledger, "plan")
    rows.execute("DELETE FROM obverse.entry WHERE number > 1")
    assert code_of(world.open, claimed, machine()) == "ledger_damaged"


def test_records_cannot_be_changed_or_deleted_through_sql(world, claimed, database, ask):
    ask(world.open(claimed).ledger, "plan")
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in (
            "UPDATE obverse.entry SET hash = ''", "DELETE FROM obverse.entry", "DELETE FROM obverse.answer",
            "TRUNCATE obverse.entry", "TRUNCATE obverse.note",
        ):  # fmt: skip
            with pytest.raises(psycopg.errors.RaiseException):
                connection.execute(statement)


def test_a_commit_is_durable_whatever_the_database_is_set_to(world, claimed, rows, ask):
    name = rows.info.dbname
    for setting in ("synchronous_commit = off", "default_transaction_isolation = 'serializable'",
                    "default_transaction_read_only = on", "search_path = pg_catalog"):  # fmt: skip
        rows.execute(f"ALTER DATABASE {name} SET {setting}")
    rows.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    ledger = world.open(claimed).ledger
    ask(ledger, "plan")
    with ledger.server.writing() as statements:
        shown = [
            statements.execute(f"SHOW {name}").fetchone()[0] for name in ("synchronous_commit", "transaction_isolation")
        ]
    assert shown == ["on", "read committed"]


class Careless(psycopg.Connection):
    """A server that says it does not write through."""

    def execute(self, query, *args, **kwargs):
        return super().execute(query.replace("SELECT current_setting('fsync')", "SELECT 'off'"), *args, **kwargs)


def test_a_server_that_does_not_write_through_is_refused(world, claimed, monkeypatch):
    monkeypatch.setattr(psycopg, "connect", Careless.connect)
    assert code_of(world.open, claimed) == "ledger_unwritable"


def test_tables_that_do_not_survive_a_crash_are_noticed(world, claimed, rows):
    ledger = world.open(claimed).ledger
    rows.execute("ALTER TABLE obverse.note SET UNLOGGED")
    assert code_of(ledger.verify) == "ledger_damaged"


def test_a_schema_of_the_future_or_of_somebody_else_is_refused(world, claimed, rows):
    rows.execute("CREATE SCHEMA obverse")
    rows.execute("CREATE TABLE obverse.theirs (x int)")
    assert code_of(world.open, claimed) == "ledger_damaged"
    rows.execute("DROP TABLE obverse.theirs")
    world.open(claimed)
    rows.execute("INSERT INTO obverse.migration VALUES (99, now())")
    assert code_of(world.open, claimed) == "ledger_newer"


def test_waiting_for_the_lock_is_bounded_and_charges_nothing(world, claimed, database, monkeypatch, ask):
    monkeypatch.setattr(server, "BUSY_S", 0.05)
    ledger = world.open(claimed).ledger
    ledger.server._settings = PostgresServer("", "", busy_s=0.05)._settings
    with psycopg.connect(database) as other:
        other.execute("SELECT * FROM obverse.ledger FOR UPDATE")
        with pytest.raises(LedgerError) as caught:
            ask(ledger, "plan")
    assert (caught.value.code, caught.value.charged) == ("ledger_busy", False)
    ask(ledger, "plan")


def test_a_user_who_may_not_write_is_refused(world, claimed, database, rows, monkeypatch, ask):
    world.open(claimed)
    rows.execute("CREATE ROLE ledger_reader LOGIN")
    try:
        rows.execute("GRANT USAGE ON SCHEMA obverse TO ledger_reader")
        rows.execute("GRANT SELECT ON ALL TABLES IN SCHEMA obverse TO ledger_reader")
        monkeypatch.setenv("OBVERSE_TEST_LEDGER", psycopg.conninfo.make_conninfo(database, user="ledger_reader"))
        assert code_of(world.open, claimed) == "ledger_unwritable"
    finally:
        rows.execute("DROP OWNED BY ledger_reader")
        rows.execute("DROP ROLE ledger_reader")


def test_a_role_needs_few_rights_once_the_schema_is_there(world, claimed, database, rows, monkeypatch, ask):
    world.open(claimed)
    rows.execute("CREATE ROLE asker LOGIN")
    try:
        rows.execute("GRANT USAGE ON SCHEMA obverse TO asker")
        rows.execute("GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA obverse TO asker")
        rows.execute("GRANT UPDATE ON obverse.ledger, obverse.dataset, obverse.identity, obverse.published TO asker")
        monkeypatch.setenv("OBVERSE_TEST_LEDGER", psycopg.conninfo.make_conninfo(database, user="asker"))
        opened = world.open(claimed)
        ask(opened.ledger, "plan", note="SELECT 1")
        publish(world.home, opened, claimed.sources)
        assert opened.ledger.verify().count == 4
        opened.ledger.close()
    finally:
        rows.execute("DROP OWNED BY asker")
        rows.execute("DROP ROLE asker")


def test_a_child_leaves_the_connection_of_its_parent_alone(world, claimed, in_child, ask):
    ledger = world.open(claimed).ledger

    def session() -> int:
        with ledger.server.reading() as statements:
            return int(statements.execute("SELECT pg_backend_pid()").fetchone()[0])

    before = session()
    assert in_child(lambda: session() != before) == 0
    assert session() == before


def test_without_an_address_or_a_server_nothing_is_answered_and_no_password_is_shown(world, claimed, monkeypatch):
    monkeypatch.setattr(server, "PAUSES_S", (0.0, 0.0))
    for address, code in (
        ("", "no_address"),
        ("host=/nowhere password=secret", "ledger_unreachable"),
        ("this is no address: secret", "ledger_unreachable"),
    ):
        monkeypatch.setenv("OBVERSE_TEST_LEDGER", address)
        with pytest.raises((LedgerError, Refused)) as caught:
            world.open(claimed)
        assert caught.value.code == code
        assert "secret" not in str(caught.value)


def test_a_service_is_found_by_its_name(world, claimed, database, monkeypatch):
    given = psycopg.conninfo.conninfo_to_dict(database)
    lines = [f"{name}={value}" for name, value in given.items() if name in ("host", "dbname", "user")]
    (world.root / "services.conf").write_text("\n".join(["[ledger]", *lines]) + "\n")
    monkeypatch.setenv("PGSERVICEFILE", str(world.root / "services.conf"))
    assert world.open(replace(claimed, server=Server(service="ledger"))).ledger.head().count == 1


def test_without_the_driver_the_extra_is_named(world, claimed, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert code_of(world.open, claimed) == "missing_extra"


def test_a_lost_home_joins_again_and_keeps_the_budget(world, claimed, ask):
    ask(world.open(claimed).ledger, "plan", "0.7")
    shutil.rmtree(world.home.folder)
    world.home = Home(world.root / "home")
    assert world.open(claimed).ledger.spent().amount == Fraction(7, 10)
