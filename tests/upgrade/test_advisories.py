"""Charges of earlier versions that an advisory touches: listed for the curator, and never given again under another
meaning.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from obverse.cli.main import cli
from tests.upgrade.test_stored_answers import run, unpacked
from tests.upgrade.worlds import CHANGED


def advised(*args: str) -> dict[str, str]:
    found = json.loads(CliRunner().invoke(cli, ["check", "--json", *args]).stdout)["findings"]
    return {one["about"]: one["message"] for one in found if one["about"].startswith("OBV-")}


def test_charges_over_a_collated_column_are_listed_and_asked_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked("v0.1", "collated", tmp_path, monkeypatch)
    assert "charged 2 times over people (records 3, 5) and stored 2 of" in advised()["OBV-2026-01"]
    for args in CHANGED["collated"].commands:
        assert not run(*args)["price"]["stored"]  # it means another thing now
        assert run(*args)["price"]["stored"]
    assert "2 times" in advised()["OBV-2026-01"]  # those of this version are not among them


def test_a_view_that_was_asked_is_refused_free_and_its_charges_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked("v0.1", "view", tmp_path, monkeypatch)
    (args,) = CHANGED["view"].commands
    refused = CliRunner().invoke(cli, [*args, "--json"])
    assert refused.exit_code == 3
    assert json.loads(refused.output)["error"]["code"] == "not_rowwise"
    assert not json.loads(refused.output)["charged"]
    assert "charged 1 times over paid" in advised()["OBV-2026-03"]
    text = (
        Path("obverse.toml")
        .read_text(encoding="utf-8")
        .replace('unit = "person_id"', 'unit = "person_id"\nrowwise = true')
    )
    Path("obverse.toml").write_text(text, encoding="utf-8")
    again = run(*args)
    assert not again["price"]["stored"]  # its claim names an assumption that the earlier one did not
    assert any("rowwise = true" in one for one in again["claim"]["assumes"])
    assert "1 times" in advised()["OBV-2026-03"]


def test_charges_over_growing_data_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked("v0.1", "first", tmp_path, monkeypatch)
    assert "charged 2 times over events" in advised()["OBV-2026-02"]


def test_growing_data_of_an_earlier_version_is_taken_as_it_is_and_compared_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked("v0.1", "first", tmp_path, monkeypatch)
    publish = ("data", "publish", "--through", "2026-01-10")
    assert "taken as they are now" in run(*publish)["notes"][0]
    assert run(*publish)["notes"] == []
    assert run("data", "retire", "--through", "2026-01-01", "--reason", "kept for a week")["through"] == "2026-01-01"
    run("ledger", "verify")


@pytest.mark.parametrize("name", ["pure", "each", "network"])
def test_a_project_that_no_advisory_is_about_is_left_in_peace(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked("v0.1", name, tmp_path, monkeypatch)
    assert advised() == {}
