"""Rows that the question writes down."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from obverse.core.bounds import Categories, interval
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.query import PublicQuestion
from obverse.plan.relation import Listed, every
from obverse.plan.stability.values import listed

Read = Callable[[str], PublicQuestion]


def rows_of(question: PublicQuestion) -> Listed:
    (found,) = [node for node in every(question.relation) if isinstance(node, Listed)]
    return found


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("(VALUES (1, 'a'), (2, NULL)) AS v(x, y)", [("x", Type.INTEGER), ("y", Type.TEXT)], ((1, "a"), (2, None))),
        ("(VALUES (1), (2.5)) AS v(x)", [("x", Type.DOUBLE)], ((1.0,), (2.5,))),
        ("(VALUES (1 + 1, -3)) AS v(x)", [("x", Type.INTEGER), ("col1", Type.INTEGER)], ((2, -3),)),
        ("(VALUES (DATE '2020-01-02')) AS v(x)", [("x", Type.DATE)], ((dt.date(2020, 1, 2),),)),
        ("UNNEST(['b', 'a']) AS x", [("x", Type.TEXT)], (("b",), ("a",))),
        ("UNNEST([TRUE, NULL]) AS v(x)", [("x", Type.BOOLEAN)], ((True,), (None,))),
        ("(SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 2) AS v", [("x", Type.INTEGER)], ((1,), (2,), (2,))),
    ],
)
def test_constants_are_rows(
    text: str, columns: list[tuple[str, Type]], rows: tuple[object, ...], read_public: Read
) -> None:
    found = rows_of(read_public(f"SELECT x FROM {text}"))
    kept = [n for n, (name, _) in enumerate(columns) if name in dict(found.columns)]
    assert list(found.columns) == [columns[n] for n in kept]
    assert found.rows == tuple(tuple(row[n] for n in kept) for row in rows)  # type: ignore[index]


def test_facts_are_read_off_the_rows() -> None:
    columns = (("n", Type.INTEGER), ("t", Type.TEXT), ("d", Type.DOUBLE), ("o", Type.TEXT))
    facts = listed(columns, ((3, "b", -1.5, None), (3, "a", 2.0, None), (None, "b", 0.0, None))).columns
    assert (facts["n"].bounds, facts["n"].nullable, facts["n"].copies) == (Categories((3,)), True, 2)
    assert (facts["t"].bounds, facts["t"].nullable, facts["t"].copies) == (Categories(("a", "b")), False, 2)
    assert (facts["d"].bounds, facts["d"].copies) == (interval(-1.5, 2), 1)
    assert (facts["o"].nullable, facts["o"].copies) == (True, 0)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people p, UNNEST([p.age]) AS u(x)",
        "SELECT COUNT(*) FROM people p JOIN (VALUES (1), (2)) AS v(x) ON TRUE",
        "SELECT x FROM (VALUES (1), (2, 3)) AS v(x)",
        "SELECT x FROM (VALUES (1, 2)) AS v(x, y, z)",
        "SELECT x FROM (VALUES (1, 2)) AS v(x, X)",
        "SELECT x FROM (VALUES (1), ('a')) AS v(x)",
        "SELECT x FROM (VALUES (age)) AS v(x)",
        "SELECT x FROM UNNEST([]) AS v(x)",
        "SELECT a FROM UNNEST([1, 2]) WITH ORDINALITY AS v(a, b)",
        "SELECT x FROM (VALUES ((SELECT COUNT(*) FROM people))) AS v(x)",
        "SELECT age",
        "SELECT (SELECT COUNT(*) FROM people)",
        "SELECT COUNT(*) FROM people UNION ALL SELECT 1",
        f"SELECT x FROM (VALUES {', '.join(['(1)'] * 10_001)}) AS v(x)",
    ],
    ids=lambda sql: sql[:60],
)
def test_what_is_no_list_of_constants_is_refused(sql: str, refusal: Callable[[str], Refused]) -> None:
    assert refusal(sql).fix
