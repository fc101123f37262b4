"""Rehearsal: the very same pipeline on rows made up from obverse.toml; free, and no private file is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from obverse.answers.answer import Answer, Price, Remaining
from obverse.catalog.complete import complete, needed_values
from obverse.catalog.load import load, locator
from obverse.catalog.model import Catalog, Source, Table
from obverse.core.claim import DECLARED, PUBLIC
from obverse.core.errors import Failed, Refused
from obverse.core.types import Type
from obverse.ledger.home import default_home
from obverse.ledger.memory import MemoryLedger
from obverse.plan.dialects import DIALECTS
from obverse.session.dummies import Repeatable, copied, made_up
from obverse.session.opening import Project, check_public, claimed, engine_of, grown, public_private, public_values
from obverse.session.planning import Number
from obverse.session.public_facts import with_public_facts
from obverse.session.session import Session

UNITS, UNITS_MAX, SEED = 1_000, 100_000, 0
NAME = "rehearsal"


def rehearse(
    project: str | Path,
    sql: str,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    within: Number | None = None,
    confidence: float = 0.95,
    analyst: str = "",
    purpose: str = "",
    rows: int = UNITS,
    seed: int = SEED,
    tables: Mapping[str, Any] | None = None,
    bounds: Mapping[str, str] | None = None,
) -> Answer:
    """Ask of made-up rows: what is refused, how the answer looks and how much noise it carries are as they would be.

    Nothing is spent and no private file is opened, so it may be missing. `rows` is how many protected units are made up,
    unless the project declares their public number; the same seed gives the same rows and the same noise. Public tables
    are read as they are; `tables` hands over those that are data frames. `bounds` keep the engine small where the process is
    not the asker's own: its memory_limit, its threads, and the limit_s of each run.
    """
    wanted = {"analyst": analyst, "purpose": purpose, "rows": rows, "seed": seed, "tables": tables, "bounds": bounds}
    with rehearsal(project, **wanted) as session:  # type: ignore[arg-type]
        try:
            answer = session.ask(sql, epsilon=epsilon, delta=delta, within=within, confidence=confidence)
        except Failed as failed:
            raise _uncharged(failed) from None
    if answer.claim in (PUBLIC, DECLARED):
        return replace(answer, remaining=Remaining(1.0, None, None))
    return _marked(answer, session.catalog, _units(session.catalog, rows))


def rehearsal(
    project: str | Path = ".",
    *,
    analyst: str = "",
    purpose: str = "",
    rows: int = UNITS,
    seed: int = SEED,
    tables: Mapping[str, Any] | None = None,
    bounds: Mapping[str, str] | None = None,
) -> Session:
    """A session over made-up rows, whose ledger is in memory and forgotten. Its answers are not yet marked as such."""
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= UNITS_MAX:
        raise Refused("bad_parameter", f"a rehearsal makes up 1 to {UNITS_MAX:,} units.", fix=f"Write {UNITS}.")
    catalog, public = declared(Path(project), tables or {})
    made = made_up(catalog, _units(catalog, rows), seed)
    bounded = replace(catalog, engine={**catalog.engine, **(bounds or {})})
    loaded = Project(catalog, engine_of(bounded, {**public, **made}))
    try:
        ledger = None if catalog.unit is None else MemoryLedger(NAME, claimed(catalog).terms, catalog.budget)
        rng = Repeatable(seed, "noise")
        return Session(loaded, ledger, analyst=analyst, purpose=purpose, dataset=NAME, rng=rng)
    except BaseException:
        loaded.engine.close()
        raise


def declared(path: Path, tables: Mapping[str, Any]) -> tuple[Catalog, dict[str, Any]]:
    """The catalog, completed from itself and the public tables alone, its private tables cut off from their files.

    Made-up rows lie in DuckDB, whatever engine the project has; public tables of a server are copied there.
    """
    catalog = load(path)
    _check_apart(catalog)
    public = {name: table for name, table in catalog.tables.items() if table.public}
    objects = {name: tables[name] for name in public if name in tables}
    catalog = replace(catalog, graphs={}, unit=None if catalog.graphs else catalog.unit)  # edges are not made up
    open_ = replace(catalog, tables=public, unit=None)
    engine = engine_of(open_, objects)
    try:
        if default_home().exists():  # else nothing is known here as private
            check_public(Project(open_, engine))
        schemas = {n: engine.schema(n) if t.public else _schema(t, catalog) for n, t in catalog.tables.items()}
        values = {place: public_values(engine, catalog, *place) for place in needed_values(catalog)}
        whole = with_public_facts(complete(catalog, schemas, values, locator(path)), engine)
        if catalog.engine["kind"] != "duckdb":
            objects = {name: copied(whole.tables[name], engine) for name in public}
    finally:
        engine.close()
    cut = {n: replace(t, source=Source("object")) if n in objects or not t.public else t for n, t in whole.tables.items()}
    return grown(replace(whole, tables=cut, engine={"kind": "duckdb"}), whole.last_partition()), objects


def _check_apart(catalog: Catalog) -> None:
    """No file is declared public and private at once: what is read here as public must be so."""
    private = {t.source.path.resolve() for t in catalog.held if not t.public and t.source.path is not None}
    for table in catalog.tables.values():
        if table.public and table.source.path is not None and table.source.path.resolve() in private:
            raise public_private(table)


def _schema(table: Table, catalog: Catalog) -> dict[str, str]:
    """What a private source is taken to hold: the declared columns, and the keys that lead to the unit."""
    found = {name: DIALECTS["duckdb"].type_name(column.type) for name, column in table.columns.items()}
    for (there, key), kind in _key_types(catalog).items():
        if there == table.name:
            found.setdefault(key, DIALECTS["duckdb"].type_name(kind))
    return found


def _key_types(catalog: Catalog) -> dict[tuple[str, str], Type]:
    """The type of every key that leads to the unit: declared, or that of the key it meets, or integer."""
    pairs: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for table in catalog.tables.values():
        if table.unit is not None and table.unit.column is not None:
            own = (table.name, table.unit.column)
            pairs += [(own, other) for other in (table.unit.steps[:1] or (own,))]
    keys = [key for pair in pairs for key in pair]
    known = {(t, k): catalog.tables[t].columns[k].type for t, k in keys if k in catalog.tables[t].columns}
    for _ in pairs:  # a type travels at least one step each time
        for one, other in pairs:
            if one in known:
                known.setdefault(other, known[one])
            elif other in known:
                known[one] = known[other]
    return {key: known.get(key, Type.INTEGER) for key in keys}


def _units(catalog: Catalog, rows: int) -> int:
    """How many units are made up: the declared public number of them, where there is one."""
    sizes = [table.size for table in catalog.tables.values() if table.size is not None]
    return min(sizes[0], UNITS_MAX) if sizes else rows


def _marked(answer: Answer, catalog: Catalog, units: int) -> Answer:
    """The answer with a claim that says what it is, and without a price."""
    real = answer.price
    delta = f", delta {real.delta}" if real.delta != "0" else ""
    sentence = (
        f"A rehearsal on made-up rows of {units:,} units: no private row was read, nothing was spent, and no privacy is "
        "claimed or needed. The numbers mean nothing; the columns, the noise and the refusals are those of the real "
        f"question, which would cost epsilon {real.epsilon}{delta}, {100 * real.share:.3g} % of the budget."
    )
    claim = replace(answer.claim, epsilon="0", delta="0", belief="", receipt="", sentence=sentence)
    return replace(answer, claim=claim, price=Price("0", "0", 0.0, False), remaining=Remaining(1.0, None, None))


def _uncharged(failed: Failed) -> Refused:
    """What went wrong after the debit of a ledger that is forgotten: nothing was spent."""
    message = "the rehearsal was interrupted." if failed.code == "interrupted" else "the rehearsal could not be finished."
    return Refused(failed.code, message, why="its rows are made up, so nothing was spent.")
