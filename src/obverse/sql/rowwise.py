"""Whether a view's definition gives each row from one row of its base: projection, a filter by the row itself, and
casts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from obverse.core.relation import OTHER, Relation

LISTED: tuple[type[exp.Expression], ...] = (
    exp.Paren,
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.And,
    exp.Or,
    exp.Not,
    exp.Case,
    exp.If,
    exp.Is,
    exp.In,
    exp.Between,
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Coalesce,
    exp.Neg,
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.IntDiv,
    exp.Mod,
    exp.DPipe,
    exp.Like,
    exp.ILike,
    exp.Nullif,
    exp.Greatest,
    exp.Least,
    exp.Abs,
    exp.Round,
    exp.Floor,
    exp.Ceil,
    exp.Sign,
    exp.Lower,
    exp.Upper,
    exp.Trim,
    exp.Length,
    exp.Substring,
    exp.Left,
    exp.Right,
    exp.Concat,
    exp.Replace,
    exp.Extract,
    exp.Year,
    exp.Month,
    exp.Day,
    exp.Array,
    exp.Any,
    exp.SplitPart,
    exp.StartsWith,
    exp.EndsWith,
    exp.Contains,
    exp.DateTrunc,
    exp.TimestampTrunc,
    exp.DateDiff,
    exp.TimeToStr,
    exp.ToDays,
    exp.AtTimeZone,
    exp.RegexpLike,
    exp.RegexpILike,
    exp.StrPosition,
    exp.Trunc,
    exp.Pow,
    exp.Sqrt,
    exp.Exp,
    exp.Ln,
    exp.BitwiseAnd,
    exp.BitwiseOr,
    exp.BitwiseXor,
    exp.BitwiseNot,
    exp.RegexpReplace,
    exp.RegexpExtract,
)
NAMED = {  # functions of the row alone that have no class of their own everywhere
    "duckdb": {
        "date_part",
        "date_trunc",
        "year",
        "month",
        "day",
        "quarter",
        "week",
        "hour",
        "minute",
        "second",
        "lower",
        "upper",
        "trim",
        "ltrim",
        "rtrim",
        "length",
        "substring",
        "substr",
        "replace",
        "abs",
        "round",
        "floor",
        "ceil",
        "ceiling",
        "trunc",
        "sign",
        "left",
        "right",
        "concat",
        "strftime",
        "try_strptime",
        "contains",
        "starts_with",
        "prefix",
        "suffix",
        "to_years",
        "to_months",
        "to_hours",
        "to_minutes",
        "to_seconds",
    },
    "postgres": {
        "date_part",
        "date_trunc",
        "lower",
        "upper",
        "btrim",
        "ltrim",
        "rtrim",
        "length",
        "char_length",
        "substring",
        "substr",
        "replace",
        "abs",
        "round",
        "floor",
        "ceil",
        "ceiling",
        "trunc",
        "sign",
        "left",
        "right",
        "concat",
        "strpos",
        "starts_with",
    },
}
TYPES = frozenset(
    "BOOLEAN TINYINT SMALLINT INT BIGINT INT128 UTINYINT USMALLINT UINT UBIGINT UINT128 FLOAT DOUBLE DECIMAL TEXT "
    "VARCHAR CHAR "
    "NCHAR NVARCHAR BPCHAR DATE TIME TIMESTAMP TIMESTAMPTZ TIMESTAMPNTZ TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS UUID "
    "ARRAY "
    "LIST DATETIME INTERVAL".split()
)
NILADIC = frozenset(
    "current_user session_user user current_role system_user current_catalog current_schema current_database "
    "current_date "
    "current_time current_timestamp localtime localtimestamp".split()
)
CLAUSES = {"expressions", "from_", "where", "order"}
FORMS = {  # arguments that say how, and hold no expression that is looked into otherwise
    exp.Between: {"symmetric"}, exp.DPipe: {"safe"}, exp.Div: {"typed", "safe"}, exp.Concat: {"safe", "coalesce"},
    exp.Trim: {"position"}, exp.Array: {"value_constructor", "bracket_notation"}, exp.Round: {"truncate"},
    exp.DateTrunc: {"unit", "abbreviate", "input_type_preserved"},
    exp.TimestampTrunc: {"unit", "input_type_preserved"}, exp.DateDiff: {"unit", "date_part_boundary"},
}  # fmt: skip
TIMED = (exp.DateTrunc, exp.TimestampTrunc, exp.DateDiff)  # whose unit is a word


class NotRowwise(Exception):
    """The definition is not proved; the text says what stands in the way, from the definition alone."""


@dataclass(frozen=True, slots=True)
class Rowwise:
    """A definition that was proved.

    Claim:   each row of the view is a function of one row of the base, and each row of the base gives at most one.
    Proof:   one base relation in FROM, a WHERE, and a list of outputs; each is built of columns of the base, constants
             and functions of one row that LISTED and NAMED list, by induction on the expression. No other clause is
             there.
    Assumes: an unqualified name is a column of the base or the engine's own function: whoever describes the relation
             lists in `custom` whatever of users may take such a name's place, and a definition with such is not proved.
    """

    columns: Mapping[str, str]  # of each output that is a column of the base as it lies: its name there
    whole: bool = True  # each row of the base gives one: nothing is filtered


def rowwise(view: Relation, dialect: str) -> Rowwise:
    """Prove that a view is row-wise over the one relation that it reads, or raise NotRowwise."""
    if len(view.reads) > 1:
        raise NotRowwise("it reads more than one relation")
    if not view.reads or view.reads[0].kind == OTHER:
        raise NotRowwise("what it reads is no table that the engine lists beside it")
    _own(view)
    (base,) = view.reads
    select = _query(view, dialect)
    if extra := sorted(name for name, value in select.args.items() if value and name not in CLAUSES):
        raise NotRowwise(f"it has {extra[0].upper().replace('_', ' ').strip()}")
    names = _base(select, base, dialect)
    prover = _Prover(names, dialect)
    where = select.args.get("where")
    if where is not None:
        prover.prove(where.this)
    for one in () if select.args.get("order") is None else select.args["order"].expressions:
        _only(one, {"this", "desc", "nulls_first"}, dialect)
        prover.prove(one.this)
    return Rowwise(_outputs(select.expressions, view, base, prover), where is None)


def own_row(expression: str, relation: Relation, dialect: str) -> None:
    """Prove that the expression of a generated column reads its own row alone, or raise NotRowwise."""
    _own(relation)
    try:
        parsed = sqlglot.parse_one(expression, read=dialect)
    except (SqlglotError, RecursionError):
        raise NotRowwise("its expression cannot be read") from None
    _Prover(_Names(relation, frozenset(), dialect), dialect).prove(parsed)


def _own(relation: Relation) -> None:
    if relation.custom:
        raise NotRowwise(f"it uses {relation.custom[0]}, which is not the engine's own")


def _query(view: Relation, dialect: str) -> exp.Select:
    try:
        parsed = sqlglot.parse(view.definition, read=dialect)
    except (SqlglotError, RecursionError):
        raise NotRowwise("its definition cannot be read") from None
    tree = parsed[0] if len(parsed) == 1 else None
    if isinstance(tree, exp.Create):
        tree = tree.expression
    if isinstance(tree, exp.SetOperation):
        raise NotRowwise("it has a set operation")
    if not isinstance(tree, exp.Select):
        raise NotRowwise("its definition cannot be read")
    return tree


def _base(select: exp.Select, base: Relation, dialect: str) -> _Names:
    """Names of the columns that may be used, once FROM is the base by its name and nothing else."""
    source = select.args.get("from_")
    table = None if source is None else source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise NotRowwise("it reads something else than a table, such as a function or a file")
    alias = table.args.get("alias")
    other = {name for name, value in table.args.items() if value} - {"this", "db", "alias"}
    if other or (alias is not None and alias.args.get("columns")):
        raise NotRowwise("its FROM is more than the name of a table")
    if not _same(table, base.name, dialect):
        raise NotRowwise("it does not name what it reads")
    called = [alias.this] if alias is not None else [table.this]
    return _Names(base, frozenset(_named(one, dialect) for one in called), dialect)


def _same(table: exp.Table, name: str, dialect: str) -> bool:
    wanted = name.lower() if dialect == "duckdb" else name
    parts = [_named(part, dialect) for part in (table.args.get("db"), table.this) if part is not None]
    if any("." in part for part in parts):  # a dot inside a name would make two of it
        return False
    return ".".join(parts) == wanted or (
        len(parts) == 1 and dialect == "duckdb" and wanted.rpartition(".")[2] == parts[0]
    )


def _named(part: exp.Identifier, dialect: str) -> str:
    text = str(part.this)
    return text.lower() if dialect == "duckdb" or not part.args.get("quoted") else text


@dataclass(frozen=True, slots=True)
class _Names:
    """Columns of the base, by the spelling that a definition has for them."""

    base: Relation
    tables: frozenset[str]
    dialect: str

    def qualifies(self, column: exp.Column) -> bool:
        """Whether what stands before a column, if anything, is the base."""
        table = column.args.get("table")
        return not column.args.get("db") and (table is None or _named(table, self.dialect) in self.tables)

    def column(self, column: exp.Column) -> str | None:
        """The base's own name of a column, or None where it is none of them."""
        if not isinstance(column.this, exp.Identifier) or not self.qualifies(column):
            return None
        name = _named(column.this, self.dialect)
        if not column.this.args.get("quoted") and name in NILADIC:
            return None
        alike = (c.name for c in self.base.columns)
        return next((c for c in alike if (c.lower() if self.dialect == "duckdb" else c) == name), None)


