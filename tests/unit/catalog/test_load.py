from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.catalog.identity import fingerprint
from obverse.catalog.load import load, loads, problems
from obverse.catalog.model import Limits, Source
from obverse.core.bounds import UNBOUNDED, Categories, interval
from obverse.core.errors import CatalogError, Refused
from obverse.core.ledger import Budget
from obverse.core.types import Type
from obverse.core.units import KeyPath, Neighbours
from obverse.demo.project import PROJECT_TOML

ROOT = Path("/project")
SPLINTERS = [
    "",
    "[",
    "]",
    "{",
    "}",
    "=",
    '"',
    "'",
    ".",
    ",",
    "->",
    "\n",
    "#",
    "nan",
    "-1",
    "true",
    "1e999",
    "\0",
    "é",
    "[[a]]",
]


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32), cuts=st.integers(1, 4))
def test_a_spoilt_file_gives_a_catalog_or_a_located_error_and_nothing_else(seed: int, cuts: int) -> None:
    random_cuts = random.Random(seed)
    text = PROJECT_TOML
    for _ in range(cuts):
        at = random_cuts.randrange(len(text))
        text = text[:at] + random_cuts.choice(SPLINTERS) + text[at + random_cuts.randrange(0, 12) :]
    error = _error(text)
    assert error is None or (error.place.startswith("obverse.toml") and error.fix)


def _error(text: str) -> CatalogError | None:
    try:
        loads(text, ROOT)
    except CatalogError as error:
        return error
    return None


def test_the_corpus_catalog_is_read_as_written(corpus: str) -> None:
    catalog = loads(corpus, ROOT)
    assert (catalog.name, catalog.ledger) == ("hospital", ROOT / ".obverse/ledger.db")
    assert (catalog.accounting, catalog.epsilon, catalog.delta) == ("pure", Fraction(1, 10), Fraction(1, 10**8))
    assert catalog.budget == Budget(Fraction(4), Fraction(1, 10**6))
    assert catalog.unit is not None
    assert (catalog.unit.table, catalog.unit.key, catalog.neighbours) == ("people", "person_id", Neighbours.ADD_REMOVE)
    people = catalog.tables["people"]
    visits = catalog.tables["visits"]
    clinics = catalog.tables["clinics"]
    assert people.source == Source("parquet", ROOT / "people.parquet")
    assert people.limits is None
    assert people.columns["age"].bounds == interval(0, 120)
    assert people.columns["sex"].bounds == Categories(("F", "M", "X"))
    assert not people.columns["sex"].nullable
    assert people.columns["zip"].nullable
    assert people.columns["zip"].bounds == UNBOUNDED
    assert people.columns["salary"].grid == Fraction(1, 100)
    assert visits.unit == KeyPath("visits", "person_id", (("people", "person_id"),))
    assert visits.limits == Limits(20, 5)
    assert visits.columns["clinic"].values_from == ("clinics", "clinic")
    assert clinics.public


def test_ten_debits_of_a_tenth_are_exactly_one_because_numbers_keep_their_decimal_text(corpus: str) -> None:
    assert 10 * loads(corpus, ROOT).epsilon == 1


def test_dates_become_days_and_a_date_bounds_a_timestamp_by_its_whole_day(corpus: str) -> None:
    catalog = loads(corpus, ROOT)
    assert catalog.tables["people"].columns["joined"].bounds == interval(14_610, 22_279)
    day = 86_400_000_000
    assert catalog.tables["visits"].columns["at"].bounds == interval(16_436 * day, 22_280 * day - 1)


def test_toml_dates_and_iso_texts_mean_the_same(edited, corpus: str) -> None:
    dates = ('joined = { type = "date", bounds = ["2010-01-01", "2030-12-31"] }', "")
    bare = (dates[0], 'joined = { type = "date", bounds = [2010-01-01, 2030-12-31] }')
    assert fingerprint(loads(edited(bare), ROOT)) == fingerprint(loads(corpus, ROOT))


