"""The corpus's misuse of the PostgreSQL protocol, one test for each line."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from obverse.server.postgres import server
from obverse.server.postgres.server import Caps
from tests.hostile.conftest import HERE
from tests.unit.server.pg_catalog.tool_queries import TOOLS
from tests.wired import (
    COUNT,
    SYNC,
    Raw,
    Wired,
    bind,
    columns,
    data,
    describe,
    execute,
    fields,
    first,
    frame,
    kinds,
    made,
    parse,
    served,
    sqlstates,
    tag,
    texts,
)

GROUPED = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


@pytest.fixture(autouse=True)
def home_of_the_test(home_of_the_run: None) -> None:
    """The server's threads open its ledger when they first need it, so all tests share one home."""


@pytest.fixture(scope="module")
def wired(home_of_the_run: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wired]:
    with served(made(tmp_path_factory.mktemp("wired") / "hospital")) as running:
        yield running


@pytest.fixture
def ana(wired: Wired) -> Iterator[Raw]:
    with wired.login() as client:
        yield client


def test_every_line_of_the_corpus_is_a_test_here() -> None:
    lines = map(json.loads, (HERE / "corpus.jsonl").read_text().splitlines())
    wanted = {line["id"] for line in lines if line["kind"] == "pgwire"}
    assert len(wanted) == 22
    assert wanted == set(re.findall(r"pgwire-\d{3}", Path(__file__).read_text()))


def test_without_tls_where_it_is_required_no_password_is_asked(wired: Wired) -> None:
    """pgwire-001"""
    serving = wired.another(tls_required=True)
    with Raw(serving.port) as client:
        client.startup()
        kind, body = client.message()
        assert (kind, fields(body)["S"], fields(body)["C"], fields(body)["R"]) == (
            b"E",
            "FATAL",
            "28000",
            "tls_required",
        )
        assert client.closed()
    wired.call(serving.close())


def test_encryption_by_gss_is_declined(wired: Wired) -> None:
    """pgwire-003"""
    with Raw(wired.port) as client:
        client.send(first(80877104))
        assert client.exactly(1) == b"N"
        assert client.sign_in("ana", wired.tokens["ana"])[-1] == (b"Z", b"I")


def test_a_start_that_says_to_be_huge_is_not_waited_for(wired: Wired) -> None:
    """pgwire-007"""
    with Raw(wired.port) as client:
        client.send(struct.pack("!I", 0x7FFFFFFF))
        assert sqlstates(client.until(b"E")) == ["08P01"]
        assert client.closed()


def test_a_message_shorter_than_its_length_ends_the_connection(ana: Raw) -> None:
    """pgwire-009"""
    ana.send(b"Q" + struct.pack("!I", 3))
    told = fields(ana.message()[1])
    assert (told["S"], told["C"], ana.closed()) == ("FATAL", "08P01", True)


def test_two_questions_in_one_message_are_refused_whole(wired: Wired, ana: Raw) -> None:
    """pgwire-010"""
    before = wired.charges()
    assert kinds(ana.query("SELECT 1; SELECT COUNT(*) FROM people")) == "EZ"
    assert kinds(ana.query("SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM visits")) == "EZ"
    assert wired.charges() == before


def test_more_parameters_than_anybody_has_are_refused(wired: Wired, ana: Raw) -> None:
    """pgwire-011"""
    ana.send(parse("SELECT 1") + frame(b"B", texts("", "") + struct.pack("!HH", 0, 65_535)) + SYNC)
    assert sqlstates(ana.until()) == ["54000"]
    many = (
        texts("", "") + struct.pack("!HH", 0, 70_000 & 0xFFFF) + struct.pack("!i", -1) * 70_000 + struct.pack("!H", 0)
    )
    ana.send(frame(b"B", many))
    assert sqlstates(ana.until(b"E")) == ["54000"]


