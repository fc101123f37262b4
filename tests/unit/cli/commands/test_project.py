"""analyst, data, check and init."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import Result

from obverse.catalog.load import load

Obverse = Callable[..., Result]
Spent = Callable[[], str]
COUNT = "SELECT COUNT(*) AS n FROM people"


def findings(obverse: Obverse) -> list[tuple[str, str]]:
    told = json.loads(obverse("check", "--json").stdout)
    return [(one["level"], one["about"]) for one in told["findings"]]


def test_an_analyst_is_added_below_what_is_there(obverse: Obverse, project: Path) -> None:
    before = (project / "obverse.toml").read_text(encoding="utf-8")
    said = obverse("analyst", "add", "cleo", "--epsilon", "0.3", "--purpose", "quality")
    assert said.exit_code == 0, said.output
    assert (project / "obverse.toml").read_text(encoding="utf-8").startswith(before)
    cleo = load(project).analysts["cleo"]
    assert (cleo.budget is not None and float(cleo.budget.epsilon), cleo.purposes) == (0.3, ("quality",))
    assert obverse("ask", COUNT, "--analyst", "cleo").exit_code == 0


@pytest.mark.parametrize(
    "args",
    [["ana"], ["a.b"], [""], ["cleo", "--purpose", "gossip"], ["cleo", "--epsilon", "0"], ["cleo", "--delta", "1e-8"]],
)
def test_an_analyst_that_would_not_be_valid_is_not_written(obverse: Obverse, project: Path, args: list[str]) -> None:
    before = (project / "obverse.toml").read_bytes()
    assert obverse("analyst", "add", *args).exit_code == 3
    assert (project / "obverse.toml").read_bytes() == before


def test_check_says_what_holds_and_makes_no_ledger(obverse: Obverse, project: Path) -> None:
    said = obverse("check")
    assert said.exit_code == 0, said.output
    assert "ok       people: protects person_id, one row per unit; several would count as one" in said.stdout
    assert "the first question makes it" in " ".join(said.stdout.split())
    assert not (project / ".obverse").exists()


def test_check_upgrades_a_file_on_the_curators_word(obverse: Obverse, project: Path) -> None:
    file = project / "obverse.toml"
    before = file.read_text()
    assert obverse("check", "-p", project, "--keep-defaults").exit_code == 2
    assert file.read_text() == before
    assert obverse("check", "-p", project, "--upgrade").exit_code == 0
    assert tomllib.loads(file.read_text())["project"]["version"] == 2
    assert obverse("check", "-p", project, "--upgrade").exit_code == 0  # a second time changes nothing
    assert file.read_text().count("version = 2") == 1


def test_an_upgrade_is_charged_anew_and_kept_defaults_are_not(obverse: Obverse, project: Path) -> None:
    file = project / "obverse.toml"
    text = (
        file.read_text(encoding="utf-8").replace("version = 2\n", "").replace(", nullable = false, other = false", "")
    )
    file.write_text(text, encoding="utf-8")

    def stored() -> bool:
        asked = obverse("ask", "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", "--json")
        return bool(json.loads(asked.stdout)["price"]["stored"])

    assert not stored()
    assert "questions are then charged anew" in " ".join(obverse("check").stdout.split())
    obverse("check", "--upgrade", "--keep-defaults")
    assert stored()
    file.write_text(text, encoding="utf-8")
    obverse("check", "--upgrade")
    assert not stored()
    file.write_text(text, encoding="utf-8")
    assert stored()


def test_check_names_file_line_key_and_the_nearest_key(obverse: Obverse, project: Path) -> None:
    file = project / "obverse.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("bounds = [0, 120]", "bouns = [0, 120]"), encoding="utf-8")
    said = obverse("check")
    assert said.exit_code == 3
    words = " ".join(said.stdout.split())
    assert "obverse.toml:25 tables.people.columns.age.bouns" in words
    assert "Did you mean 'bounds'?" in words


def test_check_warns_of_free_text_that_analysts_may_filter_by(obverse: Obverse, project: Path) -> None:
    assert ("warn", "people.remark") not in findings(obverse)
    file = project / "obverse.toml"
    file.write_text(file.read_text(encoding="utf-8").replace(", hidden = true", ""), encoding="utf-8")
    assert ("warn", "people.remark") in findings(obverse)


def test_only_the_curator_is_told_that_rows_changed(obverse: Obverse, project: Path, spent: Spent) -> None:
    first = obverse("ask", COUNT, "--json").stdout
    with (project / "people.csv").open("a", encoding="utf-8") as file:
        file.write("90001,40,F,late\n")
    again = json.loads(obverse("ask", COUNT, "--json").stdout)
    assert (again["rows"], again["price"]["stored"]) == (json.loads(first)["rows"], True)
    assert ("warn", "people") in findings(obverse)
    version = json.loads(obverse("data", "publish", "--json").stdout)["data_version"]
    assert len(version) == 32
    assert ("warn", "people") not in findings(obverse)
    assert json.loads(obverse("ask", COUNT, "--json").stdout)["price"]["stored"] is False
    assert spent() == "0.2"


def test_check_reports_a_missing_source(obverse: Obverse, project: Path) -> None:
    (project / "people.csv").unlink()
    told = json.loads(obverse("check", "--json").stdout)
    assert (told["ok"], told["findings"][0]["code"]) == (False, "source_missing")


def test_check_without_a_project_says_how_to_get_one(obverse: Obverse, tmp_path: Path) -> None:
    said = obverse("check", "-p", str(tmp_path))
    assert said.exit_code == 3
    assert "obverse init" in said.stdout


def test_init_reads_names_only_and_asks(obverse: Obverse, project: Path, tmp_path: Path) -> None:
    (project / "semicolons.csv").write_text("person_id;age;city\n1;2;x\n", encoding="utf-8")
    folder = str(tmp_path / "new")
    said = obverse("init", "people.csv", "semicolons.csv", "-p", folder, "--name", "fresh")
    assert said.exit_code == 0, said.output
    assert "column names and declared types only" in said.stdout
    text = (tmp_path / "new" / "obverse.toml").read_text(encoding="utf-8")
    assert 'source = "../small/people.csv"' in text
    assert 'delimiter = ";"' in text
    assert 'name = "fresh"' in text
    assert "3000" not in text
    checked = obverse("check", "-p", folder)
    assert "open " in checked.stdout
    assert "comments that begin with ?" in checked.stdout


def test_init_takes_declared_types_and_sniffs_on_request_only(obverse: Obverse, project: Path, tmp_path: Path) -> None:
    obverse("ask", "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", "--out", "a.parquet")
    (project / "codes.csv").write_text("person_id,thing\n1,2.5\n", encoding="utf-8")
    told = json.loads(obverse("init", "a.parquet", "codes.csv", "-p", str(tmp_path / "plain"), "--json").stdout)
    assert told["sniffed"] is False
    plain = (tmp_path / "plain" / "obverse.toml").read_text(encoding="utf-8")
    assert 'n = { type = "integer" }' in plain
    assert 'thing = { type = "text" }' in plain
    obverse("init", "codes.csv", "--sniff", "-p", str(tmp_path / "sniffed"))
    assert 'thing = { type = "double" }' in (tmp_path / "sniffed" / "obverse.toml").read_text(encoding="utf-8")


def test_init_reads_a_table_of_a_duckdb_file(obverse: Obverse, project: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(project / "store.duckdb")) as connection:
        connection.execute("CREATE TABLE stays (patient_id BIGINT, days INTEGER, ward VARCHAR)")
    said = obverse("init", "store.duckdb:stays", "-p", str(tmp_path / "new"))
    assert said.exit_code == 0, said.output
    text = (tmp_path / "new" / "obverse.toml").read_text(encoding="utf-8")
    assert 'source = "../small/store.duckdb:stays"' in text
    assert 'unit = "patient_id"' in text


@pytest.mark.parametrize("file", ["nowhere.csv", "people.txt", "store.duckdb", "nowhere.parquet", "obverse.toml"])
def test_init_refuses_what_it_cannot_read(obverse: Obverse, tmp_path: Path, file: str) -> None:
    assert obverse("init", file, "-p", str(tmp_path / "new")).exit_code == 3
    assert not (tmp_path / "new" / "obverse.toml").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("\n1,2\n", "empty"),
        ("a,b,A\n1,2,3\n", "one name"),
        ("4711,Ada,2.5\n4712,Bob,3\n", "looks like a row"),
        ("Ada;31.12.1980;F\n", "looks like a row"),
    ],
)
def test_init_refuses_a_csv_file_whose_first_line_does_not_name_its_columns(
    obverse: Obverse, project: Path, text: str, why: str
) -> None:
    (project / "first.csv").write_text(text, encoding="utf-8")
    said = obverse("init", "first.csv", "-p", "new")
    assert (said.exit_code, why in said.stderr) == (3, True)
    assert not any(value in said.output for value in ("4711", "Ada", "1980"))


def test_a_header_that_is_not_utf8_is_refused_and_not_guessed(obverse: Obverse, project: Path) -> None:
    (project / "latin.csv").write_bytes("id,städte\n1,Köln\n".encode("latin-1"))
    said = obverse("init", "latin.csv", "-p", "new")
    assert (said.exit_code, "Save it as UTF-8 text." in said.stderr) == (3, True)
    assert not (project / "new" / "obverse.toml").exists()


def test_a_csv_file_may_have_numbers_as_names_where_they_are_places_or_years(obverse: Obverse, project: Path) -> None:
    (project / "years.csv").write_text("place,0,1,2019,2020\nx,1,2,3,4\n", encoding="utf-8")
    assert obverse("init", "years.csv", "-p", "new").exit_code == 0


def test_dates_and_numbers_that_would_be_read_as_null_are_told_on_the_curators_word(
    obverse: Obverse, project: Path
) -> None:
    rows = "person_id;born;seen;n;size\n1;31.12.1980;2020-01-02 10:00;123456789012345678901234567890;1,80\n"
    (project / "odd.csv").write_text(rows, encoding="utf-8")
    said = obverse("init", "odd.csv", "--sniff", "-p", "new")
    assert "written 2020-12-31" in said.stdout
    file = project / "new" / "obverse.toml"
    text = file.read_text(encoding="utf-8")
    assert 'born = { type = "text" }' in text
    assert 'seen = { type = "timestamp" }' in text
    assert 'n = { type = "double" }' in text
    text = text.replace('born = { type = "text" }', 'born = { type = "date" }')
    text = text.replace('size = { type = "text" }', 'size = { type = "double" }')
    file.write_text(text, encoding="utf-8")
    plainly = json.loads(obverse("check", "-p", "new", "--json").stdout)["findings"]
    assert [one["about"] for one in plainly if "--sniff" in one["message"]] == ["odd"], "what was not looked at is said"
    assert not [one for one in plainly if one["level"] == "warn" and "NULL" in one["message"]]
    told = json.loads(obverse("check", "-p", "new", "--sniff", "--json").stdout)["findings"]
    assert {one["about"] for one in told if "count as NULL" in one["message"]} == {"odd.born", "odd.size"}


def test_what_is_said_of_several_columns_is_said_once(obverse: Obverse, project: Path) -> None:
    (project / "many.csv").write_text("a,b,c\n1,2,3\n", encoding="utf-8")
    said = obverse("init", "many.csv", "-p", "new").stdout
    assert "? many.a, b, c: type not known, so text;" in said
    assert "--sniff" in said
    assert obverse("check", "-p", "new").stdout.count("which values") == 1
    file = project / "new" / "obverse.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('# unit = "row"', "public = true"), encoding="utf-8")
    assert "which values" not in obverse("check", "-p", "new").stdout, "of a public table nothing need be said"


def test_init_never_overwrites(obverse: Obverse, project: Path) -> None:
    before = (project / "obverse.toml").read_bytes()
    assert obverse("init", "people.csv").exit_code == 3
    assert (project / "obverse.toml").read_bytes() == before


@pytest.mark.parametrize(
    ("rows", "seen"),
    [
        ("1,2\n3\n", "what ends in line 3 has 1 values, the header 2."),
        ('1,2\n3,"4\n', "a quote or a carriage return is out of place after line 2."),
        ("1,2\n3,4\r5,6\n", "a quote or a carriage return is out of place after line 2."),
        ("1,2\r\n3,4\n", "its lines do not all end alike, or one is too long."),
    ],
)
def test_where_a_csv_file_is_not_well_formed_is_told_to_who_asks_for_it(
    obverse: Obverse, tmp_path: Path, rows: str, seen: str
) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "odd.csv").write_bytes(f"id,age\n{rows}".encode())
    toml = (
        '[project]\nname = "o"\n[budget]\nepsilon = 1\n[tables.odd]\nsource = "odd.csv"\nunit = '
        '"id"\n[tables.odd.columns]\n'
    )
    (folder / "obverse.toml").write_text(f'{toml}age = {{ type = "integer", bounds = [0, 9] }}\n')
    plainly = obverse("check", "-p", str(folder))
    asked = obverse("check", "-p", str(folder), "--sniff")
    assert plainly.exit_code == asked.exit_code == 3
    assert seen in " ".join(asked.stdout.split())
    assert seen not in " ".join(plainly.stdout.split())
    assert "`obverse check --sniff` tells the line" in " ".join(plainly.stdout.split())
    assert seen not in " ".join(obverse("ask", "SELECT COUNT(*) FROM odd", "-p", str(folder)).output.split())
