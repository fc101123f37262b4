"""Retiring partitions of growing data, so that their rows may be deleted: the curator's act, with what it charges.

The last partition of growing data, as the curator names it, in the acts that publish or retire partitions.

Published rows: growing data compared with what it held when its partitions were published; for the curator's acts
alone.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.accounting import budget as budgets
from obverse.catalog.columns import fitted
from obverse.catalog.load import load
from obverse.catalog.model import Catalog, Column, Table
from obverse.core.bounds import Interval
from obverse.core.errors import Refused, invariant
from obverse.core.ledger import Cap, Partitions, Spent
from obverse.core.types import Type, Value, days
from obverse.curator.ledger import opened_ledger, private_catalog
from obverse.ledger import partitions as stored
from obverse.ledger import rights as ledger_rights
from obverse.ledger import transitions
from obverse.ledger.chain import Draft
from obverse.ledger.home import Home
from obverse.ledger.opened import Opened
from obverse.ledger.opening import publish
from obverse.ledger.partitions import Changed, Held, Seen, compared
from obverse.ledger.state import Book
from obverse.plan.emit.partition_sums import read_sums, unit_hash
from obverse.plan.partitions import first_counted, partitioned, value_of
from obverse.plan.stability.derive import own_type
from obverse.session.project import Project, base_of, load_project, open_ledger, sources_of


def last_partition(catalog: Catalog, through: str | None) -> int | None:
    """The partition that the curator publishes through, as a number; needed where the data grows by partitions, only
    there.
    """
    table = partitioned(catalog)
    if table is None or table.partition is None:
        if through is not None:
            message = "no table of this project is declared to have partitions."
            raise Refused("bad_parameter", message, fix="Leave out --through, or declare a partition.")
        return None
    column = table.columns[table.partition.column]
    example = "2024-12-31" if column.type is Type.DATE else "3"
    if through is None:
        raise Refused(
            "bad_parameter",
            f"which is the last {column.name} that the rows hold now?",
            why="it is public from now on, and nothing past it is read; each partition's budget begins with it.",
            fix=f"obverse data publish --through {example}",
        )
    return named_partition(column, through)


def named_partition(column: Column, through: str) -> int:
    """A partition that the curator named, as a number."""
    example = "2024-12-31" if column.type is Type.DATE else "3"
    try:
        found = days(dt.date.fromisoformat(through)) if column.type is Type.DATE else int(through)
    except ValueError:
        raise Refused("bad_parameter", f"{through!r} is no {column.type.value}.", fix=f"Write {example}.") from None
    if not isinstance(column.bounds, Interval) or not column.bounds.lo <= found <= column.bounds.hi:
        raise Refused("bad_parameter", f"{through} lies outside the bounds of {column.name}.", fix="Widen the bounds.")
    return found


READ_S = 3600.0
SHOWN_MAX = 5  # partitions in one message


@dataclass(frozen=True, slots=True)
class PublishedRows:
    """An opened project whose units count in their first partition."""

    project: Project
    home: Home
    opened: Opened
    table: Table

    @property
    def catalog(self) -> Catalog:
        return self.project.catalog

    @property
    def column(self) -> Column:
        assert self.table.partition is not None
        return self.table.columns[self.table.partition.column]

    @property
    def published(self) -> Partitions | None:
        """The partitions that are published and not retired; None where there are none."""
        ledger = self.opened.ledger
        through = ledger.through()
        return None if through is None or through < self.first else Partitions(self.first, through)

    @property
    def first(self) -> int:
        retired = self.opened.ledger.retired()
        assert isinstance(self.column.bounds, Interval)
        return int(self.column.bounds.lo) if retired is None else retired + 1

    def kept(self) -> Held | None:
        """All that is kept."""
        with self.opened.registered.shared() as datasets:
            return stored.kept(datasets, self.opened.dataset.id)

    def held(self) -> Held | None:
        """What is kept of the partitions that are published and not retired."""
        found = self.kept()
        among = self.published
        return None if found is None or among is None else found.between(among.first, among.last)

    def compared(self, held: Held | None, among: Partitions, left_out: Mapping[str, str]) -> Held:
        """What is to be kept of these partitions; Refused where those that were published are not as they were."""
        named = {*left_out.values(), *(held.units if held is not None else ())}
        key = self.key()
        engine = self.project.engine
        sums = read_sums(engine, self.catalog, self.table, among, key, named, READ_S)
        try:
            return compared(held, Seen(sums.others, sums.named), among.first, among.last, {*left_out.values()})
        except Changed as changed:
            told = self.words([place for place in changed.places if place not in changed.gone])
            gone = self.words(changed.gone)
            words = ", ".join(part for part in (told, f"{gone} (gone)" if gone else "") if part)
            raise stored.partition_changed(self.table.name, self.column.name, words, changed.back) from None

    def left_out(self, *, lifted: bool) -> dict[str, str]:
        """Hashes of the units that are left out, by acts; `lifted`: of acts that were lifted and are still in force
        too.
        """
        rights = self.opened.ledger.rights()
        with self.opened.registered.shared() as datasets:
            contents = ledger_rights.held(datasets, self.opened.dataset.id)
        stand = {*rights.standing, *ledger_rights.unrecorded(rights, contents), *(rights.in_force if lifted else ())}
        found = {right: json.loads(contents[right]) for right in sorted(stand & {*contents})}
        return {right: self.hashed(one["unit"]) for right, one in found.items() if one["act"] in ledger_rights.LEFT_OUT}

    def noted(self, unit: Value) -> None:
        """Write down what a unit brings that was left out just now, so that its rows may be deleted."""
        held = self.held()
        among = self.published
        who = self.hashed(unit)
        if held is None or among is None or who in held.units:
            return
        among = Partitions(among.first, held.through)
        own = read_sums(self.project.engine, self.catalog, self.table, among, self.key(), [who], READ_S).named.get(
            who, {}
        )
        with self.opened.registered.exclusive() as datasets:
            now = stored.kept(datasets, self.opened.dataset.id)
            # nobody published meanwhile
            same = now is not None and now.between(among.first, held.through).sums == held.sums
            if now is not None and same and who not in now.units:
                stored.keep(datasets, self.opened.dataset.id, now.apart(who, own))

    def hashed(self, unit: Any) -> str:
        return unit_hash(self.key(), fitted(own_type(self.catalog), unit))

    def key(self) -> str:
        return self.opened.registered.seal.of("partitions", self.opened.dataset.id)

    def words(self, places: list[int]) -> str:
        shown = ", ".join(str(value_of(place, self.column.type)) for place in places[:SHOWN_MAX])
        return shown + (f" and {len(places) - SHOWN_MAX} more" if len(places) > SHOWN_MAX else "")


def published_rows(project: Project, home: Home, opened: Opened) -> PublishedRows | None:
    """None where rows that go or come late change no unit's partition."""
    table = first_counted(project.catalog)
    return None if table is None else PublishedRows(project, home, opened, table)


