"""What a PostgreSQL server or its silence says, in our words: refused, undone, or in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from obverse.core.errors import LedgerError

if TYPE_CHECKING:
    import psycopg

E = TypeVar("E", bound=LedgerError)


class Undone(LedgerError):
    """The transaction surely left no trace: it may be done again from its beginning."""


class InDoubt(LedgerError):
    """The connection was lost while COMMIT was on its way. Until the ledger is read again, it counts as spent."""


CONFLICTS = ("40001", "40P01", "23505")  # not serializable, deadlock, the same record's number twice
DAMAGED = ("22", "23", "42", "3F", "P0", "XX")
BUSY = ("55P03", "57014")  # the lock was not given in time; cancelled
ENDED = ("57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04")
FORBIDDEN = "42501"


def is_lost(connection: psycopg.Connection[Any], error: psycopg.Error) -> bool:
    """Whether the connection is gone, or about to be: the server's last words may come before its end is noticed."""
    state = error.sqlstate or ""
    return (
        connection.closed
        or state.startswith("08")
        or state in ENDED
        or (error.diag.severity_nonlocalized or "") in ("FATAL", "PANIC")
    )


def told(connection: psycopg.Connection[Any], error: psycopg.Error, place: str) -> LedgerError:
    """The error of a statement before COMMIT."""
    state = error.sqlstate or ""
    why = f"the server says: {error.diag.message_primary or 'nothing more'} ({state or 'connection lost'})"
    if state in CONFLICTS:
        return failed("ledger_busy", place, why, Undone)
    if is_lost(connection, error):
        return failed("ledger_unreachable", place, why, Undone)
    if state in BUSY:
        return failed("ledger_busy", place, why)
    if state[:2] in DAMAGED and state != FORBIDDEN:
        return failed("ledger_damaged", place, why)
    return failed("ledger_unwritable", place, why)


def failed(code: str, place: str, why: str, kind: type[E] = LedgerError) -> E:  # type: ignore[assignment]
    message, fix = _TEXTS[code]
    return kind(code, message, place=place, why=why, fix=fix, charged=code == "ledger_in_doubt")


_TEXTS = {
    "ledger_unreachable": (
        "the ledger's server cannot be reached, so nothing is answered",
        "See that the server runs and that its address, user and password are right; then try again.",
    ),
    "ledger_in_doubt": (
        "the connection to the ledger was lost while a debit was on its way, so nothing is answered",
        "The debit counts as spent. With a request id, ask again under the same one once the server is back.",
    ),
    "ledger_busy": ("the ledger stayed locked, so nothing is answered", "Try again; end sessions that hang."),
    "ledger_missing": (
        "the ledger of this data is not in this database, so nothing is answered",
        "Point to the database that holds it; or acknowledge, which charges all that was ever seen spent here.",
    ),
    "ledger_unwritable": (
        "the ledger cannot be written, so nothing is answered",
        "See that the server is no standby, writes through to disk (fsync), has room, and lets this user write.",
    ),
    "ledger_damaged": (
        "the ledger does not hold together, so nothing is answered",
        "Restore the server's backup, then acknowledge on each machine what it does not know of.",
    ),
    "ledger_newer": ("the ledger was written by a newer Obverse, and going back is refused", "Update Obverse."),
}
