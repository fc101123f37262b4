"""What `check`, `collect card`, `collect plan` and `serve --check` say of a survey before anybody is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Obverse

SURVEY = """[project]
name = "class"

[surveys.it]
question = "Do you smoke?"
{}
epsilon = 1
retention_days = 30
purpose = "A lecture."
consent = "I agree."
"""
YES = 'options = ["no", "yes"]'
WORDS = 'text = true\nprotocol = "rappor"'
WARNED = {
    "averaging": f"{YES}\nreports = 30",
    "lifetime": f"{YES}\nreports = 30\nlifetime = 3",
    "page": "bounds = [0, 24]\nstep = 1",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "class"
    folder.mkdir()
    return folder


def declare(project: Path, asked: str) -> None:
    (project / "obverse.toml").write_text(SURVEY.format(asked))


def read(obverse: Obverse, *verb: str) -> dict[str, Any]:
    return dict(json.loads(obverse(*verb, "--json").stdout))


def test_a_simulation_of_several_reports_says_that_it_played_one_of_each(obverse: Obverse, project: Path) -> None:
    """Its errors are not those of a schedule whose lifetime is spent."""
    for more, said in (("reports = 30\nlifetime = 3", True), ("", False)):
        declare(project, f"{YES}\n{more}")
        assert ("made-up people who sent one report each" in obverse("collect", "simulate", "it").stdout) == said


@pytest.mark.parametrize("name", WARNED)
def test_every_way_to_look_at_a_survey_warns_of_it(obverse: Obverse, project: Path, name: str) -> None:
    declare(project, WARNED[name])
    for verb in (("collect", "card", "it"), ("collect", "plan", "it")):
        assert [one["name"] for one in read(obverse, *verb)["warnings"]] == [name]
        assert "Warning" in obverse(*verb).stdout
    findings = read(obverse, "check")["findings"]
    (warned,) = [one["message"] for one in findings if one["level"] == "warn"]
    lines = read(obverse, "serve", "--check", "--no-pg")["checks"]
    assert f"it: {warned}" in [line["text"] for line in lines if line["fine"] is None]
    assert (name == "page") == ("it: the page asks it" not in [line["text"] for line in lines])


def test_nothing_is_warned_of_where_all_is_well(obverse: Obverse, project: Path) -> None:
    declare(project, YES)
    assert read(obverse, "collect", "card", "it")["warnings"] == []
    assert "Warning" not in obverse("collect", "plan", "it").stdout
    assert [one["level"] for one in read(obverse, "check")["findings"]] == ["ok", "ok"]


@pytest.mark.parametrize("asked", [WORDS, 'options = ["a", "b", "c"]\nprotocol = "rappor"', "text = true"])
def test_a_permanent_that_rappor_ignores_is_refused_at_its_line(obverse: Obverse, project: Path, asked: str) -> None:
    declare(project, f"{asked}\npermanent = 4")
    line = (project / "obverse.toml").read_text().splitlines().index("permanent = 4") + 1
    findings = read(obverse, "check")["findings"]
    (wrong,) = [one for one in findings if one["level"] == "error"]
    assert wrong["place"] == f"obverse.toml:{line} surveys.it.permanent"
    assert (wrong["code"], wrong["fix"]) == ("bad_parameter", "Write permanent = 2.")
    assert obverse("collect", "card", "it").exit_code == 3
    assert obverse("collect", "tokens", "it").exit_code == 3
    declare(project, f"{asked}\npermanent = 2")
    assert obverse("collect", "card", "it").exit_code == 0


def test_who_collected_with_such_a_line_goes_on_and_is_warned(obverse: Obverse, project: Path) -> None:
    """The specification never had it, so people read the truth."""
    declare(project, f"{WORDS}\npermanent = 2")
    assert obverse("collect", "tokens", "it").exit_code == 0
    before = obverse("collect", "spec", "it").stdout
    declare(project, f"{WORDS}\npermanent = 4")
    assert obverse("collect", "spec", "it").stdout == before
    assert obverse("collect", "tokens", "it").exit_code == 0
    findings = read(obverse, "check")["findings"]
    assert ["rappor ignores permanent = 4" in one["message"] for one in findings if one["level"] == "warn"] == [True]
