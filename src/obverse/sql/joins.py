"""FROM a JOIN b: which joins keep rows with their unit, and how each side is bounded before."""

from __future__ import annotations

import math
from dataclasses import replace

from sqlglot import expressions as exp

from obverse.catalog.model import Catalog
from obverse.core.bounds import Unbounded
from obverse.core.types import Type
from obverse.plan.expressions import Call, Expr, Ref, key_named, refs
from obverse.plan.functions import call
from obverse.plan.relation import Fold, Join, JoinKind, Reduce, Relation, Trim, Union, sides
from obverse.plan.stability.derive import facts_of, names, reads, unit_key
from obverse.plan.stability.filter import conjuncts
from obverse.plan.stability.join import MANY, partners
from obverse.sql.literals import coerce
from obverse.sql.names import Named, folded, function_name
from obverse.sql.parse import refuse
from obverse.sql.scalars import Clock, Scalars

COPIES_MAX = 1000  # partners that one row may have among public rows


class Joins:
    """Joins resolved one by one, from left to right."""

    def __init__(self, catalog: Catalog, clock: Clock, where: exp.Expression | None, *, public_groups: bool) -> None:
        self.catalog = catalog
        self.clock = clock
        self.where = where
        # all groups of a public side are told, so that none of its rows need stay alone
        self.public_groups = public_groups

    def __call__(self, left: Named, right: Named, node: exp.Join) -> Named:
        kind, swapped = self.kind(node)
        repeated = {alias for alias, _ in left.scopes} & {alias for alias, _ in right.scopes}
        if repeated:
            raise refuse("ambiguous", node, repeated.pop())
        both = Named(
            left.relation, replace(left.facts, columns={**left.facts.columns, **right.facts.columns}),
            left.scopes + right.scopes, left.merged,
        )  # fmt: skip
        on, merged = self.conditions(*((right, left) if swapped else (left, right)), both, node, kind)
        if swapped:
            left, right = right, left
        if left.public and not right.public:
            if kind is JoinKind.LEFT and not self.public_groups:
                raise refuse("public_left", node)
            kind = JoinKind.INNER if kind is JoinKind.LEFT else kind
            left, right = right, left
        joined = self.joined(left, right, kind, on, node)
        found = Named(joined, facts_of(joined, self.catalog), both.scopes)
        merged = {**left.merged, **right.merged, **merged}
        return replace(found, merged={n: _anew(e, found) for n, e in merged.items()})

    def kind(self, node: exp.Join) -> tuple[JoinKind, bool]:
        side = str(node.args.get("side") or "").upper()
        word = str(node.args.get("kind") or "").upper()
        if node.args.get("method") or word not in ("", "INNER", "OUTER", "CROSS"):
            raise refuse(
                "clause", node, " ".join(part for part in (str(node.args.get("method") or ""), word, "JOIN") if part)
            )
        kinds = {"": JoinKind.INNER, "LEFT": JoinKind.LEFT, "RIGHT": JoinKind.LEFT, "FULL": JoinKind.FULL}
        return kinds[side], side == "RIGHT"

    def conditions(
        self, left: Named, right: Named, both: Named, node: exp.Join, kind: JoinKind
    ) -> tuple[tuple[Expr, ...], dict[str, Expr]]:
        """What must hold of a pair, and the columns that USING made one."""
        if node.args.get("using"):
            return self.using(left, right, node, kind)
        scalars = Scalars(both.column, self.clock)
        if node.args.get("on") is not None:
            condition = scalars(node.args["on"])
            if condition.facts.type is not Type.BOOLEAN:
                raise refuse("where", node)
            return conjuncts(condition), {}
        return self.from_where(left, right, both), {}

    def using(
        self, left: Named, right: Named, node: exp.Join, kind: JoinKind
    ) -> tuple[tuple[Expr, ...], dict[str, Expr]]:
        on = []
        merged = {}
        for part in node.args["using"]:
            column = exp.Column(this=part if isinstance(part, exp.Identifier) else part.this)
            a = left.column(column)
            b = right.column(column)
            on.append(call("eq", *coerce("eq", a, b)))
            merged[folded(column.this)] = call("coalesce", a, b) if kind is JoinKind.FULL else a
        return tuple(on), merged

    def from_where(self, left: Named, right: Named, both: Named) -> tuple[Expr, ...]:
        """A comma or CROSS JOIN takes its equalities from WHERE, where they stand as well."""
        found = []
        for part in self.where.flatten() if isinstance(self.where, exp.And) else [self.where]:
            part = part.unnest() if part is not None else None
            if isinstance(part, exp.EQ) and all(both.has(c) for c in part.find_all(exp.Column)):
                term = Scalars(both.column, self.clock)(part)
                if _crosses(term, left, right):
                    found.append(term)
        return tuple(found)

    def joined(self, left: Named, right: Named, kind: JoinKind, on: tuple[Expr, ...], node: exp.Join) -> Relation:
        if right.public:
            return self.with_public(left, right, kind, on, node)
        return self.with_private(left, right, kind, on, node)

    def with_public(self, left: Named, right: Named, kind: JoinKind, on: tuple[Expr, ...], node: exp.Join) -> Relation:
        if kind is JoinKind.FULL and not left.public:
            raise refuse("public_left", node)
        if not any(_crosses(term, left, right) and isinstance(term, Call) and term.function == "eq" for term in on):
            raise refuse("fanout", node, f"joining {right.spoken} without an equality")
        if left.public:
            return Join(left.relation, right.relation, kind, on)
        many = partners(right.facts, on)
        if many is None or many > COPIES_MAX:
            raise refuse("fanout", node, f"joining {right.spoken} on values that repeat")
        stability = left.stability
        many = max(1, many)
        counted = not isinstance(stability.rows, Unbounded)
        if stability.keyed and stability.rows != stability.cap:
            counted = False  # rows with a key are limited by it
        below = left.relation
        if many > 1 and stability.cap is not None and stability.cap * many > MANY:
            if not stability.keyed:
                raise refuse("fanout", node, f"joining {right.spoken} on values that repeat, after other joins")
            below = Trim(below, MANY // many)
        return Join(below, right.relation, kind, on, many if counted else None)

    def with_private(self, left: Named, right: Named, kind: JoinKind, on: tuple[Expr, ...], node: exp.Join) -> Relation:
        if not left.stability.keyed or not any(_same_key(term, left, right) for term in on):
            raise refuse("join_unit", node)
        rest = tuple(term for term in on if not self.of_unit(term, left, right))
        ours = left.stability.cap or 1
        theirs = right.stability.cap or 1
        trim = left.stability.cap != 1 and right.stability.cap != 1
        few = min(theirs, MANY)
        below = self.bounded(left, max(1, min(ours, MANY // few)), trim=trim), self.bounded(right, few, trim=trim)
        return Join(*below, kind, rest)

    def of_unit(self, term: Expr, left: Named, right: Named) -> bool:
        """Whether the condition says no more than that both rows are of the same unit, which is always asked."""
        if not _same_key(term, left, right) or _names(term) != unit_key(self.catalog):
            return False
        assert isinstance(term, Call)
        sides = {side: arg for arg in term.args for side in (0, 1) if reads(arg) <= names((left, right)[side].relation)}
        return len(sides) == 2 and all((left, right)[side].there(arg, self.catalog) for side, arg in sides.items())

    def bounded(self, side: Named, rows: int, *, trim: bool) -> Relation:
        """One side of a join with its rows per unit bounded, so that nobody's pairs are more than MANY, however many
        joins.
        """
        stability = side.stability
        if stability.rows == 1:
            return side.relation
        if stability.cap == 1 and stability.single:
            return self.single(side)
        bound = stability.cap is not None and (trim or stability.cap == 1)
        return Trim(side.relation, rows) if bound else side.relation

    def single(self, side: Named) -> Relation:
        """The one row that each unit is declared to have: were there several, merged column by column by their
        minimum.
        """
        unit = unit_key(self.catalog)
        columns = sorted(names(side.relation))
        keys = tuple((c, side.ref(c)) for c in columns if side.facts.columns[c].names == unit)
        folds = tuple(Fold(c, "min", side.ref(c), 1) for c in columns if side.facts.columns[c].names != unit)
        return Reduce(side.relation, keys, folds)


def _anew(expr: Expr, named: Named) -> Expr:
    """A merged column over the joined relation's own facts."""
    if isinstance(expr, Ref):
        return named.ref(expr.name)
    assert isinstance(expr, Call)
    return call(expr.function, *(_anew(arg, named) for arg in expr.args))


def _crosses(term: Expr, left: Named, right: Named) -> bool:
    read = {ref.name for ref in refs(term)}
    return bool(read & names(left.relation)) and bool(read & names(right.relation))


def _same_key(term: Expr, left: Named, right: Named) -> bool:
    """Whether the condition equates two columns that name the same key, one on each side."""
    return bool(_names(term)) and _crosses(term, left, right)


def _names(term: Expr) -> str:
    if not isinstance(term, Call) or term.function != "eq":
        return ""
    a, b = (key_named(arg) for arg in term.args)
    return a if a == b else ""


def check_public(relation: Relation, catalog: Catalog, tree: exp.Expression) -> None:
    """Public rows beside private ones multiply no further either.

    An engine may leave them out where no private row asks for them, so that how long they take would tell that one
    does.
    """
    if facts_of(relation, catalog).stability is not None:
        for side in sides(relation):
            check_public(side, catalog, tree)
    elif _copies(relation, catalog) > COPIES_MAX:
        raise refuse(
            "fanout", tree, "joining public tables with each other on values that repeat, beside private ones,"
        )


def _copies(relation: Relation, catalog: Catalog) -> int:
    """How often a row of a public relation may have been copied on the way: at each join, as values repeat on one
    side.
    """
    below = [_copies(side, catalog) for side in sides(relation)]
    if not isinstance(relation, Join):
        return sum(below) if isinstance(relation, Union) else max(below, default=1)
    known = [partners(facts_of(side, catalog), relation.on) for side in sides(relation)]
    return math.prod(below) * max(1, min((many for many in known if many is not None), default=MANY))


def check_join_item(node: exp.Join) -> None:
    """Table functions multiply rows."""
    item = node.this
    if isinstance(item, exp.Table) and not isinstance(item.this, exp.Identifier):
        raise refuse("fanout", node, function_name(item.this))
