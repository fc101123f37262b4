"""information_schema, made of the catalogue as PostgreSQL does: schemata, tables, columns, privileges; all else is empty."""

from __future__ import annotations

from obverse.server.pg_catalog.relations import OWNER_NAME

FROM_COLUMNS = (
    "FROM pgc.pg_attribute a JOIN pgc.pg_class c ON c.oid = a.attrelid JOIN pgc.pg_type t ON t.oid = a.atttypid, "
    "pgc.pg_database d"
)
BITS = {"int2": 16, "int4": 32, "int8": 64, "float4": 24, "float8": 53}
PRECISION = "CASE t.typname " + " ".join(f"WHEN '{name}' THEN {bits}" for name, bits in BITS.items()) + " END"


def statements() -> list[str]:
    """What fills the relations of information_schema that are not empty."""
    return [
        f"INSERT INTO info.schemata BY NAME SELECT d.datname AS catalog_name, n.nspname AS schema_name, '{OWNER_NAME}' AS "
        "schema_owner FROM pgc.pg_namespace n, pgc.pg_database d",
        "INSERT INTO info.tables BY NAME SELECT d.datname AS table_catalog, 'public' AS table_schema, c.relname AS table_name, "
        "'BASE TABLE' AS table_type, 'NO' AS is_insertable_into, 'NO' AS is_typed FROM pgc.pg_class c, pgc.pg_database d",
        "INSERT INTO info.columns BY NAME SELECT d.datname AS table_catalog, 'public' AS table_schema, c.relname AS "
        "table_name, "
        "a.attname AS column_name, a.attnum AS ordinal_position, CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS "
        "is_nullable, "
        f"format_type(t.oid, NULL) AS data_type, {PRECISION} AS numeric_precision, CASE WHEN t.typname LIKE 'int%' "
        f"THEN 10 WHEN "
        "t.typname LIKE 'float%' THEN 2 END AS numeric_precision_radix, CASE WHEN t.typname LIKE 'int%' THEN 0 END AS "
        "numeric_scale, CASE t.typname WHEN 'timestamp' THEN 6 WHEN 'date' THEN 0 END AS datetime_precision, d.datname AS "
        "udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name, a.attnum::VARCHAR AS dtd_identifier, 'NO' AS "
        f"is_self_referencing, 'NO' AS is_identity, 'NEVER' AS is_generated, 'NO' AS is_updatable {FROM_COLUMNS}",
        f"INSERT INTO info.table_privileges BY NAME SELECT '{OWNER_NAME}' AS grantor, 'PUBLIC' AS grantee, d.datname AS "
        "table_catalog, 'public' AS table_schema, c.relname AS table_name, 'SELECT' AS privilege_type, 'NO' AS is_grantable, "
        "'YES' AS with_hierarchy FROM pgc.pg_class c, pgc.pg_database d",
        "INSERT INTO info.information_schema_catalog_name SELECT datname FROM pgc.pg_database",
    ]
