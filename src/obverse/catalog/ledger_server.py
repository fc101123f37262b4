"""The [ledger] of obverse.toml: a server that several machines share, pointed to by a name and never by a password."""

from __future__ import annotations

import re
from typing import Any

from obverse.catalog.locate import Document
from obverse.catalog.model import Server

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SERVICE = re.compile(r"[A-Za-z0-9_.-]+")


def ledger_server(raw: dict[str, Any], document: Document) -> Server | None:
    """Where the ledger's server is found; None for a ledger in a file."""
    declared = raw.get("ledger", {"kind": "sqlite"})
    pointers = [key for key in ("service", "dsn_env") if key in declared]
    if declared["kind"] == "sqlite":
        for key in pointers:
            message = f"{key!r} goes with a ledger in PostgreSQL"
            raise document.error("conflict", ("ledger", key), message, fix=f'Remove {key!r}, or set kind = "postgres".')
        return None
    if "ledger" in raw["project"]:
        message = "[project] ledger names a file, and [ledger] a server"
        why = "Losses are counted in one place."
        raise document.error("conflict", ("project", "ledger"), message, why=why, fix="Remove one of them.")
    if "dataset" not in raw["project"]:
        message = "a ledger for several servers needs the name of the dataset"
        why = "Paths differ from machine to machine, and rows that changed are not known again by their content."
        fix = 'Add dataset = "NAME" to [project], the same in every project over this data.'
        raise document.error("missing_key", ("project", "dataset"), message, why=why, fix=fix)
    if len(pointers) != 1:
        message = (
            "[ledger] needs either 'service' or 'dsn_env'" if not pointers else "'service' and 'dsn_env' exclude each other"
        )
        code = "missing_key" if not pointers else "conflict"
        fix = 'Write dsn_env = "OBVERSE_LEDGER" and set that variable to the address; or name a service of pg_service.conf.'
        raise document.error(code, ("ledger", pointers[0] if pointers else "dsn_env"), message, fix=fix)
    return Server(**{pointers[0]: _name(declared[pointers[0]], pointers[0], document)})


def _name(text: str, key: str, document: Document) -> str:
    if (_VARIABLE if key == "dsn_env" else _SERVICE).fullmatch(text):
        return text
    what = "the name of an environment variable" if key == "dsn_env" else "the name of a service"
    why = "An address, which may hold a password, does not belong into this file."
    fix = "Write the name alone, and keep the address outside."
    raise document.error("bad_name", ("ledger", key), f"{key} must be {what}", why=why, fix=fix)
