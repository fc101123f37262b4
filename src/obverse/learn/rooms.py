"""Small projects of a lesson: made-up rows in a folder of their own, a ledger in memory; all of it is gone afterwards."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obverse.collect.spec import Spec
    from obverse.session.session import Session

Columns = Mapping[str, Sequence[object]]


def room(toml: str, *, purpose: str = "", **tables: Columns) -> Session:
    """The project opened by the product itself; closing the session deletes its folder."""
    from obverse.ledger.memory import MemoryLedger
    from obverse.session.opening import claimed, load_project
    from obverse.session.session import Session

    folder = tempfile.TemporaryDirectory(prefix="obverse-lesson-")
    try:
        (Path(folder.name) / "obverse.toml").write_text(toml, encoding="utf-8")
        for name, columns in tables.items():
            write_csv(Path(folder.name) / f"{name}.csv", columns)
        loaded = load_project(Path(folder.name))
        ledger = MemoryLedger("lesson", claimed(loaded.catalog).terms, loaded.catalog.budget)
        return Session(loaded, ledger, dataset="lesson", purpose=purpose, close=folder.cleanup)
    except BaseException:
        folder.cleanup()
        raise


def write_csv(path: Path, columns: Columns) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))


def survey(toml: str, name: str) -> Spec:
    """A declared survey, with the protocol that it names or that is chosen for it."""
    from obverse.catalog.load import loads
    from obverse.collect.choose import chosen
    from obverse.collect.spec import Spec

    declared = loads(toml, ".").surveys[name]
    return Spec(declared, chosen(declared).protocol)
