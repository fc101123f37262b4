"""Dates of the text: their parts, units, spans between them, and intervals added to them."""

from __future__ import annotations

import re

from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.expressions import Expr, Literal, literal
from obverse.plan.functions.date_arithmetic import DIFFERENCES_IN
from obverse.plan.functions.date_parts import PARTS, UNITS
from obverse.sql.functions import Reader
from obverse.sql.literals import coerce
from obverse.sql.parse import refuse

FIELDS = {
    "dayofweek": "dow",
    "weekday": "dow",
    "dayofyear": "doy",
    "dayofmonth": "day",
    "weekofyear": "week",
    "isoweek": "week",
    "centuries": "century",
    "millennia": "millennium",
}
PART_NODES: dict[type[exp.Expression], str] = {
    exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.Quarter: "quarter", exp.Week: "week", exp.Hour: "hour",
    exp.Minute: "minute", exp.Second: "second", exp.DayOfWeek: "dow", exp.DayOfYear: "doy", exp.DayOfMonth: "day",
    exp.WeekOfYear: "week", exp.DayOfWeekIso: "isodow",
}  # fmt: skip
MICROS = {
    "week": 604_800_000_000, "day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000,
    "millisecond": 1_000, "microsecond": 1,
}  # fmt: skip
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
SPANS = re.compile(r"\s*([+-]?\d{1,18})\s+([A-Za-z]+)")


def _singular(word: str) -> str:
    word = word.lower()
    return FIELDS.get(word, word[:-1] if word.endswith("s") and word[:-1] in (*PARTS, *MICROS, *MONTHS) else word)


def part(field: str, value: exp.Expression, node: exp.Expression, reader: Reader) -> Expr:
    """EXTRACT and its kin; of an AGE only full years are known."""
    name = _singular(field)
    if isinstance(value, exp.Anonymous) and str(value.this).lower() == "age":
        return _age(name, value, node, reader)
    if name not in (*PARTS, "epoch"):
        raise refuse("function", node, f"EXTRACT({field})")
    return reader.make(name, reader(value))


def _age(field: str, age: exp.Anonymous, node: exp.Expression, reader: Reader) -> Expr:
    dates = [reader(e) for e in age.expressions]
    if len(dates) == 1:
        dates.insert(0, literal(reader.now().date()))
    if len(dates) != 2 or field != "year":
        raise refuse("function", node, "AGE() of this form")
    end, start = read_alike(*dates)
    return reader.make("years_between", start, end)


def read_alike(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Two sides of which a text constant is read as the other's date."""
    if isinstance(a, Literal) and a.facts.type is Type.TEXT:
        b, a = coerce("eq", b, a)
        return a, b
    return coerce("eq", a, b)


def trunc(unit: str, value: exp.Expression, node: exp.Expression, reader: Reader) -> Expr:
    if _singular(unit) not in UNITS:
        raise refuse("function", node, f"DATE_TRUNC('{unit}')")
    return reader.make(f"trunc_{_singular(unit)}", reader(value))


def date_diff(node: exp.DateDiff, reader: Reader) -> Expr:
    unit = _singular(node.args["unit"].name) if node.args.get("unit") else "day"
    known = {"this", "expression", "unit", "date_part_boundary"}
    if unit not in DIFFERENCES_IN or any(value and name not in known for name, value in node.args.items()):
        raise refuse("function", node, "DATE_DIFF() of this form")
    start, end = read_alike(reader(node.expression), reader(node.this))
    return reader.make(f"diff_{unit}", start, end)


def spans(node: exp.Interval, reader: Reader) -> tuple[int, int]:
    """A literal interval as months and microseconds."""
    amount = node.this
    unit = node.args.get("unit")
    if unit is not None and not isinstance(unit, exp.Var):
        text = ""
    elif unit is None:
        text = amount.name if isinstance(amount, exp.Literal) else ""
    elif isinstance(amount, exp.Literal) and amount.is_string:
        text = f"{amount.name} {unit.name}"
    else:
        known = reader(amount) if amount is not None else None
        text = f"{known.value} {unit.name}" if isinstance(known, Literal) and type(known.value) is int else ""
    found = SPANS.findall(text)
    names = [_singular(name) for _, name in found]
    if not found or SPANS.sub("", text).strip() or not all(name in MICROS or name in MONTHS for name in names):
        raise Refused("type_error", "an interval is a literal of whole numbers.", fix="write INTERVAL '30 days'.")
    counts = [(int(number), name) for (number, _), name in zip(found, names)]
    months = sum(count * MONTHS[name] for count, name in counts if name in MONTHS)
    return months, sum(count * MICROS[name] for count, name in counts if name in MICROS)


def shifted(value: Expr, interval: exp.Interval, sign: int, reader: Reader) -> Expr:
    """A date or timestamp and an interval: a timestamp, months first, as the engines do."""
    months, micros = spans(interval, reader)
    moved = value if value.facts.type is Type.TIMESTAMP else reader.make("to_timestamp", value)
    if months:
        moved = reader.make("add_months", moved, literal(sign * months))
    return reader.make("add_micros", moved, literal(sign * micros)) if micros or not months else moved


def sum_of(node: exp.Expression, name: str, reader: Reader) -> Expr:
    """a + b or a - b: of numbers, of a date and days or an interval, or of two dates."""
    left = node.this
    right = node.expression
    sign = 1 if name == "add" else -1
    if isinstance(left, exp.Interval) and sign == 1:
        left, right = right, left
    if isinstance(right, exp.Interval):
        return shifted(reader(left), right, sign, reader)
    a = reader(left)
    b = reader(right)
    if not (a.facts.type.temporal or b.facts.type.temporal):
        return reader.make(name, a, b)
    a, b = read_alike(a, b)
    match a.facts.type, b.facts.type:
        case Type.DATE, Type.INTEGER:
            return reader.make("add_days", a, b if sign == 1 else reader.make("negate", b))
        case (Type.INTEGER, Type.DATE) if sign == 1:
            return reader.make("add_days", b, a)
        case (Type.DATE, Type.DATE) if sign == -1:
            return reader.make("diff_day", b, a)
        case _:
            raise Refused(
                "type_error",
                f"{a.facts.type.value} {'+' if sign == 1 else '-'} {b.facts.type.value} is not a number or a date.",
                fix="write DATE_DIFF('day', a, b), or add an INTERVAL.",
            )
