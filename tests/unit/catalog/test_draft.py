from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.catalog.draft import (
    SourceFile,
    bounds_by_name,
    draft,
    free_text_by_name,
    questions,
    type_by_name,
    unit_by_names,
)
from obverse.catalog.load import loads, problems
from obverse.core.errors import CatalogError
from obverse.core.types import Type

GOLDEN = Path(__file__).parent / "golden" / "draft.toml"
VISITS = {"visit_id": "BIGINT", "person_id": "BIGINT", "clinic": "VARCHAR", "cost": "DOUBLE", "at": "TIMESTAMP"}
FILES = (
    SourceFile("visits.parquet", {**VISITS, "tags": "VARCHAR[]"}, "parquet"),
    SourceFile(
        "people.csv", dict.fromkeys(("person_id", "full name", "age", "zip", "salary", "joined")), "csv", delimiter=";"
    ),
    SourceFile("lines.parquet", {"line_id": "BIGINT", "visit_id": "BIGINT", "drug": "VARCHAR"}, "parquet"),
    SourceFile("old/people.csv", {"city": None}, "csv"),
    SourceFile("h.duckdb", {"city": "VARCHAR"}, "duckdb", table="cities"),
)
NAMES = st.text(st.characters(codec="utf-8"), max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    columns=st.dictionaries(NAMES, st.sampled_from([None, "BIGINT", "VARCHAR", "BLOB", "DATE"]), min_size=1, max_size=5)
)
def test_a_draft_of_any_names_is_toml_whose_problems_are_located(columns: dict[str, str | None]) -> None:
    text = draft([SourceFile("t.csv", columns, "csv"), SourceFile("u.csv", columns, "csv")], name="p")
    assert _code(text) != "bad_toml"


def _code(text: str) -> str | None:
    try:
        loads(text, Path("/project"))
    except CatalogError as error:
        return error.code
    return None


def test_the_draft_is_the_golden_one() -> None:
    assert draft(FILES, name="hospital") == GOLDEN.read_text(encoding="utf-8")


def test_open_questions_are_listed_in_order() -> None:
    asked = questions(draft(FILES, name="hospital"))
    assert asked[0].startswith("budget:")
    assert "visits: is this who is protected? guessed from the name" in asked
    assert "visits.cost: smallest and largest plausible value?" in asked
    assert "people_2.city: type not known, so text; which values are allowed? values = [...], or leave it open" in asked


def test_a_key_of_text_is_left_out_and_offered_as_the_unit() -> None:
    text = draft([SourceFile("t.csv", dict.fromkeys(("ID", "visit_id", "x")), "csv")], name="p")
    assert 'a key column (perhaps "ID")' in text
    assert "# ID: looks like a key, so it is not declared, and hidden" in text
    assert loads(text.replace('# unit = "row"', 'unit = "ID"'), Path("/project")).tables["t"].columns.keys() == {"x"}


def test_what_the_draft_leaves_open_is_what_check_asks(tmp_path: Path) -> None:
    file = tmp_path / "obverse.toml"
    file.write_text(draft(FILES[:3], name="hospital"), encoding="utf-8")
    assert {error.code for error in problems(file)} == {"limits_missing"}
    answered = file.read_text(encoding="utf-8").replace("# limits", "limits")
    file.write_text(answered, encoding="utf-8")
    assert problems(file) == ()


def test_times_with_a_zone_are_declared_and_said_to_be_read_in_utc() -> None:
    text = draft([SourceFile("t.parquet", {"x": "TIMESTAMP WITH TIME ZONE", "y": "TIMESTAMPTZ"}, "parquet")], name="p")
    for name in "xy":
        zone = f"{name}: its times have a zone, and are read in UTC; smallest and largest plausible value?"
        assert f'{name} = {{ type = "timestamp" }}  # ? {zone}' in text


def test_a_table_by_itself_is_asked_whether_a_unit_has_several_rows() -> None:
    asked = questions(draft(FILES[:1], name="p"))
    several = (
        "visits: one row of each counts; has it several, how many rows of one person_id, in how many groups, "
        "shall count?"
    )
    assert several in asked
    assert not [
        one for one in questions(draft(FILES[:2], name="p")) if one.startswith("people: one row of each counts")
    ]


def test_types_read_from_values_are_used_only_when_handed_over() -> None:
    file = SourceFile("t.csv", {"code": None}, "csv")
    assert 'code = { type = "text" }' in draft([file], name="p")
    sniffed = draft([file], name="p", sniffed={"t.csv": {"code": "BIGINT"}})
    assert 'code = { type = "integer" }' in sniffed
    assert "types seen in the values" in sniffed


@pytest.mark.parametrize(
    ("tables", "paths"),
    [
        (
            {"people": ["person_id"], "visits": ["visit_id", "person_id"]},
            ["person_id", "person_id -> people.person_id"],
        ),
        ({"a": ["x", "PatientID"], "patients": ["patient-id"]}, ["PatientID -> patients.patient-id", "patient-id"]),
        ({"orders": ["order_id", "customerId"]}, ["customerId"]),
        ({"a": ["dog_id", "b"], "c": ["cat_id", "dog_id"]}, ["dog_id", "dog_id -> a.dog_id"]),
    ],
)
def test_the_unit_is_guessed_from_names(tables: dict[str, list[str]], paths: list[str]) -> None:
    unit = unit_by_names(tables)
    assert unit is not None
    assert [unit.paths[name] for name in tables] == paths


@pytest.mark.parametrize("tables", [{"t": ["id", "x"]}, {"a": ["a_id"], "b": ["b_id"]}, {}])
def test_no_unit_is_guessed_where_names_do_not_tell(tables: dict[str, list[str]]) -> None:
    assert unit_by_names(tables) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Age", Type.INTEGER),
        ("isActive", Type.BOOLEAN),
        ("created_at", Type.TIMESTAMP),
        ("birth_date", Type.DATE),
        ("unit price", Type.DOUBLE),
        ("zip", Type.TEXT),
    ],
)
def test_the_type_of_a_csv_column_is_guessed_from_its_name(name: str, kind: Type) -> None:
    assert type_by_name(name) is kind


def test_names_notes_and_addresses_look_like_free_text_and_an_age_has_bounds() -> None:
    assert free_text_by_name("Last Name")
    assert free_text_by_name("email")
    assert not free_text_by_name("clinic")
    assert bounds_by_name("age") == "[0, 120]"
    assert bounds_by_name("salary") is None
