"""Bodies of requests: JSON of one meaning. Whatever two readers could take differently is refused, not guessed."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from obverse.server.http.problems import NOT_JSON, Problem
from obverse.server.http.request_context import Told

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
ERRORS_TOLD = 5


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        return parsed(await self.body())


class StrictRoute(APIRoute):
    """A route that takes plain JSON or no body at all."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        takes_body = self.body_field is not None

        async def strict(request: Request) -> Response:
            await self.before(request)
            if takes_body:
                expect_json(request)
            return await handle(StrictRequest(request.scope, request.receive))

        return strict

    async def before(self, request: Request) -> None:
        """What is settled before a byte of the body is read."""


def expect_json(request: Request) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" or request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Told(NOT_JSON)


def parsed(raw: bytes) -> Any:
    """The value; no key twice, no NaN, no number beyond a double, not nested without end."""
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_double)
    except Told:
        raise
    except RecursionError:
        raise Told(bad("the JSON is nested too deeply.")) from None
    except ValueError:  # UnicodeDecodeError too, and whole numbers of thousands of digits
        raise Told(bad("the body is not JSON in UTF-8.")) from None


def told_of(error: RequestValidationError) -> Problem:
    """Where a body or a parameter is wrong, without its value."""
    words = [f"{_place(one['loc'])}: {one['msg'].lower()}" for one in error.errors()[:ERRORS_TOLD]]
    return bad("; ".join(words) + ".", "bad_parameter")


def bad(detail: str, code: str = "bad_request") -> Problem:
    return Problem(400, code, detail, why="nothing was spent.", fix="see /openapi.json.")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Told(bad("a key stands twice in the JSON."))
    return found


def _constant(_: str) -> NoReturn:
    raise Told(bad("NaN and Infinity are no JSON."))


def _double(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Told(bad("a number is larger than any double.", "bad_parameter"))
    return number


def _place(location: tuple[Any, ...]) -> str:
    named = [str(part)[:40] for part in location if part != "body"]
    return ".".join(part if part.isprintable() else "?" for part in named) or "body"
