from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.catalog.locate import Document
from obverse.catalog.tables import unit_path, unit_text
from obverse.core.units import KeyPath

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


@given(column=NAMES.filter(lambda name: name != "row"), steps=st.lists(st.tuples(NAMES, NAMES), max_size=4))
def test_a_unit_path_is_read_back_from_its_own_text(column: str, steps: list[tuple[str, str]]) -> None:
    path = KeyPath("t", column, tuple(steps))
    assert unit_path("t", unit_text(path), (), Document("", "obverse.toml")) == path


def test_row_means_that_each_row_is_a_unit() -> None:
    assert unit_path("t", " row ", (), Document("", "obverse.toml")) == KeyPath("t", None)
    assert unit_text(KeyPath("t", None)) == "row"


@pytest.mark.parametrize(
    "unit", ["->", "person_id ->", "-> people.person_id", "person_id -> people", "a -> .b", "a -> b."]
)
def test_a_unit_that_cannot_be_read_is_refused(edited, refusal, unit: str) -> None:
    error = refusal(edited(('"person_id -> people.person_id"', f'"{unit}"')))
    assert (error.code, error.place) == ("bad_unit", "obverse.toml:27 tables.visits.unit")


@pytest.mark.parametrize(
    "source",
    [
        "people",
        "people.xlsx",
        "https://host/people.csv",
        "part-*.parquet",
        "people.duckdb",
        "people.txt:x",
        "a\\nb.csv",
    ],
)
def test_a_source_that_is_no_known_local_file_is_refused(edited, refusal, source: str) -> None:
    assert refusal(edited(("people.parquet", source))).code == "bad_source"


@pytest.mark.parametrize("delimiter", ["::", "a", "\\u00e9", '\\"', "\\n"])
def test_a_delimiter_that_is_no_sign_is_refused(edited, refusal, delimiter: str) -> None:
    text = edited(('source = "clinics.csv"', f'source = "clinics.csv"\ndelimiter = "{delimiter}"'))
    assert refusal(text).code == "bad_source"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("public = true", 'public = true\nunit = "row"'),
        ("public = true", 'public = true\nlimits = "auto"'),
        ("public = true", "public = true\nsize = 3"),
        ('source = "people.parquet"', 'source = "people.parquet"\ndelimiter = ";"'),
        ('source = "people.parquet"', 'source = "people.parquet"\nheader = true'),
        ('kind = "duckdb"', 'kind = "duckdb"\nurl = "x"'),
    ],
)
def test_keys_that_exclude_each_other_are_a_conflict(edited, refusal, old: str, new: str) -> None:
    assert refusal(edited((old, new))).code == "conflict"


@pytest.mark.parametrize("more", ["", '\nservice = "a"\ndsn_env = "B"'])
def test_a_server_is_named_once_and_without_its_password(edited, refusal, more: str) -> None:
    error = refusal(edited(('kind = "duckdb"', f'kind = "postgres"{more}')))
    assert (error.code, error.place) == ("missing_key", "obverse.toml:4 engine")
    assert "password" in error.why


@pytest.mark.parametrize("kind", ["postgres", "spark"])
def test_a_table_on_a_server_is_named_with_its_schema(edited, refusal, kind: str) -> None:
    where = 'service = "clinic"' if kind == "postgres" else ""
    for source in ("people", "a.b.c.d", ".people", "people.csv.x."):
        text = edited(
            ('kind = "duckdb"', f'kind = "{kind}"\n{where}'), ('source = "people.parquet"', f'source = "{source}"')
        )
        assert refusal(text).code == "bad_source"