@contextmanager
def opened_rows(path: Path, tables: Mapping[str, Any] | None = None) -> Iterator[PublishedRows]:
    """A project whose units count in their first partition, opened with its engine; `tables`: those handed over from
    Python.
    """
    table = first_counted(load(path))
    if table is not None and table.source.kind == "object" and table.name not in (tables or {}):
        raise Refused(
            "rows_not_here",
            f"rows of table {table.name} are handed over from Python, and were not.",
            why="partitions that were published are compared before others are published or retired.",
            fix="obverse.curator.partitions.publish_data(project, through, tables={...}), or retire_data.",
        )
    project = load_project(path, tables)
    try:
        home, opened = open_ledger(project)
        try:
            found = published_rows(project, home, opened)
            invariant(found is not None, "units count in their first partition")
            assert found is not None
            yield found
        finally:
            opened.ledger.close()
            home.close()
    finally:
        project.engine.close()


TAKEN = (
    "nothing was kept here of partitions up to {column} {value}, which were published before; they are taken as they "
    "are now, "
    "and compared from now on"
)


@dataclass(frozen=True, slots=True)
class Published:
    """A version of the data: its opaque id, and what the curator should know of it."""

    version: str
    notes: tuple[str, ...] = ()


def publish_data(project: Path, through: str | None = None, tables: Mapping[str, Any] | None = None) -> Published:
    """Register the rows as they are now as a new version. `through`: the last partition they hold; `tables`: those that
    are handed over from Python.

    Where units count in their first partition, published partitions are read, and refused if they are not as they were.
    """
    catalog = private_catalog(project)
    if first_counted(catalog) is not None:
        last = last_partition(catalog, through)
        assert last is not None
        with opened_rows(project, tables) as rows:
            return _publish_compared(rows, last)
    with opened_ledger(project) as (catalog, home, opened):
        return Published(publish(home, opened, sources_of(catalog), last_partition(catalog, through)))


