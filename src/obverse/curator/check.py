"""What `obverse check` tells the curator: what holds, what to think about, what is open, what is wrong.

Advisories of SECURITY.md: which past charges and stored answers of a ledger each of them touches.

A charge is touched if a version before the fix wrote it, and its query or release names a table that the advisory is
about. The query's text is the curator's own note; a charge without one counts as touched.

Tables past their last day: what the curator has to delete, and what cannot be asked any more.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.accounting import budget as budgets
from obverse.catalog.assumptions import SourceAssumptions
from obverse.catalog.check import read_with
from obverse.catalog.draft import questions
from obverse.catalog.load import FILE_NAME, load, locator, problems
from obverse.catalog.locate import Place
from obverse.catalog.model import Catalog, Network, Survey, Table
from obverse.catalog.tables import unit_text
from obverse.catalog.upgrade import kept_defaults, summary
from obverse.core.bounds import Unbounded
from obverse.core.errors import ObverseError, Refused
from obverse.core.ledger import Budget, Entry
from obverse.core.numbers import plain
from obverse.core.types import Type
from obverse.core.units import PrivacyUnit
from obverse.curator.ledger import ledger_known
from obverse.curator.partitions import PublishedRows, published_rows
from obverse.curator.probes import contradicted
from obverse.engines.csv import WRITTEN, fault, oddly_written
from obverse.ledger.home import Home, default_home
from obverse.ledger.opened import Opened
from obverse.ledger.opening import changed, open_dataset
from obverse.ledger.postgres.opening import known_there
from obverse.ledger.transitions import still_open
from obverse.session.authorization import today
from obverse.session.claims import belief_words, budget_words
from obverse.session.project import Project, claimed, is_fit, leaking, load_project, public_private, unfit
from obverse.session.views import table_views

COLLATION = "OBV-2026-01"
GROWING = "OBV-2026-02"
VIEWS = "OBV-2026-03"
SHOWN_MAX = 12  # record numbers in one line


@dataclass(frozen=True, slots=True)
class Touched:
    """Past charges that one advisory touches, by the numbers of their records."""

    advisory: str
    tables: tuple[str, ...]
    charges: tuple[int, ...]
    answers: int  # of them, those whose answer is stored

    @property
    def words(self) -> str:
        shown = ", ".join(map(str, self.charges[:SHOWN_MAX]))
        more = f" and {len(self.charges) - SHOWN_MAX} more" if len(self.charges) > SHOWN_MAX else ""
        return (
            f"earlier versions charged {len(self.charges)} times over {', '.join(self.tables)} (records {shown}{more}) "
            f"and stored {self.answers} of the answers. Their claims may not hold. "
            "SECURITY.md says what could be learned, and what to do"
        )


def touched(opened: Opened, about: Mapping[str, Collection[str]]) -> Iterator[Touched]:
    """`about`: for each advisory, the tables of the project that it is about."""
    entries = [entry for entry in opened.ledger.entries() if entry.kind in ("charge", "settle")]
    earlier = [entry for entry in entries if entry.kind == "charge" and _before_the_fix(entry)]
    settled = {entry.fields["charge"] for entry in entries if entry.kind == "settle"}
    notes = {entry.number: opened.ledger.note(entry.number) for entry in earlier} if any(about.values()) else {}
    for advisory, tables in about.items():
        found = tuple(number for number, text in notes.items() if _names(text, tables))
        if found:
            yield Touched(advisory, tuple(sorted(tables)), found, len(settled & {*found}))


def reached(catalog: Catalog, sources: Collection[str]) -> frozenset[str]:
    """The tables whose queries read one of these sources: by name, on the path to the unit, or as a list of values."""
    found = {*sources}
    for table in catalog.tables.values():
        lists = {column.values_from[0] for column in table.columns.values() if column.values_from is not None}
        if not lists.union(read_with(catalog, table.name)).isdisjoint(sources):
            found.add(table.name)
    return frozenset(found)


def _before_the_fix(entry: Entry) -> bool:
    """Whether a version up to 0.1 wrote the charge: later ones name a plan by two hashes."""
    return "identity" not in entry.fields and "." not in entry.fields["plan"]


def _names(text: str, tables: Collection[str]) -> bool:
    patterns = (rf"(?<!\w){re.escape(name)}(?!\w)" for name in tables)
    return bool(tables) and (not text or any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns))


def overdue(catalog: Catalog, table: Table, today: dt.date) -> str | None:
    """What `check` says of a table that is past its last day, or whose rows are found through one; None of others."""
    if _past(table, today):
        others = [one for one in catalog.tables.values() if one is not table]
        return _to_delete(table, [one for one in others if table.name in read_with(catalog, one.name)])
    for name in sorted(read_with(catalog, table.name)):
        if _past(catalog.tables[name], today):
            last = catalog.tables[name].retain_until
            return (
                f"every question of it is refused: its rows are found through {name}, whose last day, {last}, is over"
            )
    return None


def _to_delete(table: Table, reached: list[Table]) -> str:
    """Its rows, and those of tables that name people by way of it: without it nobody can tell whose they are."""
    rows = f"the rows of {table.name} ({_place(table)})"
    rows += "".join(f" and those of {one.name} ({_place(one)}) that are found through them" for one in reached)
    out = "the table" if not reached else "the tables " + ", ".join([table.name, *(one.name for one in reached)])
    return (
        f"its last day, {table.retain_until}, is over: every question of it is refused, and its rows are still held; "
        "delete"
        f" {rows} with their copies and backups, then take {out} out of {FILE_NAME}"
    )


def _past(table: Table, today: dt.date) -> bool:
    return table.retain_until is not None and today > table.retain_until


def _place(table: Table) -> str:
    return table.source.path.name if table.source.path is not None else table.source.table or table.name


NO_LEDGER = "none yet; the first question makes it, and fixes unit, neighbours and accounting"
UNREAD = "numbers and dates of CSV files were not looked at; --sniff tells which are written so that they count as NULL"
BY_BYTES = (
    "texts that the source takes for equal are different values here. Ask for LOWER({}), or store one spelling of each"
)
KEY_BY_BYTES = "two spellings of a key are two units, each protected by itself. Store one spelling of each key"
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


def check(project: Path, *, sniff: bool = False) -> tuple[Finding, ...]:
    """Everything that can be told of a project at once. Makes no ledger, spends nothing, reads no private value, except
    that on the curator's word (`sniff`) those of CSV files are held against their declared types."""
    wrong = problems(project)
    if wrong:
        return (*(_error(error) for error in wrong), *left_open(project))
    try:
        loaded = load_project(project)
    except ObverseError as error:
        return (_error(error), *_refused_view(project, error), *left_open(project))
    catalog = loaded.catalog
    found = [Finding("ok", FILE_NAME, "every key is known, and the sources have the declared columns")]
    found += _kept_defaults(project)
    unread_whole = [table for table in catalog.held if not (table.public or is_fit(loaded, table))]
    found += [_error(unfit(table, _fault(table) if sniff else "")) for table in unread_whole]
    found += [Finding("warn", "engine", f"its role {power}; {ENOUGH}") for power in loaded.engine.powers()]
    found += [finding for table in catalog.held for finding in collated(table, loaded)]
    about = advised(loaded)
    found += probed(loaded) if sniff and not unread_whole else []
    loaded.engine.close()
    found += _leaking(catalog)
    found += [
        _table(table, limits.limits, catalog) for table, limits in zip(catalog.tables.values(), table_views(catalog))
    ]
    found += [finding for source in loaded.sources.values() for finding in _source(source)]
    found += [finding for table in catalog.tables.values() for finding in free_text(table)]
    found += [finding for table in catalog.held for finding in (misread(table) if sniff else unread(table))]
    found += [_network(graph, catalog.unit) for graph in catalog.graphs.values()]
    found += [one for survey in catalog.surveys.values() for one in _survey(catalog, survey, locator(project))]
    if catalog.unit is not None:
        found += _budget(catalog)
        found += _ledger(catalog, about)
    # of which no bounds or values need be said
    public = {name for name, table in catalog.tables.items() if table.public}
    return (*found, *(one for one in left_open(project) if one.about.rpartition(".")[0] not in public))


