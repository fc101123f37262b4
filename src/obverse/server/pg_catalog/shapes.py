"""The columns of PostgreSQL's own catalogue, as version 15 has them; those of `shapes.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

Shape = Mapping[str, str]  # column to type
TYPES = {
    "bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "oid": "UINTEGER", "name": "VARCHAR",
    "text": "VARCHAR", "char": "VARCHAR", "float4": "FLOAT", "float8": "DOUBLE", "timestamp": "TIMESTAMP",
    "numeric": "DECIMAL(18, 3)",
}  # fmt: skip
SCHEMAS = {"pg_catalog": "pgc", "information_schema": "info"}  # by the names that they have in the shadow


@cache
def shapes() -> Mapping[str, Mapping[str, Shape]]:
    """Relations and their columns, of each schema."""
    found: dict[str, dict[str, Shape]] = {}
    schema: dict[str, Shape] = {}
    for line in (Path(__file__).parent / "shapes.txt").read_text().splitlines():
        if line.startswith("["):
            schema = found[line.strip("[]")] = {}
            continue
        name, *columns = line.split()
        schema[name] = {column.partition(":")[0]: column.partition(":")[2] or "text" for column in columns}
    return found


def made(schema: str, name: str) -> str:
    """The statement that makes one of them, empty."""
    columns = ", ".join(f'"{column}" {duck_type(kind)}' for column, kind in shapes()[schema][name].items())
    return f'CREATE TABLE {SCHEMAS[schema]}."{name}" ({columns})'


def duck_type(kind: str) -> str:
    return TYPES[kind.removesuffix("[]")] + ("[]" if kind.endswith("[]") else "")
