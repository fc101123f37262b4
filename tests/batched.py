"""Many small databases in one job: an emitted text over tables that hold them all, told apart by a column of their own.

Every SELECT passes the database's number on, groups and ranks by it, and joins by it. Public tables and written lists
belong to all. What each database gives is what the text gives on it alone; only a sum over no rows is left out, where
it would be a 0.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlglot
from sqlglot import exp

DB = "database_number"
WHOLE = (exp.AggFunc, exp.Sum, exp.Count, exp.Min, exp.Max)


def batched(sql: str, private: Collection[str], dialect: str) -> str:
    """The text over tables of which the private ones have the column DB."""
    tree = sqlglot.parse_one(sql, dialect=dialect)
    return Batch(frozenset(private)).query(tree).sql(dialect=dialect)


class Batch:
    def __init__(self, private: frozenset[str]) -> None:
        self.private = private
        self.common: set[str] = set()

    def query(self, tree: exp.Expression) -> exp.Expression:
        self.told(tree)
        return tree

    def told(self, tree: exp.Expression) -> bool:
        """Rewrite a query; whether its rows tell their database."""
        with_ = tree.args.get("with_") or tree.args.get("with")
        for common in with_.expressions if with_ is not None else ():
            if self.told(common.this):
                self.common.add(common.alias)
        if isinstance(tree, exp.Union):
            sides = [self.told(tree.left), self.told(tree.right)]
            assert sides[0] == sides[1], "sides of a union are alike"
            return sides[0]
        if isinstance(tree, exp.Subquery):
            return self.told(tree.this)
        assert isinstance(tree, exp.Select), type(tree)
        return self.select(tree)

    def select(self, tree: exp.Select) -> bool:
        from_ = tree.args.get("from_") or tree.args.get("from")
        if from_ is None:
            return False
        first = self.source(from_.this)
        alias = from_.this.alias_or_name if first else ""
        for join in tree.args.get("joins") or ():
            other = self.source(join.this)
            if other and alias:
                self.joined(join, alias, join.this.alias_or_name)
            alias = alias or (join.this.alias_or_name if other else "")
        self.inner(tree, alias)
        if not alias:
            return False
        number = exp.column(DB, table=alias)
        using = any(join.args.get("using") for join in tree.args.get("joins") or ())
        full = any(join.side == "FULL" for join in tree.args.get("joins") or ())
        if full:
            sides = [alias, *(join.this.alias_or_name for join in tree.args["joins"])]
            number = exp.func("COALESCE", *(exp.column(DB, table=side) for side in sides))
        if using:
            number = exp.column(DB)
        stars = [item for item in tree.expressions if isinstance(item, exp.Star)]
        grouped = tree.args.get("group")
        adds = any(
            isinstance(node, exp.AggFunc) and node.find_ancestor(exp.Window, exp.Select) is tree
            for item in tree.expressions
            for node in item.find_all(exp.AggFunc)
        )
        for window in (w for item in tree.expressions for w in item.find_all(exp.Window)):
            if window.find_ancestor(exp.Select) is tree:
                window.set("partition_by", [*(window.args.get("partition_by") or []), number.copy()])
        if grouped is not None or adds:
            tree.group_by(number.copy(), copy=False)
        if not stars:
            tree.select(exp.alias_(number.copy(), DB), copy=False)
        return True

    def inner(self, tree: exp.Select, alias: str) -> None:
        """Subqueries in conditions and among the values."""
        for node in list(tree.find_all(exp.In, exp.Exists)):
            if node.find_ancestor(exp.Select) is not tree:
                continue
            inside = node.args.get("query") if isinstance(node, exp.In) else node.this
            if inside is None:
                continue
            query = inside.this if isinstance(inside, exp.Subquery) else inside
            told = self.told(query)
            if not told or not alias:
                continue
            if isinstance(node, exp.In):
                node.set("this", exp.Tuple(expressions=[node.this.copy(), exp.column(DB, table=alias)]))
            else:
                query_alias = (query.args.get("from_") or query.args.get("from")).this.alias_or_name
                same = exp.EQ(this=exp.column(DB, table=query_alias), expression=exp.column(DB, table=alias))
                query.where(same, copy=False)

    def joined(self, join: exp.Join, left: str, right: str) -> None:
        if join.args.get("using"):
            join.set("using", [*join.args["using"], exp.to_identifier(DB)])
            return
        same = exp.EQ(this=exp.column(DB, table=left), expression=exp.column(DB, table=right))
        on = join.args.get("on")
        join.set("on", same if on is None else exp.and_(same, exp.paren(on)))

    def source(self, source: exp.Expression) -> bool:
        if isinstance(source, exp.Table):
            return source.name in self.private or source.name in self.common
        if isinstance(source, exp.Subquery):
            return False if isinstance(source.this, exp.Values) else self.told(source.this)
        return False
