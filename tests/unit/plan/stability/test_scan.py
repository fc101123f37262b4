"""Facts of a table as it is read: enforced, so they hold of anything; presence only where nothing is left out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from obverse.catalog.load import loads
from obverse.catalog.model import Table
from obverse.core.bounds import Interval, Unbounded
from obverse.core.sensitivity import Stability
from obverse.core.units import Neighbours
from obverse.plan.stability.scan import column_facts, scan

TOML = """
[project]
name = "scan"
[budget]
epsilon = 1
[tables.rows]
source = "a.csv"
unit = "row"
[tables.rows.columns]
x = { type = "double", bounds = [0.1, 0.7] }
c = { type = "double", bounds = [0, 1], grid = 0.01 }
i = { type = "integer", bounds = [-5, 20] }
s = { type = "text", values = ["a", "b"] }
[tables.clinics]
source = "b.csv"
public = true
[tables.clinics.columns]
clinic = { type = "text" }
"""
TABLES = loads(TOML, Path("/")).tables


def stability(table: Table, neighbours: Neighbours, *columns: str) -> Stability:
    found = scan(table, neighbours, columns).stability
    assert found is not None
    return found


def test_ends_of_a_double_are_the_doubles_that_the_engine_clamps_to() -> None:
    bounds = column_facts(TABLES["rows"].columns["x"]).bounds
    assert bounds == Interval(Fraction(0.1), Fraction(0.7))
    assert bounds != TABLES["rows"].columns["x"].bounds


def test_a_declared_grid_is_the_step_and_integers_have_one() -> None:
    columns = TABLES["rows"].columns
    assert [column_facts(columns[c]).step for c in "xci"] == [None, Fraction(1, 100), Fraction(1)]


@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_row_is_one_unit_and_is_sure_to_be_there_only_under_replace(neighbours: Neighbours) -> None:
    found = stability(TABLES["rows"], neighbours, "x", "i")
    assert found.rows == 1
    assert found.always_present == (neighbours is Neighbours.REPLACE)


def test_a_column_with_a_public_list_may_leave_rows_out() -> None:
    assert not stability(TABLES["rows"], Neighbours.REPLACE, "x", "s").always_present


def test_rows_of_a_keyed_unit_are_unbounded_before_a_limit() -> None:
    toml = TOML.replace('unit = "row"', 'unit = "person"\nlimits = { rows = 3 }')
    keyed = loads(toml, Path("/")).tables["rows"]
    found = stability(keyed, Neighbours.REPLACE, "x")
    assert isinstance(found.rows, Unbounded)
    assert not found.always_present


def test_a_public_table_has_no_stability() -> None:
    assert scan(TABLES["clinics"], Neighbours.ADD_REMOVE, ("clinic",)).stability is None
