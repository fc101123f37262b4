"""A release beside the truth: for its curator alone, through their own door, and never in the folder of the release.

Coverage of a release: how many rows of the raw source it counts, and how columns read missing and undeclared values.

For the curator alone: exact counts, read through the curator's gateway and recorded in the ledger.

A released network beside the exact one: read through the curator's own door, and never in the folder of the
release.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.catalog.model import OTHER, Catalog, Column, Table
from obverse.core.bounds import Categories, Interval
from obverse.core.errors import Refused
from obverse.engines.files import columns
from obverse.plan.aggregates import BY_NAME
from obverse.plan.dialects import DIALECTS
from obverse.plan.dialects.base import Dialect
from obverse.plan.emit.expressions import enforced, raw_column
from obverse.plan.query import Question
from obverse.plan.relation import Aggregate, Limit, Shape
from obverse.plan.relation import Project as Projected
from obverse.plan.sensitivity import limit
from obverse.plan.strategy.graph.network import Graph, GraphFacts, graph_of
from obverse.plan.strategy.graph.pricing import Part
from obverse.publish.comparison import Beside, Compared, Coverage, Residue, card, compared
from obverse.publish.families.linking import Family
from obverse.publish.folder.check import Opened, opened
from obverse.publish.folder.files import METADATA
from obverse.publish.folder.metadata import draft_of, figures_of
from obverse.publish.folder.statement import Card, markdown, page
from obverse.publish.graph.folder import facts_json, opened_graph
from obverse.publish.graph.method import GraphMethod, summary
from obverse.publish.graph.request import facts_of
from obverse.publish.graph.tables import Measured
from obverse.publish.hierarchy.request import Along
from obverse.publish.method import Expected
from obverse.publish.quantiles.method import Quantiles
from obverse.publish.quantiles.request import Distribution, laid_out
from obverse.publish.synthetic.request import Rows
from obverse.publish.tables.request import Cut, Wanted, asked, with_values
from obverse.publish.workload import Workload
from obverse.session.custody import counted, given
from obverse.session.networks import edges_sql
from obverse.session.planning import printed
from obverse.session.session import Session
from obverse.session.session import open as open_project

Integers = NDArray[np.int64]


def network_in(folder: Path) -> dict[str, Any] | None:
    """The metadata of a network's release; None of any other folder, and of one that cannot be read."""
    fields = metadata_in(folder)
    return fields if fields.get("kind") == GraphMethod.name else None


