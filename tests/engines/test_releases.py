"""What a release measures is the same on every engine: the exact entries of tables and of a spine, before their
noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obverse.core.units import Neighbours
from obverse.plan.emit.emit import emit
from obverse.plan.sensitivity import limit
from obverse.plan.strategy.pricing import roomy
from obverse.publish.hierarchy.method import Hierarchy
from obverse.publish.hierarchy.request import spine_of
from obverse.publish.method import Method, Terms
from obverse.publish.tables.method import Tables
from obverse.publish.tables.request import Wanted, asked, with_values
from tests.engines.sites import SITES, Held, Site
from tests.soundness.conftest import HASH_KEY

ROWS = range(60)
TEXT = {"spark": "STRING"}
DOUBLE = {"postgres": "DOUBLE PRECISION"}
TABLE: Mapping[str, Held] = {
    "u": Held('{ type = "integer" }', "BIGINT", [str(n // 4) for n in ROWS]),
    "age": Held(
        '{ type = "integer", bounds = [0, 90] }', "BIGINT", [None if n % 9 == 0 else str(n * 7 % 100) for n in ROWS]
    ),
    "pay": Held('{ type = "double", bounds = [0, 10] }', "DOUBLE", [str(n / 7) for n in ROWS], DOUBLE),
    "sex": Held('{ type = "text", values = ["F", "M"], nullable = false }', "TEXT", ["FM?"[n % 3] for n in ROWS], TEXT),
    "zip": Held('{ type = "text" }', "TEXT", [None if n % 8 == 0 else f"z{n % 5}" for n in ROWS], TEXT),
    "leaf": Held(
        '{ type = "text", values = ["t1", "t2", "t3", "t4"], nullable = false }',
        "TEXT",
        [f"t{n % 5}" for n in ROWS],
        TEXT,
    ),
}
WANTED = Wanted(
    "t",
    (("age", "sex"), ("pay",), ("zip",)),
    {"age": "0,18,65", "pay": "2.5"},
    "age IS NULL OR age < 80",
    {"zip": "0.1"},
    {"zip": ("z1", "z3")},
    "sex = 'M' AND age < 18",
)
PLACES = Wanted("t", (("leaf", "sex"),), {})


def hierarchy(workload: Any) -> Method:
    spine, nodes, paths = spine_of(("county", "leaf"), [("a", "t1"), ("a", "t2"), ("b", "t3"), ("b", "t4")])
    return Hierarchy(workload, spine, nodes, np.arange(len(paths)), (Fraction(1, 3),) * 3)


def entries(site: Site, accounting: Any) -> list[list[int]]:
    """Of both releases, as the engine's own SQL gives them."""
    found = []
    for wanted, make in ((WANTED, Tables), (PLACES, hierarchy)):
        catalog = with_values(site.catalog, wanted)
        workload, question = asked(catalog, wanted)
        draft = make(workload).draft(Terms(accounting, Neighbours.ADD_REMOVE))
        annotated = roomy(limit(replace(question, sets=draft.sets), catalog), draft.strategy.blocks)
        root = annotated.root
        rows = site.engine.run(emit(root, catalog, site.engine.dialect, HASH_KEY), timeout_s=120).reveal()
        counts = np.zeros(root.public.count, dtype=np.int64)
        counts[rows["k"]] = rows["m" if "m" in rows else "m0"]
        assert counts.any()
        found += [one.tolist() for one in draft.strategy.apply(root.public, counts)]
    return found


@pytest.mark.parametrize("kind", [kind for kind in SITES if kind != "duckdb"])
def test_tables_and_a_spine_are_measured_alike(kind: str) -> None:
    site = SITES[kind](TABLE)
    reference = SITES["duckdb"](TABLE)
    try:
        for accounting in ("pure", "zcdp"):
            assert entries(site, accounting) == entries(reference, accounting)
    finally:
        site.close()
        reference.close()