@dataclass(frozen=True, slots=True)
class _Prover:
    """Expressions over the columns that may be used."""

    names: _Names
    dialect: str

    def prove(self, node: exp.Expression) -> None:
        match node:
            case exp.Column():
                if self.names.column(node) is None:
                    raise NotRowwise(f"{node.sql(self.dialect)} is not a column of {self.names.base.name}")
            case exp.Cast():
                _known_type(node.to)
                _only(node, {"this", "to", "safe", "_type"}, self.dialect)
                self.prove(node.this)
            case exp.Collate():
                self.prove(node.this)
            case exp.Anonymous():
                if str(node.this).lower() not in NAMED[self.dialect]:
                    raise NotRowwise(f"it has {_words(node, self.dialect)}")
                self._all(node.expressions)
            case exp.Extract():
                self.prove(node.expression)
            case _:
                self._parts(node)

    def _parts(self, node: exp.Expression) -> None:
        """An operator or function that is listed, whose arguments are proved in their turn."""
        if not isinstance(node, LISTED):
            raise NotRowwise(f"it has {_words(node, self.dialect)}")
        unit = node.args.get("unit")
        unit = unit.this if isinstance(unit, exp.Cast) else unit
        if isinstance(node, TIMED) and not isinstance(unit, (exp.Var, exp.Literal)):
            raise NotRowwise(f"it has {_words(node, self.dialect)}")
        passed = FORMS.get(type(node), set())
        for name, value in node.args.items():
            if name in passed or value is None or isinstance(value, (bool, str, int)):
                continue
            self._all(value if isinstance(value, list) else [value])

    def _all(self, nodes: Iterable[object]) -> None:
        for node in nodes:
            if not isinstance(node, exp.Expression):
                raise NotRowwise("its definition cannot be read")
            self.prove(node)


