"""Millions of discovered keys pass through this process without being held in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from obverse.catalog.complete import complete
from obverse.catalog.load import loads
from obverse.core.secret import Exact
from obverse.plan.emit.emit import emit
from obverse.plan.pricing import allocate
from obverse.plan.query import Question
from obverse.plan.release.noise import randomize_keys
from obverse.session.planning import annotated, read
from obverse.testing.noiseless import SeededRng
from tests.servers import spark_session

KEYS = 3_000_000
STATUS = Path("/proc/self/status")
TOML = """
[project]
name = "many"
[privacy]
neighbours = "add-remove"
[budget]
epsilon = 100
delta = 1e-3
[engine]
kind = "spark"
[tables.t]
source = "python"
unit = "row"
[tables.t.columns]
name = { type = "text" }
x = { type = "integer", bounds = [0, 9] }
"""


def held_mb() -> float:
    return next(int(line.split()[1]) / 1024 for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))


@pytest.mark.soak
@pytest.mark.skipif(not STATUS.exists(), reason="memory is read as Linux tells it")
def test_the_driver_of_spark_holds_far_less_than_all_keys() -> None:
    """All keys as Python's own texts with two integers each would take some 250 MB; a frequent key is found among
    them.
    """
    from obverse.engines.spark import SparkEngine

    text = f"SELECT concat('name ', least(id, {KEYS})) AS name, id % 10 AS x FROM range({KEYS + 1000})"
    catalog = loads(TOML, Path("/"))
    engine = SparkEngine(catalog, {"t": spark_session().sql(text)})
    engine._session.conf.set("spark.sql.shuffle.partitions", "16")
    catalog = complete(catalog, {"t": engine.schema("t")}, {})
    question = read("SELECT name, SUM(x), COUNT(*) FROM t GROUP BY name", catalog, dt.datetime(2024, 1, 1))
    assert isinstance(question, Question)
    plan = annotated(question, catalog)
    costed = allocate(plan, Fraction(1), Fraction(1, 10**9), "pure")
    seen = 0
    most = 0.0
    before = held_mb()

    def watched(batches: Iterator[Exact[Any]]) -> Iterator[Exact[Any]]:
        nonlocal seen, most
        for batch in batches:
            seen += len(batch.reveal()["n"])
            most = max(most, held_mb() - before)
            yield batch

    with closing(engine.batches(emit(plan.root, catalog, "spark"), timeout_s=600)) as batches:
        found = randomize_keys(watched(batches), costed, SeededRng(1))
    engine.close()
    assert seen == KEYS + 1
    assert f"name {KEYS}" in found.keys[0].tolist()
    assert found.cells < 10
    assert most < 80
