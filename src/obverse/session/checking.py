"""What `obverse check` tells the curator: what holds, what to think about, what is open, what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.accounting import budget as budgets
from obverse.catalog.draft import questions
from obverse.catalog.load import FILE_NAME, problems
from obverse.catalog.model import Budget, Catalog, Table
from obverse.catalog.tables import unit_text
from obverse.core.bounds import Unbounded
from obverse.core.errors import ObverseError
from obverse.core.numbers import plain
from obverse.core.types import Type
from obverse.ledger.acts import still_open
from obverse.ledger.home import Home, default_home
from obverse.ledger.opened import Opened
from obverse.ledger.register import changed, open_dataset
from obverse.ledger.shared import known_there
from obverse.session.claims import belief_words, budget_words
from obverse.session.curator import ledger_known
from obverse.session.opening import claimed, is_fit, load_project, unfit
from obverse.session.views import table_views

ENOUGH = "it need only read the declared tables"
CHANGED = "changed since they were published; analysts are not told. `obverse data publish` makes them a new version"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the check; `error` is set where something is wrong."""

    level: str  # "ok", "warn", "open", "error"
    about: str
    message: str
    error: ObverseError | None = None

    def as_json(self) -> dict[str, Any]:
        told = {"level": self.level, "about": self.about, "message": self.message}
        if self.error is None:
            return told
        return told | {"place": self.error.place, **self.error.as_json()["error"]}


def check(project: Path) -> tuple[Finding, ...]:
    """Everything that can be told of a project at once. Makes no ledger, spends nothing, reads no private value."""
    wrong = problems(project)
    if wrong:
        return (*(_error(error) for error in wrong), *_open(project))
    try:
        loaded = load_project(project)
    except ObverseError as error:
        return (_error(error), *_open(project))
    catalog = loaded.catalog
    found = [Finding("ok", FILE_NAME, "every key is known, and the sources have the declared columns")]
    found += [_error(unfit(table)) for table in catalog.tables.values() if not (table.public or is_fit(loaded, table))]
    found += [Finding("warn", "engine", f"its role {power}; {ENOUGH}") for power in loaded.engine.powers()]
    loaded.engine.close()
    found += [_table(table, limits.limits) for table, limits in zip(catalog.tables.values(), table_views(catalog))]
    found += [finding for table in catalog.tables.values() for finding in _free_text(table)]
    if catalog.unit is not None:
        found += _budget(catalog)
        found += _ledger(catalog)
    return (*found, *_open(project))


def _error(error: ObverseError) -> Finding:
    return Finding("error", error.place or FILE_NAME, error.message, error)


def _open(project: Path) -> Iterator[Finding]:
    """Questions that a draft left for the curator, and that still stand in the text as comments."""
    file = project / FILE_NAME if project.is_dir() else project
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return
    for question in questions(text):
        about, _, asked = question.partition(": ")
        yield Finding("open", about, asked)


def _table(table: Table, limits: str) -> Finding:
    if table.unit is None:
        return Finding("ok", table.name, "public: questions over it alone are exact and free")
    return Finding("ok", table.name, f"protects {unit_text(table.unit)}, {limits}")


def _free_text(table: Table) -> Iterator[Finding]:
    if table.public:
        return
    keys = set() if table.unit is None else {table.unit.column}
    for column in table.columns.values():
        visible = column.type is Type.TEXT and not column.hidden and column.name not in keys
        if visible and isinstance(column.bounds, Unbounded):
            message = "text without declared values, and analysts may filter by it; hidden = true, or values = [...]"
            yield Finding("warn", f"{table.name}.{column.name}", message)


def _budget(catalog: Catalog) -> Iterator[Finding]:
    yield Finding("ok", "budget", f"{budget_words(catalog.budget)} for everybody together, for ever")
    yield Finding("ok", "promise", belief_words(catalog.budget, catalog))


def _ledger(catalog: Catalog) -> Iterator[Finding]:
    """The ledger, if there is one already: looking must not make it, since making it fixes the terms."""
    try:
        home = Home(default_home())
    except ObverseError as error:
        yield _error(error)
        return
    try:
        claim = claimed(catalog)
        there = claim.path.exists() if claim.server is None else known_there(home, claim.server, claim.sources)
        if ledger_known(home, catalog) is None and not there:
            yield Finding("ok", "ledger", "none yet; the first question makes it, and fixes unit, neighbours and accounting")
            return
        opened = open_dataset(home, claim)
        try:
            yield from _opened(catalog, home, opened)
        finally:
            opened.ledger.close()
    except ObverseError as error:
        yield _error(error)
    finally:
        home.close()


def _opened(catalog: Catalog, home: Home, opened: Opened) -> Iterator[Finding]:
    head = opened.ledger.verify()
    still_open(opened.ledger.book())
    shared = ", shared with another project over the same data" if opened.shared else ""
    yield Finding("ok", "ledger", f"{head.count} records, chain whole, head {head.hash[:12]}{shared}")
    held = opened.ledger.budget()
    if held != catalog.budget:
        yield _differs(held, catalog.budget)
    cap = budgets.tighter(opened.ledger.cap(), budgets.cap_of(catalog.budget, catalog.accounting))
    left = budgets.remaining(cap, opened.ledger.spent())
    yield Finding("ok" if left.amount else "warn", "left", budgets.words_left(left))
    for name in changed(home, opened, claimed(catalog).sources):
        yield Finding("warn", name, f"the rows {CHANGED}")


def _differs(held: Budget, declared: Budget) -> Finding:
    higher = declared.epsilon > held.epsilon or declared.delta > held.delta
    fix = "`obverse budget grant` raises it" if higher else "the lower of the two binds"
    return Finding("warn", "budget", f"the ledger allows epsilon {plain(held.epsilon)} and delta {plain(held.delta)}; {fix}")