def metadata_in(folder: Path) -> dict[str, Any]:
    """The metadata of a release; nothing where it cannot be read, which is an error where the folder is opened."""
    try:
        fields = json.loads((folder / METADATA).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return fields if isinstance(fields, dict) else {}


def network_truth(
    session: Session, fields: dict[str, Any], method: GraphMethod, measured: Measured, what: str, reason: str
) -> tuple[Integers, ...]:
    """Every measured part without noise. Edges are read once; the ledger records it, and why."""
    recipe = fields.get("recipe") or {}
    graph = session.catalog.graphs.get(str(recipe.get("graph", "")))
    if graph is None:
        message = "the release does not tell what was asked for, so it cannot be compared with the truth."
        raise Refused("no_recipe" if not recipe else "project_changed", message)
    cap = measured.facts.cap if graph.unit == "node" else None
    facts = facts_of(session, graph, method, cap)
    if facts_json(facts) != fields["network"]:
        raise Refused("project_changed", "what is public of the network is not what it was when it was released.")
    sql = edges_sql(session.catalog, graph, session.engine)
    found = counted(session, graph.name, graph.ends, sql, what=what, reason=reason)
    exact = graph_of(found, facts)
    return tuple(_exact(part, exact, facts) for part in measured.parts)


def _exact(part: Part, graph: Graph, facts: GraphFacts) -> Integers:
    """A part with no connection cut away, where it has as many entries then; else as it was measured."""
    whole = replace(facts, cap=facts.people - 1) if facts.cap is not None else facts
    same = part.kernel.entries(whole) == part.kernel.entries(facts)
    return part.kernel.exact(graph, whole if same else facts)


def against(measured: Measured, exact: tuple[Integers, ...]) -> tuple[tuple[Compared, ...], tuple[Beside, ...]]:
    """Each measured part beside its exact entries, and each number of the summary beside what exact ones give."""
    assert measured.values is not None
    tables = []
    for part, values, truth in zip(measured.parts, measured.values, exact, strict=True):
        text = part.kernel.text
        half = measured.half_width(part.kernel.text)
        told = Expected(text, text, len(values), measured.stddev(text), half)
        table = {"estimate": values, "low": values - half, "high": values + half, "count": np.maximum(values, 0)}
        tables.append(compared(told, table, truth.astype(np.float64)))
    there = {name: value for name, value, *_ in summary(replace(measured, values=exact), ())}
    lines = [Beside(name, value, there[name]) for name, value, *_ in summary(measured, ()) if name in there]
    return tuple(tables), tuple(lines)


LEFT_OUT = "left out"


def coverage(
    session: Session, table: Table, columns: Sequence[str], inside: int, what: str, reason: str, needed: str = ""
) -> Coverage:
    """Rows of the raw source beside those that the release counts (`inside`), and how each column reads odd values.

    `needed`: the column without which a row is in no cell, whatever its declaration.
    """
    read = [table.columns[name] for name in columns]
    sql = source_sql(table, read, DIALECTS[session.engine.dialect])
    found = counted(session, table.name, columns, sql, what=what, reason=reason)
    residues = tuple(residue(column, int(found[f"m{n}"][0]), int(found[f"o{n}"][0])) for n, column in enumerate(read))
    residues = tuple(replace(one, missing_as=LEFT_OUT) if one.column == needed else one for one in residues)
    return Coverage(table.name, int(found["n"][0]), inside, residues)


def source_sql(table: Table, columns: Sequence[Column], d: Dialect) -> str:
    """Counts of rows, of missing values and of values outside the declaration, all of the source as it is stored."""
    parts = ["COUNT(*) AS n"]
    for n, column in enumerate(columns):
        raw = raw_column(column, d)
        missing = f"{raw} IS NULL"
        wild = f"NOT COALESCE({enforced(plain(column), d)} = {raw}, FALSE)"
        parts += [_times(missing, f"m{n}"), _times(f"{raw} IS NOT NULL AND {wild}", f"o{n}")]
    return f"SELECT {', '.join(parts)} FROM {d.relation(table)} AS t"


def plain(column: Column) -> Column:
    """The column without its residual category, so that an undeclared value is NULL."""
    bounds = Categories(column.declared or ()) if column.other else column.bounds
    return replace(column, bounds=bounds, nullable=True, other=False)


def residue(column: Column, missing: int, outside: int) -> Residue:
    return Residue(column.name, missing, read_missing(column), outside, read_outside(column))


def read_missing(column: Column) -> str:
    """How answers read a missing value, by the column's declaration."""
    if column.nullable:
        return "NULL"
    if column.drops:
        return LEFT_OUT
    return OTHER if column.other else "the lowest value"


def read_outside(column: Column) -> str:
    """How answers read a value that the declaration does not allow."""
    if isinstance(column.bounds, Interval):
        return "the nearest bound"
    if column.other:
        return OTHER
    return LEFT_OUT if column.drops else "NULL"


def _times(condition: str, name: str) -> str:
    return f"COALESCE(SUM(CASE WHEN {condition} THEN 1 ELSE 0 END), 0) AS {name}"


Floats = NDArray[np.float64]


WHAT = "publish report"
SERVED = "releases"  # folders in it are sent to everybody


@dataclass(frozen=True, slots=True)
class Report:
    """What was compared, and where it stands."""

    title: str
    tables: tuple[Compared, ...]
    out: Path
    statistics: tuple[Beside, ...] = ()  # of a network
    coverage: Coverage | None = None  # None: of a network

    def as_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "internal": "made of exact numbers: no privacy, not to be released",
            "title": self.title,
            "tables": [table.as_json() for table in self.tables],
            "statistics": [line.as_json() for line in self.statistics],
            "coverage": None if self.coverage is None else self.coverage.as_json(),
        }


def report(project: Path, folder: Path, out: Path, reason: str) -> Report:
    """Compare the release with the rows that it was made of, and write that down for the curator's eyes."""
    allowed(out, folder, reason)
    if (fields := network_in(folder)) is not None:
        return network_report(project, folder, fields, out, reason)
    if metadata_in(folder).get("kind") == Family.name:
        message = "a release of parents and children cannot be compared with the truth."
        raise Refused(
            "no_recipe", message, fix="Compare a release of one table: `obverse publish synthetic` without --parent."
        )
    release = opened(folder, columns)
    with open_project(project) as session:
        exact = truth(session, release, reason)
        covered = covered_rows(session, release, reason)
    told = figures_of(release.fields).terms
    errors = release.method.errors(release.measured, told)
    tables = tuple(compared(one, table, values) for one, table, values in zip(errors, release.tables, exact))
    made = Report(release.fields["title"], tables, out, coverage=covered)
    write(made, card(made.title, release.fields["claim"]["receipt"], tables, coverage=covered))
    return made


def network_report(project: Path, folder: Path, fields: dict[str, Any], out: Path, reason: str) -> Report:
    """The same of a network's release."""
    method, measured = opened_graph(folder, fields)
    with open_project(project) as session:
        of_this_project(session, fields)
        exact = network_truth(session, fields, method, measured, WHAT, reason)
    tables, lines = against(measured, exact)
    made = Report(fields["title"], tables, out, lines)
    write(made, card(made.title, fields["claim"]["receipt"], tables, lines))
    return made


def allowed(out: Path, folder: Path, reason: str) -> None:
    """Refuse a place within a release, or where a service looks for releases; and no reason.

    Told before anything is read.
    """
    given(reason)
    place = out.resolve()
    within = place.is_relative_to(folder.resolve()) or any((above / METADATA).exists() for above in place.parents)
    if within or any(above.name == SERVED for above in place.parents):
        raise Refused(
            "report_in_release",
            "a comparison with the truth is never placed in the folder of a release.",
            place=str(out),
            why="whoever gets the folder would get exact numbers with it.",
            fix="Name a file outside of it, that you keep.",
        )


