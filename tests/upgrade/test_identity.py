"""Identities follow from what is declared and asked, never from the names of classes."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import obverse
from obverse.catalog.earlier_identity import former_fingerprint
from obverse.catalog.identity import fingerprint
from obverse.catalog.load import loads
from obverse.session import session as session_module
from obverse.session.planning import Wish
from tests.upgrade.worlds import ASKED, WORLDS, people

CORPUS = Path(__file__).parents[1] / "hostile" / "corpus.toml"
PACKAGES = ("accounting", "answers", "catalog", "core", "mechanisms", "plan")


def test_the_identity_of_a_catalog_is_pinned() -> None:
    corpus = loads(CORPUS.read_text(encoding="utf-8"), "/")
    assert fingerprint(corpus) == "f34843a3ba7d3d879344f036e12921e20232acbc49b10d62db109d5818172cf3"
    assert former_fingerprint(corpus) == "c9348b17de80b2afc7e35702e3d66e69ca845e5e10bb386cda8ecb9f2eec8d35"


def test_renaming_every_class_changes_no_identity(tmp_path: Path) -> None:
    (tmp_path / "obverse.toml").write_text(WORLDS["pure"].toml, encoding="utf-8")
    people(tmp_path)
    texts = [args[-1] for args in ASKED if args[-1] != "batch.sql"]
    with obverse.open(tmp_path) as session:

        def identities() -> list[Any]:
            planned = [session.prepare(text, Wish()).planned for text in texts]
            plans = [one for one in planned if one is not None]
            marked = [session_module.fingerprint([plan], session.catalog, "v") for plan in plans]
            former = [session_module.former_fingerprint([plan], session.catalog, "v") for plan in plans]
            return [*marked, *former, fingerprint(session.catalog), former_fingerprint(session.catalog)]

        before = identities()
        with renamed():
            assert identities() == before
            assert "Renamed" in repr(session.catalog.tables["people"])  # the names of classes did change


@contextlib.contextmanager
def renamed() -> Iterator[None]:
    """Every class under another name."""
    names = {one: (one.__name__, one.__qualname__) for one in classes()}
    try:
        for one, (name, qualified) in names.items():
            one.__name__ = f"Renamed{name}"
            one.__qualname__ = f"Renamed{qualified}"
        yield
    finally:
        for one, (name, qualified) in names.items():
            one.__name__ = name
            one.__qualname__ = qualified


def classes() -> set[type]:
    """Every dataclass and enumeration of the packages that identities are made from."""
    found = set[type]()
    for package in PACKAGES:
        root = importlib.import_module(f"obverse.{package}")
        for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
            for one in vars(importlib.import_module(module.name)).values():
                if isinstance(one, type) and one.__module__.startswith("obverse.") and dataclasses.is_dataclass(one):
                    found.add(one)
    assert len(found) > 100
    return found
