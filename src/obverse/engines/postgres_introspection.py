"""How PostgreSQL describes tables and views: columns, collations, definitions, row security, and what they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from obverse.core.relation import FOREIGN, MATERIALIZED, OTHER, TEMPORARY, VIEW, Relation, StoredColumn

if TYPE_CHECKING:
    import psycopg

KINDS = {"r": "table", "p": "table", "v": VIEW, "m": MATERIALIZED, "f": FOREIGN}
LOCKABLE = "rpv"
DEPTH_MAX = 32
DESCRIBED = """
WITH RECURSIVE tree(one, oid) AS (
SELECT 0::oid, unnest(%(t)s::oid[]) UNION SELECT tree.oid, below.oid FROM tree CROSS JOIN LATERAL (
SELECT d.refobjid AS oid FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
AND d.refclassid = 'pg_class'::regclass WHERE r.ev_class = tree.oid AND r.rulename = '_RETURN' AND d.refobjid <> tree.oid
UNION ALL SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = tree.oid) AS below
), part(oid) AS (SELECT DISTINCT oid FROM tree), odd(type, function) AS (
SELECT k.castsource, p.oid::regprocedure::text FROM pg_cast k JOIN pg_proc p ON p.oid = k.castfunc
JOIN pg_language l ON l.oid = p.prolang WHERE p.oid >= 16384 AND l.lanname NOT IN ('internal', 'c')
UNION SELECT y.oid, odd.function FROM odd JOIN pg_type y ON y.typtype = 'd' AND y.typbasetype = odd.type)
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relpersistence::text,
CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) ELSE '' END,
ARRAY(SELECT DISTINCT t.oid::bigint FROM tree t WHERE t.one = c.oid ORDER BY 1),
(SELECT json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod),
CASE WHEN l.oid IS NULL THEN '' ELSE
l.collnamespace::regnamespace::text || '.' || l.collname::text || ' ' || l.collisdeterministic::text END,
CASE WHEN a.attgenerated = '' THEN '' ELSE pg_get_expr(g.adbin, g.adrelid) END,
COALESCE((SELECT min(odd.function) FROM odd WHERE odd.type = a.atttypid), '')) ORDER BY a.attnum)
FROM pg_attribute a LEFT JOIN pg_attrdef g ON g.adrelid = a.attrelid AND g.adnum = a.attnum
LEFT JOIN pg_collation l ON l.oid = a.attcollation
WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
CASE WHEN c.relrowsecurity THEN ARRAY(SELECT p.polname::text || ' ' || p.polcmd::text || ' ' || p.polroles::text || ' '
|| COALESCE(pg_get_expr(p.polqual, p.polrelid), '') FROM pg_policy p WHERE p.polrelid = c.oid ORDER BY 1)
|| 'row security'::text ELSE '{}' END,
CASE WHEN c.relkind IN ('v', 'm') THEN ARRAY(SELECT DISTINCT pg_describe_object(d.refclassid, d.refobjid, 0)
FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid WHERE r.ev_class = c.oid
AND d.refclassid NOT IN ('pg_class'::regclass, 'pg_collation'::regclass) ORDER BY 1)
ELSE ARRAY(SELECT DISTINCT pg_describe_object(d.refclassid, d.refobjid, 0)
FROM pg_attrdef g JOIN pg_attribute a ON a.attrelid = g.adrelid AND a.attnum = g.adnum AND a.attgenerated <> ''
JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = g.oid WHERE g.adrelid = c.oid
AND d.refclassid NOT IN ('pg_class'::regclass, 'pg_collation'::regclass) ORDER BY 1) END
FROM part JOIN pg_class c ON c.oid = part.oid JOIN pg_namespace n ON n.oid = c.relnamespace
"""
SAME = """
SELECT bool_and(to_regclass(name)::oid IS NOT DISTINCT FROM oid) FROM unnest(%(n)s::text[], %(t)s::oid[]) AS one(name, oid)
"""
Names = Mapping[str, str]  # declared table to its schema and name, quoted


def described(cursor: psycopg.Cursor[Any], tables: Mapping[str, int]) -> dict[str, Relation]:
    """The relations of declared tables, by the numbers that the server has for them; a dropped one is left out."""
    oids = list(dict.fromkeys(tables.values()))
    rows = {row[0]: row for row in cursor.execute(DESCRIBED, {"t": oids}).fetchall()}
    return {name: _relation(oid, rows, 0) for name, oid in tables.items() if oid in rows}


def locked(cursor: psycopg.Cursor[Any], tables: Iterable[str], others: Iterable[str]) -> None:
    """Keep the definitions as they are until the transaction ends. Before its first reading, so that what it then reads of the
    catalog is what its questions are planned by: those see changes that a snapshot does not."""
    if names := ", ".join(tables):
        cursor.execute(f"LOCK TABLE {names} IN ACCESS SHARE MODE")
    for name in others:  # what cannot be locked by name is locked by being read
        cursor.execute(f"SELECT 1 FROM {name} LIMIT 0")


def in_place(cursor: psycopg.Cursor[Any], oids: Mapping[str, int], names: Names) -> bool:
    """Whether the names still lead to the same relations."""
    found = cursor.execute(SAME, {"n": [names[one] for one in oids], "t": list(oids.values())}).fetchone()
    return found is not None and found[0] is not False


def counted_by(cursor: psycopg.Cursor[Any], oid: int) -> int:
    """The table whose counters tell that rows changed: of a view over one table, that table."""
    relation = described(cursor, {"": oid}).get("")
    while relation is not None and relation.kind in (VIEW, MATERIALIZED) and len(relation.reads) == 1:
        relation = relation.reads[0]
    return int(relation.place) if relation is not None and relation.place else oid


def _relation(oid: int, rows: Mapping[int, tuple[Any, ...]], depth: int) -> Relation:
    if oid not in rows or depth > DEPTH_MAX:
        return Relation(str(oid), OTHER, ())
    _, schema, name, kind, persistence, definition, reads, columns, policies, custom = rows[oid]
    return Relation(
        name=f"{schema}.{name}",
        kind=TEMPORARY if persistence == "t" else KINDS.get(kind, OTHER),
        columns=tuple(StoredColumn(*(str(part) for part in column)) for column in columns or ()),
        definition=definition,
        reads=tuple(_relation(one, rows, depth + 1) for one in reads),
        custom=tuple(custom),
        policies=tuple(policies),
        place=str(oid),
    )
