from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from obverse.catalog.check import catalog_problems
from obverse.catalog.load import loads

ROOT = Path("/project")


def test_a_catalog_changed_in_python_is_checked_as_well_and_located_by_its_keys(corpus: str) -> None:
    catalog = loads(corpus, ROOT)
    visits = replace(catalog.tables["visits"], limits=None)
    (problem,) = catalog_problems(replace(catalog, tables={**catalog.tables, "visits": visits}))
    assert (problem.code, problem.place) == ("limits_missing", "tables.visits.limits")


def test_a_table_with_many_rows_of_a_unit_needs_limits(edited, refusal) -> None:
    error = refusal(edited(("limits = { rows = 20, groups = 5 }\n", "")))
    assert (error.code, error.place) == ("limits_missing", "obverse.toml:25 tables.visits.limits")
    assert "rows = 20" in error.fix


def test_the_table_where_paths_end_may_have_limits_of_its_own(edited) -> None:
    text = edited(('unit = "person_id"\n', 'unit = "person_id"\nlimits = { rows = 3 }\n'))
    assert loads(text, ROOT).tables["people"].limits is not None


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("groups = 5", "sums = { clinic = 5 }", "limits.sums.clinic"),
        ("groups = 5", "sums = { price = 5 }", "limits.sums.price"),
        ("groups = 5", "sums = { cost = 200001 }", "limits.sums.cost"),
    ],
)
def test_a_cap_on_sums_is_for_declared_numbers_and_lowers(edited, refusal, old: str, new: str, place: str) -> None:
    error = refusal(edited((old, new)))
    assert (error.code, error.place) == ("bad_limits", f"obverse.toml:28 tables.visits.{place}")


def test_rows_that_are_units_have_nothing_to_limit(edited, refusal) -> None:
    text = edited(('unit = "person_id"\n', 'unit = "row"\nlimits = "auto"\n'))
    assert refusal(text[: text.index("[tables.visits]")]).code == "bad_limits"


@pytest.mark.parametrize(
    ("name", "key"), [("[tables.clinics]", "[tables.People]"), ("zip = {", "AGE = {")], ids=["tables", "columns"]
)
def test_names_that_differ_only_in_case_are_refused(edited, refusal, name: str, key: str) -> None:
    assert refusal(edited((name, key))).code == "name_twice"


@pytest.mark.parametrize(
    ("unit", "fix"),
    [
        ("person_id -> peopl.person_id", "'people'"),
        ("clinic -> clinics.clinic", "people"),
        ("person_id -> people.name", "person_id -> people.person_id"),
        ("person_id -> visits.person_id", "end where the unit is"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(edited, refusal, unit: str, fix: str) -> None:
    error = refusal(edited(("person_id -> people.person_id", unit)))
    assert (error.code, error.place) == ("bad_unit", "obverse.toml:27 tables.visits.unit")
    assert fix in error.fix


@pytest.mark.parametrize("unit", ["visit_id -> visits.visit_id", "visit_id -> visits.visit_id -> clinics.clinic"])
def test_a_path_goes_on_as_the_table_between_does_and_the_fix_writes_it_out(corpus: str, refusal, unit: str) -> None:
    error = refusal(corpus + f'[tables.lines]\nsource = "l.csv"\nlimits = "auto"\nunit = "{unit}"\n')
    assert error.code == "bad_unit"
    assert "clinics" in unit or "visit_id -> visits.visit_id -> people.person_id" in error.fix


def test_a_path_into_a_table_whose_rows_are_units_is_refused(edited, refusal) -> None:
    error = refusal(edited(('unit = "person_id"\n', 'unit = "row"\n')))
    assert error.code == "bad_unit"
    assert "key column" in error.fix


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('unit = "person_id -> people.person_id"', 'unit = "person_id"'),
        ('unit = "person_id -> people.person_id"\nlimits = { rows = 20, groups = 5 }', 'unit = "row"'),
    ],
)
def test_a_second_protected_entity_is_refused(edited, refusal, old: str, new: str) -> None:
    error = refusal(edited((old, new)))
    assert (error.code, error.place) == ("two_units", "obverse.toml:27 tables.visits.unit")


def test_two_tables_of_row_units_are_two_entities(corpus: str, refusal) -> None:
    tables = "".join(f'[tables.{name}]\nsource = "{name}.csv"\nunit = "row"\n' for name in "ab")
    assert refusal(corpus[: corpus.index("[tables.people]")] + tables).code == "two_units"


def test_a_unit_key_declared_with_another_type_than_integer_or_text_is_refused(edited, refusal) -> None:
    error = refusal(edited(("[tables.people.columns]", '[tables.people.columns]\nperson_id = { type = "double" }')))
    assert error.code == "unit_type"
    assert error.place.endswith("tables.people.columns.person_id")


def test_a_key_passed_on_the_way_is_integer_or_text_too(edited, refusal) -> None:
    lines = (
        '[tables.lines]\nsource = "l.csv"\nlimits = "auto"\nunit = "visit_id -> visits.visit_id -> people.person_id"\n'
    )
    error = refusal(edited(('visit_id = { type = "integer" }', 'visit_id = { type = "double" }')) + lines)
    assert (error.code, error.place) == ("unit_type", "obverse.toml:30 tables.visits.columns.visit_id")


@pytest.mark.parametrize("listing", ["people.zip", "clinix.clinic"])
def test_values_are_listed_by_public_tables_only(edited, refusal, listing: str) -> None:
    error = refusal(edited(("clinics.clinic", listing)))
    assert (error.code, error.place) == ("bad_values", "obverse.toml:31 tables.visits.columns.clinic.values")
    assert "clinics" in error.fix


def test_a_public_size_is_for_replace_only(edited, refusal) -> None:
    size = ('unit = "person_id"\n', 'unit = "person_id"\nsize = 100\n')
    assert refusal(edited(size)).code == "conflict"


def test_a_size_belongs_where_the_units_are(edited, refusal) -> None:
    text = edited(('"add-remove"', '"replace"'), ("limits = { rows", "size = 3\nlimits = { rows"))
    error = refusal(text)
    assert (error.code, error.place) == ("conflict", "obverse.toml:28 tables.visits.size")
    assert "people" in error.message


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("epsilon = 0.1", "epsilon = 4.1", "obverse.toml:9 privacy.epsilon"),
        ("delta = 1e-8", "delta = 1e-5", "obverse.toml:10"),
    ],
)
def test_a_default_price_above_the_budget_is_refused(edited, refusal, old: str, new: str, place: str) -> None:
    error = refusal(edited((old, new)))
    assert error.code == "price_over_budget"
    assert error.place.startswith(place)


@pytest.mark.parametrize("delta", ["delta = 1e-6", "delta = 1e-8"])
def test_zcdp_needs_a_delta(edited, refusal, delta: str) -> None:
    error = refusal(edited(('accounting = "pure"', 'accounting = "zcdp"'), (delta, "delta = 0")))
    assert error.code == "bad_parameter"
    assert "zcdp" in error.message


def test_an_analyst_has_declared_purposes_only(corpus: str, refusal) -> None:
    text = corpus + '[purposes.quality]\nepsilon = 1\n[analysts.ana]\npurposes = ["qualty"]\n'
    error = refusal(text)
    assert (error.code, error.place) == ("purpose_not_declared", "obverse.toml:40 analysts.ana.purposes")
    assert "'quality'" in error.fix
