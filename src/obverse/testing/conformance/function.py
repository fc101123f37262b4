"""The conformance suite of scalar functions: total, within their facts, and equal to their reference on an engine.

An engine is given as a function from the text of a SELECT to its rows as Python values.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval, Unbounded, interval
from obverse.core.errors import Refused
from obverse.core.types import INT64_MAX, INT64_MIN, Type, Value, date_of, days, micros, moment_of
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit import expressions as printing
from obverse.plan.expressions import Call, ColumnFacts, Expr, Ref, as_number, canonical, from_number, literal, null_of
from obverse.plan.functions import BY_NAME, FUNCTIONS, PASS_NULLS, call
from obverse.plan.functions.base import Function
from obverse.plan.stability.joint import modelled, value_on
from obverse.testing.neighbours import WILD, WRITTEN

Run = Callable[[str], list[tuple[Value, ...]]]
Row = Mapping[str, Value]
ROWS = 24  # of each trial

TWO = frozenset(
    ("add", "subtract", "multiply", "divide", "integer_divide", "modulo", "nullif", "distinct_from")
    + ("eq", "ne", "lt", "le", "gt", "ge")
)
SEVERAL = {"case": (3, 5)} | dict.fromkeys(("coalesce", "least", "greatest", "and", "or"), (2, 3))
PATTERNS = ("", "%", "_", "a%", "%a", "%a_", "k%1", "a%%b", "É%", "%ß%", "100!%", "!_!!%")
CONSTANTS: tuple[Value, ...] = (
    *(0, 1, -1, 2, 3, 7, -4, 10, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, INT64_MAX, INT64_MIN),
    *(0.0, 0.5, -2.5, 0.1, 1e-300, 1e300, 1e17, 9007199254740992.0, -0.0, 3.0),
    *("", "a", "x", "é", True, False, dt.date(2020, 1, 1), dt.date(2020, 6, 30)),
    *(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 13), dt.datetime(2020, 6, 30, 23, 59, 59, 999999)),
)
READABLE = (
    *("12", "-7", "0", "2.5", "-0.5", "1e3", " 8 ", "9007199254740993", "true", "f", "no", "x"),
    *("2020-02-29", " 2021-12-31", "2020-02-29 13:00:00", "2020-02-29T13:00"),
)
BOUNDS: dict[Type, tuple[Bounds, ...]] = {
    Type.INTEGER: (
        *(
            UNBOUNDED,
            interval(-5, 20),
            interval(0, 9),
            interval(1, 1),
            interval(INT64_MIN, INT64_MAX),
            Categories((3, 1, 7)),
        ),
        *(interval(2**53 - 2, 2**53 + 4), interval(-(2**62), 2**62), interval(-9, -2), interval(-1, -1)),
        interval(INT64_MIN, -1),
    ),
    Type.DOUBLE: (
        *(
            UNBOUNDED,
            interval(Fraction(-5, 2), 10),
            interval(0, Fraction(0.1)),
            interval(Fraction(1e-300), Fraction(1e300)),
        ),
        *(Categories((0.1, 0.5, -3.0)), interval(INT64_MIN, 2**63), interval(-4, Fraction(-0.3))),
    ),
    Type.BOOLEAN: (UNBOUNDED, Categories((True,))),
    Type.TEXT: (UNBOUNDED, Categories(("a", "b", "A", "100%", "É"))),
    Type.DATE: (UNBOUNDED, interval(days(dt.date(2019, 12, 30)), days(dt.date(2021, 1, 3)))),
    Type.TIMESTAMP: (UNBOUNDED, interval(micros(dt.datetime(2019, 12, 30, 22)), micros(dt.datetime(2020, 1, 2, 3)))),
}


@dataclass(frozen=True, slots=True)
class Tried:
    """How much a check has tried: combinations of argument facts, and rows."""

    combinations: int
    rows: int


@dataclass(frozen=True, slots=True)
class Trial:
    """A function over arguments of certain facts, and rows of them."""

    call: Call
    rows: tuple[Row, ...]


def check_function(function: Function, run: Run, d: Dialect, *, seed: int = 0, combinations: int = 40) -> Tried:
    """Check one function; AssertionError names what is broken, and where. Deterministic for a seed."""
    trials = trials_of(function, seed, combinations)
    for trial, found in zip(trials, evaluated(trials, run, d)):
        for row, value in zip(trial.rows, found, strict=True):
            check_value(trial.call, row, value)
    return Tried(len(trials), sum(len(trial.rows) for trial in trials))


def trials_of(function: Function, seed: int, combinations: int) -> list[Trial]:
    """The function over arguments of so many kinds."""
    rng = random.Random(f"{function.name} {seed}")
    trials: list[Trial] = []
    for _ in range(combinations * 20):
        made = _call(function.name, rng)
        if made is not None and len(trials) < combinations:
            trials.append(Trial(made, tuple(_row(made, rng) for _ in range(ROWS))))
    _expect(len(trials) >= min(combinations, 3), f"{function.name}: no arguments were found that it takes")
    return trials


def evaluated(trials: Sequence[Trial], run: Run, d: Dialect) -> list[list[Value]]:
    """What the engine gives for each trial, row by row; all in one SELECT, and one by one where that raises."""
    try:
        rows = run(select(trials, d))
    except Exception as error:
        if len(trials) > 1:
            return [found for trial in trials for found in evaluated([trial], run, d)]
        raise AssertionError(f"{canonical(trials[0].call)} raises on some row") from error
    placed = {row[0]: row for row in rows}
    return [[placed[n][i + 1] for n in range(ROWS)] for i in range(len(trials))]


def select(trials: Sequence[Trial], d: Dialect) -> str:
    """One SELECT: the n-th row holds the n-th row of every trial, each with columns of its own."""
    kinds = {(i, ref.name): ref.facts.type for i, trial in enumerate(trials) for ref in _refs(trial.call)}
    names = {place: d.identifier(f"c{i}_{place[1]}") for i, place in enumerate(kinds)}
    rows = []
    for n in range(ROWS):
        values = [d.literal(trials[i].rows[n].get(name), kind) for (i, name), kind in kinds.items()]
        rows.append(f"({', '.join([str(n), *values])})")
    printed = []
    for i, trial in enumerate(trials):
        columns = {name: f"v.{alias}" for (place, name), alias in names.items() if place == i}
        printed.append(f"{printing.expression(trial.call, columns, d)} AS {d.identifier(f'e{i}')}")
    heads = ", ".join(["n", *names.values()])
    return f"SELECT v.n, {', '.join(printed)} FROM (VALUES {', '.join(rows)}) AS v({heads})"


def check_value(expr: Expr, row: Row, value: Value) -> None:
    """One value of an engine: within the facts, NULL only where it may be, and the reference's where that is exact."""
    where = f"{canonical(expr)} gives {value!r} on {dict(row)}"
    _expect(within(expr.facts, value), f"{where}, outside {expr.facts}")
    args = expr.args if isinstance(expr, Call) else ()
    given = [value_on(arg, dict(row)) for arg in args if not isinstance(arg, Call)]
    strict = isinstance(expr, Call) and expr.function not in PASS_NULLS
    if strict and any(v is None for v in given):
        _expect(value is None, f"{where}, where an argument is NULL")
    plain = len(given) == len(args) and all(v in READABLE for v in given if isinstance(v, str))
    if plain or modelled(expr):
        expected = value_on(expr, dict(row))
        _expect(same(value, expected), f"{where}, its reference {expected!r}")


