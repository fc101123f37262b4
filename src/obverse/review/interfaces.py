"""A service over HTTP as an attacker's client sees it. Nothing that it sends is trusted, and the token goes nowhere
else.

Interfaces to be attacked, as attacks see them: a file that answers exactly, a project that answers privately, a
function.

Live endpoints as attacks see them: a service over HTTP, a PostgreSQL server, a project, a function.
"""

from __future__ import annotations

import json
import math
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from obverse.attack.targets import Ask, Door, Interface, Person, Put
from obverse.core.errors import BudgetExceeded, Failed, ObverseError, Refused, foreign_text
from obverse.core.numbers import exact
from obverse.engines.endpoint import PostgresEndpoint
from obverse.engines.files import ExactTable, quoted
from obverse.review.targets import imported, telling
from obverse.session.planning import Number
from obverse.session.session import Session


def asked_of(session: Session, epsilon: Number | None = None) -> Ask:
    """Questions to a project, each paid for; over budget nothing is answered."""

    def ask(sql: str) -> float | None:
        try:
            return float(cast(float, session.ask(sql, epsilon=epsilon).value))
        except BudgetExceeded:
            return None

    return ask


def named_function(place: str) -> Callable[..., Any]:
    """The Python function `module:name`, also from the current folder."""
    try:
        return imported(place)  # type: ignore[no-any-return]
    except ImportError:
        raise Refused(
            "no_such_function", f"there is no {place}.", fix="write module:function, importable from here"
        ) from None


def sets_in(table: ExactTable, name: str, key: str, conditions: Sequence[str]) -> NDArray[np.bool_]:
    """Who of everybody meets each condition, in the order of `people_in`; a row for each condition."""
    met = ", ".join(f"COALESCE(BOOL_OR({condition}), false)" for condition in conditions)
    found = table.rows(f"SELECT {met} FROM {quoted(name)} GROUP BY {quoted(key)} ORDER BY {quoted(key)}")
    return np.array(found, dtype=bool).reshape(len(found), len(conditions)).T


def people_in(table: ExactTable, name: str, key: str, secret: str) -> list[Person]:
    """Everybody in the file, and whether the secret holds of them."""
    sql = (
        f"SELECT {quoted(key)}, COALESCE(BOOL_OR({secret}), false), COUNT(*) FROM {quoted(name)} GROUP BY 1 ORDER BY 1"
    )
    found = table.rows(sql)
    if any(named is None or times > 1 for named, _, times in found):
        raise Refused(
            "not_a_key", f"the column {key!r} does not name each row once.", fix="name a column that is a key"
        )
    return [Person(named, bool(held)) for named, held, _ in found]


WAIT_S = 120.0  # for a reply
LEAVE_S = 0.03  # after which who leaves has left: sooner than the first tick of a service
# where requests are too many: as the service asks, but not for ever
TRIES = 10
PAUSE_MAX_S = 60
REPLY_MAX = 16_000_000
OVER_BUDGET = 402
TOO_MANY = 429
CLAIMED = ("X-Analyst", "X-Forwarded-User", "X-Remote-User", "X-User")  # headers in which services have believed names


