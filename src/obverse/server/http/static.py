"""The built page: files that were made from web/ and are sent as they are, under a policy that lets nothing else run.

Claim:   a browser that keeps to the policy runs and loads nothing but these files and the service's own replies.
Proof:   `default-src 'none'`; scripts, styles, pictures and requests go to this very origin alone, and no script or style
         stands in the document itself. What a question's words or an answer's values hold is put on the page as text.
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

from obverse.core.errors import invariant

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'none'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
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
