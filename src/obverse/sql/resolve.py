"""Syntax tree and catalog to a question; refuses what it cannot prove, before anything is spent.

GROUP BY: keys, and the sets of them that ROLLUP, CUBE and GROUPING SETS stand for.
"""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import replace
from fractions import Fraction

from sqlglot import expressions as exp

from obverse.catalog.model import Catalog
from obverse.core.bounds import interval
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan import expressions
from obverse.plan.aggregates import BY_NAME
from obverse.plan.functions import call
from obverse.plan.query import COUNT_MAX, AggregateCall, Order, Output, PublicQuestion, Question
from obverse.plan.relation import Cells, Key, Map, Scan
from obverse.plan.stability.derive import pruned, unit_key
from obverse.sql.aggregates import aggregate_of, is_aggregate
from obverse.sql.google.parse import Clause, bad, read_clause
from obverse.sql.google.query import Found, Gathered
from obverse.sql.joins import check_public
from obverse.sql.names import Aliases, Named, folded, meant, output_name, whole_number
from obverse.sql.parse import check_parts, parse, refuse, span_of
from obverse.sql.public import resolve_public
from obverse.sql.relations import LookUp, Relations
from obverse.sql.scalars import Clock, Scalars

SETS_MAX = 64
KEYS_MAX = 64
FORMS = ("rollup", "cube", "grouping_sets")
Nodes = tuple[exp.Expression, ...]


def grouping(group: exp.Group) -> tuple[list[exp.Expression], list[tuple[int, ...]]]:
    """The keys that GROUP BY names, each once, and the sets, as places among them. Plain GROUP BY is one set of all."""
    if group.args.get("all") is not None:
        raise refuse("group_by_all")
    if group.args.get("totals"):
        raise refuse("grouping_sets", group, "WITH TOTALS")
    if len(group.expressions) > KEYS_MAX:
        raise refuse("key_size", group, f"{KEYS_MAX} keys, or their")
    parts: list[list[Nodes]] = []
    for node in [*group.expressions, *(n for form in FORMS for n in group.args.get(form) or ())]:
        parts.append(_sets(node))
    found = [tuple(itertools.chain(*chosen)) for chosen in itertools.product(*parts)]
    if len(found) > SETS_MAX:
        raise refuse("key_size", group, f"{SETS_MAX} grouping sets")
    keys: dict[str, exp.Expression] = {}
    for chosen in found:
        for node in chosen:
            keys.setdefault(node.sql(dialect="duckdb"), node)
    order = list(keys)
    places = [tuple(sorted({order.index(node.sql(dialect="duckdb")) for node in chosen})) for chosen in found]
    return list(keys.values()), places


def _rollup(node: exp.Expression) -> list[Nodes]:
    """All, then one less from the right each time."""
    items = [_items(part) for part in node.expressions]
    if not items:
        raise refuse("grouping_sets", node, "WITH ROLLUP")
    return [tuple(itertools.chain(*items[:n])) for n in range(len(items), -1, -1)]


def _cube(node: exp.Expression) -> list[Nodes]:
    items = [_items(part) for part in node.expressions]
    if not items:
        raise refuse("grouping_sets", node, "WITH CUBE")
    if 2 ** len(items) > SETS_MAX:
        raise refuse("key_size", node, f"{SETS_MAX} grouping sets")
    chosen = itertools.product((True, False), repeat=len(items))
    return [tuple(itertools.chain(*(item for item, there in zip(items, mask) if there))) for mask in chosen]


def _sets(node: exp.Expression) -> list[Nodes]:
    if isinstance(node, exp.Rollup):
        return _rollup(node)
    if isinstance(node, exp.Cube):
        return _cube(node)
    if isinstance(node, exp.GroupingSets):
        return [chosen for part in node.expressions for chosen in _sets(part)]
    return [_items(node)]


def _items(node: exp.Expression) -> Nodes:
    """One expression, or several in parentheses."""
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)


CELLS_MAX = 1 << 20
GROUPING_MAX = 32  # keys, each a bit
CELLS_OF_A_KEY_MAX = 1 << 12  # public cells of each discovered key
# of which the answer is one of the values, or between them
CHOSEN = ("mode", "min", "max", "percentile_disc", "quantile_disc")
SUM_MAX = 1 << 61


