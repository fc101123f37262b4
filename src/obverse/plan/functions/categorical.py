"""Functions over public lists: the values of the function are a public list too."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

from obverse.core.bounds import UNBOUNDED, Bounds, Categories
from obverse.core.types import Type, Value
from obverse.plan.expressions import ColumnFacts, domain
from obverse.plan.functions.base import Facts, any_null, tainted

LISTED_MAX = 2048  # combinations of the arguments' values
CHARACTERS_MAX = 1 << 16  # of all texts that are listed, so that a question cannot make long lists of long texts

Known = Callable[[Value], bool]


def anything(value: Value) -> bool:
    return True


def ascii_only(value: Value) -> bool:
    """Of these letters every engine knows the same upper and lower case."""
    return not isinstance(value, str) or value.isascii()


def over_lists(facts: Facts, kind: Type, reference: Callable[..., Value], known: Known = anything) -> ColumnFacts:
    """Facts of a function that is NULL where an argument is.

    Claim:   where every argument is one of a public list, the value is one of the list given, or NULL where that is
             said.
    Proof:   the reference is the engine's meaning; here it is evaluated on every combination.
    Assumes: on values that are `known`, the reference and every engine agree to the letter.
    """
    lists = [domain(fact, LISTED_MAX) for fact in facts]
    values = _values(lists, reference, known)
    step = Fraction(1) if kind is Type.INTEGER else None
    null = any_null(facts) or (values is not None and None in values)
    bounds: Bounds = UNBOUNDED if values is None else Categories(tuple(v for v in values if v is not None))
    return ColumnFacts(kind, null, bounds, step, tainted(facts))


def with_nulls(facts: Facts, kind: Type, reference: Callable[..., Value]) -> ColumnFacts:
    """As `over_lists`, of a function that passes NULLs over and is never NULL itself."""
    lists = []
    for fact in facts:
        values = domain(fact, LISTED_MAX)
        lists.append(values if values is None or not fact.nullable else (*values, None))
    found = _values(lists, reference, anything)
    bounds: Bounds = UNBOUNDED if found is None else Categories(tuple(v for v in found if v is not None))
    return ColumnFacts(kind, False, bounds, None, tainted(facts))


def _values(
    lists: list[tuple[Value, ...] | None], reference: Callable[..., Value], known: Known
) -> dict[Value, None] | None:
    """The distinct values of the function, in the order in which they come up; None where they cannot be listed."""
    given = [values for values in lists if values is not None]
    if len(given) < len(lists) or math.prod(map(len, given)) > LISTED_MAX:
        return None
    if not all(known(value) for values in given for value in values):
        return None
    found: dict[Value, None] = {}
    characters = 0
    for combination in itertools.product(*given):
        value = reference(*combination)
        characters += len(value) if isinstance(value, str) and value not in found else 0
        if characters > CHARACTERS_MAX:
            return None
        found[value] = None
    return found
