"""The exceptions of DB-API 2.0, and which of them an error of ours becomes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from obverse.core.errors import BudgetExceeded, CatalogError, Failed, InvariantBroken, LedgerError, ObverseError


class Warning(Exception):
    """Part of the interface; never raised."""


class Error(Exception):
    """The root. `code` is stable, `charged` tells whether budget was spent; our own error is its `__cause__`."""

    def __init__(self, message: str = "", *, code: str = "", charged: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.charged = charged


class InterfaceError(Error):
    """The connection or cursor was used as it cannot be: closed, or before a question was asked."""


class DatabaseError(Error):
    """Something about the question or what answers it."""


class DataError(DatabaseError):
    """Part of the interface; never raised."""


class OperationalError(DatabaseError):
    """The project, its budget or its ledger does not allow an answer, or the engine failed after the debit."""


class IntegrityError(DatabaseError):
    """Part of the interface; never raised."""


class InternalError(DatabaseError):
    """A defect of Obverse."""


class ProgrammingError(DatabaseError):
    """The question was refused: nothing was spent and no row was read."""


class NotSupportedError(DatabaseError):
    """A method of the interface that has no meaning here."""


@contextmanager
def translated() -> Iterator[None]:
    """Errors of ours as those of the interface, with the same text and code."""
    try:
        yield
    except ObverseError as error:
        raise kind_of(error)(str(error), code=error.code, charged=error.charged) from error


def kind_of(error: ObverseError) -> type[DatabaseError]:
    match error:
        case CatalogError() | BudgetExceeded() | LedgerError() | Failed():
            return OperationalError
        case InvariantBroken():
            return InternalError
        case _:
            return ProgrammingError
