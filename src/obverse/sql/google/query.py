"""What WITH DIFFERENTIAL_PRIVACY means: each unit's own aggregates in each group, bounded, in a bounded number of
groups.

By groups (max_groups_contributed, one unless given): a unit's rows are gathered by group; of its groups as many as it
may have are chosen by the question's keyed hash; its COUNT, SUM or AVG in each is clamped to
contribution_bounds_per_group, and the clamped ones are added up, or averaged, over units. PERCENTILE_CONT, VAR_POP and
STDDEV_POP go by rows, in the same groups. By rows (max_rows_contributed): as many of a unit's rows as it may have are
chosen, and aggregates go by rows. Bounds that are left out are found privately first: `searching`.

Contribution bounds that a question leaves out: which are to be found privately, and over which values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from obverse.catalog.model import Catalog, Limits
from obverse.core.errors import Refused, Span
from obverse.core.types import Type, Value
from obverse.plan.expressions import Expr, Ref, canonical, domain, key_named, literal
from obverse.plan.functions import call
from obverse.plan.measures import WIDE_BITS, bounded
from obverse.plan.private_bounds import Search, scale_of
from obverse.plan.query import UNITS, AggregateCall, Question
from obverse.plan.relation import Filter, Fold, Key, Mark, Reduce, Relation, Trim, scans
from obverse.plan.sensitivity import not_learned
from obverse.plan.stability.derive import facts_of, names, pruned, unit_key, unused
from obverse.plan.stability.reduce import fold_facts
from obverse.sql.google.parse import PER_GROUP, PER_ROW, Clause, Contribution, bad
from obverse.sql.names import Named
from obverse.sql.per_unit import alone, clamped, far_out, known_bounds, rows_to_reach
from obverse.sql.relations import filler

FARTHEST = 1 << 40  # numbers without bounds are looked for up to here
FEW = 2  # rows of a unit that are not worth a search
Found = Mapping[str, tuple[int | float, int | float]]


class Searching:
    """The bounds of one question's aggregates: those found already, else the widest, with a search for them."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.searches: dict[str, Search] = {}
        self.folds: list[Fold] = []

    def by_group(
        self, made: AggregateCall, value: Expr | None, cap: int, *, keyed: bool, learned: bool
    ) -> Contribution | None:
        """Of a unit's own COUNT, SUM or AVG in a group; None where limits on it were learned or declared, or it is
        small.
        """
        if made.function == "count":
            if learned or not keyed or cap <= FEW:
                return None
        elif value is not None and known_bounds(value) is None:
            value = within_reach(value)
        elif learned or (value is not None and value.facts.sum_cap is not None and made.function == "sum"):
            return None
        if keyed:
            fold = Fold(
                f"searched{len(self.folds)}", made.function, None if made.argument is None else value, cap, WIDE_BITS
            )
            self.folds.append(fold)
            own: Expr = Ref(fold.name, fold_facts(fold, always_there=True))
        else:
            own = alone(made.function, value)
        return self._bounds(made, own, per_row=False)

    def by_row(self, made: AggregateCall, value: Expr) -> Contribution | None:
        """Of each row's value; None where it has bounds."""
        return None if known_bounds(value) is not None else self._bounds(made, within_reach(value), per_row=True)

    def _bounds(self, made: AggregateCall, own: Expr, *, per_row: bool) -> Contribution:
        argument = "*" if made.argument is None else canonical(made.argument)
        name = f"{made.function}({argument}){' by row' if per_row else ''}"
        search = Search(
            name, made.spoken, own, scale_of(own, bounded(own)), centred=made.function not in ("count", "sum")
        )
        lo, hi = self.found.get(name, (search.scale.ends[0], search.scale.ends[-1]))
        if name not in self.found:
            self.searches.setdefault(name, search)
        return Contribution(per_row, lo, hi, made.span or Span(0, 0))


def within_reach(value: Expr) -> Expr:
    """A number without bounds, as far as it is looked for."""
    end = FARTHEST if value.facts.type is Type.INTEGER else float(FARTHEST)
    return call("clamp", value, literal(-end), literal(end))


BY_GROUP = ("count", "sum", "avg")
BY_ROW = ("quantile_cont", "var_pop", "stddev_pop")
MEAN_ROWS = 64  # for the grid of a mean, which no number of rows bounds


