"""The rows of the catalogue: of one project's tables as they are declared, with OIDs that every server gives them.

PostgreSQL's own types, as far as tools ask about them: OID, name, size, category, element, array, spelling.

The columns of PostgreSQL's own catalogue, as version 15 has them; those of `shapes.txt`.

information_schema, made of the catalogue as PostgreSQL does: schemata, tables, columns, privileges; all else is empty.

Who asks the shadow, and what it knows of their project.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlglot import expressions as exp

from obverse.core.types import Type
from obverse.server.postgres.settings import DEFAULTS
from obverse.server.postgres.types import OIDS
from obverse.session.views import ColumnView, TableView

READ = "postgres"
WRITTEN = "duckdb"


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks: a name, a project, its settings, the values of parameters, and the connection's number."""

    user: str
    database: str
    settings: Mapping[str, str]
    values: tuple[Any, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class Declared:
    """What the rewriting knows of the project: its tables' OIDs."""

    tables: Mapping[str, int]


def constant(value: Any) -> exp.Expression:
    """A value as a literal of the query."""
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            return exp.Literal.number(value)
        case list():
            return exp.Array(expressions=[constant(one) for one in value])
        case _:
            return exp.Literal.string(str(value))


class PgType(NamedTuple):
    oid: int
    name: str
    size: int
    by_value: bool
    kind: str
    category: str
    preferred: bool
    element: int
    array: int
    reader: str
    align: str
    storage: str
    shown: str


_BASE = """
16 bool 1 t B t 0 1000 boolin c p boolean
17 bytea -1 f U f 0 1001 byteain i x bytea
18 char 1 t Z f 0 1002 charin c p "char"
19 name 64 f S f 18 1003 namein c p name
20 int8 8 t N f 0 1016 int8in d p bigint
21 int2 2 t N f 0 1005 int2in s p smallint
22 int2vector -1 f A f 21 1006 int2vectorin i p int2vector
23 int4 4 t N f 0 1007 int4in i p integer
24 regproc 4 t N f 0 1008 regprocin i p regproc
25 text -1 f S t 0 1009 textin i x text
26 oid 4 t N t 0 1028 oidin i p oid
30 oidvector -1 f A f 26 1013 oidvectorin i p oidvector
114 json -1 f U f 0 199 json_in i x json
700 float4 4 t N f 0 1021 float4in i p real
701 float8 8 t N t 0 1022 float8in d p double precision
705 unknown -2 f X f 0 0 unknownin c p unknown
1042 bpchar -1 f S f 0 1014 bpcharin i x character
1043 varchar -1 f S f 0 1015 varcharin i x character varying
1082 date 4 t D f 0 1182 date_in i p date
1083 time 8 t D f 0 1183 time_in d p time without time zone
1114 timestamp 8 t D f 0 1115 timestamp_in d p timestamp without time zone
1184 timestamptz 8 t D t 0 1185 timestamptz_in d p timestamp with time zone
1186 interval 16 f T t 0 1187 interval_in d p interval
1700 numeric -1 f N f 0 1231 numeric_in i m numeric
2205 regclass 4 t N f 0 2210 regclassin i p regclass
2206 regtype 4 t N f 0 2211 regtypein i p regtype
2249 record -1 f P f 0 2287 record_in d x record
2278 void 4 t P f 0 0 void_in i p void
2950 uuid 16 f U f 0 2951 uuid_in c p uuid
3802 jsonb -1 f U f 0 3807 jsonb_in i x jsonb
"""
ARRAY_READER = 2400  # the OID of array_recv, by which Npgsql knows arrays
PSEUDO = ("unknown", "record", "void")


def types() -> Iterator[PgType]:
    """All of them, and the arrays of those that have one."""
    for line in _BASE.strip().splitlines():
        oid, name, size, by_value, category, preferred, element, array, reader, align, storage, shown = line.split(
            " ", 11
        )
        kind = "p" if name in PSEUDO else "b"
        yield PgType(
            int(oid),
            name,
            int(size),
            by_value == "t",
            kind,
            category,
            preferred == "t",
            int(element),
            int(array),
            reader,
            align,
            storage,
            shown,
        )
        if array != "0" and kind == "b":
            wide = "d" if align == "d" else "i"
            yield PgType(
                int(array), f"_{name}", -1, False, "b", "A", False, int(oid), 0, "array_in", wide, "x", f"{shown}[]"
            )  # fmt: skip


def type_rows() -> list[dict[str, Any]]:
    """The rows of pg_type."""
    return [
        {
            "oid": one.oid, "typname": one.name, "typnamespace": 11, "typowner": 10, "typlen": one.size,
            "typbyval": one.by_value,
            "typtype": one.kind, "typcategory": one.category, "typispreferred": one.preferred, "typisdefined": True,
            "typdelim": ",", "typrelid": 0, "typsubscript": "-", "typelem": one.element, "typarray": one.array,
            "typinput": one.reader, "typoutput": one.reader.removesuffix("in") + "out", "typsend": "-",
            "typreceive": str(ARRAY_READER if one.name.startswith("_") else 0),
            "typmodin": "-", "typmodout": "-", "typanalyze": "-", "typalign": one.align, "typstorage": one.storage,
            "typnotnull": False, "typbasetype": 0, "typtypmod": -1, "typndims": 0,
            "typcollation": 100 if one.category == "S" else 0,
        }
        for one in types()
    ]  # fmt: skip


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


# OIDs of what users make
FIRST = 1 << 14
LAST = (1 << 31) - 1
CATALOG_SPACE = 11
PUBLIC_SPACE = 2200
INFO_SPACE = 13000
OWNER = 10
OWNER_NAME = "obverse"
SPACES = {"pg_catalog": CATALOG_SPACE, "public": PUBLIC_SPACE, "information_schema": INFO_SPACE}
SELF = FIRST - 1  # the role of whoever asks, under their own name
LANGUAGES = ((12, "internal"), (13, "c"), (14, "sql"))
Row = dict[str, Any]


def oids(names: Sequence[str]) -> dict[str, int]:
    """An OID for each name, by its hash: the same on every server and after every start.

    Two that meet move on by order.
    """
    found: dict[str, int] = {}
    for name in sorted(names):
        turn = 0
        while (oid := _hashed(name, turn)) in found.values():
            turn += 1
        found[name] = oid
    return found


def _hashed(name: str, turn: int) -> int:
    digest = hashlib.sha256(f"{turn}\0{name}".encode("utf-8", "surrogatepass")).digest()
    return FIRST + int.from_bytes(digest[:8]) % (LAST - FIRST)


def described(table: TableView) -> str:
    """What is said of a table."""
    if table.public:
        return "public: exact and free"
    return f"protected: {table.unit}; counted: {table.limits}. Only aggregates are answered."


def column_type(column: ColumnView) -> int:
    return OIDS[Type(column.type)]


COLLATION: Row = {
    "oid": 100,
    "collname": "default",
    "collnamespace": 11,
    "collowner": OWNER,
    "collprovider": "d",
    "collisdeterministic": True,
    "collencoding": -1,
}


def rows(project: str, tables: Sequence[TableView]) -> Mapping[str, list[Row]]:
    """Relations of pg_catalog to their rows; all others are empty."""
    numbers = oids([table.name for table in tables])
    return {
        "pg_class": [_class(table, numbers[table.name]) for table in tables],
        "pg_attribute": [
            _attribute(column, numbers[table.name], at)
            for table in tables
            for at, column in enumerate(table.columns, 1)
        ],
        "pg_description": [row for table in tables for row in _descriptions(table, numbers[table.name])],
        "pg_type": type_rows(),
        "pg_namespace": [{"oid": oid, "nspname": name, "nspowner": OWNER} for name, oid in SPACES.items()],
        "pg_database": [_database(project)],
        "pg_am": [
            {"oid": 2, "amname": "heap", "amhandler": "heap_tableam_handler", "amtype": "t"},
            {"oid": 403, "amname": "btree", "amhandler": "bthandler", "amtype": "i"},
        ],
        "pg_collation": [COLLATION],
        "pg_roles": [_role("rol", OWNER, OWNER_NAME), _role("rol", SELF, "")],
        "pg_authid": [_role("rol", OWNER, OWNER_NAME), _role("rol", SELF, "")],
        "pg_user": [_user(oid, name) for name, oid in ((OWNER_NAME, OWNER), ("", SELF))],
        "pg_proc": [{"oid": ARRAY_READER, "proname": "array_recv", "pronamespace": CATALOG_SPACE, "prokind": "f"}],
        "pg_language": [{"oid": oid, "lanname": name, "lanowner": OWNER, "lanispl": False} for oid, name in LANGUAGES],
        "pg_tablespace": [{"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}],
        "pg_settings": [{"name": name, "setting": value, "vartype": "string"} for name, value in DEFAULTS.items()],
        "pg_tables": [_table(table.name) for table in tables],
    }


def _role(prefix: str, oid: int, name: str) -> Row:
    rights = {
        f"{prefix}{right}": False
        for right in ("super", "inherit", "createrole", "createdb", "replication", "bypassrls")
    }
    return {"oid": oid, "rolname": name, "rolcanlogin": oid == SELF, "rolconnlimit": -1, **rights}


def _class(table: TableView, oid: int) -> Row:
    """A table as \\d shows it; how large it is, is not known here."""
    return {
        "oid": oid,
        "relname": table.name,
        "relnamespace": PUBLIC_SPACE,
        "reltype": 0,
        "reloftype": 0,
        "relowner": OWNER,
        "relam": 2,
        "relfilenode": 0,
        "reltablespace": 0,
        "relpages": 0,
        "reltuples": -1.0,
        "relallvisible": 0,
        "reltoastrelid": 0,
        "relhasindex": False,
        "relisshared": False,
        "relpersistence": "p",
        "relkind": "r",
        "relnatts": len(table.columns),
        "relchecks": 0,
        "relhasrules": False,
        "relhastriggers": False,
        "relhassubclass": False,
        "relrowsecurity": False,
        "relforcerowsecurity": False,
        "relispopulated": True,
        "relreplident": "d",
        "relispartition": False,
        "relrewrite": 0,
        "relfrozenxid": 0,
        "relminmxid": 0,
        "relacl": [f"=r/{OWNER_NAME}"],
    }


def _attribute(column: ColumnView, table: int, at: int) -> Row:
    known = {one.oid: one for one in types()}[column_type(column)]
    return {
        "attrelid": table,
        "attname": column.name,
        "atttypid": known.oid,
        "attstattarget": -1,
        "attlen": known.size,
        "attnum": at,
        "attndims": 0,
        "attcacheoff": -1,
        "atttypmod": -1,
        "attbyval": known.by_value,
        "attalign": known.align,
        "attstorage": known.storage,
        "attcompression": "",
        "attnotnull": not column.nullable,
        "atthasdef": False,
        "atthasmissing": False,
        "attidentity": "",
        "attgenerated": "",
        "attisdropped": False,
        "attislocal": True,
        "attinhcount": 0,
        "attcollation": 100 if known.category == "S" else 0,
    }


def _descriptions(table: TableView, oid: int) -> list[Row]:
    found = [{"objoid": oid, "classoid": 1259, "objsubid": 0, "description": described(table)}]
    for at, column in enumerate(table.columns, 1):
        said = "; ".join(part for part in (column.values, column.grid and f"in steps of {column.grid}") if part)
        if said:
            found.append({"objoid": oid, "classoid": 1259, "objsubid": at, "description": said})
    return found


def _database(project: str) -> Row:
    return {
        "oid": oids([project])[project],
        "datname": project,
        "datdba": OWNER,
        "encoding": 6,
        "datlocprovider": "c",
        "datistemplate": False,
        "datallowconn": True,
        "datconnlimit": -1,
        "dattablespace": 1663,
        "datcollate": "C.UTF-8",
        "datctype": "C.UTF-8",
    }


FROM_COLUMNS = (
    "FROM pgc.pg_attribute a JOIN pgc.pg_class c ON c.oid = a.attrelid JOIN pgc.pg_type t ON t.oid = a.atttypid, "
    "pgc.pg_database d"
)
BITS = {"int2": 16, "int4": 32, "int8": 64, "float4": 24, "float8": 53}
PRECISION = "CASE t.typname " + " ".join(f"WHEN '{name}' THEN {bits}" for name, bits in BITS.items()) + " END"


def statements() -> list[str]:
    """What fills the relations of information_schema that are not empty."""
    return [
        f"INSERT INTO info.schemata BY NAME SELECT d.datname AS catalog_name, n.nspname AS schema_name, '{OWNER_NAME}' "
        "AS "
        "schema_owner FROM pgc.pg_namespace n, pgc.pg_database d",
        "INSERT INTO info.tables BY NAME SELECT d.datname AS table_catalog, 'public' AS table_schema, c.relname AS "
        "table_name, "
        "'BASE TABLE' AS table_type, 'NO' AS is_insertable_into, 'NO' AS is_typed FROM pgc.pg_class c, pgc.pg_database "
        "d",
        "INSERT INTO info.columns BY NAME SELECT d.datname AS table_catalog, 'public' AS table_schema, c.relname AS "
        "table_name, "
        "a.attname AS column_name, a.attnum AS ordinal_position, CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS "
        "is_nullable, "
        f"format_type(t.oid, NULL) AS data_type, {PRECISION} AS numeric_precision, CASE WHEN t.typname LIKE 'int%' "
        f"THEN 10 WHEN "
        "t.typname LIKE 'float%' THEN 2 END AS numeric_precision_radix, CASE WHEN t.typname LIKE 'int%' THEN 0 END AS "
        "numeric_scale, CASE t.typname WHEN 'timestamp' THEN 6 WHEN 'date' THEN 0 END AS datetime_precision, d.datname "
        "AS "
        "udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name, a.attnum::VARCHAR AS dtd_identifier, 'NO' AS "
        f"is_self_referencing, 'NO' AS is_identity, 'NEVER' AS is_generated, 'NO' AS is_updatable {FROM_COLUMNS}",
        f"INSERT INTO info.table_privileges BY NAME SELECT '{OWNER_NAME}' AS grantor, 'PUBLIC' AS grantee, d.datname "
        "AS "
        "table_catalog, 'public' AS table_schema, c.relname AS table_name, 'SELECT' AS privilege_type, 'NO' AS "
        "is_grantable, "
        "'YES' AS with_hierarchy FROM pgc.pg_class c, pgc.pg_database d",
        "INSERT INTO info.information_schema_catalog_name SELECT datname FROM pgc.pg_database",
    ]


def _user(oid: int, name: str) -> Row:
    powers = dict.fromkeys(("usecreatedb", "usesuper", "userepl", "usebypassrls"), False)
    return {"usename": name, "usesysid": oid, **powers}


def _table(name: str) -> Row:
    parts = dict.fromkeys(("hasindexes", "hasrules", "hastriggers"), False)
    return {"schemaname": "public", "tablename": name, "tableowner": OWNER_NAME, **parts, "rowsecurity": True}
