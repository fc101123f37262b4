"""Live endpoints as attacks see them: a service over HTTP, a PostgreSQL server, a project, a function."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from obverse.attack.targets import Interface, Put
from obverse.core.errors import BudgetExceeded, Refused
from obverse.core.numbers import exact
from obverse.engines.endpoint import PostgresEndpoint
from obverse.review.attacking import asked_of, named_function
from obverse.review.http_endpoint import LEAVE_S, HttpEndpoint, one_number
from obverse.review.strangers import telling
from obverse.session.planning import Number

if TYPE_CHECKING:
    from obverse.attack.targets import Ask, Door

URLS, DSN = ("http://", "https://"), "dsn-env:"
ANSWERS = "Let it take SQL, and give a number, or None where it refuses."


@contextmanager
def ask_at(place: str, token_env: str = "", epsilon: Number | None = None) -> Iterator[Ask]:
    """Questions to whatever is there: a URL, dsn-env:VARIABLE of a PostgreSQL server, a project's folder, module:function."""
    if place.startswith(URLS):
        endpoint, offered = HttpEndpoint(place, _token(token_env)), None if epsilon is None else float(exact(epsilon))
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
        raise Refused("variable_not_set", f"the environment variable {variable} is not set.", fix=f"It should hold {what}.")
    return os.environ[variable]


def _token(variable: str) -> str:
    if not variable:
        raise Refused("no_token", "a service wants to know who asks.", fix="Name the variable with a token: --token-env VAR.")
    return secret_in(variable, "a token of the service")


def _address(place: str) -> str:
    return secret_in(place.removeprefix(DSN), "a connection string, such as postgresql://reader@host/database")


def _decimal(put: Put) -> str:
    return repr(float(put.price))


def _number(rows: list[tuple[Any, ...]] | None) -> float | None:
    return None if rows is None else one_number(rows)
