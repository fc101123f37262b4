"""From a project folder to its catalog, engine and ledger: everything that a session stands on.

What public tables tell of themselves: their columns' values, bounds, NULLs, and how often a value stands.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from obverse.accounting import budget as budgets
from obverse.catalog.assumptions import SourceAssumptions
from obverse.catalog.columns import categories
from obverse.catalog.complete import complete, needed_values, type_of
from obverse.catalog.identity import column_json
from obverse.catalog.load import load, locator
from obverse.catalog.model import Catalog, Column, Table
from obverse.catalog.tables import unit_text
from obverse.core.bounds import Bounds, Categories, Interval, Unbounded
from obverse.core.canonical import digest
from obverse.core.engine import Engine
from obverse.core.errors import CatalogError, invariant
from obverse.core.ledger import Ledger, Partitions, Spent, Terms
from obverse.core.types import Type, Value
from obverse.core.units import KeyPath
from obverse.engines import ENGINES
from obverse.ledger.home import Home, default_home
from obverse.ledger.ledger import ChainLedger
from obverse.ledger.opened import Claimed, Opened
from obverse.ledger.opening import open_dataset, private_here
from obverse.ledger.sources import FileSource, NamedSource, ObjectSource, ServerSource, Source, around
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit.expressions import enforced
from obverse.plan.expressions import as_number
from obverse.plan.partitions import partitioned, value_of
from obverse.session.assumptions import check_whole, established, with_facts
from obverse.session.networks import handed_over, with_networks

LISTED_MAX = 10_000  # different values of a public column that may become keys
TIMEOUT_S = 60.0


def with_public_facts(catalog: Catalog, engine: Engine) -> Catalog:
    """The catalog with the facts of its public tables, read from them: what is public needs no declaration."""
    tables = {name: _table(table, engine) if table.public else table for name, table in catalog.tables.items()}
    return replace(catalog, tables=tables)


def _table(table: Table, engine: Engine) -> Table:
    columns = {
        name: column if column.hidden else _column(table, column, engine) for name, column in table.columns.items()
    }
    return replace(table, columns=columns)


def _column(table: Table, column: Column, engine: Engine) -> Column:
    d = DIALECTS[engine.dialect]
    value = enforced(column, d)
    grouped = f"SELECT {value} AS v, COUNT(*) AS n FROM {d.relation(table)} AS t GROUP BY 1"
    figures = (
        "COUNT(v), COALESCE(MAX(n) FILTER (WHERE v IS NOT NULL), 0), COUNT(*) FILTER (WHERE v IS NULL), MIN(v), MAX(v)"
    )
    found = engine.run_public(f"SELECT {figures} FROM ({grouped}) AS g", timeout_s=TIMEOUT_S).rows[0]
    different, copies, nulls, low, high = found
    assert isinstance(different, int)
    assert isinstance(copies, int)
    bounds = column.bounds
    if isinstance(bounds, Unbounded):
        bounds = _bounds(
            column, different, low, high, f"SELECT v FROM ({grouped}) AS g WHERE v IS NOT NULL ORDER BY v", engine
        )
    return replace(column, bounds=bounds, nullable=bool(nulls) and column.nullable, copies=copies)


def _bounds(column: Column, different: int, low: Value, high: Value, listing: str, engine: Engine) -> Bounds:
    """Few texts, numbers or truths are listed; of many numbers or dates the ends are known."""
    ordered = column.type in (Type.INTEGER, Type.DATE, Type.TIMESTAMP, Type.DOUBLE)
    if different == 0:
        return Categories(())
    if different <= LISTED_MAX and column.type is not Type.TIMESTAMP and column.type is not Type.DOUBLE:
        listed = categories(column.type, (row[0] for row in engine.run_public(listing, timeout_s=TIMEOUT_S).rows))
        return listed or column.bounds  # a text with a zero byte cannot be named in SQL
    first = as_number(low)
    last = as_number(high)
    if ordered and first is not None and last is not None:
        return Interval(Fraction(first), Fraction(last))
    return column.bounds


VALUES_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Project:
    """A loaded project: its completed catalog and the engine that holds its tables."""

    catalog: Catalog
    engine: Engine
    sources: Mapping[str, SourceAssumptions] = field(default_factory=dict)  # none: rows that were made up


def load_project(
    path: Path, objects: Mapping[str, Any] | None = None, open_engine: Callable[[Catalog], Engine] | None = None
) -> Project:
    """Load the catalog, open its sources, and complete it with schemas and public values. Reads no private row."""
    catalog = load(path)
    engine = engine_of(catalog, handed_over(catalog, objects)) if open_engine is None else open_engine(catalog)
    try:
        schemas = {name: engine.schema(name) for name in catalog.tables}
        sources = established(catalog, engine, schemas, locator(path))
        values = {place: public_values(engine, catalog, *place) for place in needed_values(catalog)}
        placed = with_places(with_facts_of(catalog, sources, engine.dialect), engine)
        check_whole(placed, sources, locator(path))
        whole = complete(placed, schemas, values, locator(path))
        return Project(with_networks(with_public_facts(whole, engine), engine, locator(path)), engine, sources)
    except BaseException:
        engine.close()
        raise


def with_facts_of(catalog: Catalog, sources: Mapping[str, SourceAssumptions], dialect: str) -> Catalog:
    """The catalog with what was found of its sources."""
    return replace(
        catalog, tables={name: with_facts(table, sources[name], dialect) for name, table in catalog.tables.items()}
    )


def with_places(catalog: Catalog, engine: Engine) -> Catalog:
    """The catalog with what tells tables on a server apart, whatever name the server is reached by."""
    tables = dict(catalog.tables)
    for name, table in tables.items():
        if on_server(table, catalog):
            place, mark, *among = engine.known_by(name)
            if table.source.base:  # a proved view: its rows are those of the table below it, and so is their budget
                mine = f"{place.rpartition('/')[0]}/{table.source.base}"
                place, among = mine, [place, *(other for other in among if other != mine)]
            tables[name] = replace(table, source=replace(table.source, place=place, mark=mark, among=tuple(among)))
    return replace(catalog, tables=tables)


def on_server(table: Table, catalog: Catalog) -> bool:
    """Whether a table's rows lie where the engine runs, not here: a table of its catalog, or files of a cluster."""
    return table.source.kind == "table" or (table.source.kind != "object" and "url" in catalog.engine)


