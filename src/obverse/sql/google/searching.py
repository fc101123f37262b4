"""Contribution bounds that a question leaves out: which are to be found privately, and over which values."""

from __future__ import annotations

from collections.abc import Mapping

from obverse.core.errors import Span
from obverse.core.types import Type
from obverse.plan.expressions import Expr, Ref, canonical, literal
from obverse.plan.functions import call
from obverse.plan.measures import WIDE_BITS, bounded
from obverse.plan.nodes import Fold
from obverse.plan.query import AggregateCall
from obverse.plan.searched import Search, scale_of
from obverse.plan.stability.reduce import fold_facts
from obverse.sql.google.google import Contribution
from obverse.sql.own_values import alone, known_bounds

FARTHEST = 1 << 40  # numbers without bounds are looked for up to here
FEW = 2  # rows of a unit that are not worth a search
Found = Mapping[str, tuple[int | float, int | float]]


class Searching:
    """The bounds of one question's aggregates: those found already, else the widest, with a search for them."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.searches: dict[str, Search] = {}
        self.folds: list[Fold] = []

    def by_group(self, made: AggregateCall, value: Expr | None, cap: int, *, keyed: bool, learned: bool) -> Contribution | None:
        """Of a unit's own COUNT, SUM or AVG in a group; None where limits on it were learned or declared, or it is small."""
        if made.function == "count":
            if learned or not keyed or cap <= FEW:
                return None
        elif value is not None and known_bounds(value) is None:
            value = within_reach(value)
        elif learned or (value is not None and value.facts.sum_cap is not None and made.function == "sum"):
            return None
        if keyed:
            fold = Fold(f"searched{len(self.folds)}", made.function, None if made.argument is None else value, cap, WIDE_BITS)
            self.folds.append(fold)
            own: Expr = Ref(fold.name, fold_facts(fold, always_there=True))
        else:
            own = alone(made.function, value)
        return self._bounds(made, own, per_row=False)

    def by_row(self, made: AggregateCall, value: Expr) -> Contribution | None:
        """Of each row's value; None where it has bounds."""
        return None if known_bounds(value) is not None else self._bounds(made, within_reach(value), per_row=True)

    def _bounds(self, made: AggregateCall, own: Expr, *, per_row: bool) -> Contribution:
        name = f"{made.function}({'*' if made.argument is None else canonical(made.argument)}){' by row' if per_row else ''}"
        search = Search(name, made.spoken, own, scale_of(own, bounded(own)), centred=made.function not in ("count", "sum"))
        lo, hi = self.found.get(name, (search.scale.ends[0], search.scale.ends[-1]))
        if name not in self.found:
            self.searches.setdefault(name, search)
        return Contribution(per_row, lo, hi, made.span or Span(0, 0))


def within_reach(value: Expr) -> Expr:
    """A number without bounds, as far as it is looked for."""
    end = FARTHEST if value.facts.type is Type.INTEGER else float(FARTHEST)
    return call("clamp", value, literal(-end), literal(end))
