from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Obverse = Callable[..., Result]
COUNT = "SELECT COUNT(*) AS n FROM people"
GRANT = ("budget", "grant", "--epsilon", "0.5", "--reason", "a second study")


def test_the_gauge_and_the_table_show_what_is_left(obverse: Obverse) -> None:
    obverse("ask", COUNT, "--epsilon", "0.5")
    said = obverse("budget").stdout
    assert "[###############...............] 50.0 % left: epsilon 0.5 of 1" in said
    assert "quality    purpose" in said


def test_json_lists_every_cap(obverse: Obverse) -> None:
    told = json.loads(obverse("budget", "--json").stdout)
    assert (told["version"], told["accounting"], told["quantity"]) == (1, "pure", "epsilon")
    assert [line["kind"] for line in told["lines"]] == ["all", "analyst", "analyst", "purpose"]


def test_a_grant_raises_what_may_be_spent_and_keeps_the_comments(obverse: Obverse, project: Path) -> None:
    assert obverse("ask", COUNT, "--epsilon", "1.2").exit_code == 4
    said = obverse(*GRANT, "--delta", "1e-6")
    assert said.exit_code == 0, said.output
    text = (project / "obverse.toml").read_text(encoding="utf-8")
    assert "epsilon = 1.5   # for ever" in text
    assert "delta = 0.000002    # and this" in text
    assert "# A comment at the top." in text
    assert obverse("ask", COUNT, "--epsilon", "1.2").exit_code == 0


def test_a_grant_is_an_entry_with_its_reason(obverse: Obverse, project: Path) -> None:
    obverse(*GRANT)
    obverse("ledger", "export", "records.jsonl")
    caps = [line for line in (project / "records.jsonl").read_text(encoding="utf-8").splitlines() if '"cap"' in line]
    assert len(caps) == 1
    assert "a second study" in caps[0]


def test_raising_the_toml_alone_raises_nothing(obverse: Obverse, project: Path) -> None:
    obverse("ask", COUNT)
    file = project / "obverse.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("epsilon = 1.0", "epsilon = 9.0"), encoding="utf-8")
    assert obverse("ask", COUNT, "--epsilon", "2").exit_code == 4
    assert "`obverse budget grant` raises it" in " ".join(obverse("check").stdout.split())


def test_a_grant_adds_to_the_cap_that_binds(obverse: Obverse, project: Path) -> None:
    obverse("ask", COUNT)
    file = project / "obverse.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("epsilon = 1.0", "epsilon = 0.6"), encoding="utf-8")
    told = json.loads(obverse(*GRANT, "--json").stdout)
    assert (told["before"]["epsilon"], told["after"]["epsilon"]) == ("0.6", "1.1")
    assert json.loads(obverse("budget", "--json").stdout)["lines"][0]["cap"] == "1.1"


def test_a_grant_that_cannot_be_valid_changes_nothing(obverse: Obverse, project: Path) -> None:
    before = (project / "obverse.toml").read_bytes()
    for args in (["--epsilon", "-1"], ["--epsilon", "100"], ["--epsilon", "much"], ["--epsilon", "1", "--delta", "2"]):
        assert obverse("budget", "grant", *args, "--reason", "x").exit_code == 3
    assert obverse("budget", "grant", "--epsilon", "1", "--reason", " ").exit_code == 3
    assert obverse("budget", "grant", "--epsilon", "1").exit_code == 2
    assert (project / "obverse.toml").read_bytes() == before
    assert json.loads(obverse("budget", "--json").stdout)["lines"][0]["cap"] == "1"
