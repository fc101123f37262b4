"""Projects of the reviews: tables written in SQL, stored as what they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from obverse.testing import synthetic


def made(folder: Path, toml: str, tables: Mapping[str, str]) -> Path:
    """A project of generated tables, each the rows of its SQL."""
    with duckdb.connect() as engine:
        return synthetic({name: engine.execute(rows).fetchnumpy() for name, rows in tables.items()}, toml, folder)
