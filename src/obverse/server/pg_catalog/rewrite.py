"""A query of the catalogue, read in PostgreSQL's dialect and printed for the shadow. Only what is listed gets through.

What an output of a query is called: where it has no name, PostgreSQL gives it one.

A query of the catalogue in words that sqlglot reads as PostgreSQL's: without its schemas, its own operators and types.

Where a query of the catalogue reads: relations of the shadow, and functions that give rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from typing import Any

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from obverse.core.errors import Refused
from obverse.server.pg_catalog.functions import bare, cast, names, regtype
from obverse.server.pg_catalog.relations import READ, SCHEMAS, SPACES, WRITTEN, Asking, Declared, constant, shapes
from obverse.server.postgres.settings import DEFAULTS
from obverse.server.postgres.statements import Word, tokenize


def name_outputs(tree: exp.Expression) -> None:
    """Outputs without a name get the one that PostgreSQL gives them."""
    select = tree
    while isinstance(select, exp.SetOperation | exp.Subquery):
        select = select.this
    if isinstance(select, exp.Select):
        select.set("expressions", [_named(node) for node in select.expressions])


def _named(node: exp.Expression) -> exp.Expression:
    if (
        isinstance(node, exp.Alias | exp.Star)
        or node.is_star
        or (isinstance(node, exp.Column) and not node.find(exp.Dot))
    ):
        return node
    return exp.alias_(node, output_name(node), quoted=True)


def output_name(node: exp.Expression) -> str:
    match node:
        case exp.Column():
            return str(node.name)
        case exp.Dot():
            return output_name(node.expression) if isinstance(node.expression, exp.Func) else str(node.name)
        case exp.Cast():
            inner = output_name(node.this)
            return inner if inner != "?column?" else _type_name(node)
        case exp.Case():
            return "case"
        case exp.Anonymous():
            return str(node.this).lower()
        case exp.CurrentVersion():
            return "version"
        case exp.CurrentTimestamp():
            return "now"
        case exp.Array():
            return "array"
        case exp.Paren() | exp.Filter() | exp.Window():
            return output_name(node.this)
        case exp.Subquery():
            return output_name(node.this.expressions[0]) if isinstance(node.this, exp.Select) else "?column?"
        case exp.Alias():
            return str(node.alias)
        case exp.Func() if not isinstance(node, exp.And | exp.Or | exp.Binary):
            return str(node.sql_name()).lower()
        case exp.Boolean():
            return "bool"
        case _:
            return "?column?"


def _type_name(node: exp.Cast) -> str:
    shown = {
        "INT": "int4",
        "BIGINT": "int8",
        "SMALLINT": "int2",
        "BOOLEAN": "bool",
        "DOUBLE": "float8",
        "DECIMAL": "numeric",
    }
    name = node.to.sql(dialect=WRITTEN)
    return str(shown.get(name, name.lower()))


TYPES = {
    "oid": "BIGINT",
    "xid": "BIGINT",
    "cid": "BIGINT",
    "name": "TEXT",
    "char": "TEXT",
    "cstring": "TEXT",
    "aclitem": "TEXT",
    "sql_identifier": "TEXT",
    "character_data": "TEXT",
    "yes_or_no": "TEXT",
    "cardinal_number": "INT",
    "unknown": "TEXT",
    "information_schema.sql_identifier": "TEXT",
    "int2vector": "SMALLINT[]",
    "oidvector": "BIGINT[]",
    "regrole": "REGROLE",
    "bpchar": "TEXT",
    "void": "TEXT",
    "anyarray": "TEXT",
    "pg_node_tree": "TEXT",
    "timestamptz": "TIMESTAMP",
    "interval": "TEXT",
}
RESERVED = ("SELECT", "TABLE", "UPDATE", "INSERT", "DELETE", "SCHEMA", "ROLE")  # that tools give as names
DROPPED = ("pg_catalog", "information_schema")


def plainly(words: Sequence[Word]) -> str:
    """The same query, its tokens with blanks between them."""
    parts: list[str] = []
    # where the last token ended that was kept as it was
    at = 0
    ended = -1
    while at < len(words):
        word = words[at]
        rest = [one.text for one in words[at + 1 : at + 6]]
        typed = _after_cast(words, at)
        named = rest[:1] == ["."] and (typed or word.name == "pg_catalog" or "".join(rest[1:2]).startswith("_pg_"))
        if named and word.name in DROPPED:
            at += 2
        elif word.upper == "OPERATOR" and rest[:1] == ["("]:
            close = next((n for n in range(at, min(at + 9, len(words))) if words[n].text == ")"), at)
            signs = [one.text for one in words[at + 2 : close] if one.text != "." and one.name not in DROPPED]
            parts += [" ", "".join(signs), " "]
            at = max(close, at) + 1
        elif word.upper == "COLLATE" and rest:
            at += 4 if rest[1:2] == ["."] else 2
        elif typed and word.name in TYPES:
            parts += [" ", TYPES[word.name]]
            at += 1
        elif word.kind == "string" and (word.text[0] in "eE$"):
            parts += [" '", word.value.replace("'", "''"), "'"]
            at += 1
        elif (
            word.upper in RESERVED
            and at
            and (words[at - 1].text == "." or words[at - 1].upper == "AS")
            and rest[:1] != ["("]
        ):
            parts += ["" if word.span.start == ended else " ", f'"{word.name}"']
            at = at + 1
            ended = word.span.end
        else:
            tight = word.span.start == ended  # signs that stood together stay together: operators are of several
            parts += ["" if tight else " ", word.text]
            at = at + 1
            ended = word.span.end
    return "".join(parts)


def _after_cast(words: Sequence[Word], at: int) -> bool:
    """Whether a type stands here: after :: or after AS in CAST, with or without its schema."""
    before = [word.text for word in words[max(0, at - 4) : at]]
    if len(before) >= 2 and before[-1] == "." and before[-2].strip('"').lower() in DROPPED:
        before = before[:-2]
    if before[-2:] == [":", ":"]:
        return True
    return bool(before) and before[-1].upper() == "AS" and _inside_cast(words, at)


def _inside_cast(words: Sequence[Word], at: int) -> bool:
    depth = 0
    for n in range(at - 1, max(0, at - 200), -1):
        depth += (words[n].text == ")") - (words[n].text == "(")
        if depth < 0:
            return words[n - 1].upper == "CAST"
    return False


HIDDEN_COLUMNS = {"tableoid": "0::UINTEGER", "xmin": "0", "ctid": "NULL", "cmin": "0", "cmax": "0", "xmax": "0"}
EMPTY = {  # functions that give rows: of each, its columns
    "pg_options_to_table": ("option_name", "option_value"),
    "aclexplode": ("grantor", "grantee", "privilege_type", "is_grantable"), "pg_show_all_settings": ("name", "setting"),
    "pg_get_publication_tables": ("relid",), "pg_partition_ancestors": ("relid",), "pg_partition_tree": ("relid",),
    "pg_stat_get_activity": ("pid",), "pg_listening_channels": ("channel",), "pg_timezone_names": ("name",),
}  # fmt: skip
OF_WITH = "with "
KEYWORDS = ("analyse", "analyze", "ilike", "limit", "offset", "placing", "returning", "variadic")
ROLES = {"pg_roles": "rolname", "pg_authid": "rolname", "pg_user": "usename"}


def shape_only(tree: exp.Expression) -> bool:
    """Whether a query can give no row, whatever there is: LIMIT 0, or a WHERE that is plainly false, and no
    aggregate.
    """
    if not isinstance(tree, exp.Select) or tree.find(exp.AggFunc) or tree.args.get("group"):
        return False
    limit = tree.args.get("limit")
    where = tree.args.get("where")
    if isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Literal) and limit.expression.name == "0":
        return True
    condition = None if where is None else where.this.unnest()
    if isinstance(condition, exp.EQ | exp.NEQ):
        sides = [condition.this, condition.expression]
        known = all(isinstance(side, exp.Literal) and not side.is_string for side in sides)
        return known and (sides[0].name == sides[1].name) == isinstance(condition, exp.NEQ)
    return isinstance(condition, exp.Boolean) and not condition.this


def tables(tree: exp.Expression) -> list[exp.Table]:
    """The relations that are read, without names of WITH and functions."""
    known = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    return [table for table in found if table.args.get("db") or table.name.lower() not in known]


def of_catalogue(table: exp.Table) -> bool:
    return bool(schema_of(table))


def schema_of(table: exp.Table) -> str:
    """The schema of the catalogue that a relation is in; a name without schema is looked up in pg_catalog first."""
    space = str(table.db).lower()
    if space in SCHEMAS:
        return space
    return "pg_catalog" if not space and table.name.lower() in shapes()["pg_catalog"] else ""


def relation(node: exp.Expression, asking: Asking, declared: Declared, known: Set[str]) -> exp.Expression:
    if isinstance(node, exp.Column):
        node.set("db", None)
        node.set("catalog", None)
        hidden = HIDDEN_COLUMNS.get(node.name.lower()) if not node.args.get("join_mark") else None
        return sqlglot.parse_one(hidden, dialect=WRITTEN) if hidden else node
    if not isinstance(node, exp.Table):
        return node
    # what is put in another's place is not looked at again: so its inside comes first
    if isinstance(node.this, exp.Func):
        node.set("this", node.this.transform(lambda inner: relation(inner, asking, declared, known)))
        return _rows_of(node)
    name = node.name
    schema = schema_of(node)
    if node.catalog not in ("", asking.database):
        raise Refused("catalogue_relation", "there is no other database here.")
    if not node.args.get("db") and name.lower() in known and not schema:
        node.set("alias", node.args.get("alias") or exp.TableAlias(this=node.this))
        node.set("this", of_with(name))
        return node
    if not schema and name in declared.tables and node.db.lower() in ("", "public"):
        node.set("db", exp.to_identifier("public"))
    elif schema and name.lower() in shapes()[schema]:
        node.set("db", exp.to_identifier(SCHEMAS[schema]))
        node.set("this", exp.to_identifier(name.lower(), quoted=True))
    else:
        raise Refused("catalogue_relation", f"relation {name[:63]!r} does not exist.")
    node.set("catalog", None)
    if schema and name.lower() in ROLES:
        return _roles(node, asking)
    if not node.alias:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
    return node


def of_with(name: str) -> exp.Identifier:
    """The name of what WITH gives: such as nothing else has, so that where it does not reach nothing is found by it."""
    return exp.to_identifier(OF_WITH + name.lower(), quoted=True)


def _roles(node: exp.Table, asking: Asking) -> exp.Expression:
    """Roles: the owner of all tables, and whoever asks."""
    name = node.name
    column = ROLES[name]
    own = (
        f"SELECT * REPLACE (coalesce(nullif({column}, ''), {exp.Literal.string(asking.user).sql(WRITTEN)}) AS {column})"
    )
    inner = sqlglot.parse_one(f'{own} FROM pgc."{name}"', dialect=WRITTEN)
    return exp.Subquery(this=inner, alias=node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name)))


def _rows_of(node: exp.Table) -> exp.Expression:
    """A function that gives rows: those that would tell of a server are empty here."""
    name = str(node.this.this).lower() if isinstance(node.this, exp.Anonymous) else ""
    if name == "pg_get_keywords":
        listed = f"SELECT unnest({list(KEYWORDS)}) AS word, 'R' AS catcode, 'reserved' AS catdesc"
        inner = sqlglot.parse_one(listed, dialect=WRITTEN)
        return exp.Subquery(this=inner, alias=node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name)))
    if name not in EMPTY:
        return _one_row(node)
    columns = ", ".join(f"NULL::VARCHAR AS {column}" for column in EMPTY[name])
    inner = sqlglot.parse_one(f"SELECT {columns} WHERE false", dialect=WRITTEN)
    alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name))
    return exp.Subquery(this=inner, alias=alias)


def _one_row(node: exp.Table) -> exp.Expression:
    """A function of one column under a name: the name is that of the column too."""
    alias = node.args.get("alias")
    if alias is None or alias.columns:
        return node
    return exp.Subquery(this=exp.Select(expressions=[exp.alias_(node.this, alias.name)]), alias=alias)


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
        found = sqlglot.parse(plainly(tokenize(text)), dialect=READ)
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
    known = names()
    inside = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
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
    """A last look at all that is read, wherever a step has put it: the engine has a catalogue of its own, which is
    not ours.
    """
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
    name = str(node.this).lower()
    arguments = node.expressions
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
        raise Refused(
            "catalogue_function", f"function {name[:63]}() does not exist.", fix="ask `obverse sql` for functions."
        )
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
    return Refused(
        "catalogue_unanswered", "this question about the catalogue is not answered.", why=why, fix="ask the tables."
    )
