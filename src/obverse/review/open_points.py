"""Open points of a project: what nobody promises, and what its declarations leave open. Read from obverse.toml alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from obverse.catalog.model import AUTO, Catalog, Table
from obverse.core.bounds import Unbounded
from obverse.core.types import Type
from obverse.curator.checking import free_text, left_open
from obverse.review.assessed import Point
from obverse.session.authorization import today

NOT_PROMISED = (
    "In process, the analyst's name is bookkeeping.",
    "Time, in process.",
    "Time, of a service, beyond the tick.",
    "Answers while their tick is waited for.",
    "That a question was killed",
    "What was asked, from those who have the chain.",
    "That a project cannot be opened at the moment",
    "A malicious curator",
    "The registry and the ledger deleted together",
    "Whoever reads Obverse's folder whole",
    "Clipping.",
    "Shared keys on longer unit paths.",
    "Two spellings of one key.",
    "A file that is exchanged or written while a question runs",
    "Missing and undeclared values",
    "A crash of the engine",
    "Learned limits",
    "Averages of few rows",
    "Order statistics",
    "Hardware side channels",
    "Sources that are not well formed",
    "Rows that a table was given.",
    "A row that a view cannot compute.",
    "Copies that were changed.",
    "Rows that go or come late.",
    "Unannounced changes",
    "PostgreSQL's and Spark's own logs",
    "A question that is stopped over Spark Connect",
    "A restored PostgreSQL server",
    "The owner of the ledger's database",
    "Two tabs of a browser that has no `navigator.locks`",
    "A shuffler that works together with the collector",
    "Deleted reports",
    "Crafted reports",
    "The curator's own reading of rows",
)  # the headings of docs/not-promised.md


def not_promised() -> Point:
    told = "; ".join(one.rstrip(".") for one in NOT_PROMISED)
    return Point("not promised", "open", f"by any project: {told}. Each is explained in docs/not-promised.md.")


def left_by(project: Path, catalog: Catalog) -> Iterator[Point]:
    """What the curator could still decide."""
    for table in catalog.tables.values():
        if not table.public:
            yield from _of(table)
    if catalog.unit is not None:
        yield from _of_askers(catalog)
    for finding in left_open(project):
        yield Point(finding.about, "open", f"a question of the draft still stands in obverse.toml: {finding.message}")


def _of(table: Table) -> Iterator[Point]:
    for finding in free_text(table):
        yield Point(finding.about, "open", finding.message)
    shown = (column for column in table.columns.values() if not column.hidden and column.name != _key(table))
    numbers = (one for one in shown if one.type in (Type.INTEGER, Type.DOUBLE) and one.values_from is None)
    unbounded = [one.name for one in numbers if isinstance(one.bounds, Unbounded)]
    if unbounded:
        said = f"no bounds are declared of {', '.join(unbounded)}: each question has to bring its own, by CLAMP"
        yield Point(table.name, "open", said)
    if table.limits == AUTO:
        yield Point(table.name, "open", "limits are auto: they are learned with noise, of the whole table as it then was")
    if not table.basis:
        yield Point(table.name, "open", "no legal basis is declared")
    if table.retain_until is None:
        yield Point(table.name, "open", "no last day is declared on which it may be asked")
    elif today() > table.retain_until:
        yield Point(table.name, "open", f"its last day, {table.retain_until}, is over; it is refused, and still held")
    if table.rows_about is None:
        yield Point(table.name, "open", "no rows_about is declared, so a service cannot choose its ticks generously")


def _key(table: Table) -> str | None:
    return None if table.unit is None else table.unit.column


def _of_askers(catalog: Catalog) -> Iterator[Point]:
    if not catalog.purposes:
        yield Point("purposes", "open", "none are declared: any purpose is answered, out of the budget of all")
    if not catalog.analysts:
        yield Point("analysts", "open", "none are declared: whoever asks first may spend everybody's budget")
    without = [one.name for one in catalog.analysts.values() if one.budget is None]
    if without:
        yield Point("analysts", "open", f"without a cap of their own, free to spend everybody's budget: {', '.join(without)}")
    if not catalog.serve.transparency:
        yield Point("transparency", "open", "the card for everybody is turned off: people cannot see how they are protected")
