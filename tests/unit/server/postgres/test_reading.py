"""Statements told apart: what asks, what is about the session, what is refused, and what is done with names and
intervals.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.answers.answer import ColumnInfo
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.server.postgres import intervals
from obverse.server.postgres import types as v
from obverse.server.postgres.parameters import parameter_types
from obverse.server.postgres.statements import (
    STATEMENTS_MAX,
    Kind,
    Statement,
    plain_strings,
    read,
    split_statements,
    tokenize,
    unqualified,
)


def only(text: str, catalogue: bool = False) -> Statement:
    found = read(text, lambda asked: catalogue)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT 1", Kind.QUESTION),
        ("/* a /* b */ c */ begin", Kind.BEGIN),
        ("START TRANSACTION READ ONLY", Kind.BEGIN),
        ("end", Kind.COMMIT),
        ("ABORT", Kind.ROLLBACK),
        ("rollback to savepoint x", Kind.ROLLBACK_TO),
        ("-- x\nSET a = 1", Kind.SET),
        ("EXPLAIN (VERBOSE off) SELECT 1", Kind.EXPLAIN),
        ("EXPLAIN (ANALYZE false, COSTS off) SELECT 1", Kind.EXPLAIN),
        ("nonsense", Kind.QUESTION),
        ("DISCARD ALL", Kind.DISCARD),
        ("UNLISTEN *", Kind.NOTHING),
        ("CLOSE ALL", Kind.NOTHING),
        ("(SELECT 1)", Kind.QUESTION),
        ("show all;", Kind.SHOW),
    ],
)
def test_the_kind_of_a_statement_is_told_by_its_first_words(text: str, kind: Kind) -> None:
    assert only(text).kind is kind


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("COPY people TO STDOUT", "copy_refused"),
        ("COPY people FROM STDIN", "copy_refused"),
        ("DELETE FROM people", "read_only"),
        ("CREATE TABLE t (a int)", "read_only"),
        ("LISTEN x", "unsupported_construct"),
        ("DO $$ x $$", "read_only"),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", "unsupported_construct"),
        ("PREPARE p AS SELECT 1", "unsupported_construct"),
        ("EXECUTE p", "unsupported_construct"),
        ("EXPLAIN ANALYZE SELECT 1", "statement_kind"),
        ("EXPLAIN", "parse_error"),
        ("EXPLAIN (ANALYZE) SELECT 1", "statement_kind"),
        ("EXPLAIN (COSTS off, ANALYZE true) SELECT 1", "statement_kind"),
        ("SELECT 1; SELECT 2", "statement_kind"),
        ("SELECT 'a", "parse_error"),
        ("/* open", "parse_error"),
        ("SELECT $$ open", "parse_error"),
        ("COMMIT PREPARED 'x'", "unsupported_construct"),
        ("SELECT " + "(" * 200, "too_complex"),
        ("x " * 6_000, "too_complex"),
        ("x" * 70_000, "too_long"),
        (" " * 59_000 + "a;" * 2_400, "too_complex"),
    ],
)
def test_what_is_not_for_here_is_refused_by_name(text: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        read(text, lambda asked: False)
    assert refused.value.code == code


def test_a_message_of_many_statements_keeps_little() -> None:
    """Blanks before each keep positions; so many statements, each of a whole text, would take memory and time."""
    found = read("\n" * 59_000 + "SHOW a;" * STATEMENTS_MAX, lambda asked: False)
    assert len(found) == STATEMENTS_MAX
    assert sum(len(one.text) for one in found) < 64_000 * STATEMENTS_MAX
    assert found[-1].text.endswith("\n" + " " * 7 * (STATEMENTS_MAX - 1) + "SHOW a")
    with pytest.raises(Refused):
        read("SHOW a;" * (STATEMENTS_MAX + 1), lambda asked: pytest.fail("it was read all the same"))


def test_one_question_may_stand_among_settings_and_its_positions_stay() -> None:
    text = "SET obverse.epsilon = 0.2;\n SELECT 1"
    first, second = read(text, lambda asked: False)
    assert (first.kind, second.kind) == (Kind.SET, Kind.QUESTION)
    assert second.text.index("SELECT") == text.index("SELECT")
    assert len(read("SELECT 1; SELECT 2; SELECT 3", lambda asked: True)) == 3  # of the catalogue, several


@given(st.text(alphabet="ab'\"$;()-/*\\ \nE1.,", max_size=40))
def test_any_text_is_cut_into_words_or_refused(text: str) -> None:
    try:
        found = tokenize(text)
    except Refused:
        return
    assert all(text[word.span.start : word.span.end] == word.text for word in found)
    assert sum(len(part) for part in split_statements(text)) == sum(word.text != ";" for word in found)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ('SELECT count(*) FROM "public"."visits"', "SELECT count(*) FROM visits"),
        ('SELECT "public"."visits"."cost" FROM public.visits', "SELECT visits.cost FROM visits"),
        ("SELECT 1 FROM hospital.public.visits", "SELECT 1 FROM visits"),
        ("SELECT 1 FROM other.public.visits", "SELECT 1 FROM other.public.visits"),
        ("SELECT public.cost FROM visits AS public", "SELECT public.cost FROM visits AS public"),
        ("SELECT 'public.x', 1 FROM visits", "SELECT 'public.x', 1 FROM visits"),
    ],
)  # fmt: skip
def test_the_one_schema_may_be_named(text: str, asked: str) -> None:
    found = unqualified(text, tokenize(text), "hospital")
    assert len(found) == len(text)
    assert found.replace(" ", "").replace('"', "") == asked.replace(" ", "").replace('"', "")


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (r"x = E'a\\b'", r"x = 'a\b'"),
        (r"x = e'it\'s'", "x = 'it''s'"),
        (r"E'a\nb'", "'a\nb'"),
        (r"E'\x41'", r"E'\x41'"),
        ("'E'", "'E'"),
        (r"E'a''b'", "'a''b'"),
    ],
)
def test_texts_that_drivers_escape_become_plain_ones(text: str, asked: str) -> None:
    found = plain_strings(text, tokenize(text))
    assert (found.rstrip(), len(found)) == (asked, len(text))


KEY = ColumnInfo("sex", Type.TEXT, "key")
COUNT = ColumnInfo("n", Type.INTEGER, "value")


def taken(text: str) -> intervals.Stripped:
    return intervals.stripped(text, tokenize(text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "SELECT sex, count(*) AS n, obverse_low(n), obverse_high(n) FROM p",
            ["sex", "n", "obverse_low", "obverse_high"],
        ),
        ("SELECT obverse_high(N) hi, sex, count(*) AS n, obverse_low(n) AS lo FROM p", ["hi", "sex", "n", "lo"]),
        ('SELECT sex, obverse_low("n") AS "Low", count(*) AS n FROM p', ["sex", "Low", "n"]),
        (
            "WITH a AS (SELECT obverse_low(n), 1) SELECT DISTINCT sex, count(*) n, obverse_low(n) x FROM p",
            ["sex", "n", "x"],
        ),
    ],
)
def test_ends_of_intervals_are_taken_out_and_put_beside(text: str, names: list[str]) -> None:
    found = taken(text)
    assert len(found.text) == len(text)
    assert not any(
        word.name in intervals.ENDS for word in tokenize(found.text.partition("SELECT DISTINCT")[2] or found.text)
    )
    shape = intervals.shape((KEY, COUNT), found.ends, False, found.text)
    assert [one.name for one in shape.fields] == names
    assert ", ," not in found.text
    assert not found.text.replace(" ", "").startswith("SELECT,")


def test_an_end_of_nothing_is_refused() -> None:
    for text in ("SELECT sex, obverse_low(m) FROM p", "SELECT obverse_low(n) FROM p"):
        with pytest.raises(Refused) as refused:
            intervals.shape((KEY, COUNT), taken(text).ends or (), False, text) if "sex" in text else taken(text)
        assert refused.value.code == "unknown_interval"


def test_both_ends_of_every_value_come_where_they_are_switched_on() -> None:
    shape = intervals.shape((KEY, COUNT), (), True, "")
    assert [one.name for one in shape.fields] == ["sex", "n", "n_low", "n_high"]
    assert [one.oid for one in shape.fields] == [v.TEXT, v.INT8, v.INT8, v.INT8]
    unnamed = intervals.shape((ColumnInfo("column", Type.DOUBLE, "value"),), (), False, "SELECT 1 + COUNT(*) FROM p")
    assert unnamed.fields[0].name == "?column?"


@pytest.mark.parametrize(
    ("text", "given", "types"),
    [
        ("SELECT 1 FROM p WHERE age > $1", (), (v.INT8,)),
        ("... $1::int", (), (v.INT4,)),
        ("CAST($1 AS date)", (), (v.DATE,)),
        ("$1::oid[]", (), (v.ARRAY[v.OID],)),
        ("age BETWEEN $1 AND $2", (), (v.INT8, v.INT8)),
        ("x = $1", (), (v.TEXT,)),
        ("age IN ($1, $2)", (), (v.INT8, v.INT8)),
        ("$1 < age", (), (v.INT8,)),
        ("LIMIT $1", (), (v.INT8,)),
        ("age > $1", (v.FLOAT8,), (v.FLOAT8,)),
        ("'$1'", (), ()),
        ("$2", (0,), (v.TEXT, v.TEXT)),
        ("$1::pg_catalog.text", (), (v.TEXT,)),
    ],
)
def test_types_of_parameters_are_given_or_told_by_the_text(
    text: str, given: tuple[int, ...], types: tuple[int, ...]
) -> None:
    assert parameter_types(text, given, {"age": v.INT8}) == types


@pytest.mark.parametrize("text", ["$70000", "$0", "$" + "9" * 5000, "$" + "0" * 5000 + "1"])
def test_there_are_not_too_many_parameters(text: str) -> None:
    with pytest.raises(Refused) as refused:
        parameter_types(text, (), {})
    assert refused.value.code == "too_many_parameters"
