"""Retiring partitions of growing data, so that their rows may be deleted: the curator's act, with what it charges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.accounting import budget as budgets
from obverse.core.errors import Refused
from obverse.core.ledger import Cap, Partitions, Spent
from obverse.curator.curator import private_catalog
from obverse.curator.growing import named_partition
from obverse.curator.published_rows import PublishedRows, opened_rows
from obverse.ledger import acts
from obverse.ledger.book import Book
from obverse.ledger.chain import Draft
from obverse.ledger.partitions import Held
from obverse.ledger.register import publish
from obverse.plan.partitions import first_counted
from obverse.session.opening import base_of, sources_of


@dataclass(frozen=True, slots=True)
class Retiring:
    """What retiring means for each partition that remains or comes: what counts as spent on it, and what is left at most."""

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

    Rows must be as they were published, which is compared; `gone`: those of these partitions are not, and everything that was
    ever asked is charged. `agreed` is asked before it is done.
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
        ledger, plan = rows.opened.ledger, _planned(rows, last, gone)
        compared, over = ledger.comparing(), rows.kept()
        held = None if gone else _compared(rows)
        if gone:
            _remaining_compared(rows, last)
        if not agreed(plan):
            raise Refused("not_agreed", "nothing was retired.", fix="Add --yes to do it without being asked.")

        def retire(book: Book) -> Draft:
            return acts.retire(book, last, reason.strip(), gone=gone)

        sources = sources_of(rows.catalog)
        version = publish(
            rows.home, rows.opened, sources, held=held, over=over, retire=retire, lifts_wait=True, compared=compared
        )
        base = base_of(ledger, ledger.through() or last)
        return Retiring(plan.column, plan.through, base, plan.cap, version)


def _planned(rows: PublishedRows, last: int, gone: bool) -> Retiring:
    ledger = rows.opened.ledger
    base, before = ledger.base(last, gone=gone), base_of(ledger, ledger.through() or last)
    cap = budgets.tighter(ledger.cap(), budgets.cap_of(rows.catalog.budget, rows.catalog.accounting))
    largest = Spent(base.accounting, max(base.amount, before.amount), max(base.delta, before.delta))
    return Retiring(rows.column.name, rows.words([last]), largest, cap)


def _compared(rows: PublishedRows) -> Held | None:
    among, held = rows.published, rows.held()
    if among is None:
        return None
    if held is None or held.through < among.last:
        raise Refused(
            "nothing_kept",
            "not all partitions were published where their rows are compared, so nothing was done.",
            why="an earlier version published them, or another machine did; whether rows went since then is not known.",
            fix=f"If none went: obverse data publish --through {rows.words([among.last])}, then retire them. Else add --gone.",
        )
    return rows.compared(held, among, rows.left_out(lifted=True))


def _remaining_compared(rows: PublishedRows, last: int) -> None:
    """Partitions that remain are as they were published, though those that are retired are not."""
    among, held = rows.published, rows.held()
    if among is not None and held is not None and last < among.last:
        remaining = Partitions(last + 1, among.last)
        rows.compared(held.between(remaining.first, remaining.last), remaining, rows.left_out(lifted=True))
