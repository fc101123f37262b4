"""What a project may say of its sources: which rows are whose, and that none are private and public at once."""

import shutil
from pathlib import Path

import pytest

import obverse
from obverse.core.errors import CatalogError, LedgerError
from obverse.curator.check import check

PEOPLE = "id,age\n1,41\n2,42\n"
TOML = """\
[project]
name = "clinic"
[budget]
epsilon = 1
[tables.people]
source = "{people}"
unit = "id"
limits = {{ rows = 1 }}
[tables.people.columns]
id = {{ type = "{kind}" }}
age = {{ type = "integer", bounds = [0, 100] }}
"""
PUBLIC = '[tables.list]\nsource = "{}"\npublic = true\n'
VISITS = """\
[tables.visits]
source = "{visits}"
unit = "person -> people.id"
limits = {{ rows = 5 }}
[tables.visits.columns]
person = {{ type = "integer" }}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBVERSE_HOME", str(tmp_path / "home"))


def written(folder: Path, more: str = "", *, people: str = "people.csv", kind: str = "integer") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "obverse.toml").write_text(TOML.format(people=people, kind=kind) + more)
    return folder


@pytest.mark.parametrize("name", ["people.csv", "copy.csv", "linked.csv"])
def test_rows_are_not_private_and_public_at_once_from_the_first_question_on(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path / "p", PUBLIC.format(name))
    if name == "copy.csv":
        shutil.copy(folder / "people.csv", folder / name)
    if name == "linked.csv":
        (folder / name).hardlink_to(folder / "people.csv")
    assert [one.error.code for one in check(folder) if one.error is not None] == ["public_is_private"]
    with pytest.raises(CatalogError) as refused:
        obverse.open(folder)
    assert refused.value.code == "public_is_private"


def test_two_tables_of_one_file_have_ways_of_their_own_to_the_unit(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    folder = written(tmp_path / "p", VISITS.format(visits="all.duckdb:visits"), people="all.duckdb:people")
    with duckdb.connect(str(folder / "all.duckdb")) as made:
        made.execute("CREATE TABLE people AS SELECT i AS id, 40 AS age FROM range(9) AS t(i)")
        made.execute("CREATE TABLE visits AS SELECT i % 9 AS person FROM range(30) AS t(i)")
    for table in ("people", "visits"):
        with obverse.open(folder) as session:
            session.ask(f"SELECT COUNT(*) FROM {table}")
    changed = (folder / "obverse.toml").read_text().replace('id = { type = "integer" }', 'id = { type = "text" }')
    (folder / "obverse.toml").write_text(changed.replace('person = { type = "integer" }', 'person = { type = "text" }'))
    with pytest.raises(LedgerError) as refused:
        obverse.open(folder)
    assert refused.value.code == "terms_conflict"


def test_a_copy_of_rows_belongs_to_the_units_that_they_belong_to(tmp_path: Path) -> None:
    folder = written(tmp_path / "p")
    obverse.open(folder).close()
    shutil.copy(folder / "people.csv", folder / "copy.csv")
    written(folder, people="copy.csv", kind="text")
    with pytest.raises(LedgerError) as refused:
        obverse.open(folder)
    assert refused.value.code == "terms_conflict"
