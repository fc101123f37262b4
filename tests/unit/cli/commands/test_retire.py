"""obverse data retire: what is charged is shown and asked before it is done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.unit.curator.test_partitions import TOML, rows, write

Obverse = Callable[..., Result]
ARGS = ("data", "retire", "--through", "1", "--reason", "kept for a year")


@pytest.fixture
def growing(obverse: Obverse, project: Path) -> Obverse:
    (project / "obverse.toml").write_text(TOML)
    write(project, rows([1, 2, 3]))
    return obverse


def test_the_curator_sees_the_charge_and_agrees(growing: Obverse) -> None:
    obverse = growing
    assert obverse("data", "publish", "--through", "2").exit_code == 0
    assert obverse("ask", "SELECT COUNT(*) AS n FROM answers WHERE wave = 1", "--epsilon", "1").exit_code == 0
    declined = obverse(*ARGS, input="n\n")
    assert declined.exit_code == 3
    assert "epsilon 1 counts as spent on each wave after 1" in declined.stdout
    assert "no question can be asked of any of them before" in " ".join(declined.stdout.split())
    assert "Retired" not in obverse("budget").stdout
    done = obverse(*ARGS, input="y\n")
    assert done.exit_code == 0, done.output
    assert "Retired  wave up to 1; their rows are read no more and may be deleted" in done.stdout
    said = " ".join(obverse("budget").stdout.split())
    assert "epsilon 1 counts as spent on each wave, since those up to 1 are retired" in said
    assert obverse(*ARGS, "--yes").exit_code == 3  # retired already


def test_json_does_not_ask(growing: Obverse) -> None:
    notes = json.loads(growing("data", "publish", "--through", "2", "--json").stdout)["notes"]
    told = json.loads(growing(*ARGS, "--json").stdout)
    assert notes == []
    assert (told["through"], told["base"], told["left"]) == ("1", "epsilon 0", "epsilon 1 and delta 0")


def test_a_project_that_does_not_grow_has_nothing_to_retire(obverse: Obverse) -> None:
    said = obverse(*ARGS, "--json")
    assert json.loads(said.output)["error"]["code"] == "nothing_to_retire"
