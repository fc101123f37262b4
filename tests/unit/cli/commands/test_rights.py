"""obverse rights, as the curator types it."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from obverse.cli.main import cli
from obverse.curator.ledger import opened_ledger
from obverse.curator.rights import requests
from obverse.ledger.transfer import exported
from obverse.session.custody import collapsed

TOML = """
[project]
name = "clinic"
[budget]
epsilon = 1
[tables.people]
source = "people.csv"
unit = "id"
basis = "consent"
retain_until = 2031-01-31
[tables.people.columns]
id = { type = "integer" }
age = { type = "integer", bounds = [0, 120] }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "obverse.toml").write_text(TOML)
    (folder / "people.csv").write_text("id,age\n4711,30\n4712,40\n")
    return folder


def run(project: Path, *words: str, input: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["rights", *words, "-p", str(project)], input=input)


def test_every_act_says_what_it_did_and_what_it_cannot_undo(project: Path) -> None:
    said = run(project, "suppress", "-", "--reason", "objection of 3 May", input="4711\n")
    assert said.exit_code == 0, said.output
    assert "In force from data version" in said.stdout
    assert "stays published" in " ".join(said.stdout.split())
    assert "4711" not in said.stdout
    assert "bad_person" in run(project, "suppress", "-", "--reason", "objection", input=b"\xff\n").stderr
    erased = json.loads(run(project, "erase", "4712", "--reason", "withdrawn", "--later", "--json").stdout)
    assert erased["data_version"] is None
    corrected = run(project, "correct", "4712", "people", "--set", "age=41", "--where", "age=40", "--reason", "wrong")
    assert corrected.exit_code == 0, corrected.output
    acts = json.loads(run(project, "list", "--json").stdout)["acts"]
    assert [(act["act"], act["state"]) for act in acts] == [
        ("suppress", "in force"), ("erase", "in force"), ("correct", "in force"),
    ]  # fmt: skip
    assert run(project, "lift", acts[0]["right"], "--reason", "given again").exit_code == 0
    assert "lifted" in run(project, "list").stdout


@pytest.mark.parametrize(
    ("written", "kept"), [("8001", "8001"), ("08001", "08001"), ("1.50", "1.50"), ("null", None), ('"null"', "null")]
)
def test_a_text_of_digits_is_a_text_to_a_column_of_texts(project: Path, written: str, kept: str | None) -> None:
    (project / "obverse.toml").write_text(f'{TOML}zip = {{ type = "text" }}\n')
    (project / "people.csv").write_text("id,age,zip\n4711,30,9000\n")
    said = run(
        project, "correct", "4711", "people", "--set", f"zip={written}", "--where", "zip=9000", "--reason", "moved"
    )
    assert said.exit_code == 0, said.output
    with requests.kept(project) as keeper:
        (found,) = keeper.contents().values()
    assert (found["set"], found["where"]) == ({"zip": kept}, {"zip": "9000"})


def test_a_file_that_cannot_be_is_told_before_anything_is_read(project: Path) -> None:
    said = run(project, "export", "4711", "--reason", "access", "--out", str(project / "nowhere" / "rows.zip"))
    assert (said.exit_code, "no folder" in said.stderr) == (2, True)
    assert json.loads(run(project, "list", "--json").stdout)["acts"] == []


def test_a_file_without_rows_says_so(project: Path) -> None:
    said = run(project, "export", "9999", "--reason", "access", "--out", str(project / "none.zip"))
    assert "none of any table" in said.stdout


def test_rows_are_written_to_a_file_for_the_person_alone(project: Path) -> None:
    out = project / "rows.zip"
    assert run(project, "export", "4711", "--reason", "access", "--out", str(out)).exit_code == 0
    assert zipfile.ZipFile(out).read("people.csv").decode().splitlines() == ["id,age", "4711,30"]
    assert out.stat().st_mode & 0o77 == 0
    assert run(project, "export", "4711", "--reason", "access", "--out", str(out)).exit_code == 2
    assert json.loads(run(project, "export", "4711", "--reason", "access").stdout)["person"] == 4711
    text = project / "rows.json"
    run(project, "export", "4712", "--reason", "access", "--out", str(text))
    assert json.loads(text.read_text())["tables"][0]["rows"] == [["4712", "40"]]


