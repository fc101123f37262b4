"""Where a PostgreSQL server is, told without a secret; and the settings that a connection must have."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.core.errors import CatalogError

if TYPE_CHECKING:
    import psycopg

OLDEST = 140_000
PATHS = ("sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir", "passfile")
SETTINGS = {
    "default_transaction_read_only": "on",
    "search_path": "pg_catalog",  # so that no function or operator of the curator's takes the place of the server's
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "client_encoding": "UTF8",
    "row_security": "on",
    "jit": "off",  # a question is compiled anew each time, which costs more than it gains
}


def address(engine: Mapping[str, str]) -> str:
    """The connection string: a service of the user's own file, or what an environment variable holds."""
    from psycopg.conninfo import make_conninfo

    if "service" in engine:
        return make_conninfo(service=engine["service"])
    name = engine["dsn_env"]
    if not os.environ.get(name):
        raise CatalogError(
            "engine_unreachable",
            f"the environment variable {name} is not set.",
            why="it holds the connection string of the PostgreSQL server, which does not belong into obverse.toml.",
            fix=f"export {name}='postgresql://reader@host/database'",
        )
    return os.environ[name]


def files(engine: Mapping[str, str]) -> Iterator[Path]:
    """What the client library may read to connect: services, passwords, certificates and keys."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    home, variables = Path(os.environ.get("HOME") or "/nonexistent"), os.environ
    services = [home / ".pg_service.conf"]
    services += [Path(variables["PGSERVICEFILE"])] if variables.get("PGSERVICEFILE") else []
    services += [Path(variables["PGSYSCONFDIR"]) / "pg_service.conf"] if variables.get("PGSYSCONFDIR") else []
    yield from (*services, home / ".pgpass", home / ".postgresql")
    yield from (Path(variables[name]) for name in ("PGPASSFILE", "PGSSLROOTCERT") if variables.get(name))
    with suppress(CatalogError, ProgrammingError):
        told = conninfo_to_dict(address(engine))
        yield from (Path(str(told[name])).expanduser() for name in PATHS if told.get(name))
    for service in services:
        with suppress(OSError, UnicodeDecodeError):
            lines = (line.partition("=") for line in service.read_text().splitlines())
            yield from (Path(value.strip()) for name, _, value in lines if name.strip() in PATHS)


def refused() -> CatalogError:
    return CatalogError(
        "engine_unreachable",
        "the PostgreSQL server does not let us in.",
        fix="Try the same service or connection string with psql; the server's log tells why.",
    )


def settled(connection: psycopg.Connection[Any]) -> None:
    """Make the settings, and see that they were made."""
    connection.autocommit = True  # transactions are begun and ended by hand
    connection.prepare_threshold = None  # each question is asked once
    cursor = connection.cursor()
    for name, value in SETTINGS.items():
        cursor.execute("SELECT set_config(%s, %s, false)", (name, value))
    for name, value in SETTINGS.items():
        (found,) = cursor.execute("SELECT current_setting(%s)", (name,)).fetchone() or ("",)
        if found != value:
            raise unsettled(f"{name} cannot be set to {value}")
    encoding, version = cursor.execute(
        "SELECT current_setting('server_encoding'), current_setting('server_version_num')::int"
    ).fetchone() or ("", 0)
    if encoding != "UTF8":
        raise unsettled(f"the database's encoding is {encoding}, not UTF8")
    if version < OLDEST:
        raise unsettled("the server is older than PostgreSQL 14")


def unsettled(message: str) -> CatalogError:
    return CatalogError(
        "engine_unfit", f"{message}.", why="Proofs and results rest on it.", fix="Use another database or role."
    )
