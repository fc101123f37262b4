"""obverse anonymize: from a file to a release and back, as text and as JSON; what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from obverse.cli.progress import progress
from tests.unit.cli.conftest import Obverse

ROWS = """name;age;zip;sex;disease;n
Ann;21;13012;F;flu;1
Bob;24;13013;M;flu;2
Cid;28;13014;M;cancer;3
Dan;35;13053;M;cancer;4
Eve;39;13055;F;;5
Fay;31;13058;F;flu;6
Gus;44;;M;flu;7
Hal;49;14850;M;aids;8
Ida;41;14852;F;flu;9
"""
ASKED = ("--quasi", "age,zip,sex", "--sensitive", "disease", "--k", "2")


@pytest.fixture
def people(tmp_path: Path) -> str:
    (tmp_path / "people.csv").write_text(ROWS)
    return str(tmp_path / "people.csv")


def code(obverse: Obverse, *arguments: str) -> str:
    found = obverse("anonymize", *arguments, "--json")
    assert found.exit_code == 3, found.output
    said: str = json.loads(found.stdout)["error"]["code"]
    return said


def test_a_file_is_anonymized_checked_and_repeated_byte_for_byte(obverse: Obverse, people: str, tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    said = obverse("anonymize", people, "--out", str(first), *ASKED, "--suppress", "0.2")
    assert said.exit_code == 0, said.output
    assert "No differential privacy" in said.stdout.replace("\n         ", " ")
    assert "columns name, n" in said.stdout
    obverse("anonymize", "run", people, "--out", str(second), *ASKED, "--suppress", "0.2")
    obverse("anonymize", people, "--out", str(third), "--manifest", str(first / "manifest.json"))
    for name in ("table.csv", "manifest.json", "report.json", "report.html"):
        assert (first / name).read_bytes() == (second / name).read_bytes() == (third / name).read_bytes()
    assert (first / "table.csv").read_text().startswith("age;zip;sex;disease\n")
    assert (first / "manifest.json").stat().st_mode & 0o077 == 0
    page = (first / "report.html").read_text()
    assert "http" not in page
    assert "<script" not in page
    found = obverse("anonymize", "check", str(first / "table.csv"), *ASKED, "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["demands"] == {"2-anonymity": True}


def test_a_check_that_misses_a_demand_ends_with_3(obverse: Obverse, people: str) -> None:
    found = obverse("anonymize", "check", people, *ASKED)
    assert found.exit_code == 3
    assert "Fails" in found.stdout
    assert "k = 1" in found.stdout


def test_parquet_stays_parquet_and_keeps_the_types_of_what_is_carried(obverse: Obverse, people: str, tmp_path: Path) -> None:
    import duckdb

    source, out = tmp_path / "people.parquet", tmp_path / "out"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM read_csv('{people}', delim=';')) TO '{source}' (FORMAT parquet)")
        found = obverse("anonymize", str(source), "--out", str(out), *ASKED, "--search", "mondrian", "--keep", "n")
        assert found.exit_code == 0, found.output
        rows = connection.execute(f"SELECT age, n FROM read_parquet('{out / 'table.parquet'}') ORDER BY n").fetchall()
    assert [n for _, n in rows] == list(range(1, 10))
    assert {type(age) for age, _ in rows} == {str}


def test_hierarchies_come_from_a_folder_or_in_words(obverse: Obverse, people: str, tmp_path: Path) -> None:
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "sex.csv").write_text("F,person\nM,person\n")
    out = str(tmp_path / "out")
    told = ("--hierarchies", str(tmp_path / "h"), "--hierarchy", "age=intervals:10;top=40", "--l", "2", "--suppress", "0.1")
    found = obverse("anonymize", people, "--out", out, *ASKED, *told, "--json")
    assert found.exit_code == 0, found.output
    saved = json.loads((tmp_path / "out" / "manifest.json").read_text())["hierarchies"]
    assert saved["sex"] == {"kind": "file", "lines": [["F", "person"], ["M", "person"]]}
    assert saved["age"] == {"kind": "intervals", "widths": ["10"], "top": "40"}
    assert saved["zip"] == {"kind": "mask"}


def test_pseudonyms_are_kept_apart_and_repeat_with_the_manifest(obverse: Obverse, people: str, tmp_path: Path) -> None:
    told = ("--pseudonymise", "name", "--deidentify", "zip", "--sample", "1")
    obverse("anonymize", people, "--out", str(tmp_path / "a"), *told)
    obverse("anonymize", people, "--out", str(tmp_path / "b"), "--manifest", str(tmp_path / "a" / "manifest.json"))
    first, second = ((tmp_path / name / "table.csv").read_text() for name in "ab")
    assert first == second
    assert first.startswith("name;age;sex;disease;n\n")
    assert sorted(line.split(";")[0] for line in first.splitlines()[1:]) == [f"P{i}" for i in range(1, 10)]


def test_a_population_bounds_presence_and_the_journalist(obverse: Obverse, people: str, tmp_path: Path) -> None:
    population = tmp_path / "all.csv"
    population.write_text(ROWS + ROWS.split("\n", 1)[1])
    told = ("--population", str(population), "--presence", "0,0.6")
    found = json.loads(obverse("anonymize", people, "--out", str(tmp_path / "out"), *ASKED, *told, "--json").stdout)
    assert found["risk"]["journalist"] <= found["risk"]["prosecutor"] / 2
    assert found["reaches"]["presence"][1] <= 0.6


def test_what_cannot_be_done_is_refused_by_code(obverse: Obverse, people: str, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "out"))
    (tmp_path / "empty.csv").write_text("age;zip;sex;disease\n")
    (tmp_path / "torn.csv").write_text('age;zip\n1;2\n"3;4\n')
    (tmp_path / "table.xls").write_text("x")
    (tmp_path / "file").write_text("x")
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "sex.csv").write_bytes(b"\xff\xfe\x00")
    small = tmp_path / "small.csv"
    small.write_text("age;zip\n1;2\n")
    assert code(obverse, str(tmp_path / "none.csv"), *out, *ASKED) == "no_such_file"
    assert code(obverse, str(tmp_path / "table.xls"), *out, *ASKED) == "bad_source"
    assert code(obverse, str(tmp_path / "empty.csv"), *out, *ASKED) == "no_rows"
    assert code(obverse, str(tmp_path / "torn.csv"), *out, "--quasi", "age", "--k", "1") == "source_unreadable"
    assert code(obverse, people, *out, "--quasi", "ages", "--k", "2") == "column_missing"
    assert code(obverse, people, *out, *ASKED, "--population", str(small)) == "column_missing"
    assert code(obverse, people, *out, *ASKED, "--hierarchies", str(tmp_path / "nowhere")) == "no_such_file"
    assert code(obverse, people, *out, *ASKED, "--hierarchies", str(tmp_path / "h")) == "source_unreadable"
    assert code(obverse, people, *out, *ASKED, "--hierarchy", "age=cube") == "bad_hierarchy"
    assert code(obverse, people, *out, "--manifest", people) == "bad_manifest"
    assert code(obverse, people, *out) == "bad_parameter"
    assert code(obverse, people, "--out", str(tmp_path / "file"), *ASKED) == "cannot_write"
    (tmp_path / "out" / "table.csv").mkdir(parents=True)
    assert code(obverse, people, *out, *ASKED) == "cannot_write"


def test_usage_is_told(obverse: Obverse, people: str, tmp_path: Path) -> None:
    assert obverse("anonymize", "check", people).exit_code == 2
    assert obverse("anonymize", people, "--out", str(tmp_path / "o"), *ASKED, "--hierarchy", "age").exit_code == 2
    assert "check" in obverse("anonymize", "--help").stdout


def test_a_bar_is_drawn_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("obverse.cli.progress.AFTER_S", -1.0)
    with progress("searching") as told:
        told(0.5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("obverse.cli.progress.on_terminal", lambda stream: True)
    with progress("searching") as told:
        told(0.5)
    assert "#" * 15 + " " * 15 in capsys.readouterr().err


def test_a_projects_table_is_read_by_the_curators_door(obverse: Obverse, project: Path, tmp_path: Path) -> None:
    import obverse as product

    with product.open(project) as session:
        name, table = next((name, table) for name, table in session.catalog.tables.items() if not table.public)
        column = next(name for name, one in table.columns.items() if not one.hidden)
    asked = ("anonymize", name, "-p", str(project), "--out", str(tmp_path / "out"))
    asked += ("--quasi", column, "--k", "2")
    refused = obverse(*asked)
    assert refused.exit_code == 3
    assert "no_reason" in refused.stderr
    made = obverse(*asked, "--reason", "a table for the board")
    assert made.exit_code == 0, made.stderr
    assert (tmp_path / "out" / "table.parquet").exists()
    with product.open(project) as session:
        kinds = [entry.kind for entry in session.ledger.entries()]
    assert kinds.count("custody") == 1
    assert "no_columns" in obverse(*asked[:6], "--sample", "0.5").stderr