def located(catalog: Catalog) -> Catalog:
    """A catalog that was loaded without its engine, with the places of its tables on a server."""
    if not any(on_server(table, catalog) for table in catalog.tables.values()):
        return catalog
    engine = engine_of(catalog)
    try:
        return with_places(catalog, engine)
    finally:
        engine.close()


def engine_of(catalog: Catalog, objects: Mapping[str, Any] | None = None) -> Engine:
    module, name = ENGINES[catalog.engine.get("kind", "duckdb")].split(":")
    made: Engine = getattr(importlib.import_module(module), name)(catalog, objects)
    return made


def public_values(engine: Engine, catalog: Catalog, table: str, column: str) -> tuple[Value, ...]:
    """The public list that a column takes its values from, in its natural order."""
    d = DIALECTS[engine.dialect]
    listing = catalog.tables[table]
    stored = {name.lower(): kind for name, kind in engine.schema(table).items()}.get(column.lower(), "")
    declared = listing.columns.get(column)
    kind = declared.type if declared is not None else type_of(stored)
    value = f"t.{d.identifier(column)}"
    value = value if kind is None else d.stored(value, Column(column, kind, stored=stored))
    rows = f"SELECT {value} AS v FROM {d.relation(listing)} AS t"
    sql = f"SELECT DISTINCT v FROM ({rows}) AS r WHERE v IS NOT NULL ORDER BY v LIMIT {VALUES_MAX + 1}"
    return tuple(row[0] for row in engine.run_public(sql, timeout_s=60).rows)


