"""The place outside every project: found, private, and refused when it cannot be written to."""

import os
import sqlite3
import sys
from pathlib import Path

import pytest

from obverse.core.errors import LedgerError, Refused
from obverse.ledger import home as home_module
from obverse.ledger.home import Home, default_home
from obverse.ledger.sources import FileSource, ObjectSource


def test_the_variable_names_the_home_before_all_else():
    assert default_home({"OBVERSE_HOME": "/somewhere", "XDG_DATA_HOME": "/else"}) == Path("/somewhere")


@pytest.mark.skipif(sys.platform != "linux", reason="the user's data folder differs by system")
def test_without_the_variable_the_users_data_folder_is_taken():
    assert default_home({"XDG_DATA_HOME": "/data"}) == Path("/data/obverse")
    assert default_home({}) == Path.home() / ".local" / "share" / "obverse"


def test_the_home_is_readable_by_its_owner_alone(tmp_path):
    home = Home(tmp_path / "home")
    assert home.folder.stat().st_mode & 0o077 == 0
    assert (home.folder / "registry.db").stat().st_mode & 0o077 == 0


def test_a_home_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LedgerError) as caught:
        Home(tmp_path / "file")
    assert caught.value.code == "no_home"
    assert "OBVERSE_HOME" in caught.value.fix


def test_a_user_without_any_folder_is_told_to_name_one(monkeypatch):
    def lost():
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", lost)
    with pytest.raises(LedgerError) as caught:
        default_home({})
    assert caught.value.code == "no_home"


def test_a_registry_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "registry.db").write_text("scribble " * 500)
    with pytest.raises(LedgerError) as caught:
        Home(tmp_path)
    assert caught.value.code == "home_damaged"


def test_a_registry_exchanged_under_a_running_process_stops_it(world, ask):
    ledger = world.open(world.claimed("one", world.file("people.csv"))).ledger
    fresh = Home(world.root / "other home")
    fresh.close()
    world.home.close()
    os.replace(fresh.folder / "registry.db", world.home.folder / "registry.db")
    with pytest.raises(LedgerError) as caught:
        ask(ledger, "plan")
    assert caught.value.code == "home_damaged"


def test_a_registry_that_forgot_the_ledger_stops_a_running_process(world, ask):
    ledger = world.open(world.claimed("one", world.file("people.csv"))).ledger
    with world.home.exclusive() as registry:
        for table in ("identity", "published", "dataset", "ledger"):
            registry.statements.execute(f"DELETE FROM {table}")
    with pytest.raises(LedgerError) as caught:
        ask(ledger, "plan")
    assert caught.value.code == "ledger_unknown"


def test_a_debit_that_could_not_be_anchored_is_not_answered_and_says_that_it_was_charged(world, ask, monkeypatch):
    ledger = world.open(world.claimed("one", world.file("people.csv"))).ledger

    def full(self, state, heads):
        raise LedgerError("no_home", "the disk is full")

    monkeypatch.setattr(home_module.HomeAnchor, "write", full)
    with pytest.raises(LedgerError) as caught:
        ask(ledger, "plan")
    assert (caught.value.code, caught.value.charged) == ("no_home", True)
    monkeypatch.undo()
    assert float(ledger.spent().amount) == 0.1


def test_a_file_is_not_read_again_until_it_changes(world, monkeypatch):
    path = world.file("people.csv")
    digests = []
    digest = home_module.digest_file
    monkeypatch.setattr(home_module, "digest_file", lambda stamp: digests.append(stamp) or digest(stamp))
    first = world.home.identified([FileSource("people", path)])
    assert world.home.identified([FileSource("people", path)]) == first
    assert len(digests) == 1
    path.write_text("person,age\n1,43\n2,44\n")
    assert world.home.identified([FileSource("people", path)]) != first
    assert len(digests) == 2


def test_an_empty_file_is_not_known_by_its_content(world):
    (identified,) = world.home.identified([FileSource("people", world.file("empty.csv", ""))])
    assert [identity.kind for identity in identified.identities] == ["path", "inode"]


def test_an_object_is_known_by_its_project_and_its_table(world):
    (identified,) = world.home.identified([ObjectSource("people", world.root / "one")])
    assert [(i.kind, i.value) for i in identified.identities] == [("object", f"{world.root / 'one'}#people")]


@pytest.mark.parametrize("name", ["nowhere.csv", "."])
def test_a_source_that_is_no_file_is_refused(world, name):
    with pytest.raises(Refused) as caught:
        world.home.identified([FileSource("people", world.root / name)])
    assert caught.value.code == "source_missing"


def test_a_home_that_another_process_makes_at_this_very_moment_is_no_damage(tmp_path, monkeypatch):
    connect = sqlite3.connect
    meanwhile = []

    def watched(*args, **kwargs):
        connection = connect(*args, **kwargs)
        if not meanwhile:
            meanwhile.append(connection)
            connection.set_trace_callback(lambda text: "user_version" in text and len(meanwhile) == 1 and other())
        return connection

    def other():
        meanwhile.append(Home(tmp_path / "home"))

    monkeypatch.setattr(sqlite3, "connect", watched)
    Home(tmp_path / "home")
    assert len(meanwhile) == 2