def _known_type(to: exp.Expression) -> None:
    inner = list(to.find_all(exp.DataType))
    if not inner or any(getattr(one.this, "name", "") not in TYPES for one in inner):
        raise NotRowwise("it casts to a type that is not the engine's own")


def _only(node: exp.Expression, known: set[str], dialect: str) -> None:
    if any(value and name not in known for name, value in node.args.items()):
        raise NotRowwise(f"it has {_words(node, dialect)}")


def _words(node: exp.Expression, dialect: str) -> str:
    """What stands in the way, in few words: a kind for what has a body of its own, else its text."""
    kinds: Mapping[type[exp.Expression], str] = {
        exp.Subquery: "a subquery", exp.Select: "a subquery", exp.Exists: "a subquery", exp.Window: "a window function",
        exp.AggFunc: "an aggregate", exp.Star: "a *",
    }  # fmt: skip
    found = next((words for kind, words in kinds.items() if isinstance(node, kind)), None)
    text = node.sql(dialect)
    return found or (text if len(text) <= 60 else f"{text[:57]}...")


def _outputs(items: list[exp.Expression], view: Relation, base: Relation, prover: _Prover) -> dict[str, str]:
    """Of each output its name, and the base's column where it is one; as many as the view has columns."""
    found: list[str | None] = []
    for item in items:
        if isinstance(item, exp.Star):
            found += _starred(item, base, prover.dialect)
            continue
        inner = item.this if isinstance(item, exp.Alias) else item
        if isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star) and prover.names.qualifies(inner):
            found += _starred(inner.this, base, prover.dialect)
            continue
        prover.prove(inner)
        while isinstance(inner, exp.Paren):
            inner = inner.this
        found.append(prover.names.column(inner) if isinstance(inner, exp.Column) else None)
    if len(found) != len(view.columns):
        raise NotRowwise("it has other columns than when it was made")
    return {column.name: own for column, own in zip(view.columns, found) if own is not None}


def _starred(star: exp.Star, base: Relation, dialect: str) -> list[str | None]:
    if dialect != "duckdb":
        raise NotRowwise("it has a *")
    _only(star, {"except_"}, dialect)
    without = {str(one.name).lower() for one in star.args.get("except_") or ()}
    return [c.name for c in base.columns if c.name.lower() not in without]
