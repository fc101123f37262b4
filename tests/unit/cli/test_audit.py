"""obverse attack audit: what follows, by which questions, and what an auditor would have denied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from obverse.cli.main import cli


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["attack", "audit", *args])


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text("name,age\nann,34\nbob,36\ncid,41\ndee,58\n")
    (tmp_path / "asked.sql").write_text("SELECT SUM(pay) FROM t WHERE age > 35; SELECT SUM(pay) FROM t WHERE age > 40")
    return tmp_path


def of_staff(folder: Path, *more: str) -> list[str]:
    return [str(folder / "asked.sql"), "--table", str(folder / "staff.csv"), "--secret", "pay", "--name", "name", *more]


def test_the_person_between_two_sums_is_named_with_the_questions(staff: Path) -> None:
    found = run(*of_staff(staff, "--real"))
    assert found.exit_code == 0
    assert "determine 1 of 4" in found.stdout
    assert "bob" in found.stdout
    told = json.loads(run(*of_staff(staff, "--real", "--json")).stdout)
    assert told["determined"] == [
        {"secret": "bob", "value": None, "questions": [0, 1], "by": "linear algebra", "minimal": True}
    ]


def test_an_online_auditor_denies_the_second(staff: Path) -> None:
    found = run(*of_staff(staff, "--real", "--online"))
    assert [line.split()[0] for line in found.stdout.splitlines()] == ["granted", "denied"]
    told = json.loads(run(*of_staff(staff, "--real", "--online", "--json")).stdout)
    assert (told["granted"], told["denied"]) == (1, 1)


def test_yes_or_no_secrets_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sums.csv"
    path.write_text("set,sum\n0 1 2,2\n0 1,2\n")
    assert json.loads(run(str(path), "--json").stdout)["free"] == 0
    assert "satisfiability" in run(str(path)).stdout
    path.write_text("set,sum\n" + " ".join(map(str, range(12))) + ",6\n0,1\n")
    told = json.loads(run(str(path), "--online", "--json").stdout)
    assert [one["granted"] for one in told["questions"]] == [True, False]


def test_many_that_are_determined_are_shortened(tmp_path: Path) -> None:
    path = tmp_path / "sums.csv"
    path.write_text("set,sum\n" + " ".join(map(str, range(30))) + ",30\n")
    assert "10 are left out here" in run(str(path)).stdout


def test_what_cannot_be_audited_is_refused(tmp_path: Path, staff: Path) -> None:
    assert run(str(tmp_path / "none.json")).exit_code == 3
    assert run(*of_staff(staff)).exit_code == 3  # yes-or-no secrets need sums
    assert run(*of_staff(staff, "--online")).exit_code == 3 or "denied" in run(*of_staff(staff, "--online")).stdout
    assert run(str(staff / "asked.sql"), "--table", str(staff / "staff.csv")).exit_code == 2
    assert run(*of_staff(staff, "--online", "--prior", "2")).exit_code == 2
