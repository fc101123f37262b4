"""Growing data read by views: a view that lacks rows, or has them in other partitions, would give units another
first one.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import obverse
from obverse.core.errors import CatalogError
from obverse.curator.partitions import publish_data
from tests.servers import postgres_address
from tests.unit.curator.test_ledger import TOML, number

VIEWS = {
    "fewer": "SELECT * FROM t WHERE wave >= 2",
    "fewer below": "SELECT * FROM fewer",
    "other partitions": "SELECT person, wave + 1 AS wave, yes FROM t",
    "another column": "SELECT person, second AS wave, yes FROM t",
    "unproved": "SELECT person, wave, yes FROM t LIMIT 10",
}


@pytest.fixture(params=["first", "each"])
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    connection = duckdb.connect(str(tmp_path / "d.duckdb"))
    rows = "FROM range(2000) AS p(person), range(1, 4) AS w(wave)"
    connection.execute(f"CREATE TABLE t AS SELECT person, wave, true AS yes, 4 - wave AS second {rows}")
    connection.execute("CREATE VIEW same AS SELECT yes, person, wave FROM t")
    for name, definition in VIEWS.items():
        connection.execute(f'CREATE VIEW "{name}" AS {definition}')
    connection.close()
    (tmp_path / "obverse.toml").write_text(TOML.format(counts=request.param).replace("answers.parquet", "d.duckdb:t"))
    return tmp_path


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("declared", [False, True])
def test_the_same_units_do_not_count_in_another_partition_by_way_of_a_view(
    project: Path, view: str, declared: bool
) -> None:
    """Wave 1 was asked of the table, and wave 2 of the same people by a view, both at all of the budget."""
    publish_data(project, "3")
    with obverse.open(project) as session:
        number(session, " WHERE wave = 1", 9)
    file = project / "obverse.toml"
    more = "\nrowwise = true" if declared else ""
    file.write_text(file.read_text().replace('"d.duckdb:t"', f'"d.duckdb:{view}"{more}'))
    with pytest.raises(CatalogError) as error, obverse.open(project) as session:
        number(session, " WHERE wave = 2", 9)
    assert error.value.code == "partitioned_view"


def test_a_view_that_has_all_rows_where_they_lie_is_asked(project: Path) -> None:
    publish_data(project, "3")
    file = project / "obverse.toml"
    file.write_text(file.read_text().replace("d.duckdb:t", "d.duckdb:same"))
    publish_data(project, "3")
    with obverse.open(project) as session:
        assert abs(number(session, " WHERE wave = 1") - 2000) < 30


def test_a_part_of_a_table_on_a_server_is_not_growing_data_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wave 1 was asked of the whole table, and wave 2 of the same people by way of the partition that holds it."""
    import psycopg

    address = postgres_address()
    monkeypatch.setenv("PARTS_DSN", address.replace("postgres:@", "parts_reader@"))
    owner = psycopg.connect(address, autocommit=True)
    if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = 'parts_reader'").fetchone():
        owner.execute("CREATE ROLE parts_reader LOGIN")
    owner.execute("CREATE TABLE whole (person BIGINT, wave BIGINT, yes BOOLEAN) PARTITION BY LIST (wave)")
    owner.execute("CREATE TABLE below PARTITION OF whole FOR VALUES IN (1, 2, 3) PARTITION BY LIST (wave)")
    for wave in (1, 2, 3):
        owner.execute(f"CREATE TABLE wave{wave} PARTITION OF below FOR VALUES IN ({wave})")
    owner.execute("INSERT INTO whole SELECT p, w, w = 2 FROM generate_series(1, 2000) AS p, generate_series(1, 3) AS w")
    owner.execute("CREATE VIEW same AS SELECT * FROM whole; CREATE VIEW part AS SELECT * FROM wave2")
    owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO parts_reader")
    engine = '[engine]\nkind = "postgres"\ndsn_env = "PARTS_DSN"\n'

    def project(source: str) -> Path:
        text = TOML.format(counts="first").replace("answers.parquet", f"public.{source}")
        (tmp_path / "obverse.toml").write_text(text + engine)
        return tmp_path

    publish_data(project("whole"), "3")
    for source in ("whole", "same"):
        with obverse.open(project(source)) as session:
            assert abs(number(session, " WHERE wave = 1") - 2000) < 30
    for source in ("wave2", "below", "part"):
        with pytest.raises(CatalogError) as error, obverse.open(project(source)):
            pass
        assert error.value.code == "partitioned_view"
    owner.close()
