from __future__ import annotations

from pathlib import Path

import pytest

from obverse.catalog.complete import complete, needed_values, type_of, unit_type_of
from obverse.catalog.load import load, loads, locator
from obverse.catalog.model import Catalog, Column
from obverse.core.bounds import Categories
from obverse.core.errors import CatalogError, InvariantBroken
from obverse.core.types import Type

ROOT = Path("/project")
PEOPLE = {"person_id": "BIGINT", "name": "VARCHAR", "age": "INTEGER", "zip": "VARCHAR", "sex": "VARCHAR"} | {
    "salary": "DOUBLE",
    "hiv": "BOOLEAN",
    "joined": "DATE",
    "secret": "VARCHAR",
}
VISITS = {"visit_id": "BIGINT", "person_id": "BIGINT", "clinic": "VARCHAR", "cost": "DOUBLE", "at": "TIMESTAMP"}
SCHEMAS = {
    "people": PEOPLE,
    "visits": VISITS,
    "clinics": {"clinic": "VARCHAR", "city": "VARCHAR", "area": "STRUCT(a INTEGER)"},
}
VALUES = {("clinics", "clinic"): ("Cardiology", None, "Emergency", "Cardiology")}


@pytest.fixture
def catalog(corpus: str) -> Catalog:
    return loads(corpus, ROOT)


def _refused(catalog: Catalog, schemas: object = SCHEMAS, values: object = VALUES) -> CatalogError:
    with pytest.raises(CatalogError) as caught:
        complete(catalog, schemas, values)  # type: ignore[arg-type]
    return caught.value


def test_unit_keys_are_added_with_the_type_of_the_source(catalog: Catalog) -> None:
    full = complete(catalog, SCHEMAS, VALUES)
    assert full.tables["people"].columns["person_id"] == Column("person_id", Type.INTEGER)
    assert full.tables["visits"].columns["person_id"] == Column("person_id", Type.INTEGER)


def test_no_other_undeclared_column_of_a_private_table_is_added(catalog: Catalog) -> None:
    assert "secret" not in complete(catalog, SCHEMAS, VALUES).tables["people"].columns


def test_public_tables_show_all_columns_and_hide_those_of_unknown_types(catalog: Catalog) -> None:
    columns = complete(catalog, SCHEMAS, VALUES).tables["clinics"].columns
    assert columns["city"] == Column("city", Type.TEXT)
    assert columns["area"].hidden


def test_listed_values_become_categories_once_each_and_without_null(catalog: Catalog) -> None:
    assert needed_values(catalog) == (("clinics", "clinic"),)
    clinic = complete(catalog, SCHEMAS, VALUES).tables["visits"].columns["clinic"]
    assert clinic.bounds == Categories(("Cardiology", "Emergency"))
    assert not clinic.nullable


def test_completing_twice_changes_nothing(catalog: Catalog) -> None:
    once = complete(catalog, SCHEMAS, VALUES)
    assert complete(once, SCHEMAS, VALUES) == once


def test_a_column_is_found_when_only_its_case_differs(catalog: Catalog) -> None:
    people = {name.upper(): kind for name, kind in PEOPLE.items()}
    assert complete(catalog, {**SCHEMAS, "people": people}, VALUES).tables["people"].columns["age"].name == "age"


def test_a_declared_column_that_the_source_lacks_is_named_with_the_nearest(catalog: Catalog) -> None:
    error = _refused(
        catalog, {**SCHEMAS, "people": {**{k: v for k, v in PEOPLE.items() if k != "salary"}, "salari": "DOUBLE"}}
    )
    assert (error.code, error.place) == ("column_missing", "obverse.toml tables.people.columns.salary")
    assert "'salari'" in error.fix


def test_errors_of_the_source_are_located_by_line_where_the_file_is_at_hand(tmp_path: Path, corpus: str) -> None:
    (tmp_path / "obverse.toml").write_text(corpus)
    people = {name: kind for name, kind in PEOPLE.items() if name != "salary"}
    with pytest.raises(CatalogError) as caught:
        complete(load(tmp_path), {**SCHEMAS, "people": people}, VALUES, locator(tmp_path))
    assert caught.value.place == "obverse.toml:22 tables.people.columns.salary"


