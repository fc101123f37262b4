"""What the toml leaves to the source: keys of the unit, columns of public tables, values that those list. Pure.

Names of an engine's types in our own six; what has no counterpart is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from obverse.catalog.check import names_twice, unit_type_error
from obverse.catalog.columns import categories, with_other
from obverse.catalog.keys import suggestion
from obverse.catalog.load import FILE_NAME
from obverse.catalog.locate import KeyParts, Place, dotted
from obverse.catalog.model import Catalog, Column, Table
from obverse.core.errors import CatalogError, invariant
from obverse.core.types import Type, Value

INTEGERS = frozenset(
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"]
    + ["INT", "INT1", "INT2", "INT4", "INT8", "INT16", "INT32", "INT64", "INT128", "LONG", "SHORT"]
)
TEXTS = frozenset(["VARCHAR", "TEXT", "STRING", "CHAR", "BPCHAR"])
OTHERS = {
    "DOUBLE": Type.DOUBLE,
    "FLOAT": Type.DOUBLE,
    "REAL": Type.DOUBLE,
    "DECIMAL": Type.DOUBLE,
    "NUMERIC": Type.DOUBLE,
    "BOOLEAN": Type.BOOLEAN,
    "DATE": Type.DATE,
    "TIMESTAMP": Type.TIMESTAMP,
    "DATETIME": Type.TIMESTAMP,
    "TIMESTAMP_S": Type.TIMESTAMP,
    "TIMESTAMP_MS": Type.TIMESTAMP,
    "TIMESTAMP_NS": Type.TIMESTAMP,
    "ENUM": Type.TEXT,
    "UUID": Type.TEXT,
}


def type_of(engine_type: str) -> Type | None:
    """Our type for the engine's, such as DOUBLE for DECIMAL(10,2); None for lists, structs, zones and the like."""
    name = engine_type.strip().upper()
    if name.endswith("]"):
        return None
    base = name.split("(", 1)[0].strip()
    return unit_type_of(name) or OTHERS.get(base)


def unit_type_of(engine_type: str) -> Type | None:
    """The type of a unit key: integer or text, whose equality is exact in every engine; None for all others."""
    base = engine_type.strip().upper().split("(", 1)[0].strip()
    if engine_type.strip().endswith("]"):
        return None
    if base in INTEGERS:
        return Type.INTEGER
    return Type.TEXT if base in TEXTS else None


Schemas = Mapping[str, Mapping[str, str]]  # table to column to the engine's type name
Listed = Mapping[tuple[str, str], tuple[Value, ...]]  # (public table, column) to its values


def key_in_file(path: KeyParts) -> str:
    return f"{FILE_NAME} {dotted(path)}"


def needed_values(catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """The (public table, column) pairs whose values `complete` must be given, each once."""
    columns = (column for table in catalog.tables.values() for column in table.columns.values())
    return tuple(dict.fromkeys(column.values_from for column in columns if column.values_from is not None))


def complete(catalog: Catalog, schemas: Schemas, values: Listed, place: Place = key_in_file) -> Catalog:
    """The catalog with all columns that questions may meet; every declared column is known to exist in its source.

    `place` locates errors; `load.locator(path)` gives one that knows lines.
    """
    keys = _unit_keys(catalog)
    tables = {name: _columns(table, schemas, keys.get(name, ()), place) for name, table in catalog.tables.items()}
    _agree(catalog, tables, place)
    tables = {name: _values(table, values, place) for name, table in tables.items()}
    return replace(catalog, tables=tables)


def _unit_keys(catalog: Catalog) -> dict[str, tuple[str, ...]]:
    """Per table, the columns that lead to the unit."""
    found: dict[str, dict[str, None]] = {}
    for table in catalog.tables.values():
        if table.unit is not None and table.unit.column is not None:
            for there, key in ((table.name, table.unit.column), *table.unit.steps):
                found.setdefault(there, {})[key] = None
    return {name: tuple(keys) for name, keys in found.items()}


def _columns(table: Table, schemas: Schemas, keys: Iterable[str], place: Place) -> Table:
    invariant(table.name in schemas, f"no schema of table {table.name} was given")
    schema = schemas[table.name]
    columns = dict(table.columns)
    for name, column in columns.items():
        columns[name] = replace(column, stored=schema[_in_source(table.name, name, schema, place)])
    for key in keys:
        if key not in columns:
            kind = unit_type_of(schema[_in_source(table.name, key, schema, place)])
            if kind is None:
                raise unit_type_error(table.name, key, place)
            columns[key] = Column(key, kind, stored=schema[_in_source(table.name, key, schema, place)])
    if table.public:
        declared = {_in_source(table.name, name, schema, place) for name in columns}
        for name, engine_type in schema.items():
            if name not in declared:
                columns[name] = _public_column(name, engine_type)
    for problem in names_twice(columns, ("tables", table.name, "columns"), place):
        raise problem
    return replace(table, columns=columns)


def _public_column(name: str, engine_type: str) -> Column:
    """A column of a public table; one of a type that we have not is hidden."""
    kind = type_of(engine_type)
    return Column(name, kind or Type.TEXT, hidden=kind is None, stored=engine_type)


def _in_source(table: str, name: str, schema: Mapping[str, str], place: Place) -> str:
    """The source's own spelling of a column: the same, or the only one that differs in case alone."""
    if name in schema:
        return name
    alike = [other for other in schema if other.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    where = place(("tables", table, "columns", name))
    if alike:
        fix = "Write it as the source does."
        message = f"{name!r} could be any of several columns of {table!r} that differ only in case"
        raise CatalogError("name_twice", message, fix=fix, place=where)
    message = f"the source of {table!r} has no column {name!r}"
    raise CatalogError("column_missing", message, fix=suggestion(name, schema), place=where)


def _agree(catalog: Catalog, tables: Mapping[str, Table], place: Place) -> None:
    """A key and the key that it points at have one type, so that equality means the same on both sides."""
    for table in catalog.tables.values():
        if table.unit is None or table.unit.column is None or not table.unit.steps:
            continue
        here = table.unit.column
        there, key = table.unit.steps[0]
        ours = tables[table.name].columns[here].type
        theirs = tables[there].columns[key].type
        if ours is not theirs:
            message = f"{table.name}.{here} is {ours.value} and {there}.{key} is {theirs.value}"
            why = "They lead to the same unit, so they must have one type."
            fix = f'Declare both with the same type, such as {here} = {{ type = "{Type.TEXT.value}" }}.'
            where = place(("tables", table.name, "columns", here))
            raise CatalogError("unit_type", message, why=why, fix=fix, place=where)


def _values(table: Table, values: Listed, place: Place) -> Table:
    columns = {name: _listed(table.name, column, values, place) for name, column in table.columns.items()}
    return replace(table, columns=columns)


def _listed(table: str, column: Column, values: Listed, place: Place) -> Column:
    if column.values_from is None:
        return column
    invariant(column.values_from in values, f"no values of {'.'.join(column.values_from)} were given")
    different = dict.fromkeys(value for value in values[column.values_from] if value is not None)
    bounds = categories(column.type, different)
    if bounds is None:
        source = ".".join(column.values_from)
        message = f"{source} does not list values of type {column.type.value}"
        fix = f"Declare the same type for {source} and {table}.{column.name}, and list at least one value."
        where = place(("tables", table, "columns", column.name, "values"))
        raise CatalogError("bad_values", message, fix=fix, place=where)
    return replace(column, bounds=with_other(bounds) if column.other else bounds)
