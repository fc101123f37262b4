"""Where a query of the catalogue reads: relations of the shadow, and functions that give rows."""

from __future__ import annotations

from collections.abc import Set

import sqlglot
from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.server.pg_catalog.context import WRITTEN, Asking, Declared
from obverse.server.pg_catalog.shapes import SCHEMAS, shapes

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
    """Whether a query can give no row, whatever there is: LIMIT 0, or a WHERE that is plainly false, and no aggregate."""
    if not isinstance(tree, exp.Select) or tree.find(exp.AggFunc) or tree.args.get("group"):
        return False
    limit, where = tree.args.get("limit"), tree.args.get("where")
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
    if isinstance(node.this, exp.Func):  # what is put in another's place is not looked at again: so its inside comes first
        node.set("this", node.this.transform(lambda inner: relation(inner, asking, declared, known)))
        return _rows_of(node)
    name, schema = node.name, schema_of(node)
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
    own = f"SELECT * REPLACE (coalesce(nullif({column}, ''), {exp.Literal.string(asking.user).sql(WRITTEN)}) AS {column})"
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
