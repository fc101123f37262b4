"""Names in SQL: folding, look-up, and what an output is called.

What was probably meant by a name that is not there: the nearest of those that everybody here may know.

A relation with the names that SQL knows its columns by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sqlglot import expressions as exp

from obverse.catalog.keys import nearest
from obverse.catalog.model import Catalog
from obverse.core.errors import Refused
from obverse.core.sensitivity import Stability
from obverse.plan.aggregates import AGGREGATES
from obverse.plan.expressions import Expr, Ref, key_named, null_of
from obverse.plan.functions import FUNCTIONS, call
from obverse.plan.relation import Facts, Filter, Join, JoinKind, Listed, Map, Mark, Reduce, Relation, Scan, Trim, Union
from obverse.plan.stability.derive import facts_of, names, reads, unit_key
from obverse.sql.parse import check_parts, refuse

LENGTH_MAX = 64  # of a name that is compared: longer ones cost time and are no slips
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def instead(name: str, names: Iterable[str]) -> str:
    """A question that offers the nearest name as SQL writes it, or nothing."""
    close = _close(name, names)
    return f"Did you mean {written(close)}?" if close else ""


def column_instead(node: exp.Column, names: Iterable[str]) -> str:
    """The same for a column; also for a name that needs quotes and for text that has none."""
    known = list(names)
    name = node.name
    begun = [
        one for one in known if not PLAIN.fullmatch(one) and re.match(rf"{re.escape(name)}[^A-Za-z0-9_]", one, re.I)
    ]
    if len(name) <= LENGTH_MAX and begun:
        return f"A name with other signs than letters stands in double quotes: {written(begun[0])}."
    hint = instead(name, known)
    if not hint and _stands_for_text(node):
        return "Text stands in single quotes."
    return hint


def _stands_for_text(node: exp.Column) -> bool:
    """Whether it is compared with something that is no text itself: sex = Male."""
    around = node.parent
    if node.args.get("table") or not isinstance(around, exp.EQ | exp.NEQ | exp.In):
        return False
    return around.this is not node if isinstance(around, exp.In) else not isinstance(around.expression, exp.Literal)


def function_instead(name: str) -> str:
    spoken = " ".join([*(one.spoken for one in AGGREGATES), *(one.spoken or one.name for one in FUNCTIONS)])
    close = _close(name, re.findall(r"\b([A-Z_0-9]+)\(", spoken))
    return f"Did you mean {close}?" if close else ""


def _close(name: str, names: Iterable[str]) -> str | None:
    return nearest(name, names, cutoff=0.7) if len(name) <= LENGTH_MAX else None


def written(name: str) -> str:
    """The name as SQL writes it."""
    if PLAIN.fullmatch(name):
        return name
    return '"' + name.replace('"', '""') + '"'


COPIED_MAX = 5_000
SPOKEN = {  # what the parser calls by a word that nobody writes
    "datediff": "date_diff", "timestamp_trunc": "date_trunc", "date_from_parts": "make_date", "time_to_unix": "epoch",
    "unix_to_time": "to_timestamp", "time_to_str": "strftime", "str_position": "strpos", "variance_pop": "var_pop",
}  # fmt: skip


def folded(identifier: exp.Identifier) -> str:
    name = str(identifier.name)
    return name if identifier.args.get("quoted") else name.lower()


def by_name(identifier: exp.Identifier, declared: Iterable[str]) -> str | None:
    """The declared name that is meant: quoted exactly, unquoted whatever its case."""
    names = list(declared)
    written = str(identifier.name)
    if identifier.args.get("quoted"):
        return written if written in names else None
    matches = [n for n in names if n.lower() == written.lower()]
    if written.lower() in matches:
        return written.lower()
    return matches[0] if len(matches) == 1 else None


class Aliases:
    """What the names of outputs stand for. Each use is a copy, and copies of copies double: their size is bounded."""

    def __init__(self, outputs: Iterable[exp.Expression]) -> None:
        self._meant = {folded(e.args["alias"]): e.this for e in outputs if isinstance(e, exp.Alias)}
        self._copied = 0

    def __call__(self, name: str) -> exp.Expression | None:
        found = self._meant.get(name)
        if found is not None:
            self._copied += sum(1 for _ in found.walk())
            if self._copied > COPIED_MAX:
                raise Refused("too_complex", "names of outputs are used too often.", fix="write the expressions out.")
        return found


def meant(
    node: exp.Expression, outputs: list[exp.Expression], aliases: Aliases, has: Callable[[exp.Column], bool]
) -> exp.Expression:
    """What an ordinal or an alias in GROUP BY stands for; a column of the rows before an alias of the same name."""
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        place = int(node.this) if str(node.this).isdigit() else 0
        if not 1 <= place <= len(outputs):
            raise refuse("expression", node, f"position {node.this}")
        chosen = outputs[place - 1]
        return chosen.this if isinstance(chosen, exp.Alias) else chosen
    if isinstance(node, exp.Column) and not node.args.get("table") and not has(node):
        return aliases(folded(node.this)) or node
    return node


def check_apart(names: list[str], node: exp.Expression) -> None:
    """Columns are told apart whatever the case of their names, as DuckDB does."""
    alike = [name.lower() for name in names]
    for name in names:
        if alike.count(name.lower()) > 1:
            raise refuse("ambiguous", node, name)


def output_name(node: exp.Expression) -> str:
    """The name PostgreSQL would give an output without an alias."""
    if isinstance(node, exp.Column):
        return folded(node.this)
    if isinstance(node, exp.Filter | exp.Paren | exp.WithinGroup):
        return output_name(node.this)
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    if not isinstance(node, exp.Func) or isinstance(node, exp.Case | exp.Cast):
        return "column"
    name = str(node.sql_name()).lower()
    return SPOKEN.get(name, name)


def function_name(node: exp.Expression) -> str:
    """A function as it is called, as far as the parser remembers."""
    if isinstance(node, exp.Anonymous):
        return str(node.this)
    return str(node.sql_name()).lower() if isinstance(node, exp.Func) else str(node.key).upper()


def whole_number(node: exp.Expression | None) -> int | None:
    """The literal of a LIMIT or OFFSET."""
    if node is None:
        return None
    inner = node.expression
    if isinstance(inner, exp.Cast) and inner.to.this in exp.DataType.INTEGER_TYPES:  # as drivers write a parameter
        inner = inner.this
    if isinstance(inner, exp.Subquery | exp.Select):
        raise refuse("subquery", inner)
    if not isinstance(inner, exp.Literal) or inner.args.get("is_string") or not str(inner.this).isdigit():
        raise refuse("limit", node)
    check_parts(node)
    return min(int(inner.this), 1 << 40)


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