@dataclass(frozen=True, slots=True)
class HttpEndpoint:
    """A project of a service: https://host/v1/PROJECT, reached with somebody's token."""

    url: str
    token: str = field(repr=False)
    pause: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        place = urlsplit(self.url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise Refused(
                "bad_url", f"{foreign_text(self.url)} is no address of a service.", fix="write https://host/v1/PROJECT"
            )

    def ask(self, sql: str, epsilon: float | None = None) -> float | None:
        return self._answered(sql, epsilon, {}, WAIT_S)

    def put(self, put: Put) -> float | None:
        """A question with all that an attacker says beside it. Who leaves hangs up before the reply is there."""
        told = {"Idempotency-Key": put.key} if put.key else {}
        told |= dict.fromkeys(CLAIMED, put.name) if put.name else {}
        if not put.leaves:
            return self._answered(put.sql, float(put.price), told, WAIT_S)
        try:
            return self._answered(put.sql, float(put.price), told, LEAVE_S)
        except _Unreachable:
            return None

    def interface(self) -> Interface:
        return Interface(lambda: nullcontext(self.put), frozenset({"key", "name", "price", "leaves"}))

    def _answered(self, sql: str, epsilon: float | None, told: Mapping[str, str], wait_s: float) -> float | None:
        body = json.dumps({"sql": sql} if epsilon is None else {"sql": sql, "epsilon": epsilon}).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **told}
        for _ in range(TRIES):
            request = urllib.request.Request(f"{self.url.rstrip('/')}/ask", body, headers, method="POST")
            status, reply, pause_s = _sent(request, wait_s)
            if status != TOO_MANY:
                break
            self.pause(pause_s)
        if status == OVER_BUDGET:
            return None
        if status != 200:
            raise _problem(status, reply)
        return one_number(reply.get("rows"))


class _Unreachable(Refused):
    """No reply came."""


