"""The shadow catalogue: what it tells, what it never tells, and how it stands what strangers ask of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.errors import Refused
from obverse.server.pg_catalog import catalog, rewrite
from obverse.server.pg_catalog.catalog import Keeper, Shadow
from obverse.server.pg_catalog.relations import FIRST, LAST, Declared, oids
from obverse.server.pg_catalog.rewrite import read, rewritten
from tests.effort import Ruler, effort, ruler
from tests.unit.server.pg_catalog.conftest import VIEWS, WHO
from tests.unit.server.pg_catalog.tool_queries import TOOLS

Ask = Callable[..., tuple[list[str], list[tuple[Any, ...]]]]
ALL = [(tool, name, text) for tool, named in TOOLS.items() for name, text in named.items()]
ASKED = [asked for asked in ALL if asked[2].split()[0] not in ("SHOW", "SET")]


@given(st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=50))
def test_oids_are_those_of_names_apart_and_of_users(names: list[str]) -> None:
    found = oids(names)
    assert found == oids(names[::-1])
    assert len(set(found.values())) == len(names)
    assert all(FIRST <= oid < LAST for oid in found.values())


def test_oids_stay_what_they_were() -> None:
    """Tools keep them: these are the ones of the first release."""
    assert oids(["visits", "people"]) == {"people": 1456788955, "visits": 301696248}


@pytest.mark.parametrize(("tool", "name", "text"), ASKED, ids=[f"{tool}: {name}" for tool, name, _ in ASKED])
def test_what_tools_ask_on_connecting_is_answered(tool: str, name: str, text: str, shadow: Shadow, ask: Ask) -> None:
    assert shadow.answers(text)
    names, rows = ask(text)
    assert names
    assert all(len(row) == len(names) for row in rows)


@pytest.mark.parametrize("name", ["'obverse.epsilon'", "'Obverse.Epsilon'", "'obverse.' || 'epsilon'"])
def test_a_price_is_not_said_to_be_set_by_a_function_that_sets_none(name: str, ask: Ask) -> None:
    with pytest.raises(Refused) as refused:
        ask(f"SELECT set_config({name}, '0.01', false)")
    assert refused.value.code == "catalogue_function"
    assert ask("SELECT set_config('search_path', '', false)")[1] == [("",)]


@pytest.mark.parametrize("name", ["duckdb_databases", "sqlite_master", "duckdb_columns", "pragma_database_list"])
def test_a_name_of_with_reaches_nothing_where_with_does_not(name: str, ask: Ask) -> None:
    inner = f"(WITH {name} AS (SELECT 1 AS one) SELECT {name}.one FROM {name})"
    assert ask(f"SELECT a.one FROM {inner} AS a") == (["one"], [(1,)])
    with pytest.raises(Refused):
        ask(f"SELECT b.* FROM {inner} AS a, {name} AS b")


def test_names_of_with_hide_relations_and_are_found_in_either_case(ask: Ask) -> None:
    text = "WITH a AS (SELECT 1 AS x), B AS (SELECT x + 1 AS y FROM A) SELECT b.y, t.x FROM b JOIN a AS t ON t.x < B.y"
    assert ask(text) == (["y", "x"], [(2, 1)])
    assert ask('WITH "A b" AS (SELECT 3 AS z) SELECT "A b".z FROM "A b"') == (["z"], [(3,)])
    assert ask("WITH t(p, q) AS (SELECT 1, 2) SELECT q FROM t") == (["q"], [(2,)])


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("relation", "SELECT datname FROM pg_database"),
        ("relation", "SELECT 1 FROM (SELECT * FROM duckdb_settings) AS a"),
        ("_identity", "SELECT version()"),
        ("_identity", "SELECT current_setting('threads')"),
        ("_identity", "SELECT current_database()"),
        ("_identity", "SELECT upper(current_user)"),
    ],
)
def test_what_a_step_leaves_as_it_was_is_refused(
    step: str, text: str, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine has relations and functions of the same names: whatever is not ours at the end is not asked."""
    monkeypatch.setattr(rewrite, step, lambda node, *_: node)
    with pytest.raises(Refused) as refused:
        ask(text)
    assert refused.value.code in ("catalogue_relation", "catalogue_function")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT x.current_setting('threads')", None), ("SELECT format('%s', current_setting('threads'))", None),
        ("SELECT format('%s', x.current_setting('threads'))", None), ("SELECT x.current_database()", "hospital"),
        ("SELECT set_config('a', current_setting('threads'), false)", None), ("SELECT x.version()", "PostgreSQL 15.0"),
        ("SELECT format('%s %s', current_user, format('%s', current_database()))", "ana hospital"),
        ("SELECT * FROM coalesce((SELECT string_agg(datname, ',') FROM pg_catalog.pg_database), 'x') AS a", "hospital"),
        ("SELECT * FROM coalesce((SELECT max(name) FROM pg_settings WHERE name = 'threads'), 'none') AS a", "none"),
    ],
)  # fmt: skip
def test_the_engine_s_own_catalogue_and_settings_are_not_reached(text: str, told: str | None, ask: Ask) -> None:
    """However deep they are asked for: what is put in another's place is read like all else."""
    assert ask(text)[1] == [(told,)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT pg_wonder('eve', 1977), relname FROM pg_class", "pg_wonder ( ? , ? ) , relname FROM pg_class"),
        ("SELECT 'eve'::int, E'e\\'ve', $$eve$$, 19.77e1 /* eve */ AS \"eve\"", "SELECT ? : : int , ? , ? , ? AS ?"),
    ],
)
def test_what_is_not_answered_is_logged_without_literals(
    text: str, told: str, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(Refused):
        ask(text)
    assert told in caplog.text
    assert "eve" not in caplog.text
    assert "77" not in caplog.messages[-1]


def test_tools_find_the_declared_tables_and_columns(ask: Ask) -> None:
    names, rows = ask(TOOLS["Metabase"]["tables"])
    assert names == ["schema", "name", "type", "description", "estimated_row_count"]
    assert [(row[0], row[1], row[2], row[4]) for row in rows] == [
        ("public", name, "TABLE", None) for name in ('o"dd', "people", "visits")
    ]
    _, rows = ask(TOOLS["Metabase"]["fields"])
    assert [(row[0], row[1], row[6]) for row in rows if row[4] == "visits"][:2] == [
        ("visit_id", "int8", None), ("cost", "float8", "0 to 10000"),
    ]  # fmt: skip
    assert ask(TOOLS["Grafana"]["tables"])[1] == [("visits",), ("people",), ('"o""dd"',)]
    assert {"_bool", "_int8", "_text"} <= {row[2] for row in ask(TOOLS["Npgsql"]["types"])[1] if row[3] == "a"}
    assert ask(TOOLS["DBeaver"]["indexes"])[1] == []
    assert [row[1] for row in ask(TOOLS["pgAdmin"]["roles"])[1]] == ["ana"]


def test_who_asks_and_where_is_told_as_it_is(ask: Ask) -> None:
    told = "current_user, current_database(), current_schema(), pg_backend_pid(), current_setting('TimeZone')"
    _, rows = ask(f"SELECT {told}")
    assert rows == [("ana", "hospital", "public", 7, "UTC")]
    assert ask("SELECT version()")[1][0][0].startswith("PostgreSQL 15.0 (Obverse ")
    named = ["count", "?column?", "text", "bool", "case"]
    assert ask("SELECT count(*), 1 + 1, 'a'::text, true, CASE WHEN true THEN 1 END")[0] == named
    assert ask("SELECT relname FROM pg_class WHERE oid = $1::regclass", "visits")[1] == [("visits",)]
    assert ask("SELECT 'visits'::regclass::oid, 301696248::regclass, to_regclass('none')")[1] == [
        (301696248, "visits", None)
    ]


def test_nothing_is_told_of_sizes_others_and_statistics(ask: Ask) -> None:
    assert ask("SELECT DISTINCT reltuples, relpages, pg_relation_size(oid) FROM pg_class")[1] == [(-1.0, 0, None)]
    for empty in "pg_stats pg_stat_activity pg_stat_user_tables pg_locks pg_index pg_constraint pg_policies".split():
        assert ask(f"SELECT * FROM {empty}")[1] == []
    assert ask("SELECT datname FROM pg_database")[1] == [("hospital",)]
    assert sorted(ask("SELECT rolname FROM pg_roles")[1]) == [("ana",), ("obverse",)]


def test_names_and_types_of_a_table_are_told_without_rows(shadow: Shadow, ask: Ask) -> None:
    text = "SELECT * FROM visits LIMIT 0"
    assert shadow.answers(text)
    assert ask(text) == (["visit_id", "cost", "at", "clinic"], [])
    for condition in ("1 = 0", "false", "(1 <> 1)"):
        assert shadow.answers(f"SELECT cost FROM public.visits WHERE {condition}")
        assert ask(f"SELECT cost FROM public.visits WHERE {condition}") == (["cost"], [])
        assert not shadow.answers(f"SELECT COUNT(*) FROM visits WHERE {condition}")
    for condition in ("1 = 1", "'1' = 0", "cost = 0", "true"):
        assert not shadow.answers(f"SELECT cost FROM visits WHERE {condition}")
    assert not shadow.answers("SELECT * FROM visits LIMIT 1")
    assert not shadow.answers("SELECT * FROM visits")
    assert not shadow.answers("SELECT COUNT(*) FROM visits, people")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits, pg_class",
        "SELECT COUNT(*) FROM visits WHERE clinic IN (SELECT relname FROM pg_catalog.pg_class)",
        "WITH a AS (SELECT * FROM visits) SELECT * FROM a, information_schema.tables",
        "SELECT * FROM visits JOIN pg_type ON true LIMIT 0",
        "SELECT relname FROM pg_class UNION SELECT clinic FROM visits",
    ],
)  # fmt: skip
def test_the_catalogue_is_not_mixed_with_tables(text: str, shadow: Shadow) -> None:
    with pytest.raises(Refused) as refused:
        shadow.answers(text)
    assert refused.value.code == "catalogue_mixed"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT * FROM pg_catalog.pg_nothing", "catalogue_relation"),
        ("SELECT 'none'::regclass", "catalogue_relation"),
        ("SELECT * FROM read_csv('/etc/passwd')", "catalogue_function"),
        ("SELECT getenv('HOME')", "catalogue_function"),
        ("SELECT * FROM duckdb_settings()", "catalogue_function"),
        ("SELECT pg_sleep(9)", "catalogue_function"),
        ("SELECT repeat('x', 1000000000)", "catalogue_function"),
        ("SELECT pg_read_file('/etc/passwd')", "catalogue_function"),
        ("SELECT * FROM query('select 1')", "catalogue_function"),
        ("SELECT range(1000000000)", "catalogue_function"),
        ("SELECT lpad('x', 1000000000, 'x')", "catalogue_function"),
        ("SELECT 'none'::regtype", "catalogue_type"),
        ("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT 1 FROM a) SELECT * FROM a", "catalogue_unanswered"),
        ("SELECT nothing FROM pg_class", "catalogue_unanswered"),
        ("SELECT 1 INTO x", "catalogue_unanswered"),
        ("SELECT format('%9999999d', 1)", "catalogue_function"),
        ("SELECT $1", "bad_parameter"),
        ("SELECT generate_series(1, 5, 0)", "catalogue_function"),
        ("SELECT 1 FROM pg_class FOR UPDATE", "catalogue_unanswered"),
    ],
)
def test_what_is_not_listed_is_refused(text: str, code: str, ask: Ask) -> None:
    with pytest.raises(Refused) as refused:
        ask(text)
    assert refused.value.code == code
    assert "duckdb" not in str(refused.value).replace("duckdb_settings", "").lower()


