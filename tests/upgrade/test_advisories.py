"""Charges of earlier versions that an advisory touches: listed for the curator, and never given again under another meaning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from obverse.cli.main import cli
from tests.upgrade.test_stored_answers import unpacked


def advised(*args: str) -> dict[str, str]:
    found = json.loads(CliRunner().invoke(cli, ["check", "--json", *args]).stdout)["findings"]
    return {one["about"]: one["message"] for one in found if one["about"].startswith("OBV-")}


def test_charges_over_a_collated_column_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked("v0.1", "collated", tmp_path, monkeypatch)
    assert "2 charges of an earlier version read people (records 3, 5); 2 of their answers" in advised()["OBV-2026-01"]


def test_charges_over_growing_data_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked("v0.1", "first", tmp_path, monkeypatch)
    assert "2 charges of an earlier version read events" in advised()["OBV-2026-02"]


@pytest.mark.parametrize("name", ["pure", "each", "network"])
def test_a_project_that_no_advisory_is_about_is_left_in_peace(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked("v0.1", name, tmp_path, monkeypatch)
    assert advised() == {}
