from __future__ import annotations

import json
from pathlib import Path

import pytest

from obverse.demo.project import manifest, matches


@pytest.fixture
def signed(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A manifest and the two files that it lists."""
    first = tmp_path / "a.parquet"
    second = tmp_path / "b.csv"
    first.write_bytes(b"aaa")
    second.write_bytes(b"bbb")
    path = tmp_path / "manifest.json"
    path.write_text(manifest("obverse.sample.hospital", 1, 7, "stamp", [first, second]))
    return path, first, second


def test_files_that_were_listed_match_all_or_some_of_them(signed: tuple[Path, Path, Path]) -> None:
    path, first, second = signed
    assert matches(path, [first, second])
    assert matches(path, [second])


def test_a_changed_a_foreign_and_a_missing_file_do_not_match(signed: tuple[Path, Path, Path], tmp_path: Path) -> None:
    path, first, second = signed
    foreign = tmp_path / "c.csv"
    foreign.write_bytes(b"aaa")
    assert not matches(path, [foreign])
    assert not matches(path, [first, tmp_path / "gone.csv"])
    second.write_bytes(b"bbc")
    assert not matches(path, [first, second])


@pytest.mark.parametrize(
    ("key", "value"),
    [("generator", "somebody.else"), ("seed", 8), ("format", 2), ("files", {}), ("digest", "0"), ("files", 3)],
)
def test_an_altered_manifest_matches_nothing(signed: tuple[Path, Path, Path], key: str, value: object) -> None:
    path, first, _ = signed
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert not matches(path, [first])


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_what_is_no_manifest_matches_nothing(signed: tuple[Path, Path, Path], content: bytes) -> None:
    path, first, _ = signed
    path.write_bytes(content)
    assert not matches(path, [first])
    path.unlink()
    assert not matches(path, [first])
