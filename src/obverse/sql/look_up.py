"""IN and EXISTS: rows that look into others, of the same unit or of public tables; each look-up adds one truth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import expressions as exp

from obverse.core.types import Type
from obverse.plan.expressions import Expr, key_named, literal, null_of
from obverse.plan.functions import call
from obverse.plan.functions.base import common_type
from obverse.plan.nodes import Filter, Mark
from obverse.plan.stability.derive import unit_key, unused
from obverse.sql.named import Named
from obverse.sql.names import whole_number
from obverse.sql.parse import refuse
from obverse.sql.scalars import Scalars

if TYPE_CHECKING:
    from obverse.sql.relations import Relations

    Pairs = Sequence[tuple[Expr, Expr]]

DOUBTS_MAX = 8  # look-ups that one IN may need to tell NULL from FALSE
EQUAL, OURS, THEIRS = "equal", "NULL outside", "NULL inside"


def as_type(expr: Expr, kind: Type) -> Expr:
    return expr if expr.facts.type is kind else call(f"to_{kind.value}", expr)


def sure(where: exp.Expression) -> frozenset[int]:
    """Those IN of a WHERE for which NULL is as good as FALSE: nothing but AND and OR stands above them."""
    where = where.unnest()
    if isinstance(where, exp.And | exp.Or):
        return frozenset(found for part in where.flatten() for found in sure(part))
    return frozenset((id(where),)) if isinstance(where, exp.In) else frozenset()


class LookUp:
    """Rows whose expressions may look into others by IN and EXISTS; each look-up adds one truth to the rows.

    `sure` are the IN for which NULL is as good as FALSE.
    """

    def __init__(self, relations: Relations, rows: Named, sure: frozenset[int] = frozenset()) -> None:
        self.relations, self.rows, self.sure = relations, rows, sure
        self.scalars = LookUpScalars(self)

    def column(self, node: exp.Column) -> Expr:
        return self.rows.column(node)

    def membership(self, node: exp.In) -> Expr:
        """x IN (SELECT y ...): TRUE where an equal is found, NULL where a NULL on either side may be one, else FALSE."""
        query = node.args["query"]
        if _reads_outside(query):
            raise refuse("correlated", node)
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
        """Each way in which a row inside equals but for NULLs. Only rows of the same unit may be asked, or public ones."""
        ways = [
            (EQUAL, *((OURS,) if self.may_be_null(a, self.rows) else ()), *((THEIRS,) if self.may_be_null(b, inner) else ()))
            for a, b in pairs
        ]
        linked = any(way == (EQUAL,) and key_named(a) and key_named(a) == key_named(b) for way, (a, b) in zip(ways, pairs))
        if math.prod(map(len, ways)) > DOUBTS_MAX or not (linked or inner.public):
            raise refuse("nullable_in", node)
        return [self.doubt(inner, pairs, way, node) for way in list(itertools.product(*ways))[1:]]

    def may_be_null(self, expr: Expr, rows: Named) -> bool:
        return expr.facts.nullable and not (key_named(expr) and rows.there(expr, self.relations.catalog))

    def doubt(self, inner: Named, pairs: Pairs, way: Sequence[str], node: exp.Expression) -> Expr:
        nulls = [call("is_null", b) for (_, b), how in zip(pairs, way) if how == THEIRS]
        if nulls:
            inner = inner.over(Filter(inner.relation, _all(nulls)), self.relations.catalog)
        found = self.mark(inner, [pair for pair, how in zip(pairs, way) if how == EQUAL], node)
        return _all([*(call("is_null", a) for (a, _), how in zip(pairs, way) if how == OURS), found])

    def exists(self, node: exp.Exists) -> Expr:
        """EXISTS (SELECT ... WHERE inner = outer AND ...)."""
        tree = node.this.this if isinstance(node.this, exp.Subquery) else node.this
        if not isinstance(tree, exp.Select) or tree.args.get("group") or tree.args.get("having") or tree.args.get("with_"):
            raise refuse("correlated", node)
        if any(isinstance(e, exp.AggFunc) for output in tree.expressions for e in output.walk()):
            raise refuse("clause", node, "an aggregate in EXISTS")
        if whole_number(tree.args.get("limit")) == 0 or whole_number(tree.args.get("offset")):
            raise refuse("clause", node, "LIMIT 0 or OFFSET in EXISTS")
        own, pairs = [], []
        inner = self.relations.joined(tree)
        where = tree.args.get("where")
        terms = [] if where is None else list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        for term in terms:
            plain = term.unnest()
            if all(inner.has(c) for c in plain.find_all(exp.Column)):
                own.append(plain)
            else:
                pairs.append(self.pair(plain, inner))
        if own:
            inner = self.relations.filtered(inner, exp.and_(*own) if len(own) > 1 else own[0])
        if inner.public and not pairs:
            raise refuse("correlated", node)
        return self.mark(inner, pairs, node)

    def pair(self, term: exp.Expression, inner: Named) -> tuple[Expr, Expr]:
        """An equality between a row outside and a row inside."""
        if not isinstance(term, exp.EQ):
            raise refuse("correlated", term)
        inside = [all(inner.has(c) for c in side.find_all(exp.Column)) for side in (term.this, term.expression)]
        ours, theirs = (term.expression, term.this) if inside[0] else (term.this, term.expression)
        if sum(inside) != 1 or any(inner.has(c) for c in ours.find_all(exp.Column)):  # a name inside hides the same outside
            raise refuse("correlated", term)
        a, b = self.scalars(ours), Scalars(inner.column, self.relations.clock)(theirs)
        kind = common_type((a.facts, b.facts), "=")
        return as_type(a, kind), as_type(b, kind)

    def mark(self, inner: Named, pairs: Pairs, node: exp.Expression) -> Expr:
        """Whether a row inside equals in all pairs; the same look-up twice is one."""
        catalog = self.relations.catalog
        if not inner.public:
            if self.rows.public:
                raise refuse("private_filter", node)
            linked = [(a, b) for a, b in pairs if key_named(a) and key_named(a) == key_named(b)]
            if not linked or not self.rows.stability.keyed or not inner.stability.keyed:
                raise refuse("join_unit", node)
            pairs = [(a, b) for a, b in pairs if not self.of_unit(a, b, inner)]
        known = self.rows.relation
        while isinstance(known, Mark):
            if known.right == inner.relation and known.on == tuple(pairs):
                return self.rows.ref(known.name)
            known = known.left
        name = unused(f"look_up{len(self.rows.facts.columns)}", self.rows.facts.columns)
        self.rows = self.rows.over(Mark(self.rows.relation, inner.relation, tuple(pairs), name, unknown=False), catalog)
        return self.rows.ref(name)

    def of_unit(self, a: Expr, b: Expr, inner: Named) -> bool:
        """Whether the equality says no more than that both rows are of the same unit, which is always asked."""
        catalog = self.relations.catalog
        return key_named(a) == key_named(b) == unit_key(catalog) and self.rows.there(a, catalog) and inner.there(b, catalog)


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


def _all(terms: Sequence[Expr]) -> Expr:
    return call("and", *terms) if len(terms) > 1 else terms[0]


def _reads_outside(node: exp.Expression) -> bool:
    """Whether a subquery names a table alias that it does not define itself."""
    own = {t.alias_or_name.lower() for t in node.find_all(exp.Table, exp.Subquery, exp.Values, exp.Unnest)}
    return any(c.table and c.table.lower() not in own for c in node.find_all(exp.Column))
