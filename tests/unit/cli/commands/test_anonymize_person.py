"""obverse anonymize counts people: the unit of a project's table, the column --person of a file; else it says so."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import obverse as product
from obverse.cli.commands import anonymize as verb
from tests.unit.cli.conftest import Obverse

EACH_ROW = "Each row is taken as a person: no column was named that says whose a row is."
TOML = """
[project]
name = "clinic"
[budget]
epsilon = 1
[tables.people]
source = "people.csv"
unit = "pid"
[tables.people.columns]
born = { type = "integer", bounds = [1900, 2020] }
[tables.visits]
source = "visits.csv"
unit = "pid -> people.pid"
limits = { rows = 6 }
[tables.visits.columns]
city = { type = "text" }
ill = { type = "text" }
[tables.drugs]
source = "drugs.csv"
unit = "visit -> visits.vid -> people.pid"
limits = { rows = 9 }
[tables.drugs.columns]
drug = { type = "text" }
ill = { type = "text" }
[tables.towns]
source = "towns.csv"
public = true
[tables.towns.columns]
town = { type = "text" }
who = { type = "text" }
"""
ILL = ("flu", "gout", "cold", "cough")


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """Forty people, a town each, six visits each, of several illnesses; each visit has two drugs."""
    home = tmp_path / "clinic"
    home.mkdir()
    (home / "obverse.toml").write_text(TOML)
    (home / "people.csv").write_text("pid,born\n" + "".join(f"{p},{1950 + p}\n" for p in range(40)))
    visits = [(6 * p + v, p, f"town{p:02d}", ILL[(p + v * v) % 4]) for p in range(40) for v in range(6)]
    (home / "visits.csv").write_text("vid,pid,city,ill\n" + "".join(",".join(map(str, row)) + "\n" for row in visits))
    drugs = [f"{vid},d{p % 10},{ILL[n]}\n" for vid, p, _, _ in visits for n in range(2)]
    (home / "drugs.csv").write_text("visit,drug,ill\n" + "".join(drugs))
    (home / "towns.csv").write_text("town,who\n" + "".join(f"t{n % 2},w{n // 6}\n" for n in range(24)))
    return home


def told(found: Any) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(found.stdout)
    return said


def attack(report: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in report["attacks"] if one["attack"] == name)


def test_six_rows_of_one_person_in_a_town_are_no_crowd(obverse: Obverse, clinic: Path) -> None:
    asked = (
        "anonymize",
        "check",
        "visits",
        "-p",
        str(clinic),
        "--reason",
        "a look",
        "--quasi",
        "city",
        "--sensitive",
        "ill",
    )
    found = obverse(*asked, "--k", "5", "--json")
    assert found.exit_code == 3
    report = told(found)
    assert (report["reaches"]["k"], report["demands"]) == (1, {"5-anonymity": False})
    assert (report["risk"]["prosecutor"], report["risk"]["unique"]) == (1.0, 1.0)
    assert report["reaches"]["sensitive"]["ill"]["distinct_l"] == 1
    assert (attack(report, "linkage")["share"], attack(report, "homogeneity")["share"]) == (1.0, 1.0)
    assert report["counted"] | {"sentence": ""} == {
        "what": "people", "by": "pid", "declared": True, "rows": 240, "people": 40, "nobody": 0, "sentence": ""
    }  # fmt: skip
    assert "named by pid, the declared unit: 40 people with 240 rows" in report["claim"]["sentence"]


@pytest.mark.parametrize(
    "how", [("--suppress", "0.2"), ("--search", "mondrian"), ("--l", "2"), ("--t", "0.3", "--loss", "discernibility")]
)
def test_a_release_of_a_projects_table_has_k_people_in_each_class(
    obverse: Obverse, clinic: Path, tmp_path: Path, how: tuple[str, ...]
) -> None:
    """The person's column is released beside, so that each class can be counted."""
    asked = ("anonymize", "visits", "-p", str(clinic), "--reason", "a table", "--quasi", "city", "--sensitive", "ill")
    asked += ("--k", "5")
    found = obverse(*asked, *how, "--keep", "pid", "--out", str(tmp_path / "out"), "--json")
    assert found.exit_code == 0, found.output
    classes = people_of(tmp_path / "out" / "table.parquet", "city", "pid", "ill")
    assert min(map(len, classes.values())) >= 5
    if "--l" in how:
        assert all(not set.intersection(*some.values()) for some in classes.values())
    report = told(found)
    assert report["reaches"]["k"] == min(map(len, classes.values()))
    assert "together" in attack(report, "linkage")["sentence"] or any(
        one["column"] == "pid" and one["works"] for one in report["attacks"] if one["attack"] == "linkage"
    )
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["person"] == "pid"
    with product.open(clinic) as session:
        (record,) = (entry for entry in session.ledger.entries() if entry.kind == "custody")
    assert record.fields["columns"] == ["city", "ill", "pid"]


