"""Surveys that earlier versions ran: their reports are still estimated, and their devices go on where they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from obverse.cli.main import cli
from tests.upgrade.test_stored_answers import VERSIONS, unpacked
from tests.upgrade.worlds import SENT


@pytest.mark.parametrize("survey", SENT)
@pytest.mark.parametrize("version", VERSIONS)
def test_reports_and_devices_of_an_earlier_version_go_on(
    version: str, survey: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = unpacked(version, "surveys", tmp_path, monkeypatch)
    before = json.loads((world / "answers.json").read_text(encoding="utf-8"))[survey]
    found = json.loads(collect("estimate", survey, "--json"))
    assert found["reports"] == before["estimate"]["reports"]
    assert [row["share"] for row in found["rows"]] == [row["share"] for row in before["estimate"]["rows"]]
    spec = tmp_path / "spec.json"  # as it was sent to the device
    spec.write_text(
        json.dumps(before["spec"], sort_keys=True, separators=(",", ":"), ensure_ascii=False), encoding="utf-8"
    )
    answer = ("answer", survey, SENT[survey][0], "--token", before["token"], "--device", "device", "--spec", str(spec))
    Path("again.txt").write_text(collect(*answer), encoding="utf-8")
    collect("add", survey, "again.txt")
    assert json.loads(collect("estimate", survey, "--json"))["reports"] == found["reports"] + 1
    if survey == "dose":  # the device remembers the reports before: this was the last of three
        refused = CliRunner().invoke(cli, ["collect", *answer])
        assert refused.exit_code == 3, refused.output


def collect(*args: str) -> Any:
    found = CliRunner().invoke(cli, ["collect", *args])
    assert found.exit_code == 0, (args, found.output)
    return found.stdout
