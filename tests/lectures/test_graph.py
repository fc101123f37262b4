"""Social networks: do people befriend those who share their attributes, how fast do rumours spread, and what stays
hidden.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from obverse.cli.main import cli

TOML = """\
[project]
name = "school"
[budget]
epsilon = 20
[tables.pupils]
source = "pupils.csv"
public = true
[graphs.friendships]
edges = "friendships.csv"
nodes = "pupils.name"
unit = "{unit}"
degree = 60
"""
PUPILS = 900
MUSIC = ("folk", "jazz", "metal")


def friendships(seed: int = 4) -> list[tuple[int, int]]:
    """Pupils befriend those who like the same music four times as often as others."""
    random = np.random.default_rng(seed)
    a, b = np.triu_indices(PUPILS, 1)
    met = random.random(len(a)) < np.where(a % 3 == b % 3, 0.032, 0.008)
    return list(zip(a[met].tolist(), b[met].tolist()))


def school(folder: Path, unit: str, pairs: list[tuple[int, int]]) -> Path:
    folder.mkdir()
    (folder / "obverse.toml").write_text(TOML.format(unit=unit))
    (folder / "friendships.csv").write_text("from,to\n" + "".join(f"pupil {a},pupil {b}\n" for a, b in pairs))
    lines = [f"pupil {n},{MUSIC[n % 3]}\n" for n in range(PUPILS + 100)]  # the whole year, whoever uses the network
    (folder / "pupils.csv").write_text("name,music\n" + "".join(lines))
    return folder


def published(where: Path, out: Path, epsilon: str, stats: str, *more: str) -> dict[str, Any]:
    args = [
        "publish",
        "graph",
        "friendships",
        "-p",
        str(where),
        "--stats",
        stats,
        "--epsilon",
        epsilon,
        "--out",
        str(out),
    ]
    made = CliRunner().invoke(cli, [*args, *more, "--json"])
    assert made.exit_code == 0, made.output
    told = json.loads(made.stdout)
    assert all(one["holds"] for one in told["checks"])
    found = {line["statistic"]: line for line in told["found"]}
    return found | {"spread": {one["attribute"]: one["model"] for one in told["spread"]}}


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("unit", ["edge", "node"])
def test_do_people_befriend_those_who_share_their_attributes(tmp_path: Path, unit: str) -> None:
    """Responsible data science, social networks: yes, far more often than by chance, at epsilon 1 for an edge and for a
    person.

    The interval holds the truth, with three times its room: false alarm below 2e-4, and the noise comes from a seed.
    """
    pairs = friendships()
    found = published(school(tmp_path / "p", unit, pairs), tmp_path / "r", "1", "mixing:music")
    same = sum(a % 3 == b % 3 for a, b in pairs) / len(pairs)
    within = found["share of connections within the same music"]
    chance = found["the same share by chance, music"]
    assert within["low"] > chance["high"] + 0.1
    room = within["high"] - within["low"]
    assert within["low"] - room <= same <= within["high"] + room
    assert found["assortativity by music"]["low"] > 0.2


@pytest.mark.usefixtures("seeded")
def test_how_rapidly_do_rumours_spread(tmp_path: Path) -> None:
    """Responsible data science, social networks: on a released model about as fast as on the network itself.

    The model is said to fit: triangles get three quarters of epsilon 10, noise beyond their room has a chance of 1e-6.
    How far rumours on a model stray from those on the network has no law to bound it by, so the noise comes from a
    seed.
    """
    pairs = friendships()
    where = school(tmp_path / "p", "edge", pairs)
    found = published(where, tmp_path / "r", "10", "spread:music", "--share", "triangles=6")
    assert found["spread"]["music"] == "fits"
    steps = found["steps until a rumour reaches half, by music"]
    random = np.random.default_rng(1)
    ends = np.array(pairs)
    truth = []
    for _ in range(20):
        heard = np.zeros(PUPILS, dtype=bool)
        step = 0
        heard[random.integers(PUPILS)] = True
        while heard.mean() < 0.5:
            friends = np.bincount(ends[:, 0], heard[ends[:, 1]], PUPILS) + np.bincount(
                ends[:, 1], heard[ends[:, 0]], PUPILS
            )
            heard |= random.random(PUPILS) < 1 - 0.9**friends
            step += 1
        truth.append(step)
    assert abs(steps["estimate"] / np.mean(truth) - 1) < 0.25


@pytest.mark.parametrize(
    ("unit", "hidden"), [("edge", "that two people are connected"), ("node", "that a person is present at all")]
)
def test_the_statement_says_which_sensitive_fact_is_hidden(tmp_path: Path, unit: str, hidden: str) -> None:
    """Responsible data science, social networks: "Alice and Bob are connected", or "Alice is present in this
    network".
    """
    out = tmp_path / "r"
    published(school(tmp_path / "p", unit, friendships()), out, "1", "edges,people")
    assert f"{hidden} is hidden" in (out / "statement.md").read_text().lower()
    assert "pupil 1" not in "".join(path.read_text(errors="replace") for path in out.rglob("*.*") if path.is_file())
