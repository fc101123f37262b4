"""A filter keeps some rows, and its predicate tells more of those that stay."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from obverse.core.bounds import Categories, Interval
from obverse.core.errors import invariant
from obverse.core.types import Type
from obverse.plan.expressions import Call, ColumnFacts, Expr, Literal, Ref, as_number
from obverse.plan.facts import Facts

FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def keep(facts: Facts, predicate: Expr) -> Facts:
    """Facts after a filter.

    Claim:   the rows kept satisfy the returned facts; a unit reaches no more rows than before; no unit is sure to be there.
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
    if facts.type is not constant.facts.type and not (facts.type.numeric and constant.facts.type.numeric):
        return facts
    number = as_number(constant.value)
    match facts.bounds:
        case Categories(values) if sign == "eq":
            return replace(facts, bounds=Categories(tuple(v for v in values if v == constant.value)))
        case Interval(lo, hi) if number is not None:
            if sign in ("gt", "ge", "eq"):
                lo = max(lo, min(number, hi))
            if sign in ("lt", "le", "eq"):
                hi = min(hi, max(number, lo))
            return replace(facts, bounds=_whole(Interval(lo, hi), facts.type))
        case _:
            return facts


def _whole(bounds: Interval, kind: Type) -> Interval:
    if kind is Type.DOUBLE:
        return bounds
    lo, hi = -((-bounds.lo.numerator) // bounds.lo.denominator), bounds.hi.numerator // bounds.hi.denominator
    return Interval(Fraction(min(lo, hi)), Fraction(max(lo, hi)))


def _listed(facts: ColumnFacts, members: tuple[Expr, ...]) -> ColumnFacts:
    facts = replace(facts, nullable=False)
    values = tuple(m.value for m in members if isinstance(m, Literal) and m.value is not None)
    if len(values) < len([m for m in members if not (isinstance(m, Literal) and m.value is None)]):
        return facts
    match facts.bounds:
        case Categories(known):
            return replace(facts, bounds=Categories(tuple(v for v in known if v in values)))
        case Interval(lo, hi):
            numbers = [n for n in map(as_number, values) if n is not None and lo <= n <= hi]
            if len(values) and numbers:
                return replace(facts, bounds=Interval(min(numbers), max(numbers)))
    return facts
