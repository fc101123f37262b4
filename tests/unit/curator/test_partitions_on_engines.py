"""Published partitions on each engine, and with a ledger that several servers share: deleted rows are refused, or
paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import obverse
from obverse.core.errors import BudgetExceeded, Refused
from obverse.curator.ledger import verify_ledger
from obverse.curator.partitions import publish_data, retire_data
from obverse.curator.rights import requests
from obverse.curator.rights.export import matched
from tests.servers import postgres_address, spark_session
from tests.unit.curator.test_partitions import TOML, Rows, rows, without, write

READER = "partition_reader"
ENGINE = (
    '[engine]\nkind = "postgres"\ndsn_env = "GROWING_ROWS"\n[ledger]\nkind = "postgres"\ndsn_env = "GROWING_LEDGER"\n'
)
Fill = Callable[[Rows], None]


@pytest.fixture(params=["postgres", "spark"])
def stand(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, Fill]]:
    if request.param == "spark":
        spark_session()
        (tmp_path / "obverse.toml").write_text(TOML + '[engine]\nkind = "spark"\n')
        yield tmp_path, lambda what: write(tmp_path, what)
        return
    import psycopg

    address = postgres_address()
    monkeypatch.setenv("GROWING_LEDGER", postgres_address())
    monkeypatch.setenv("GROWING_ROWS", address.replace("postgres:@", f"{READER}@"))
    text = TOML.replace('"answers.parquet"', '"clinic.answers"').replace(
        'name = "waves"', 'name = "waves"\ndataset = "waves"'
    )
    (tmp_path / "obverse.toml").write_text(text + ENGINE)
    owner = psycopg.connect(address, autocommit=True)
    if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (READER,)).fetchone():
        owner.execute(f"CREATE ROLE {READER} LOGIN")
    owner.execute("CREATE SCHEMA clinic; CREATE TABLE clinic.answers (person BIGINT, wave BIGINT, yes BOOLEAN)")
    owner.execute(f"GRANT USAGE ON SCHEMA clinic TO {READER}; GRANT SELECT ON clinic.answers TO {READER}")

    def fill(what: Rows) -> None:
        owner.execute("TRUNCATE clinic.answers")
        with owner.cursor() as cursor:
            cursor.executemany("INSERT INTO clinic.answers VALUES (%s, %s, true)", what)

    yield tmp_path, fill
    owner.close()


def ask(project: Path, where: str, epsilon: float) -> Any:
    with obverse.open(project) as session:
        return session.ask(f"SELECT COUNT(*) AS n FROM answers WHERE {where}", epsilon=epsilon)


def test_deleted_partitions_are_refused_or_paid_for(stand: tuple[Path, Fill]) -> None:
    project, fill = stand
    fill(rows([1, 2, 3]))
    publish_data(project, "2")
    ask(project, "wave = 1", 0.9)
    with requests.kept(project) as keeper:
        done = requests.erase(keeper, 7, "asked for it")
    matched(project, done.right)
    fill(without(7, [1, 2, 3]))
    publish_data(project, "2")
    fill(without(7, [2, 3]))
    with pytest.raises(Refused) as error:
        publish_data(project, "3")
    assert error.value.code == "partition_changed"
    fill(without(7, [3, 2, 1]))
    retire_data(project, "1", "kept for a year")
    fill(without(7, [2, 3]))
    publish_data(project, "3")
    with pytest.raises(BudgetExceeded):
        ask(project, "wave = 2", 0.2)
    ask(project, "wave = 2 AND yes", 0.1)
    verify_ledger(project)