def _kept_defaults(project: Path) -> Iterator[Finding]:
    """Defaults of an earlier version that the file relies on."""
    file = project / FILE_NAME if project.is_dir() else project
    for places, words in summary(kept_defaults(file.read_text(encoding="utf-8-sig"))):
        then = (
            "`obverse check --upgrade` goes over to it; stored answers mean the former, so questions are then "
            "charged anew"
        )
        yield Finding("warn", places, f"{words}. {then}")


def _leaking(catalog: Catalog) -> Iterator[Finding]:
    """Public tables whose rows are known as private; a home that cannot be looked into is told of with the ledger."""
    try:
        home = Home(default_home())
        try:
            yield from [_error(public_private(table)) for table in leaking(catalog, home)]
        finally:
            home.close()
    except ObverseError as error:
        if catalog.unit is None:
            yield _error(error)


def _fault(table: Table) -> str:
    return f"{fault(table.source)}." if table.source.kind == "csv" else ""


def _error(error: ObverseError) -> Finding:
    return Finding("error", error.place or FILE_NAME, error.message, error)


def left_open(project: Path) -> Iterator[Finding]:
    """Questions that a draft left for the curator, and that still stand in the text as comments."""
    file = project / FILE_NAME if project.is_dir() else project
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return
    for question in questions(text):
        about, _, asked = question.partition(": ")
        yield Finding("open", about, asked)


