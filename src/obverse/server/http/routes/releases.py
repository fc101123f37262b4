"""Releases: what the curator published in the project's folder `releases`, a folder each; everybody may read it.

Claim:   nothing but a plain file that lies in such a folder is ever read.
Proof:   a name is letters, digits, `_`, `-` and inner dots, so it has no separator and no parent; each step is opened
         relative to the folder before it, and a link is not followed (openat, O_NOFOLLOW).
Assumes: who may write to `releases` is the curator.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from obverse.server.errors import NotFound
from obverse.server.http import schemas
from obverse.server.http.problems import json_reply
from obverse.server.http.routes.pages import PublicRoute
from obverse.server.http.service import service_of

T = TypeVar("T")
FOLDER = "releases"
WHAT = "release"
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
BLOCK = 1 << 16
NOWHERE = -1  # no folder: whatever is opened relative to it is not there
TEXT = "text/plain; charset=utf-8"
OTHER = "application/octet-stream"
KINDS = {".json": "application/json", ".csv": "text/csv; charset=utf-8", ".md": TEXT, ".txt": TEXT}
FILES: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind.partition(";")[0]: {} for kind in (*KINDS.values(), OTHER)}}
}
router = APIRouter(route_class=PublicRoute, tags=["releases"])
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@router.get("/releases", responses={200: {"model": schemas.Names}}, response_class=Response)
async def releases(request: Request, project: str) -> Response:
    """The names of a project's releases; not found where there are none."""
    names = await _read(request, project, lambda root: _names(root, stat.S_ISDIR))
    return json_reply({"version": 1, "names": names})


@router.get("/releases/{release}", responses={200: {"model": schemas.Names}}, response_class=Response)
async def release(request: Request, project: str, release: str) -> Response:
    """The files of a release."""
    names = await _read(
        request, project, lambda root: _inside(root, release, lambda folder: _names(folder, stat.S_ISREG))
    )
    return json_reply({"version": 1, "names": names})


@router.get("/releases/{release}/{file}", responses=FILES, response_class=Response)
async def file(request: Request, project: str, release: str, file: str) -> Response:
    """A file of a release, as it is; pages are downloaded, not shown."""
    opened = await _read(request, project, lambda root: _inside(root, release, lambda folder: _file(folder, file)))
    kind = KINDS.get(os.path.splitext(file)[1].lower(), OTHER)
    headers = {"Content-Disposition": "attachment"} if kind == OTHER else None
    return StreamingResponse(_blocks(opened), media_type=kind, headers=headers)


async def _read(request: Request, project: str, action: Callable[[int], T]) -> T:
    """Done with the folder of releases; whatever is not there is not found, and a project without any is none."""
    desk = service_of(request).desk
    here = project in desk.projects  # else another's folder is looked for, and nothing read in it

    def read(root: Path) -> T:
        try:
            with _opened(str(root / FOLDER), _FOLDER) as folder:
                return action(folder if here else NOWHERE)
        except OSError:
            raise NotFound(WHAT) from None

    found = await desk.looked_up(project, lambda host: read(host.catalog.root))
    if found is None:
        raise NotFound(WHAT)
    return found


def _inside(root: int, name: str, action: Callable[[int], T]) -> T:
    with _opened(_safe(name), _FOLDER, root) as folder:
        return action(folder)


def _file(folder: int, name: str) -> BinaryIO:
    with _opened(_safe(name), _FILE, folder) as opened:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise NotFound(WHAT)
        return os.fdopen(os.dup(opened), "rb")


def _blocks(opened: BinaryIO) -> Iterator[bytes]:
    """Some at a time, so that memory is bounded however large a file is and however many read it."""
    with opened:
        yield from iter(lambda: opened.read(BLOCK), b"")


def _names(folder: int, kind: Callable[[int], bool]) -> list[str]:
    told = [name for name in os.listdir(folder) if NAME.fullmatch(name)]
    names = sorted(name for name in told if kind(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode))
    if not names:
        raise NotFound(WHAT)
    return names


def _safe(name: str) -> str:
    if not NAME.fullmatch(name):
        raise NotFound(WHAT)
    return name


@contextmanager
def _opened(name: str, flags: int, inside: int | None = None) -> Iterator[int]:
    found = os.open(name, flags, dir_fd=inside)
    try:
        yield found
    finally:
        os.close(found)