def claimed(catalog: Catalog) -> Claimed:
    """What the project says of its private data, for the registry of datasets."""
    assert catalog.unit is not None
    unit = catalog.unit.table if catalog.unit.key is None else f"{catalog.unit.table}.{catalog.unit.key}"
    unit += grown_words(catalog) + (f" ({catalog.unit.graph} of a network)" if catalog.unit.graph else "")
    terms = Terms(catalog.accounting, catalog.neighbours, unit)
    by_partitions = partitioned(catalog) is not None
    return Claimed(sources_of(catalog), catalog.ledger, terms, catalog.budget, catalog.ledger_server, by_partitions)


def grown_words(catalog: Catalog) -> str:
    """How units count in growing data, and from which partition on: what would move them to others changes the
    terms.
    """
    table = partitioned(catalog)
    if table is None or table.partition is None or catalog.unit is None:
        return ""
    column = table.columns[table.partition.column]
    assert isinstance(column.bounds, Interval)
    counted = "in its first" if catalog.unit.first else "in each"
    return f" {counted} {column.name} ({column.type.value}) from {column.bounds.lo}"


def sources_of(catalog: Catalog) -> tuple[Source, ...]:
    """The private sources, and the name of the dataset where one is declared."""
    found: list[Source] = []
    for table in catalog.held:
        if table.unit is None:
            continue
        if on_server(table, catalog):
            invariant(table.source.place != "", "a table on a server has a place")
            there = table.source
            unit = _declared_unit(table, table.unit)
            found.append(
                ServerSource(name=table.name, place=there.place, mark=there.mark, unit=unit, among=there.among)
            )
        elif table.source.path is not None:
            graph = catalog.graphs.get(table.name)
            way = _declared_unit(table, table.unit) if graph is None else f"{graph.unit} of a network"
            found.append(file_source(table, catalog, way))
        else:
            found.append(ObjectSource(table.name, catalog.root))
    if catalog.dataset is not None:
        found.append(NamedSource(catalog.dataset))
    return tuple(found)


def file_source(table: Table, catalog: Catalog, unit: str = "") -> FileSource:
    assert table.source.path is not None
    inside = table.source.base.rpartition(".")[2] or table.source.table or ""
    return FileSource(table.name, table.source.path, unit, folder=catalog.engine["kind"] == "spark", table=inside)


def _declared_unit(table: Table, unit: KeyPath) -> str:
    """The way to the unit and its key's type ("1" and "01" are one integer and two texts); nothing where it is not
    known.
    """
    if unit.column is None:
        return unit_text(unit)
    if unit.column not in table.columns:
        return ""
    own = replace(unit, column=table.source.key or unit.column)  # a view may have another name for it
    return f"{unit_text(own)} ({table.columns[unit.column].type.value})"


def grown(catalog: Catalog, through: int | None, retired: int | None = None, base: str = "") -> Catalog:
    """The catalog with the last partitions that were published and retired, as the ledger remembers them."""
    tables = dict(catalog.tables)
    for name, table in tables.items():
        if table.partition is not None:
            partition = replace(table.partition, through=through, retired=retired, base=base)
            tables[name] = replace(table, partition=partition)
    return replace(catalog, tables=tables)


def grown_by(catalog: Catalog, ledger: ChainLedger) -> Catalog:
    """The same, of a ledger."""
    with ledger.at_once():
        through = ledger.through()
        retired = ledger.retired()
        base = "" if retired is None or through is None else base_words(catalog, retired, base_of(ledger, through))
    return grown(catalog, through, retired, base)


def base_of(ledger: Ledger, through: int) -> Spent:
    """What counts as spent on a partition that was never asked of, since nothing past the last published one is."""
    return ledger.spent(partitions=Partitions(through + 1, through + 1))


