"""What tools ask of PostgreSQL's catalogue when they connect, as their sources and logs show it in public."""

from __future__ import annotations

METABASE = {
    "schemas": """
        SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'""",
    "tables": """
        SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN \
'PARTITIONED TABLE'
        WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS type,
        d.description AS description, NULLIF(stat.n_live_tup, 0) AS estimated_row_count
        FROM pg_catalog.pg_class AS c INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
        LEFT JOIN pg_catalog.pg_description AS d ON (c.oid = d.objoid) AND (d.objsubid = 0) AND (d.classoid =
        'pg_class'::regclass)
        LEFT JOIN pg_stat_user_tables AS stat ON (n.nspname = stat.schemaname) AND (c.relname = stat.relname)
        WHERE (c.relnamespace = n.oid) AND (n.nspname !~ '^pg_') AND (n.nspname <> 'information_schema')
        AND c.relkind IN ('r', 'p', 'v', 'f', 'm') AND n.nspname IN ('public') ORDER BY type ASC, schema ASC, name \
ASC""",
    "fields": """
        SELECT c.column_name AS name, c.udt_name AS "database-type", c.ordinal_position - 1 AS "database-position",
        c.table_schema AS "table-schema", c.table_name AS "table-name", pk.column_name IS NOT NULL AS "pk?",
        COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST(c.table_schema AS TEXT), CAST(c.table_name AS TEXT)) AS REGCLASS)
        AS OID),
        c.ordinal_position) AS "field-comment",
        (column_default IS NULL OR LOWER(column_default) = 'null') AND is_nullable = 'NO' AND NOT (column_default IS NOT
        NULL AND
        column_default LIKE '%nextval(%') AND is_identity = 'NO' AS "database-required",
        (column_default IS NOT NULL AND column_default LIKE '%nextval(%') OR is_identity <> 'NO' AS \
"database-is-auto-increment"
        FROM information_schema.columns AS c
        LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc
        INNER JOIN information_schema.key_column_usage AS kc ON (tc.constraint_name = kc.constraint_name)
        AND (tc.table_schema = kc.table_schema) AND (tc.table_name = kc.table_name) WHERE tc.constraint_type = 'PRIMARY
        KEY') AS pk
        ON (c.table_schema = pk.table_schema) AND (c.table_name = pk.table_name) AND (c.column_name = pk.column_name)
        WHERE (c.table_schema !~ '^information_schema|catalog_history|pg_') AND (c.table_schema IN ('public'))
        UNION ALL SELECT pa.attname AS name, pt.typname AS "database-type", pa.attnum - 1 AS "database-position",
        pn.nspname AS "table-schema", pc.relname AS "table-name", FALSE AS "pk?", NULL AS "field-comment",
        FALSE AS "database-required", FALSE AS "database-is-auto-increment"
        FROM pg_catalog.pg_class AS pc INNER JOIN pg_catalog.pg_namespace AS pn ON pn.oid = pc.relnamespace
        INNER JOIN pg_catalog.pg_attribute AS pa ON pa.attrelid = pc.oid INNER JOIN pg_catalog.pg_type AS pt ON pt.oid =
        pa.atttypid
        WHERE (pc.relkind = 'm') AND (pa.attnum >= 1) ORDER BY "table-schema" ASC, "table-name" ASC, \
"database-position" ASC""",
    "foreign keys": """
        SELECT fk_ns.nspname AS "fk-table-schema", fk_table.relname AS "fk-table-name", fk_column.attname AS \
"fk-column-name",
        pk_ns.nspname AS "pk-table-schema", pk_table.relname AS "pk-table-name", pk_column.attname AS "pk-column-name"
        FROM pg_constraint AS c INNER JOIN pg_class AS fk_table ON c.conrelid = fk_table.oid
        INNER JOIN pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid
        INNER JOIN pg_attribute AS fk_column ON c.conrelid = fk_column.attrelid
        INNER JOIN pg_class AS pk_table ON c.confrelid = pk_table.oid
        INNER JOIN pg_namespace AS pk_ns ON pk_table.relnamespace = pk_ns.oid
        INNER JOIN pg_attribute AS pk_column ON c.confrelid = pk_column.attrelid
        WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND c.contype = 'f'::"char"
        AND fk_column.attnum = ANY(c.conkey) AND pk_column.attnum = ANY(c.confkey) ORDER BY fk_ns.nspname, \
fk_table.relname""",
    "privileges": """
        WITH table_privileges AS (SELECT NULL AS role, t.schemaname AS schema, t.objectname AS table,
        pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"'
        || replace(t.objectname, '"', '""') || '"', 'update') AS update,
        pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"."' || t.objectname || '"', 'select')
        AS select,
        pg_catalog.has_table_privilege(current_user, '"' || t.schemaname || '"."' || t.objectname || '"', 'delete') \
AS delete
        FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables UNION SELECT schemaname, viewname AS
        objectname
        FROM pg_views UNION SELECT schemaname, matviewname AS objectname FROM pg_matviews) t
        WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema'
        AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage'))
        SELECT t.* FROM table_privileges t WHERE t.select OR t.update OR t.delete""",
    "enums": """
        SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
        WHERE t.oid IN (SELECT DISTINCT(enumtypid) FROM pg_enum e)""",
    "indexes": """
        SELECT tmp.table_schema AS "table-schema", tmp.table_name AS "table-name", trim(BOTH '"' FROM
        pg_catalog.pg_get_indexdef(tmp.ci_oid, tmp.pos, false)) AS "field-name" FROM (SELECT n.nspname AS table_schema,
        ct.relname AS table_name, ci.oid AS ci_oid, (information_schema._pg_expandarray(i.indkey)).n AS pos
        FROM pg_catalog.pg_class AS ct INNER JOIN pg_catalog.pg_namespace AS n ON ct.relnamespace = n.oid
        INNER JOIN pg_catalog.pg_index AS i ON ct.oid = i.indrelid INNER JOIN pg_catalog.pg_class AS ci ON ci.oid = \
i.indexrelid
        WHERE pg_catalog.pg_get_expr(i.indpred, i.indrelid) IS NULL AND n.nspname !~ \
'^information_schema|catalog_history|pg_')
        AS tmp WHERE tmp.pos = 1""",
    "time": "SELECT now()",
    "zone": "SHOW TIMEZONE",
}
DBEAVER = {
    "databases": "SELECT db.oid, db.* FROM pg_catalog.pg_database db"
    " WHERE datallowconn AND NOT datistemplate AND db.datname = 'x'",
    "schemas": """
        SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d
        ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname""",
    "types": """
        SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name, \
d.description
        FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem
        LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
        LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid
        WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR
        et.typcategory <> 'C')""",
    "tables": """
        SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr,
        pg_catalog.pg_get_partkeydef(c.oid) AS partition_key FROM pg_catalog.pg_class c
        LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = \
'pg_class'::regclass
        WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')""",
    "columns": """
        SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, \
dep.objid
        FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
        LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
        LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
        LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum
        AND dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.relkind NOT IN ('i', 'I', 'c') ORDER BY \
a.attnum""",
    "constraints": """
        SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, d.description,
        CASE WHEN c.contype = 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) ELSE NULL END AS consrc_copy
        FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
        LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid
        LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0
        AND d.classoid = 'pg_constraint'::regclass WHERE c.conrelid = 1 ORDER BY c.oid""",
    "indexes": """
        SELECT i.*, i.indkey AS keys, c.relname, c.relnamespace, c.relam, c.reltablespace, tc.relname AS tabrelname,
        dsc.description, pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred_expr,
        pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) AS expr, pg_catalog.pg_relation_size(i.indexrelid) AS
        index_rel_size,
        pg_catalog.pg_stat_get_numscans(i.indexrelid) AS index_num_scans FROM pg_catalog.pg_index i
        INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid = \
i.indrelid
        LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid = dsc.objoid WHERE i.indrelid = 1 ORDER BY \
c.relname""",
    "sizes": """
        SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid) AS total_rel_size, pg_catalog.pg_relation_size(c.oid) \
AS rel_size
        FROM pg_class c WHERE c.relnamespace = 2200""",
    "roles": "SELECT a.oid, a.*, pd.description FROM pg_catalog.pg_roles a LEFT JOIN pg_catalog.pg_shdescription pd"
    " ON a.oid = pd.objoid ORDER BY a.rolname",
    "session": "SELECT current_schema(), session_user",
    "server": "SELECT version()",
    "settings": "SELECT * FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings'",
    "encoding": "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()",
    "access methods": "SELECT am.oid, am.* FROM pg_catalog.pg_am am ORDER BY am.oid",
    "languages": "SELECT l.oid, l.* FROM pg_catalog.pg_language l ORDER BY l.oid",
    "foreign wrappers": "SELECT l.oid, l.*, p.pronamespace AS handler_schema_id FROM "
    "pg_catalog.pg_foreign_data_wrapper l"
    " LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid = l.fdwhandler ORDER BY l.fdwname",
    "tablespaces": "SELECT t.oid, t.*, pg_tablespace_location(t.oid) AS loc FROM pg_catalog.pg_tablespace t ORDER BY "
    "t.oid",
    "keywords": "SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL "
    "('{a,abs,all}'::text[])",
}
SUPERSET = {
    "alive": "SELECT 1",
    "schema": "SELECT current_schema()",
    "isolation": "SHOW TRANSACTION ISOLATION LEVEL",
    "strings": "SHOW standard_conforming_strings",
    "version": "SELECT pg_catalog.version()",
    "unicode": "SELECT CAST('test plain returns' AS VARCHAR(60)) AS anon_1",
    "exists": "SELECT pg_catalog.pg_class.relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON"
    " pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace WHERE pg_catalog.pg_class.relname = 'visits'"
    " AND pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm'])"
    " AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog'",
    "catalogs": "SELECT datname FROM pg_database WHERE datistemplate = false",
    "oid": "SELECT c.oid FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE (pg_catalog.pg_table_is_visible(c.oid)) AND c.relname = 'visits' AND c.relkind IN ('r', 'v', 'm', 'f', "
    "'p')",
}
GRAFANA = {
    "version": "SELECT current_setting('server_version_num')::int/100",
    "timescale": "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'",
    "tables": """
        SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE \
trim(s[i]) END
        FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1),
        array_upper(string_to_array(current_setting('search_path'),','),1)) AS i,
        string_to_array(current_setting('search_path'),',') s) THEN quote_ident(table_name)
        ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
        FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog')""",
    "columns": """
        SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
        WHERE quote_ident(table_name) = 'visits'""",
}
TABLEAU = {
    "identity": "SELECT current_database(), current_schema(), current_user",
    "extra float": "SET extra_float_digits = 3",
    "tables": """
        select NULL, nspname, relname, relkind, NULL::text, relhasoids from (select n.nspname, c.relname, c.relkind,
        false as relhasoids from pg_catalog.pg_class c, pg_catalog.pg_namespace n where n.oid = c.relnamespace
        and relkind in ('r', 'v', 'm', 'f', 'p') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast')) t
        order by nspname, relname""",
    "columns (odbc)": """
        select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod, a.attnotnull,
        c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid), case t.typtype when 'd' then t.typbasetype \
else 0 end,
        t.typtypmod, 0, attidentity, c.relhassubclass from (((pg_catalog.pg_class c inner join pg_catalog.pg_namespace n
        on n.oid = c.relnamespace and c.oid = 'visits'::regclass) inner join pg_catalog.pg_attribute a on (not \
a.attisdropped)
        and a.attnum > 0 and a.attrelid = c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid)
        left outer join pg_attrdef d on a.atthasdef and d.adrelid = a.attrelid and d.adnum = a.attnum order by \
n.nspname,
        c.relname,
        attnum""",
    "keys (odbc)": """
        select ta.attname, ia.attnum, ic.relname, n.nspname, tc.relname from pg_catalog.pg_attribute ta,
        pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i, pg_catalog.pg_namespace n,
        pg_catalog.pg_class ic
        where tc.relname = 'visits' AND n.nspname = 'public' AND tc.oid = i.indrelid AND n.oid = tc.relnamespace
        AND i.indisprimary = 't' AND ia.attrelid = i.indexrelid AND ta.attrelid = i.indrelid AND ta.attnum =
        i.indkey[ia.attnum-1]
        AND (NOT ta.attisdropped) AND (NOT ia.attisdropped) AND ic.oid = i.indexrelid order by ia.attnum""",
}
NPGSQL = {  # Power BI
    "version": "SELECT version()",
    "types": """
        SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid FROM (
        SELECT typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind,
        elemtyp.oid AS elemtypoid, elemtyp.typname AS elemtypname, elemcls.relkind AS elemrelkind,
        CASE WHEN elemproc.proname='array_recv' THEN 'a' ELSE elemtyp.typtype END AS elemtyptype FROM (
        SELECT typ.oid, typnamespace, typname, typrelid, typnotnull, relkind, typelem AS elemoid,
        CASE WHEN proc.proname='array_recv' THEN 'a' ELSE typ.typtype END AS typtype,
        CASE WHEN proc.proname='array_recv' THEN typ.typelem WHEN typ.typtype='r' THEN rngsubtype
        WHEN typ.typtype='m' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = typ.oid)
        WHEN typ.typtype='d' THEN typ.typbasetype END AS elemtypoid
        FROM pg_type AS typ LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
        LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid)
        ) AS typ LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = elemtypoid
        LEFT JOIN pg_class AS elemcls ON (elemcls.oid = elemtyp.typrelid)
        LEFT JOIN pg_proc AS elemproc ON elemproc.oid = elemtyp.typreceive) AS t JOIN pg_namespace AS ns ON (ns.oid =
        typnamespace)
        WHERE typtype IN ('b', 'r', 'm', 'e', 'd') OR (typtype = 'c' AND relkind='c') OR (typtype = 'p' AND typname IN
        ('record',
        'void', 'unknown')) OR (typtype = 'a' AND (elemtyptype IN ('b', 'r', 'm', 'e', 'd') OR (elemtyptype = 'p' AND
        elemtypname
        IN ('record', 'void')) OR (elemtyptype = 'c' AND elemrelkind='c')))
        ORDER BY CASE WHEN typtype IN ('b', 'e', 'p') THEN 0 WHEN typtype = 'r' THEN 1 WHEN typtype = 'm' THEN 2
        WHEN typtype = 'c' THEN 3 WHEN typtype = 'd' AND elemtyptype <> 'a' THEN 4 WHEN typtype = 'a' THEN 5
        WHEN typtype = 'd' AND elemtyptype = 'a' THEN 6 END""",
    "composites": """
        SELECT typ.oid, att.attname, att.atttypid FROM pg_type AS typ JOIN pg_namespace AS ns ON (ns.oid = \
typ.typnamespace)
        JOIN pg_class AS cls ON (cls.oid = typ.typrelid) JOIN pg_attribute AS att ON (att.attrelid = typ.typrelid)
        WHERE (typ.typtype = 'c' AND cls.relkind='c') AND attnum > 0 AND NOT attisdropped ORDER BY typ.oid, \
att.attnum""",
    "enums": "SELECT pg_type.oid, enumlabel FROM pg_enum JOIN pg_type ON pg_type.oid=enumtypid ORDER BY oid, "
    "enumsortorder",
    "tables (Power BI)": """
        select TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE from INFORMATION_SCHEMA.tables
        where TABLE_SCHEMA not in ('information_schema', 'pg_catalog') order by TABLE_SCHEMA, TABLE_NAME""",
    "columns (Power BI)": """
        select COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, case when (data_type like '%unsigned%') then DATA_TYPE || \
' unsigned'
        else DATA_TYPE end as DATA_TYPE from INFORMATION_SCHEMA.columns where TABLE_SCHEMA = 'public' and TABLE_NAME \
= 'visits'
        order by TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION""",
    "keys (Power BI)": """
        select pkcol.COLUMN_NAME as PK_COLUMN_NAME, fkcol.TABLE_SCHEMA AS FK_TABLE_SCHEMA, fkcol.TABLE_NAME AS \
FK_TABLE_NAME,
        fkcol.COLUMN_NAME as FK_COLUMN_NAME, fkcol.ORDINAL_POSITION as ORDINAL, fkcon.CONSTRAINT_SCHEMA || '_' ||
        fkcol.TABLE_NAME || '_' || 'visits' || '_' || fkcon.CONSTRAINT_NAME as FK_NAME from
        (select distinct constraint_catalog, constraint_schema, unique_constraint_schema, constraint_name,
        unique_constraint_name
        from INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS) fkcon inner join (select * from
        INFORMATION_SCHEMA.KEY_COLUMN_USAGE) fkcol
        on fkcon.CONSTRAINT_SCHEMA = fkcol.CONSTRAINT_SCHEMA and fkcon.CONSTRAINT_NAME = fkcol.CONSTRAINT_NAME
        inner join (select * from INFORMATION_SCHEMA.KEY_COLUMN_USAGE) pkcol on fkcon.UNIQUE_CONSTRAINT_SCHEMA =
        pkcol.CONSTRAINT_SCHEMA and fkcon.UNIQUE_CONSTRAINT_NAME = pkcol.CONSTRAINT_NAME where pkcol.TABLE_SCHEMA = \
'public'
        and pkcol.TABLE_NAME = 'visits' and pkcol.ORDINAL_POSITION = fkcol.ORDINAL_POSITION order by FK_NAME,
        fkcol.ORDINAL_POSITION""",
}
PGADMIN = {
    "server": "SELECT version()",
    "databases": """
        SELECT db.oid as did, db.datname, db.datallowconn, pg_encoding_to_char(db.encoding) AS serverencoding,
        has_database_privilege(db.oid, 'CREATE') as cancreate, datistemplate FROM pg_catalog.pg_database db
        WHERE db.datname = current_database()""",
    "roles": """
        SELECT roles.oid as id, roles.rolname as name, roles.rolsuper as is_superuser,
        CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreaterole END as can_create_role,
        CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreatedb END as can_create_db
        FROM pg_catalog.pg_roles as roles WHERE rolname = current_user""",
    "recovery": "SELECT pg_is_in_recovery() as inrecovery, null as isreplaypaused",
    "settings": "SELECT set_config('bytea_output', 'hex', false) FROM pg_settings WHERE name = 'bytea_output'",
    "tables": """
        SELECT rel.oid, rel.relname AS name, (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid=rel.oid
        AND tgisinternal = FALSE) AS triggercount, (SELECT count(1) FROM pg_catalog.pg_inherits WHERE inhrelid=rel.oid
        LIMIT 1) as
        is_inherits FROM pg_catalog.pg_class rel WHERE rel.relkind IN ('r','s','t','p') AND rel.relnamespace = 2200::oid
        AND NOT rel.relispartition ORDER BY rel.relname""",
}  # fmt: skip
ASYNCPG = {
    "types": """
        SELECT t.oid, t.typelem AS elemtype, t.typtype AS kind FROM pg_catalog.pg_type AS t WHERE t.oid =
        any('{25,23}'::oid[])""",
    "reset": "SELECT pg_advisory_unlock_all()",
}  # fmt: skip
TOOLS = {
    "Metabase": METABASE,
    "DBeaver": DBEAVER,
    "Superset": SUPERSET,
    "Grafana": GRAFANA,
    "Tableau": TABLEAU,
    "Npgsql": NPGSQL,
    "pgAdmin": PGADMIN,
    "asyncpg": ASYNCPG,
}