class Gathered:
    """The clause over one question: its aggregates one by one, and then its relation and keys."""

    def __init__(self, clause: Clause, rows: Named, catalog: Catalog, found: Found) -> None:
        self.clause = clause
        self.catalog = catalog
        self.searching = Searching(found)
        limits = [catalog.tables[scan.table].limits for scan in scans(rows.relation)]
        self.learned = any(isinstance(limit, Limits) and limit.learned for limit in limits)
        self.stability = rows.stability
        self.folds: list[Fold] = []
        self.used: set[int] = set()
        self.went: dict[str, Span | None] = {}  # aggregates by group and by row, and where one stands
        self._check_unit(rows)
        self.cap = self._cap(rows.relation)
        most = min(self.cap, self.stability.groups or self.cap)
        self._check_limit("max_groups_contributed", clause.max_groups_contributed, most, "groups")
        self._check_limit("max_rows_contributed", clause.max_rows_contributed, self.cap, "rows")
        self.groups = clause.max_groups_contributed or 1

    @property
    def by_rows(self) -> bool:
        return self.clause.max_rows_contributed is not None

    def _check_unit(self, rows: Named) -> None:
        """The column named is the declared unit's key."""
        column = self.clause.privacy_unit_column
        unit = unit_key(self.catalog)
        if column is None or (unit and key_named(rows.column(column)) == unit):
            return
        raise Refused(
            "privacy_unit",
            f"{column.sql(dialect='duckdb')} is not the privacy unit of these rows.",
            why=f"the project protects {unit or 'each row'}, whatever a question says.",
            fix="name the column that the unit is declared by, or leave privacy_unit_column out.",
            span=self.clause.spans["privacy_unit_column"],
        )

    def _cap(self, relation: Relation) -> int:
        if not self.stability.keyed and self.stability.rows != 1:
            raise Refused(
                "unsupported_construct",
                "rows that are units were multiplied here, so a unit's own aggregates cannot be gathered.",
                why="a row's copies have no key by which they are told to be of one unit.",
                fix="leave the join out, or ask without WITH DIFFERENTIAL_PRIVACY.",
                span=self.clause.span,
            )
        if self.stability.cap is None:
            raise not_learned(relation)
        return self.stability.cap

    def _check_limit(self, name: str, asked: int | None, most: int, what: str) -> None:
        if asked is not None and asked > most:
            raise bad(
                f"{name} is above what the project allows: {most} {what} of one unit.",
                f"write {name} = {most}, or less.",
                self.clause.spans[name],
                "limits are declared with the tables, and a question may only lower them.",
            )

    def domain(self, expr: Expr, spoken: str, span: Span | None) -> tuple[Value, ...] | None:
        """A key's public values, where groups are public; else they are discovered, whatever is declared."""
        if not self.clause.public:
            return None
        values = domain(expr.facts)
        if values is None:
            raise Refused(
                "keys_not_public",
                f"the values of {spoken} are not public, so they cannot be PUBLIC_GROUPS.",
                why="which values there are would be told without noise.",
                fix="declare `values` for the column in obverse.toml, or leave group_selection_strategy out.",
                span=span,
            )
        return values

    def aggregate(self, made: AggregateCall) -> AggregateCall:
        """The aggregate over what units bring."""
        start = None if made.span is None else made.span.start
        bounds = None if start is None else self.clause.bounds.get(start)
        if start is not None and bounds is not None:
            self.used.add(start)
        if made.function == UNITS and bounds is None:
            return made
        if made.function not in (*BY_GROUP, *BY_ROW):
            what = "bounds of COUNT(DISTINCT unit)" if made.function == UNITS else made.spoken
            raise Refused(
                "unsupported_construct",
                f"{what} has no meaning under WITH DIFFERENTIAL_PRIVACY.",
                why="its documentation knows COUNT, SUM, AVG, PERCENTILE_CONT, VAR_POP, STDDEV_POP and the number of "
                "units.",
                fix="ask it without WITH DIFFERENTIAL_PRIVACY.",
                span=made.span,
            )
        if self.by_rows or made.function in BY_ROW:
            self.went.setdefault("row", made.span)
            return self._by_row(made, bounds)
        self.went.setdefault("group", made.span)
        return self._by_group(made, bounds)

    def _by_row(self, made: AggregateCall, bounds: Contribution | None) -> AggregateCall:
        if bounds is not None and (not bounds.per_row or made.function == "count"):
            what = f"{made.spoken} goes by rows here, and takes " + (
                "no bounds" if made.function == "count" else PER_ROW
            )
            raise bad(f"{what}.", f"leave {bounds.name} out, or write {PER_ROW}.", bounds.span)
        if made.function == "count" or made.argument is None:
            return made
        if bounds is None and made.argument.facts.type.numeric:
            bounds = self.searching.by_row(made, made.argument)
        value = made.argument if bounds is None else clamped(made.argument, bounds)
        if known_bounds(value) is None:
            raise _no_bounds(made, PER_ROW)
        return replace(made, argument=value)

    def _by_group(self, made: AggregateCall, bounds: Contribution | None) -> AggregateCall:
        value = made.argument
        if bounds is not None and bounds.per_row:
            if made.function == "count" or value is None:
                raise bad("COUNT has no values to be bounded by row.", f"write {PER_GROUP}.", bounds.span)
            value = clamped(value, bounds)
            bounds = None
        elif bounds is None and (made.function == "count" or (value is not None and value.facts.type.numeric)):
            keyed = self.stability.keyed
            learned = self.learned
            bounds = self.searching.by_group(made, value, self._rows(made.function), keyed=keyed, learned=learned)
        whole = bounds is None or all(float(end).is_integer() for end in (bounds.lo, bounds.hi))
        if bounds is not None and made.function == "count" and not whole:
            raise bad("COUNT takes whole numbers as its bounds.", "write (0, 5).", bounds.span)
        if made.function != "count" and value is not None:
            value = self._summable(made, value, bounds)
        own = self._fold(made.function, value, bounds) if self.stability.keyed else alone(made.function, value)
        if bounds is not None:
            own = clamped(own, bounds)
        return AggregateCall("avg" if made.function == "avg" else "sum", own, made.spoken, None, made.span)

    def _summable(self, made: AggregateCall, value: Expr, bounds: Contribution | None) -> Expr:
        """The value with bounds that a fine grid can have: its own, or many times those of the group."""
        known = known_bounds(value)
        if bounds is None:
            if known is None:
                raise _no_bounds(made, PER_GROUP)
            return value
        far = far_out(bounds)
        if known is not None and known.magnitude <= Fraction(far):
            return value
        return call("clamp", value, literal(-far), literal(far))

    def _rows(self, kind: str) -> int:
        return min(self.cap, MEAN_ROWS) if kind == "avg" else self.cap

    def _fold(self, kind: str, value: Expr | None, bounds: Contribution | None) -> Expr:
        """The unit's own aggregate in a group; the same one twice is one column."""
        rows = self._rows(kind)
        if kind == "sum" and bounds is not None and value is not None:
            rows = min(rows, rows_to_reach(bounded(value), bounds))
        if kind == "count" and value is not None and not value.facts.nullable:
            value = None
        told = None if value is None else canonical(value)
        for fold in self.folds:
            if (fold.kind, None if fold.expr is None else canonical(fold.expr), fold.rows) == (kind, told, rows):
                return Ref(fold.name, fold_facts(fold, always_there=True))
        made = Fold(f"fold{len(self.folds)}", kind, value, rows)
        self.folds.append(made)
        return Ref(made.name, fold_facts(made, always_there=True))

    def _units(self, made: AggregateCall) -> AggregateCall:
        """The number of units: of rows, each of which is one; or of those in which the key is not NULL."""
        if made.argument is None or not made.argument.facts.nullable:
            return replace(made, function="count", argument=None)
        there = Fold(f"fold{len(self.folds)}", "count", made.argument, 1)
        self.folds.append(there)
        return replace(made, function="sum", argument=Ref(there.name, fold_facts(there, always_there=True)))

    def question(self, asked: Question) -> Question:
        """The question over what units bring, with the searches for its bounds; its keys and aggregates were made
        here.
        """
        self._check(asked)
        clause = self.clause
        keys = tuple((f"key{n}", key.expr) for n, key in enumerate(asked.keys))
        made = replace(
            asked, epsilon=clause.epsilon, delta=clause.delta, least_units=clause.min_privacy_units_per_group
        )
        if self.stability.keyed and not self.by_rows and "row" in self.went:
            made = replace(made, groups=self.groups)
        elif self.stability.keyed and not self.by_rows:
            calls = tuple(self._units(a) if a.function == UNITS else a for a in asked.aggregates)
            facts = facts_of(Reduce(asked.relation, keys, ()), self.catalog).columns
            told = (
                Key(k.name, Ref(name, facts[name]), k.domain, k.null_cell) for k, (name, _) in zip(asked.keys, keys)
            )
            made = replace(made, keys=tuple(told), aggregates=calls)
        made = replace(made, relation=self._own(asked.relation, keys, self.folds))
        if not self.searching.searches:
            return made
        rows = self._own(asked.relation, keys, self.searching.folds)
        first = ((search, pruned(search.question(rows, made.groups))) for search in self.searching.searches.values())
        return replace(made, searches=tuple(first))

    def _own(self, relation: Relation, keys: tuple[tuple[str, Expr], ...], folds: list[Fold]) -> Relation:
        """What units bring: their own aggregates in some of their groups, or some of their rows."""
        if not self.stability.keyed:
            return relation
        if self.by_rows:
            return Trim(relation, self.clause.max_rows_contributed or 1)
        if "row" in self.went:
            return self._chosen(relation, keys)
        gathered = Reduce(relation, keys, tuple(folds))
        return Trim(gathered, self.groups) if keys else gathered

    def _check(self, asked: Question) -> None:
        unused = [bounds for start, bounds in self.clause.bounds.items() if start not in self.used]
        if unused:
            raise bad(
                f"{unused[0].name} stands in what is no aggregate of the outermost SELECT.",
                "leave it out.",
                unused[0].span,
            )
        if not asked.keys and "min_privacy_units_per_group" in self.clause.spans:
            raise bad(
                "min_privacy_units_per_group needs groups, and this question has none.",
                "leave it out, or add GROUP BY.",
                self.clause.spans["min_privacy_units_per_group"],
            )
        if asked.sets:
            raise Refused(
                "unsupported_construct",
                "subtotals (ROLLUP, CUBE, GROUPING SETS) are not answered under WITH DIFFERENTIAL_PRIVACY.",
                why="a unit's groups are chosen once.",
                fix="ask each grouping by itself, or without WITH DIFFERENTIAL_PRIVACY.",
                span=self.clause.span,
            )
        if len(self.went) > 1 and self.stability.keyed:
            raise Refused(
                "unsupported_construct",
                "aggregates of units' own aggregates and of rows do not stand in one question.",
                why="COUNT, SUM and AVG gather a unit's rows first; PERCENTILE_CONT, VAR_POP and STDDEV_POP read each "
                "row.",
                fix="ask them apart, or give max_rows_contributed: then all go by rows.",
                span=self.went["row"],
            )

    def _chosen(self, relation: Relation, keys: tuple[tuple[str, Expr], ...]) -> Relation:
        """The rows in the groups that their unit keeps."""
        if not keys:
            return relation
        groups = Trim(Reduce(relation, keys, ()), self.groups)
        facts = facts_of(groups, self.catalog).columns
        pairs: list[tuple[Expr, Expr]] = []
        for name, ours in keys:
            theirs: Expr = Ref(name, facts[name])
            if ours.facts.nullable:
                pairs.append((call("is_null", ours), call("is_null", theirs)))
                ours, theirs = (call("coalesce", side, filler(side)) for side in (ours, theirs))
            pairs.append((ours, theirs))
        mark = unused("chosen", names(relation))
        marked = Mark(relation, groups, tuple(pairs), mark, unknown=False)
        return Filter(marked, Ref(mark, facts_of(marked, self.catalog).columns[mark]))


def _no_bounds(made: AggregateCall, name: str) -> Refused:
    return Refused(
        "no_bounds",
        f"{made.spoken} needs bounds, and none are declared or can be derived.",
        why="noise must be scaled to the largest share that one unit can have.",
        fix=f"write {name} => (lo, hi) among its arguments, or declare bounds for the column in obverse.toml.",
        span=made.span,
    )
