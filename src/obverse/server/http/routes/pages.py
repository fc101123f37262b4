"""The page for browsers: one document, and the files that it loads."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from obverse.server.errors import NotFound
from obverse.server.http.routes.public import PublicRoute
from obverse.server.http.static import DOCUMENT, POLICY, File, files
from obverse.server.http.trace import trace_of

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