def test_a_timestamp_bound_keeps_its_microseconds(edited) -> None:
    new = 'bounds = [2015-01-01T08:30:00.000001, "2015-01-01T08:30:01"]'
    catalog = loads(edited(('bounds = ["2015-01-01", "2030-12-31"]', new)), ROOT)
    start = (16_436 * 86_400 + 8 * 3600 + 30 * 60) * 10**6
    assert catalog.tables["visits"].columns["at"].bounds == interval(start + 1, start + 10**6)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a/people.csv", Source("csv", ROOT / "a/people.csv")),
        ("people.TSV", Source("csv", ROOT / "people.TSV", delimiter="\t")),
        ("/elsewhere/people.pq", Source("parquet", Path("/elsewhere/people.pq"))),
        ("all.duckdb:main people", Source("duckdb", ROOT / "all.duckdb", table="main people")),
        ("python", Source("object")),
    ],
)
def test_sources_are_files_beside_the_toml_or_objects(edited, source: str, expected: Source) -> None:
    assert loads(edited(("people.parquet", source)), ROOT).tables["people"].source == expected


def test_a_csv_may_name_its_delimiter_and_lack_a_header(edited) -> None:
    text = edited(('source = "clinics.csv"', 'source = "clinics.csv"\ndelimiter = ";"\nheader = false'))
    assert loads(text, ROOT).tables["clinics"].source == Source(
        "csv", ROOT / "clinics.csv", delimiter=";", header=False
    )


def test_a_longer_path_reaches_the_unit_over_the_table_between(corpus: str) -> None:
    lines = '[tables.lines]\nsource = "lines.parquet"\nlimits = "auto"\n'
    text = corpus + lines + 'unit = "visit_id -> visits.visit_id -> people.person_id"\n'
    unit = loads(text, ROOT).tables["lines"].unit
    assert unit == KeyPath("lines", "visit_id", (("visits", "visit_id"), ("people", "person_id")))


def test_the_order_of_tables_does_not_change_the_fingerprint(corpus: str) -> None:
    head, people, visits = (corpus.index(name) for name in ("[project]", "[tables.people]", "[tables.visits]"))
    turned = corpus[head:people] + corpus[visits:] + corpus[people:visits]
    assert fingerprint(loads(turned, ROOT)) == fingerprint(loads(corpus, ROOT))


def test_limits_may_lower_a_sum(edited) -> None:
    text = edited(("{ rows = 20, groups = 5 }", "{ rows = 20, sums = { cost = 5000.5 } }"))
    assert loads(text, ROOT).tables["visits"].limits == Limits(20, None, {"cost": Fraction("5000.5")})


def test_replace_takes_a_public_size_where_the_units_are(edited) -> None:
    text = edited(
        ('neighbours = "add-remove"', 'neighbours = "replace"'), ('unit = "person_id"', 'unit = "row"\nsize = 100')
    )
    catalog = loads(text[: text.index("[tables.visits]")], ROOT)
    assert catalog.tables["people"].size == 100
    assert catalog.tables["people"].row_is_unit
    assert catalog.unit is not None
    assert (catalog.unit.key, catalog.neighbours) == (None, Neighbours.REPLACE)


def test_analysts_and_purposes_have_caps_and_the_common_delta_unless_told(corpus: str) -> None:
    analysts = "[analysts.ana]\n[analysts.ben]\nepsilon = 1\ndelta = 1e-9\npurposes = ['quality']\n"
    more = "[purposes.quality]\nepsilon = 3\n" + analysts
    catalog = loads(corpus + more, ROOT)
    assert catalog.purposes == {"quality": Budget(Fraction(3), Fraction(1, 10**6))}
    assert catalog.analysts["ana"].budget is None
    assert catalog.analysts["ben"].budget == Budget(Fraction(1), Fraction(1, 10**9))
    assert catalog.analysts["ben"].purposes == ("quality",)


