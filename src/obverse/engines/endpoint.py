"""A PostgreSQL endpoint as a client sees it: anybody's server, or ours.

Nothing is known of it, and nothing is expected.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from types import TracebackType
from typing import Any

from obverse.core.errors import Refused, foreign_text

OVER_BUDGET = "53400"  # the SQLSTATE of a limit that was configured
CANCEL_S = 10.0  # for a request to cancel


class PostgresEndpoint:
    """One connection. Every statement is a transaction of its own."""

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ModuleNotFoundError:
            fix = "pip install 'obverse[postgres]'"
            raise Refused("extra_missing", "a PostgreSQL endpoint needs psycopg.", fix=fix) from None
        self._psycopg = psycopg
        self._offered = ""
        try:
            self._connection = psycopg.connect(address, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            raise self._told(error, "endpoint_unreachable", "the PostgreSQL endpoint does not let us in") from None

    def __enter__(self) -> PostgresEndpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def rows(self, sql: str, *, epsilon: str = "", leave_after_s: float | None = None) -> list[tuple[Any, ...]] | None:
        """What is answered; nothing where a budget is spent, or where the question was cancelled after so many
        seconds.
        """
        psycopg = self._psycopg
        try:
            if epsilon != self._offered:
                self._connection.execute(
                    psycopg.sql.SQL("SET obverse.epsilon = {}").format(psycopg.sql.Literal(epsilon))
                )
                self._offered = epsilon
            return self._run(sql, leave_after_s)
        except psycopg.errors.QueryCanceled:
            return None
        except psycopg.Error as error:
            if error.sqlstate == OVER_BUDGET:
                return None
            raise self._told(error, "endpoint_refused", "the PostgreSQL endpoint refuses the question") from None

    def as_another(self, name: str) -> None:
        """Says to be somebody else, as far as the server lets one."""
        psycopg = self._psycopg
        try:
            self._connection.execute(
                psycopg.sql.SQL("SET SESSION AUTHORIZATION {}").format(psycopg.sql.Identifier(name))
            )
        except psycopg.Error as error:
            raise self._told(
                error, "endpoint_refused", "the PostgreSQL endpoint does not take the other name"
            ) from None

    def _run(self, sql: str, leave_after_s: float | None) -> list[tuple[Any, ...]]:
        leaving = None if leave_after_s is None else threading.Timer(leave_after_s, self._leave)
        try:
            if leaving is not None:
                leaving.start()
            cursor = self._connection.execute(sql.encode())  # as bytes: the text is the attacker's own
            return cursor.fetchall() if cursor.description is not None else []
        finally:
            if leaving is not None:
                leaving.cancel()
                leaving.join()

    def _leave(self) -> None:
        """Ask to cancel, and let others run meanwhile: the plain `cancel` of psycopg stops every thread until it is
        heard.
        """
        with suppress(self._psycopg.Error):  # not heard: the answer comes, and counts like any other
            self._connection.cancel_safe(timeout=CANCEL_S)

    def _told(self, error: Any, code: str, what: str) -> Refused:
        told = error.diag
        said = foreign_text(told.message_primary or error)
        return Refused(
            code, f"{what}: {said}", why=foreign_text(told.message_detail), fix=foreign_text(told.message_hint)
        )
