"""Opening a dataset: known data keeps its ledger and its budget, whichever project asks; what is not sure is refused.

The curator's word on a ledger that is in doubt: it goes on, and the worst it may have forgotten is charged.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Unpack

from obverse.accounting.budget import remaining
from obverse.catalog.model import Server
from obverse.core.errors import LedgerError, Refused
from obverse.core.ledger import Budget, Spent
from obverse.ledger.anchor import Anchored, NoAnchor, rolled_back, state_of
from obverse.ledger.datasets import IN_POSTGRES, Dataset, Datasets
from obverse.ledger.home import Home, Registry, unknown_ledger
from obverse.ledger.ledger import Recorded, StoredLedger, now, published_meanwhile
from obverse.ledger.opened import Claimed, Opened, conflict, counted_elsewhere, only_a_part, other_units, same_terms
from obverse.ledger.partitions import Held, keep, kept
from obverse.ledger.postgres.opening import found_or_made, known_there, open_shared
from obverse.ledger.rights import Act, forget
from obverse.ledger.sources import FileSource, Identified, ServerSource, Source, around, inode_now, rows_of
from obverse.ledger.sqlite import SqliteLedger
from obverse.ledger.state import Book, counted, partitions_of


def open_dataset(
    home: Home, claimed: Claimed, *, clock: Callable[[], str] = now, step: Callable[[str], None] = lambda step: None
) -> Opened:
    """The dataset that these sources are, and its ledger, checked whole and against its anchor."""
    if claimed.server is not None:
        return open_shared(home, claimed, claimed.server, clock=clock, step=step)
    identified = home.identified(claimed.sources)
    with home.exclusive() as registry:
        beside = around(claimed.sources)
        if claimed.grown and claimed.server is None and _in_a_folder(registry, beside):
            raise only_a_part()
        dataset = registry.dataset_of((*identified, *beside))
        if dataset is None:
            dataset = _enrolled(registry, claimed, identified)
        else:
            same_terms(dataset, claimed.terms)
            dataset = _located(registry, dataset, claimed)
            registry.remember(dataset.id, identified)
        _same_paths(registry, claimed.sources, identified)
        anchored = registry.anchored(dataset.ledger_id)
    step("register: committed")
    ledger = SqliteLedger(dataset.ledger, home.anchor(dataset.ledger_id), clock=clock, step=step)
    try:
        if anchored is not None and anchored.count == 0:
            ledger.create(dataset.ledger_id, dataset.id, dataset.terms, anchored.budget)
        ledger.adopt()
    except BaseException:
        ledger.close()
        raise
    return Opened(dataset, ledger, shared=dataset.ledger != claimed.path, registered=home)


def publish(
    home: Home,
    opened: Opened,
    sources: Sequence[Source],
    through: int | None = None,
    acts: Sequence[Act] = (),
    *,
    held: Held | None = None,
    over: Held | None = None,
    **recorded: Unpack[Recorded],
) -> str:
    """Register a new version of the data under a random id, by the curator's act; sources may be added so.

    Acts on rights are on the record with the version that brings them into force, or not at all. `held`: what is kept
    of partitions, in place of `over`; it is written before the record, which says how many of them were published.
    """
    version = secrets.token_hex(16)
    places = {place: home.identified(sources, place.seal) for place in (opened.registered, home)}
    for place, identified in places.items():
        with place.shared() as datasets:
            _one_dataset(datasets, opened.dataset.id, identified)
    if held is not None:
        with opened.registered.exclusive() as datasets:
            if kept(datasets, opened.dataset.id) != over:  # more of them may be published by now than `held` knows
                raise published_meanwhile()
            keep(datasets, opened.dataset.id, held)
    opened.ledger.record_version(version, through, acts, **recorded)
    rights = opened.ledger.rights()
    for place, identified in places.items():
        with place.exclusive() as datasets:
            _one_dataset(datasets, opened.dataset.id, identified)
            datasets.remember(opened.dataset.id, identified)
            datasets.publish(opened.dataset.id, version, identified)
            if place is opened.registered:
                forget(datasets, opened.dataset.id, rights)
    return version


def changed(home: Home, opened: Opened, sources: Sequence[Source]) -> tuple[str, ...]:
    """Names of the tables whose rows changed since they were published: for the curator alone."""
    identified = home.identified(sources, opened.registered.seal)
    with opened.registered.shared() as datasets:
        return datasets.changed(opened.dataset.id, identified)


def vacate(home: Home, files: Sequence[Path], ledger: Path) -> None:
    """Our own generator has just made these files where none were: what lay there before is known by its content alone.

    Data that comes back is recognised and finds its ledger missing, so nothing is spent twice.
    """
    places = [(os.path.realpath(file), inode_now(os.path.realpath(file)) or "") for file in files]
    digests = [one.digest for one in home.identified([FileSource(file.name, file) for file in files])]
    with home.exclusive() as registry:
        registry.vacate(places, Path(os.path.realpath(ledger)))
        registry.note_synthetic(digests)


def book_at(path: Path) -> Book:
    """What a ledger's file says of itself, its chain checked, nobody vouching for it."""
    ledger = SqliteLedger(path, NoAnchor())
    try:
        return ledger.book()
    finally:
        ledger.close()


