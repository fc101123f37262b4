"""What the tests of releases share: the head of a project, sessions over made-up tables, exact counts, folders read
again.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import obverse
from obverse.publish.folder.check import check
from obverse.testing import synthetic

Made = Callable[..., obverse.Session]


def head(name: str, epsilon: str, budget: str, delta: str = "1e-5") -> str:
    """The head of an obverse.toml whose neighbours and accounting are put in later."""
    return f"""\
[project]
name = "{name}"
[privacy]
neighbours = "{{neighbours}}"
accounting = "{{accounting}}"
epsilon = {epsilon}
delta = 1e-6
[budget]
epsilon = {budget}
delta = {delta}
"""


def made_of(toml: str, tables: Mapping[str, Any], size: int, accounting: str = "pure", columns_of: str = "") -> Any:
    """A fixture that makes sessions, each over files of its own: other tables by name, or other columns of one
    table.
    """
    usual = accounting

    @pytest.fixture
    def made(tmp_path: Path) -> Iterator[Made]:
        sessions: list[obverse.Session] = []

        def make(accounting: str = usual, neighbours: str = "add-remove", **other: Any) -> obverse.Session:
            told = toml.format(
                accounting=accounting, neighbours=neighbours, size=f"size = {size}" if neighbours == "replace" else ""
            )
            found = dict(tables) | ({columns_of: tables[columns_of] | other} if columns_of else other)
            sessions.append(obverse.open(synthetic(found, told, tmp_path / f"p{len(sessions)}")))
            return sessions[-1]

        yield make
        for session in sessions:
            session.close()

    return made


def exact_counts(session: obverse.Session, planned: Any) -> Any:
    """Of all cells: made-up rows are public, and are read as such."""
    found = session.engine.run_public(planned.sql, timeout_s=60)
    there = dict(zip(found.names, zip(*found.rows))) if found.rows else dict.fromkeys(found.names, ())
    counts = np.zeros(planned.costed.setting.cells, dtype=np.int64)
    counts[np.array(there["k"], dtype=np.int64)] = np.array(there["m" if "m" in there else "m0"], dtype=np.int64)
    return counts


def held(out: Path) -> dict[str, bool]:
    """Every check of a folder by its name."""
    return {one.name: one.holds for one in check(out)}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
