"""Releases: what lies in a release's folder, and nothing else on the machine."""

from __future__ import annotations

import os

import pytest

from tests.http_services import Running

HERE = "/v1/hospital/releases"


def test_a_release_is_listed_and_read_by_everybody(service: Running) -> None:
    assert service.get(HERE).json()["names"] == ["2026"]
    assert service.get(f"{HERE}/2026").json()["names"] == ["page.html", "table.csv"]
    found = service.get(f"{HERE}/2026/table.csv")
    assert (found.text, found.headers["content-type"]) == ("sex,n\nF,1\n", "text/csv; charset=utf-8")


def test_a_page_is_downloaded_and_never_run(service: Running) -> None:
    found = service.get(f"{HERE}/2026/page.html")
    assert found.headers["content-type"] == "application/octet-stream"
    assert found.headers["content-disposition"] == "attachment"
    assert "sandbox" in found.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "../obverse.toml",
        "..%2Fobverse.toml",
        "2026/../../obverse.toml",
        "2026/..%2F..%2Fobverse.toml",
        "%2e%2e/people.csv",
        "2026/%2e%2e",
        ".",
        "..",
        "2026/.",
        "2026/%00",
        "2026/table.csv%00.txt",
        "2026/a%5Cb",
        "%2Fetc/passwd",
        "2026/.hidden",
        "2026//etc/passwd",
        "2026/" + "a" * 300,
    ],
)
def test_no_path_leads_out_of_the_releases(service: Running, path: str) -> None:
    (service.folder / "releases" / "2026" / ".hidden").write_text("not released")
    assert service.status_at(f"{HERE}/{path}") == 404
    assert service.status_at(f"{HERE}/2026/table.csv") == 200


def test_links_and_folders_are_not_followed(service: Running) -> None:
    place = service.folder / "releases"
    os.symlink(service.folder / "people.csv", place / "2026" / "link.csv")
    os.symlink(service.folder, place / "linked")
    (place / "2026" / "inner").mkdir()
    os.mkfifo(place / "2026" / "pipe")
    try:
        for path in ("2026/link.csv", "linked/people.csv", "linked", "2026/inner", "2026/pipe"):
            assert service.get(f"{HERE}/{path}").status_code == 404
        assert service.get(HERE).json()["names"] == ["2026"]
        assert service.get(f"{HERE}/2026").json()["names"] == ["page.html", "table.csv"]
    finally:
        (place / "2026" / "link.csv").unlink()
        (place / "linked").unlink()
        (place / "2026" / "inner").rmdir()
        (place / "2026" / "pipe").unlink()


def test_a_large_file_comes_whole(service: Running) -> None:
    large = os.urandom(300_000)
    path = service.folder / "releases" / "2026" / "large.bin"
    path.write_bytes(large)
    try:
        assert service.get(f"{HERE}/2026/large.bin").content == large
    finally:
        path.unlink()