def test_the_record_is_printed_and_tables_say_on_which_basis_they_are_held(project: Path) -> None:
    assert "| people | consent | any | 2031-01-31 |" in run(project, "record").stdout
    assert json.loads(run(project, "record", "--json").stdout)["tables"][0]["retain_until"] == "2031-01-31"
    shown = CliRunner().invoke(cli, ["tables", "-p", str(project)]).stdout
    assert "held on the basis of: consent; until 2031-01-31" in shown


def test_an_act_that_no_record_knows_is_listed_and_lifted(project: Path) -> None:
    with requests.kept(project) as keeper, keeper.opened.registered.exclusive() as datasets:
        content = requests.content_of("correct", 4711, table="people", set={"age": 41}, where={})
        requests.ledger_rights.put(datasets, keeper.opened.dataset.id, [("f" * 32, content)])
    (act,) = json.loads(run(project, "list", "--json").stdout)["acts"]
    assert (act["record"], act["act"], act["tables"], act["state"]) == (None, "correct", ["people"], "not recorded")
    assert "not recorded" in run(project, "list").stdout
    exported = json.loads(run(project, "export", "4711", "--reason", "access").stdout)
    assert exported["standing"] == [{"act": "correct", "record": None, "tables": ["people"], "state": "not recorded"}]
    assert run(project, "lift", "f" * 32, "--reason", "a crash", "--later").exit_code == 3
    lifted = run(project, "lift", "f" * 32, "--reason", "a crash")
    assert lifted.exit_code == 0, lifted.output
    acts = json.loads(run(project, "list", "--json").stdout)["acts"]
    assert [(one["act"], one["state"]) for one in acts] == [("export", "done"), ("correct", "lifted"), ("lift", "done")]


def test_what_is_kept_of_rights_is_carried(project: Path) -> None:
    run(project, "suppress", "4711", "--reason", "objection")
    file = project / "kept.json"
    assert "1 acts" in run(project, "keep", str(file)).stdout
    assert "1 acts" in run(project, "restore", str(file)).stdout


def test_a_refusal_is_free_and_names_its_code(project: Path) -> None:
    said = run(project, "suppress", "4711", "--reason", "he is 4711", "--json")
    assert said.exit_code == 3
    assert json.loads(said.stdout)["error"]["code"] == "reason_names_person"


def test_a_pair_without_its_sign_names_the_option_that_it_is_of(project: Path) -> None:
    said = run(project, "correct", "4711", "people", "--set", "age", "--reason", "wrong")
    assert said.exit_code == 2
    assert "write --set COLUMN=VALUE." in said.stderr
    said = run(project, "correct", "4711", "people", "--set", "age=41", "--where", "age", "--reason", "wrong")
    assert said.exit_code == 2
    assert "write --where COLUMN=VALUE." in said.stderr


ACTS = {
    "suppress": ("suppress", "{}"),
    "erase": ("erase", "{}"),
    "correct": ("correct", "{}", "people", "--set", "age=50"),
    "later": ("suppress", "{}", "--later"),
}


