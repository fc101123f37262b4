"""Casts to PostgreSQL's names of things: a table's name is its OID and the other way round; and to arrays."""

from __future__ import annotations

from sqlglot import expressions as exp

from obverse.core.errors import Refused
from obverse.server.pg_catalog.context import READ, Declared, constant
from obverse.server.pg_catalog.kinds import types
from obverse.server.pg_catalog.relations import SPACES
from obverse.server.pg_catalog.shapes import shapes
from obverse.server.postgres.parameters import from_text
from obverse.server.postgres.types import ARRAY, INT8, TEXT


def cast(node: exp.Expression, declared: Declared) -> exp.Expression:
    """Casts to PostgreSQL's names of things, and to arrays."""
    if not isinstance(node, exp.Cast):
        return node
    kind, inner = node.to.sql(dialect=READ).upper(), node.this
    literal = str(inner.this) if isinstance(inner, exp.Literal) and inner.args.get("is_string") else None
    if kind.endswith("[]") and literal is not None and literal.startswith("{"):
        whole = any(kind.startswith(name) for name in ("BIGINT", "INT", "SMALLINT"))
        items = from_text(literal, ARRAY[INT8] if whole else ARRAY[TEXT])
        return exp.cast(exp.Array(expressions=[constant(one) for one in items]), node.to)
    if kind in ("BIGINT", "INT") and isinstance(inner, exp.Cast) and inner.to.sql(dialect=READ).upper() == "REGCLASS":
        return _number(inner.this)
    if not kind.startswith("REG"):
        return node
    if kind == "REGCLASS":
        return _regclass(inner, literal, declared)
    if kind == "REGTYPE":
        if literal is None:
            return exp.Anonymous(this="format_type", expressions=[inner, exp.null()])
        found = regtype(literal)
        if found is None:
            raise Refused("catalogue_type", f"type {literal[:63]!r} does not exist.")
        return found
    if kind == "REGNAMESPACE" and bare(literal) in SPACES:
        return exp.Literal.number(SPACES[bare(literal)])
    if kind == "REGNAMESPACE" and literal is None:
        return exp.Anonymous(this="spelled_space", expressions=[inner])
    return exp.Literal.string(bare(literal)) if literal is not None else exp.cast(inner, "text")


def regtype(name: str) -> exp.Expression | None:
    """The OID of a type, by its name or its spelling."""
    wanted = name.strip().lower().removeprefix("pg_catalog.")
    found = [one.oid for one in types() if wanted in (one.name, one.shown)]
    return exp.Literal.number(found[0]) if found else None


def _regclass(inner: exp.Expression, literal: str | None, declared: Declared) -> exp.Expression:
    """A name is looked up, an OID is spelled."""
    if literal == "":
        return exp.null()
    if literal is not None and not literal.isdigit():
        name = bare(literal)
        if name in declared.tables:
            return exp.Literal.number(declared.tables[name])
        if name in shapes()["pg_catalog"]:
            return exp.Literal.number(1259 if name == "pg_class" else 1)
        raise Refused("catalogue_relation", f"relation {name[:63]!r} does not exist.")
    if isinstance(inner, exp.Cast) or literal is not None:
        return inner if literal is None else exp.Literal.number(literal)
    return exp.Anonymous(this="spelled_table", expressions=[inner])


def _number(inner: exp.Expression) -> exp.Expression:
    """The OID of a table that an expression names; one that is an OID stays."""
    return exp.Anonymous(this="numbered_table", expressions=[inner])


def bare(name: str | None) -> str:
    """A name without its schema and quotes."""
    last = (name or "").rpartition(".")[2]
    return last.strip('"') if '"' in last else last.lower()
