"""obverse anonymize: from a file to a release and back, as text and as JSON; what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from obverse.cli.output.progress import progress
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


def test_parquet_stays_parquet_and_keeps_the_types_of_what_is_carried(
    obverse: Obverse, people: str, tmp_path: Path
) -> None:
    import duckdb

    source = tmp_path / "people.parquet"
    out = tmp_path / "out"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM read_csv('{people}', delim=';')) TO '{source}' (FORMAT parquet)")
        found = obverse("anonymize", str(source), "--out", str(out), *ASKED, "--search", "mondrian", "--keep", "n")
        assert found.exit_code == 0, found.output
        rows = connection.execute(f"SELECT age, n FROM read_parquet('{out / 'table.parquet'}') ORDER BY n").fetchall()
    assert [n for _, n in rows] == list(range(1, 10))
    assert {type(age) for age, _ in rows} == {str}


def test_what_is_read_is_never_written_over(obverse: Obverse, people: str, tmp_path: Path) -> None:
    home = tmp_path / "table.csv"
    home.write_text(ROWS)
    for arguments in ((str(home),), (people, "--population", str(home)), (str(home), "--sample", "0.5")):
        models = () if "--sample" in arguments else ASKED
        assert code(obverse, *arguments, "--out", str(tmp_path), *models) == "cannot_write"
        assert home.read_text() == ROWS
    assert obverse("anonymize", str(home), "--out", str(tmp_path / "out"), *ASKED).exit_code == 0


def test_a_folder_may_hold_another_table(obverse: Obverse, people: str, tmp_path: Path) -> None:
    (tmp_path / "table.parquet").touch()
    found = obverse("anonymize", people, "--out", str(tmp_path), *ASKED)
    assert found.exit_code == 0, found.output
    assert "table.csv, report.html" in " ".join(found.stdout.split())


def test_hierarchies_come_from_a_folder_or_in_words(obverse: Obverse, people: str, tmp_path: Path) -> None:
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "sex.csv").write_text("F,person\nM,person\n")
    out = str(tmp_path / "out")
    told = (
        "--hierarchies",
        str(tmp_path / "h"),
        "--hierarchy",
        "age=intervals:10;top=40",
        "--l",
        "2",
        "--suppress",
        "0.1",
    )
    found = obverse("anonymize", people, "--out", out, *ASKED, *told, "--json")
    assert found.exit_code == 0, found.output
    saved = json.loads((tmp_path / "out" / "manifest.json").read_text())["hierarchies"]
    assert saved["sex"] == {"kind": "file", "lines": [["F", "person"], ["M", "person"]]}
    assert saved["age"] == {"kind": "intervals", "widths": ["10"], "top": "40"}
    assert saved["zip"] == {"kind": "mask"}


def test_a_hierarchy_file_may_hold_any_value_and_is_refused_where_it_is_torn(obverse: Obverse, tmp_path: Path) -> None:
    source = tmp_path / "odd.csv"
    folder = tmp_path / "h"
    folder.mkdir()
    source.write_text('v,s\n"a\nb",1\n"c\u2028d",2\n', encoding="utf-8")
    (folder / "v.csv").write_text('\ufeff"a\nb";letters\n"c\u2028d";letters\n', encoding="utf-8")
    asked = (str(source), "--out", str(tmp_path / "out"), "--quasi", "v", "--sensitive", "s", "--k", "2")
    found = obverse("anonymize", *asked, "--hierarchies", str(folder))
    assert found.exit_code == 0, found.output
    assert (tmp_path / "out" / "table.csv").read_text() == "v,s\nletters,1\nletters,2\n"
    (folder / "v.csv").write_text("a;" + 200_000 * "x")
    assert code(obverse, *asked, "--hierarchies", str(folder)) == "source_unreadable"


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


def test_presence_is_told_of_those_too_who_are_like_nobody_in_the_table(obverse: Obverse, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age\n1\n1\n")
    # of the two of age 2 it is known that they are not in it
    (tmp_path / "all.csv").write_text("age\n1\n1\n1\n1\n2\n2\n")
    asked = (str(tmp_path / "table.csv"), "--quasi", "age", "--population", str(tmp_path / "all.csv"), "--presence")
    assert obverse("anonymize", "check", *asked, "0.3,0.6").exit_code == 3
    assert obverse("anonymize", "check", *asked, "0,0.6").exit_code == 0


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


def test_a_bar_is_drawn_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("obverse.cli.output.progress.AFTER_S", -1.0)
    with progress("searching") as told:
        told(0.5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("obverse.cli.output.progress.on_terminal", lambda stream: True)
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


def test_a_projects_table_can_be_released_without_its_identifiers(
    obverse: Obverse, project: Path, tmp_path: Path
) -> None:
    import duckdb

    out = tmp_path / "out"
    made = obverse(
        *("anonymize", "people", "-p", str(project), "--out", str(out)),
        *("--deidentify", "person_id", "--keep", "age,sex", "--reason", "an extract"),
    )
    assert made.exit_code == 0, made.stderr
    assert f"{out}: table.parquet" in " ".join(made.stdout.split())
    with duckdb.connect() as connection:
        columns = connection.execute(f"DESCRIBE FROM '{out}/table.parquet'").fetchall()
    assert [column[0] for column in columns] == ["age", "sex"]


def test_closeness_over_a_given_tree_is_checked(obverse: Obverse, tmp_path: Path) -> None:
    """One class has lung illnesses, the other stomach illnesses: by values and by organs each is 1/2 from the whole, so
    1/2 on
    average. Where all four have one label, the level of labels is not off at all, so it is 1/4."""
    table = tmp_path / "t.csv"
    table.write_text("age,ill\n1,flu\n1,cough\n2,ulcer\n2,gastritis\n", encoding="utf-8")
    for folder, (lung, stomach), far in (("organs", ("lung", "stomach"), 0.5), ("one", ("any", "any"), 0.25)):
        (tmp_path / folder).mkdir()
        lines = [f"flu;{lung};*", f"cough;{lung};*", f"ulcer;{stomach};*", f"gastritis;{stomach};*"]
        (tmp_path / folder / "ill.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        asked = ("anonymize", "check", str(table), "--quasi", "age", "--sensitive", "ill")
        asked += ("--hierarchies", str(tmp_path / folder))
        found = json.loads(obverse(*asked, "--json").stdout)["reaches"]["sensitive"]["ill"]
        assert found["t_hierarchical"] == pytest.approx(far)
        assert obverse(*asked, "--t", f"hierarchical:{far}").exit_code == 0
        assert obverse(*asked, "--t", f"hierarchical:{far - 0.01}").exit_code == 3
        assert "t hierarchical" in obverse(*asked).stdout
    words = (
        "anonymize",
        "check",
        str(table),
        "--quasi",
        "age",
        "--sensitive",
        "ill",
        "--hierarchy",
        "ill=tree",
        "--json",
    )
    assert "t_hierarchical" in json.loads(obverse(*words).stdout)["reaches"]["sensitive"]["ill"]


def test_dates_are_ordered_by_time_and_texts_say_that_theirs_is_the_alphabets(obverse: Obverse, tmp_path: Path) -> None:
    """Four dates, in the order of time 0 1 2 3: one class has 0 and 1, the other 2 and 3, which lie 1/3 of the way
    apart.
    """
    rows = [("1", "10/1/2000", "low"), ("1", "2/1/2001", "mid"), ("2", "3/5/2001", "high"), ("2", "11/1/2001", "low")]
    path = tmp_path / "dated.csv"
    path.write_text("zip,when,level\n" + "".join(f"{','.join(row)}\n" for row in rows))
    asked = (
        "anonymize",
        "check",
        str(path),
        "--quasi",
        "zip",
        "--sensitive",
        "when,level",
        "--t",
        "ordered:0.34",
        "--json",
    )
    found = json.loads(obverse(*asked).stdout)
    assert found["reaches"]["sensitive"]["when"]["t_ordered"] == pytest.approx(1 / 3)
    told = "0.34-closeness of {}, ordered distance{}".format
    assert found["demands"] == {told("when", ""): True, told("level", ", texts in alphabetical order"): True}
