"""The rows of the catalogue: of one project's tables as they are declared, with OIDs that every server gives them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from obverse.core.types import Type
from obverse.server.pg_catalog.kinds import ARRAY_READER, type_rows, types
from obverse.server.postgres.settings import DEFAULTS
from obverse.server.postgres.types import OIDS
from obverse.session.views import ColumnView, TableView

FIRST, LAST = 1 << 14, (1 << 31) - 1  # OIDs of what users make
CATALOG_SPACE, PUBLIC_SPACE, INFO_SPACE, OWNER = 11, 2200, 13000, 10
OWNER_NAME = "obverse"
SPACES = {"pg_catalog": CATALOG_SPACE, "public": PUBLIC_SPACE, "information_schema": INFO_SPACE}
SELF = FIRST - 1  # the role of whoever asks, under their own name
LANGUAGES = ((12, "internal"), (13, "c"), (14, "sql"))
Row = dict[str, Any]


def oids(names: Sequence[str]) -> dict[str, int]:
    """An OID for each name, by its hash: the same on every server and after every start. Two that meet move on by order."""
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


def rows(project: str, tables: Sequence[TableView]) -> Mapping[str, list[Row]]:
    """Relations of pg_catalog to their rows; all others are empty."""
    numbers = oids([table.name for table in tables])
    return {
        "pg_class": [_class(table, numbers[table.name]) for table in tables],
        "pg_attribute": [
            _attribute(column, numbers[table.name], at) for table in tables for at, column in enumerate(table.columns, 1)
        ],
        "pg_description": [row for table in tables for row in _descriptions(table, numbers[table.name])],
        "pg_type": type_rows(),
        "pg_namespace": [{"oid": oid, "nspname": name, "nspowner": OWNER} for name, oid in SPACES.items()],
        "pg_database": [_database(project)],
        "pg_am": [
            {"oid": 2, "amname": "heap", "amhandler": "heap_tableam_handler", "amtype": "t"},
            {"oid": 403, "amname": "btree", "amhandler": "bthandler", "amtype": "i"},
        ],
        "pg_collation": [
            {"oid": 100, "collname": "default", "collnamespace": 11, "collowner": OWNER, "collprovider": "d",
             "collisdeterministic": True, "collencoding": -1},
        ],
        "pg_roles": [_role("rol", OWNER, OWNER_NAME), _role("rol", SELF, "")],
        "pg_authid": [_role("rol", OWNER, OWNER_NAME), _role("rol", SELF, "")],
        "pg_user": [
            {"usename": name, "usesysid": oid, "usecreatedb": False, "usesuper": False, "userepl": False, "usebypassrls": False}
            for name, oid in ((OWNER_NAME, OWNER), ("", SELF))
        ],
        "pg_proc": [{"oid": ARRAY_READER, "proname": "array_recv", "pronamespace": CATALOG_SPACE, "prokind": "f"}],
        "pg_language": [{"oid": oid, "lanname": name, "lanowner": OWNER, "lanispl": False} for oid, name in LANGUAGES],
        "pg_tablespace": [{"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}],
        "pg_settings": [{"name": name, "setting": value, "vartype": "string"} for name, value in DEFAULTS.items()],
        "pg_tables": [
            {"schemaname": "public", "tablename": table.name, "tableowner": OWNER_NAME, "hasindexes": False, "hasrules": False,
             "hastriggers": False, "rowsecurity": True}
            for table in tables
        ],
    }  # fmt: skip


def _role(prefix: str, oid: int, name: str) -> Row:
    rights = {f"{prefix}{right}": False for right in ("super", "inherit", "createrole", "createdb", "replication", "bypassrls")}
    return {"oid": oid, "rolname": name, "rolcanlogin": oid == SELF, "rolconnlimit": -1, **rights}


def _class(table: TableView, oid: int) -> Row:
    """A table as \\d shows it; how large it is, is not known here."""
    return {
        "oid": oid, "relname": table.name, "relnamespace": PUBLIC_SPACE, "reltype": 0, "reloftype": 0, "relowner": OWNER,
        "relam": 2, "relfilenode": 0, "reltablespace": 0, "relpages": 0, "reltuples": -1.0, "relallvisible": 0,
        "reltoastrelid": 0, "relhasindex": False, "relisshared": False, "relpersistence": "p", "relkind": "r",
        "relnatts": len(table.columns), "relchecks": 0, "relhasrules": False, "relhastriggers": False, "relhassubclass": False,
        "relrowsecurity": False, "relforcerowsecurity": False, "relispopulated": True, "relreplident": "d",
        "relispartition": False, "relrewrite": 0, "relfrozenxid": 0, "relminmxid": 0, "relacl": [f"=r/{OWNER_NAME}"],
    }  # fmt: skip


def _attribute(column: ColumnView, table: int, at: int) -> Row:
    known = {one.oid: one for one in types()}[column_type(column)]
    return {
        "attrelid": table, "attname": column.name, "atttypid": known.oid, "attstattarget": -1, "attlen": known.size,
        "attnum": at, "attndims": 0, "attcacheoff": -1, "atttypmod": -1, "attbyval": known.by_value, "attalign": known.align,
        "attstorage": known.storage, "attcompression": "", "attnotnull": not column.nullable, "atthasdef": False,
        "atthasmissing": False, "attidentity": "", "attgenerated": "", "attisdropped": False, "attislocal": True,
        "attinhcount": 0, "attcollation": 100 if known.category == "S" else 0,
    }  # fmt: skip


def _descriptions(table: TableView, oid: int) -> list[Row]:
    found = [{"objoid": oid, "classoid": 1259, "objsubid": 0, "description": described(table)}]
    for at, column in enumerate(table.columns, 1):
        said = "; ".join(part for part in (column.values, column.grid and f"in steps of {column.grid}") if part)
        if said:
            found.append({"objoid": oid, "classoid": 1259, "objsubid": at, "description": said})
    return found


def _database(project: str) -> Row:
    return {
        "oid": oids([project])[project], "datname": project, "datdba": OWNER, "encoding": 6, "datlocprovider": "c",
        "datistemplate": False, "datallowconn": True, "datconnlimit": -1, "dattablespace": 1663, "datcollate": "C.UTF-8",
        "datctype": "C.UTF-8",
    }  # fmt: skip