def resolve(text: str, catalog: Catalog, now: dt.datetime, found: Found | None = None) -> Question | PublicQuestion:
    """The question that the text asks, over the catalog's tables; `found` are bounds that it leaves out."""
    try:
        clause, plain = read_clause(text)
        tree = parse(plain)
        clock = Clock(now.replace(microsecond=0, tzinfo=None))
        relations = Relations(catalog, clock).within(tree)
        rows = relations.rows(tree, public_groups=clause is not None and clause.public)
        if rows.public and clause is not None:
            raise bad(
                "nothing here is private, so WITH DIFFERENTIAL_PRIVACY has no meaning.", "leave it out.", clause.span
            )
        if rows.public:
            return resolve_public(tree, rows, clock)
        return _Private(tree, catalog, rows, relations, clause, found or {}).question()
    except Refused as refused:
        refused.located(text)
        raise
    except RecursionError:
        raise Refused("too_complex", "the question is too deeply nested.", fix="ask something simpler.") from None


class PostScalars(Scalars):
    """Expressions over keys and aggregates."""

    def resolve(self, node: exp.Expression) -> expressions.Expr:
        if isinstance(node, exp.Grouping | exp.GroupingId):
            return self.left_out(node.expressions)
        return self.aggregated(node) if is_aggregate(node) else super().resolve(node)

    def left_out(self, nodes: list[exp.Expression]) -> expressions.Expr:
        """GROUPING: a bit for each key, 1 in subtotals that leave it out."""
        if len(nodes) > GROUPING_MAX:
            raise refuse("clause", nodes[0], f"GROUPING of more than {GROUPING_MAX} keys")
        found: expressions.Expr = expressions.literal(0)
        for place, node in enumerate(reversed(nodes)):
            key = self(node)
            if not isinstance(key, expressions.KeyRef):
                raise refuse("ungrouped", node, node.sql(dialect="duckdb"))
            bit = expressions.GroupingRef(
                key.index, expressions.ColumnFacts(Type.INTEGER, False, interval(0, 1), Fraction(1))
            )
            found = call("add", found, call("multiply", bit, expressions.literal(1 << place)))
        return found


