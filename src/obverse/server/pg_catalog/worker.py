"""The process that holds the shadow: a DuckDB in memory, locked, in a process that can reach nothing else.

What it is asked was written by strangers, as far as it is theirs, so it is asked in a process of its own: one that
grows too large or takes too long is killed, and another takes its place. It never saw a row.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import Any

import duckdb
import orjson

from obverse.server.sandbox import landlock, protocol, seccomp

SPARE_MB = 384  # beyond what it has once it is filled
ROWS_MAX = 20_000
CELLS_MAX = 200_000
BYTES_MAX = 4 << 20
CHUNK = 500
SETTINGS = {
    "memory_limit": "128MB", "threads": "1", "enable_external_access": "false", "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false", "max_expression_depth": "250", "temp_directory": "",
}  # fmt: skip


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    parent = int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.chdir("/")
    seccomp.of_a_child(parent)
    seccomp.no_files()
    seccomp.no_network()
    seccomp.paths(landlock.libraries(), network=False)
    seccomp.filter_calls(network=False)
    connection = duckdb.connect(":memory:", config=SETTINGS)
    for statement, rows in orjson.loads(protocol.receive(control)):
        if rows:
            connection.executemany(statement, rows)
        else:
            connection.execute(statement)
    connection.execute("SET lock_configuration = true")
    seccomp.memory(_size_mb() + SPARE_MB)
    protocol.send(control, b"{}")
    control.settimeout(None)
    while True:
        try:
            order = orjson.loads(protocol.receive(control))
        except EOFError:
            return
        protocol.send(control, answered(connection, order["sql"], describe=order["describe"]))


def answered(connection: duckdb.DuckDBPyConnection, sql: str, *, describe: bool) -> bytes:
    """Columns and rows, or the kind of an error: its text stays here."""
    try:
        if describe:
            found = connection.execute(f"DESCRIBE {sql}").fetchall()
            return orjson.dumps({"columns": [[row[0], row[1]] for row in found], "rows": []})
        connection.execute(sql)
        columns = [[name, str(kind)] for name, kind, *_ in connection.description or ()]
        return _all(connection, columns)
    except Exception as error:  # duckdb's own, MemoryError, what orjson cannot write
        return orjson.dumps({"error": type(error).__name__})


def _all(connection: duckdb.DuckDBPyConnection, columns: list[list[str]]) -> bytes:
    """The rows, a few at a time, as long as they are not too many."""
    parts: list[bytes] = []
    count = size = 0
    while chunk := connection.fetchmany(max(1, min(CHUNK, 4 * CHUNK // max(1, len(columns))))):
        parts.append(orjson.dumps(chunk, default=_plain)[1:-1])
        count = count + len(chunk)
        size = size + len(parts[-1])
        if count > ROWS_MAX or count * len(columns) > CELLS_MAX or size > BYTES_MAX:
            return orjson.dumps({"error": "too_large"})
    return b'{"columns":' + orjson.dumps(columns) + b',"rows":[' + b",".join(parts) + b"]}"


def _plain(value: Any) -> Any:
    return str(value)


def _size_mb() -> int:
    with open("/proc/self/statm") as told:
        return int(told.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") >> 20


if __name__ == "__main__":
    main()