class _Staying(urllib.request.HTTPRedirectHandler):
    """A token is for one address: it is not carried to where a reply points."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _sent(request: urllib.request.Request, wait_s: float) -> tuple[int, Mapping[str, Any], float]:
    """The status of the reply, its JSON, and how long to wait before another."""
    try:
        with urllib.request.build_opener(_Staying).open(request, timeout=wait_s) as reply:
            return reply.status, _json(reply.read(REPLY_MAX)), 0.0
    except urllib.error.HTTPError as error:
        with error:
            after = error.headers.get("Retry-After", "")
            pause_s = min(int(after), PAUSE_MAX_S) if after.isdecimal() else 1
            return error.code, {} if error.code < 400 else _json(error.read(REPLY_MAX)), pause_s
    except (OSError, HTTPException) as error:
        said = foreign_text(getattr(error, "reason", None) or error or type(error).__name__)
        raise _Unreachable(
            "endpoint_unreachable", f"no reply: {said}.", fix="Check the address, and that it serves."
        ) from None


def _json(reply: bytes) -> Mapping[str, Any]:
    try:
        read = json.loads(reply)
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {}


def _problem(status: int, reply: Mapping[str, Any]) -> ObverseError:
    """The refusal that a problem of RFC 9457 tells, or that there was none."""
    code = foreign_text(reply.get("code"))
    detail = foreign_text(reply.get("detail"))
    kind = Failed if reply.get("charged") is True else Refused
    return kind(
        code if code.isidentifier() else "endpoint_refused",
        f"the service says: {detail}" if detail else f"the service replied with status {status}, and not why.",
        why=foreign_text(reply.get("why")), fix=foreign_text(reply.get("fix")), charged=kind is Failed,
    )  # fmt: skip


def one_number(rows: object) -> float | None:
    """The one number of an answer; nothing where it is NULL."""
    if isinstance(rows, list) and len(rows) == 1 and isinstance(rows[0], (list, tuple)) and len(rows[0]) == 1:
        (value,) = rows[0]
        try:
            found = None if value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            found = math.nan
        if found is None or math.isfinite(found):
            return found
    raise Refused(
        "not_a_number", "the reply is not one number.", fix="Ask for one value, such as SELECT COUNT(*) FROM t."
    )


URLS = ("http://", "https://")
DSN = "dsn-env:"
ANSWERS = "Let it take SQL, and give a number, or None where it refuses."


@contextmanager
def ask_at(place: str, token_env: str = "", epsilon: Number | None = None) -> Iterator[Ask]:
    """Questions to whatever is there: a URL, dsn-env:VARIABLE of a PostgreSQL server, a project's folder,
    module:function.
    """
    if place.startswith(URLS):
        endpoint = HttpEndpoint(place, _token(token_env))
        offered = None if epsilon is None else float(exact(epsilon))
        yield lambda sql: endpoint.ask(sql, offered)
    elif place.startswith(DSN):
        with PostgresEndpoint(_address(place)) as server:
            yield postgres_ask(server, "" if epsilon is None else repr(float(exact(epsilon))))
    elif Path(place).exists():
        from obverse.session.session import open as opened

        with opened(Path(place)) as session:
            yield asked_of(session, epsilon)
    else:
        yield _function(place)


def interface_at(place: str, token_env: str = "") -> Interface:
    """The same, to be connected to again and again."""
    if place.startswith(URLS):
        return HttpEndpoint(place, _token(token_env)).interface()
    if place.startswith(DSN):
        return postgres_interface(_address(place))
    if Path(place).exists():
        return project_interface(Path(place))
    return function_interface(_function(place))


def postgres_ask(endpoint: PostgresEndpoint, epsilon: str = "") -> Ask:
    """Questions to a PostgreSQL server; where it says that a budget is spent, there is no answer."""

    def ask(sql: str) -> float | None:
        rows = endpoint.rows(sql, epsilon=epsilon)
        return None if rows is None else one_number(rows)

    return ask


def postgres_interface(address: str) -> Interface:
    @contextmanager
    def connect() -> Iterator[Door]:
        with PostgresEndpoint(address) as endpoint:

            def put(put: Put) -> float | None:
                if put.name:
                    with PostgresEndpoint(address) as another:
                        another.as_another(put.name)
                        return _number(another.rows(put.sql, epsilon=_decimal(put)))
                left = LEAVE_S if put.leaves else None
                return _number(endpoint.rows(put.sql, epsilon=_decimal(put), leave_after_s=left))

            yield put

    return Interface(connect, frozenset({"name", "price", "leaves"}))


def project_interface(project: Path) -> Interface:
    """A project in process: its budget binds whoever opens it, by whatever name."""
    from obverse.session.session import open as opened

    @contextmanager
    def connect() -> Iterator[Door]:
        with opened(project) as session:

            def put(put: Put) -> float | None:
                with nullcontext(session) if not put.name else opened(project, analyst=put.name) as asking:
                    try:
                        return float(cast(float, asking.ask(put.sql, epsilon=put.price, key=put.key).value))
                    except BudgetExceeded:
                        return None

            yield put

    return Interface(connect, frozenset({"key", "name", "price"}))


def function_interface(function: Ask) -> Interface:
    """A function hears the words alone, and has no connections that could be told apart."""
    return Interface(lambda: nullcontext(lambda put: function(put.sql)))


def _function(place: str) -> Ask:
    if ":" not in place:
        fix = "Write a URL, dsn-env:VARIABLE, a project's folder, or module:function."
        raise Refused("no_such_place", f"{place} is neither a project nor anything else that answers.", fix=fix)
    asked = telling(named_function(place), place, ANSWERS)

    def ask(sql: str) -> float | None:
        found = asked(sql)
        try:
            return None if found is None else float(found)
        except (TypeError, ValueError):
            raise Refused("bad_outputs", f"{place} answered with no number: {found!r:.80}", fix=ANSWERS) from None

    return ask


def secret_in(variable: str, what: str) -> str:
    """What an environment variable holds; secrets are not written on command lines, which others can read."""
    if not os.environ.get(variable):
        raise Refused(
            "variable_not_set", f"the environment variable {variable} is not set.", fix=f"It should hold {what}."
        )
    return os.environ[variable]


def _token(variable: str) -> str:
    if not variable:
        raise Refused(
            "no_token", "a service wants to know who asks.", fix="Name the variable with a token: --token-env VAR."
        )
    return secret_in(variable, "a token of the service")


def _address(place: str) -> str:
    return secret_in(place.removeprefix(DSN), "a connection string, such as postgresql://reader@host/database")


def _decimal(put: Put) -> str:
    return repr(float(put.price))


def _number(rows: list[tuple[Any, ...]] | None) -> float | None:
    return None if rows is None else one_number(rows)
