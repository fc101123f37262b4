"""Qrlew, its rewritten SQL run in DuckDB: `qrlew.py ROWS QUESTION` in its own environment (see setup.py)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import duckdb
import pyqrlew
import sqlalchemy
import trips


def dataset(rows: int) -> Any:
    """The schema of a SQLite table of one row, with the declared values, bounds and (public, in Qrlew) number of
    rows.
    """
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.StaticPool)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE trips (user_id INTEGER, city TEXT, product TEXT, fare FLOAT)"))
        connection.execute(sqlalchemy.text("INSERT INTO trips VALUES (1, 'city_000', 'prod_00', 1.0)"))
    single = pyqrlew.Dataset.from_database("bench", engine, None)
    described = str(single).splitlines()[0].removeprefix("Dataset: ")
    sized = pyqrlew.Dataset.from_str(
        described, single.schema, (single.size or "").replace('"size": "1"', f'"size": "{rows}"')
    )
    assert str(rows) in (sized.size or "")
    sized = sized.with_range(None, "trips", "fare", 0.0, 100.0)
    sized = sized.with_possible_values(None, "trips", "city", trips.CITIES)
    return sized.with_possible_values(None, "trips", "product", trips.PRODUCTS)


def prepare(rows: int, name: str) -> tuple[Callable[[], Any], Callable[[Any], trips.Values]]:
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW trips AS SELECT * FROM read_parquet('{trips.table(rows)}')")
    known = dataset(rows)

    def ask() -> Any:
        rewritten = known.relation(trips.QUESTIONS[name]).rewrite_with_differential_privacy(
            known,
            [("trips", [], "user_id")],
            {"epsilon": trips.EPSILON, "delta": trips.DELTA},
            max_multiplicity=float(trips.ROWS_PER_USER),
            max_privacy_unit_groups=trips.GROUPS_PER_USER,
        )
        return connection.execute(rewritten.relation().to_query(pyqrlew.Dialect.PostgreSql)).fetchall()

    return ask, lambda found: trips.by_key(name, found)


if __name__ == "__main__":
    asked = int(sys.argv[1]), sys.argv[2]
    trips.one("qrlew", *asked, lambda: prepare(*asked))