def test_the_same_question_a_hundred_times_is_drawn_once(wired: Wired, ana: Raw) -> None:
    """pgwire-012"""
    before = wired.charges()
    asked = parse("SELECT COUNT(*) FROM people WHERE age > 41", "q")
    again = bind(name="q") + execute()
    ana.send(asked + again + SYNC)
    drawn = [row[0] for row in data(ana.until())]
    clients = [wired.login() for _ in range(9)]  # each answer waits for its tick
    for client in clients:
        client.send(asked + again * 11 + SYNC)
    drawn += [row[0] for client in clients for row in data(client.until())]
    assert (len(drawn), len(set(drawn))) == (100, 1)
    assert wired.charges() == before + 1
    for client in clients:
        client.close()


def test_reading_on_in_a_portal_draws_nothing_anew(wired: Wired, ana: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    """pgwire-013"""
    text = GROUPED.replace("people", "people WHERE age > 43")
    before = wired.charges()
    asked: list[object] = []
    ask = wired.desk.ask
    monkeypatch.setattr(wired.desk, "ask", lambda *arguments: asked.append(arguments) or ask(*arguments))
    ana.query("BEGIN")
    ana.send(parse(text) + bind(portal="p") + (execute("p", 1) * 4) + SYNC)
    paged = ana.until()
    assert len(asked) == 1
    assert kinds(paged) == "12DNsDsDsCZ"
    ana.query("COMMIT")
    assert data(paged) == ana.rows(text)
    assert wired.charges() == before + 1


def test_describing_tells_types_and_touches_nothing(wired: Wired, ana: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    """pgwire-014"""
    before = wired.charges()
    monkeypatch.setattr(wired.host.cage, "_call", lambda *arguments, **more: pytest.fail("a child was asked"))
    ana.send(parse(GROUPED, "d") + describe("S", "d") + bind(name="d") + describe("P") + SYNC)
    found = ana.until()
    assert kinds(found) == "1tT2TZ"
    assert columns(found) == [("sex", 25), ("n", 20)]
    assert wired.charges() == before


def test_copying_out_is_refused(ana: Raw) -> None:
    """pgwire-020"""
    assert ana.error("COPY people TO STDOUT")["C"] == "42501"
    assert ana.error("COPY (SELECT COUNT(*) FROM people) TO PROGRAM 'cat'")["C"] == "42501"


def test_copying_in_is_refused_and_what_comes_after_it_passed_over(ana: Raw) -> None:
    """pgwire-021"""
    assert ana.error("COPY people FROM STDIN")["C"] == "42501"
    ana.send(frame(b"d", b"1\tx\n") + frame(b"c"))
    assert ana.rows("SELECT 1") == [["1"]]


def test_functions_are_not_called_by_message(ana: Raw) -> None:
    """pgwire-022"""
    ana.send(frame(b"F", struct.pack("!IHHH", 1, 0, 0, 0)) + SYNC)
    assert sqlstates(ana.until()) == ["0A000"]


def test_no_encoding_but_utf8_is_spoken(wired: Wired, ana: Raw) -> None:
    """pgwire-025"""
    assert ana.error("SET client_encoding = 'SJIS'")["C"] == "22023"
    assert ana.error("SET NAMES 'GBK'")["C"] == "22023"
    ana.send(frame(b"Q", b"SELECT COUNT(*) FROM people WHERE sex = '\x95\x5c' OR 1=1 --'\0"))
    assert sqlstates(ana.until()) == ["22021"]
    with Raw(wired.port) as other:
        assert sqlstates(other.sign_in("ana", wired.tokens["ana"], client_encoding="SJIS")) == ["22023"]


def test_discarding_clears_the_session_and_not_the_ledger(wired: Wired, ana: Raw) -> None:
    """pgwire-026"""
    ana.query(COUNT)
    spent = wired.spent()
    ana.send(parse(COUNT, "kept") + SYNC)
    ana.until()
    ana.query("SET obverse.epsilon = 3")
    assert tag(ana.query("DISCARD ALL")) == "DISCARD ALL"
    assert ana.rows("SHOW obverse.epsilon") == [[""]]
    ana.send(bind(name="kept") + SYNC)
    assert sqlstates(ana.until()) == ["26000"]
    assert wired.spent() == spent


def test_the_catalogue_is_never_asked_of_the_engine(wired: Wired, ana: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    """pgwire-027"""
    monkeypatch.setattr(wired.host.cage, "_call", lambda *arguments, **more: pytest.fail("a child was asked"))
    for text in (
        "SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid ="
        " c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(visits)$' COLLATE pg_catalog.default",
        "SELECT tableoid, oid, nspname FROM pg_namespace",
        "SELECT table_name FROM information_schema.tables",
    ):
        assert ana.rows(text)
    assert ana.error("SELECT COUNT(*) FROM people, pg_class")["R"] == "catalogue_mixed"
    assert ana.error("LOCK TABLE public.people IN ACCESS SHARE MODE")["C"] == "42501"  # as pg_dump does


def test_a_flood_of_introspection_costs_nothing(wired: Wired, ana: Raw) -> None:
    """pgwire-028"""
    before = wired.spent()
    asked = [text for named in TOOLS.values() for text in named.values()]
    for _ in range(3):
        for text in asked:
            assert not sqlstates(ana.query(text)), text
    assert wired.spent() == before


def test_there_is_no_replication(wired: Wired) -> None:
    """pgwire-030"""
    for value in ("true", "database", "on"):
        with Raw(wired.port) as client:
            client.startup(replication=value)
            told = fields(client.message()[1])
            assert (told["S"], told["C"], told["R"]) == ("FATAL", "28000", "not_a_client")


def test_options_load_nothing(wired: Wired) -> None:
    """pgwire-031"""
    with Raw(wired.port) as client:
        assert sqlstates(client.sign_in("ana", wired.tokens["ana"], options="-c session_preload_libraries=x")) == [
            "42704"
        ]
    with wired.login(options="-c obverse.epsilon=0.5") as client:
        assert client.rows("SHOW obverse.epsilon") == [["0.5"]]


@pytest.mark.parametrize("user", ["an\0a", "a" * 65_536, "\u0430n\u0430", "ana ", "", "a" * 200])
def test_strange_names_do_not_get_in(wired: Wired, user: str) -> None:
    """pgwire-032"""
    with Raw(wired.port) as client:
        found = client.sign_in(user, wired.tokens["ana"])
        assert sqlstates(found)[0] in ("08P01", "28000", "28P01")


def test_connections_that_never_sign_in_are_few_and_short(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> None:
    """pgwire-033"""
    assert server.LOGIN_S == 10.0
    monkeypatch.setattr(server, "LOGIN_S", 600.0)  # none of them is let go before all have come
    serving = wired.another(caps=Caps(strangers_of_address=20))
    opened = [Raw(serving.port) for _ in range(60)]
    told = [fields(client.message()[1])["C"] for client in opened[20:]]
    assert told == ["53300"] * 40
    for client in opened:
        client.close()
    wired.emptied(serving)
    monkeypatch.setattr(server, "LOGIN_S", 0.2)
    with Raw(serving.port) as client:
        assert client.closed(), "by the server, without a word"
    wired.call(serving.close())


def test_the_tag_tells_what_was_released(ana: Raw) -> None:
    """pgwire-035"""
    found = ana.query(GROUPED)
    assert (tag(found), len(data(found))) == ("SELECT 3", 3)
    assert tag(ana.query(f"{GROUPED} ORDER BY sex LIMIT 2")) == "SELECT 2"


def test_frames_of_chance_end_nothing_and_cost_nothing(wired: Wired) -> None:
    """pgwire-036: here with few and without replies; unit/server/postgres/test_fuzz.py has the rest."""
    before = wired.spent()
    for number in range(64):
        with wired.login() as client:
            noise = struct.pack(
                "!16Q", *(((number + 1) * (step + 3) * 0x9E3779B97F4A7C15) % 2**64 for step in range(16))
            )
            client.send(
                b"".join(frame(b"QPBDCESHFdcfp"[at % 13 : at % 13 + 1], noise[at : at + 9]) for at in range(60))
            )
            client.send(SYNC * 2)
    with wired.login() as client:
        assert client.rows("SELECT 1") == [["1"]]
    assert wired.spent() == before
