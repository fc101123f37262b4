"""Engine text: golden files for representative questions, and what must hold of every text.

Set REGENERATE_GOLDEN=1 to write the files anew, then read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from obverse.catalog.model import Catalog
from obverse.core.types import Type
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit.emit import emit
from obverse.plan.emit.rows import key_index, mixed_radix
from obverse.plan.explain import plan_text
from obverse.plan.expressions import ColumnFacts, Ref
from obverse.plan.relation import Key
from obverse.session.planning import Planned

GOLDEN = Path(__file__).parents[3] / "golden"
D = DIALECTS["duckdb"]
ASKED = {
    "count_rows": ("row", "SELECT COUNT(*) FROM visits"),
    "sum_on_a_grid": ("row", "SELECT SUM(cost) FROM visits WHERE age >= 18"),
    "one_row_per_unit": ("one", "SELECT COUNT(age), AVG(cost) FROM visits"),
    "average_of_a_public_size": ("sized", "SELECT AVG(height) FROM visits"),
    "totals_clamped": ("many", "SELECT COUNT(*), SUM(cost), VAR_POP(age) FROM visits"),
    "totals_with_a_declared_cap": ("capped", "SELECT SUM(cost) FROM visits"),
    "weights_over_groups": ("many", "SELECT kind, COUNT(*), SUM(cost) FROM visits GROUP BY kind"),
    "three_keys": ("row", "SELECT sex, kind, smoker, COUNT(*) FROM visits GROUP BY sex, kind, smoker"),
    "keys_in_bounds": ("row", "SELECT age, COUNT(*) FROM visits WHERE age BETWEEN 20 AND 29 GROUP BY age"),
    "case_and_months": (
        "one",
        "SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END, date_trunc('month', day), COUNT(*) FROM visits GROUP "
        "BY 1, 2",
    ),
    "predicates": (
        "row",
        "SELECT COUNT(*) FROM visits WHERE (note LIKE 'a%' OR smoker) AND kind IN ('a', 'b') AND day IS NOT NULL",
    ),
    "arithmetic": ("row", "SELECT SUM(COALESCE(age, 0) * 2 + height % 7), STDDEV(CLAMP(cost / 3, 0, 100)) FROM visits"),
}


def golden_text(made: Planned) -> str:
    return f"-- question\n{made.text}\n\n-- plan\n{plan_text(made.costed)}\n\n-- engine\n{made.sql}\n"


@pytest.fixture(scope="module")
def text_of(planned: Callable[..., Planned]) -> Callable[[str], Planned]:
    def make(name: str) -> Planned:
        unit, text = ASKED[name]
        return planned(text, unit, "replace" if unit == "sized" else "add-remove")

    return make


@pytest.mark.parametrize("name", ASKED)
def test_the_plan_and_the_text_are_those_on_file(name: str, text_of: Callable[[str], Planned]) -> None:
    path = GOLDEN / f"{name}.sql"
    if os.environ.get("REGENERATE_GOLDEN"):
        path.write_text(golden_text(text_of(name)))
    assert golden_text(text_of(name)) == path.read_text()


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.sql")} == set(ASKED)


@pytest.mark.parametrize("name", ASKED)
def test_columns_and_tables_stand_only_in_quotes_and_the_text_is_one_select(
    name: str, text_of: Callable[[str], Planned], catalog: Callable[..., Catalog]
) -> None:
    bare = re.sub(r"'(?:[^']|'')*'", "''", text_of(name).sql)
    words = set(re.findall(r"\w+", re.sub(r'"(?:[^"]|"")*"', "", bare)))
    assert not words & {"visits", *catalog("one").tables["visits"].columns}
    assert ";" not in bare
    assert bare.startswith(("SELECT ", "WITH kept AS NOT MATERIALIZED (SELECT "))


def test_a_name_with_quotes_cannot_leave_its_quotes(
    planned: Callable[..., Planned], catalog: Callable[..., Catalog]
) -> None:
    made = planned("SELECT COUNT(*) FROM visits")
    here = catalog("row")
    evil = 'x"; DROP TABLE visits; --'
    table = replace(here.tables["visits"], name=evil)
    scan = replace(made.costed.root.child.child.child, table=evil)
    root = made.costed.root
    root = replace(root, child=replace(root.child, child=replace(root.child.child, child=scan)))
    sql = emit(root, replace(here, tables={evil: table}), "duckdb")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE {D.identifier(evil)} AS SELECT 1 AS age")
        connection.execute("CREATE TABLE visits AS SELECT 1 AS one")
        assert connection.execute(sql).fetchall() == [(0, 1)]
        assert connection.execute("SELECT COUNT(*) FROM visits").fetchall() == [(1,)]


def test_cells_are_numbered_by_all_keys_the_last_running_fastest() -> None:
    """Written out for four keys, since 0 * 3 + i * 4 + j * 2 + k is not ((i) * 4 + j) * 2 + k."""
    facts = ColumnFacts(Type.INTEGER, False)
    sizes = (3, 4, 2, 5)
    keys = [Key(f"k{n}", Ref(f"k{n}", facts), tuple(range(size)), False) for n, size in enumerate(sizes)]
    columns = ", ".join(f"k{n}" for n in range(4))
    source = ", ".join(f"range({size}) AS r{n}(k{n})" for n, size in enumerate(sizes))
    sql = f"SELECT {mixed_radix([(key.name, key) for key in keys])} FROM {source}"
    found = [row[0] for row in duckdb.execute(f"{sql} ORDER BY {columns}").fetchall()]
    assert found == list(range(3 * 4 * 2 * 5))


@pytest.mark.parametrize("size", [1, 3, 64, 65, 200])
@pytest.mark.parametrize("null", [False, True])
def test_an_index_is_the_place_in_the_domain_and_null_outside_it(size: int, null: bool) -> None:
    domain = tuple(f"v'{n}" for n in range(size))
    key = Key("k", Ref("k", ColumnFacts(Type.TEXT, null)), domain, null)
    index, joined = key_index(key, "p.x", "d0", D)
    asked = [*domain, "other", "", None]
    listed = ", ".join(f"({D.literal(value, Type.TEXT)}, {n})" for n, value in enumerate(asked))
    rows = duckdb.execute(f"SELECT {index} FROM (VALUES {listed}) AS p(x, n){joined} ORDER BY n").fetchall()
    assert [row[0] for row in rows] == [*range(size), None, None, size if null else None]


def test_rows_of_a_text_file_are_read_once(catalog: Callable[..., Catalog], planned: Callable[..., Planned]) -> None:
    root = planned("SELECT kind, COUNT(*) FROM visits GROUP BY kind", "many").costed.root
    here = catalog("many")
    for kind, kept in (("csv", "kept AS MATERIALIZED"), ("parquet", "kept AS NOT MATERIALIZED")):
        table = replace(here.tables["visits"], source=replace(here.tables["visits"].source, kind=kind))
        assert kept in emit(root, replace(here, tables={"visits": table}), "duckdb")