@pytest.mark.parametrize("act", ACTS)
def test_an_act_on_nobody_says_so_to_the_curator_alone(
    act: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exported chain is byte for byte alike, but for times and for keyed hashes and ids of equal length."""
    chains = []
    counts = []
    for person in ("4711", "9999"):
        monkeypatch.setenv("OBVERSE_HOME", str(tmp_path / f"home of {person}"))
        folder = written(tmp_path / f"project of {person}")
        done = run(folder, *[word.format(person) for word in ACTS[act]], "--reason", "objection", "--json")
        assert done.exit_code == 0, done.output
        counts.append(json.loads(done.stdout).pop("matches"))
        with opened_ledger(folder) as (_, _, opened):
            text = "\n".join(line for _, line in exported(opened.ledger, lambda number: ""))
        text = re.sub(r"[0-9a-f]{16,}", lambda found: "x" * len(found[0]), text)
        chains.append(re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z?", "time", text))
    assert counts == [{"people": 1}, {"people": 0}]
    assert '"rights"' in chains[0]
    assert chains[0] == chains[1]


def test_the_curator_reads_that_nobody_matches(project: Path) -> None:
    said = " ".join(run(project, "suppress", "9999", "--reason", "objection").stdout.split())
    assert "no row of people now" in said
    assert "rows that come later" in said
    assert "1 row of people" in " ".join(run(project, "erase", "4711", "--reason", "objection").stdout.split())


def test_an_act_on_nobody_binds_rows_that_come_later(project: Path) -> None:
    assert "no row of people now" in " ".join(run(project, "suppress", "4713", "--reason", "objection").stdout.split())
    (project / "people.csv").write_text("id,age\n4711,30\n4712,40\n4713,50\n")
    assert sum(collapsed(project, "people", ["age"], what="test", reason="a test").counts) == 2


def test_an_export_shows_the_value_in_force_beside_the_stored_one(project: Path) -> None:
    assert run(project, "correct", "4711", "people", "--set", "age=41", "--reason", "wrong").exit_code == 0
    assert run(project, "correct", "4711", "people", "--set", "age=77", "--reason", "wrong", "--later").exit_code == 0
    told = json.loads(run(project, "export", "4711", "--reason", "access").stdout)["tables"][0]
    assert [str(value) for value in told["rows"][0]] == ["4711", "30"]
    (changed,) = told["corrected"]
    assert (changed["row"], changed["column"], str(changed["stored"]), changed["in_force"]) == (0, "age", "30", 41)
    run(project, "export", "4711", "--reason", "access", "--out", str(project / "rows.zip"))
    with zipfile.ZipFile(project / "rows.zip") as packed:
        assert packed.read("people.csv").decode().splitlines() == ["id,age,age (in force)", "4711,30,41"]
    other = json.loads(run(project, "export", "4712", "--reason", "access").stdout)["tables"][0]
    assert other["corrected"] == []


def test_a_correction_of_rows_that_are_not_there_says_so(project: Path) -> None:
    said = run(
        project, "correct", "4711", "people", "--set", "age=41", "--where", "age=99", "--reason", "wrong", "--json"
    )
    assert json.loads(said.stdout)["matches"] == {"people": 0}
    text = run(project, "correct", "4711", "people", "--set", "age=41", "--where", "age=98", "--reason", "wrong").stdout
    assert "are the key and --where, as stored, right?" in " ".join(text.split())


def test_a_check_past_the_last_day_says_what_must_be_deleted(project: Path) -> None:
    (project / "obverse.toml").write_text(TOML.replace("2031-01-31", "2024-01-31"))
    found = json.loads(CliRunner().invoke(cli, ["check", "-p", str(project), "--json"]).stdout)["findings"]
    (line,) = [one for one in found if one["about"] == "people" and "2024-01-31" in one["message"]]
    assert line["level"] == "warn"
    assert "delete the rows of people (people.csv)" in line["message"]
    assert not [
        one for one in found if one["about"] == "people" and one["level"] == "ok" and "protects" in one["message"]
    ]


def test_a_check_past_the_last_day_tells_of_tables_that_are_found_through_it(project: Path) -> None:
    """They are refused too, and nobody could tell whose their rows are once the others are deleted."""
    late = "limits = { rows = 2 }\nretain_until = 2024-01-31\n"
    visits = f'[tables.visits]\nsource = "visits.csv"\nunit = "who -> people.id"\n{late}'
    visits += '[tables.visits.columns]\nwho = { type = "integer" }\n'
    drugs = '[tables.drugs]\nsource = "drugs.csv"\nunit = "visit -> visits.visit -> people.id"\nlimits = { rows = 2 }\n'
    lists = '[tables.codes]\nsource = "codes.csv"\npublic = true\nretain_until = 2024-01-31\n'
    (project / "obverse.toml").write_text(TOML + visits + drugs + lists)
    (project / "visits.csv").write_text("visit,who\n1,4711\n")
    (project / "drugs.csv").write_text("visit,drug\n1,a\n")
    (project / "codes.csv").write_text("code\na\n")
    found = json.loads(CliRunner().invoke(cli, ["check", "-p", str(project), "--json"]).stdout)["findings"]
    told = {one["about"]: (one["level"], one["message"]) for one in found if "2024-01-31" in one["message"]}
    assert {name: level for name, (level, _) in told.items()} == dict.fromkeys(("visits", "drugs", "codes"), "warn")
    assert (
        "the rows of visits (visits.csv) and those of drugs (drugs.csv) that are found through them"
        in told["visits"][1]
    )
    assert "take the tables visits, drugs out of obverse.toml" in told["visits"][1]
    assert told["drugs"][1].startswith("every question of it is refused: its rows are found through visits")
