"""A small service on this machine that speaks the JSON of `obverse serve`: what attacks on endpoints are tested
against.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "obv_stub"
Reply = tuple[int, Any, Mapping[str, str]]  # status, body, headers
Answering = Callable[[dict[str, Any], Mapping[str, str]], Reply]


def answered(value: object) -> Reply:
    """One number, as an answer of version 1."""
    columns = [{"name": "n", "type": "integer", "role": "value"}]
    return 200, {"version": 1, "columns": columns, "rows": [[value]], "intervals": [[None]], "level": 0.95}, {}


def problem(status: int, code: str, detail: str, **more: Any) -> Reply:
    told = {"type": f"urn:obverse:problem:{code}", "status": status, "code": code, "detail": detail}
    return status, told | {"charged": False, "why": "", "fix": ""} | more, {"Content-Type": "application/problem+json"}


@contextmanager
def serving(answer: Answering) -> Iterator[str]:
    """The address of a project that answers so; who has no token is not answered."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
            known = self.path == "/v1/stub/ask" and self.headers["Authorization"] == f"Bearer {TOKEN}"
            status, told, headers = (
                answer(body, self.headers) if known else problem(401, "not_signed_in", "who are you?")
            )
            sent = told if isinstance(told, bytes) else json.dumps(told).encode()
            try:
                self.send_response(status)
                for name, value in {
                    "Content-Type": "application/json",
                    "Content-Length": str(len(sent)),
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent)
            except OSError:
                pass  # who asked has hung up

        do_GET = do_POST  # so that it is seen when a client turns one into the other

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/stub"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
