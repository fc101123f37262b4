"""SmartNoise SQL over DuckDB: `smartnoise.py ROWS QUESTION` in its own environment (see setup.py)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import snsql
import trips

COUNT = "SELECT COUNT(*) AS n FROM main.trips"
SQL = {name: sql.replace("FROM trips", "FROM main.trips") for name, sql in trips.QUESTIONS.items()} | {"count": COUNT}


class Connection:
    """What SmartNoise needs of a database driver, over DuckDB (below 2: it orders a window by RANDOM())."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def cursor(self) -> Cursor:
        return Cursor(self.connection.cursor())

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


class Cursor:
    """A cursor that can be iterated over, which DuckDB's cannot."""

    def __init__(self, cursor: Any) -> None:
        self.cursor = cursor
        self.description = None

    def execute(self, sql: str) -> None:
        self.cursor.execute(sql)
        self.description = self.cursor.description

    def fetchall(self) -> list[Any]:
        return list(self.cursor.fetchall())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())

    def close(self) -> None: ...


def metadata(rows: int) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "max_ids": trips.ROWS_PER_USER,
        "sample_max_ids": True,
        "censor_dims": False,  # the cities are known: no threshold on them
        "clamp_counts": False,
        "rows": rows,
        "user_id": {"type": "int", "private_id": True},
        "city": {"type": "string"},
        "product": {"type": "string"},
        "fare": {"type": "float", "lower": 0.0, "upper": 100.0},
    }
    return {"": {"main": {"trips": columns}}}


def prepare(rows: int, name: str) -> tuple[Callable[[], Any], Callable[[Any], trips.Values]]:
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW trips AS SELECT * FROM read_parquet('{trips.table(rows)}')")

    def reader(epsilon: float) -> Any:
        privacy = snsql.Privacy(epsilon=epsilon, delta=trips.DELTA)
        return snsql.from_connection(
            Connection(connection), engine="postgres", metadata=metadata(rows), privacy=privacy
        )

    def ask() -> Any:
        """Its epsilon is that of each statistic: told what the question costs at 1, ask so that it costs 1 in all."""
        whole, _ = reader(1.0).get_privacy_cost(SQL[name])
        return reader(trips.EPSILON / whole).execute(SQL[name])

    return ask, lambda found: trips.by_key(name, found[1:])


if __name__ == "__main__":
    asked = int(sys.argv[1]), sys.argv[2]
    trips.one("smartnoise", *asked, lambda: prepare(*asked))
