"""Releases, series, batches and networks are recognised, whatever the classes of the product are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.upgrade import test_identity
from tests.upgrade.test_identity import renamed
from tests.upgrade.test_stored_answers import GOLDEN, requested, run, unpacked
from tests.upgrade.worlds import WORLDS, published


@pytest.mark.parametrize("name", ["zcdp", "network", "pure"])
def test_a_debit_of_each_kind_is_recognised_under_other_names_of_classes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked("v0.1", name, tmp_path, monkeypatch)
    monkeypatch.setattr(test_identity, "PACKAGES", (*test_identity.PACKAGES, "publish", "session"))
    spent = run("budget")
    identities = requested(monkeypatch)
    with renamed():
        for n, args in enumerate(WORLDS[name].commands):
            run(*args, *(["--out", str(tmp_path / f"again{n}")] if published(args) else []))
    assert run("budget") == spent
    assert identities == json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
