"""A query of the catalogue, read in PostgreSQL's dialect and printed for the shadow. Only what is listed gets through."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from obverse.core.errors import Refused
from obverse.server.pg_catalog.casts import bare, cast, regtype
from obverse.server.pg_catalog.context import READ, WRITTEN, Asking, Declared, constant
from obverse.server.pg_catalog.functions import names
from obverse.server.pg_catalog.outputs import name_outputs
from obverse.server.pg_catalog.plainly import plainly
from obverse.server.pg_catalog.relations import SPACES
from obverse.server.pg_catalog.shapes import SCHEMAS
from obverse.server.pg_catalog.sources import OF_WITH, of_catalogue, of_with, relation, tables
from obverse.server.postgres.scan import words
from obverse.server.postgres.settings import DEFAULTS

ROOTS = (exp.Select, exp.SetOperation, exp.Values, exp.Subquery)
CHANGING = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock)
FORMS = (exp.Case, exp.If, exp.Cast, exp.TryCast, exp.And, exp.Or, exp.Xor, exp.RegexpLike, exp.RegexpILike, exp.Exists)
RENAMED = {
    "json_build_object": "json_object", "jsonb_build_object": "json_object", "json_build_array": "json_array",
    "jsonb_build_array": "json_array", "json_agg": "json_group_array", "jsonb_agg": "json_group_array",
    "array_to_json": "to_json", "row_to_json": "to_json", "array_position": "list_position", "btrim": "trim",
    "string_to_array": "string_split", "char_length": "length", "every": "bool_and",
}  # fmt: skip
SERIES_MAX = 10_000
SERVER = "PostgreSQL 15.0"


def read(text: str) -> exp.Expression | None:
    """The tree of one query, or nothing where it is none of PostgreSQL's."""
    try:
        found = sqlglot.parse(plainly(words(text)), dialect=READ)
    except (SqlglotError, RecursionError, Refused):
        return None
    tree = found[0] if len(found) == 1 else None
    return tree if isinstance(tree, ROOTS) else None


def about_catalogue(tree: exp.Expression) -> bool | None:
    """Whether it reads the catalogue alone (or nothing); None where it mixes it with something else."""
    found = {of_catalogue(table) for table in tables(tree)}
    return None if len(found) > 1 else found != {False}


