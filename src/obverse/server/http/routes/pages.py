"""The page for browsers: one document, and the files that it loads.

Routes that need no account: counted by address, in memory, so that nobody takes all of the server.

The built page: files that were made from web/ and are sent as they are, under a policy that lets nothing else run.

Claim:   a browser that keeps to the policy runs and loads nothing but these files and the service's own replies.
Proof:   `default-src 'none'`; scripts, styles, pictures and requests go to this very origin alone, and no script or
         style stands in the document itself. What a question's words or an answer's values hold is put on the page as
         text.
Assumes: only whoever installs Obverse can write to the package.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from fastapi import APIRouter, Request
from starlette.responses import Response

from obverse.core.errors import invariant
from obverse.server.errors import NotFound
from obverse.server.http.auth import address_of
from obverse.server.http.bodies import StrictRoute
from obverse.server.http.connections import block
from obverse.server.http.request_context import trace_of
from obverse.server.http.service import service_of

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'none'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types "
    "'none'"
)
KINDS = {
    "css": "text/css; charset=utf-8", "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "json": "application/json", "svg": "image/svg+xml", "txt": "text/plain; charset=utf-8",
}  # fmt: skip
CLIENT = "obverse-local.js"
DOCUMENT = "index.html"
HASHED = re.compile(r".+-[0-9A-Z]{8}\.(js|css|json)")  # another content has another name


@dataclass(frozen=True, slots=True)
class File:
    """One file as it is sent: plain, and compressed for whoever takes that."""

    name: str
    plain: bytes
    packed: bytes

    @property
    def kind(self) -> str:
        return KINDS[self.name.rpartition(".")[2]]

    @property
    def lasts(self) -> bool:
        """Whether a browser may keep it for ever."""
        return HASHED.fullmatch(self.name) is not None


@functools.cache
def files() -> Mapping[str, File]:
    """All of them by name, each the one that the manifest names; and the client of surveys, which is not built."""
    folder = resources.files("obverse.server").joinpath("web")
    listed: dict[str, str] = json.loads(folder.joinpath("manifest.json").read_text("utf-8"))["files"]
    found = {name: folder.joinpath(name).read_bytes() for name in listed}
    for name, told in listed.items():
        invariant(hashlib.sha256(found[name]).hexdigest() == told, f"{name} is not the file that was built")
    found[CLIENT] = resources.files("obverse.collect").joinpath("js", CLIENT).read_bytes()
    return {name: File(name, plain, gzip.compress(plain, 9, mtime=0)) for name, plain in found.items()}


class PublicRoute(StrictRoute):
    """A route for everybody."""

    async def before(self, request: Request) -> None:
        service_of(request).strangers.take(block(address_of(request)))


KEPT = "public, max-age=31536000, immutable"
router = APIRouter(route_class=PublicRoute, include_in_schema=False)


@router.get("/")
async def document(request: Request) -> Response:
    """The same for everybody: who is signed in, and to what, the page finds out by itself."""
    return _sent(request, files()[DOCUMENT])


@router.get("/page/{file}")
async def file(request: Request, file: str) -> Response:
    if file not in files() or file == DOCUMENT:
        raise NotFound("file")
    return _sent(request, files()[file])


def _sent(request: Request, file: File) -> Response:
    trace_of(request).silent = True
    headers = {"Content-Security-Policy": POLICY, "Vary": "Accept-Encoding"}
    if file.lasts:
        headers["Cache-Control"] = KEPT
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=file.kind)
    return Response(file.plain, headers=headers, media_type=file.kind)