def _table(table: Table, limits: str, catalog: Catalog) -> Finding:
    over = overdue(catalog, table, today())
    if over is not None:
        return Finding("warn", table.name, over)
    if table.unit is None:
        return Finding("ok", table.name, "public: questions over it alone are exact and free")
    merged = "; several would count as one" if table.limits is None and table.unit.column is not None else ""
    return Finding("ok", table.name, f"protects {unit_text(table.unit)}, {limits}{merged}")


def _source(source: SourceAssumptions) -> Iterator[Finding]:
    """By what a private source that is no plain table is taken to have rows of their units alone."""
    if source.rows == "proved":
        yield Finding("ok", source.table.name, f"its source is {source.words}")
    elif source.table.rowwise:
        needless = "" if source.rows == "declared" else ", though its rows are stored: remove it"
        yield Finding("warn", source.table.name, f"rowwise = true is your word, and every claim names it{needless}")


def _network(graph: Network, unit: PrivacyUnit | None) -> Finding:
    protected = "" if unit is None else f"protects {unit.words}; "
    return Finding("ok", graph.name, f"{protected}everybody who may be in it is listed in {'.'.join(graph.nodes)}")


def _survey(catalog: Catalog, survey: Survey, place: Place) -> Iterator[Finding]:
    from obverse.collect.cautions import cautions
    from obverse.collect.project import declared_spec, ignored

    try:
        spec, _ = declared_spec(catalog, survey.name, place)
    except ObverseError as error:
        error.place = error.place or f"{FILE_NAME} surveys.{survey.name}"
        yield _error(error)
        return
    about = f"survey {survey.name}"
    said = (
        f"epsilon {plain(survey.epsilon)} a report, {plain(survey.lifetime)} in a lifetime, randomized by each person"
    )
    yield Finding("ok", about, said)
    old = ignored(spec)
    if old is not None:  # people were asked before this was refused
        yield Finding("warn", about, f"{old.message} {old.why}")
    yield from (Finding("warn", about, caution.words()) for caution in cautions(spec))


def probed(project: Project) -> list[Finding]:
    """What rows contradict of what plans believe of their sources. That it was looked at is on the record, where there
    is one;
    what was found is on the curator's terminal alone."""
    catalog = project.catalog
    if catalog.unit is None:
        return []
    found: list[Finding] = []
    try:
        with known_ledger(catalog) as known:
            if known is not None:
                for table in (one for one in catalog.tables.values() if not one.public):
                    known[1].ledger.record_custody(table.name, (), "probes of its source", "obverse check --sniff")
                found += _published(published_rows(project, *known))
    except ObverseError:
        return []  # what is wrong with the ledger is said with it
    return found + [Finding("warn", probe.about, probe.told) for probe in contradicted(catalog, project.engine)]


def _published(rows: PublishedRows | None) -> Iterator[Finding]:
    """Whether partitions that were published are as they were."""
    held, among = (None, None) if rows is None else (rows.held(), rows.published)
    if rows is None or held is None or among is None:
        return
    try:
        rows.compared(held, among, rows.left_out(lifted=True))
        yield Finding(
            "ok", rows.table.name, "its published partitions have the rows that they had when they were published"
        )
    except Refused as error:
        yield Finding("warn", rows.table.name, f"{error.message.removesuffix('; nothing was done.')}. {error.fix}")


def collated(table: Table, project: Project) -> Iterator[Finding]:
    """Columns whose source takes different texts for equal, which plans do not."""
    declared = {name.lower(): name for name in table.columns}
    paths = [other.unit for other in project.catalog.held if other.unit is not None]
    keys: set[str | None] = {key for path in paths for there, key in path.steps if there == table.name}
    keys |= {table.unit.column} if table.unit is not None else set()
    for stored, collation in project.engine.collations(table.name).items():
        if (name := declared.get(stored.lower())) is not None:
            means = KEY_BY_BYTES if name in keys else BY_BYTES.format(name)
            yield Finding(
                "warn", f"{table.name}.{name}", f"its source compares it by {collation}, Obverse by bytes: {means}"
            )


def free_text(table: Table) -> Iterator[Finding]:
    if table.public:
        return
    keys = set() if table.unit is None else {table.unit.column}
    for column in table.columns.values():
        visible = column.type is Type.TEXT and not column.hidden and column.name not in keys
        if visible and isinstance(column.bounds, Unbounded) and column.values_from is None:
            message = "text without declared values, and analysts may filter by it; hidden = true, or values = [...]"
            yield Finding("warn", f"{table.name}.{column.name}", message)