class _Private:
    """A question about private rows, resolved clause by clause."""

    def __init__(
        self, tree: exp.Select, catalog: Catalog, rows: Named, relations: Relations, clause: Clause | None, found: Found
    ) -> None:
        self.tree = tree
        self.catalog = catalog
        self.clock = relations.clock
        self.gathered = None if clause is None else Gathered(clause, rows, catalog, found)
        self.look_up = LookUp(relations, rows)
        self.keys: list[Key] = []
        self.sets: tuple[tuple[int, ...], ...] = ()
        self.aggregates: list[AggregateCall] = []
        self.aliases = Aliases(())
        self.rows = self.look_up.scalars
        self.post = PostScalars(self.post_column, self.clock, self.post_aggregate, self.key_of)

    @property
    def named(self) -> Named:
        return self.look_up.rows

    def question(self) -> Question:
        tree = self.tree
        if tree.args.get("distinct") and tree.args["distinct"].args.get("on"):
            raise refuse("clause", tree.args["distinct"], "DISTINCT ON")
        self.aliases = Aliases(tree.expressions)
        self.group_by()
        if tree.args.get("distinct") and not self.keys and not any(e.find(exp.AggFunc) for e in tree.expressions):
            self.distinct_keys()
        outputs = tuple(self.output(e) for e in tree.expressions)
        if not self.aggregates and not self.keys:
            raise refuse("rows", tree, self.named.spoken)
        if not self.aggregates and (self.gathered is not None or not tree.args.get("distinct")):
            raise refuse("no_aggregate", tree)
        if not self.aggregates and any(key.domain is None for key in self.keys):
            raise refuse("distinct", tree.args["distinct"])
        if self.aggregates and not any(self.reads_aggregate(o.expr) for o in outputs):
            raise refuse("no_aggregate", tree)
        having = self.condition(tree.args["having"]) if tree.args.get("having") else None
        order = tuple(
            self.order_term(o, outputs) for o in (tree.args["order"].expressions if tree.args.get("order") else ())
        )
        limit = whole_number(tree.args.get("limit"))
        offset = whole_number(tree.args.get("offset"))
        now = self.clock.moment.isoformat() if self.clock.read else None
        asked = Question(
            self.named.relation,
            tuple(self.keys),
            tuple(self.aggregates),
            outputs,
            having,
            order,
            limit,
            offset or 0,
            now,
            self.sets,
            bool(tree.args.get("distinct")),
        )
        check_public(asked.relation, self.catalog, tree)
        if asked.listing:
            self.check_declared()
        return pruned(asked if self.gathered is None else self.gathered.question(asked))

    def check_declared(self) -> None:
        """Refuse a list of declared values among which rows would choose: it is made without reading any."""
        relation = self.named.relation
        while isinstance(relation, Map):
            relation = relation.child
        where = self.tree.args.get("where")
        if where:
            raise refuse("distinct_of_rows", where if span_of(where) else self.tree, "WHERE")
        if not isinstance(relation, Scan):
            raise refuse("distinct_of_rows", self.tree.args["from_"], "a join or a subquery")

    def group_by(self) -> None:
        group = self.tree.args.get("group")
        if group is None:
            return
        nodes, sets = grouping(group)
        if not nodes and len(sets) > 1:
            raise refuse("grouping_sets", group, "the same total several times")
        for node in nodes:
            self.keys.append(self.key(meant(node, self.tree.expressions, self.aliases, self.named.has), node))
        if len(sets) > 1 or len(sets[0]) < len(nodes):
            hidden = [node for node, key in zip(nodes, self.keys) if key.domain is None]
            if hidden:
                raise refuse("grouping_sets", hidden[0], f"a subtotal over {hidden[0].sql(dialect='duckdb')}")
            self.sets = tuple(sets)
        public = tuple(key for key in self.keys if key.domain is not None)
        most = CELLS_MAX if len(public) == len(self.keys) else CELLS_OF_A_KEY_MAX
        if Cells(public, self.sets or (tuple(range(len(public))),)).count > most:
            raise refuse("key_size", group, f"{most:,}")

    def distinct_keys(self) -> None:
        """SELECT DISTINCT of plain expressions groups by them."""
        for node in self.tree.expressions:
            inner = node.this if isinstance(node, exp.Alias) else node
            if isinstance(inner, exp.Star):
                raise refuse("rows", inner, self.named.spoken)
            self.keys.append(self.key(inner, inner))

    def key(self, meant: exp.Expression, written: exp.Expression) -> Key:
        expr = self.rows(meant)
        spoken = written.sql(dialect="duckdb")
        if expr.facts.identifies:
            raise refuse("unit_key", written, spoken)
        values = (
            expressions.domain(expr.facts)
            if self.gathered is None
            else self.gathered.domain(expr, spoken, span_of(written))
        )
        return Key(spoken, expr, values, expr.facts.nullable)

    def output(self, node: exp.Expression) -> Output:
        inner = node.this if isinstance(node, exp.Alias) else node
        if isinstance(inner, exp.Star):
            raise refuse("rows", inner, self.named.spoken)
        name = folded(node.args["alias"]) if isinstance(node, exp.Alias) else output_name(inner)
        return Output(name, self.post(inner))

    def post_column(self, node: exp.Column) -> expressions.Expr:
        name = folded(node.this) if isinstance(node.this, exp.Identifier) else ""
        aliased = None if node.args.get("table") else self.aliases(name)
        if aliased is not None and not (isinstance(aliased, exp.Column) and folded(aliased.this) == name):
            return self.post(aliased)
        self.named.column(node)
        raise refuse("ungrouped", node, node.sql(dialect="duckdb"))

    def key_of(self, node: exp.Expression) -> expressions.Expr | None:
        """The key that the expression is, if it is one."""
        if not self.keys or isinstance(node, exp.Literal) or node.find(exp.AggFunc):
            return None
        before = self.look_up.rows
        try:
            text = expressions.canonical(self.rows(node))
        except Refused:
            return None
        finally:
            self.look_up.rows = before
        for n, key in enumerate(self.keys):
            if expressions.canonical(key.expr) == text:
                return expressions.KeyRef(n, key.expr.facts)
        return None

    def post_aggregate(self, node: exp.Expression) -> expressions.Expr:
        """An aggregate of the question: shared when it stands twice."""
        made = aggregate_of(node, self.rows)
        unit = unit_key(self.catalog)
        if (
            made.function == "count_distinct"
            and made.argument is not None
            and unit
            and expressions.key_named(made.argument) == unit
        ):
            made = replace(made, function="count_units")
        if self.gathered is not None:
            made = self.gathered.aggregate(made)
        for n, known in enumerate(self.aggregates):
            if known.identity == made.identity:
                return expressions.AggregateRef(n, aggregate_facts(known))
        self.aggregates.append(made)
        return expressions.AggregateRef(len(self.aggregates) - 1, aggregate_facts(made))

    def reads_aggregate(self, expr: expressions.Expr) -> bool:
        return bool(expressions.aggregates_in(expr))

    def condition(self, node: exp.Expression) -> expressions.Expr:
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


def aggregate_facts(made: AggregateCall) -> expressions.ColumnFacts:
    kind = BY_NAME[made.function].type(made)
    if kind is not Type.INTEGER:
        return expressions.ColumnFacts(kind, nullable=False)
    if made.argument is not None and made.function in CHOSEN:
        return expressions.ColumnFacts(kind, nullable=False, bounds=made.argument.facts.bounds)
    size = COUNT_MAX if made.function in ("count", "count_distinct", "count_units", "regr_count") else SUM_MAX
    return expressions.ColumnFacts(kind, nullable=False, bounds=interval(-size, size))
