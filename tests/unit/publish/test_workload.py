"""Workloads: tables over attributes, and what of them is too much."""

from __future__ import annotations

import pytest

from obverse.core.errors import Refused
from obverse.publish.workload import Attribute, Workload


def wide(*sizes: int) -> tuple[Attribute, ...]:
    return tuple(Attribute(f"a{n}", tuple(range(size))) for n, size in enumerate(sizes))


def test_a_table_of_too_many_cells_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        Workload(wide(6000, 6000), ((0, 1),))
    assert refused.value.code == "release_too_wide"


def test_effects_are_the_subsets_of_tables_without_attributes_of_one_cell() -> None:
    assert Workload(wide(2, 3, 1), ((0, 1), (1, 2))).effects() == ((), (0,), (1,), (0, 1))


def test_names_of_files_hold_no_signs() -> None:
    made = Workload((Attribute("../a b", (1, 2)),), ((0,), ()))
    assert [made.file_name(table) for table in made.tables] == ["01-___a_b", "02-total"]