def unread(table: Table) -> Iterator[Finding]:
    """A private CSV file with numbers or dates, which are NULL where they are written in another way: nobody looked
    yet.
    """
    if table.source.kind == "csv" and not table.public and any(one.type in WRITTEN for one in table.columns.values()):
        yield Finding("ok", table.name, UNREAD)


def misread(table: Table) -> Iterator[Finding]:
    """Columns of a private CSV file in which a value is written otherwise than its declared type is read."""
    if table.public or table.source.kind != "csv":
        return
    for name in oddly_written(table.source, {column.name: column.type for column in table.columns.values()}):
        form = "2020-12-31" if table.columns[name].type.temporal else "a number such as -1.5"
        yield Finding(
            "warn", f"{table.name}.{name}", f"not every value is written as {form}; those that are not count as NULL"
        )


def _budget(catalog: Catalog) -> Iterator[Finding]:
    yield Finding("ok", "budget", f"{budget_words(catalog.budget)} for everybody together, for ever")
    yield Finding("ok", "promise", belief_words(catalog.budget, catalog))


def advised(project: Project) -> dict[str, frozenset[str]]:
    """For each advisory, the tables that it is about."""
    held = project.catalog.held
    growing = (table.name for table in held if table.partition is not None and table.partition.counts == "first")
    declared = {name for name, source in project.sources.items() if source.rows == "declared"}
    by_collation = {
        table.name for table in held if table.source.collated and any(True for _ in collated(table, project))
    }
    return {
        COLLATION: reached(project.catalog, by_collation),
        GROWING: frozenset(growing),
        VIEWS: reached(project.catalog, declared),
    }


def _refused_view(project: Path, error: ObverseError) -> Iterator[Finding]:
    """Past charges over the view that is refused now."""
    if error.code != "not_rowwise":
        return
    catalog = load(project)
    place = locator(project)
    tables = frozenset(name for name in catalog.tables if place(("tables", name, "source")) == error.place)
    with suppress(ObverseError), known_ledger(catalog) as known:
        if known is not None:
            found = touched(known[1], {VIEWS: reached(catalog, tables)})
            yield from (Finding("warn", one.advisory, one.words) for one in found)


def _ledger(catalog: Catalog, about: Mapping[str, frozenset[str]]) -> Iterator[Finding]:
    """The ledger, if there is one already."""
    try:
        with known_ledger(catalog) as known:
            if known is None:
                yield Finding("ok", "ledger", NO_LEDGER)
            else:
                yield from _opened(catalog, *known)
                yield from (Finding("warn", one.advisory, one.words) for one in touched(known[1], about))
    except ObverseError as error:
        yield _error(error)


@contextmanager
def known_ledger(catalog: Catalog) -> Iterator[tuple[Home, Opened] | None]:
    """The ledger of this data, or None before the first question: looking must not make it, since that fixes the
    terms.
    """
    home = Home(default_home())
    try:
        claim = claimed(catalog)
        there = claim.path.exists() if claim.server is None else known_there(home, claim.server, claim.sources)
        if ledger_known(home, catalog) is None and not there:
            yield None
            return
        opened = open_dataset(home, claim)
        try:
            yield home, opened
        finally:
            opened.ledger.close()
    finally:
        home.close()


def _opened(catalog: Catalog, home: Home, opened: Opened) -> Iterator[Finding]:
    head = opened.ledger.verify()
    still_open(opened.ledger.book())
    shared = ", shared with another project over the same data" if opened.shared else ""
    yield Finding("ok", "ledger", f"{head.count} records, chain whole, head {head.hash[:12]}{shared}")
    cap = budgets.tighter(opened.ledger.cap(), budgets.cap_of(catalog.budget, catalog.accounting))
    left = budgets.remaining(cap, opened.ledger.spent())
    yield Finding("ok" if left.amount else "warn", "left", budgets.words_left(left))
    yield from unsettled(catalog, home, opened)


def unsettled(catalog: Catalog, home: Home, opened: Opened) -> Iterator[Finding]:
    """Where obverse.toml, the ledger and the rows do not say the same."""
    held = opened.ledger.budget()
    if held != catalog.budget:
        yield _differs(held, catalog.budget)
    for name in changed(home, opened, claimed(catalog).sources):
        yield Finding("warn", name, f"the rows {CHANGED}")


def _differs(held: Budget, declared: Budget) -> Finding:
    higher = declared.epsilon > held.epsilon or declared.delta > held.delta
    fix = "`obverse budget grant` raises it" if higher else "the lower of the two binds"
    return Finding(
        "warn", "budget", f"the ledger allows epsilon {plain(held.epsilon)} and delta {plain(held.delta)}; {fix}"
    )
