from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from obverse.catalog.load import loads
from obverse.core.bounds import Interval
from obverse.core.types import Type
from obverse.demo.hospital import CLINICS, SampleTable, hospital
from obverse.demo.project import PROJECT_TOML
from tests.effort import effort

Tables = dict[str, SampleTable]


@pytest.fixture(scope="module")
def tables() -> Tables:
    return {table.name: table for table in hospital()}


def _present(table: SampleTable, column: str) -> np.ndarray:
    values = table.columns[column]
    return np.ma.getdata(values)[~np.ma.getmaskarray(values)]


def test_the_same_seed_gives_the_same_values_and_another_seed_others() -> None:
    first, again, other = (hospital(seed, people=500)[1].columns["cost"] for seed in (1, 1, 2))
    assert np.ma.allequal(first, again)
    assert len(first) != len(other) or not np.ma.allequal(first, other)


def test_sizes_are_about_those_announced_and_made_in_under_two_seconds(tables: Tables) -> None:
    with effort() as spent:
        hospital()
    assert spent.cpu_s < 2
    assert len(tables["people"].columns["person_id"]) == 20_000
    assert 95_000 < len(tables["visits"].columns["visit_id"]) < 105_000
    assert len(tables["clinics"].columns["clinic"]) == 12


def test_all_columns_of_a_table_are_typed_and_of_one_length(tables: Tables) -> None:
    for table in tables.values():
        assert list(table.columns) == list(table.types)
        assert len({len(values) for values in table.columns.values()}) == 1


def test_declared_types_and_bounds_hold_for_every_value(tables: Tables) -> None:
    catalog = loads(PROJECT_TOML, Path("/project"))
    for table in catalog.tables.values():
        for column in table.columns.values():
            assert tables[table.name].types[column.name] is column.type
            if isinstance(column.bounds, Interval):
                step = {Type.DATE: "datetime64[D]", Type.TIMESTAMP: "datetime64[us]"}.get(column.type)
                values = _present(tables[table.name], column.name)
                numbers = values if step is None else values.astype(step).astype(np.int64)
                assert column.bounds.lo <= numbers.min().item()
                assert numbers.max().item() <= column.bounds.hi


def test_every_person_has_one_row_and_a_few_have_far_more_visits_than_the_cap(tables: Tables) -> None:
    people = tables["people"].columns["person_id"]
    visits = tables["visits"].columns["person_id"]
    assert len(np.unique(people)) == len(people)
    assert np.isin(visits, people).all()
    counts = np.unique(visits, return_counts=True)[1]
    assert np.median(counts) >= 3
    assert 0 < (counts > 20).mean() < 0.1
    assert counts.max() > 100


def test_there_are_some_missing_values_and_they_are_few(tables: Tables) -> None:
    for column, most in (("age", 0.01), ("zip", 0.01), ("hiv", 0.03), ("salary", 0.3)):
        share = np.ma.getmaskarray(tables["people"].columns[column]).mean()
        assert 0 < share < most


def test_costs_grow_with_age_and_clinics_are_those_of_the_public_table(tables: Tables) -> None:
    people = tables["people"].columns
    visits = tables["visits"].columns
    order = np.argsort(people["person_id"])
    place = order[np.searchsorted(people["person_id"][order], visits["person_id"])]
    ages = np.ma.getdata(people["age"])[place]
    costs = np.ma.getdata(visits["cost"])
    assert costs[ages >= 60].mean() > 1.2 * costs[ages < 30].mean()
    assert set(visits["clinic"]) == set(CLINICS) == set(tables["clinics"].columns["clinic"])
    assert (visits["at"].astype("datetime64[D]") >= people["joined"][place]).all()
