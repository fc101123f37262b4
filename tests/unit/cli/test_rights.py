"""obverse rights, as the curator types it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from obverse.cli.main import cli
from obverse.session import rights

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
    (tmp_path / "obverse.toml").write_text(TOML)
    (tmp_path / "people.csv").write_text("id,age\n4711,30\n4712,40\n")
    return tmp_path


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
    said = run(project, "correct", "4711", "people", "--set", f"zip={written}", "--where", "zip=9000", "--reason", "moved")
    assert said.exit_code == 0, said.output
    with rights.kept(project) as keeper:
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
    with rights.kept(project) as keeper, keeper.opened.registered.exclusive() as datasets:
        content = rights.content_of("correct", 4711, table="people", set={"age": 41}, where={})
        rights.ledger_rights.put(datasets, keeper.opened.dataset.id, [("f" * 32, content)])
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
