"""A filter keeps some rows, and its predicate tells more of those that stay."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from obverse.core.bounds import Categories, Interval
from obverse.core.errors import invariant
from obverse.core.types import Type, Value
from obverse.plan.expressions import Call, ColumnFacts, Expr, Literal, Ref, as_kind, as_number
from obverse.plan.relation import Facts

EXACT_DOUBLES = 2**53  # below this magnitude no two integers become the same double

FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def keep(facts: Facts, predicate: Expr) -> Facts:
    """Facts after a filter.

    Claim:   the rows kept satisfy the returned facts; a unit reaches no more rows than before; no unit is sure to be
             there.
    Proof:   a row is kept when the predicate is TRUE, hence each term of its conjunction is TRUE; a comparison with a
             literal that is TRUE bounds its column and shows that it is not NULL. The predicate reads one row only, so
             rows of other units are kept or not alike in both neighbours.
    Assumes: the predicate is total and depends on its row alone.
    """
    invariant(predicate.facts.type is Type.BOOLEAN, "a filter takes a predicate")
    columns = dict(facts.columns)
    for term in conjuncts(predicate):
        _learn(columns, term)
    stability = facts.stability
    if stability is not None:
        stability = replace(stability, always_present=False)
    return Facts(columns, stability)


def conjuncts(predicate: Expr) -> tuple[Expr, ...]:
    if isinstance(predicate, Call) and predicate.function == "and":
        return tuple(term for arg in predicate.args for term in conjuncts(arg))
    return (predicate,)


def _learn(columns: dict[str, ColumnFacts], term: Expr) -> None:
    match term:
        case Ref(name):
            columns[name] = replace(columns[name], nullable=False, bounds=Categories((True,)))
        case Call("not", (Ref(name),)):
            columns[name] = replace(columns[name], nullable=False, bounds=Categories((False,)))
        case Call("not", (Call("is_null", (Ref(name),)),)) | Call("like" | "ilike", (Ref(name), *_)):
            columns[name] = replace(columns[name], nullable=False)
        case Call("lt" | "le" | "gt" | "ge" | "eq" as sign, (Ref(name), Literal() as constant)):
            columns[name] = _compared(columns[name], sign, constant)
        case Call("lt" | "le" | "gt" | "ge" | "eq" as sign, (Literal() as constant, Ref(name))):
            columns[name] = _compared(columns[name], FLIPPED[sign], constant)
        case Call("ne", (Ref(name), Literal())):
            columns[name] = replace(columns[name], nullable=False)
        case Call("in_list", (Ref(name), *members)):
            columns[name] = _listed(columns[name], tuple(members))


def _compared(facts: ColumnFacts, sign: str, constant: Literal) -> ColumnFacts:
    facts = replace(facts, nullable=False)
    if not _comparable(facts, constant):
        return facts
    value = as_kind(constant.value, facts.type)
    number = as_number(value)
    match facts.bounds:
        case Categories(values) if sign == "eq":
            return replace(facts, bounds=Categories(tuple(v for v in values if v == value)))
        case Interval(lo, hi) if number is not None:
            # the next whole number, where there is one
            beyond = int(facts.type is not Type.DOUBLE and number.denominator == 1)
            if sign in ("gt", "ge", "eq"):
                lo = max(lo, min(number + (beyond if sign == "gt" else 0), hi))
            if sign in ("lt", "le", "eq"):
                hi = min(hi, max(number - (beyond if sign == "lt" else 0), lo))
            return replace(facts, bounds=_whole(Interval(lo, hi), facts.type))
        case _:
            return facts


def _comparable(facts: ColumnFacts, constant: Literal) -> bool:
    """Whether the engine compares the column with the constant as exact numbers do.

    Of one type it does, and where the constant is read as the column's type (as_kind). An integer column beside a
    double is rounded to a double first, which changes nothing below 2**53; beyond, and for dates beside timestamps,
    nothing is learned.
    """
    if facts.type is constant.facts.type or constant.value is None:
        return True
    if facts.type is Type.DOUBLE:
        return constant.facts.type is Type.INTEGER
    mixed = facts.type is Type.INTEGER and isinstance(constant.value, float)
    return mixed and isinstance(constant.value, float) and abs(constant.value) < EXACT_DOUBLES


def _whole(bounds: Interval, kind: Type) -> Interval:
    if kind is Type.DOUBLE:
        return bounds
    lo = -((-bounds.lo.numerator) // bounds.lo.denominator)
    hi = bounds.hi.numerator // bounds.hi.denominator
    return Interval(Fraction(min(lo, hi)), Fraction(max(lo, hi)))


def _all_exact(facts: ColumnFacts, values: tuple[Value, ...]) -> bool:
    """Beside one double, the engine reads a whole list of integers as doubles."""
    if facts.type is Type.DOUBLE:
        return True
    return all(isinstance(v, (int, float)) and abs(v) < EXACT_DOUBLES for v in values)


def _listed(facts: ColumnFacts, members: tuple[Expr, ...]) -> ColumnFacts:
    facts = replace(facts, nullable=False)
    if not all(isinstance(m, Literal) and _comparable(facts, m) for m in members):
        return facts
    values = tuple(as_kind(m.value, facts.type) for m in members if isinstance(m, Literal) and m.value is not None)
    if any(isinstance(v, float) for v in values) and not _all_exact(facts, values):
        return facts
    match facts.bounds:
        case Categories(known):
            return replace(facts, bounds=Categories(tuple(v for v in known if v in values)))
        case Interval(lo, hi):
            numbers = [n for n in map(as_number, values) if n is not None and lo <= n <= hi]
            if len(values) and numbers:
                return replace(facts, bounds=Interval(min(numbers), max(numbers)))
    return facts
