"""Spark behind a service: by Spark Connect its rows are read from cages too; a local one is refused at once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import duckdb
import pytest

from obverse.core.errors import CatalogError, ObverseError
from obverse.curator import accounts
from obverse.server.project import Host
from obverse.server.queries import Desk, Wanted
from obverse.server.sandbox.pool import Cage
from obverse.server.timing import first_tick, predicted_s, start_s
from obverse.session.planning import Wish
from tests.caged import pid_of
from tests.connect_server import TABLE, connect_address
from tests.servers import needed, spark_session
from tests.unit.engines.test_spark_connect import COUNTED, TOML, assert_thousands

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a cage needs Linux")
SERVED = TOML.replace("[tables.visits]", "[analysts.ana]\n[tables.visits]\nrows_about = 2000")


@pytest.fixture
def home_of_the_test(home_of_the_run: None) -> None:
    """The server outlives a test, and so does its home."""


@pytest.fixture(scope="module")
def host(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    needed("grpc")
    spark_session()  # what it needs, this needs
    folder = tmp_path_factory.mktemp("served")
    (folder / "obverse.toml").write_text(SERVED.format(url=connect_address(), source=TABLE))
    made = Host(folder)
    yield made
    made.close()


def asked(host: Host, *wanted: Wanted) -> list[Any]:
    token = accounts.issue(host.path, "ana", "analyst").token

    async def main() -> list[Any]:
        desk = Desk([host])
        caller = await desk.sign_in("clinic", token)
        return [await desk.ask(caller, one) for one in wanted]

    return asyncio.run(main())


def test_a_project_on_spark_connect_is_served_from_cages(host: Host) -> None:
    """Noise is drawn beside the engine, in a process of one question; what was asked before is not run again."""
    wanted = Wanted(COUNTED, Wish(epsilon=6))
    first, again = asked(host, wanted, wanted)
    assert_thousands(first.rows)
    assert again.rows == first.rows
    assert again.price.stored
    with pytest.raises(ObverseError) as refused:
        asked(host, Wanted("SELECT * FROM visits"))
    assert refused.value.code == "not_aggregate"


def test_every_thread_of_such_a_cage_has_the_filter_of_calls(host: Host) -> None:
    """The client of Spark Connect makes threads of its own; those made before the filter would not have it."""
    child = host.cage.taken()
    try:
        found = {
            (task.parent.parent.name, line.split()[1])
            for task in Path(f"/proc/{pid_of(child)}/task").glob("*/status")
            for line in task.read_text().splitlines()
            if line.startswith("Seccomp:")
        }
    finally:
        host.cage.give_back(child)
    assert {mode for _, mode in found} == {"2"}
    assert len(found) >= 1


def test_what_spark_itself_needs_is_planned_for(host: Host) -> None:
    session = host.clerk().session("ana", "", host.cage.refuse_to_release)
    planned = session.prepare(COUNTED, Wish()).planned
    assert planned is not None
    assert first_tick(predicted_s(planned, host.catalog)) >= 2 * start_s(host.catalog) >= 2.0


def test_a_local_spark_is_refused_at_once_with_the_fix(tmp_path: Path) -> None:
    """It starts programs, which a cage forbids; without this it would be tried for minutes."""
    toml = SERVED.replace('url = "{url}"\n', "").format(source="visits.parquet")
    (tmp_path / "obverse.toml").write_text(toml)
    rows = "SELECT range AS person, 'a' AS ward, 'x' AS town FROM range(10)"
    duckdb.connect().execute(f"COPY ({rows}) TO '{tmp_path}/visits.parquet'")
    begun = monotonic()
    with pytest.raises(CatalogError) as refused:
        Host(tmp_path)
    assert refused.value.code == "engine_not_served"
    assert "sc://" in refused.value.fix
    assert monotonic() - begun < 30


def test_a_cage_of_such_a_project_gives_no_exact_value(host: Host) -> None:
    with pytest.raises(ObverseError):
        Cage.run(host.cage, "SELECT 1", timeout_s=1.0)