def _in_a_folder(registry: Registry, beside: Sequence[Identified]) -> bool:
    """Whether a source lies in a folder that is known data as a whole."""
    return registry.dataset_of([one for one in beside if one.identities[0].kind == "path"]) is not None


def _enrolled(registry: Registry, claimed: Claimed, identified: tuple[Identified, ...]) -> Dataset:
    """Data seen for the first time: a fresh dataset, or one that was properly moved here with its ledger."""
    path = claimed.path
    version = secrets.token_hex(16)
    book = book_at(path) if path.exists() else Book(str(path))
    if registry.ledger_known(book.ledger_id, path):
        raise LedgerError(
            "ledger_taken",
            "the ledger named in obverse.toml counts the losses of other data",
            place=str(path),
            why="none of this project's private sources was seen before, and a new dataset needs a ledger of its own",
            fix="If these are the same people's rows, publish them (obverse data publish). Else name another ledger in "
            'obverse.toml: [project] ledger = ".obverse/another.db".',
        )
    if book.count == 0:
        ledger_id = secrets.token_hex(16)
        dataset = Dataset(secrets.token_hex(16), version, claimed.terms, ledger_id, path)
        unmade = Anchored(ledger_id, 0, "", Spent(claimed.terms.accounting), claimed.budget, closed=False)
        registry.enrol(dataset, unmade, identified)
        return dataset
    if book.last != "moved":
        raise unknown_ledger(str(path), "its file is here, and this machine's registry does not know it")
    return enrol_book(registry, book, claimed, identified)


def enrol_book(registry: Registry, book: Book, claimed: Claimed, identified: tuple[Identified, ...]) -> Dataset:
    """Take up a ledger that others have written, with the dataset it belongs to."""
    if registry.dataset(book.dataset) is not None:
        raise conflict(claimed.path, "the dataset of this ledger is registered here with another ledger")
    dataset = Dataset(book.dataset, book.version or secrets.token_hex(16), book.terms, book.ledger_id, claimed.path)
    same_terms(dataset, claimed.terms)
    registry.enrol(dataset, state_of(book), identified)
    registry.add_heads(book.ledger_id, enumerate(book.hashes, start=1))
    return dataset


def _located(registry: Registry, dataset: Dataset, claimed: Claimed) -> Dataset:
    """The dataset with its ledger where it now lies: a ledger that was carried along is known by its anchor."""
    offered = claimed.path
    if dataset.ledger == IN_POSTGRES:
        raise counted_elsewhere("PostgreSQL", 'Declare the same [ledger] as before: kind = "postgres" and its address.')
    if offered == dataset.ledger:
        return dataset
    anchored = registry.anchored(dataset.ledger_id)
    if not dataset.ledger.exists() and anchored is not None and anchored.count == 0:
        return _moved_to(registry, dataset, offered)
    if not offered.exists():
        return dataset
    book = book_at(offered)
    if book.ledger_id == dataset.ledger_id:
        goes_on = anchored is not None and anchored.closed and not book.closed
        return _moved_to(registry, dataset, offered) if goes_on or not dataset.ledger.exists() else dataset
    if book.count and not registry.ledger_known(book.ledger_id, offered):
        raise conflict(offered, "this data has a ledger here already, and another one came with the project")
    return dataset


def _moved_to(registry: Registry, dataset: Dataset, path: Path) -> Dataset:
    registry.set_path(dataset.ledger_id, path)
    return Dataset(dataset.id, dataset.version, dataset.terms, dataset.ledger_id, path)


def _one_dataset(datasets: Datasets, dataset_id: str, identified: tuple[Identified, ...]) -> None:
    found = datasets.dataset_of(identified)
    if found is not None and found.id != dataset_id:
        raise conflict(found.ledger, "some of these sources belong to another dataset")


def _same_paths(registry: Registry, sources: Sequence[Source], identified: Sequence[Identified]) -> None:
    """A table's rows belong to the units they were first said to belong to; else two losses are about two things."""
    for source, known_by in zip(sources, identified):
        if not isinstance(source, (FileSource, ServerSource)) or not source.unit:
            continue
        for place in rows_of(source, known_by) if isinstance(source, FileSource) else (source.place,):
            known = registry.unit_path(place, source.unit)
            if known != source.unit:
                raise other_units(source.name, known)


def private_here(home: Home, sources: Sequence[Source], server: Server | None = None) -> bool:
    """Whether any of these sources is known as private data, on this machine or among those that share a server."""
    identified = (*home.identified(sources), *around(sources))
    with home.shared() as registry:
        known = registry.dataset_of(identified) is not None
    return known or (server is not None and known_there(home, server, sources))