def same(found: Value, expected: Value) -> bool:
    """Equal, of one type; doubles up to a relative 1e-12, NaN as itself."""
    if isinstance(found, float) and isinstance(expected, float):
        return (
            found == expected
            or (found != found and expected != expected)
            or abs(found - expected) <= 1e-12 * abs(expected)
        )
    return type(found) is type(expected) and found == expected


def within(facts: ColumnFacts, value: Value) -> bool:
    if value is None:
        return facts.nullable
    match facts.bounds:
        case Interval(lo, hi):
            number = as_number(value) if value == value and value not in (float("inf"), float("-inf")) else None
            return number is not None and lo <= number <= hi
        case Categories(values):
            return value in values
        case Unbounded():
            return True


def random_expression(columns: Mapping[str, ColumnFacts], rng: random.Random, depth: int) -> Expr:
    """A tree of registered functions over the columns; what does not fit its types is drawn again."""
    while True:
        if depth == 0 or rng.random() < 0.1:
            kind = rng.random()
            if kind < 0.7:
                name = rng.choice(sorted(columns))
                return Ref(name, columns[name])
            return literal(rng.choice(CONSTANTS)) if kind < 0.97 else null_of(rng.choice(list(Type)))
        function = rng.choice(FUNCTIONS).name
        try:
            return call(function, *_arguments(function, rng, lambda: random_expression(columns, rng, depth - 1)))
        except Refused:
            continue


