"""What only a service refuses: strangers, the wrong role, the suspended, and too many requests. All of it is free."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from obverse.core.errors import CatalogError, LedgerError, ObverseError, Refused

LOG = logging.getLogger("obverse.server")


class NotSignedIn(Refused):
    """Who asks is not known; one text for every reason."""

    def __init__(self) -> None:
        super().__init__(
            "not_signed_in",
            "sign in with a token of this project.",
            why="the token is missing, unknown, expired or revoked, or the project is not one of yours.",
            fix="ask the curator for a token: obverse account add NAME.",
        )


class NotAllowed(Refused):
    """The role of the account does not have this."""

    def __init__(self, role: str, what: str) -> None:
        super().__init__("not_allowed", f"the role {role} may not {what}.", fix="ask the curator.")


class Suspended(Refused):
    """The account waits for the curator."""

    def __init__(self) -> None:
        super().__init__(
            "account_suspended",
            "this account is suspended.",
            why="the curator suspended it, or too many of its questions met the limit.",
            fix="ask the curator.",
        )


class NotFound(Refused):
    """There is no such thing, or it is somebody else's: the same answer for both."""

    def __init__(self, what: str) -> None:
        super().__init__("not_found", f"there is no such {what} here.")


class TooMany(Refused):
    """Too many requests; refused ones count too."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(
            "too_many_requests",
            "too many requests.",
            why="every request counts, also one that is refused.",
            fix=f"wait {max(1, round(wait_s))} s.",
        )
        self.wait_s = wait_s


class Stopping(ObverseError):
    """The server is about to stop; nothing was spent."""

    def __init__(self) -> None:
        super().__init__("stopping", "the server is stopping.", why="nothing was spent.", fix="ask again in a moment.")


class Unavailable(Refused):
    """Something of the service itself is not there; the operator's log says what."""

    def __init__(self) -> None:
        what = "this project cannot be asked at the moment."
        super().__init__("project_unavailable", what, why="nothing was spent.", fix="ask again later.")


@contextmanager
def only_for_the_operator() -> Iterator[None]:
    """Errors of files, servers and the ledger, without what is wrong and where: that goes to the log, and is the
    cause.
    """
    try:
        yield
    except CatalogError as error:
        LOG.error("unavailable: %s %s", error.code, error.place)
        raise Unavailable() from error
    except LedgerError as error:
        LOG.error("ledger: %s %s", error.code, error.place)
        told = "the ledger cannot be used now."
        raise LedgerError("ledger_unavailable", told, fix="ask the curator.", charged=error.charged) from error