def truth(session: Session, release: Opened, reason: str) -> list[Floats]:
    """The exact numbers of every table: what the release would hold if its noise were zero and every row counted in
    full.
    """
    terms = figures_of(release.fields).terms
    of_this_project(session, release.fields)
    draft = draft_of(release.method, release.fields, terms)
    wanted, catalog, workload, question = asked_again(session, release)
    if [one.values for one in workload.attributes] != [one.values for one in release.method.workload.attributes]:
        message = "the cells of the release are not those of the project any more."
        raise Refused("project_changed", message, fix="Compare it under the obverse.toml that it was released with.")
    root = in_full(replace(question, sets=draft.sets), catalog)
    sql = printed(root, catalog, "")(session.overlay())
    found = counted(session, wanted.table, wanted.columns, sql, what=WHAT, reason=reason)
    counts = np.zeros(root.public.count, dtype=np.int64)
    counts[found["k"]] = found["m" if "m" in found else "m0"]
    exact = draft.strategy.apply(root.public, counts)
    measured = tuple(replace(one, values=values, unit=1.0) for one, values in zip(release.measured, exact, strict=True))
    return [table.values for table in release.method.finish(measured, terms).tables]


def covered_rows(session: Session, release: Opened, reason: str) -> Coverage:
    """How many rows of the raw source the release counts, and which values its columns read otherwise than stored."""
    wanted, catalog, _, question = asked_again(session, release)
    # rows without a leaf are in no line
    line = release.method.leaves if isinstance(release.method, Quantiles) else None
    root = in_full(replace(question, keys=question.keys[:1] if line else (), sets=()), catalog)
    sql = printed(root, catalog, "")(session.overlay())
    found = counted(session, wanted.table, wanted.columns, sql, what=WHAT, reason=reason)
    counts = found["m" if "m" in found else "m0"]
    inside = int((counts if line is None else counts[found["k"] < line.count]).sum())
    needed = wanted.columns[0] if line else ""
    return coverage(session, catalog.tables[wanted.table], wanted.columns, inside, WHAT, reason, needed)


def asked_again(session: Session, release: Opened) -> tuple[Wanted, Catalog, Workload, Question]:
    """The release's request, planned anew."""
    wanted, cuts = retold(release.fields.get("recipe") or {}, session.catalog)
    catalog = with_values(session.catalog, wanted)
    return wanted, catalog, *asked(catalog, wanted, cuts)


def in_full(question: Question, catalog: Catalog) -> Aggregate:
    """The same counts with every row in full, whatever limits there are on a unit's rows."""
    setting = replace(limit(question, catalog).setting, shape=Shape.ROW, rows=1, groups=1, alone=False)
    (call,) = question.aggregates
    measures = BY_NAME[call.function].measures(call, setting)
    return Aggregate(Projected(Limit(question.relation, Shape.ROW, 1), question.keys, tuple(measures), question.sets))


def retold(recipe: dict[str, Any], catalog: Catalog) -> tuple[Wanted, dict[str, Cut] | None]:
    """What was asked for, as the folder tells it; and how a number's leaves are cut, as it is declared now."""
    fields = {name: value for name, value in recipe.items() if name != "verb"}
    try:
        match recipe.get("verb"):
            case "table":
                fields["by"] = tuple(tuple(one) for one in fields["by"])
                fields["values"] = {name: tuple(values) for name, values in fields["values"].items()}
                return Wanted(**fields), None
            case "hierarchy":
                fields |= {name: tuple(fields[name]) for name in ("spine", "cells", "at_least", "at_most")}
                return Along(**fields).wanted, None
            case "quantiles":
                told = Distribution(**fields | {name: tuple(fields[name]) for name in ("by", "ranges")})
                return told.wanted, laid_out(catalog, told)[1]
            case "synthetic":
                fields |= {"columns": tuple(fields["columns"]), "given": tuple(tuple(one) for one in fields["given"])}
                return Rows(**fields).asked, None
    except (TypeError, KeyError):
        pass
    raise Refused("no_recipe", "the release does not tell what was asked for, so it cannot be compared with the truth.")


def of_this_project(session: Session, fields: dict[str, Any]) -> None:
    """Refuse a folder that another ledger paid for."""
    receipt = fields["claim"]["receipt"]
    if not any(entry.kind == "charge" and entry.fields["id"] == receipt for entry in session.ledger.entries()):
        raise Refused("not_our_release", "the receipt of the release is not in this project's ledger.")


def write(made: Report, told: Card) -> None:
    """For its owner alone: HTML, Markdown or JSON, by the file's name."""
    kinds = {".json": lambda: json.dumps(made.as_json(), indent=1), ".md": lambda: markdown(told)}
    text = kinds.get(made.out.suffix, lambda: page(told))()
    try:
        made.out.parent.mkdir(parents=True, exist_ok=True)
        made.out.unlink(missing_ok=True)
        with open(os.open(made.out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        why = error.strerror or ""
        raise Refused("cannot_write", "the report cannot be written.", place=str(made.out), why=why) from None
