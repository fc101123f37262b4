"""Settings and blocks of one session."""

from __future__ import annotations

from fractions import Fraction

import pytest

from obverse.core.errors import Refused
from obverse.server.postgres.portals import Block
from obverse.server.postgres.settings import Settings, assignment, fresh, from_options
from obverse.server.postgres.statements import read, tokenize


def after(text: str, settings: Settings | None = None) -> Settings:
    name, value, _ = assignment(tokenize(text))
    return (settings or fresh("ana", {})).with_value(name, value)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("SET application_name = 'x y'", "application_name", "x y"),
        ("SET TIME ZONE 'UTC'", "timezone", "UTC"),
        ("set session DateStyle TO ISO, DMY", "datestyle", "ISO, MDY"),
        ("SET NAMES 'utf-8'", "client_encoding", "UTF8"),
        ("SET search_path = public, x", "search_path", "public, x"),
        ("SET obverse.intervals = ON", "obverse.intervals", "on"),
        ("SET obverse.purpose = 'quality'", "obverse.purpose", "quality"),
        ("SET extra_float_digits = 3", "extra_float_digits", "3"),
        ("SET statement_timeout TO '30s'", "statement_timeout", "30s"),
        ("SET my.own = 1", "my.own", "1"),
        ("SET search_path = \"a b\", 'c', public", "search_path", "a b, c, public"),
        ("SET my.own = -1", "my.own", "-1"),
        ("SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE", "timezone", "+00:00"),
        ("SET transaction_read_only = off", "transaction_read_only", "on"),
        ("SET role = none", "role", "none"),
    ],
)
def test_ordinary_settings_are_taken(text: str, name: str, value: str) -> None:
    assert after(text)[name] == value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SET client_encoding = 'SJIS'", "bad_setting"),
        ("SET DateStyle = 'German'", "bad_setting"),
        ("SET nonsense = 1", "unknown_setting"),
        ("SET obverse.nonsense = 1", "unknown_setting"),
        ("SET ROLE admin", "fixed_setting"),
        ("SET SESSION AUTHORIZATION admin", "fixed_setting"),
        ("SET server_version = '9'", "fixed_setting"),
        ("SET obverse.epsilon = 'much'", "bad_setting"),
        ("SET obverse.epsilon = -1", "bad_setting"),
        ("SET obverse.epsilon = 1e999", "bad_setting"),
        ("SET obverse.intervals = maybe", "bad_setting"),
        ("SET x", "parse_error"),
        ("SET obverse.epsilon = 1 2", "parse_error"),
        ("SET obverse.epsilon = 0 .5", "parse_error"),
        ("SET obverse.purpose = 'a' 'b'", "parse_error"),
        ("SET search_path = a,", "parse_error"),
        ("SET standard_conforming_strings = off", "bad_setting"),
        (f"SET application_name = '{'x' * 2000}'", "bad_setting"),
    ],
)
def test_settings_that_would_change_meanings_are_refused(text: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        after(text)
    assert refused.value.code == code


def test_the_price_is_exactly_what_was_written() -> None:
    wish = after("SET obverse.delta = 1e-9", after("SET obverse.epsilon = 0.1")).wish
    assert (wish.epsilon, wish.delta, wish.within) == (Fraction(1, 10), Fraction(1, 10**9), None)
    assert after("SET obverse.epsilon = ''", after("SET obverse.epsilon = 2")).wish.epsilon is None
    assert after("SET obverse.epsilon TO DEFAULT", after("SET obverse.epsilon = 2")).wish.epsilon is None


def test_settings_are_bounded_in_number() -> None:
    settings = fresh("ana", {})
    for number in range(51):
        settings = settings.with_value(f"my.x{number}", "1")
    with pytest.raises(Refused) as refused:
        settings.with_value("my.last", "1")
    assert refused.value.code == "bad_setting"


def test_options_of_a_connection_are_settings() -> None:
    assert from_options("-c obverse.epsilon=0.2 --work-mem=1MB -cgeqo=off") == {
        "obverse.epsilon": "0.2", "work_mem": "1MB", "geqo": "off"
    }  # fmt: skip
    with pytest.raises(Refused) as refused:
        fresh("ana", from_options("-c session_preload_libraries=x"))
    assert refused.value.code == "unknown_setting"
    with pytest.raises(Refused) as refused:
        from_options("-d 5")
    assert refused.value.code == "bad_setting"


def done(block: Block, text: str) -> tuple[str, str]:
    (statement,) = read(text, lambda asked: False)
    block.check(statement)
    return block.done(statement)


def test_blocks_go_through_their_states_as_in_postgresql() -> None:
    block = Block(fresh("ana", {}))
    assert done(block, "COMMIT") == ("COMMIT", "there is no transaction in progress")
    assert (done(block, "BEGIN"), block.status) == (("BEGIN", ""), "T")
    assert done(block, "BEGIN")[1] == "there is already a transaction in progress"
    done(block, "SAVEPOINT a")
    block.fail()
    assert block.status == "E"
    with pytest.raises(Refused) as refused:
        done(block, "SAVEPOINT b")
    assert refused.value.code == "in_failed_block"
    assert (done(block, "ROLLBACK TO SAVEPOINT a"), block.status) == (("ROLLBACK", ""), "T")
    done(block, "RELEASE SAVEPOINT a")
    with pytest.raises(Refused) as refused:
        done(block, "RELEASE a")
    assert refused.value.code == "no_such_savepoint"
    block.fail()
    assert (done(block, "COMMIT"), block.status) == (("ROLLBACK", ""), "I")
    with pytest.raises(Refused) as refused:
        done(block, "SAVEPOINT a")
    assert refused.value.code == "no_block"


def test_a_block_that_is_rolled_back_takes_its_settings_with_it() -> None:
    block = Block(fresh("ana", {}))
    done(block, "BEGIN")
    block.settings = after("SET obverse.epsilon = 2", block.settings)
    done(block, "ROLLBACK")
    assert block.settings["obverse.epsilon"] == ""
    done(block, "BEGIN")
    block.set_local("obverse.epsilon")
    block.settings = after("SET obverse.epsilon = 2", block.settings)
    block.settings = after("SET application_name = kept", block.settings)
    done(block, "COMMIT AND CHAIN")
    assert (block.settings["obverse.epsilon"], block.settings["application_name"], block.status) == ("", "kept", "T")
