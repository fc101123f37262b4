"""Names of an engine's types in our own six; what has no counterpart is None."""

from __future__ import annotations

from obverse.core.types import Type

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
