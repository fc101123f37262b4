"""Syntax tree and catalog to a question; refuses what it cannot prove, before anything is spent."""

from __future__ import annotations

import datetime as dt
import math

from sqlglot import expressions as exp

from obverse.catalog.model import Catalog
from obverse.core.bounds import interval
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.aggregates import BY_NAME, EXPLAINED
from obverse.plan.expressions import ColumnFacts, Expr, Ref, canonical, domain
from obverse.plan.nodes import Key
from obverse.plan.question import AggregateCall, Order, Output, PublicQuestion, Question
from obverse.plan.relations import prune, reads
from obverse.sql.aggregates import aggregate_of
from obverse.sql.look_up import LookUp
from obverse.sql.named import Named
from obverse.sql.names import Aliases, folded, output_name, whole_number
from obverse.sql.parse import check_parts, parse, refuse
from obverse.sql.public import resolve_public
from obverse.sql.relations import Relations
from obverse.sql.scalars import Clock, Scalars

CELLS_MAX = 1 << 20
COUNT_MAX, SUM_MAX = 1 << 40, 1 << 61


def resolve(text: str, catalog: Catalog, now: dt.datetime) -> Question | PublicQuestion:
    """The question that the text asks, over the catalog's tables."""
    try:
        tree = parse(text)
        clock = Clock(now.replace(microsecond=0, tzinfo=None))
        relations = Relations(catalog, clock).within(tree)
        rows = relations.rows(tree)
        if rows.public:
            return resolve_public(tree, rows, clock)
        return _Private(tree, catalog, rows, relations).question()
    except Refused as refused:
        refused.located(text)
        raise
    except RecursionError:
        raise Refused("too_complex", "the question is too deeply nested.", fix="ask something simpler.") from None


