"""One table, released in all the ways: raw rows leak, and what is asked for privately does not, at a small epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obverse.core.errors import Refused
from obverse.engines.files import read_table, write_table
from obverse.review.compare import Asked, compare, listed, place_labels

ASKED = Asked(("age", "zip"), "sick", k=5, sample=0.5, epsilons=(0.5, 5.0))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    generator = np.random.default_rng(3)
    path = tmp_path / "people.parquet"
    columns = {
        "age": generator.integers(20, 60, 1200).astype(str).astype(object),
        "zip": generator.integers(8000, 8012, 1200).astype(str).astype(object),
        "sick": np.where(generator.random(1200) < 0.4, "yes", "no").astype(object),
    }
    write_table(columns, path)
    return path


def test_rows_leak_and_private_counts_do_not(table: Path) -> None:
    """At epsilon 0.5 no cell is told, each but for a chance of 1e-6, and an attack on nothing wins 333 times where its
    control
    wins 352 times; a few cells more would not turn that round. False alarm: below 1e-6."""
    shares: list[float] = []
    found = compare(read_table(table), ASKED, shares.append)
    names = [row.release for row in found.rows]
    assert names == [
        "a raw sample of 50 %",
        "all rows, without names",
        "5-anonymous",
        "exact counts",
        "ask, epsilon 0.5",
        "ask, epsilon 5",
    ]
    leaks = {row.release: [one.attack for one in row.findings if one.leaks] for row in found.rows}
    assert "attribute" in leaks["all rows, without names"]
    assert "attribute" in leaks["exact counts"]
    assert leaks["ask, epsilon 0.5"] == []
    errors = {row.release: row.error for row in found.rows}
    assert errors["exact counts"] == 0 < errors["ask, epsilon 5"] < errors["ask, epsilon 0.5"]
    assert (shares[-1], found.people) == (1.0, 600)
    told = found.as_json()
    assert told["releases"][0]["findings"][0]["attack"] == "attribute"
    chart = found.plot().to_dict()
    assert len(chart["layer"]) == 5, "points, and labels on four sides of them"
    points = {point["release"]: point for point in chart["data"]["values"]}
    assert points["all rows, without names; exact counts (no error)"]["attacks"] == "an attack surely wins"
    assert points["ask, epsilon 0.5"]["attacks"] == "no attack surely wins"


def test_the_same_seed_gives_the_same_rows(table: Path) -> None:
    one, two = (compare(read_table(table), Asked(("age",), "sick", epsilons=(1.0,), seed=7)).rows[:4] for _ in range(2))
    told = [[(row.error, [found.rate for found in row.findings]) for row in rows] for rows in (one, two)]
    assert told[0] == told[1]


def test_what_cannot_be_compared_is_refused(table: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        compare(read_table(table), Asked(("agee",), "sick"))
    assert caught.value.code == "column_missing"
    few = tmp_path / "few.parquet"
    write_table({name: values[:50] for name, values in read_table(table).items()}, few)
    with pytest.raises(Refused) as caught:
        compare(read_table(few), ASKED)
    assert caught.value.code == "too_few_rows"
    for wrong in ("", "a", "1,-1", "nan", "1,inf", "1e-13", "101"):
        with pytest.raises(Refused) as caught:
            listed(wrong)
        assert caught.value.code == "bad_parameter"
        assert not caught.value.place  # of a file that nobody wrote


def test_labels_of_near_points_stand_apart_and_none_leaves_the_picture() -> None:
    told = ((1e-5, 0.07), (2e-4, 0.05), (5e-4, 0.051), (0.1, 0.0))
    points: list[dict[str, Any]] = [{"error": error, "gain": gain} for error, gain in told]
    place_labels(points)
    assert [one["place"] for one in points] == ["below right", "below right", "above right", "below left"]
