"""Datasets: which data is which dataset, and which ledger serves it. All who ask of the same data must agree on this.

The SQL here is read by SQLite and PostgreSQL alike; `?` stands for a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from obverse.core.errors import LedgerError
from obverse.core.ledger import Accounting, Terms
from obverse.core.units import Neighbours
from obverse.ledger.sources import Identified, Identity, Seal, inode_now

IN_POSTGRES = Path("postgres")  # stands for the path of a ledger that lies in no file; it is known by its id


class Found(Protocol):
    """What a statement has found."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...


class Statements(Protocol):
    """A connection within one transaction."""

    def execute(self, sql: str, parameters: tuple[Any, ...] = ..., /) -> Found: ...

    def executemany(self, sql: str, rows: Iterable[tuple[Any, ...]], /) -> object: ...


@dataclass(frozen=True, slots=True)
class Dataset:
    """One body of private data. Its id and version are random: they tell nothing of the rows."""

    id: str
    version: str
    terms: Terms
    ledger_id: str
    ledger: Path


class Datasets:
    """Rows that tell datasets apart, within one transaction."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements

    def dataset_of(self, identified: Sequence[Identified]) -> Dataset | None:
        """The dataset that any of the sources is known to belong to; two different ones are refused."""
        identities = [identity for source in identified for identity in source.identities]
        found = {dataset for identity in identities if (dataset := self._holder(identity)) is not None}
        if len(found) > 1:
            raise LedgerError(
                "dataset_conflict",
                "this project joins data of two datasets that have budgets of their own",
                why="their losses were counted apart, and there is no one budget to count the next one in",
                fix="Keep to the sources of one dataset in one project.",
            )
        return self.dataset(found.pop()) if found else None

    def dataset(self, dataset_id: str) -> Dataset | None:
        row = self.statements.execute(
            "SELECT d.id, d.version, d.accounting, d.neighbours, d.unit, l.id, l.path"
            " FROM dataset d JOIN ledger l ON d.ledger = l.id WHERE d.id = ?",
            (dataset_id,),
        ).fetchone()
        if row is None:
            return None
        terms = Terms(cast(Accounting, row[2]), Neighbours(row[3]), row[4])
        return Dataset(row[0], row[1], terms, row[5], Path(row[6]))

    def add(self, dataset: Dataset, identified: Sequence[Identified]) -> None:
        """Register a dataset that was not known before; its ledger's row is there already."""
        terms = dataset.terms
        self.statements.execute(
            "INSERT INTO dataset VALUES (?, ?, ?, ?, ?, ?)",
            (dataset.id, dataset.ledger_id, dataset.version, terms.accounting, terms.neighbours.value, terms.unit),
        )
        self.remember(dataset.id, identified)
        self.publish(dataset.id, dataset.version, identified)

    def remember(self, dataset_id: str, identified: Sequence[Identified]) -> None:
        """Add everything that the sources are known by; contents seen once are known for ever."""
        rows = [
            (identity.kind, identity.value, identity.path, dataset_id)
            for source in identified
            for identity in source.identities
        ]
        self.statements.executemany(
            "INSERT INTO identity VALUES (?, ?, ?, ?)"
            " ON CONFLICT (kind, value) DO UPDATE SET path = excluded.path, dataset = excluded.dataset",
            rows,
        )

    def publish(self, dataset_id: str, version: str, identified: Sequence[Identified]) -> None:
        """Set the data's version, and what its files were then."""
        self.statements.execute("UPDATE dataset SET version = ? WHERE id = ?", (version, dataset_id))
        rows = [(dataset_id, source.place, source.digest) for source in identified]
        self.statements.executemany(
            "INSERT INTO published VALUES (?, ?, ?) ON CONFLICT (dataset, place) DO UPDATE SET digest = "
            "excluded.digest",
            rows,
        )

    def changed(self, dataset_id: str, identified: Sequence[Identified]) -> tuple[str, ...]:
        """Names of the tables whose file is not what it was when it was published, or never was."""
        rows = self.statements.execute("SELECT place, digest FROM published WHERE dataset = ?", (dataset_id,))
        published: dict[str, str] = dict(rows.fetchall())
        known = set(published.values())
        return tuple(
            source.name
            for source in identified
            if source.digest not in ([published[source.place]] if source.place in published else known)
        )

    def unit_path(self, place: str, path: str) -> str:
        """The way from a source's rows to their unit, as it was first declared; now remembered if it was not."""
        self.statements.execute("INSERT INTO unit_path VALUES (?, ?) ON CONFLICT DO NOTHING", (place, path))
        return str(self.statements.execute("SELECT path FROM unit_path WHERE place = ?", (place,)).fetchone()[0])

    def _holder(self, identity: Identity) -> str | None:
        row = self.statements.execute(
            "SELECT dataset, path FROM identity WHERE kind = ? AND value = ?", (identity.kind, identity.value)
        ).fetchone()
        if row is None:
            return None
        if identity.kind == "inode" and inode_now(row[1]) not in (None, identity.value):
            return None  # the file it was seen at has another inode now, so this number went to a stranger
        return str(row[0])


class DatasetsAt(Protocol):
    """A place where datasets are registered: the home of one machine, or a database that several share."""

    @property
    def seal(self) -> Seal:
        """What fingerprints are made with there."""
        ...

    def exclusive(self) -> AbstractContextManager[Datasets]:
        """To be read and changed by one process at a time."""
        ...

    def shared(self) -> AbstractContextManager[Datasets]:
        """To be read."""
        ...
