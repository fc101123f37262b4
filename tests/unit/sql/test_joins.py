"""Joins: what one unit brings stays bounded, however many of them there are."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from obverse.catalog.model import Catalog, Limits
from obverse.core.errors import Refused
from obverse.core.units import KeyPath
from obverse.plan.query import PublicQuestion, Question
from obverse.plan.relation import Filter, Join, Listed, Map, Mark, Reduce, Relation, Scan, Trim, Union, every
from obverse.plan.stability.derive import facts_of
from obverse.plan.stability.join import MANY, partners
from obverse.sql.resolve import resolve
from tests.unit.sql.conftest import NOW, Read


def most(relation: Relation, catalog: Catalog) -> int:
    """Rows of a unit that has no more than its cap in every table; of public rows one, since partners are counted."""
    match relation:
        case Scan(name):
            limits = catalog.tables[name].limits
            return limits.rows if isinstance(limits, Limits) else 1
        case Listed():
            return 1
        case Filter(child) | Map(child) | Reduce(child) | Mark(child):
            return most(child, catalog)
        case Trim(child, rows):
            return min(most(child, catalog), rows)
        case Union(children):
            return sum(most(child, catalog) for child in children)
        case Join(left, right, _, on):
            there = facts_of(right, catalog)
            many = most(right, catalog) if there.stability is not None else partners(there, on)
            assert many is not None
            return most(left, catalog) * many


def largest(question: Question, catalog: Catalog) -> int:
    return max(most(relation, catalog) for relation in every(question.relation))


@pytest.mark.parametrize("joins", [1, 3, 5, 9])
def test_no_units_pairs_with_itself_are_more_than_many(joins: int, read: Read, catalog: Catalog) -> None:
    more = "".join(f" JOIN visits v{n} ON v{n}.person_id = v.person_id" for n in range(joins))
    assert largest(read(f"SELECT COUNT(*) FROM visits v{more}"), catalog) <= MANY


@pytest.mark.parametrize("joins", [1, 2, 3, 9])
def test_no_units_rows_have_more_than_many_partners(joins: int, read: Read, catalog: Catalog) -> None:
    """A list that the question writes down is public, and its values may repeat: each join would multiply by a
    hundred.
    """
    listed = ", ".join(["('a')"] * 100)
    more = "".join(f" JOIN l AS l{n} ON l{n}.c = v.clinic" for n in range(joins))
    asked = f"WITH l AS (SELECT c FROM (VALUES {listed}) AS x(c)) SELECT COUNT(*) FROM visits v{more}"
    assert min(MANY // 100, 20 * 100**joins) <= largest(read(asked), catalog) <= MANY


@pytest.mark.parametrize("rows", [1, 1000, 1 << 19])
def test_few_rows_are_joined_as_they_are(rows: int, catalog: Catalog) -> None:
    visits = replace(catalog.tables["visits"], limits=Limits(rows))
    wide = replace(catalog, tables={**catalog.tables, "visits": visits})
    question = resolve("SELECT COUNT(*) FROM visits v JOIN visits w ON v.person_id = w.person_id", wide, NOW)
    assert isinstance(question, Question)
    assert math.isclose(largest(question, wide), min(rows**2, MANY), rel_tol=0.1)


def test_a_row_that_is_a_unit_has_a_bounded_number_of_copies(catalog: Catalog) -> None:
    assert catalog.unit is not None
    rows = replace(catalog.tables["visits"], unit=KeyPath("visits", None), limits=None)
    alone = replace(catalog, tables={"visits": rows}, unit=replace(catalog.unit, table="visits", key=None))
    listed = ", ".join(["('a')"] * 100)
    with_list = f"WITH l AS (SELECT c FROM (VALUES {listed}) AS x(c)) SELECT COUNT(*) FROM visits v"
    more = [f" JOIN l AS l{n} ON l{n}.c = v.clinic" for n in range(4)]
    assert isinstance(resolve(with_list + "".join(more[:3]), alone, NOW), Question)
    with pytest.raises(Refused) as caught:
        resolve(with_list + "".join(more), alone, NOW)
    assert caught.value.code == "unbounded_fanout"


ALIKE = ", ".join(["('a')"] * 100)
LISTED = f"WITH l AS (SELECT c FROM (VALUES {ALIKE}) AS x(c))"
ITSELF = "SELECT l0.c AS c FROM l AS l0 JOIN l AS l1 ON l1.c = l0.c JOIN l AS l2 ON l2.c = l0.c"


@pytest.mark.parametrize(
    "asked",
    [
        f"JOIN (SELECT c, COUNT(*) AS n FROM ({ITSELF}) AS i GROUP BY c) AS g ON g.c = v.clinic",
        f"JOIN (SELECT DISTINCT c FROM ({ITSELF}) AS i) AS g ON g.c = v.clinic",
        f"WHERE v.clinic IN ({ITSELF})",
        f"WHERE EXISTS (SELECT 1 FROM ({ITSELF}) AS g WHERE g.c = v.clinic)",
    ],
)
def test_public_rows_beside_private_ones_do_not_multiply_by_themselves(asked: str, catalog: Catalog) -> None:
    """A server that finds no private row need not join them, so that how long it takes would tell of one."""
    with pytest.raises(Refused) as caught:
        resolve(f"{LISTED} SELECT COUNT(*) FROM visits v {asked}", catalog, NOW)
    assert caught.value.code == "unbounded_fanout"
    once = asked.replace(" JOIN l AS l2 ON l2.c = l0.c", "")
    assert isinstance(resolve(f"{LISTED} SELECT COUNT(*) FROM visits v {once}", catalog, NOW), Question)
    assert isinstance(resolve(f"{LISTED} SELECT COUNT(*) FROM ({ITSELF}) AS i", catalog, NOW), PublicQuestion)
