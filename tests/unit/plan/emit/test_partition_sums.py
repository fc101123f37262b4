"""Sums of partitions: the same for the same rows in every order and on every engine, and others where one row
changed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.core.ledger import Partitions
from obverse.core.types import Value
from obverse.plan.emit.partition_sums import MODULUS, PartitionSums, read_sums, unit_hash
from tests.stands import STANDS, Stand

TOML = """
[project]
name = "growing"
[budget]
epsilon = 1
[tables.t]
source = "python"
unit = "person"
limits = { rows = 3 }
partition = { column = "COLUMN", counts = "first" }
[tables.t.columns]
wave = { type = "integer", bounds = [1, 9] }
day = { type = "date", bounds = ["2020-01-01", "2020-12-31"] }
"""
KEY = "ab" * 32
Rows = list[tuple[Value, int]]
ROWS: Rows = [
    ("ana", 1),
    ("ana", 1),
    ("ana", 3),
    ("Ana", 1),
    ("béa 😀", 2),
    ("", 2),
    ("o'b\\x", 3),
    (None, 1),
    ("cy", 4),
]


@pytest.fixture(scope="module", params=[(kind, column) for kind in STANDS for column in ("wave", "day")], ids="-".join)
def stand(request: pytest.FixtureRequest) -> Iterator[Stand]:
    kind, column = request.param
    schemas = {"t": {"person": "VARCHAR", "wave": "BIGINT", "day": "DATE"}}
    made = STANDS[kind](complete(loads(TOML.replace("COLUMN", column), Path("/")), schemas, {}), schemas)
    yield made
    made.close()


def sums(stand: Stand, rows: Rows, named: tuple[str, ...] = ()) -> PartitionSums:
    """Of partitions 1 to 3."""
    from datetime import date

    stand.fill({"t": tuple({"person": who, "wave": wave, "day": date(1970, 1, 1 + wave)} for who, wave in rows)})
    table = stand.catalog.tables["t"]
    hashes = [unit_hash(KEY, one) for one in named]
    return read_sums(stand.engine, stand.catalog, table, Partitions(1, 3), KEY, hashes, 60.0)


def expected(rows: Rows) -> dict[int, int]:
    found: dict[int, int] = {}
    for who, wave in rows:
        if who is not None and wave <= 3:
            found[wave] = (found.get(wave, 0) + int(unit_hash(KEY, who), 16)) % MODULUS
    return found


def test_sums_are_those_of_hashes_computed_here_in_any_order(stand: Stand) -> None:
    shuffled = random.Random(1).sample(ROWS, len(ROWS))
    assert sums(stand, ROWS).others == sums(stand, shuffled).others == expected(ROWS)


def test_one_row_or_one_unit_changed_is_another_sum(stand: Stand) -> None:
    others = [
        ROWS[1:],  # a row of somebody who has two of them
        [*ROWS, ("cy", 2)],
        [("ANA", 1), *ROWS[1:]],
        [("ana", 2), *ROWS[1:]],
        [("ana", 1), ("ana", 1), ("Ana", 3), ("ana", 1), *ROWS[4:]],  # two people change places
    ]
    for changed in others:
        found = sums(stand, changed)
        assert found.others == expected(changed) != expected(ROWS)


def test_units_that_are_named_are_summed_apart(stand: Stand) -> None:
    found = sums(stand, ROWS, named=("ana", "cy", "o'b\\x"))
    assert found.others == expected([row for row in ROWS if row[0] not in ("ana", "o'b\\x")])
    own = {unit_hash(KEY, who): expected([row for row in ROWS if row[0] == who]) for who in ("ana", "o'b\\x")}
    assert found.named == own  # cy has rows in no partition of the range