BOMBS = {
    "rows": "SELECT 1 FROM " + ", ".join(f"pg_type t{n}" for n in range(8)),
    "counted": "SELECT count(*) FROM " + ", ".join(f"pg_type t{n}" for n in range(8)),
    "doubled": "SELECT length(a) FROM "
    + "(SELECT a || a AS a FROM " * 40
    + "(SELECT 'xxxxxxxxxxxxxxxx' AS a) t"
    + ") t" * 40,
    "replaced": "SELECT " + "replace(" * 12 + "'aaaaaaaaaa'" + ", 'a', 'aaaaaaaaaa')" * 12,
    "gathered": "SELECT string_agg(a.typname || b.typname || c.typname, ',') FROM pg_type a, pg_type b, pg_type c, "
    "pg_type d",
    "listed": "SELECT array_agg(a.oid) FROM pg_type a, pg_type b, pg_type c, pg_type d",
    "series": "SELECT count(*) FROM " + ", ".join(f"generate_series(1, 1000000000) {name}" for name in "abc"),
    "wide": "SELECT " + ", ".join(["a.typname || b.typname || 'xxxxxxxxxxxxxxxxxx'"] * 900) + " FROM pg_type a, "
    "pg_type b",
}


@pytest.fixture(scope="module")
def share() -> Iterator[Ruler]:
    with ruler() as made:
        yield made


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_end_with_the_process_that_they_are_in(
    bomb: str, ask: Ask, share: Ruler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seconds count by the share of them in which a process that wants a processor has one."""
    monkeypatch.setattr(catalog, "LIMIT_S", 0.7)
    share.measure_from(began := time.monotonic())
    with pytest.raises(Refused) as refused:
        ask(BOMBS[bomb])
    took = time.monotonic() - began
    assert refused.value.code in ("catalogue_too_slow", "catalogue_unanswered", "too_complex")
    assert took * share.until_now() < 5
    monkeypatch.undo()
    assert ask("SELECT 1")[1] == [(1,)]


def test_a_process_that_died_is_started_again(shadow: Shadow, ask: Ask) -> None:
    process = shadow._keeper._process
    assert process is not None
    process.kill()
    process.wait()
    assert ask("SELECT 1")[1] == [(1,)]


def test_the_process_can_reach_nothing() -> None:
    """Even the text of a query, which no analyst can send, opens no file and starts nothing."""
    kept = Keeper([("CREATE SCHEMA x", [])])
    try:
        for sql in (
            "FROM read_csv('/etc/passwd')",
            "COPY (SELECT 1) TO '/tmp/a.csv'",
            "INSTALL httpfs",
            "ATTACH '/tmp/a.db'",
        ):
            assert kept.ask(sql)["error"] in (
                "PermissionException",
                "IOException",
                "CatalogException",
                "BinderException",
            )
        assert kept.ask("SET threads = 4")["error"] == "InvalidInputException"
        assert kept.ask("SELECT 1 AS a") == {"columns": [["a", "INTEGER"]], "rows": [[1]]}
    finally:
        kept.close()
    with pytest.raises(Refused) as refused:
        kept.ask("SELECT 1")
    assert refused.value.code == "catalogue_unanswered"


def test_texts_are_read_in_time_that_grows_no_faster_than_they_do() -> None:
    """What is nested a hundred times, or lists a thousand tables, is printed at once."""
    declared = Declared(oids(["visits"]))
    nested = "SELECT " + "(" * 30 + "oid" + "::text)::regclass" * 30 + " FROM pg_class"
    many = "SELECT 1 FROM " + ", ".join(f"pg_class t{n}" for n in range(900)) + " WHERE false"
    for text in (nested, many):
        tree = read(text)
        assert tree is not None
        with effort() as spent:
            assert len(rewritten(tree, WHO, declared)) < 40 * len(text)
        assert spent.cpu_s < 1.5


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="SELECT pg_class.oid'\"::regclass()[],*=~ 1$ANYFROM\n", max_size=60))
def test_any_text_is_answered_or_refused(text: str) -> None:
    with suppress(Refused):
        SHADOWLESS.answers("SELECT " + text)


class _Shadowless(Shadow):
    """Only what reads texts, without a process."""

    def __init__(self) -> None:
        self._declared = Declared(oids([view.name for view in VIEWS]))
        self._threads = ThreadPoolExecutor(1)


SHADOWLESS = _Shadowless()
