"""obverse serve: what it says before it serves."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from obverse.cli.commands.serve import serve
from obverse.curator.ledger import opened_ledger
from obverse.ledger import state
from obverse.ledger.chain import Draft
from obverse.server import preflight as checking
from tests.http_services import write_project
from tests.unit.cli.conftest import Obverse


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_project(tmp_path / "hospital", people=80)


def test_a_check_tells_all_that_a_service_stands_on(obverse: Obverse, folder: Path) -> None:
    found = obverse("serve", str(folder), "--check", "--json")
    assert found.exit_code == 0
    checks = json.loads(found.stdout)["checks"]
    names = [line["name"] for line in checks]
    assert names[:4] == ["Calls", "Network", "Paths", "TLS"]
    assert {"Engine", "Ledger", "Accounts", "Time"} <= {
        line["name"] for line in checks if line["project"] == "hospital"
    }
    time = next(line["text"] for line in checks if line["name"] == "Time")
    assert "planned" in time
    assert "leaves after" in time


def test_a_check_finds_two_projects_of_one_name(obverse: Obverse, folder: Path) -> None:
    found = obverse("serve", str(folder), str(folder), "--check")
    assert (found.exit_code, "project_twice" in found.stdout) == (3, True)


def test_a_check_charges_nothing(obverse: Obverse, folder: Path) -> None:
    obverse("serve", str(folder), "--check")
    assert json.loads(obverse("budget", "-p", str(folder), "--json").stdout)["lines"][0]["spent"] == "0"


def test_what_would_not_serve_is_exit_code_3(obverse: Obverse, folder: Path, tmp_path: Path) -> None:
    found = obverse("serve", str(folder), str(tmp_path / "nothing"), "--host", "0.0.0.0", "--check")
    assert found.exit_code == 3
    assert "tls_needed" in found.stdout
    assert "Project" in found.stdout
    assert "Engine" in found.stdout, "the others are checked all the same"


def test_serving_without_tls_for_others_is_refused_before_anything_is_opened(obverse: Obverse, tmp_path: Path) -> None:
    found = obverse("serve", str(tmp_path / "nothing"), "--host", "0.0.0.0", "--json")
    assert (found.exit_code, json.loads(found.stdout)["error"]["code"]) == (3, "tls_needed")


def test_the_suggested_rows_are_round_and_cover_the_measured_time() -> None:
    for measured in (0.001, 0.02, 0.3, 4.0):
        rows = checking._rows(measured)
        assert str(rows).rstrip("0") in ("1", "2", "5")
        assert rows * checking.ROW_S >= measured


def test_a_ledger_of_a_newer_version_is_not_served_and_nothing_is_lost(
    obverse: Obverse, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a rollback: the old version says so, with exit code 3, and the new one finds everything again."""
    assert obverse("serve", str(folder), "--check").exit_code == 0
    with monkeypatch.context() as newer:
        newer.setitem(state._ACTS, "invented", state._noted)
        with opened_ledger(folder) as (_, _, opened):
            opened.ledger._append("catalog", lambda held: Draft("invented", {}))
            count = opened.ledger.head().count
        assert obverse("serve", str(folder), "--check").exit_code == 0
    found = obverse("serve", str(folder), "--check")
    assert found.exit_code == 3
    assert "ledger_newer" in found.stdout
    newer.setitem(state._ACTS, "invented", state._noted)
    with opened_ledger(folder) as (_, _, opened):
        assert opened.ledger.head().count == count
    newer.undo()


def test_the_docs_name_every_option_and_none_that_is_not_there() -> None:
    """In the table, the unit of systemd and the container file."""
    docs = (Path(__file__).parents[4] / "docs" / "serve.md").read_text()
    options = {name for parameter in serve.params for name in parameter.opts if name.startswith("--")}
    assert options - {"--json"} <= set(re.findall(r"--[a-z-]+", docs))
    started = re.findall(r"^(?:ExecStart\w*=|CMD ).*serve.*$", docs, re.MULTILINE)
    assert len(started) == 3
    assert {name for line in started for name in re.findall(r"--[a-z-]+", line)} <= options
    for section in ("**systemd**", "**Container**", "**Upgrade.**", "**Rollback.**", "**Stopping.**"):
        assert section in docs
