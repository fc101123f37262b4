"""The protocol on bytes: starts, logins, simple and extended queries, errors, cancels, limits."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import NoReturn

import pytest

from obverse.core.errors import InvariantBroken, LedgerError, Refused
from obverse.curator import accounts
from obverse.ledger.ledger import ChainLedger
from obverse.server.errors import NotSignedIn
from obverse.server.pg_catalog import catalog
from obverse.server.postgres import messages as messages_module
from obverse.server.postgres import portals as portals_module
from obverse.server.postgres import server
from obverse.server.postgres import types as v
from obverse.server.postgres.errors import SQLSTATES, error_fields, sqlstate, unforeseen
from obverse.server.postgres.server import Caps
from obverse.server.queries import Caller, Desk, Wanted
from obverse.server.rate_limits import Buckets
from tests.wired import (
    COUNT,
    SYNC,
    Client,
    Raw,
    Wired,
    bind,
    cells,
    columns,
    counted,
    data,
    describe,
    execute,
    fields,
    first,
    frame,
    kinds,
    parse,
    sqlstates,
    tag,
    texts,
)

STANDING = partial(Buckets, clock=lambda: 0.0)  # time stands still, however long a machine takes


def refusals(messages: list[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """States and codes of the errors among messages."""
    told = [fields(body) for kind, body in messages if kind == b"E"]
    return [(one["C"], one["R"]) for one in told]


def test_a_start_tells_settings_a_key_and_the_budget(wired: Wired) -> None:
    with Raw(wired.port) as client:
        found = client.sign_in("ana", wired.tokens["ana"])
        told = dict(body[:-1].decode().split("\0") for kind, body in found if kind == b"S")
        assert {"server_version", "client_encoding", "DateStyle", "standard_conforming_strings", "TimeZone"} <= set(
            told
        )
        assert (told["client_encoding"], told["session_authorization"]) == ("UTF8", "ana")
        assert len(client.key) == 8
        assert "answers carry differential-privacy noise; budget " in client.notices[0]
        assert found[-1] == (b"Z", b"I")


def test_a_newer_minor_version_is_talked_down(wired: Wired) -> None:
    with Raw(wired.port) as client:
        client.startup(version=196610)
        kind, body = client.message()
        assert (kind, body) == (b"v", struct.pack("!II", 0, 0))
        assert client.message()[0] == b"R"


def test_the_price_is_told_with_the_answer_and_again_is_free(wired: Wired, ana: Raw) -> None:
    text = "SELECT COUNT(*) FROM people WHERE age > 11"
    before = wired.charges()
    found = ana.query(text)
    assert kinds(found) == "TDNCZ"
    assert (columns(found), tag(found)) == ([("count", v.INT8)], "SELECT 1")
    assert "cost epsilon 0.1; " in ana.notices[-1]
    assert "Same question again is free" in ana.notices[-1]
    again = ana.query(text)
    assert data(again) == data(found)
    assert "asked before, free this time" in ana.notices[-1]
    assert wired.charges() == before + 1


def test_a_refusal_has_its_state_reason_hint_and_place(wired: Wired, ana: Raw) -> None:
    before = wired.charges()
    told = ana.error("SELECT * FROM people LIMIT 5")
    assert (told["S"], told["C"], told["R"], told["P"]) == ("ERROR", "42501", "not_aggregate", "8")
    assert told["M"] == "rows of people cannot be shown, only aggregates."
    assert told["H"].endswith("No budget was used.")
    assert ana.error("SELECT DISTINCT zip FROM people")["C"] == "42501"
    assert ana.error("SELECT COUNT(*) FROM nowhere")["C"] == "42P01"
    assert ana.error("SELECT SUM(nothing) FROM people")["C"] == "42703"
    assert ana.error("SELECT nothing(age) FROM people")["C"] == "42883"
    assert ana.error("SELEC 1")["C"] in ("42601", "42501")
    assert ana.error("SELECT COUNT(*) FROM people WHERE")["C"] == "42601"
    assert ana.error("COPY people TO STDOUT")["C"] == "42501"
    assert ana.error("LISTEN x")["C"] == "0A000"
    assert wired.charges() == before


def test_a_budget_that_is_spent_has_its_state(wired: Wired) -> None:
    with wired.login("ben") as ben:
        ben.query("SET obverse.epsilon = 0.5")
        told = ben.error(COUNT)
        assert told["C"] == "53400"
        assert told["H"].endswith("No budget was used.")


def test_settings_price_a_question(wired: Wired, ana: Raw) -> None:
    found = ana.query("SET obverse.epsilon = 0.25; SELECT COUNT(*) FROM people WHERE age > 13")
    assert kinds(found) == "CTDNCZ"
    assert "cost epsilon 0.25; " in ana.notices[-1]
    assert ana.rows("SHOW obverse.epsilon") == [["0.25"]]
    ana.query("RESET ALL")
    assert ana.rows("SHOW obverse.epsilon") == [[""]]
    assert ana.rows("SHOW TimeZone") == [["UTC"]]
    changed = ana.query("SET application_name = 'me'")
    assert (b"S", b"application_name\0me\0") in changed


def test_a_setting_names_the_purpose_of_a_question(ana: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Wanted] = []

    async def ask(self: Desk, caller: Caller, wanted: Wanted) -> NoReturn:
        asked.append(wanted)
        raise Refused("purpose_not_allowed", "not for this purpose.")

    monkeypatch.setattr(Desk, "ask", ask)
    ana.query("SET obverse.purpose = 'quality'")
    assert ana.error(COUNT)["R"] == "purpose_not_allowed"
    ana.query("RESET obverse.purpose")
    ana.error(COUNT)
    assert [one.purpose for one in asked] == ["quality", ""]


def test_explain_tells_the_price_and_spends_nothing(wired: Wired, ana: Raw) -> None:
    before = wired.charges()
    lines = [row[0] or "" for row in ana.rows("EXPLAIN SELECT sex, COUNT(*) FROM people GROUP BY sex")]
    assert lines[0].startswith("would cost epsilon 0.1 (0.1 % of the budget)")
    assert "+- 29" in lines[1] or "+- 30" in lines[1]
    assert ana.rows("EXPLAIN SELECT relname FROM pg_class") == [["free: answered from the catalogue alone"]]
    assert ana.error("EXPLAIN SELECT * FROM people")["C"] == "42501"
    assert wired.charges() == before


def test_a_question_for_no_row_tells_its_columns_and_costs_nothing(wired: Wired, ana: Raw) -> None:
    """Tools ask so for names and types."""
    before = wired.charges()
    asked = "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM people GROUP BY sex"
    told = ana.query(f"{asked} LIMIT 0;")
    assert columns(told) == [("sex", v.TEXT), ("n", v.INT8), ("a", v.FLOAT8)]
    assert (tag(told), data(told)) == ("SELECT 0", [])
    assert ana.rows(f"EXPLAIN {asked} LIMIT 0") == [["free: it asks for no row"]]
    assert ana.error("SELECT zip FROM (SELECT COUNT(*) AS n FROM people) AS a LIMIT 0")["R"] == "unit_lost"
    assert wired.charges() == before
    ana.query(f"{asked} LIMIT 10")
    assert wired.charges() == before + 1


def test_intervals_are_columns_and_cost_nothing_more(wired: Wired, ana: Raw) -> None:
    plain = ana.rows("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    before = wired.charges()
    found = ana.query("SELECT sex, COUNT(*) AS n, obverse_low(n) AS lo, obverse_high(n) FROM people GROUP BY sex")
    assert [name for name, _ in columns(found)] == ["sex", "n", "lo", "obverse_high"]
    rows = data(found)
    assert [row[:2] for row in rows] == plain
    assert all(int(row[2] or "") < int(row[1] or "") < int(row[3] or "") for row in rows)
    ana.query("SET obverse.intervals = on")
    assert data(ana.query("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")) == rows
    assert wired.charges() == before
    before = wired.spent()
    told = ana.error("SELECT COUNT(*) AS n, obverse_low(m) FROM people WHERE age > 17")
    assert told["C"] == "42703"
    assert told["H"].endswith("No budget was used.")
    assert wired.spent() == before  # as it says
    assert ana.error("SELECT COUNT(*) AS n FROM people WHERE obverse_low(n) > 1")["C"] == "42883"


def test_a_price_that_is_set_for_a_message_alone_or_by_one_that_fails_is_not_kept(ana: Raw) -> None:
    """As PostgreSQL does: else the next question would cost what nobody meant it to."""
    shown = "SHOW obverse.epsilon"
    ana.query("SET LOCAL obverse.epsilon = 7")
    assert ana.rows(shown) == [[""]]
    assert ana.rows(f"SET LOCAL obverse.epsilon = 7; {shown}") == [["7"]]
    assert ana.rows(shown) == [[""]]
    ana.error("SET obverse.epsilon = 7; SELECT * FROM people")
    assert ana.rows(shown) == [[""]]
    ana.send(parse("SET LOCAL obverse.epsilon = 7") + bind() + execute() + SYNC)
    ana.until()
    assert ana.rows(shown) == [[""]]
    ana.send(parse("SET obverse.epsilon = 7") + bind() + execute() + execute("nowhere") + SYNC)
    assert "E" in kinds(ana.until())
    assert ana.rows(shown) == [[""]]
    ana.query("BEGIN; SET obverse.epsilon = 0.3; COMMIT")
    ana.error("SET obverse.epsilon = 7; SELECT * FROM people")
    assert ana.rows(shown) == [["0.3"]]


@pytest.mark.parametrize(
    "said",
    [
        "BEGIN; SET LOCAL obverse.epsilon = 0.2; SET obverse.epsilon = 0.3; COMMIT",
        "BEGIN; SET LOCAL obverse.epsilon = 0.2; SET obverse.epsilon = 0.3; SET LOCAL obverse.epsilon = 0.4; COMMIT",
        "BEGIN; SAVEPOINT s; SET LOCAL obverse.epsilon = 0.2; ROLLBACK TO s; SET obverse.epsilon = 0.3; COMMIT",
        "BEGIN; SET obverse.epsilon = 0.3; SAVEPOINT s; SET LOCAL obverse.epsilon = 0.2; ROLLBACK TO s; COMMIT",
        "SET obverse.epsilon = 0.3; BEGIN; SET LOCAL obverse.epsilon = 0.2; SAVEPOINT s; SET obverse.epsilon = 5; "
        "ROLLBACK TO s; COMMIT",
    ],
)
def test_a_price_that_was_set_outlasts_its_block_and_one_for_the_block_does_not(said: str, ana: Raw) -> None:
    """As PostgreSQL has it."""
    for one in said.split("; "):
        assert "E" not in kinds(ana.query(one))
    assert ana.rows("SHOW obverse.epsilon") == [["0.3"]]


def test_formats_that_do_not_fit_are_refused_before_the_debit(wired: Wired, ana: Raw) -> None:
    before = wired.charges()
    formats = frame(b"B", texts("", "") + struct.pack("!HHHHH", 0, 0, 2, 0, 0))  # two, and there is one column
    for told in (b"", describe("S")):
        ana.send(parse("SELECT COUNT(*) AS n FROM people WHERE age > 18") + told + formats + execute() + SYNC)
        (refused,) = [fields(body) for kind, body in ana.until() if kind == b"E"]
        assert (refused["C"], refused["H"], wired.charges()) == ("08P01", "No budget was used.", before)


@pytest.mark.parametrize("target", ["S", "P"])
def test_columns_that_a_setting_changed_are_refused_before_the_debit(target: str, wired: Wired, ana: Raw) -> None:
    before = wired.charges()
    text = f"SELECT COUNT(*) AS n FROM people WHERE age > $1 AND '{target}' = '{target}'"
    given = (struct.pack("!q", 17),)
    begun = parse(text, "s") + bind(given, "s", "p", (1,)) + describe(target, "s" if target == "S" else "p")
    ana.query("BEGIN")
    ana.send(begun + SYNC)
    assert "T" in kinds(ana.until())
    ana.query("SET obverse.intervals = on")
    if target == "S":
        ana.send(bind(given, "s", "q", (1,)) + execute("q") + SYNC)
    else:
        ana.send(execute("p") + SYNC)
    (told,) = [fields(body) for kind, body in ana.until() if kind == b"E"]
    assert (told["C"], told["R"], wired.charges()) == ("0A000", "RevalidateCachedQuery", before)  # "columns_changed"
    ana.query("ROLLBACK")


@pytest.mark.parametrize("between", ["", "SET application_name = x;", "SET application_name = x; RESET timezone;"])
def test_settings_after_a_question_do_not_make_it_free(between: str, wired: Wired, ana: Raw) -> None:
    before = wired.charges()
    told = ana.error(f"SELECT COUNT(*) AS n FROM people WHERE age > {70 + len(between)}; {between} SET nowhere = 1")
    assert (told["R"], wired.charges()) == ("unknown_setting", before + 1)
    assert "No budget" not in told["H"]


def test_extended_queries_describe_bind_and_execute(wired: Wired, ana: Raw) -> None:
    text = "SELECT sex, COUNT(*) AS n, AVG(salary) FROM people WHERE age > $1 AND joined > $2 GROUP BY sex"
    ana.send(parse(text, "s") + describe("S", "s") + SYNC)
    found = ana.until()
    assert kinds(found) == "1tTZ"
    assert found[1][1] == struct.pack("!HII", 2, v.INT8, v.DATE)
    assert columns(found) == [("sex", v.TEXT), ("n", v.INT8), ("avg", v.FLOAT8)]
    since = (dt.date(2012, 1, 1) - dt.date(2000, 1, 1)).days
    given = (struct.pack("!q", 17), struct.pack("!i", since))
    ana.send(bind(given, "s", formats=(1,), shown=1) + describe() + execute() + SYNC)
    answered = ana.until()
    assert kinds(answered) == "2TDDDNCZ"
    binary = [list(cells(body)) for kind, body in answered if kind == b"D"]
    ana.send(bind((b"17", b"2012-01-01"), "s") + execute() + SYNC)
    plain = data(ana.until())
    assert [(row[0], struct.unpack("!q", row[1] or b"")[0]) for row in binary] == [
        ((row[0] or "").encode(), int(row[1] or "")) for row in plain
    ]


def test_a_value_is_one_literal_whatever_it_holds(wired: Wired, ana: Raw) -> None:
    before = wired.charges()
    ana.send(parse("SELECT COUNT(*) FROM people WHERE sex = $1") + bind((b"F' OR '1'='1",)) + execute() + SYNC)
    found = ana.until()
    assert kinds(found) == "12DNCZ"
    assert wired.charges() == before + 1
    ana.send(parse("SELECT COUNT(*) FROM people WHERE age > $1") + bind((b"x",)) + execute() + SYNC)
    assert sqlstates(ana.until()) == ["22P02"]


def test_an_error_skips_to_sync_and_a_pipeline_goes_on_after_it(ana: Raw) -> None:
    ana.send(parse("SELECT * FROM people") + bind() + execute() + parse(COUNT) + SYNC)
    ana.send(parse(COUNT) + bind() + execute() + SYNC)
    assert kinds(ana.until()) == "EZ"
    assert kinds(ana.until()) == "12DNCZ"


def test_portals_read_on_in_what_was_drawn_once(wired: Wired, ana: Raw) -> None:
    text = "SELECT sex, COUNT(*) AS n FROM people WHERE age > 21 GROUP BY sex"
    before = wired.charges()
    ana.query("BEGIN")
    ana.send(parse(text) + bind(portal="p") + execute("p", 2) + frame(b"H"))
    assert kinds(ana.until(b"s")) == "12DDNs"
    ana.send(execute("p", 2) + SYNC)
    assert kinds(ana.until()) == "DCZ"
    ana.query("COMMIT")
    ana.send(execute("p", 2) + SYNC)
    assert refusals(ana.until()) == [("34000", "no_such_portal")]
    assert wired.charges() == before + 1


def test_statements_and_portals_have_names_that_are_looked_after(ana: Raw) -> None:
    ana.send(parse("SELECT 1", "a") + parse("SELECT 2", "a") + SYNC)
    assert refusals(ana.until()) == [("42P05", "prepared_twice")]
    ana.send(bind(name="none") + SYNC)
    assert refusals(ana.until()) == [("26000", "no_such_prepared")]
    ana.send(frame(b"C", b"S" + texts("a")) + bind(name="a") + SYNC)
    assert kinds(ana.until()) == "3EZ"
    ana.send(parse("SELECT 1; SELECT 2") + SYNC)
    assert sqlstates(ana.until()) == ["42601"]
    ana.send(parse("") + bind() + describe() + execute() + SYNC)
    assert kinds(ana.until()) == "12nIZ"
    ana.query("BEGIN")
    ana.send(parse("SELECT 1") + bind(portal="p") + bind(portal="p") + SYNC)
    assert refusals(ana.until()) == [("42P03", "portal_twice")]
    ana.query("ROLLBACK")
    assert kinds(ana.query("")) == "IZ"
    assert kinds(ana.query(" ; ;")) == "IZ"
    ana.send(b"".join(parse("BEGIN", f"s{n}") for n in range(1_100)) + SYNC)
    assert refusals(ana.until()) == [("54000", "too_large")]
    assert ana.error("DEALLOCATE none")["C"] == "26000"
    assert tag(ana.query("DEALLOCATE ALL")) == "DEALLOCATE"


def test_a_defect_tells_nothing_of_itself(
    wired: Wired, ana: Raw, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for error in (InvariantBroken("42 rows of eve"), RuntimeError("42 rows of eve"), KeyError("eve")):

        async def broken(*arguments: object, error: Exception = error) -> object:
            raise error

        monkeypatch.setattr(wired.desk, "ask", broken)
        told = ana.error(COUNT)
        assert (told["C"], told["R"]) == ("XX000", "engine_failure")
        assert re.fullmatch("the question could not be finished; request [0-9a-f]{16}.", told["M"])
        assert "eve" not in str(told)
        assert "the charge stays" in told["D"]
    monkeypatch.setattr(wired.desk, "describe", broken)  # where nothing can have been charged, but nobody knows
    ana.send(parse("SELECT COUNT(*) FROM people WHERE age = 3") + SYNC)
    told = fields(next(body for kind, body in ana.until() if kind == b"E"))
    assert (told["C"], told["R"], told["M"]) == ("XX000", "engine_failure", "the question failed.")
    assert len(caplog.messages) == 4
    assert all("eve" not in said and ("not finished: " in said or "defect: " in said) for said in caplog.messages)


def test_rows_kept_to_be_read_in_parts_are_bounded(ana: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portals_module, "ROWS_HELD", 2)
    ana.query("BEGIN")
    ana.send(parse("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex") + bind(portal="p") + execute("p", 1) + SYNC)
    assert refusals(ana.until()) == [("54000", "too_large")]


def test_rows_that_were_read_to_the_end_are_not_kept(wired: Wired, ana: Raw) -> None:
    """In a block portals stay, and somebody may begin one for each of twenty large answers."""
    ana.query("BEGIN")
    ana.send(parse("SELECT clinic FROM clinics") + bind(portal="whole") + bind(portal="part"))
    ana.send(execute("whole") + execute("part", 1) + execute("whole") + SYNC)
    messages = ana.until()
    tags = [body[:-1].decode() for kind, body in messages if kind == b"C"]
    number = struct.unpack("!I", ana.key[:4])[0]
    portals = wired.serving.wire._dialogues[number][1]._held.portals
    held = {name: len(portal.found.rows) for name, portal in portals.items() if portal.found is not None}
    assert tags[0] != "SELECT 0"
    assert tags[1] == "SELECT 0", "read again from its end"
    assert held["whole"] == 0 < held["part"]


def test_a_ledger_that_fails_after_the_debit_is_told_as_any_failure(
    wired: Wired, ana: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unwritable(self: ChainLedger, receipt: object, answer: bytes) -> NoReturn:
        raise LedgerError("ledger_unwritable", "the disk is full", charged=True)

    monkeypatch.setattr(ChainLedger, "settle", unwritable)
    before = wired.charges()
    told = ana.error(f"{COUNT} WHERE age <> 17")
    assert wired.charges() == before + 1
    assert (told["C"], told["R"]) == ("XX000", "engine_failure")
    assert "the charge stays" in told["D"]
    assert "request" in told["M"]


def test_tables_that_are_declared_anew_are_shown(wired: Wired, ana: Raw) -> None:
    toml = wired.project / "obverse.toml"
    before = toml.read_text()
    toml.write_text(before.replace('zip = { type = "text" }\n', ""))
    try:
        ana.query("SELECT COUNT(*) FROM people WHERE age > 1")  # whoever asks next finds the project changed
        assert ["zip"] not in ana.rows("SELECT attname FROM pg_attribute")
    finally:
        toml.write_text(before)
    ana.query("SELECT COUNT(*) FROM people WHERE age > 1")
    assert ["zip"] in ana.rows("SELECT attname FROM pg_attribute")


def test_blocks_have_their_status(ana: Raw) -> None:
    assert ana.query("BEGIN")[-1] == (b"Z", b"T")
    ana.error("SELECT * FROM people")
    found = ana.query("SELECT 1")
    assert (sqlstates(found), found[-1]) == (["25P02"], (b"Z", b"E"))
    ended = ana.query("COMMIT")
    assert (tag(ended), ended[-1]) == ("ROLLBACK", (b"Z", b"I"))
    assert "there is no transaction in progress" in fields(ana.query("COMMIT")[0][1])["M"]


def test_a_message_that_is_wrong_inside_is_an_error_and_one_that_is_wrong_outside_the_end(
    wired: Wired, ana: Raw
) -> None:
    ana.send(frame(b"B", b"\0\0\0\1") + SYNC)
    assert sqlstates(ana.until()) == ["08P01"]
    ana.send(frame(b"Q", b"\xff\xfe\0"))
    assert sqlstates(ana.until()) == ["22021"]
    ana.send(frame(b"p", b"x") + SYNC)
    assert sqlstates(ana.until()) == ["08P01"]
    ana.send(b"?" + b"\0\0\0\4")
    assert (sqlstates(ana.until()), ana.closed()) == (["08P01"], True)
    with wired.login() as other:
        other.send(b"Q" + struct.pack("!I", 1 << 30))
        assert refusals(other.until()) == [("54000", "message_too_large")]
        assert other.closed()


def test_a_cancel_ends_the_wait_with_one_text(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question is held back here; whoever cancels it learns nothing of how far it was."""
    entered = asyncio.Event()
    asked = wired.desk.ask

    async def slow(*arguments: object) -> object:
        entered.set()
        await asyncio.sleep(30)
        return await asked(*arguments)  # type: ignore[arg-type]

    with wired.login() as client:
        monkeypatch.setattr(wired.desk, "ask", slow)
        client.send(frame(b"Q", texts(COUNT)))
        wired.call(entered.wait())
        with Raw(wired.port) as wrong:
            wrong.send(first(80877102, client.key[:4] + bytes(255 - sign for sign in client.key[4:])))
            assert wrong.closed()
        _, held = wired.serving.wire._dialogues[int.from_bytes(client.key[:4])]
        assert not held._cancelled
        with Raw(wired.port) as other:
            other.send(first(80877102, client.key))
            assert other.closed()  # no answer, whatever becomes of it
        told = fields(client.until()[0][1])
        monkeypatch.undo()
        assert (told["C"], told["R"]) == ("57014", "cancelled")
        assert told["D"] == "if the question was charged by then, it stays charged."
        assert "No budget" not in told["H"]
        assert client.rows("SELECT 1") == [["1"]]


