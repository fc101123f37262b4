"""The page's files: what a browser may do with them, how large they are, and that they are those that were built."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from obverse.server.http.routes import pages
from tests.http_services import Running, listening, write_project

ROOT = Path(__file__).parents[5]
WEB = ROOT / "web"
BUILT = ROOT / "src" / "obverse" / "server" / "web"
KILOBYTES_MAX = 300
LESSONS_MAX = 50
NEEDED = ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def directives(policy: str) -> dict[str, str]:
    return {name: rest for name, _, rest in (part.strip().partition(" ") for part in policy.split(";"))}


def test_nothing_but_the_services_own_files_may_run(service: Running) -> None:
    for path in ("/", *(f"/page/{name}" for name in pages.files() if name != "index.html")):
        reply = service.get(path)
        assert reply.status_code == 200
        assert reply.headers.get_list("content-security-policy") == [pages.POLICY]
        assert reply.headers["x-content-type-options"] == "nosniff"
    told = directives(pages.POLICY)
    assert all(f"{name} {rest}" in pages.POLICY for name, rest in (part.split(" ", 1) for part in NEEDED))
    assert not [word for word in ("unsafe", "http", "*", "data:", "blob:") if word in " ".join(told.values())]


def test_all_else_keeps_its_stricter_policy(service: Running) -> None:
    for path in ("/health", "/page/nothing.js", "/v1/hospital/releases/2026/table.csv"):
        policy = service.get(path).headers["content-security-policy"]
        assert policy == "default-src 'none'; frame-ancestors 'none'; sandbox"


def test_the_page_is_sent_compressed_and_is_small_and_so_are_its_lessons() -> None:
    packed = {name: len(file.packed) for name, file in pages.files().items()}
    (lessons,) = (name for name in packed if name.startswith("learn-"))
    assert packed.pop(lessons) < LESSONS_MAX * 1000
    assert sum(packed.values()) < KILOBYTES_MAX * 1000


def test_a_file_is_the_same_compressed_and_plain(service: Running) -> None:
    for name, file in pages.files().items():
        assert gzip.decompress(file.packed) == file.plain
        if name != "index.html":
            assert service.get(f"/page/{name}").content == file.plain
            assert service.get(f"/page/{name}", headers={"Accept-Encoding": "identity"}).content == file.plain


def test_names_that_hold_a_hash_are_kept_by_browsers_and_others_are_not(service: Running) -> None:
    kept = {
        name for name in pages.files() if "immutable" in service.get(f"/page/{name}").headers.get("cache-control", "")
    }
    assert kept == {name for name in pages.files() if re.fullmatch(r"(main|style|part|learn)-.*", name)}


@pytest.mark.parametrize("path", ["manifest.json", "index.html", "..%2fpages.py", "%2e%2e/pages.py", ""])
def test_no_other_file_is_sent(service: Running, path: str) -> None:
    assert service.status_at(f"/page/{path}") == 404


def test_the_document_loads_only_what_is_listed() -> None:
    document = pages.files()["index.html"].plain.decode()
    named = re.findall(r'(?:src|href)="([^"]+)"', document)
    assert named
    assert all(name.startswith("/page/") and name.removeprefix("/page/") in pages.files() for name in named)
    assert not re.search(r"<script(?![^>]*src)|<style|\bon[a-z]+=", document)


def test_the_manifest_names_every_built_file_and_its_hash() -> None:
    listed = json.loads((BUILT / "manifest.json").read_text())["files"]
    there = {
        name: hashlib.sha256(held).hexdigest() for name, held in contents(BUILT).items() if name != "manifest.json"
    }
    assert listed == there


def test_a_file_that_was_changed_is_not_served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from obverse.core.errors import InvariantBroken

    shutil.copytree(BUILT, tmp_path / "web")
    (script,) = (tmp_path / "web").glob("main-*.js")
    script.write_bytes(script.read_bytes() + b"\n")
    known = pages.resources.files
    monkeypatch.setattr(pages.resources, "files", lambda name: tmp_path if name == "obverse.server" else known(name))
    with pytest.raises(InvariantBroken):
        pages.files.__wrapped__()


def test_they_are_checked_and_packed_before_anybody_waits_for_them(home_of_the_run: None, tmp_path: Path) -> None:
    pages.files.cache_clear()
    with listening(write_project(tmp_path / "hospital", people=69)):
        assert pages.files.cache_info().currsize == 1


def test_no_registry_is_named_in_the_lock_file() -> None:
    text = (WEB / "package-lock.json").read_text()
    assert '"resolved"' not in text
    assert "registry" not in text


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
@pytest.mark.skipif(
    not (WEB / "node_modules" / "esbuild").exists(), reason="needs the page's packages: cd web && npm ci"
)
def test_a_rebuild_gives_the_committed_bytes(tmp_path: Path) -> None:
    """Renew them with: cd web && npm ci && npm run build"""
    made = tmp_path / "web"
    subprocess.run(["node", "build.mjs", str(made)], cwd=WEB, check=True, timeout=120)
    assert contents(made) == contents(BUILT)