def _publish_compared(rows: PublishedRows, last: int) -> Published:
    compared = rows.opened.ledger.comparing()
    over = rows.kept()
    among = rows.published
    before = rows.held() if among is not None else Held(rows.first - 1)
    left_out = rows.left_out(lifted=False)
    if last < rows.first or (among is not None and last < among.last):  # refused by the ledger, before rows are read
        return Published(publish(rows.home, rows.opened, sources_of(rows.catalog), last))
    held = rows.compared(before, Partitions(rows.first, last), left_out)
    version = publish(rows.home, rows.opened, sources_of(rows.catalog), last, held=held, over=over, compared=compared)
    if among is None or (before is not None and before.through >= among.last):
        return Published(version)
    since = rows.words([among.last])
    return Published(version, (TAKEN.format(column=rows.column.name, value=since),))


@dataclass(frozen=True, slots=True)
class Retiring:
    """What retiring means for each partition that remains or comes: what counts as spent on it, and what is left at
    most.
    """

    column: str
    through: str
    base: Spent
    cap: Cap
    version: str = ""  # of the data, once it is done

    @property
    def left(self) -> Spent:
        return budgets.remaining(self.cap, self.base)

    @property
    def words(self) -> str:
        return f"{budgets.words(self.base)} counts as spent on each {self.column} after {self.through}"

    @property
    def words_left(self) -> str:
        room = "" if self.left.amount else "; no question can be asked of any of them before `obverse budget grant`"
        return f"at most {budgets.words_left(self.left)} for each of them{room}"


def retire_data(
    project: Path,
    through: str,
    reason: str,
    *,
    gone: bool = False,
    agreed: Callable[[Retiring], bool] = lambda plan: True,
    tables: Mapping[str, Any] | None = None,
) -> Retiring:
    """Read no row any more of partitions up to that one, and charge what was spent on them to all others.

    Rows must be as they were published, which is compared; `gone`: those of these partitions are not, and everything
    that was ever asked is charged. `agreed` is asked before it is done.
    """
    if not reason.strip():
        raise Refused("no_reason", "why are partitions retired?", fix='Say it: --reason "kept for 12 months".')
    catalog = private_catalog(project)
    table = first_counted(catalog)
    if table is None or table.partition is None:
        raise Refused(
            "nothing_to_retire",
            "no table of this project counts people in their first partition.",
            why="elsewhere no budget depends on which partitions are there.",
            fix="Delete the rows in the source, then: obverse data publish.",
        )
    last = named_partition(table.columns[table.partition.column], through)
    with opened_rows(project, tables) as rows:
        ledger = rows.opened.ledger
        plan = _planned(rows, last, gone)
        compared = ledger.comparing()
        over = rows.kept()
        held = None if gone else _compared(rows)
        if gone:
            _remaining_compared(rows, last)
        if not agreed(plan):
            raise Refused("not_agreed", "nothing was retired.", fix="Add --yes to do it without being asked.")

        def retire(book: Book) -> Draft:
            return transitions.retire(book, last, reason.strip(), gone=gone)

        sources = sources_of(rows.catalog)
        version = publish(
            rows.home, rows.opened, sources, held=held, over=over, retire=retire, lifts_wait=True, compared=compared
        )
        base = base_of(ledger, ledger.through() or last)
        return Retiring(plan.column, plan.through, base, plan.cap, version)


def _planned(rows: PublishedRows, last: int, gone: bool) -> Retiring:
    ledger = rows.opened.ledger
    base = ledger.base(last, gone=gone)
    before = base_of(ledger, ledger.through() or last)
    cap = budgets.tighter(ledger.cap(), budgets.cap_of(rows.catalog.budget, rows.catalog.accounting))
    largest = Spent(base.accounting, max(base.amount, before.amount), max(base.delta, before.delta))
    return Retiring(rows.column.name, rows.words([last]), largest, cap)


def _compared(rows: PublishedRows) -> Held | None:
    among = rows.published
    held = rows.held()
    if among is None:
        return None
    if held is None or held.through < among.last:
        raise Refused(
            "nothing_kept",
            "not all partitions were published where their rows are compared, so nothing was done.",
            why="an earlier version published them, or another machine did; whether rows went since then is not known.",
            fix=f"If none went: obverse data publish --through {rows.words([among.last])}, then retire them. Else add "
            "--gone.",
        )
    return rows.compared(held, among, rows.left_out(lifted=True))


def _remaining_compared(rows: PublishedRows, last: int) -> None:
    """Partitions that remain are as they were published, though those that are retired are not."""
    among = rows.published
    held = rows.held()
    if among is not None and held is not None and last < among.last:
        remaining = Partitions(last + 1, among.last)
        rows.compared(held.between(remaining.first, remaining.last), remaining, rows.left_out(lifted=True))
