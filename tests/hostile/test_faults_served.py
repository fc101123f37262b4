"""The whole way of a service on D and on D' with the row that would make a naive engine raise: outcomes are the
same.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from obverse.core.errors import ObverseError
from obverse.curator import accounts
from obverse.server.project import Host
from obverse.server.queries import Desk, Wanted
from tests.connect_server import connect_address
from tests.engines.probes import EVE, PROBES, table
from tests.engines.sites import rows_of
from tests.servers import postgres_address, spark_session

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
HEAD = """
[project]
name = "{name}"
{engine}
[privacy]
delta = 1e-9
[budget]
epsilon = 100
delta = 1e-3
[analysts.ana]
[serve]
requests_per_minute = 100000
limit_s = 600
[tables.t]
source = "{source}"
unit = "u"
limits = {{ rows = 3 }}
rows_about = 10
[tables.t.columns]
"""
SITES = ("duckdb", "postgres", pytest.param("spark", marks=pytest.mark.soak))  # on Spark each answer takes seconds


def project(folder: Path, kind: str, planted: bool, monkeypatch: pytest.MonkeyPatch) -> Path:
    name = "with" if planted else "without"
    held = table(planted)
    columns = "\n".join(f"{column} = {one.declared}" for column, one in held.items())
    place = folder / name
    place.mkdir()
    engine = ""
    source = "t.parquet"
    written_by = "postgres" if kind == "postgres" else "duckdb"
    rows = rows_of(held, written_by)
    listed = ", ".join(f'"{column}" {one.kind_in(written_by)}' for column, one in held.items())
    texts = [["NULL" if value is None else "'" + value.replace("'", "''") + "'" for value in row] for row in rows]
    written = ", ".join(f"({', '.join(row)})" for row in texts)
    if kind == "spark":
        spark_session()  # what it needs, this needs
        engine = f'[engine]\nkind = "spark"\nurl = "{connect_address()}"'
    if kind != "postgres":
        with duckdb.connect() as connection:
            connection.execute(
                f"CREATE TABLE t ({listed}); INSERT INTO t VALUES {written}; COPY t TO '{place}/t.parquet'"
            )
    else:
        import psycopg

        address = postgres_address()
        variable = f"PROBED_{name.upper()}"
        with psycopg.connect(address, autocommit=True) as owner:
            if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = 'probe_reader'").fetchone():
                owner.execute("CREATE ROLE probe_reader LOGIN")
            owner.execute(f"REVOKE TEMPORARY ON DATABASE {owner.info.dbname} FROM PUBLIC")
            owner.execute(
                f"CREATE SCHEMA probed; CREATE TABLE probed.t ({listed}); INSERT INTO probed.t VALUES {written}"
            )
            owner.execute("GRANT USAGE ON SCHEMA probed TO probe_reader; GRANT SELECT ON probed.t TO probe_reader")
        monkeypatch.setenv(variable, address.replace("postgres:@", "probe_reader@"))
        engine = f'[engine]\nkind = "postgres"\ndsn_env = "{variable}"'
        source = "probed.t"
    (place / "obverse.toml").write_text(HEAD.format(name=name, engine=engine, source=source) + columns)
    return place


@pytest.fixture
def hosts(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Host, Host]]:
    made = tuple(Host(project(tmp_path, request.param, planted, monkeypatch)) for planted in (False, True))
    yield made[0], made[1]
    for host in made:
        host.close()


@pytest.mark.parametrize("hosts", SITES, indirect=True)
def test_one_row_more_changes_no_outcome_of_a_service(
    hosts: tuple[Host, Host], caplog: pytest.LogCaptureFixture
) -> None:
    """Class of the outcome, code, columns and price of every probe; and no word of the row in any error or log."""
    said: list[str] = []
    tokens = {host.name: accounts.issue(host.path, "ana", "analyst").token for host in hosts}

    async def main() -> dict[str, dict[str, tuple[object, ...]]]:
        desk = Desk(hosts)
        callers = {name: await desk.sign_in(name, token) for name, token in tokens.items()}

        few = asyncio.Semaphore(8)

        async def outcome(name: str, sql: str) -> tuple[object, ...]:
            try:
                async with few:
                    answer = await desk.ask(callers[name], Wanted(sql))
                keyed = any(column.role == "key" for column in answer.columns)  # discovered ones come by chance
                return ("answered", answer.columns, answer.price, 0 if keyed else len(answer.rows))
            except ObverseError as error:
                said.append(str(error))
                return ("error", error.code, error.charged, error.message if not error.charged else "")

        asked = [(name, probe) for name in callers for probe in PROBES]
        found = await asyncio.gather(*(outcome(name, PROBES[probe]) for name, probe in asked))
        told: dict[str, dict[str, tuple[object, ...]]] = {name: {} for name in callers}
        for (name, probe), one in zip(asked, found):
            told[name][probe] = one
        return told

    told = asyncio.run(main())
    assert told["with"] == told["without"]
    classes = {probe: one[0] for probe, one in told["with"].items()}
    assert sum(one == "answered" for one in classes.values()) > 30
    assert all(one[2] is False for one in told["with"].values() if one[0] == "error"), "what is refused is free"
    assert EVE not in caplog.text + "".join(said)
