"""What a service cannot reach: the curator's own reading of rows. The import contract says so too."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import obverse.server

SERVER = Path(obverse.server.__file__).parent
ROOT = SERVER.parents[2]
LOADED = """
import importlib, pkgutil, sys
import obverse.server
for found in pkgutil.walk_packages(obverse.server.__path__, "obverse.server."):
    if not found.name.endswith("zygote"):
        importlib.import_module(found.name)
print("obverse.server.http.routes.queries" in sys.modules, "obverse.session.custody" in sys.modules)
"""


def test_no_module_of_a_service_loads_the_curators_door() -> None:
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"}
    said = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, env=environment)
    assert said.stdout.split() == ["True", "False"]


def test_no_module_of_a_service_names_it_not_even_to_load_it_late() -> None:
    for path in SERVER.rglob("*.py"):
        assert "custody" not in path.read_text(), path


def test_the_contract_is_among_those_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (ours,) = [one for one in contracts if one.get("source_modules") == ["obverse.server"]]
    assert ours["forbidden_modules"] == ["obverse.session.custody"]
