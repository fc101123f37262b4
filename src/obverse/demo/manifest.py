"""Which files our generators made: names and content hashes with a digest over them. It tells synthetic from real.

There is no secret in it: who can write files can write a manifest. It guards against the mistake of opening real tables
without noise, not against the curator, who can read them anyway.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FORMAT = 1
FILE_NAME = "manifest.json"
GENERATORS = ("obverse.sample.hospital", "obverse.testing.synthetic")


def content_hash(file: Path) -> str:
    """SHA-256 of the file's bytes."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def manifest(generator: str, version: int, seed: int, stamp: str, files: Iterable[Path]) -> str:
    """The text of a manifest.

    `stamp` is the random word that this writing put into the Parquet files' key-value metadata (`obverse.stamp`), so
    that two samples are two datasets by their content although their values are the same.
    """
    described: dict[str, Any] = {
        "format": FORMAT,
        "generator": generator,
        "version": version,
        "seed": seed,
        "stamp": stamp,
        "files": {file.name: content_hash(file) for file in sorted(files, key=lambda file: file.name)},
    }
    return json.dumps({**described, "digest": _digest(described)}, indent=2) + "\n"


def matches(manifest_path: Path, files: Iterable[Path]) -> bool:
    """Whether one of our generators listed each of the files, under its name and with the content that it has now."""
    listed = _listed(manifest_path)
    try:
        return listed is not None and all(listed.get(file.name) == content_hash(file) for file in files)
    except OSError:
        return False


def _listed(manifest_path: Path) -> dict[str, Any] | None:
    """Names and hashes of a manifest that is whole; None for anything else."""
    try:
        found = json.loads(manifest_path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("format") != FORMAT or found.get("generator") not in GENERATORS:
        return None
    described = {key: value for key, value in found.items() if key != "digest"}
    files = found.get("files")
    return files if isinstance(files, dict) and found.get("digest") == _digest(described) else None


def _digest(described: dict[str, Any]) -> str:
    canonical = json.dumps(described, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
