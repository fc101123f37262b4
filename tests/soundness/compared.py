"""An answer without noise beside DuckDB's own: which rows belong together, and how far two values may lie apart.

Keys, counts, choices and sums of whole numbers are equal. A sum of doubles is within 1e-9 of it, relatively, and half a
step of its grid for each row where values do not lie on the grid. AVG is within half a step of that grid. VAR, COVAR
and the square of STDDEV are within one step of the grid of squares, and the values' reach times four steps where they
do not lie on the grid. CORR, REGR and arithmetic are within a millionth. MEDIAN, quantiles, MIN and MAX are within one
step of the tree's grid.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from obverse.core.types import Type
from obverse.plan.expressions import AggregateRef, Expr, aggregates_in
from obverse.plan.measures import bounded, product_term, square_term, sum_term, tree_term
from obverse.plan.query import AggregateCall, Question
from obverse.plan.relation import Fold, Reduce, Relation
from obverse.plan.stability.reduce import fold_range

Row = tuple[Any, ...]
COUNTS = ("count", "count_distinct", "count_units", "regr_count")
TREES = ("min", "max", "median", "quantile_cont", "percentile_disc")
EPOCH = dt.datetime(1970, 1, 1)
RELATIVE = 1e-9
ROUGH = 1e-6


def number(value: Any) -> Any:
    """Dates and timestamps as microseconds, truths and decimals as numbers; texts as they are."""
    if isinstance(value, dt.datetime):
        return (value - EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return number(dt.datetime(value.year, value.month, value.day))
    return value if value is None or isinstance(value, (str, int, float)) else float(value)


def near(ours: Any, theirs: Any, allowed: float) -> bool:
    ours = number(ours)
    theirs = number(theirs)
    if ours == theirs or not isinstance(ours, (int, float)) or not isinstance(theirs, (int, float)):
        return bool(ours == theirs)
    return abs(ours - theirs) <= allowed


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far outputs of a question may lie from DuckDB's; `rows` is the cap on a unit's, `all_rows` how many there
    are.
    """

    question: Question
    rows: int
    all_rows: int

    def agree(self, ours: Row, theirs: Row) -> bool:
        return len(ours) == len(theirs) and all(self.agrees(n, a, b) for n, (a, b) in enumerate(zip(ours, theirs)))

    def agrees(self, place: int, ours: Any, theirs: Any) -> bool:
        """NULL of an aggregate is an aggregate of nothing: COUNT and SUM of nothing are told as 0, others by any
        value.
        """
        expr = self.question.outputs[place].expr
        calls = [self.question.aggregates[index] for index in sorted(aggregates_in(expr))]
        if not calls:
            return near(ours, theirs, 0)
        if theirs is None:
            return not isinstance(expr, AggregateRef) or calls[0].function != "sum" or ours == 0
        if isinstance(expr, AggregateRef):
            if calls[0].function.startswith("stddev"):
                ours = ours**2
                theirs = theirs**2
            return near(ours, theirs, self.of_call(calls[0], theirs))
        steps = sum(self.step(call) for call in calls if call.function in TREES)
        return near(ours, theirs, steps + (ROUGH * abs(theirs) if isinstance(theirs, (int, float)) else 0))

    def of_call(self, call: AggregateCall, theirs: Any) -> float:
        if call.function in COUNTS or call.function == "mode":
            return 0
        if call.function in TREES:
            return self.step(call)
        if call.function in ("corr", "regr_r2"):
            return ROUGH
        if call.function in ("regr_slope", "regr_intercept"):
            return ROUGH * abs(theirs)
        first = call.argument
        assert first is not None
        if call.function == "sum":
            whole = first.facts.type is Type.INTEGER and not self.rounded(first)
            return 0 if whole else RELATIVE * abs(theirs) + self.rounded(first) * self.all_rows
        if call.function == "avg":
            return RELATIVE * abs(theirs) + self.rounded(first) + 1e-12 * reach(first)
        second = call.second if call.second is not None else first
        term = square_term(first, self.rows) if call.second is None else product_term(first, second, self.rows)
        inexact = 4 * (reach(first) * self.rounded(second) + reach(second) * self.rounded(first))
        return RELATIVE * abs(theirs) + float(term.unit) + inexact + 1e-12 * reach(first) * reach(second)

    def step(self, call: AggregateCall) -> float:
        """One step of the tree's grid; of a date in microseconds."""
        assert call.argument is not None
        leaves = tree_term(call.argument).leaves
        assert leaves is not None
        worth = 86_400_000_000 if call.argument.facts.type is Type.DATE else 1
        return float(leaves.step) * 2**leaves.shift * worth + self.folded()

    def rounded(self, argument: Expr) -> float:
        """Half a step of the grid where values do not lie on it, and what the rounding of each unit's own sums adds."""
        unit = sum_term(argument, self.rows).unit
        return (0.0 if unit == argument.facts.step else float(unit) / 2) + self.folded()

    def folded(self) -> float:
        """For each unit's own SUM whose grid is coarser than its argument's: half a step for each of its rows."""
        return sum(
            float(fold_range(fold)[0].unit) / 2 * min(fold.rows, 100)
            for fold in folds(self.question.relation)
            if fold.kind in ("sum", "avg")
            and fold.expr is not None
            and fold_range(fold)[0].unit != fold.expr.facts.step
        )


def reach(argument: Expr) -> float:
    return float(bounded(argument).magnitude)


def folds(relation: Relation) -> list[Fold]:
    """Every aggregate of a unit's own rows in the relation."""
    own = list(relation.folds) if isinstance(relation, Reduce) else []
    children = [getattr(relation, name) for name in ("child", "left", "right") if hasattr(relation, name)]
    return own + [fold for child in (*children, *getattr(relation, "children", ())) for fold in folds(child)]


def disagreements(
    keys: Sequence[int],
    ours: Sequence[Row],
    theirs: Sequence[Row],
    agree: Callable[[Row, Row], bool],
    absent: Callable[[Row], bool],
) -> list[str]:
    """What is wrong: rows of DuckDB without an equal of ours, and rows of ours that are more than an absent group.

    Rows are matched by their keys; of several with the same keys (a subtotal and a group of NULL), by all their values.
    """
    left: dict[Row, list[Row]] = defaultdict(list)
    for row in ours:
        left[chosen(row, keys)].append(row)
    wrong = []
    for row in theirs:
        candidates = left[chosen(row, keys)]
        found = next((mine for mine in candidates if agree(mine, row)), None)
        if found is None:
            wrong.append(f"DuckDB has {row}, we have {candidates or 'nothing'}")
        else:
            candidates.remove(found)
    return wrong or [f"we have {row}, DuckDB nothing" for rows in left.values() for row in rows if not absent(row)]


def chosen(row: Row, keys: Sequence[int]) -> Row:
    return tuple(number(row[k]) for k in keys)


def in_order(keys: Sequence[int], ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    """Whether the rows that both have stand in the same order."""
    wanted = [chosen(row, keys) for row in theirs]
    return [chosen(row, keys) for row in ours if chosen(row, keys) in wanted] == wanted