def _arguments(function: str, rng: random.Random, draw: Callable[[], Expr]) -> list[Expr]:
    """As many arguments as the function takes, literal where it wants literals."""
    known = BY_NAME[function]
    if known.arguments:
        slots = [*known.arguments, *([known.arguments[-1]] * rng.randint(0, 2) if known.more else [])]
        return [literal(rng.choice(tried)) if tried else draw() for tried in slots]
    if function in ("like", "ilike"):
        pattern = rng.choice(PATTERNS)
        return [draw(), literal(pattern), *([literal("!")] if "!" in pattern else [])]
    if function == "clamp":
        return [draw(), literal(rng.choice((-3, 0.5, 0))), literal(rng.choice((1, 7.25, 2**60)))]
    if function == "round" and rng.random() < 0.6:
        return [draw(), literal(rng.randint(-12, 12))]
    if function == "in_list":
        return [draw(), *(literal(rng.choice(CONSTANTS)) for _ in range(rng.randint(1, 3)))]
    low, high = SEVERAL.get(function, (2, 2) if function in TWO else (1, 1))
    return [draw() for _ in range(rng.randrange(low, high + 1, 2 if function == "case" else 1))]


def _call(function: str, rng: random.Random) -> Call | None:
    """The function over fresh columns of random facts, or None where these do not fit."""
    made: list[Expr] = []
    kinds = [rng.choice(list(Type)) for _ in range(2)]

    def draw() -> Expr:
        if rng.random() < 0.15:
            return literal(rng.choice(CONSTANTS)) if rng.random() < 0.8 else null_of(rng.choice(kinds))
        kind = Type.BOOLEAN if function == "case" and len(made) % 2 == 0 and rng.random() < 0.8 else rng.choice(kinds)
        made.append(Ref(f"a{len(made)}", ColumnFacts(kind, rng.random() < 0.5, rng.choice(BOUNDS[kind]))))
        return made[-1]

    try:
        return call(function, *_arguments(function, rng, draw))
    except Refused:
        return None


def _row(made: Call, rng: random.Random) -> Row:
    return {r.name: _value(r.facts, rng, reads=made.function.startswith("to_")) for r in _refs(made)}


def _value(facts: ColumnFacts, rng: random.Random, *, reads: bool) -> Value:
    """A value within the facts: NULL, one that breaks things, or any."""
    if facts.nullable and rng.random() < 0.15:
        return None
    match facts.bounds:
        case Categories(values):
            return rng.choice(values)
        case Interval(lo, hi):
            fitting = [v for v in WILD[facts.type] if within(facts, v)]
            ends = [from_number(lo, facts.type), from_number(hi, facts.type)]
            return rng.choice([*fitting, *ends, *(_between(lo, hi, facts.type, rng) for _ in range(4))])
        case Unbounded():
            if facts.type is Type.TEXT and reads:
                return rng.choice((*READABLE, *WRITTEN))
            return rng.choice((*WILD[facts.type], *(_any(facts.type, rng) for _ in range(4))))


def _between(lo: Fraction, hi: Fraction, kind: Type, rng: random.Random) -> Value:
    share = Fraction(rng.randrange(10**6 + 1), 10**6)
    number = lo + (hi - lo) * share
    if kind is Type.DOUBLE:
        return min(max(float(number), float(lo)), float(hi))
    return from_number(Fraction(number // 1), kind)


def _any(kind: Type, rng: random.Random) -> Value:
    match kind:
        case Type.INTEGER:
            return rng.randrange(-(10 ** rng.randint(0, 18)), 10 ** rng.randint(0, 18))
        case Type.DOUBLE:
            return rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300)
        case Type.BOOLEAN:
            return rng.random() < 0.5
        case Type.TEXT:
            return "".join(rng.choice("aAbB%_!kK1 éÉß") for _ in range(rng.randint(0, 6)))
        case Type.DATE:
            return date_of(rng.randrange(-700_000, 2_900_000))
        case Type.TIMESTAMP:
            return moment_of(rng.randrange(-(6 * 10**16), 25 * 10**16))


def _refs(expr: Expr) -> Iterator[Ref]:
    if isinstance(expr, Ref):
        yield expr
    elif isinstance(expr, Call):
        for arg in expr.args:
            yield from _refs(arg)


def _expect(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)
