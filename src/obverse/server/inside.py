"""A request to this very service, from within: through the shield, the routes and the desk, like any other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message

SCRATCH_ADDRESS = "scratch"  # of whoever attacks a scratch project: nobody else's requests are counted with these


async def posted(app: ASGIApp, path: str, token: str, body: Mapping[str, Any], told: Mapping[str, str]) -> tuple[int, Any]:
    """The status of the reply, and its JSON."""
    raw = json.dumps(body).encode()
    named = {"content-type": "application/json", "authorization": f"Bearer {token}", **told}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http", "path": path,
        "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": (SCRATCH_ADDRESS, 0), "server": ("", 0),
        "headers": [(name.lower().encode(), value.encode()) for name, value in named.items()],
    }  # fmt: skip
    came = [{"type": "http.request", "body": raw, "more_body": False}]
    status, parts = 0, []

    async def receive() -> Message:
        return came.pop() if came else await asyncio.get_running_loop().create_future()  # the client stays

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, json.loads(b"".join(parts))
