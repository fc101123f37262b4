"""What tells that private data changed is kept as an HMAC: a guess of the data cannot be checked against it."""

import hashlib
import sqlite3
import threading
from contextlib import closing

import pytest

from obverse.core.database import Shape
from obverse.core.errors import LedgerError
from obverse.ledger import home as home_module
from obverse.ledger.home import SHAPE, Home
from obverse.ledger.opening import changed, publish
from obverse.ledger.sources import FileSource, Seal, seal_in
from tests.servers import needed


def plain(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_no_file_of_the_home_holds_a_hash_of_the_data(world):
    path = world.file("people.csv")
    opened = world.open(world.claimed("one", path))
    publish(world.home, opened, [FileSource("table0", path)])
    world.close()
    kept = b"".join(file.read_bytes() for file in world.home.folder.iterdir()) + opened.dataset.ledger.read_bytes()
    assert b"dataset" in kept
    for hashed in (plain(path), hashlib.sha256(plain(path).encode()).hexdigest()):
        assert hashed.encode() not in kept
        assert bytes.fromhex(hashed) not in kept


def test_the_database_holds_no_hash_of_the_data_and_both_machines_know_the_file_by_its_content(world, database):
    psycopg = needed("psycopg")
    path = world.file("people.csv")
    first = world.open(world.claimed("one", path))
    second = Home(world.root / "second")
    there = world.open(world.claimed("two", world.file("elsewhere/people.csv")), second)
    assert there.dataset == first.dataset
    with psycopg.connect(database) as rows:
        contents = rows.execute("SELECT value FROM obverse.identity WHERE kind = 'content'").fetchall()
        digests = rows.execute("SELECT digest FROM obverse.published WHERE digest <> ''").fetchall()
    known = {first.registered.seal.of("file", plain(path))}
    assert {value for (value,) in contents} == {value for (value,) in digests} == known
    assert world.home.seal.name != second.seal.name != first.registered.seal.name
    second.close()


def test_a_database_whose_secret_is_gone_answers_nothing(world, database):
    psycopg = needed("psycopg")
    claimed = world.claimed("one", world.file("people.csv"))
    world.open(claimed)
    with psycopg.connect(database, autocommit=True) as rows:
        rows.execute("DELETE FROM obverse.secret")
    with pytest.raises(LedgerError) as caught:
        world.open(claimed)
    assert caught.value.code == "ledger_damaged"


def test_the_secret_is_its_owners_alone_and_is_not_printed(world):
    assert (world.home.folder / "secret").stat().st_mode & 0o077 == 0
    assert world.home.seal.secret.hex() not in repr(world.home.seal)


@pytest.mark.parametrize("befalls", ["deleted", "exchanged", "cut", "scribbled"])
def test_without_its_secret_a_home_answers_nothing(world, befalls):
    world.open(world.claimed("one", world.file("people.csv")))
    secret = world.home.folder / "secret"
    match befalls:
        case "deleted":
            secret.unlink()
        case "exchanged":
            secret.write_text("00" * 32)
        case "cut":
            secret.write_text(secret.read_text()[:-2])
        case "scribbled":
            secret.write_bytes(b"\xff" * 64)
    with pytest.raises(LedgerError) as caught:
        Home(world.home.folder)
    assert caught.value.code == "home_damaged"
    assert "secret" in caught.value.fix


def test_of_many_that_start_at_once_one_makes_the_secret(tmp_path):
    found: list[Seal] = []
    threads = [threading.Thread(target=lambda: found.append(seal_in(tmp_path / "home"))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len({seal.secret for seal in found}) == 1
    assert [file.name for file in (tmp_path / "home").iterdir()] == ["secret"]


def test_a_registry_with_plain_hashes_is_sealed_and_still_knows_its_data(world, ask, monkeypatch):
    path = world.file("people.csv")
    older = Shape(**{name: getattr(SHAPE, name) for name in Shape.__slots__} | {"migrations": SHAPE.migrations[:1]})
    hashed = plain(path)
    with closing(sqlite3.connect(world.root / "older.db")) as old, old:
        for statement in (*older.base, *older.migrations[0]):
            old.execute(statement)
        old.execute(f"PRAGMA application_id = {SHAPE.application_id}")
        old.execute("PRAGMA user_version = 1")
        old.execute("INSERT INTO ledger VALUES ('l', ?, 0, '', '0', '0', '1', '0', 0)", (str(world.root / "l.db"),))
        old.execute("INSERT INTO dataset VALUES ('d', 'l', 'v', 'pure', 'add-remove', 'person')")
        old.execute("INSERT INTO identity VALUES ('content', ?, '', 'd')", (hashed,))
        old.execute("INSERT INTO published VALUES ('d', ?, ?)", (str(path), hashed))
        old.execute("INSERT INTO synthetic VALUES (?)", (hashed,))
        old.execute("INSERT INTO digest VALUES (?, 0, 0, '', ?)", (str(path), hashed))
    (world.root / "upgraded").mkdir()
    (world.root / "older.db").rename(world.root / "upgraded" / "registry.db")
    home = Home(world.root / "upgraded")
    identified = home.identified([FileSource("people", path)])
    with home.shared() as registry:
        assert registry.dataset_of(identified).id == "d"
        assert registry.changed("d", identified) == ()
    home.close()
    assert hashed.encode() not in b"".join(file.read_bytes() for file in home.folder.iterdir())


def test_a_file_is_read_once_for_all_places_that_know_it(world, database, monkeypatch):
    path = world.file("people.csv")
    read = []
    digest = home_module.digest_file
    monkeypatch.setattr(home_module, "digest_file", lambda stamp: read.append(stamp) or digest(stamp))
    opened = world.open(world.claimed("one", path))
    assert len(read) == 1
    path.write_text("person,age\n1,43\n2,44\n")
    assert changed(world.home, opened, [FileSource("table0", path)]) == ("table0",)
    assert len(read) == 2
