"""A dataset that is claimed and one that is opened, and why a claim may be refused."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from obverse.catalog.model import Server
from obverse.core.errors import LedgerError
from obverse.core.ledger import Budget, Terms
from obverse.ledger.datasets import Dataset, DatasetsAt
from obverse.ledger.home import unknown_ledger
from obverse.ledger.ledger import StoredLedger
from obverse.ledger.sources import Source


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a project says of its private data: its sources, the ledger it would like, the terms and the budget.

    With a server the ledger lies there, shared with other machines, and `ledger` is not used.
    """

    sources: tuple[Source, ...]
    ledger: Path
    terms: Terms
    budget: Budget
    server: Server | None = None
    grown: bool = False  # by partitions, so that a part of the rows would have units in other partitions than the whole

    @property
    def path(self) -> Path:
        return Path(os.path.realpath(self.ledger))


@dataclass(frozen=True, slots=True)
class Opened:
    """A dataset and the one ledger that serves it; `shared` when that is not the ledger the project named.

    `registered` is where all who ask of this data look it up: this machine's home, or the database they share.
    """

    dataset: Dataset
    ledger: StoredLedger
    shared: bool
    registered: DatasetsAt


def version_now(opened: Opened) -> str:
    """The data's version at this moment, whoever published last."""
    with opened.registered.shared() as datasets:
        dataset = datasets.dataset(opened.dataset.id)
    if dataset is None:
        raise unknown_ledger(opened.ledger.place, "the registry that this process started with was exchanged")
    return dataset.version


def same_terms(dataset: Dataset, terms: Terms) -> None:
    if dataset.terms != terms:
        raise LedgerError(
            "terms_conflict",
            "this data's losses are counted under other terms than this project declares",
            why="losses about different units, neighbours or accountings do not add up to a statement",
            fix=f'Declare accounting = "{dataset.terms.accounting}", neighbours = "{dataset.terms.neighbours.value}"'
            f" and the unit {dataset.terms.unit}.",
        )


def other_units(table: str, known: str) -> LedgerError:
    return LedgerError(
        "terms_conflict",
        f"the rows of table {table} were counted as belonging to other units",
        why="losses about different units do not add up to a statement",
        fix=f"Declare the unit and its key's type as before: {known}.",
    )


def only_a_part() -> LedgerError:
    return LedgerError(
        "part_of_data",
        "the source is a part of a folder whose losses are counted by partitions",
        why="units that have rows elsewhere in the folder would count in another partition here, whose budget is not "
        "spent",
        fix="Name the folder as `source`.",
    )


def conflict(place: Path | str, why: str) -> LedgerError:
    return LedgerError(
        "dataset_conflict",
        "two ledgers claim the same data, so nothing is answered",
        place=str(place),
        why=why,
        fix="Keep one of them: name its path in obverse.toml, and set the other file aside.",
    )


def counted_elsewhere(where: str, fix: str) -> LedgerError:
    return LedgerError(
        "ledger_elsewhere",
        f"the losses of this data are counted in {where}, and not where this project would count them",
        why="two ledgers would be two budgets for the same people",
        fix=fix,
    )
