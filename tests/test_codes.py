"""Every error code that the product can give is triggered, by name, in some test."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import obverse
from obverse.catalog.edit import with_number
from obverse.cli.main import cli
from obverse.core.errors import ObverseError
from obverse.session.project_file import edit_project_file

ROOT = Path(__file__).parent.parent
ERRORS = {"ObverseError", "Refused", "CatalogError", "BudgetExceeded", "LedgerError", "Failed"}  # Refusals: unit/sql
RENAMED = re.compile(r"^code_[a-z]+$")  # a store's own names for what may befall its file


def codes() -> dict[str, str]:
    """Code to the file that gives it."""
    found: dict[str, str] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if (
                name in ERRORS
                and node.args
                and isinstance(node.args[0], ast.Constant)
                and isinstance(node.args[0].value, str)
            ):
                found[node.args[0].value] = path.name
            for keyword in node.keywords:
                if keyword.arg and RENAMED.match(keyword.arg) and isinstance(keyword.value, ast.Constant):
                    found[str(keyword.value.value)] = path.name
    return found


PROJECT = """
[project]
name = "p"
[budget]
epsilon = 4
[tables.people]
source = "people.csv"
unit = "id"
[tables.people.columns]
pay = { type = "double", bounds = [-1e15, 1e15] }
[tables.visits]
source = "visits.csv"
unit = "id -> people.id"
limits = "auto"
[tables.towns]
source = "towns.csv"
public = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "obverse.toml").write_text(PROJECT)
    (tmp_path / "people.csv").write_text("id,pay\n1,2.5\n")
    (tmp_path / "visits.csv").write_text("id,x\n1,2\n")
    (tmp_path / "towns.csv").write_text("name,size\na,1\nb,2\n")
    return tmp_path


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(ObverseError) as refused:
        call()
    assert not refused.value.charged
    return refused.value.code


def test_limits_that_were_never_learned_answer_nothing(folder: Path) -> None:
    with obverse.open(folder) as session:
        assert code_of(lambda: session.explain("SELECT COUNT(*) FROM visits")) == "limits_not_learned"


def test_noise_beyond_64_bits_is_refused_before_it_is_drawn(folder: Path) -> None:
    with obverse.open(folder) as session:
        assert code_of(lambda: session.ask("SELECT SUM(pay) FROM people", epsilon=1e-9)) == "epsilon_too_small"


def test_a_question_that_costs_nothing_is_not_priced_in_a_batch(folder: Path) -> None:
    with obverse.open(folder) as session:
        assert code_of(lambda: session.ask_all(["SELECT COUNT(*) FROM towns"])) == "public_in_batch"


def test_a_toml_that_was_changed_meanwhile_is_left_alone(folder: Path) -> None:
    write = edit_project_file(folder, lambda text: text + "# mine\n")
    (folder / "obverse.toml").write_text(PROJECT + "# another's\n")
    assert code_of(write) == "changed_meanwhile"
    assert (folder / "obverse.toml").read_text() == PROJECT + "# another's\n"


def test_a_number_that_cannot_be_found_in_the_text_is_not_edited() -> None:
    hidden = "[budget]\n'epsilon' = 4\n"
    assert code_of(lambda: with_number(hidden, ("budget", "epsilon"), Fraction(5))) == "cannot_edit"


def test_a_head_that_is_not_the_expected_one_is_told(folder: Path) -> None:
    obverse.open(folder).close()
    found = CliRunner().invoke(cli, ["ledger", "verify", "-p", str(folder), "--head", "0" * 16, "--json"])
    assert (found.exit_code, json.loads(found.stdout)["error"]["code"]) == (3, "head_differs")


def test_an_output_of_unknown_format_is_refused_before_anything_is_spent(folder: Path) -> None:
    found = CliRunner().invoke(cli, ["ask", "SELECT COUNT(*) FROM people", "-p", str(folder), "--out", "x.xls"])
    assert found.exit_code == 3
    assert "bad_output" in found.stderr


def test_each_code_is_snake_case_and_stands_in_a_test() -> None:
    tests = "\n".join(p.read_text() for p in (ROOT / "tests").rglob("*.py"))
    given = codes()
    assert len(given) > 60
    for code in given:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", code), code
    missing = {code: file for code, file in given.items() if f'"{code}"' not in tests}
    assert not missing