def rewritten(tree: exp.Expression, asking: Asking, declared: Declared) -> str:
    """The query for the shadow."""
    if any(tree.find(kind) for kind in CHANGING) or any(w.args.get("recursive") for w in tree.find_all(exp.With)):
        raise unanswered("what changes something, locks or recurs is not asked of the catalogue.")
    tree = tree.copy()
    name_outputs(tree)
    known, inside = names(), {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for cte in tree.find_all(exp.CTE):
        cte.args["alias"].set("this", of_with(cte.alias))
    steps: Sequence[Callable[[exp.Expression], exp.Expression]] = (
        lambda node: _parameter(node, asking.values),
        lambda node: relation(node, asking, declared, inside),
        lambda node: _identity(node, asking, declared),
        lambda node: cast(node, declared),
        lambda node: _function(node, known),
    )
    for step in steps:
        tree = tree.transform(step, copy=False)
    _only_known(tree)
    return str(tree.sql(dialect=WRITTEN))


def _only_known(tree: exp.Expression) -> None:
    """A last look at all that is read, wherever a step has put it: the engine has a catalogue of its own, which is not ours."""
    for table in tree.find_all(exp.Table):
        given = isinstance(table.this, exp.Func) or table.name.startswith(OF_WITH)
        if table.catalog or table.db not in (("",) if given else ("public", *SCHEMAS.values())):
            raise Refused("catalogue_relation", f"relation {table.name[:63]!r} does not exist.")


def _parameter(node: exp.Expression, values: Sequence[Any]) -> exp.Expression:
    if not isinstance(node, exp.Parameter | exp.Placeholder):
        return node
    number = str(node.this.this if isinstance(node.this, exp.Expression) else node.this)
    if not number.isdigit() or not 1 <= int(number) <= len(values):
        raise Refused("bad_parameter", "a parameter has no value.", fix="write $1, $2, ... and give a value for each.")
    return constant(values[int(number) - 1])


def _identity(node: exp.Expression, asking: Asking, declared: Declared) -> exp.Expression:
    """What depends on who asks, and where."""
    string = exp.Literal.string
    match node:
        case exp.CurrentUser() | exp.SessionUser():
            return string(asking.user)
        case exp.CurrentDatabase() | exp.CurrentCatalog():
            return string(asking.database)
        case exp.CurrentSchema():
            return string("public")
        case exp.CurrentSchemas():
            return exp.Anonymous(this="current_schemas", expressions=[node.this or exp.false()])
        case exp.CurrentVersion():
            return string(f"{SERVER} ({DEFAULTS['server_version'].partition('(')[2]} on declared tables")
        case exp.Column() if node.name.lower() in ("user", "current_role") and not node.table:
            return string(asking.user)
        case exp.Dot() if isinstance(node.expression, exp.Func):
            return node.expression.transform(lambda inner: _identity(inner, asking, declared))
        case exp.Format():
            return _formatted(str(node.this.this), _inside(node.expressions, asking, declared))
        case exp.Anonymous():
            return _called(node, asking, declared)
    return node


def _inside(nodes: Sequence[exp.Expression], asking: Asking, declared: Declared) -> list[exp.Expression]:
    """Arguments that are put in another's place, where they would not be looked at again."""
    return [node.transform(lambda inner: _identity(inner, asking, declared)) for node in nodes]


def _called(node: exp.Anonymous, asking: Asking, declared: Declared) -> exp.Expression:
    string = exp.Literal.string
    name, arguments = str(node.this).lower(), node.expressions
    first = arguments[0] if arguments else None
    text = str(first.this) if isinstance(first, exp.Literal) and first.args.get("is_string") else ""
    match name:
        case "current_setting":
            return string(asking.settings[text.lower()]) if text.lower() in asking.settings else exp.null()
        case "set_config":
            return _set(_inside(arguments, asking, declared))
        case "version":
            return string(SERVER)
        case "current_database":
            return string(asking.database)
        case "pg_backend_pid":
            return exp.Literal.number(asking.number)
        case "to_regclass":
            return exp.Literal.number(declared.tables[bare(text)]) if bare(text) in declared.tables else exp.null()
        case "to_regtype":
            return regtype(text) or exp.null()
        case "to_regnamespace":
            return exp.Literal.number(SPACES[bare(text)]) if bare(text) in SPACES else exp.null()
        case "_pg_expandarray":  # of keys of indexes, of which there are none
            return sqlglot.parse_one("CAST(NULL AS STRUCT(x SMALLINT, n INTEGER))", dialect=WRITTEN)
        case "_pg_truetypid" | "_pg_truetypmod":
            return exp.column("atttypid" if name.endswith("id") else "atttypmod", table=first.sql() if first else None)
        case _ if name.startswith("_pg_"):
            return exp.cast(exp.null(), "int")
    return node


def _set(arguments: Sequence[exp.Expression]) -> exp.Expression:
    """A setting that changes nothing here is taken for set. One that prices questions is refused: it would not be."""
    if len(arguments) < 2:
        return exp.null()
    named = isinstance(arguments[0], exp.Literal | exp.Null)
    if not named or arguments[0].name.lower().startswith("obverse."):
        raise Refused("catalogue_function", "set_config() prices no question.", fix="SET obverse.epsilon = 0.1.")
    return arguments[1]


def _formatted(text: str, arguments: Sequence[exp.Expression]) -> exp.Expression:
    """format('%I.%I', a, b): the text with its arguments between."""
    parts = re.split("(%[sIL])", text)
    if any("%" in part for part in parts[::2]) or len(parts) // 2 != len(arguments):
        raise Refused("catalogue_function", "format() takes %s, %I and %L here.")
    calls = {"%I": "quote_ident", "%L": "quote_literal"}
    found: exp.Expression = exp.Literal.string(parts[0])
    for sign, after, value in zip(parts[1::2], parts[2::2], arguments):
        shown = exp.Anonymous(this=calls[sign], expressions=[value]) if sign in calls else exp.cast(value, "text")
        found = exp.DPipe(this=exp.DPipe(this=found, expression=shown), expression=exp.Literal.string(after))
    return exp.Paren(this=found)


def _function(node: exp.Expression, known: frozenset[str]) -> exp.Expression:
    """Refuse every function that is not listed."""
    if not isinstance(node, exp.Func) or isinstance(node, FORMS):
        return node
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else str(node.sql_name()).lower()
    if isinstance(node, exp.GenerateSeries):
        return _series(node)
    if name in RENAMED and isinstance(node, exp.Anonymous):
        node.set("this", RENAMED[name])
    if name not in known:
        raise Refused("catalogue_function", f"function {name[:63]}() does not exist.", fix="ask `obverse sql` for functions.")
    return node


def _series(node: exp.GenerateSeries) -> exp.Expression:
    """A series is a list in memory: only a short one is made."""
    if node.args.get("step") is not None:
        raise Refused("catalogue_function", "generate_series() takes a first and a last number here.")
    ends = (("start", exp.Greatest, -SERIES_MAX), ("end", exp.Least, SERIES_MAX))
    for part, bound, most in ends:
        node.set(part, bound(this=node.args[part], expressions=[exp.Literal.number(most)]))
    return node


def unanswered(why: str) -> Refused:
    return Refused("catalogue_unanswered", "this question about the catalogue is not answered.", why=why, fix="ask the tables.")
