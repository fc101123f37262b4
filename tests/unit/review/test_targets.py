"""Functions are found by name, in files that were written a moment ago too."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from obverse.review.targets import imported


def test_a_file_that_was_just_written_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the folder looks as it did when Python last looked into it: clocks of file systems are coarse."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ImportError):
        imported("not_written_yet:ask")
    looked = tmp_path.stat().st_mtime_ns
    Path("just_written.py").write_text(
        "class Desk:\n    @staticmethod\n    def ask():\n        return 7\n", encoding="utf-8"
    )
    os.utime(tmp_path, ns=(looked, looked))
    assert imported("just_written:Desk.ask")() == 7


def test_a_module_of_another_folder_does_not_stand_for_one_of_this(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a package; and a module that Python would still find, such as a library, is never read again."""
    for folder, answer in (("first", 1), ("second", 2)):
        package = tmp_path / folder / "my_package"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("", encoding="utf-8")
        for file in (package / "inner.py", tmp_path / folder / "my_module.py"):
            file.write_text(f"def ask():\n    return {answer}\n", encoding="utf-8")
        (tmp_path / folder / "json.py").write_text("def dumps(): ...", encoding="utf-8")
        monkeypatch.chdir(tmp_path / folder)
        assert (imported("my_module:ask")(), imported("my_package.inner:ask")()) == (answer, answer)
        assert imported("json:dumps") is json.dumps
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ImportError):
        imported("my_module:ask")


@pytest.mark.parametrize("place", ["", ":", "os", "os:", "os:nothing", "no_such_module_at_all:ask", ":ask"])
def test_what_stands_for_nothing_cannot_be_imported(place: str) -> None:
    with pytest.raises(ImportError):
        imported(place)
