from __future__ import annotations

import pytest

from obverse.catalog.keys import nearest, suggestion


@pytest.mark.parametrize(
    ("old", "new", "place", "fix"),
    [
        ("bounds = [0, 120]", "bound = [0, 120]", "obverse.toml:19 tables.people.columns.age.bound", "'bounds'"),
        ("epsilon = 4.0", "epsilom = 4.0", "obverse.toml:12 budget.epsilom", "'epsilon'"),
        ("[engine]", "[engin]", "obverse.toml:4 engin", "'engine'"),
        ("limits = { rows = 20", "limits = { row = 20", "obverse.toml:28 tables.visits.limits.row", "'rows'"),
        ("public = true", "zzz = true", "obverse.toml:36 tables.clinics.zzz", "source, unit, size"),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_the_nearest_valid_key(edited, refusal, old, new, place, fix) -> None:
    error = refusal(edited((old, new)))
    assert (error.code, error.place) == ("unknown_key", place)
    assert fix in error.fix


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('name = "hospital"\n', "", "obverse.toml:2 project.name"),
        ("epsilon = 4.0\n", "", "obverse.toml:11 budget.epsilon"),
        ("[budget]\nepsilon = 4.0\ndelta = 1e-6\n", "", "obverse.toml budget"),
        ('source = "clinics.csv"\n', "", "obverse.toml:34 tables.clinics.source"),
        ('hiv = { type = "boolean" }', "hiv = {}", "obverse.toml:23 tables.people.columns.hiv.type"),
        ("rows = 20, ", "", "obverse.toml:28 tables.visits.limits.rows"),
        ('unit = "person_id"\n', "", "obverse.toml:14 tables.people.unit"),
    ],
)
def test_a_missing_key_is_named_where_it_belongs(edited, refusal, old: str, new: str, place: str) -> None:
    error = refusal(edited((old, new)))
    assert (error.code, error.place) == ("missing_key", place)


@pytest.mark.parametrize("text", ["", "[project]\nname = 'p'\n", "[project]\nname = 'p'\n[tables]\n"])
def test_a_project_without_tables_is_refused(refusal, text: str) -> None:
    assert refusal(text).code == "missing_key"


def test_an_analyst_with_a_delta_needs_an_epsilon(corpus: str, refusal) -> None:
    error = refusal(corpus + "[analysts.ana]\ndelta = 1e-9\n")
    assert (error.code, error.place) == ("missing_key", "obverse.toml:37 analysts.ana.epsilon")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "hospital"', "name = 3"),
        ('name = "hospital"', 'name = ""'),
        ("public = true", 'public = "true"'),
        ("bounds = [0, 120]", "bounds = [0, 1, 120]"),
        ("bounds = [0, 120]", "bounds = 120"),
        ('values = ["F", "M", "X"]', "values = 3"),
        ("limits = { rows = 20, groups = 5 }", 'limits = "automatic"'),
        ('hiv = { type = "boolean" }', 'hiv = "boolean"'),
        ('type = "boolean"', "type = 1"),
        ('[engine]\nkind = "duckdb"', "[[engine]]"),
        ("[tables.clinics]", "[analysts.a]\npurposes = 'x'\n[tables.clinics]"),
        ('[project]\nname = "hospital"', 'analysts = 1\n[project]\nname = "hospital"'),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(edited, refusal, old: str, new: str) -> None:
    error = refusal(edited((old, new)))
    assert error.code == "wrong_type"
    assert error.fix.startswith("Write ")


@pytest.mark.parametrize(
    ("old", "new", "fix"),
    [
        ('neighbours = "add-remove"', 'neighbours = "add_remove"', "'add-remove'"),
        ('accounting = "pure"', 'accounting = "rdp"', "pure, zcdp"),
        ('type = "boolean"', 'type = "bool"', "'boolean'"),
        ('kind = "duckdb"', 'kind = "oracle"', "duckdb, postgres, spark"),
    ],
)
def test_a_word_that_is_no_choice_is_refused_with_the_nearest(edited, refusal, old: str, new: str, fix: str) -> None:
    error = refusal(edited((old, new)))
    assert error.code == "bad_choice"
    assert fix in error.fix


@pytest.mark.parametrize("name", ['""', '"a\\nb"', '"a.b"', '"' + "x" * 129 + '"'])
def test_a_table_without_a_usable_name_is_refused(edited, refusal, name: str) -> None:
    assert refusal(edited(("[tables.clinics]", f"[tables.{name}]"))).code == "bad_name"


@pytest.mark.parametrize(
    "number", ["0", "-1", "nan", "inf", "1e308", "5e-324", "101", "true", '"1"', "[1]", "1e99999999999999999999"]
)
@pytest.mark.parametrize("key", ["epsilon = 0.1", "epsilon = 4.0"])
def test_an_epsilon_outside_its_range_is_refused(edited, refusal, key: str, number: str) -> None:
    error = refusal(edited((key, f"epsilon = {number}")))
    assert error.code == "bad_parameter"
    assert "between 1e-9 and 100" in error.message


@pytest.mark.parametrize("number", ["1", "-0.0", "-1e-9", "nan", "true", '"0"', "1e999"])
def test_a_delta_outside_its_range_is_refused(edited, refusal, number: str) -> None:
    assert refusal(edited(("delta = 1e-6", f"delta = {number}"))).code == "bad_parameter"


@pytest.mark.parametrize("number", ["0", "-3", "2.5", "true", "1000000001"])
def test_a_cap_that_is_no_count_is_refused(edited, refusal, number: str) -> None:
    assert refusal(edited(("rows = 20", f"rows = {number}"))).code == "bad_parameter"


@pytest.mark.parametrize("number", ["0", "-0.01", "nan", '"1"'])
def test_a_grid_that_is_not_positive_is_refused(edited, refusal, number: str) -> None:
    assert refusal(edited(("grid = 0.01", f"grid = {number}"))).code == "bad_parameter"


def test_the_nearest_name_ignores_case_and_is_none_when_nothing_is_near() -> None:
    assert nearest("AGE", ["age", "zip"]) == "age"
    assert nearest("qqq", ["age", "zip"]) is None
    assert suggestion("qqq", ["age", "zip"]) == "Valid here: age, zip."
    assert suggestion("qqq", []) == "None is declared yet."
