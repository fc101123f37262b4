"""What BI tools ask of tables by themselves: previews, samples and scans of values are refused for free, with a
hint.
"""

from __future__ import annotations

import pytest

from tests.wired import Raw, Wired, data, fields

ROWS = {
    "psql": "SELECT * FROM visits LIMIT 5",
    "DBeaver, data": "SELECT x.* FROM public.visits x LIMIT 200",
    "DBeaver, data with keys": "SELECT x.*,x.ctid FROM public.visits x",
    "Metabase, sample": '-- Metabase\nSELECT "public"."visits"."cost" AS "cost", "public"."visits"."clinic" AS "clinic"'
    ' FROM "public"."visits" LIMIT 10000',
    "Metabase, sample of texts": 'SELECT SUBSTRING("public"."people"."zip", 1, 1234) AS "substring1"'
    ' FROM "public"."people" LIMIT 10000',
    "Metabase, values": 'SELECT "public"."people"."zip" AS "zip" FROM "public"."people" GROUP BY '
    '"public"."people"."zip"'
    ' ORDER BY "public"."people"."zip" ASC LIMIT 1001',
    "Superset, preview": "SELECT * FROM public.visits LIMIT 100",
    "Superset, laboratory": "SELECT * FROM (SELECT * FROM visits) AS virtual_table LIMIT 1000",
    "Superset, values of a filter": "SELECT zip AS zip FROM public.people GROUP BY zip LIMIT 1000",
    "Tableau, rows": 'SELECT "visits"."cost" AS "cost" FROM "public"."visits" "visits" LIMIT 1000',
    "Tableau, any": 'SELECT 1 AS "one" FROM "public"."visits" "visits" HAVING (COUNT(1) > 0)',
    "Power BI, preview": 'select "$Table"."cost" as "cost" from "public"."visits" "$Table" limit 1000',
    "Power BI, table": 'select * from (select * from "public"."visits") "_" limit 1000',
    "Grafana, variable": "SELECT DISTINCT zip FROM people",
}
EMPTY = {
    "Metabase, may it be read": 'SELECT TRUE AS "_" FROM "public"."visits" WHERE 1 <> 1 LIMIT 0',
    "Tableau, columns": 'SELECT * FROM "public"."visits" "visits" WHERE (1 = 0)',
    "JDBC, columns": "SELECT * FROM visits LIMIT 0",
}


@pytest.mark.parametrize("tool", ROWS)
def test_rows_and_scans_of_values_are_refused_for_nothing_and_say_what_to_do(tool: str, ana: Raw, wired: Wired) -> None:
    before = wired.spent()
    told = ana.error(ROWS[tool])
    assert (told["S"], told["C"], told["R"]) == ("ERROR", "42501", "not_aggregate")
    assert told["H"].endswith("No budget was used.")
    assert "COUNT" in told["H"] or "aggregate" in told["H"] or "count" in told["H"]
    assert wired.spent() == before
    assert ana.rows("SELECT 1") == [["1"]], "the connection goes on"


@pytest.mark.parametrize("tool", EMPTY)
def test_probes_that_want_columns_alone_get_them_and_no_row(tool: str, ana: Raw, wired: Wired) -> None:
    before = wired.spent()
    found = ana.query(EMPTY[tool])
    assert [fields(body)["M"] for kind, body in found if kind == b"E"] == []
    assert b"T" in {kind for kind, _ in found}
    assert data(found) == []
    assert wired.spent() == before


def test_a_sample_of_rows_is_refused_for_nothing(ana: Raw, wired: Wired) -> None:
    before = wired.spent()
    told = ana.error("SELECT * FROM public.visits TABLESAMPLE SYSTEM (1)")
    assert (told["C"], told["R"]) == ("0A000", "unsupported_construct")
    assert wired.spent() == before


def test_values_that_are_declared_are_told_for_nothing(ana: Raw, wired: Wired) -> None:
    before = wired.spent()
    assert len(ana.rows('SELECT DISTINCT "clinic" FROM public.visits LIMIT 1000')) > 2
    assert wired.spent() == before
