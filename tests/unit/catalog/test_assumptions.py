"""What is believed of a source: six things, each with what it holds by; claims name those that are declared, and no
others.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from obverse.catalog.assumptions import What, as_declared
from obverse.catalog.load import loads
from obverse.catalog.model import Table

TOML = """
[project]
name = "waves"
[budget]
epsilon = 10
[tables.answers]
source = "answers.parquet"
unit = "person"
limits = { rows = 4 }
partition = { column = "wave", counts = "first" }
rowwise = true
[tables.answers.columns]
wave = { type = "integer", bounds = [1, 9] }
[tables.list]
source = "list.csv"
public = true
"""
ANSWERS, LIST = loads(TOML, Path("/")).tables.values()


@pytest.mark.parametrize("table", [ANSWERS, LIST, replace(ANSWERS, rowwise=False), replace(ANSWERS, partition=None)])
def test_each_source_has_all_six_in_one_object_and_claims_name_the_declared_ones(table: Table) -> None:
    found = as_declared(table)
    assert tuple(belief.what for belief in found.beliefs) == get_args(What)
    declared = {belief.what: belief.words for belief in found.beliefs if belief.by == "declaration"}
    assert found.assumes == tuple(declared.values())
    expected = {"rows": table.rowwise, "added": table.partition is not None}
    assert set(declared) == {what for what, named in expected.items() if named}


def test_nothing_of_a_public_source_is_taken_for_the_rows_of_units() -> None:
    assert {belief.what: belief.by for belief in as_declared(LIST).beliefs} == {
        "equality": "plan",
        "rows": "nothing",
        "added": "nothing",
        "keys": "nothing",
        "form": "nothing",
        "schema": "catalog",
    }


def test_by_what_each_of_a_private_source_holds() -> None:
    plain = as_declared(replace(ANSWERS, rowwise=False, partition=None))
    assert {belief.what: belief.by for belief in plain.beliefs} == {
        "equality": "plan", "rows": "catalog", "added": "nothing", "keys": "plan", "form": "rows", "schema": "catalog",
    }  # fmt: skip