def people_of(path: Path, city: str, pid: str, ill: str) -> dict[str, dict[str, set[str]]]:
    import duckdb

    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    with duckdb.connect() as connection:
        for place, who, what in connection.execute(f"SELECT {city}, {pid}, {ill} FROM '{path}'").fetchall():
            found[place][who].add(what)
    return found


def test_a_longer_path_is_followed_to_the_person(obverse: Obverse, clinic: Path) -> None:
    """drugs name visits, visits name people: each drug has 4 people of the 40, with 48 rows."""
    asked = (
        "anonymize",
        "check",
        "drugs",
        "-p",
        str(clinic),
        "--reason",
        "a look",
        "--quasi",
        "drug",
        "--sensitive",
        "ill",
    )
    report = told(obverse(*asked, "--json"))
    assert (report["rows"], report["reaches"]["k"], report["reaches"]["classes"]) == (480, 4, 10)
    assert (report["counted"]["people"], report["counted"]["by"]) == (40, "visit -> visits.vid -> people.pid")
    assert report["risk"]["prosecutor"] == pytest.approx(1 / 4)


def test_a_key_on_the_way_that_names_several_people_is_refused(obverse: Obverse, clinic: Path) -> None:
    with (clinic / "visits.csv").open("a") as file:
        file.write("0,39,town39,flu\n")  # visit 0 is person 0's
    asked = ("anonymize", "check", "drugs", "-p", str(clinic), "--reason", "a look", "--quasi", "drug", "--json")
    found = obverse(*asked)
    assert found.exit_code == 3
    assert told(found)["error"]["code"] == "not_one_person"