def acknowledge(home: Home, claimed: Claimed, reason: str) -> Opened:
    """Go on with a ledger that `open_dataset` refuses; doing it twice, or half way, charges nothing twice."""
    try:
        opened = open_dataset(home, claimed)
    except LedgerError as error:
        match error.code:
            case "ledger_unknown":
                _take_unknown(home, claimed, reason)
            case "ledger_missing" | "ledger_rolled_back":
                _take_rolled_back(home, claimed, reason, error.code)
            case _:
                raise
        return open_dataset(home, claimed)
    book = opened.ledger.book()
    if not book.closed:
        raise Refused("nothing_to_acknowledge", "this ledger is the one last seen here; nothing is in doubt")
    opened.ledger.acknowledge(remaining(book.cap, book.spent()), "ledger_closed", reason, "")
    return opened


def _take_unknown(home: Home, claimed: Claimed, reason: str) -> None:
    """A ledger from elsewhere: it may be of any age, so all that is left of its budget is charged."""
    ledger = SqliteLedger(claimed.path, NoAnchor())
    try:
        book = ledger.book()
        ledger.acknowledge(remaining(book.cap, book.spent()), "ledger_unknown", reason, "")
        identified = home.identified(claimed.sources)
        with home.exclusive() as registry:
            enrol_book(registry, ledger.book(), claimed, identified)
    finally:
        ledger.close()


def _take_rolled_back(home: Home, claimed: Claimed, reason: str, why: str) -> None:
    """An older, diverging or missing ledger: what was anchored beyond their common past is charged."""
    dataset, anchored, heads = _remembered(home, claimed)
    ledger = _unanchored(home, claimed, dataset, anchored)
    try:
        book = ledger.book()
        if (book.dataset, book.terms) != (dataset.id, dataset.terms):
            raise conflict(dataset.ledger, "the ledger found is that of another dataset")
        ledger.acknowledge(_forgotten(ledger, book, anchored, heads), why, reason, anchored.head)
        lowest = Budget(
            min(book.budget.epsilon, anchored.budget.epsilon), min(book.budget.delta, anchored.budget.delta)
        )
        if lowest != book.budget:
            ledger.lower(lowest, "the cap that was last seen")
        book = ledger.book()
        with home.exclusive() as registry:
            registry.forget_heads(dataset.ledger_id)
            registry.put_ledger(dataset.ledger, state_of(book))
            registry.serve(dataset.id, book.ledger_id)
            registry.add_heads(book.ledger_id, enumerate(book.hashes, start=1))
    finally:
        ledger.close()


def _unanchored(home: Home, claimed: Claimed, dataset: Dataset, anchored: Anchored) -> StoredLedger:
    """The ledger that is there, whatever it has forgotten; an empty one where there is none."""
    if claimed.server is not None:
        return found_or_made(home, claimed, claimed.server, dataset, anchored.budget)
    ledger = SqliteLedger(dataset.ledger, NoAnchor())
    try:
        if not dataset.ledger.exists() or ledger.book().count == 0:
            ledger.create(secrets.token_hex(16), dataset.id, dataset.terms, anchored.budget)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _remembered(home: Home, claimed: Claimed) -> tuple[Dataset, Anchored, dict[int, str]]:
    """What the home knows of the ledger. A missing one is made anew where the project wants it."""
    identified = home.identified(claimed.sources)
    with home.exclusive() as registry:
        dataset = registry.dataset_of(identified)
        anchored = None if dataset is None else registry.anchored(dataset.ledger_id)
        if dataset is None or anchored is None:
            raise rolled_back(str(claimed.path), "the registry changed meanwhile")
        if claimed.server is None and not dataset.ledger.exists() and dataset.ledger != claimed.path:
            registry.set_path(dataset.ledger_id, claimed.path)
            dataset = Dataset(dataset.id, dataset.version, dataset.terms, dataset.ledger_id, claimed.path)
        return dataset, anchored, registry.heads(dataset.ledger_id)


def _forgotten(ledger: StoredLedger, book: Book, anchored: Anchored, heads: dict[int, str]) -> Spent:
    """The anchored total less that of the common past; all that is left where a moved ledger may have gone on.

    The total is that of the partition with the largest, and what was lost may be about another one: of the common past
    only debits that every partition has are taken off.
    """
    zero = Fraction(0)
    shared = Spent(book.terms.accounting)
    past = shared
    for entry in ledger.entries():
        if entry.kind in ("charge", "acknowledge") and partitions_of(entry) is None:
            past = past.plus(counted(entry, book.terms))
        if book.ledger_id == anchored.ledger_id and heads.get(entry.number) == entry.hash:
            shared = past
    lost = Spent(
        book.terms.accounting,
        max(zero, anchored.spent.amount - shared.amount),
        max(zero, anchored.spent.delta - shared.delta),
    )
    if not (anchored.closed or book.closed):
        return lost
    left = remaining(book.cap, book.spent())
    return Spent(lost.accounting, max(lost.amount, left.amount), max(lost.delta, left.delta))
