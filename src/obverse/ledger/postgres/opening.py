"""Opening a dataset whose ledger several machines share: the database says what is which, and each home anchors it.

What the machines must agree on lies in the database: the datasets, what they are known by, their versions, and the
records. What one machine alone can know stays in its home: paths and inodes, digests of files, and how far it has seen
the ledger come. A machine that sees a dataset for the first time takes the database's word for its age; from then on it
notices an older one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from obverse.catalog.model import Server
from obverse.core.errors import Refused
from obverse.core.ledger import Budget
from obverse.ledger import transitions
from obverse.ledger.anchor import NoAnchor, state_of
from obverse.ledger.chain import START, seal
from obverse.ledger.datasets import IN_POSTGRES, Dataset, Datasets
from obverse.ledger.home import Home
from obverse.ledger.ledger import now
from obverse.ledger.opened import Claimed, Opened, conflict, counted_elsewhere, other_units, same_terms
from obverse.ledger.postgres.errors import failed
from obverse.ledger.postgres.ledger import PostgresLedger, PostgresRows
from obverse.ledger.postgres.server import PostgresServer, server_of
from obverse.ledger.sources import FileSource, Identified, NamedSource, ServerSource, Source, around, rows_of

_BRING = (
    "Go on with that file: remove [ledger] from obverse.toml. Or bring it: `obverse ledger move FILE` without [ledger],"
    " then `obverse ledger restore FILE` with it."
)


def open_shared(
    home: Home, claimed: Claimed, server: Server, *, clock: Callable[[], str], step: Callable[[str], None]
) -> Opened:
    """The dataset that these sources are on every machine, and its ledger, checked whole and against this home's
    anchor.
    """
    _named(claimed.sources)
    shared = server_of(server)
    try:
        dataset = shared.repeated(lambda: _agreed(home, shared, claimed, clock))
        step("register: committed")
        seen = _seen_here(home, shared, dataset, home.identified(claimed.sources))
        step("register: seen")
        ledger = PostgresLedger(shared, dataset.ledger_id, home.anchor(seen.ledger_id), clock=clock, step=step)
        ledger.adopt()
    except BaseException:
        shared.close()
        raise
    return Opened(dataset, ledger, shared=False, registered=shared)


def known_there(home: Home, server: Server, sources: Sequence[Source]) -> bool:
    """Whether any of these sources belongs to a dataset of the shared database. Makes none."""
    shared = server_of(server)
    try:
        identified = home.identified(sources, shared.seal)
        with shared.shared() as datasets:
            return datasets.dataset_of((*identified, *around(sources))) is not None
    finally:
        shared.close()


def found_or_made(home: Home, claimed: Claimed, server: Server, known: Dataset, budget: Budget) -> PostgresLedger:
    """The ledger of a dataset that this machine knows, nobody vouching for it; made anew where the database has
    none.
    """
    shared = server_of(server)

    def once() -> Dataset:
        identified = home.identified(claimed.sources, shared.seal)
        with shared.exclusive() as datasets:
            return datasets.dataset(known.id) or _made(datasets, known, identified, budget, now())

    try:
        return PostgresLedger(shared, shared.repeated(once).ledger_id, NoAnchor())
    except BaseException:
        shared.close()
        raise


def _named(sources: Sequence[Source]) -> None:
    if not any(isinstance(source, NamedSource) for source in sources):
        raise Refused(
            "dataset_unnamed",
            "a ledger for several servers needs the name of the dataset.",
            why="paths differ from machine to machine, and rows that changed are not known again by their content.",
            fix='Add dataset = "NAME" to [project], the same in every project over this data.',
        )


def _agreed(home: Home, shared: PostgresServer, claimed: Claimed, clock: Callable[[], str]) -> Dataset:
    """The one dataset that the database and this home both mean; made when neither knows any of the sources."""
    known_here = home.identified(claimed.sources)
    identified = home.identified(claimed.sources, shared.seal)
    with shared.exclusive() as datasets, home.shared() as registry:
        beside = around(claimed.sources)
        here = registry.dataset_of((*known_here, *beside))
        there = datasets.dataset_of((*identified, *beside))
        if here is not None and here.ledger != IN_POSTGRES:
            raise counted_elsewhere(str(here.ledger), _BRING)
        if here is not None and there is not None and here.id != there.id:
            raise conflict(shared.place, "this machine and the database know these sources as two datasets")
        if there is None and here is not None:
            there = datasets.dataset(here.id)
            if there is None:
                raise failed(
                    "ledger_missing", shared.place, "this machine has seen the dataset, and the database has not"
                )
        if there is None:
            fresh = Dataset(secrets.token_hex(16), secrets.token_hex(16), claimed.terms, "", IN_POSTGRES)
            there = _made(datasets, fresh, identified, claimed.budget, clock())
        else:
            same_terms(there, claimed.terms)
            datasets.remember(there.id, identified)
        _same_units(datasets, there, claimed.sources, identified)
        return there


def _made(datasets: Datasets, fresh: Dataset, identified: tuple[Identified, ...], budget: Budget, time: str) -> Dataset:
    """A dataset with a ledger of its own and its opening record, all in one transaction."""
    ledger_id = secrets.token_hex(16)
    dataset = Dataset(fresh.id, fresh.version, fresh.terms, ledger_id, IN_POSTGRES)
    opening = transitions.open_ledger(ledger_id, dataset.id, dataset.terms, budget)
    datasets.statements.execute("INSERT INTO ledger VALUES (?, ?, 0, ?)", (ledger_id, str(IN_POSTGRES), START.hex()))
    PostgresRows(datasets.statements, ledger_id, (0, START.hex())).insert(seal(START, 1, opening, time), opening)
    datasets.add(dataset, identified)
    return dataset


def _seen_here(home: Home, shared: PostgresServer, dataset: Dataset, identified: tuple[Identified, ...]) -> Dataset:
    """The dataset as this home remembers it: with the ledger that was last seen here, or as it is found now."""
    with home.exclusive() as registry:
        known = registry.dataset(dataset.id)
        if known is not None:
            registry.remember(dataset.id, identified)
            return known
    book = PostgresLedger(shared, dataset.ledger_id, NoAnchor()).book()
    with home.exclusive() as registry:
        if registry.dataset(dataset.id) is None:
            registry.enrol(dataset, state_of(book), identified)
            registry.add_heads(dataset.ledger_id, enumerate(book.hashes, start=1))
    return dataset


def _same_units(
    datasets: Datasets, dataset: Dataset, sources: Sequence[Source], identified: tuple[Identified, ...]
) -> None:
    """A table's rows belong to the units they were first said to belong to, on whichever machine."""
    for source, known_by in zip(sources, identified):
        if not isinstance(source, (FileSource, ServerSource)) or not source.unit:
            continue
        itself = rows_of(source, known_by)[1] if isinstance(source, FileSource) else source.place
        for place in (f"{dataset.id} table {source.name}", f"{dataset.id} {itself}"):
            known = datasets.unit_path(place, source.unit)
            if known != source.unit:
                raise other_units(source.name, known)
