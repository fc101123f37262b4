"""A small network of friends with two parties, as a project."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TOML = """\
[project]
name = "friends"
[privacy]
accounting = "{accounting}"
epsilon = 2
delta = 1e-6
[budget]
epsilon = 5
delta = 1e-5
[tables.people]
source = "people.csv"
public = true
[graphs.friends]
edges = "{edges}"
nodes = "people.id"
unit = "{unit}"
{more}
"""
PEOPLE = 160
EDGES = 611


def network() -> list[tuple[int, int]]:
    random = np.random.default_rng(11)
    pairs = [(a, b) for a in range(120) for b in range(a) if random.random() < (0.14 if a % 2 == b % 2 else 0.03)]
    return (pairs * 2)[:EDGES]


def project(
    folder: Path,
    unit: str = "edge",
    more: str = "",
    accounting: str = "pure",
    edges: str = "friends.csv",
    own: bool = False,
) -> Path:
    folder.mkdir()
    (folder / "obverse.toml").write_text(TOML.format(accounting=accounting, edges=edges, unit=unit, more=more))
    rows = [f"p{a},p{b}" for a, b in network()] + ([f"p{a}," for a in range(130)] if own else [])
    (folder / "friends.csv").write_text("from,to\n" + "\n".join(["nobody,p1", *rows]) + "\n")
    listed = [f"p{n},{'left' if n % 2 else 'right'},{n}" for n in range(PEOPLE)]
    (folder / "people.csv").write_text("id,party,age\n" + "\n".join(listed) + "\n")
    return folder
