"""Answers over missing, undeclared and misspelled values, without noise, against DuckDB's over rows as they are
meant.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import obverse
from obverse.testing import noiseless, synthetic

OTHER = "(other)"
SHORT = ("low", "high")
LONG = tuple(f"s{n}" for n in range(1, 13))
KEYS = ("k1", "k2", "k3")
STARS = (1, 2, 3)
MESSY = (*SHORT, "high ", "LOW", "", OTHER, "Ünk", None, "x" * 300)
TOML = f"""
[project]
name = "messy"
version = 2
[budget]
epsilon = 1
[tables.t]
source = "t.parquet"
unit = "id"
[tables.t.columns]
g = {{ type = "text", values = ["low", "high"] }}
h = {{ type = "text", values = ["low", "high"] }}
s = {{ type = "text", values = {list(LONG)} }}
p = {{ type = "text", values = "pub.k" }}
n = {{ type = "integer", values = [1, 2, 3] }}
e = {{ type = "text", values = ["low", "high"], nullable = false }}
o = {{ type = "text", values = ["low", "high"], other = false }}
z = {{ type = "text", values = ["low", "high"], other = false, nullable = false }}
a = {{ type = "integer", bounds = [0, 100] }}
[tables.pub]
source = "pub.parquet"
public = true
"""
PUBLIC = {"k": [*KEYS, None], "region": ["north", "south", "north", "none"], "w": [1, 2, 3, 4]}
HEAD = "SELECT COUNT(*) AS c FROM t WHERE "
QUESTIONS = (
    "SELECT s, COUNT(*) AS c, SUM(a) AS x FROM t GROUP BY s",
    "SELECT s, g, COUNT(*) AS c FROM t GROUP BY s, g",
    "SELECT p, COUNT(*) AS c FROM t GROUP BY p",
    "SELECT n, COUNT(*) AS c, SUM(n) AS x FROM t GROUP BY n",
    "SELECT e, o, COUNT(*) AS c FROM t GROUP BY e, o",
    "SELECT z, COUNT(*) AS c FROM t WHERE z <> 'dropped' GROUP BY z",
    "SELECT COUNT(g) AS a, COUNT(s) AS b, COUNT(n) AS c, COUNT(e) AS d, COUNT(*) AS x FROM t",
    "SELECT COUNT(DISTINCT g) AS a, COUNT(DISTINCT s) AS b, COUNT(DISTINCT n) AS c, COUNT(DISTINCT p) AS d FROM t",
    "SELECT MODE(g) AS m FROM t WHERE g = '(other)'",
    "SELECT SUM(n) AS a, COUNT(n) AS b FROM t",
    "SELECT COALESCE(g, h, 'none') AS k, COUNT(*) AS c FROM t GROUP BY 1",
    "SELECT CASE WHEN g = '(other)' THEN 'o' WHEN g IS NULL THEN 'n' ELSE g END AS k, COUNT(*) AS c FROM t GROUP BY 1",
    "SELECT CASE WHEN n = 1 THEN 'one' WHEN n > 1 THEN 'more' ELSE 'none' END AS k, COUNT(*) AS c FROM t GROUP BY 1",
    "SELECT NULLIF(g, '(other)') AS k, COUNT(*) AS c FROM t GROUP BY 1",
    "SELECT UPPER(g) AS k, LENGTH(h) AS l, COUNT(*) AS c FROM t GROUP BY 1, 2",
    "SELECT s, COUNT(*) AS c FROM t WHERE s IN ('s1', 'S1', '(other)') GROUP BY s",
    "SELECT s, COUNT(*) AS c FROM (SELECT s FROM t WHERE g = '(other)') AS q GROUP BY s",
    "SELECT g, COUNT(*) AS c FROM (SELECT g FROM t UNION ALL SELECT h AS g FROM t) AS q GROUP BY g",
    "SELECT pub.region AS r, COUNT(*) AS c FROM t LEFT JOIN pub ON t.p = pub.k GROUP BY 1",
    "SELECT p, SUM(pub.w) AS c FROM t JOIN pub ON t.p = pub.k GROUP BY p",
    "SELECT x.g AS k, COUNT(*) AS c FROM t AS x JOIN t AS y ON x.id = y.id WHERE y.h = '(other)' GROUP BY 1",
    "SELECT COUNT(*) AS c FROM t AS x JOIN t AS y ON x.id = y.id AND x.g = y.h",
    *(HEAD + condition for condition in (
        "g = '(other)'", "g <> '(other)'", "g IS NULL", "g = 'high '", "g = 'nowhere'", "g IN ('low', 'high ')",
        "g NOT IN ('low')", "NOT (g IN ('low', 'x'))",
        "s LIKE 's1%'", "g LIKE '% '", "g = h", "g <> h", "g IS DISTINCT FROM h", "g < h", "g = s",
        "n > 1", "n <> 2", "TRIM(g) = 'high'", "p IN (SELECT k FROM pub WHERE region = 'north')",
        "EXISTS (SELECT 1 FROM pub WHERE pub.k = t.p)", "NOT EXISTS (SELECT 1 FROM pub WHERE pub.k = t.p)",
    )),
)  # fmt: skip


def stored() -> dict[str, list[Any]]:
    dice = random.Random(3)
    many = range(2000)
    columns: dict[str, list[Any]] = {"id": list(many), "a": [dice.randrange(100) for _ in many]}
    columns |= {name: [dice.choice(MESSY) for _ in many] for name in "gheoz"}
    columns["s"] = [dice.choice((*LONG, "S1", "s1 ", "", OTHER, None)) for _ in many]
    columns["p"] = [dice.choice((*KEYS, "k9", "K1", OTHER, None)) for _ in many]
    columns["n"] = [dice.choice((*STARS, 9, -1, None)) for _ in many]
    return columns


def read(values: list[Any], declared: tuple[Any, ...], missing: Any, other: Any) -> list[Any]:
    return [value if value in declared else missing if value is None else other for value in values]


def meant(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    lists = {"g": SHORT, "h": SHORT, "s": LONG, "p": KEYS}
    found = columns | {name: read(columns[name], declared, None, OTHER) for name, declared in lists.items()}
    return found | {
        "n": read(columns["n"], STARS, None, None),
        "e": read(columns["e"], SHORT, OTHER, OTHER),
        "o": read(columns["o"], SHORT, None, None),
        "z": read(columns["z"], SHORT, "dropped", "dropped"),
    }


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[obverse.Session, duckdb.DuckDBPyConnection]]:
    columns = stored()
    folder = synthetic({"t": columns, "pub": PUBLIC}, TOML, tmp_path_factory.mktemp("messy") / "p")
    there = synthetic({"t": meant(columns), "pub": PUBLIC}, TOML, folder.parent / "meant")
    with noiseless(folder) as session, duckdb.connect() as plain:
        for name in ("t", "pub"):
            plain.execute(f"CREATE TABLE {name} AS FROM '{there / f'{name}.parquet'}'")
        yield session, plain


def full(rows: Any) -> list[tuple[Any, ...]]:
    """Rows of somebody, in one order; a sum of nobody is 0."""
    whole = [tuple(round(value) if isinstance(value, float) else value for value in row) for row in rows]
    return sorted((row for row in whole if row[-1] not in (0, None) or len(row) == 1), key=repr)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_messy_table_is_answered_as_it_is_declared(sql: str, both: tuple[obverse.Session, Any]) -> None:
    session, plain = both
    assert full(session.ask(sql).rows) == full(plain.execute(sql).fetchall())
