"""Attacks on a project's tables: by the curator's own door, with a reason and a record; its files are not read past
it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import Result

import obverse as product

Obverse = Callable[..., Result]
REFUSED = 3
WHY = ("--reason", "what would exact counts give away?")


def records(project: Path) -> list[dict[str, Any]]:
    with product.open(project) as session:
        return [entry.fields for entry in session.ledger.entries() if entry.kind == "custody"]


def verbs(people: str) -> list[tuple[str, ...]]:
    """Every verb that takes a table, on this one."""
    Path("own.csv").write_text("age,sex,person_id\n30,F,1\n31,F,2\n", encoding="utf-8")
    Path("asked.sql").write_text("SELECT SUM(sick) FROM people WHERE age > 30;", encoding="utf-8")
    on = ("--on", "age,sex")
    named = ("--id", "person_id", "--secret", "sex = 'F'", "--laplace", "0")
    return [
        ("attack", "linkage", people, "--known", "own.csv", *on, "--truth", "person_id"),
        ("attack", "linkage", "own.csv", "--known", people, *on, "--truth", "person_id"),
        ("attack", "homogeneity", people, "--on", "age", "--secret", "sex"),
        ("attack", "background", people, "--on", "age", "--secret", "sex"),
        ("attack", "intersection", people, "own.csv", "--known", "own.csv", "--on", "age", "--secret", "sex"),
        ("attack", "sampling", "own.csv", "--population", people, *on),
        (
            "attack",
            "attribute",
            "own.csv",
            "--members",
            people,
            "--outsiders",
            people,
            "--on",
            "age",
            "--secret",
            "sex",
        ),
        (
            "attack",
            "fuzzy-linkage",
            people,
            "--known",
            "own.csv",
            "--person",
            "person_id",
            "--item",
            "sex",
            "--stars",
            "age",
        ),
        ("attack", "differencing", people, *named),
        ("attack", "averaging", people, "--by", "sex", "--laplace", "0", "--repeats", "2"),
        ("attack", "tracker", people, *named, "--tracker", "age < 40", "--at-least", "2"),
        ("attack", "reconstruction", people, *named),
        ("attack", "low-bits", people, "--present", "age", "--absent", "person_id", "--epsilon", "1"),
        ("attack", "audit", "asked.sql", "--table", people, "--secret", "sick", "--real"),
        ("attack", "compare", people, "--quasi", "age", "--secret", "sex"),
        ("anonymize", "check", people, "--quasi", "age", "--sensitive", "sex"),
        ("anonymize", people, "--quasi", "age", "--sensitive", "sex", "--k", "1", "--out", "out"),
    ]


@pytest.mark.parametrize("number", range(17))
def test_a_projects_file_is_refused_and_its_table_is_read_by_the_door(
    obverse: Obverse, project: Path, number: int
) -> None:
    with product.open(project):  # now its files are known
        pass
    refused = obverse(*verbs(str(project / "people.csv"))[number], "--json")
    told = json.loads(refused.stdout)["error"]
    assert (refused.exit_code, told["code"]) == (REFUSED, "private_file")
    assert "--reason" in told["fix"]
    asked = (*verbs("people")[number], "-p", str(project))
    refused = obverse(*asked, "--json")
    assert json.loads(refused.stdout)["error"]["code"] == "no_reason"
    assert records(project) == []
    found = obverse(*asked, *WHY, "--json")
    assert found.exception is None or isinstance(found.exception, SystemExit)
    assert records(project), found.stdout + found.stderr
    last = records(project)[-1]
    assert (last["table"], last["reason"]) == ("people", WHY[1])
    assert last["what"].split()[0] == verbs("people")[number][0]
    assert "remark" not in last["columns"]


def test_rows_of_a_project_are_told_exactly_and_the_project_itself_is_paid(obverse: Obverse, project: Path) -> None:
    named = ("attack", "differencing", "people", "-p", str(project), "--id", "person_id", "--secret", "sex = 'F'", *WHY)
    exact = json.loads(obverse(*named, "--laplace", "0", "--json").stdout)
    assert exact["rate"]["wins"] == exact["rate"]["trials"] > 0
    assert exact["target"] == "people"
    with product.open(project) as session:
        assert session.ledger.spent().amount == 0
    asked = json.loads(obverse(*named, "--epsilon", "0.01", "--json").stdout)
    assert asked["target"] == f"project {project.name}"
    with product.open(project) as session:
        assert session.ledger.spent().amount > 0


def test_a_copy_of_a_private_file_is_private_and_other_files_are_not(obverse: Obverse, project: Path) -> None:
    with product.open(project):
        pass
    rows = (project / "people.csv").read_bytes()
    Path("copy.csv").write_bytes(rows)
    asked = ("--on", "age", "--secret", "sex", "--json")
    assert json.loads(obverse("attack", "homogeneity", "copy.csv", *asked).stdout)["error"]["code"] == "private_file"
    Path("other.csv").write_bytes(rows + b"99,40,F,\n" if rows.endswith(b"\n") else rows + b"\n99,40,F,\n")
    assert "rate" in json.loads(obverse("attack", "homogeneity", "other.csv", *asked).stdout)


def test_a_file_of_the_project_around_it_is_refused_before_anybody_asked(obverse: Obverse, project: Path) -> None:
    asked = ("--on", "age", "--secret", "sex", "--json")
    assert json.loads(obverse("attack", "homogeneity", "people.csv", *asked).stdout)["error"]["code"] == "private_file"
    (project / "sub").mkdir()
    (project / "sub" / "people.csv").write_text("age,sex\n1,F\n", encoding="utf-8")
    assert "rate" in json.loads(obverse("attack", "homogeneity", "sub/people.csv", *asked).stdout)
    asked = ("--on", "clinic", "--secret", "city", "--json")
    assert "rate" in json.loads(obverse("attack", "homogeneity", "clinics.csv", *asked).stdout)  # it is public


def test_a_part_of_a_private_folder_is_refused(obverse: Obverse, tmp_path: Path) -> None:
    part = tmp_path / "people.parquet" / "part.csv"
    part.parent.mkdir()
    part.write_text("age,sex\n1,F\n", encoding="utf-8")
    declared = (
        '[tables.people]\nsource = "people.parquet"\nunit = "row"\n[tables.people.columns]\nage = { type = '
        '"integer" }\n'
    )
    whole = f'[project]\nname = "p"\n[budget]\nepsilon = 1\n[engine]\nkind = "spark"\n{declared}'
    (tmp_path / "obverse.toml").write_text(whole, encoding="utf-8")
    refused = obverse("attack", "homogeneity", str(part), "--on", "age", "--secret", "sex", "--json")
    assert json.loads(refused.stdout)["error"]["code"] == "private_file"


def test_a_populations_file_may_not_be_private_either(obverse: Obverse, project: Path) -> None:
    with product.open(project):
        pass
    Path("own.csv").write_text("age,sex\n30,F\n30,M\n", encoding="utf-8")
    asked = ("own.csv", "--quasi", "age", "--presence", "0,1", "--population", str(project / "people.csv"), "--json")
    for verb in (("check",), ("run", "--out", "out")):
        assert json.loads(obverse("anonymize", *verb, *asked).stdout)["error"]["code"] == "private_file"


def test_a_release_is_not_written_over_the_rows_that_it_is_made_from(obverse: Obverse, project: Path) -> None:
    """By the door the rows come from another file than the project's own, which was overwritten."""
    toml = project / "obverse.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace("people.csv", "table.parquet"), encoding="utf-8")
    source = project / "table.parquet"
    read = "FROM read_csv('people.csv', types = {'person_id': 'BIGINT', 'age': 'BIGINT'})"
    duckdb.sql(f"COPY (SELECT * {read}) TO 'table.parquet' (FORMAT parquet)")
    rows = source.read_bytes()
    asked = ("anonymize", "people", "-p", ".", "--quasi", "age", "--sensitive", "sex", "--k", "5", *WHY, "--json")
    refused = obverse(*asked, "--out", ".")
    assert json.loads(refused.stdout)["error"]["code"] == "cannot_write"
    assert (source.read_bytes(), records(project)) == (rows, [])
    assert obverse(*asked, "--out", "released").exit_code == 0
    assert source.read_bytes() == rows
