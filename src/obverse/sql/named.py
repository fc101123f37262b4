"""A relation with the names that SQL knows its columns by."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import expressions as exp

from obverse.catalog.model import Catalog
from obverse.core.sensitivity import Stability
from obverse.plan.expressions import Expr, Ref, key_named, null_of
from obverse.plan.facts import Facts
from obverse.plan.functions import call
from obverse.plan.nodes import Filter, Join, JoinKind, Listed, Map, Mark, Reduce, Relation, Scan, Trim, Union
from obverse.plan.stability.derive import facts_of, names, reads, unit_key
from obverse.sql.meant import column_instead
from obverse.sql.names import by_name, folded
from obverse.sql.parse import refuse


@dataclass(frozen=True, slots=True)
class Named:
    """Rows of FROM: the relation, its facts, and for each alias the relation's column behind each name.

    `merged` are columns that USING made one of two; they are found by their bare name only.
    """

    relation: Relation
    facts: Facts
    scopes: tuple[tuple[str, dict[str, str]], ...]
    merged: dict[str, Expr] = field(default_factory=dict)

    @property
    def public(self) -> bool:
        return self.facts.stability is None

    @property
    def stability(self) -> Stability:
        assert self.facts.stability is not None
        return self.facts.stability

    @property
    def spoken(self) -> str:
        return ", ".join(alias for alias, _ in self.scopes)

    def over(self, relation: Relation, catalog: Catalog) -> Named:
        """The same names over a relation that keeps the columns."""
        return Named(relation, facts_of(relation, catalog), self.scopes, self.merged)

    def has(self, node: exp.Column) -> bool:
        return bool(self._found(node))

    def column(self, node: exp.Column) -> Expr:
        """The column that is meant; refuses a name that is not there or stands for two."""
        if isinstance(node.this, exp.Star):
            raise refuse("rows", node, self.spoken)
        found = self._found(node)
        if not found:
            what = node.sql(dialect="duckdb") if node.args.get("table") else node.name
            raise refuse("undeclared_column", node, what, column_instead(node, self._names(node)))
        if len(found) > 1:
            raise refuse("ambiguous", node, node.name)
        return found[0]

    def _found(self, node: exp.Column) -> list[Expr]:
        if node.args.get("db") or node.args.get("catalog"):
            return []
        asked = folded(node.args["table"]) if node.args.get("table") else None
        if asked is None:
            name = by_name(node.this, self.merged)
            if name is not None:
                return [self.merged[name]]
        found: list[Expr] = []
        for alias, columns in self.scopes:
            if asked is None or alias == asked:
                name = by_name(node.this, columns)
                if name is not None:
                    found.append(self.ref(columns[name]))
        return found

    def _names(self, node: exp.Column) -> list[str]:
        """The columns that the name of a column could have meant."""
        asked = folded(node.args["table"]) if node.args.get("table") else None
        return [name for alias, columns in self.scopes if asked is None or alias == asked for name in columns]

    def there(self, key: Expr, catalog: Catalog) -> bool:
        """Whether a unit's key surely has a value in every row: no outer join may have left it NULL."""
        return not key.facts.nullable or _some_there(self.relation, reads(key), catalog)

    def own_value(self, key: Expr, catalog: Catalog) -> Expr:
        """A key of a group: the unit's, where an outer join may have left it NULL, as a value like any other."""
        if key_named(key) != unit_key(catalog) or not unit_key(catalog) or self.there(key, catalog):
            return key
        return call("case", call("is_null", key), null_of(key.facts.type), key)

    def ref(self, name: str) -> Ref:
        return Ref(name, self.facts.columns[name])

    def all_columns(self, alias: str | None = None) -> list[tuple[str, Expr]]:
        """What * stands for, or alias.*: every column once."""
        found = list(self.merged.items()) if alias is None else []
        for scope, columns in self.scopes:
            if alias is None or scope == alias:
                found += [(n, self.ref(c)) for n, c in columns.items() if alias is not None or n not in self.merged]
        return found

    def qualified(self, catalog: Catalog) -> Named:
        """The same with column names that no other side of a join has."""
        ((alias, columns),) = self.scopes
        before = alias.replace("\\", "\\\\").replace(".", "\\.")  # so that one dot parts alias and column
        named = {name: f"{before}.{name}" for name in columns}
        relation = Map(self.relation, tuple((named[name], self.ref(column)) for name, column in columns.items()))
        return Named(relation, facts_of(relation, catalog), ((alias, named),))


def _some_there(relation: Relation, keys: frozenset[str], catalog: Catalog) -> bool:
    """Whether in each row one of the columns, which are keys, has a value. Rows without a unit are not read."""
    match relation:
        case Scan(name):
            unit = catalog.tables[name].unit
            return unit is not None and unit.column in keys
        case Listed():
            return False
        case Filter(child) | Trim(child) | Mark(child):
            return _some_there(child, keys, catalog)
        case Map(child, columns):
            return _some_there(child, reads(*(expr for name, expr in columns if name in keys)), catalog)
        case Reduce(child, columns):
            return _some_there(child, reads(*(expr for name, expr in columns if name in keys)), catalog)
        case Union(children):
            return all(_some_there(child, keys, catalog) for child in children)
        case Join(left, right, kind):
            here, there = (_some_there(side, keys & names(side), catalog) for side in (left, right))
            return here and there if kind is JoinKind.FULL else here or (there and kind is JoinKind.INNER)
