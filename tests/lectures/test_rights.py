"""The seven rights of the regulation, each as something that one can do."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from obverse.cli.main import cli

TOML = """\
[project]
name = "clinic"
[budget]
epsilon = 1
[tables.people]
source = "people.csv"
unit = "id"
[tables.people.columns]
age = { type = "integer", bounds = [0, 120] }
[surveys.slept]
question = "Did you sleep well?"
options = ["no", "yes"]
epsilon = 1
retention_days = 30
purpose = "To learn how people sleep."
consent = "I agree that my randomized answer is counted."
"""
WHY = ("--reason", "a letter of 3 May")
RIGHTS = {
    "transparency": (("collect", "card", "slept"), "Loss (epsilon): 1 per report"),
    "transparency, of tables": (("rights", "record"), "# Record of processing: clinic"),
    "access": (("rights", "export", "4711", *WHY, "--out", "rows.zip"), "rows.zip"),
    "correction": (("rights", "correct", "4711", "people", "--set", "age=41", *WHY), "put it right in the source"),
    "deletion": (("rights", "erase", "4711", *WHY), "delete"),
    "portability": (("rights", "export", "4711", *WHY, "--out", "rows.json"), "rows.json"),
    "withdrawal of consent": (("collect", "withdraw", "slept", "--device", "device"), "withdrawn"),
    "objection": (("rights", "suppress", "4711", *WHY), "In force from data version"),
}


@pytest.mark.parametrize("right", RIGHTS)
def test_each_right_of_the_regulation_is_a_command(right: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Differential privacy 2024, the regulation: seven rights; none of them writes to a source."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "obverse.toml").write_text(TOML)
    rows = "id,age\n4711,30\n4712,40\n"
    (tmp_path / "people.csv").write_text(rows)
    if right == "withdrawal of consent":
        assert CliRunner().invoke(cli, ["collect", "consent", "slept", "--device", "device"]).exit_code == 0
    command, told = RIGHTS[right]
    said = CliRunner().invoke(cli, command)
    assert said.exit_code == 0, said.output
    assert told in " ".join(said.output.split())
    assert (tmp_path / "people.csv").read_text() == rows
    if right == "access":
        with zipfile.ZipFile(tmp_path / "rows.zip") as held:
            assert "4711,30" in "".join(held.read(name).decode() for name in held.namelist())
