from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Obverse = Callable[..., Result]


def test_the_tour_asks_three_questions_and_explains_one(obverse: Obverse, tmp_path: Path) -> None:
    said = obverse("demo", "--out", str(tmp_path / "hospital"), "--ask")
    assert said.exit_code == 0, said.output
    assert said.stdout.count("± ") > 10
    for part in (
        "about 39 more like this",
        "about 38 more like this",
        "about 37 more like this",
        "nothing is spent",
        "HAVING",
    ):
        assert part in said.stdout
    again = json.loads(obverse("demo", "--out", str(tmp_path / "hospital"), "--ask", "--json").stdout)
    assert all(answer["price"]["stored"] for answer in again["answers"])
    assert again["explain"]["price"]["epsilon"] == "0.1"
    by_error = ("explain", "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic", "--within", "300", "--json")
    told = json.loads(obverse(*by_error, "-p", str(tmp_path / "hospital")).stdout)
    assert 290 < told["measures"][0]["half_width"] <= 300


def test_the_demo_ends_by_telling_of_the_page(obverse: Obverse, tmp_path: Path) -> None:
    said = obverse("demo", "--out", str(tmp_path / "hospital"))
    assert f"demo --out {tmp_path / 'hospital'} --serve opens it in a browser" in " ".join(said.stdout.split())


def test_a_sample_written_anew_starts_anew(obverse: Obverse, tmp_path: Path) -> None:
    folder = tmp_path / "hospital"
    ask = ("ask", "SELECT COUNT(*) AS n FROM people", "-p", str(folder), "--json")
    assert obverse("demo", "--out", str(folder)).exit_code == 0
    obverse(*ask)
    shutil.rmtree(folder)
    said = obverse("demo", "--out", str(folder))
    assert said.exit_code == 0, said.output
    told = json.loads(obverse(*ask).stdout)
    assert (told["price"]["stored"], told["remaining"]["epsilon"]) == (False, "3.9")
    assert not [line for line in obverse("check", "-p", str(folder)).stdout.splitlines() if "changed since" in line]
