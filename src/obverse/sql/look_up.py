"""IN and EXISTS: rows that look into others, of the same unit or of public tables; each look-up adds one truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from obverse.core.types import Type
from obverse.plan.expressions import Expr, key_named
from obverse.plan.functions import call
from obverse.plan.functions.base import common_type
from obverse.plan.nodes import Mark
from obverse.plan.relations import unit_key
from obverse.sql.named import Named
from obverse.sql.parse import refuse
from obverse.sql.scalars import Scalars

if TYPE_CHECKING:
    from obverse.sql.relations import Relations


def as_type(expr: Expr, kind: Type) -> Expr:
    return expr if expr.facts.type is kind else call(f"to_{kind.value}", expr)


class LookUp:
    """Rows whose expressions may look into others by IN and EXISTS; each look-up adds one truth to the rows.

    `sure` are those IN of which NULL means the same as FALSE.
    """

    def __init__(self, relations: Relations, rows: Named, sure: frozenset[int] = frozenset()) -> None:
        self.relations, self.rows, self.sure = relations, rows, sure
        self.scalars = LookUpScalars(self)

    def column(self, node: exp.Column) -> Expr:
        return self.rows.column(node)

    def membership(self, node: exp.In) -> Expr:
        """x IN (SELECT y ...): TRUE where an equal is found, NULL where one might be behind a NULL, else FALSE."""
        query = node.args["query"]
        inner = self.relations.derived(query.this if isinstance(query, exp.Subquery) else query, "inner")
        columns = list(inner.scopes[0][1].values())
        values = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        if len(columns) != len(values):
            raise refuse("in_member", node)
        pairs = []
        for value, column in zip(values, columns):
            a, b = self.scalars(value), inner.ref(column)
            kind = common_type((a.facts, b.facts), "IN")
            pairs.append((as_type(a, kind), as_type(b, kind)))
        found = self.mark(inner, pairs, node)
        doubts = [] if id(node) in self.sure else self.doubts(inner, pairs, node)
        if not doubts:
            return found
        doubt = call("or", *doubts) if len(doubts) > 1 else doubts[0]
        return call("case", found, literal(True), doubt, null_of(Type.BOOLEAN), literal(False))

    def doubts(self, inner: Named, pairs: Pairs, node: exp.Expression) -> list[Expr]:
        """Where IN is NULL unless an equal is found: some row inside equals in all places but those NULL on either side."""
        catalog = self.relations.catalog
        places = range(len(pairs))
        keys = [] if inner.public else [i for i in places if key_named(pairs[i][0]) and key_named(pairs[i][0]) == key_named(pairs[i][1])]
        there = [i for i in keys if self.rows.there(pairs[i][0], catalog) and inner.there(pairs[i][1], catalog)]
        if not inner.public and not any(key_named(pairs[i][0]) == unit_key(catalog) for i in there) and (
            keys != there or any(pairs[i][1].facts.nullable for i in places if i not in there)
        ):
            raise refuse("nullable_in", node)
        ours = [i for i in places if i not in there and pairs[i][0].facts.nullable]
        theirs = [i for i in places if i not in there and pairs[i][1].facts.nullable]
        found = []
        for nulls in (n for size in places for n in itertools.combinations(sorted({*ours, *theirs}), size + 1)):
            for left in itertools.product(*((side for side, there_ in ((True, ours), (False, theirs)) if i in there_) for i in nulls)):
                found.append((tuple(i for i, here in zip(nulls, left) if here), tuple(i for i, here in zip(nulls, left) if not here)))
        if len(found) > DOUBTS_MAX:
            raise refuse("nullable_in", node)
        return [self.doubt(inner, pairs, node, *sides) for sides in found]
    def pair(self, term: exp.Expression, inner: Named) -> tuple[Expr, Expr]:
        """An equality between a row outside and a row inside."""
        if not isinstance(term, exp.EQ):
            raise refuse("correlated", term)
        inside = [all(inner.has(c) for c in side.find_all(exp.Column)) for side in (term.this, term.expression)]
        if sum(inside) != 1:
            raise refuse("correlated", term)
        ours, theirs = (term.expression, term.this) if inside[0] else (term.this, term.expression)
        a, b = self.scalars(ours), Scalars(inner.column, self.relations.clock)(theirs)
        kind = common_type((a.facts, b.facts), "=")
        return as_type(a, kind), as_type(b, kind)

    def mark(self, inner: Named, pairs: list[tuple[Expr, Expr]], node: exp.Expression, *, unknown: bool) -> Expr:
        catalog = self.relations.catalog
        if not inner.public:
            if self.rows.public:
                raise refuse("private_filter", node)
            linked = [(a, b) for a, b in pairs if key_named(a) and key_named(a) == key_named(b)]
            if not linked or not self.rows.stability.keyed or not inner.stability.keyed:
                raise refuse("join_unit", node)
            unit = unit_key(catalog)
            pairs = [(a, b) for a, b in pairs if not (key_named(a) == key_named(b) == unit)]
            if unknown and any(b.facts.nullable for _, b in pairs):
                raise refuse("nullable_in", node)
        elif not pairs:
            raise refuse("correlated", node)
        name = f"look_up{len(self.rows.facts.columns)}"
        made = Mark(self.rows.relation, inner.relation, tuple(pairs), name, unknown)
        self.rows = self.rows.over(made, catalog)
        return self.rows.ref(name)


class LookUpScalars(Scalars):
    """Expressions in which IN and EXISTS may look into a subquery."""

    def __init__(self, look_up: LookUp) -> None:
        super().__init__(look_up.column, look_up.relations.clock)
        self.look_up = look_up

    def __call__(self, node: exp.Expression) -> Expr:
        match node:
            case exp.In() if node.args.get("query") is not None:
                return self.look_up.membership(node)
            case exp.Exists():
                return self.look_up.exists(node)
            case exp.Subquery() if _reads_outside(node):
                raise refuse("correlated", node)
            case _:
                return super().__call__(node)


def _reads_outside(node: exp.Subquery) -> bool:
    """Whether a scalar subquery names a table alias that it does not define itself."""
    own = {t.alias_or_name for t in node.find_all(exp.Table)}
    return any(c.table and c.table not in own for c in node.find_all(exp.Column))