def test_the_shortest_project_has_add_remove_pure_and_a_tenth(corpus: str) -> None:
    text = (
        '[project]\nname = "p"\ndataset = "d"\n[budget]\nepsilon = 0.05\n[tables.t]\nsource = "t.csv"\nunit = "row"\n'
    )
    catalog = loads(text, ROOT)
    assert (catalog.neighbours, catalog.accounting) == (Neighbours.ADD_REMOVE, "pure")
    assert catalog.epsilon == Fraction(1, 20)
    assert catalog.dataset == "d"
    assert catalog.engine == {"kind": "duckdb"}


def test_a_project_of_public_tables_needs_no_budget() -> None:
    catalog = loads('[project]\nname = "p"\n[tables.t]\nsource = "t.csv"\npublic = true\n', ROOT)
    assert catalog.unit is None
    with pytest.raises(Refused) as caught:
        _ = catalog.neighbours
    assert caught.value.code == "no_private_table"


def test_values_may_be_of_every_type() -> None:
    text = """
[project]
name = "p"
[tables.t]
source = "t.csv"
public = true
[tables.t.columns]
a = { type = "integer", values = [1, 2] }
b = { type = "double", values = [0.5, 2] }
c = { type = "boolean", values = [true] }
d = { type = "date", values = [2020-01-01, "2020-01-02"] }
e = { type = "timestamp", values = ["2020-01-01T10:00"] }
f = { type = "text", values = ["x"], nullable = true, hidden = true }
"""
    columns = loads(text, ROOT).tables["t"].columns
    assert columns["b"].bounds == Categories((0.5, 2.0))
    assert [column.type for column in columns.values()] == [
        Type.INTEGER,
        Type.DOUBLE,
        Type.BOOLEAN,
        Type.DATE,
        Type.TIMESTAMP,
        Type.TEXT,
    ]
    assert columns["f"].nullable
    assert columns["f"].hidden


def test_a_folder_or_its_file_may_be_named(tmp_path: Path, corpus: str) -> None:
    (tmp_path / "obverse.toml").write_bytes(b"\xef\xbb\xbf" + corpus.replace("\n", "\r\n").encode())
    assert load(tmp_path) == load(tmp_path / "obverse.toml")
    assert load(tmp_path).tables["people"].source.path == tmp_path / "people.parquet"
    assert problems(tmp_path) == ()


def test_a_missing_project_is_refused_with_the_way_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="no project to be read") as caught:
        load(tmp_path)
    assert caught.value.code == "no_project"
    assert "obverse init" in caught.value.fix
    assert [error.code for error in problems(tmp_path)] == ["no_project"]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"[project]\nname = \n", "obverse.toml:2"),
        (b"[project]\nname = 'a'\nname = 'b'\n", "obverse.toml:3"),
        (b"\xff\xfe", "obverse.toml"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "obverse.toml"),
        (b"a = " + b"9" * 5000, "obverse.toml"),
    ],
)
def test_what_is_not_toml_is_refused_with_its_line(tmp_path: Path, content: bytes, place: str) -> None:
    (tmp_path / "obverse.toml").write_bytes(content)
    with pytest.raises(CatalogError) as caught:
        load(tmp_path)
    assert (caught.value.code, caught.value.place) == ("bad_toml", place)


def test_check_reports_all_problems_of_one_stage_at_once(tmp_path: Path, edited) -> None:
    file = tmp_path / "obverse.toml"
    file.write_text(
        edited(("nds = [0, 120]", "nd = [0, 120]"), ("public = true", "pubic = true"), ("epsilon = 4.0", "epsilon = 0"))
    )
    assert [error.code for error in problems(file)] == ["bad_parameter", "unknown_key", "unknown_key"]
    file.write_text(edited(("limits = { rows = 20, groups = 5 }\n", ""), ('"clinics.clinic"', '"people.zip"')))
    assert [error.code for error in problems(file)] == ["limits_missing", "bad_values"]
    file.write_text(edited(("[0, 120]", "[120, 0]")))
    assert [error.code for error in problems(file)] == ["bad_bounds"]
