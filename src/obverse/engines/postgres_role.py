"""What a PostgreSQL role may do beyond reading the declared tables: told to the curator, who can take it away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

ATTRIBUTES = {
    "rolsuper": "is a superuser",
    "rolcreaterole": "may create roles",
    "rolcreatedb": "may create databases",
    "rolreplication": "may replicate",
    "rolbypassrls": "bypasses row security",
}
MEMBER = """
SELECT rolname FROM pg_roles WHERE rolname <> current_user AND pg_has_role(current_user, oid, 'USAGE') ORDER BY rolname
"""
WRITES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
AND (has_any_column_privilege(c.oid, 'INSERT') OR has_any_column_privilege(c.oid, 'UPDATE')
OR has_table_privilege(c.oid, 'DELETE') OR has_table_privilege(c.oid, 'TRUNCATE')) ORDER BY 1, 2
"""
READS = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
AND NOT c.oid = ANY(%s) AND has_any_column_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE') ORDER BY 1, 2
"""
CREATES = """
SELECT nspname FROM pg_namespace WHERE has_schema_privilege(oid, 'CREATE') AND nspname NOT LIKE 'pg\\_%' ORDER BY 1
"""
DATABASE = """
SELECT has_database_privilege(current_database(), 'CREATE'), has_database_privilege(current_database(), 'TEMPORARY')
"""
SHOWN = 3


def powers(cursor: psycopg.Cursor[Any], declared: Sequence[int]) -> tuple[str, ...]:
    """One sentence each, the worst first."""
    found = []
    told = cursor.execute(f"SELECT {', '.join(ATTRIBUTES)} FROM pg_roles WHERE rolname = current_user").fetchone()
    found += [words for words, has in zip(ATTRIBUTES.values(), told or ()) if has]
    if told is not None and told[0]:
        return tuple(found)  # everything else follows
    found += _listed("is a member of", [row[0] for row in cursor.execute(MEMBER).fetchall()])
    found += _listed("may write to", [".".join(row) for row in cursor.execute(WRITES).fetchall()])
    others = cursor.execute(READS, (list(declared),)).fetchall()
    found += _listed("may read, though undeclared,", [".".join(row) for row in others])
    found += _listed("may create tables and functions in the schema", [row[0] for row in cursor.execute(CREATES).fetchall()])
    create, temporary = cursor.execute(DATABASE).fetchone() or (False, False)
    found += ["may create schemas"] if create else []
    found += ["may make temporary tables"] if temporary else []
    return tuple(found)


def _listed(what: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return [f"{what} {', '.join(names[:SHOWN])}{more}"]
