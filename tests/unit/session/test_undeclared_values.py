"""Missing and undeclared values: cells that exist by declaration, in answers and releases; never dropped without a
word.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import obverse
from obverse.cli.main import cli
from obverse.core.errors import CatalogError, Refused
from obverse.curator.rights.requests import declared_values
from obverse.publish.folder.check import check
from obverse.publish.folder.write import publish
from obverse.publish.quantiles.request import Distribution, quantile_release
from obverse.publish.report import report
from obverse.publish.tables.release import table_release
from obverse.publish.tables.request import Wanted
from obverse.testing import synthetic

TOML = """
[project]
name = "ratings"
{version}
[budget]
epsilon = 100
[privacy]
epsilon = 24
[tables.people]
source = "people.csv"
unit = "id"
[tables.people.columns]
grade = {{ type = "text", values = ["low", "high"]{more} }}
shop = {{ type = "text", values = ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"]{more} }}
stars = {{ type = "integer", values = [1, 2, 3] }}
age = {{ type = "integer", bounds = [0, 100] }}
"""
GRADES = ("low", "high", "high ", "unknown", None)
SHOPS = ("s1", "s9", "S1", "", None)
STARS = (1, 2, 9, None)


def rows() -> Iterator[dict[str, Any]]:
    for n in range(1200):
        yield {"id": n, "grade": GRADES[n % 5], "shop": SHOPS[n % 7 % 5], "stars": STARS[n % 4], "age": n % 90}


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    with (tmp_path / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "grade", "shop", "stars", "age"])
        writer.writerows(["" if value is None else value for value in row.values()] for row in rows())
    return tmp_path


def project(folder: Path, version: str = "version = 2", more: str = "") -> obverse.Session:
    (folder / "obverse.toml").write_text(TOML.format(version=version, more=more), encoding="utf-8")
    return obverse.open(folder)


def truth(name: str, declared: tuple[Any, ...], *, blank_is_null: bool = True) -> Counter[Any]:
    found = (None if row[name] == "" and blank_is_null else row[name] for row in rows())
    return Counter(value if value in declared or value is None else "(other)" for value in found)


def by(session: obverse.Session, name: str, table: str = "people") -> dict[Any, int]:
    answer = session.ask(f"SELECT {name}, COUNT(*) AS n FROM {table} GROUP BY {name}")
    return {row[0]: round(row[1]) for row in answer.rows}


def test_missing_and_undeclared_values_have_cells_of_their_own(messy: Path) -> None:
    with project(messy) as session:
        assert by(session, "grade") == truth("grade", ("low", "high"))
        assert by(session, "shop") == truth("shop", tuple(f"s{n}" for n in range(1, 10))) | dict.fromkeys(
            ("s2", "s3", "s4", "s5", "s6", "s7", "s8"), 0
        )
        counted = session.ask("SELECT COUNT(grade), COUNT(*), COUNT(*) FILTER (WHERE grade IS NULL) FROM people").rows[
            0
        ]
        assert [round(value) for value in counted] == [960, 1200, 240]
        assert (
            "missing or not declared" not in session.ask("SELECT COUNT(*) FROM people WHERE grade <> 'low'").claim.bias
        )


def test_an_undeclared_number_is_read_as_missing(messy: Path) -> None:
    with project(messy) as session:
        assert by(session, "stars") == {1: 300, 2: 300, 3: 0, None: 600}


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize(
    ("more", "kept"),
    [
        (", other = false", {None: 720}),
        (", nullable = false", {"(other)": 720}),
        (", nullable = false, other = false", {}),
    ],
)
def test_a_columns_setting_leaves_either_cell_out(messy: Path, more: str, kept: dict[Any, int], long: bool) -> None:
    with project(messy, more=more) as session:
        name = "shop" if long else "grade"
        found = {value: n for value, n in by(session, name).items() if n}
        told = truth(name, ("low", "high", "s1", "s9"))
        expected = {value: n for value, n in told.items() if value not in (None, "(other)")}
        residual = sum(told.values()) - sum(expected.values())
        assert found == expected | dict.fromkeys(kept, residual)


@pytest.mark.parametrize("version", ["", "version = 1"])
def test_an_earlier_file_keeps_its_meaning_and_the_bias_line_says_it(messy: Path, version: str) -> None:
    with project(messy, version) as session:
        assert by(session, "grade") == {"low": 240, "high": 240}
        bias = session.ask("SELECT grade, stars, COUNT(*) FROM people GROUP BY grade, stars").claim.bias
        assert "rows of people whose grade or stars is missing or not declared are left out" in bias
        assert not session.ask("SELECT COUNT(*) FROM people").claim.bias


def test_a_declared_value_of_that_name_is_the_same_cell(messy: Path) -> None:
    with project(messy) as session:
        text = (
            (messy / "obverse.toml")
            .read_text(encoding="utf-8")
            .replace('["low", "high"]', '["low", "(other)", "high"]')
        )
        (messy / "obverse.toml").write_text(text, encoding="utf-8")
        session.close()
    with obverse.open(messy) as session:
        assert by(session, "grade") == {"low": 240, "(other)": 480, "high": 240, None: 240}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("values = [1, 2, 3]", "values = [1, 2, 3], other = true", "cannot hold the text (other)"),
        ("bounds = [0, 100]", "bounds = [0, 100], other = true", "lists no values"),
    ],
)
def test_a_category_of_other_values_is_one_of_texts_with_a_list(
    messy: Path, before: str, after: str, said: str
) -> None:
    (messy / "obverse.toml").write_text(TOML.format(version="", more="").replace(before, after), encoding="utf-8")
    with pytest.raises(CatalogError, match=said.replace("(", r"\(").replace(")", r"\)")):
        obverse.open(messy)


@pytest.mark.parametrize("version", ["", "version = 2"])
def test_a_release_keeps_every_row_or_says_which_are_left_out(messy: Path, tmp_path: Path, version: str) -> None:
    with project(messy, version) as session:
        publish(
            session, table_release(session, Wanted("people", (("grade", "stars"), ("shop",)), {})), tmp_path / "release"
        )
    assert all(one.holds for one in check(tmp_path / "release"))
    statement = (tmp_path / "release" / "statement.md").read_text(encoding="utf-8")
    dropped = "rows of people whose grade or shop or stars is missing or not declared are left out"
    assert (dropped in statement.lower()) is not bool(version)
    made = report(messy, tmp_path / "release", tmp_path / "mine" / "internal.md", "a look")
    covered = made.coverage
    assert covered is not None
    assert covered.rows == 1200
    kept = [row for row in rows() if row["grade"] in GRADES[:2] and row["stars"] in (1, 2) and row["shop"] in SHOPS[:2]]
    assert covered.counted == (1200 if version else len(kept))
    how = ("NULL", "(other)") if version else ("left out", "left out")
    found = {one.column: (one.missing, one.missing_as, one.outside, one.outside_as) for one in covered.columns}
    assert found["grade"] == (240, how[0], 480, how[1])
    assert found["stars"] == (300, how[0], 300, "NULL" if version else "left out")
    page = made.out.read_text(encoding="utf-8")
    assert "The source of people has 1,200 rows." in page
    assert ("leaves out 0." in page) is bool(version)


def test_a_release_of_another_version_is_compared_under_its_own_file(messy: Path, tmp_path: Path) -> None:
    with project(messy, "") as session:
        publish(session, table_release(session, Wanted("people", (("grade",),), {})), tmp_path / "release")
    project(messy).close()
    with pytest.raises(Refused) as refused:
        report(messy, tmp_path / "release", tmp_path / "mine" / "a.md", "a look")
    assert refused.value.code == "project_changed"
    assert refused.value.fix == "Compare it under the obverse.toml that it was released with."
    project(messy, "").close()
    assert report(messy, tmp_path / "release", tmp_path / "mine" / "a.md", "a look").coverage


def test_every_marginal_of_a_release_adds_up_to_all_rows(messy: Path, tmp_path: Path) -> None:
    with project(messy) as session:
        made = table_release(session, Wanted("people", (("grade",), ("shop",), ("stars",)), {}))
        publish(session, made, tmp_path / "release")
    for place, name in enumerate(("grade", "shop", "stars"), start=1):
        with (tmp_path / "release" / "data" / f"0{place}-{name}.csv").open(encoding="utf-8") as file:
            cells = {row[name]: float(row["estimate"]) for row in csv.DictReader(file)}
        assert sum(cells.values()) == pytest.approx(1200, abs=5)
        assert "" in cells
        assert ("(other)" in cells) is (name != "stars")


def test_anonymized_tables_show_the_residual_category(messy: Path, tmp_path: Path) -> None:
    project(messy).close()
    args = ["people", "-p", str(messy), "--out", str(tmp_path / "out"), "--quasi", "grade", "--k", "5", "--reason", "x"]
    done = CliRunner().invoke(cli, ["anonymize", *args], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    read = f"SELECT grade, COUNT(*) FROM '{tmp_path / 'out' / 'table.parquet'}' GROUP BY grade"
    assert dict(duckdb.sql(read).fetchall()) == truth("grade", ("low", "high"))


@pytest.mark.parametrize("version", ["", "version = 2"])
def test_values_that_were_not_discovered_count_as_other(tmp_path: Path, version: str) -> None:
    text = (
        TOML.format(version=version, more="")
        .replace('shop = { type = "text", values', "# shop = {")
        .replace("age =", 'shop = { type = "text" }\nage =')
    )
    text = text.replace("epsilon = 24", "epsilon = 24\ndelta = 1e-6").replace(
        "epsilon = 100", "epsilon = 100\ndelta = 1e-4"
    )
    rare = [None] * 100 + ["rare"] * 2 + ["often"] * 500
    columns = {"id": list(range(602)), "grade": ["low"] * 602, "shop": rare, "stars": [1] * 602, "age": [5] * 602}
    with obverse.open(synthetic({"people": columns}, text, tmp_path / "p")) as session:
        publish(
            session,
            table_release(session, Wanted("people", (("shop",),), {}, discover={"shop": "0.5"})),
            tmp_path / "r",
        )
    with (tmp_path / "r" / "data" / "01-shop.csv").open(encoding="utf-8") as file:
        cells = {row["shop"]: round(float(row["estimate"])) for row in csv.DictReader(file)}
    assert cells == ({"often": 500, "(other)": 2, "": 100} if version else {"often": 500, "": 102})
    assert f"count as {'(other)' if version else 'missing'}" in (tmp_path / "r" / "statement.md").read_text(
        encoding="utf-8"
    )


def test_a_list_of_declared_values_has_both_cells(messy: Path) -> None:
    with project(messy) as session:
        answer = session.ask("SELECT DISTINCT grade FROM people ORDER BY 1")
    assert {row[0] for row in answer.rows} == {"low", "high", "(other)", None}


def test_rows_without_a_number_are_in_no_distribution_and_the_statement_says_it(messy: Path, tmp_path: Path) -> None:
    text = TOML.format(version="version = 2", more="").replace(
        "age =", 'pay = { type = "integer", bounds = [0, 9] }\nage ='
    )
    (messy / "obverse.toml").write_text(text, encoding="utf-8")
    with (messy / "people.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "grade", "shop", "stars", "age", "pay"]])
        csv.writer(file).writerows(
            [n, ["low", "x", ""][n % 3], "s1", 1, 5, ["", n % 9][n % 4 > 0]] for n in range(1200)
        )
    with obverse.open(messy) as session:
        publish(session, quantile_release(session, Distribution("people", "pay", ("grade",))), tmp_path / "release")
    said = "Rows of people whose pay is missing are in no distribution"
    assert said in (tmp_path / "release" / "statement.md").read_text(encoding="utf-8")
    assert all(one.holds for one in check(tmp_path / "release"))
    covered = report(messy, tmp_path / "release", tmp_path / "mine" / "internal.md", "a look").coverage
    assert covered is not None
    assert (covered.rows, covered.counted) == (1200, 900)
    assert [(one.column, one.missing, one.missing_as) for one in covered.columns] == [
        ("pay", 300, "left out"),
        ("grade", 400, "NULL"),
    ]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("", "it would be read as (other)."),
        (", other = false", "it would be read as missing."),
        (", nullable = false", "it would be read as (other)."),
        (", nullable = false, other = false", "it would be read as missing, and the row be in no answer over grade."),
    ],
)
def test_a_correction_to_an_undeclared_value_says_how_it_would_be_read(messy: Path, more: str, why: str) -> None:
    with project(messy, more=more) as session, pytest.raises(Refused) as refused:
        declared_values(session.catalog.tables["people"], {"grade": "middle"})
    assert refused.value.why == why