def base_words(catalog: Catalog, retired: int, base: Spent) -> str:
    table = partitioned(catalog)
    if table is None or table.partition is None:
        return ""
    column = table.columns[table.partition.column]
    last = value_of(retired, column.type)
    return f"{budgets.words(base)} counts as spent on each {column.name}, since those up to {last} are retired"


def open_ledger(project: Project, at: Path | None = None) -> tuple[Home, Opened]:
    """The one ledger that serves this data, wherever else it is asked from; its sources found fit to be asked."""
    home = Home(default_home() if at is None else at)
    try:
        check_sources(project, home)
        return home, open_dataset(home, claimed(project.catalog))
    except BaseException:
        home.close()
        raise


def check_public(project: Project) -> None:
    """A project of public tables alone: none of their sources is known here as private."""
    home = Home(default_home())
    try:
        check_sources(project, home)
    finally:
        home.close()


def check_sources(project: Project, home: Home) -> None:
    """Every private source can be read whole, so that no row can make a question fail; no public one is known as
    private.

    What is read here is not released: a source either passes or is refused until the curator mends it. What has passed
    is remembered by its content, so a file is read for this once.
    """
    catalog = project.catalog
    for table in leaking(catalog, home):
        raise public_private(table)
    for table in catalog.held:
        if table.public:
            continue
        path = None if on_server(table, catalog) else table.source.path
        probe = functools.partial(is_fit, project, table)
        if path is None:
            fit = probe()
        else:
            (known,) = home.identified((file_source(table, catalog),))
            source = [table.source.kind, table.source.table, table.source.delimiter, table.source.header]
            declared = [column_json(table.columns[name]) for name in sorted(table.columns)]
            fit = home.once_checked(digest(["readable", known.digest, source, declared]), probe)
        if not fit:
            raise unfit(table)


def leaking(catalog: Catalog, home: Home) -> Iterator[Table]:
    """Public tables whose source is known here as private, or is one of the private sources of this very project."""
    own = {(known.kind, known.value) for one in home.identified(sources_of(catalog)) for known in one.identities}
    for table in catalog.tables.values():
        if not table.public or table.source.kind == "object":
            continue
        source: Source = ServerSource(table.name, table.source.place, "", among=table.source.among)
        source = source if on_server(table, catalog) else file_source(table, catalog)
        known_by = (*home.identified((source,)), *around((source,)))
        ours = any((known.kind, known.value) in own for one in known_by for known in one.identities)
        if ours or private_here(home, (source,), catalog.ledger_server):
            yield table


def is_fit(project: Project, table: Table) -> bool:
    """Whether a private source is well formed and can be read whole."""
    return project.engine.readable(table.name, probe_sql(table, project.engine))


def probe_sql(table: Table, engine: Engine) -> str:
    """Reads every column as a question would, and gives counts that nobody sees."""
    d = DIALECTS[engine.dialect]
    counts = ["COUNT(*)", *(f"COUNT({enforced(column, d)})" for column in table.columns.values())]
    return f"SELECT {', '.join(counts)} FROM {d.relation(table)} AS t"


def unfit(table: Table, seen: str = "") -> CatalogError:
    """`seen`: what the curator, who asked for it, may know of the place."""
    form = (
        "CSV by the standard (UTF-8, quotes closed, one length, lines that end alike), Parquet with valid text and "
        "times"
    )
    return CatalogError(
        "source_unreadable",
        f"the source of table {table.name} is not well formed, so nothing is asked of it.",
        why=seen or "one row that the engine cannot read would make every question fail, and so tell of itself.",
        fix=f"Write the file anew: {form}. Of a CSV file `obverse check --sniff` tells the line.",
    )


def public_private(table: Table) -> CatalogError:
    return CatalogError(
        "public_is_private",
        f"table {table.name} is declared public, and its source is known here as private data.",
        why="it would be answered exactly, beside a budget that was to protect it.",
        fix="Declare its unit again, or write what may be public to another file.",
    )
