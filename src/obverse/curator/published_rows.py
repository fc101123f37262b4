"""Published rows: growing data compared with what it held when its partitions were published; for the curator's acts alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.catalog.columns import fitted
from obverse.catalog.load import load
from obverse.catalog.model import Catalog, Column, Table
from obverse.core.bounds import Interval
from obverse.core.errors import Refused, invariant
from obverse.core.ledger import Partitions
from obverse.core.types import Value
from obverse.ledger import partitions as stored
from obverse.ledger import rights as ledger_rights
from obverse.ledger.home import Home
from obverse.ledger.opened import Opened
from obverse.ledger.partitions import Changed, Held, Seen, compared
from obverse.plan.emit.partition_sums import read_sums, unit_hash
from obverse.plan.partitions import first_counted, value_of
from obverse.plan.stability.derive import own_type
from obverse.session.opening import Project, load_project, open_ledger

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
        key, engine = self.key(), self.project.engine
        sums = read_sums(engine, self.catalog, self.table, among, key, named, READ_S)
        try:
            return compared(held, Seen(sums.others, sums.named), among.first, among.last, {*left_out.values()})
        except Changed as changed:
            told = self.words([place for place in changed.places if place not in changed.gone])
            gone = self.words(changed.gone)
            words = ", ".join(part for part in (told, f"{gone} (gone)" if gone else "") if part)
            raise stored.partition_changed(self.table.name, self.column.name, words, changed.back) from None

    def left_out(self, *, lifted: bool) -> dict[str, str]:
        """Hashes of the units that are left out, by acts; `lifted`: of acts that were lifted and are still in force too."""
        rights = self.opened.ledger.rights()
        with self.opened.registered.shared() as datasets:
            contents = ledger_rights.held(datasets, self.opened.dataset.id)
        stand = {*rights.standing, *ledger_rights.unrecorded(rights, contents), *(rights.in_force if lifted else ())}
        found = {right: json.loads(contents[right]) for right in sorted(stand & {*contents})}
        return {right: self.hashed(one["unit"]) for right, one in found.items() if one["act"] in ledger_rights.LEFT_OUT}

    def noted(self, unit: Value) -> None:
        """Write down what a unit brings that was left out just now, so that its rows may be deleted."""
        held, among, who = self.held(), self.published, self.hashed(unit)
        if held is None or among is None or who in held.units:
            return
        among = Partitions(among.first, held.through)
        own = read_sums(self.project.engine, self.catalog, self.table, among, self.key(), [who], READ_S).named.get(who, {})
        with self.opened.registered.exclusive() as datasets:
            now = stored.kept(datasets, self.opened.dataset.id)
            same = now is not None and now.between(among.first, held.through).sums == held.sums  # nobody published meanwhile
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
    """A project whose units count in their first partition, opened with its engine; `tables`: those handed over from Python."""
    table = first_counted(load(path))
    if table is not None and table.source.kind == "object" and table.name not in (tables or {}):
        raise Refused(
            "rows_not_here",
            f"rows of table {table.name} are handed over from Python, and were not.",
            why="partitions that were published are compared before others are published or retired.",
            fix="obverse.curator.curator.publish_data(project, through, tables={...}); or retirement.retire_data.",
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
