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
    assert found.exit_code == 5  # it leaks, as with every attack
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


@pytest.mark.parametrize("real", [(), ("--real",), ("--online",)])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"secrets": 3, "questions": [{"set": [0], "sum": "1/0"}]}', "bad_sums"),
        ('{"secrets": 3, "questions": [{"set": [0], "sum": "1e999999999"}]}', "bad_sums"),
        ('{"secrets": 3, "questions": [{"set": [0], "sum": NaN}]}', "bad_sums"),
        ('{"secrets": 1000000000, "questions": []}', "bad_sums"),
        ('{"questions": [{"set": ["900000"], "sum": 1}]}', "bad_sums"),
        ('{"secrets": ["a", "a"], "questions": [{"set": ["a"], "sum": 1}]}', "bad_sums"),
    ],
)
def test_numbers_that_are_none_and_secrets_without_end_are_refused(
    tmp_path: Path, text: str, code: str, real: tuple[str, ...]
) -> None:
    (tmp_path / "sums.json").write_text(text)
    found = run(str(tmp_path / "sums.json"), *real, "--json")
    assert json.loads(found.stdout)["error"]["code"] == code


def test_answers_that_contradict_each_other_are_never_taken_for_truth(tmp_path: Path) -> None:
    """Real secrets had the first answer; an auditor with no database left granted everything."""
    path = tmp_path / "sums.json"
    six = [0, 1, 2, 3, 4, 5]
    path.write_text(json.dumps({"secrets": 6, "questions": [{"set": six, "sum": 3}, {"set": six, "sum": 4}]}))
    for told in ((), ("--real",), ("--online", "--widening", "0.99", "--risk", "0.9")):
        assert json.loads(run(str(path), *told, "--json").stdout)["error"]["code"] == "inconsistent_sums"
    path.write_text(json.dumps({"secrets": 6, "questions": [{"set": six, "sum": 3}, {"set": six, "sum": 3}]}))
    assert run(str(path), "--real").exit_code == 0


def test_yes_or_no_secrets_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sums.csv"
    path.write_text("set,sum\n0 1 2,2\n0 1,2\n")
    assert json.loads(run(str(path), "--json").stdout)["free"] == 0
    assert "satisfiability" in run(str(path)).stdout
    path.write_text("set,sum\n" + " ".join(map(str, range(12))) + ",6\n0,1\n")
    told = json.loads(run(str(path), "--online", "--json").stdout)
    assert [one["granted"] for one in told["questions"]] == [True, False]


@pytest.mark.parametrize(
    "text", ["Set,sum\n0 1,2\n", "set;sum\n0 1;2\n", "0 1,2\n0 2,1\n", "sum,set\n2\n", "set,sum\n0,1,2\n"]
)
@pytest.mark.parametrize("real", [(), ("--real",), ("--online",)])
def test_a_file_whose_sets_are_not_found_is_never_called_harmless(
    tmp_path: Path, text: str, real: tuple[str, ...]
) -> None:
    path = tmp_path / "sums.csv"
    path.write_text(text)
    assert json.loads(run(str(path), *real, "--json").stdout)["error"]["code"] == "bad_sums"


def test_an_empty_set_has_no_sum(tmp_path: Path) -> None:
    path = tmp_path / "sums.json"
    path.write_text('{"secrets": 2, "questions": [{"set": [0, 1], "sum": 1}, {"set": [], "sum": 5}]}')
    for real in ((), ("--real",)):
        assert json.loads(run(str(path), *real, "--json").stdout)["error"]["code"] == "inconsistent_sums"


def test_one_sum_is_not_that_of_every_group(staff: Path) -> None:
    path = staff / "asked.json"
    asked = [str(path), "--table", str(staff / "staff.csv"), "--secret", "pay", "--json"]
    sql = "SELECT age > 40, SUM(pay) FROM t GROUP BY age > 40"
    path.write_text(json.dumps([{"sql": sql, "sum": 2}]))
    assert json.loads(run(*asked).stdout)["error"]["code"] == "bad_sums"
    path.write_text(json.dumps([{"sql": sql, "sum": [2, 0]}]))
    assert len(json.loads(run(*asked).stdout)["determined"]) == 4


def test_many_that_are_determined_are_shortened(tmp_path: Path) -> None:
    path = tmp_path / "sums.csv"
    path.write_text("set,sum\n" + " ".join(map(str, range(30))) + ",30\n")
    assert "10 are left out here" in run(str(path)).stdout


def test_a_table_of_other_columns_is_no_list_of_sums(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("name,age\nann,34\n")
    found = run(str(tmp_path / "other.csv"))
    assert found.exit_code == 3
    assert "set and sum" in found.stderr


def test_what_cannot_be_audited_is_refused(tmp_path: Path, staff: Path) -> None:
    assert run(str(tmp_path / "none.json")).exit_code == 3
    assert run(*of_staff(staff)).exit_code == 3  # yes-or-no secrets need sums
    assert run(*of_staff(staff, "--online")).exit_code == 3 or "denied" in run(*of_staff(staff, "--online")).stdout
    assert run(str(staff / "asked.sql"), "--table", str(staff / "staff.csv")).exit_code == 2
    assert run(*of_staff(staff, "--online", "--prior", "2")).exit_code == 2
