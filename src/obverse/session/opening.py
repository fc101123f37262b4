"""From a project folder to its catalog, engine and ledger: everything that a session stands on."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.catalog.complete import complete, needed_values
from obverse.catalog.load import load, locator
from obverse.catalog.model import Catalog
from obverse.core.engine import Engine
from obverse.core.ledger import Terms
from obverse.core.types import Value
from obverse.engines import ENGINES
from obverse.ledger.home import Home, default_home
from obverse.ledger.register import Claimed, Opened, open_dataset
from obverse.ledger.sources import FileSource, ObjectSource, Source
from obverse.plan.dialects.duckdb import DIALECTS

VALUES_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Project:
    """A loaded project: its completed catalog and the engine that holds its tables."""

    catalog: Catalog
    engine: Engine


def load_project(path: Path, objects: Mapping[str, Any] | None = None) -> Project:
    """Load the catalog, open its sources, and complete it with schemas and public values. Reads no private row."""
    catalog = load(path)
    engine = engine_of(catalog, objects)
    try:
        schemas = {name: engine.schema(name) for name in catalog.tables}
        values = {place: public_values(engine, *place) for place in needed_values(catalog)}
        return Project(complete(catalog, schemas, values, locator(path)), engine)
    except BaseException:
        engine.close()
        raise


def engine_of(catalog: Catalog, objects: Mapping[str, Any] | None = None) -> Engine:
    module, name = ENGINES[catalog.engine.get("kind", "duckdb")].split(":")
    made: Engine = getattr(importlib.import_module(module), name)(catalog, objects)
    return made


def public_values(engine: Engine, table: str, column: str) -> tuple[Value, ...]:
    """The public list that a column takes its values from, in its natural order."""
    d = DIALECTS[engine.dialect]
    name = d.identifier(column)
    sql = f"SELECT DISTINCT {name} FROM {d.identifier(table)} WHERE {name} IS NOT NULL ORDER BY 1 LIMIT {VALUES_MAX + 1}"
    return tuple(row[0] for row in engine.run_public(sql, timeout_s=60).rows)


def claimed(catalog: Catalog) -> Claimed:
    """What the project says of its private data, for the registry of datasets."""
    assert catalog.unit is not None
    unit = catalog.unit.table if catalog.unit.key is None else f"{catalog.unit.table}.{catalog.unit.key}"
    terms = Terms(catalog.accounting, catalog.neighbours, unit)
    return Claimed(sources_of(catalog), catalog.ledger, terms, catalog.budget)


def sources_of(catalog: Catalog) -> tuple[Source, ...]:
    found: list[Source] = []
    for table in catalog.tables.values():
        if table.public:
            continue
        if table.source.path is not None:
            found.append(FileSource(table.name, table.source.path))
        else:
            found.append(ObjectSource(table.name, catalog.root))
    return tuple(found)


def open_ledger(catalog: Catalog) -> tuple[Home, Opened]:
    """The one ledger that serves this data, wherever else it is asked from."""
    home = Home(default_home())
    return home, open_dataset(home, claimed(catalog))