class _Private:
    """A question about private rows, resolved clause by clause."""

    def __init__(self, tree: exp.Select, catalog: Catalog, rows: Named, relations: Relations) -> None:
        self.tree, self.catalog, self.clock = tree, catalog, relations.clock
        self.look_up = LookUp(relations, rows)
        self.keys: list[Key] = []
        self.aggregates: list[AggregateCall] = []
        self.aliases = Aliases(())
        self.rows = self.look_up.scalars
        self.post = Scalars(self.post_column, self.clock, self.post_aggregate, self.key_of)

    @property
    def named(self) -> Named:
        return self.look_up.rows

    def question(self) -> Question:
        tree = self.tree
        if tree.args.get("distinct"):
            raise refuse("distinct", tree.args["distinct"])
        self.aliases = Aliases(tree.expressions)
        self.group_by()
        outputs = tuple(self.output(e) for e in tree.expressions)
        if not self.aggregates:
            raise refuse("rows", tree, self.named.spoken) if not self.keys else refuse("no_aggregate", tree)
        if not any(self.reads_aggregate(o.expr) for o in outputs):
            raise refuse("no_aggregate", tree)
        having = self.condition(tree.args["having"]) if tree.args.get("having") else None
        order = tuple(self.order_term(o, outputs) for o in (tree.args["order"].expressions if tree.args.get("order") else ()))
        limit, offset = whole_number(tree.args.get("limit")), whole_number(tree.args.get("offset"))
        relation = prune(self.named.relation, self.reads())
        now = self.clock.moment.isoformat() if self.clock.read else None
        return Question(relation, tuple(self.keys), tuple(self.aggregates), outputs, having, order, limit, offset or 0, now)

    def reads(self) -> frozenset[str]:
        """Columns that keys and aggregates read."""
        return reads(*(key.expr for key in self.keys), *(a.argument for a in self.aggregates if a.argument is not None))

    def group_by(self) -> None:
        group = self.tree.args.get("group")
        if group is None:
            return
        if group.args.get("all") is not None:
            raise refuse("group_by_all")
        for clause in ("rollup", "cube", "grouping_sets", "totals"):
            if group.args.get(clause):
                raise refuse("grouping_sets", group, clause.replace("_", " ").upper())
        for node in group.expressions:
            self.keys.append(self.key(self.meant(node), node))
        if math.prod(key.cells for key in self.keys) > CELLS_MAX:
            raise refuse("key_size", group, f"{CELLS_MAX:,}")

    def meant(self, node: exp.Expression) -> exp.Expression:
        """What an ordinal or an alias in GROUP BY or ORDER BY stands for."""
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            place = int(node.this) if str(node.this).isdigit() else 0
            if not 1 <= place <= len(self.tree.expressions):
                raise refuse("expression", node, f"position {node.this}")
            chosen = self.tree.expressions[place - 1]
            return chosen.this if isinstance(chosen, exp.Alias) else chosen
        if isinstance(node, exp.Column) and not node.args.get("table"):
            if not self.named.has(node):
                return self.aliases(folded(node.this)) or node
        return node

    def key(self, meant: exp.Expression, written: exp.Expression) -> Key:
        expr = self.rows(meant)
        spoken = written.sql(dialect="duckdb")
        if expr.facts.identifies:
            raise refuse("unit_key", written, spoken)
        values = domain(expr.facts)
        if values is None:
            raise refuse("key", written, spoken)
        return Key(spoken, expr, values, expr.facts.nullable)

    def output(self, node: exp.Expression) -> Output:
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Star):
            raise refuse("rows", inner, self.named.spoken)
        name = folded(node.args["alias"]) if isinstance(node, exp.Alias) else output_name(inner)
        return Output(name, self.post(inner))

    def post_column(self, node: exp.Column) -> Expr:
        name = folded(node.this) if isinstance(node.this, exp.Identifier) else ""
        aliased = None if node.args.get("table") else self.aliases(name)
        if aliased is not None and not (isinstance(aliased, exp.Column) and folded(aliased.this) == name):
            return self.post(aliased)
        self.named.column(node)
        raise refuse("ungrouped", node, node.sql(dialect="duckdb"))

    def key_of(self, node: exp.Expression) -> Expr | None:
        """The key that the expression is, if it is one."""
        if not self.keys or isinstance(node, exp.Literal) or node.find(exp.AggFunc):
            return None
        before = self.look_up.rows
        try:
            text = canonical(self.rows(node))
        except Refused:
            return None
        finally:
            self.look_up.rows = before
        for n, key in enumerate(self.keys):
            if canonical(key.expr) == text:
                return Ref(f"key{n}", key.expr.facts)
        return None

    def post_aggregate(self, node: exp.Expression) -> Expr:
        """An aggregate of the question: shared when it stands twice."""
        made = aggregate_of(node, self.rows)
        for n, known in enumerate(self.aggregates):
            if known.identity == made.identity:
                return Ref(f"agg{n}", aggregate_facts(known))
        self.aggregates.append(made)
        return Ref(f"agg{len(self.aggregates) - 1}", aggregate_facts(made))

    def reads_aggregate(self, expr: Expr) -> bool:
        return "agg" in canonical(expr)

    def condition(self, node: exp.Expression) -> Expr:
        expr = self.post(node.this)
        if expr.facts.type is not Type.BOOLEAN:
            raise refuse("where", node)
        return expr

    def order_term(self, node: exp.Ordered, outputs: tuple[Output, ...]) -> Order:
        check_parts(node)
        inner = node.this
        if isinstance(inner, exp.Literal) and str(inner.this).isdigit() and 1 <= int(inner.this) <= len(outputs):
            expr = outputs[int(inner.this) - 1].expr
        else:
            named = [
                o
                for o in outputs
                if isinstance(inner, exp.Column) and not inner.args.get("table") and o.name == folded(inner.this)
            ]
            expr = named[0].expr if named else self.post(inner)
        return Order(expr, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def aggregate_facts(made: AggregateCall) -> ColumnFacts:
    if made.function in EXPLAINED:
        return ColumnFacts(Type.DOUBLE, nullable=False)
    kind = BY_NAME[made.function].type(made.argument)
    if kind is not Type.INTEGER:
        return ColumnFacts(kind, nullable=False)
    size = COUNT_MAX if made.function == "count" else SUM_MAX
    return ColumnFacts(kind, nullable=False, bounds=interval(-size, size))
