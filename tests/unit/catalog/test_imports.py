from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import obverse

HEAVY = ("numpy", "duckdb", "sqlglot", "pydantic", "jsonschema")
OURS = "obverse.catalog.complete, obverse.catalog.draft, obverse.catalog.keys, obverse.demo.project"


def test_the_catalog_and_the_demo_load_nothing_heavy() -> None:
    code = f"import sys, {OURS}; print([name for name in {HEAVY!r} if name in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(Path(obverse.__file__).parent.parent)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert said.stdout.strip() == "[]"
