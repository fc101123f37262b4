"""Columns of text that a source compares otherwise than by bytes, as the engine's catalog says: for the curator, who may rely
on that. No row is read, and no plan depends on it: plans compare every text by its bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import psycopg

    from obverse.core.engine import Schema

BYTES = frozenset({"", "binary", "c", "posix", "utf8_binary"})  # collations that are no more than the order of bytes
DECLARED = re.compile(r"\bc(\d+) VARCHAR COLLATE ([^,)]+)")
OF_POSTGRES = """
WITH RECURSIVE typed AS (
SELECT a.attnum, a.attname, a.attcollation, a.atttypid AS type FROM pg_attribute a
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT t.attnum, t.attname, t.attcollation, y.typbasetype FROM typed t JOIN pg_type y ON y.oid = t.type
WHERE y.typtype = 'd'
)
SELECT t.attname, CASE WHEN NOT l.collisdeterministic THEN l.collname ELSE y.typname END
FROM typed t JOIN pg_type y ON y.oid = t.type LEFT JOIN pg_collation l ON l.oid = t.attcollation
WHERE y.typtype <> 'd' AND y.typcategory = 'S'
AND (NOT l.collisdeterministic OR y.typname NOT IN ('text', 'varchar', 'bpchar', 'name', 'char')) ORDER BY t.attnum
"""


def of_duckdb(cursor: duckdb.DuckDBPyConnection, relation: str, schema: Schema) -> dict[str, str]:
    """By the definition of an empty table with the columns of this one: DESCRIBE leaves collations out, of views above all."""
    texts = [name for name, kind in schema.items() if kind == "VARCHAR"]
    if not texts:
        return {}
    quoted = (f'"{name.replace(chr(34), chr(34) * 2)}" AS c{n}' for n, name in enumerate(texts))
    cursor.execute("BEGIN")
    try:
        cursor.execute(f"CREATE TEMP TABLE collated AS SELECT {', '.join(quoted)} FROM {relation} LIMIT 0")
        told = cursor.execute("SELECT sql FROM duckdb_tables() WHERE table_name = 'collated' AND temporary").fetchone()
    finally:
        cursor.execute("ROLLBACK")
    return unlike_bytes({texts[int(place)]: name for place, name in DECLARED.findall(told[0] if told else "")})


def of_postgres(cursor: psycopg.Cursor[Any], oid: int) -> dict[str, str]:
    """Columns with a collation that is not deterministic, or of a type with an equality of its own, such as citext; domains are
    what they are made of. Collations that only order texts otherwise are not among them."""
    return dict(cursor.execute(OF_POSTGRES, (oid,)).fetchall())


def of_spark(fields: Mapping[str, str]) -> dict[str, str]:
    """By the types of columns, in Spark's words."""
    collated = {name: kind.partition(" collate ") for name, kind in fields.items() if kind.startswith("string")}
    return unlike_bytes({name: collation for name, (_, _, collation) in collated.items()})


def unlike_bytes(found: Mapping[str, str]) -> dict[str, str]:
    return {name: collation for name, collation in found.items() if collation.strip('"').lower() not in BYTES}
