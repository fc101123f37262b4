"""Who is left out moves nothing: on every engine the exact numbers are those of the database without their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from obverse.catalog.columns import fitted
from obverse.core.types import Type
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit.emit import emit
from obverse.plan.emit.overlay import NOTHING, Correction, Overlay
from obverse.testing.neighbours import Family
from tests.soundness.conftest import HASH_KEY, World
from tests.soundness.test_master_law import SOME, assert_law, texts
from tests.stands import STANDS

MORE = (
    "SELECT t, COUNT(*) FROM t GROUP BY t",  # keys that are discovered
    "SELECT MEDIAN(i), MODE(s) FROM t",
    "SELECT COUNT(DISTINCT s) FROM t",
)
WORLDS = [("one", False), ("many", True), ("path", False)]
EVERY = [*((kind, 6 if kind == "spark" else 1) for kind in STANDS), pytest.param("spark", 2, marks=pytest.mark.soak)]


def key_of(family: Family, place: int) -> int:
    """The key of a unit that was added to the base, whichever table names it."""
    unit = family.units[place - 1]
    rows = unit.get("people") or unit["t"]
    return int(str(rows[0]["person"]))


def under(world: World, plan: Any, overlay: Overlay) -> str:
    return emit(plan.root, world.catalog, world.engine.dialect, HASH_KEY, overlay)


@pytest.mark.parametrize(("kind", "every"), EVERY)
@pytest.mark.parametrize(("unit", "text"), WORLDS, ids=[name for name, _ in WORLDS])
def test_answers_without_somebody_are_those_of_a_database_without_their_rows(
    unit: str, text: bool, kind: str, every: int, world: Callable[..., World]
) -> None:
    here = world(unit, "add-remove", text, kind)
    asked = [*texts(SOME)[::every], *MORE]
    plans = [here.plan(one) for one in asked]
    compared = 0
    for family in here.families((1, 2) if kind == "duckdb" else (2,), units=8):
        bare = [each[0] for each in here.answers(plans, [family.base])]
        for place in (1, 4, 7, 8)[: 2 if kind == "spark" else 4]:
            overlay = Overlay(frozenset({key_of(family, place)}))
            spared = [(plan, under(here, plan, overlay)) for plan, _ in plans]
            with_them = here.answers(plans, [family.database(place)])
            for q, each in enumerate(here.answers(spared, [family.database(place)])):
                assert each[0] == bare[q], f"{here.label}: {asked[q]}"
                compared += with_them[q][0] != bare[q]
    assert compared > len(plans)  # rows of those who are left out would have moved most of the answers


@pytest.mark.parametrize("kind", STANDS)
@pytest.mark.parametrize("unit", ["many", "path"])
def test_the_master_law_holds_for_the_others_while_somebody_is_left_out(
    unit: str, kind: str, world: Callable[..., World]
) -> None:
    here = world(unit, "add-remove", kind=kind)
    (family,) = here.families((3,), units=8)
    overlay = Overlay(frozenset({key_of(family, 1), 10**6}))
    questions = SOME[::3]
    plans = [here.plan(one) for one in texts(questions)]
    reach, _ = here.reach_of([(plan, under(here, plan, overlay)) for plan, _ in plans], [family])
    assert_law(here.label, questions, reach)


@pytest.mark.parametrize("kind", STANDS)
@pytest.mark.parametrize("text", [False, True], ids=["typed", "text"])
def test_answers_with_a_correction_are_those_of_a_database_that_was_put_right(
    text: bool, kind: str, world: Callable[..., World]
) -> None:
    here = world("many", "add-remove", text, kind)
    (family,) = here.families((5,), units=6)
    values = {"i": 7, "d": 2.25, "s": "b", "b": True, "day": "2020-05-04", "ts": "2020-01-01 10:00:00"}
    table = here.catalog.tables["t"]
    typed = tuple((name, fitted(table.columns[name].type, value)) for name, value in values.items())
    before = family.database(2)
    key = key_of(family, 2)
    right = {name: _written(value) if text else value for name, value in typed}
    rows = tuple({**row, **right} if _key(row) == key else row for row in before["t"])
    plans = [here.plan(one) for one in texts(SOME)[: 6 if kind == "spark" else None]]
    overlay = Overlay(corrections=(Correction("t", key, (("i", 3), ("o", None))), Correction("t", key, typed)))
    spared = [(plan, under(here, plan, overlay)) for plan, _ in plans]
    rows = tuple({**row, "o": None} if _key(row) == key else row for row in rows)
    put_right = here.answers(plans, [{"t": rows}])
    found = here.answers(spared, [before])
    assert [each[0] for each in found] == [each[0] for each in put_right]
    assert here.answers(plans, [before]) != put_right


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _key(row: Any) -> int | None:
    return None if row["person"] is None else int(str(row["person"]))


def test_an_overlay_shows_nobody_and_nothing_is_nothing(world: Callable[..., World]) -> None:
    here = world("many", "add-remove")
    plan, sql = here.plan("SELECT COUNT(*) FROM t")
    assert under(here, plan, NOTHING) == sql
    told = repr(Overlay(frozenset({4711}), (Correction("t", 4711, (("i", 4712),), (("s", "x4713"),)),)))
    assert "471" not in told


def test_one_correction_of_several_rows_is_told_by_their_values(world: Callable[..., World]) -> None:
    here = world("many", "add-remove")
    plan, sql = here.plan("SELECT SUM(i) FROM t WHERE s = 'a'")
    base = dict.fromkeys(here.schemas["t"]) | {"person": 5, "i": 1, "p": 10, "m": 0.0, "l": "a"}
    here.fill({"t": ({**base, "s": "a"}, {**base, "s": "b"}, {**base, "person": 6, "s": "a"})})
    corrected = Overlay(corrections=(Correction("t", 5, (("i", 11),), (("s", "a"),)),))
    before, after = (here.vectors(plan, text).vectors[0] for text in (sql, under(here, plan, corrected)))
    (low,) = before.values()
    (high,) = after.values()
    assert high - low == 10 * (low // 2)


def test_rows_are_told_by_a_missing_value_too(world: Callable[..., World]) -> None:
    here = world("many", "add-remove")
    plan, sql = here.plan("SELECT SUM(i) FROM t")
    base = dict.fromkeys(here.schemas["t"]) | {"person": 5, "i": 1, "p": 10, "m": 0.0, "l": "a"}
    here.fill({"t": ({**base, "s": "a"}, {**base, "s": None}, {**base, "person": 6, "s": None})})
    corrected = Overlay(corrections=(Correction("t", 5, (("i", 11),), (("s", None),)),))
    before, after = (here.vectors(plan, text).vectors[0] for text in (sql, under(here, plan, corrected)))
    (low,) = before.values()
    (high,) = after.values()
    assert high - low == 10 * (low // 3)


@pytest.mark.parametrize("kind", STANDS)
def test_keys_come_back_from_the_engine_as_they_were_whatever_they_hold(kind: str, world: Callable[..., World]) -> None:
    here = world("many", "add-remove", kind=kind)
    numbers = (0, -1, 7, 2**63 - 1, -(2**63))
    words = ("a'b", "a,b", "é", "\\", "%", '"', "\U0001f600", "{x}", " ", "x" * 900, "[1]", "\x1f")
    for values, of in ((numbers, Type.INTEGER), (words, Type.TEXT), (words[:1], Type.TEXT)):
        sql = f"SELECT u FROM {DIALECTS[here.engine.dialect].column_of(values, of)} AS k"
        assert {row[0] for row in here.engine.run_public(sql, timeout_s=60).rows} == set(values)
