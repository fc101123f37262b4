"""DB-API 2.0 (PEP 249): `connect` gives a connection that pandas.read_sql, JupySQL and the like can use.

Parameters are `?` with a list (`$1` too), or `:name` and `$name` with a mapping. There are no transactions: each question
is charged durably before a row is read, so `commit` has nothing to do and `rollback` gives nothing back.
"""

from __future__ import annotations

from obverse.dbapi.connection import Connection, connect
from obverse.dbapi.cursor import Cursor
from obverse.dbapi.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from obverse.dbapi.type_codes import (
    BINARY,
    BOOLEAN,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

apilevel = "2.0"
threadsafety = 1  # threads may share the module, not a connection
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "BOOLEAN",
    "Binary",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "STRING",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
