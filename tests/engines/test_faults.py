"""No row decides whether a question is answered: on D, and on D with one row more that would make a naive engine raise.

The outcome is told before any row is read, by a refusal with a code; what is not refused is answered on both, by every
engine alike. What an engine says of its own errors never leaves it.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from obverse.core.errors import Failed, Refused
from tests.batched import DB, batched
from tests.engines.probes import EVE, PROBES, table
from tests.engines.sites import SITES, Held, Result, Site, SparkSite, Table, told

OTHERS = [kind for kind in SITES if kind != "duckdb"]
REFUSED = {  # probes that no engine is asked
    "negative length": "type_error",
    "repeated text": "function_not_allowed",
    "filled text": "function_not_allowed",
    "filled text, written": "function_not_allowed",
    "pattern of the row": "type_error",
    "regular expression": "function_not_allowed",
    "character of a number": "function_not_allowed",
    "error by name": "function_not_allowed",
    "subquery of two rows": "private_subquery_as_scalar",
}
Outcome = tuple[str, Any]  # refused and its code, or answered and the exact numbers


class Apart:
    """D and D' in tables of their own."""

    def __init__(self, kind: str) -> None:
        self.sites = [SITES[kind](table(planted)) for planted in (False, True)]

    def outcomes(self, text: str) -> list[Outcome]:
        return [outcome(site, text) for site in self.sites]

    def close(self) -> None:
        for site in self.sites:
            site.close()


class Together:
    """D and D' in one table, told apart by a column of their own, so that one job answers both."""

    def __init__(self, kind: str) -> None:
        self.site = SparkSite(both())

    def outcomes(self, text: str) -> list[Outcome]:
        try:
            sql = batched(self.site.sql(text), {"t"}, "spark")
        except Refused as refused:
            return [("refused", refused.code)] * 2
        columns = dict(self.site.engine.run(sql, timeout_s=120).reveal())
        number = columns.pop(DB)
        return [
            ("answered", self.whole({name: values[number == n] for name, values in columns.items()})) for n in (0, 1)
        ]

    def whole(self, columns: dict[str, Any]) -> Result:
        """What a table of its own would give: sums over no rows are 0, where in one job they are left out."""
        names, *rows = told(columns)
        keys = any(name.startswith("f") for name in columns)
        return [names, *(rows if rows or keys else [(0,) * len(names)])]

    def close(self) -> None:
        self.site.close()


def both() -> Table:
    d = table(False)
    more = table(True)
    held = {name: replace(held, values=(*held.values, *more[name].values)) for name, held in d.items()}
    numbers = ("0",) * len(d["u"].values) + ("1",) * len(more["u"].values)
    return {**held, DB: Held('{ type = "integer" }', "BIGINT", numbers)}


def outcome(site: Site, text: str) -> Outcome:
    try:
        return "answered", site.run(text)
    except Refused as refused:
        return "refused", refused.code


@pytest.fixture(scope="module")
def sides() -> Iterator[dict[str, Any]]:
    made: dict[str, Any] = {}
    yield made
    for one in made.values():
        one.close()


def side(kind: str, made: dict[str, Any]) -> Any:
    if kind not in made:
        made[kind] = (Together if kind == "spark" else Apart)(kind)
    return made[kind]


@pytest.mark.parametrize("name", PROBES)
@pytest.mark.parametrize("kind", SITES)
def test_one_row_more_changes_no_outcome(kind: str, name: str, sides: dict[str, Any]) -> None:
    found = side(kind, sides).outcomes(PROBES[name])
    assert [class_ for class_, _ in found] == ["refused" if name in REFUSED else "answered"] * 2
    assert found == side("duckdb", sides).outcomes(PROBES[name])
    if name in REFUSED:
        assert found[0] == found[1] == ("refused", REFUSED[name])


RAISING = "SELECT CAST(SUM(CAST(name AS BIGINT)) AS BIGINT) AS k FROM {}"
RELATION = {"duckdb": '"t"', "postgres": '"edges"."t"', "spark": "`t`"}


@pytest.mark.parametrize("kind", SITES)
def test_what_an_engine_says_of_its_own_errors_stays_with_it(
    kind: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Text that no plan would print: it raises, and the engine's own message names the value."""
    site = SITES[kind](table(True))
    caplog.set_level(logging.DEBUG)
    for run in (site.engine.run, site.engine.run_public):
        with pytest.raises((Failed, Refused)) as raised:
            run(RAISING.format(RELATION[kind]), timeout_s=60)
        assert getattr(raised.value, "code", "") == "engine_failure"
        assert EVE not in "".join(traceback.format_exception(raised.value)) + repr(raised.value.args)
    site.close()
    printed = capfd.readouterr()
    assert EVE not in printed.out + printed.err + caplog.text
