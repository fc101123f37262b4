"""Texts: characters are counted as DuckDB counts them, nothing grows without bound, and public lists stay public."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.core.bounds import UNBOUNDED, Categories
from obverse.core.errors import Refused
from obverse.core.types import Type, Value
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit import expressions as printing
from obverse.plan.expressions import Call, ColumnFacts, Expr, Ref, literal
from obverse.plan.functions import BY_NAME, call
from obverse.plan.functions.text import LENGTH_MAX
from obverse.plan.stability.joint import modelled, value_on

D = DIALECTS["duckdb"]
ANY_TEXT = Ref("t", ColumnFacts(Type.TEXT))
OTHER = Ref("o", ColumnFacts(Type.TEXT))
HARD = "aAbB -\r\néßİıŉΣ\u0301\u200d\U0001f468\U0001f469\U0001f1e6\0"  # letters that combine, fold, or stand together
texts = st.text(st.one_of(st.sampled_from(HARD), st.characters(exclude_categories=["Cs"])), max_size=12)
written = texts.filter(lambda text: "\0" not in text)
places = st.integers(-6, 9)


def listed(*values: str, nullable: bool = False) -> Ref:
    return Ref("t", ColumnFacts(Type.TEXT, nullable, Categories(values)))


def in_duckdb(expr: Expr, row: dict[str, str | None]) -> Value:
    names = sorted(row)
    printed = printing.expression(expr, {name: f'v."{name}"' for name in names}, D)
    columns = ", ".join(f'CAST(${i} AS VARCHAR) AS "{name}"' for i, name in enumerate(names, 1))
    ((found,),) = duckdb.execute(f"SELECT {printed} FROM (SELECT {columns}) AS v", [row[n] for n in names]).fetchall()
    value: Value = found
    return value


def agree(expr: Expr, row: dict[str, str | None]) -> None:
    assert modelled(expr)
    assert in_duckdb(expr, row) == value_on(expr, dict(row))


@given(texts, places, st.integers(1, 9), st.integers(0, 9))
@settings(max_examples=300, deadline=None)
def test_characters_are_counted_as_duckdb_counts_them(text: str, count: int, start: int, size: int) -> None:
    row: dict[str, str | None] = {"t": text}
    agree(call("length", ANY_TEXT), row)
    agree(call("left", ANY_TEXT, literal(count)), row)
    agree(call("right", ANY_TEXT, literal(count)), row)
    agree(call("substring", ANY_TEXT, literal(start), literal(size)), row)


@given(texts, st.one_of(st.sampled_from(HARD[:-1]), written))
@settings(max_examples=300, deadline=None)
def test_texts_are_searched_and_trimmed_as_duckdb_does(text: str, part: str) -> None:
    for name in ("starts_with", "ends_with", "contains", "position", "trim", "ltrim", "rtrim"):
        agree(call(name, ANY_TEXT, literal(part)), {"t": text})


@given(texts, written.filter(bool), written, places.filter(bool), st.integers(0, 20))
@settings(max_examples=300, deadline=None)
def test_texts_are_split_filled_and_replaced_as_duckdb_does(
    text: str, part: str, new: str, place: int, size: int
) -> None:
    row: dict[str, str | None] = {"t": text}
    agree(call("split_part", ANY_TEXT, literal(part), literal(place)), row)
    agree(call("replace", ANY_TEXT, literal(part), literal(new)), row)
    agree(call("lpad", ANY_TEXT, literal(size), literal(part)), row)
    agree(call("rpad", ANY_TEXT, literal(size), literal(part)), row)


@given(st.one_of(st.none(), texts), st.one_of(st.none(), texts), written)
@settings(max_examples=200, deadline=None)
def test_texts_are_joined_as_duckdb_does(one: str | None, other: str | None, separator: str) -> None:
    row = {"t": one, "o": other}
    agree(call("concat", ANY_TEXT, OTHER, literal(separator)), row)
    agree(call("join_texts", ANY_TEXT, OTHER), row)
    agree(call("concat_ws", literal(separator), ANY_TEXT, OTHER), row)


@given(st.text(st.characters(max_codepoint=127, exclude_characters="\0\r"), max_size=12))
@settings(max_examples=200, deadline=None)
def test_ascii_is_folded_and_turned_as_duckdb_does(text: str) -> None:
    for name in ("lower", "upper", "reverse"):
        agree(call(name, listed(text)), {"t": text})


GROWING = [
    ("concat", *[ANY_TEXT] * 16),
    ("join_texts", *[ANY_TEXT] * 16),
    ("concat_ws", literal("-" * 16), *[ANY_TEXT] * 15),
    ("replace", ANY_TEXT, literal("a"), literal("b" * 16)),
    ("lpad", ANY_TEXT, literal(LENGTH_MAX), literal("b")),
    ("rpad", ANY_TEXT, literal(LENGTH_MAX), literal("b" * 9)),
]


@pytest.mark.parametrize("made", GROWING, ids=lambda made: made[0])
def test_no_text_grows_beyond_the_longest(made: tuple[str, Expr]) -> None:
    name, *args = made
    expr = call(name, *args)
    for text in ("", "a", "a" * 100_000, "é" * 5000):
        found = in_duckdb(expr, {"t": text})
        assert isinstance(found, str)
        assert len(found) <= LENGTH_MAX
        assert found == value_on(expr, {"t": text})
    once: Expr = expr
    for _ in range(8):
        once = call("concat", once, once)
    assert len(str(in_duckdb(once, {"t": "a" * 4000}))) == LENGTH_MAX


def test_a_function_of_a_public_list_gives_a_public_list() -> None:
    assert call("upper", listed("f", "m", "F")).facts.bounds == Categories(("F", "M"))
    assert call("left", listed("north", "south", "none"), literal(1)).facts.bounds == Categories(("n", "s"))
    assert call("length", listed("a", "bcd")).facts == ColumnFacts(Type.INTEGER, False, Categories((1, 3)), step=1)  # type: ignore[arg-type]
    assert call("concat", listed("a", nullable=True), literal("-")).facts.bounds == Categories(("a-", "-"))
    joined = call("join_texts", listed("a", nullable=True), literal("-")).facts
    assert (joined.nullable, joined.bounds) == (True, Categories(("a-",)))


@pytest.mark.parametrize("name", ["lower", "upper"])
def test_letters_that_engines_fold_differently_are_not_listed(name: str) -> None:
    for made in (call(name, listed("a", "ß")), call(name, ANY_TEXT)):
        assert made.facts.bounds == UNBOUNDED
        assert not modelled(made)
    assert modelled(call(name, listed("a", "B")))


def test_a_text_is_turned_sign_by_sign() -> None:
    assert call("reverse", listed("a\r\n", "e\u0301", "")).facts.bounds == Categories(("\n\ra", "\u0301e", ""))


def test_too_many_combinations_are_not_listed() -> None:
    many = Ref("t", ColumnFacts(Type.TEXT, False, Categories(tuple(f"v{i}" for i in range(100)))))
    assert call("concat", many, many, many).facts.bounds == UNBOUNDED
    assert isinstance(call("concat", many, literal("x")).facts.bounds, Categories)


def test_what_comes_from_the_units_key_stays_marked() -> None:
    key = Ref("t", ColumnFacts(Type.TEXT, False, Categories(("a", "b")), identifies=True))
    literals: dict[str, tuple[Value, ...]] = {
        "left": (1,), "right": (1,), "substring": (1, 1), "trim": (" ",), "ltrim": (" ",), "rtrim": (" ",),
        "replace": ("a", "b"), "split_part": ("a", 1), "starts_with": ("a",), "ends_with": ("a",), "contains": ("a",),
        "position": ("a",), "lpad": (3, "x"), "rpad": (3, "x"), "join_texts": ("x",), "concat": ("x",),
        "lower": (), "upper": (), "reverse": (),
        "length": (),
    }  # fmt: skip
    for name, values in literals.items():
        assert call(name, key, *map(literal, values)).facts.identifies, name
    assert call("concat_ws", literal("-"), key).facts.identifies


@pytest.mark.parametrize(
    "args",
    [
        ("left", ANY_TEXT, Ref("n", ColumnFacts(Type.INTEGER))),
        ("left", ANY_TEXT, literal(2**31)),
        ("substring", ANY_TEXT, literal(0), literal(1)),
        ("substring", ANY_TEXT, literal(1), literal(-1)),
        ("split_part", ANY_TEXT, literal(""), literal(1)),
        ("split_part", ANY_TEXT, literal("-"), literal(0)),
        ("replace", ANY_TEXT, literal(""), literal("x")),
        ("replace", ANY_TEXT, literal("a"), literal("x" * 17)),
        ("replace", ANY_TEXT, OTHER, literal("x")),
        ("contains", ANY_TEXT, OTHER),
        ("lpad", ANY_TEXT, literal(3), literal("")),
        ("concat", *[ANY_TEXT] * 17),
        ("concat", literal(1)),
        ("concat_ws", OTHER, ANY_TEXT),
        ("upper", literal(1)),
        ("upper", ANY_TEXT, ANY_TEXT),
        ("length",),
    ],
)
def test_what_could_grow_raise_or_cost_too_much_is_refused(args: tuple[str, Expr]) -> None:
    name, *rest = args
    with pytest.raises(Refused) as refused:
        call(name, *rest)
    assert refused.value.code == "type_error"


@pytest.mark.parametrize(
    "length", [literal(LENGTH_MAX + 1), literal(-1), literal(2.5), Ref("n", ColumnFacts(Type.INTEGER))]
)
def test_a_length_from_a_row_is_not_allowed(length: Expr) -> None:
    with pytest.raises(Refused) as refused:
        call("rpad", ANY_TEXT, length, literal("x"))
    assert refused.value.code == "function_not_allowed"


def test_every_function_says_how_it_is_bounded() -> None:
    assert all(function.proof and function.spoken for function in BY_NAME.values())
    assert isinstance(call("upper", ANY_TEXT), Call)