def test_a_unit_key_that_the_source_lacks_is_missing_too(catalog: Catalog) -> None:
    error = _refused(catalog, {**SCHEMAS, "visits": {k: v for k, v in VISITS.items() if k != "person_id"}})
    assert error.code == "column_missing"


def test_a_name_that_could_be_two_columns_is_refused(catalog: Catalog) -> None:
    people = {k: v for k, v in PEOPLE.items() if k != "age"} | {"Age": "INTEGER", "AGE": "INTEGER"}
    assert _refused(catalog, {**SCHEMAS, "people": people}).code == "name_twice"


def test_a_public_table_whose_columns_differ_only_in_case_is_refused(catalog: Catalog) -> None:
    clinics = {"clinic": "VARCHAR", "city": "VARCHAR", "City": "VARCHAR"}
    assert _refused(catalog, {**SCHEMAS, "clinics": clinics}).code == "name_twice"


@pytest.mark.parametrize("kind", ["DOUBLE", "UUID", "TIMESTAMP", "BLOB", "INTEGER[]", "DECIMAL(10,0)"])
def test_a_unit_key_that_is_neither_integer_nor_text_is_refused(catalog: Catalog, kind: str) -> None:
    error = _refused(catalog, {**SCHEMAS, "people": {**PEOPLE, "person_id": kind}})
    assert error.code == "unit_type"
    assert 'type = "text"' in error.fix


def test_a_unit_key_of_another_type_may_be_declared_as_text(edited) -> None:
    text = edited(
        ("[tables.people.columns]", '[tables.people.columns]\nperson_id = { type = "text" }'),
        ("[tables.visits.columns]", '[tables.visits.columns]\nperson_id = { type = "text" }'),
    )
    schemas = {**SCHEMAS, "people": {**PEOPLE, "person_id": "UUID"}}
    full = complete(loads(text, ROOT), schemas, VALUES)
    assert full.tables["people"].columns["person_id"].type is Type.TEXT


def test_keys_that_lead_to_each_other_have_one_type(catalog: Catalog) -> None:
    error = _refused(catalog, {**SCHEMAS, "visits": {**VISITS, "person_id": "VARCHAR"}})
    assert error.code == "unit_type"
    assert "one type" in error.why


@pytest.mark.parametrize("listed", [(), (None,), (3, 4), ("a", 4)])
def test_listed_values_of_another_type_or_none_are_refused(catalog: Catalog, listed: tuple[object, ...]) -> None:
    error = _refused(catalog, values={("clinics", "clinic"): listed})
    assert (error.code, error.place) == ("bad_values", "obverse.toml tables.visits.columns.clinic.values")


def test_a_schema_or_list_that_was_not_fetched_is_our_own_fault(catalog: Catalog) -> None:
    with pytest.raises(InvariantBroken):
        complete(catalog, {}, VALUES)
    with pytest.raises(InvariantBroken):
        complete(catalog, SCHEMAS, {})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("HUGEINT", Type.INTEGER),
        ("utinyint", Type.INTEGER),
        ("DECIMAL(18,3)", Type.DOUBLE),
        ("FLOAT", Type.DOUBLE),
        ("ENUM('a', 'b')", Type.TEXT),
        ("TIMESTAMP_NS", Type.TIMESTAMP),
        ("TIMESTAMP WITH TIME ZONE", None),
        ("STRUCT(a INTEGER)", None),
        ("VARCHAR[]", None),
        ("MAP(VARCHAR, INTEGER)", None),
        ("INTERVAL", None),
    ],
)
def test_types_of_the_engine_have_a_counterpart_or_none(name: str, expected: Type | None) -> None:
    assert type_of(name) is expected
    assert unit_type_of(name) in (expected, None)