@pytest.mark.parametrize("extended", [False, True])
def test_a_server_that_stops_sends_what_was_asked(
    wired: Wired, extended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was charged; and whoever only waits is sent away at once."""
    asked = threading.Event()
    go_on = threading.Event()
    honest = wired.desk.ask

    async def held(caller: Caller, wanted: Wanted) -> object:
        asked.set()
        await asyncio.to_thread(go_on.wait, 60)
        return await honest(caller, wanted)

    monkeypatch.setattr(wired.desk, "ask", held)
    monkeypatch.setattr(server, "LAST_S", 60.0)  # the machine may be slow
    other = wired.another()
    with wired.login(port=other.port) as client, wired.login(port=other.port) as idle:
        client.send(parse(COUNT) + bind() + execute() + SYNC if extended else frame(b"Q", texts(COUNT)))
        assert asked.wait(60)
        closing = asyncio.run_coroutine_threadsafe(other.close(), wired.loop)
        assert idle.closed()
        go_on.set()
        messages = client.until()
        assert messages[-1] == (b"Z", b"I")
        assert data(messages)
        assert client.closed()
        closing.result(60)


def test_an_account_that_is_revoked_is_cut_off_at_once(wired: Wired) -> None:
    issued = accounts.issue(wired.project, "tmp", "reviewer")
    wired.tokens["tmp"] = issued.token
    with wired.login("tmp") as client:
        assert client.error(COUNT)["C"] == "42501"  # a reviewer asks nothing
        accounts.revoke(wired.project, "tmp")
        found = client.query("SELECT relname FROM pg_class")
        assert (sqlstates(found), client.closed()) == (["28P01"], True)
    with Raw(wired.port) as client:
        assert sqlstates(client.sign_in("tmp", issued.token)) == ["28P01"]


@pytest.mark.parametrize("act", ["rotate", "revoke"])
def test_a_connection_ends_with_the_token_that_it_began_with(wired: Wired, act: str) -> None:
    """Whoever found a token keeps nothing of it once it was taken back, though the account lives on with another."""
    name = f"lost-{act}"
    found = accounts.issue(wired.project, name, "reviewer")
    kept = accounts.issue(wired.project, name, "reviewer").token
    wired.tokens[name] = found.token
    with wired.login(name) as client:
        assert client.rows("SELECT 1") == [["1"]]
        if act == "rotate":
            kept = accounts.rotate(wired.project, name).token
        else:
            accounts.revoke(wired.project, name, found.id)
        assert (sqlstates(client.query("SELECT relname FROM pg_class")), client.closed()) == (["28P01"], True)
    wired.tokens[name] = kept
    with wired.login(name) as client:
        assert client.rows("SELECT 1") == [["1"]]


def test_who_is_suspended_reads_no_catalogue_on_a_connection_that_is_open(wired: Wired) -> None:
    wired.tokens["out"] = accounts.issue(wired.project, "out", "reviewer").token
    with wired.login("out") as client:
        assert client.rows("SELECT relname FROM pg_class LIMIT 1")
        accounts.suspend(wired.project, "out", "test")
        assert client.error("SELECT relname FROM pg_class LIMIT 1")["R"] == "account_suspended"
        assert client.closed()


def test_somebody_suspended_is_told_so_after_the_password(wired: Wired) -> None:
    token = accounts.issue(wired.project, "sus", "reviewer").token
    accounts.suspend(wired.project, "sus", "test")
    with Raw(wired.port) as client:
        told = fields(client.sign_in("sus", token)[-1][1])
        assert (told["S"], told["C"], told["R"]) == ("FATAL", "28000", "account_suspended")


def logged_in(wired: Wired, user: str, database: str) -> tuple[bytes, dict[str, str]]:
    """The salt that a name is offered, and the error that a wrong password gives."""
    with Raw(wired.port) as client:
        client.startup(user, database)
        client.until(b"R")
        exchange = Client("wrong")
        client.send(frame(b"p", texts("SCRAM-SHA-256") + counted(exchange.first())))
        _, body = client.message()
        client.send(frame(b"p", exchange.final(body[4:])))
        return body.split(b"s=")[1], fields(client.message()[1])


def test_unknown_users_and_projects_look_like_known_ones(wired: Wired) -> None:
    known, stranger, elsewhere = (
        logged_in(wired, *who) for who in (("ana", "hospital"), ("nobody", "hospital"), ("ana", "none"))
    )
    assert known[1] == stranger[1] == elsewhere[1]
    assert known[1]["C"] == "28P01"
    assert len({known[0], stranger[0], elsewhere[0]}) == 3
    assert [logged_in(wired, "nobody", "hospital")[0], logged_in(wired, "ana", "none")[0]] == [
        stranger[0],
        elsewhere[0],
    ]


def test_a_project_that_cannot_be_opened_is_not_told_of_by_one_that_is_not_here(wired: Wired) -> None:
    toml = wired.project / "obverse.toml"
    whole = toml.read_text()
    expected = logged_in(wired, "ana", "none")[1]
    try:
        toml.write_text("nonsense")
        salts = [logged_in(wired, "ana", "none") for _ in range(2)]
    finally:
        toml.write_text(whole)
    assert [error for _, error in salts] == [expected, expected]
    assert salts[0][0] == salts[1][0]


def test_failed_logins_of_an_address_are_counted(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "Buckets", STANDING)
    serving = wired.another(caps=Caps(failures_per_minute=8))
    states = []
    for _ in range(4):
        with Raw(serving.port) as client:
            states += sqlstates(client.sign_in("ana", "wrong"))
    with Raw(serving.port) as client:
        client.startup()
        states += sqlstates(client.until(b"E"))
    assert states == ["28P01", "28P01", "53000", "53000", "53000"]
    wired.call(serving.close())


def test_texts_of_an_account_are_counted_by_their_length(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "Buckets", STANDING)
    serving = wired.another(caps=Caps(texts_per_minute=40))
    with wired.login(port=serving.port) as client:
        assert client.rows("SELECT 1") == [["1"]]
        found = [sqlstates(client.query("SELECT 1 -- " + "x" * 15_000)) for _ in range(4)]
        assert found == [[], [], ["53000"], ["53000"]]
    wired.call(serving.close())


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.005)


def test_one_who_asks_the_catalogue_slowly_keeps_few_waiting(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions are read all the while, and another's query of the catalogue waits for one of theirs, not for all."""
    go_on = threading.Event()
    asked = []
    honest = catalog.Keeper.ask

    def slow(self: catalog.Keeper, sql: str, *, describe: bool = False) -> object:
        asked.append(sql.split("'")[1])
        assert go_on.wait(60)
        return honest(self, sql, describe=describe)

    monkeypatch.setattr(catalog.Keeper, "ask", slow)
    with ExitStack() as stack:
        anas = [stack.enter_context(wired.login("ana")) for _ in range(4)]
        for one in anas:
            one.send(frame(b"Q", texts("SELECT 'ana' AS who")))
        ben, other = (stack.enter_context(wired.login("ben")) for _ in range(2))
        waiting = wired.serving.wire._shadows["hospital"].shadow._asker._work_queue
        until(lambda: bool(asked))
        assert tag(other.query("EXPLAIN SELECT COUNT(*) FROM people")) == "EXPLAIN"
        ben.send(frame(b"Q", texts("SELECT 'ben' AS who")))
        until(lambda: waiting.qsize() > 0)
        go_on.set()
        assert [data(one.until()) for one in (*anas, ben)] == [[["ana"]]] * 4 + [[["ben"]]]
    assert asked[:2] == ["ana", "ben"]


def test_connections_are_bounded(wired: Wired) -> None:
    serving = wired.another(caps=Caps(in_all=4, of_account=2, strangers=2, strangers_of_address=1))
    with Raw(serving.port), Raw(serving.port) as second:
        assert refusals([second.message()]) == [("53300", "too_many_connections")]
    wired.emptied(serving)
    with wired.login(port=serving.port), wired.login(port=serving.port), Raw(serving.port) as third:
        assert sqlstates(third.sign_in("ana", wired.tokens["ana"])) == ["53300"]
    wired.emptied(serving)
    with Raw(serving.port) as again:
        assert not sqlstates(again.sign_in("ana", wired.tokens["ana"]))
    wired.call(serving.close())


def test_who_is_slow_to_sign_in_or_to_go_on_is_let_go(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LOGIN_S", 0.2)
    with Raw(wired.port) as client:
        client.send(b"\0\0")
        assert client.closed()
    monkeypatch.undo()
    with wired.login() as client:
        monkeypatch.setattr(messages_module, "PATIENCE_S", 0.2)
        client.send(b"Q\0\0\1\0SELECT")
        assert client.closed()


def test_under_tls_everything_is_as_before(wired: Wired, certificate: ssl.SSLContext) -> None:
    serving = wired.another(ssl_context=certificate, tls_required=True)
    with Raw(serving.port) as client:
        client.send(first(80877104))
        assert client.exactly(1) == b"N"
        client.send(first(80877103))
        assert client.exactly(1) == b"S"
        client.secure()
        assert client.sign_in("ana", wired.tokens["ana"])[-1] == (b"Z", b"I")
        assert client.rows("SELECT 1") == [["1"]]
    with Raw(serving.port) as client:
        client.startup()
        told = fields(client.message()[1])
        assert (told["S"], told["C"], told["R"]) == ("FATAL", "28000", "tls_required")
        assert client.closed()
    wired.call(serving.close())


def test_bytes_slipped_in_before_tls_are_not_read_as_after_it(wired: Wired, certificate: ssl.SSLContext) -> None:
    serving = wired.another(ssl_context=certificate)
    with Raw(serving.port) as client:
        client.send(first(80877103) + first(196608, texts("user", "mallory") + b"\0"))
        assert fields(client.message()[1])["C"] == "08P01"
        assert client.closed()
    with Raw(wired.port) as client:  # no certificate: the client may go on without, on this machine
        client.send(first(80877103))
        assert client.exactly(1) == b"N"
    wired.call(serving.close())


def test_codes_have_states_of_five_signs_and_the_rest_by_class() -> None:
    assert all(len(state) == 5 and state.isalnum() and state.upper() == state for state in SQLSTATES.values())
    assert sqlstate(NotSignedIn()) == "28P01"
    told = error_fields(unforeseen())
    assert (told["C"], told["R"]) == ("XX000", "engine_failure")
    assert "stays charged" in told["D"]
    assert "No budget" not in told["H"]
