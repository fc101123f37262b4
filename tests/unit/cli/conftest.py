from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from obverse.cli.main import cli

TOML = """\
# A comment at the top.
[project]
name = "small"

[privacy]
epsilon = 0.1   # default price
delta = 1e-8

[budget]
epsilon = 1.0   # for ever
delta = 1e-6    # and this

[purposes.quality]
epsilon = 0.5

[analysts.ana]
[analysts.ben]
epsilon = 0.2
purposes = ["quality"]

[tables.people]
source = "people.csv"
unit = "person_id"
[tables.people.columns]
age = { type = "integer", bounds = [0, 120] }
sex = { type = "text", values = ["F", "M", "X"] }
remark = { type = "text", hidden = true }

[tables.clinics]
source = "clinics.csv"
public = true
"""
Obverse = Callable[..., Result]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a registry of its own."""
    monkeypatch.setenv("OBVERSE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "obverse.toml").write_text(TOML, encoding="utf-8")
    rows = [f"{i},{20 + i % 60},{'FMX'[i % 3]},hello" for i in range(3000)]
    (folder / "people.csv").write_text("\n".join(["person_id,age,sex,remark", *rows]) + "\n", encoding="utf-8")
    (folder / "clinics.csv").write_text("clinic,city\nEmergency,Bern\nOncology,Basel\n", encoding="utf-8")
    return folder


@pytest.fixture
def obverse(project: Path, monkeypatch: pytest.MonkeyPatch) -> Obverse:
    """Run a verb inside the project."""
    monkeypatch.chdir(project)

    def run(*args: str, **options: Any) -> Result:
        return CliRunner().invoke(cli, list(args), **options)

    return run


@pytest.fixture
def spent(obverse: Obverse) -> Callable[[], str]:
    """What everybody together has spent."""

    def told() -> str:
        line: dict[str, str] = json.loads(obverse("budget", "--json").stdout)["lines"][0]
        return line["spent"]

    return told
