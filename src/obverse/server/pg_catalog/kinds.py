"""PostgreSQL's own types, as far as tools ask about them: OID, name, size, category, element, array, spelling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


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
        oid, name, size, by_value, category, preferred, element, array, reader, align, storage, shown = line.split(" ", 11)
        kind = "p" if name in PSEUDO else "b"
        yield PgType(
            int(oid), name, int(size), by_value == "t", kind, category, preferred == "t", int(element), int(array), reader,
            align, storage, shown,
        )  # fmt: skip
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