def test_a_row_that_names_nobody_is_left_out_and_a_check_holds_nothing_of_it(obverse: Obverse, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text(
        "who,city,ill\n" + "".join(f"{w},a,{ILL[w % 4]}\n" * 2 for w in range(6)) + ",a,flu\n,b,flu\n,b,gout\n"
    )
    asked = (str(path), "--quasi", "city", "--sensitive", "ill", "--k", "5", "--person", "who")
    report = told(obverse("anonymize", *asked, "--out", str(tmp_path / "out"), "--json"))
    with (tmp_path / "out" / "table.csv").open() as file:
        assert [row["city"] for row in csv.DictReader(file)] == ["a"] * 12
    assert (report["counted"]["nobody"], report["reaches"]["k"]) == (3, 6)
    assert "3 rows name nobody: they were left out." in report["claim"]["sentence"]
    found = obverse("anonymize", "check", *asked, "--json")
    assert found.exit_code == 3
    assert told(found)["demands"] == {"5-anonymity": True, "every row names a person": False}
    (tmp_path / "none.csv").write_text("who,city\n,a\n,b\n")
    none = obverse("anonymize", "check", str(tmp_path / "none.csv"), "--quasi", "city", "--person", "who", "--json")
    assert told(none)["error"]["code"] == "no_rows"


def test_without_a_column_each_row_is_a_person_and_everything_says_so(obverse: Obverse, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    out = tmp_path / "out"
    path.write_text("who,city\n" + "".join(f"{n // 6},town{n // 6}\n" for n in range(36)))
    asked = ("--quasi", "city", "--k", "5")
    text = obverse("anonymize", str(path), *asked, "--out", str(out))
    assert EACH_ROW in " ".join(text.stdout.split())
    report = json.loads((out / "report.json").read_text())
    assert report["reaches"]["k"] == 6
    assert report["counted"]["what"] == "rows"
    assert report["claim"]["sentence"].endswith(EACH_ROW)
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["version"], manifest["person"], manifest["counted"]) == (1, None, EACH_ROW)
    assert EACH_ROW in (out / "report.html").read_text()
    assert EACH_ROW in " ".join(obverse("anonymize", "check", str(path), *asked).stdout.split())
    by_person = obverse("anonymize", "check", str(path), *asked, "--person", "who")
    assert by_person.exit_code == 3
    assert "k = 1" in by_person.stdout


def test_a_run_by_person_repeats_from_its_manifest_byte_for_byte(obverse: Obverse, tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    path = tmp_path / "visits.csv"
    drawn = [
        (w, random.integers(20, 60), ILL[random.integers(4)]) for w in range(60) for _ in range(random.integers(1, 51))
    ]
    lines = [f"p{who},{age},{ill}\n" for who, age, ill in drawn]
    random.shuffle(lines)
    path.write_text("who,age,ill\n" + "".join(lines))
    asked = (
        "--quasi",
        "age",
        "--sensitive",
        "ill",
        "--k",
        "5",
        "--l",
        "entropy:1.2",
        "--suppress",
        "0.1",
        "--person",
        "who",
    )
    first = tmp_path / "a"
    second = tmp_path / "b"
    for out, how in ((first, asked), (second, ("--manifest", str(first / "manifest.json")))):
        found = obverse("anonymize", str(path), "--out", str(out), *how)
        assert found.exit_code == 0, found.output
    for name in ("table.csv", "manifest.json", "report.json", "report.html"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert json.loads((first / "manifest.json").read_text())["version"] == 2


def test_a_manifest_of_before_is_read_and_counts_rows(obverse: Obverse, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("city\n" + "a\nb\n" * 6)
    obverse("anonymize", str(path), "--quasi", "city", "--k", "5", "--out", str(tmp_path / "a"))
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    del manifest["person"], manifest["counted"]
    (tmp_path / "old.json").write_text(json.dumps(manifest))
    found = obverse("anonymize", str(path), "--manifest", str(tmp_path / "old.json"), "--out", str(tmp_path / "b"))
    assert found.exit_code == 0, found.output
    assert (tmp_path / "a" / "table.csv").read_bytes() == (tmp_path / "b" / "table.csv").read_bytes()


def test_a_sample_is_one_of_people(obverse: Obverse, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    out = tmp_path / "out"
    path.write_text("who,city\n" + "".join(f"p{w},town{w % 3}\n" * (w + 1) for w in range(40)))
    asked = ("--sample", "0.25", "--person", "who")
    report = told(obverse("anonymize", str(path), *asked, "--out", str(out), "--json"))
    with (out / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    whole = {who: sum(row["who"] == who for row in rows) for who in {row["who"] for row in rows}}
    assert len(whole) == report["counted"]["people"] == 10
    assert all(times == int(who[1:]) + 1 for who, times in whole.items())
    assert "Each of the 10 people in the sample" in attack(report, "sampling")["sentence"]
    assert attack(report, "linkage")["share"] == 1


def test_the_population_is_counted_by_people_where_it_names_them(obverse: Obverse, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    everybody = tmp_path / "all.csv"
    path.write_text("who,city\n" + "".join(f"p{w},town\n" * 3 for w in range(4)))
    asked = (
        "anonymize",
        "check",
        str(path),
        "--quasi",
        "city",
        "--person",
        "who",
        "--population",
        str(everybody),
        "--json",
    )
    everybody.write_text("who,city\n" + "".join(f"p{w},town\np{w},village\n" * 2 for w in range(8)))
    report = told(obverse(*asked))
    assert report["reaches"]["presence"] == [0.0, 0.5]
    assert report["risk"]["journalist"] == pytest.approx(1 / 8)
    everybody.write_text("city\n" + "town\n" * 16)
    assert told(obverse(*asked))["reaches"]["presence"] == [0.25, 0.25]


def test_a_pseudonym_ties_the_rows_of_a_person_and_the_claim_counts_whom(obverse: Obverse, tmp_path: Path) -> None:
    """Every town has ten people; twenty people have a pair of towns that nobody else has."""
    pairs = [(a, b) for a in range(5) for b in range(a)]
    rows = [f"p{a}{b},t{town}\n" for a, b in pairs for town in (a, b)] + [f"q{n},t{n % 5}\n" for n in range(40)]
    path = tmp_path / "visits.csv"
    path.write_text("who,town\n" + "".join(rows))
    asked = (
        "anonymize",
        str(path),
        "--quasi",
        "town",
        "--k",
        "5",
        "--person",
        "who",
        "--out",
        str(tmp_path / "out"),
        "--json",
    )
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "town.csv").write_text("".join(f"t{n}\n" for n in range(5)))
    without = told(obverse(*asked, "--hierarchies", str(tmp_path / "h")))
    assert not attack(without, "linkage")["works"]
    report = told(obverse(*asked, "--hierarchies", str(tmp_path / "h"), "--pseudonymise", "who"))
    (found,) = (one for one in report["attacks"] if one["attack"] == "linkage" and one["column"] == "who")
    assert found["share"] == pytest.approx(10 / 50)
    assert "10 of 50 (20 %) people" in report["claim"]["sentence"]


def test_a_project_says_who_is_a_person_and_no_column_is_named(obverse: Obverse, clinic: Path) -> None:
    asked = ("anonymize", "check", "visits", "-p", str(clinic), "--reason", "a look", "--quasi", "city", "--json")
    assert told(obverse(*asked, "--person", "vid"))["error"]["code"] == "bad_parameter"
    public = ("anonymize", "check", "towns", "-p", str(clinic), "--reason", "a look", "--quasi", "town", "--json")
    assert told(obverse(*public, "--person", "who"))["error"]["code"] == "bad_parameter"
    assert told(obverse(*public))["counted"]["sentence"] == EACH_ROW


def test_on_a_terminal_it_is_asked_for(obverse: Obverse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who,city\n" + "".join(f"{n // 6},town{n // 6}\n" for n in range(36)))
    answers: list[str] = ["who", ""]
    monkeypatch.setattr(verb, "on_terminal", lambda stream="stdout": True)
    monkeypatch.setattr(verb.click, "prompt", lambda *_, **__: answers.pop(0))
    asked = ("anonymize", "check", str(path), "--quasi", "city")
    found = obverse(*asked)
    assert "Columns: who, city" in found.output
    assert "k = 1" in found.stdout
    assert "k = 6" in obverse(*asked).stdout
    assert not answers
    obverse(*asked, "--person", "who")  # named, so it is not asked for
    obverse(*asked, "--json")


def test_one_row_each_is_counted_as_rows_are(obverse: Obverse, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("who,age,ill\n" + "".join(f"p{n},{20 + n % 9},{ILL[n * n % 3]}\n" for n in range(90)))
    asked = (
        "anonymize",
        str(path),
        "--quasi",
        "age",
        "--sensitive",
        "ill",
        "--k",
        "4",
        "--t",
        "0.3",
        "--json",
        "--out",
    )
    by_row = told(obverse(*asked, str(tmp_path / "a")))
    by_person = told(obverse(*asked, str(tmp_path / "b"), "--person", "who"))
    assert by_person["counted"]["people"] == by_person["counted"]["rows"] == 90
    for part in ("reaches", "risk", "utility", "search", "attacks"):
        assert by_row[part] == by_person[part]
    assert (tmp_path / "a" / "table.csv").read_bytes() == (tmp_path / "b" / "table.csv").read_bytes()
