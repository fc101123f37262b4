"""limits = "auto": the curator pays once for histograms; every later question picks its own caps from them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from obverse.answers.answer import Answer
from obverse.catalog.model import AUTO, Catalog, Column, Limits, Table
from obverse.core.bounds import Interval
from obverse.core.errors import CatalogError, Refused
from obverse.core.numbers import several
from obverse.core.types import Type
from obverse.mechanisms.base import Additive
from obverse.plan.dialects import DIALECTS
from obverse.plan.measures import Measure
from obverse.plan.partitions import published, value_of
from obverse.plan.pricing import Plan
from obverse.plan.private_bounds import Histogram, Learned, row_caps, sum_caps
from obverse.plan.query import Question
from obverse.plan.relation import Reduce, every, scans

FOLDER = "learned"
quoted = DIALECTS["duckdb"].identifier  # questions are written in DuckDB's SQL
GROWING = ("count", "sum", "count_distinct", "count_units", "mode")
UNKNOWN_CELLS = 1000  # where keys are discovered, nobody knows how many
# per row of the cap: for the cap of units' own aggregates, fixed before a question's price is known
DEFAULT_NOISE = 10.0


def histogram_sql(table: Table) -> str:
    """The question whose answer is all histograms at once: each unit is in one bucket of each."""
    assert table.unit is not None
    key = quoted(table.unit.column or "")
    columns = bounded_columns(table)
    buckets = [f"{_bucket('COUNT(*)', row_caps())} AS rows_per_unit"]
    buckets += [
        f"{_bucket(f'COALESCE(SUM(ABS({quoted(c.name)})), 0)', sum_caps(_magnitude(c)))} AS {quoted(f'sum_{i}')}"
        for i, c in enumerate(columns)
    ]
    names = ["rows_per_unit", *(quoted(f"sum_{i}") for i in range(len(columns)))]
    inner = f"SELECT {key}, {', '.join(buckets)} FROM {quoted(table.name)}{_latest(table)} GROUP BY {key}"
    sets = ", ".join(f"({name})" for name in names)
    return f"SELECT {', '.join(names)}, COUNT(*) AS units FROM ({inner}) AS u GROUP BY GROUPING SETS ({sets})"


def _latest(table: Table) -> str:
    """Where the unit is somebody's part of one partition: of the last one that is published."""
    if table.partition is None or table.partition.counts == "first":
        return ""
    column = table.columns[table.partition.column]
    last = DIALECTS["duckdb"].literal(value_of(published(table).last, column.type), column.type)
    return f" WHERE {quoted(column.name)} = {last}"


def bounded_columns(table: Table) -> list[Column]:
    """Numbers whose sums can be capped."""
    return [
        c
        for c in table.columns.values()
        if not c.hidden
        and c.type in (Type.INTEGER, Type.DOUBLE)
        and isinstance(c.bounds, Interval)
        and c.bounds.magnitude > 0
    ]


def learned_from(answer: Answer, table: Table, deviation: float) -> Learned:
    """The histograms, out of the answer's rows."""
    rows, *sums = (_histogram(answer, i, deviation) for i in range(1 + len(bounded_columns(table))))
    counted = replace(rows, caps=tuple(float(cap) for cap in row_caps()))
    columns = bounded_columns(table)
    named = {c.name: replace(h, caps=sum_caps(_magnitude(c))) for c, h in zip(columns, sums)}
    return Learned(table.name, counted, named, answer.price.epsilon, answer.claim.receipt)


def _histogram(answer: Answer, place: int, deviation: float) -> Histogram:
    found = sorted((row[place], row[-1]) for row in answer if row[place] is not None)
    return Histogram((), tuple(float(units) for _, units in found), deviation)  # type: ignore[arg-type]


def check_auto(catalog: Catalog, name: str) -> Table:
    """The table whose limits are to be learned."""
    table = catalog.tables.get(name)
    if table is None or table.public or table.row_is_unit:
        raise Refused(
            "bad_parameter",
            f"{name} is no private table whose units have several rows.",
            fix="name a table of obverse.toml that declares a unit and limits.",
        )
    if table.limits != AUTO:
        raise Refused(
            "bad_parameter",
            f"the limits of {name} are declared, so there is nothing to learn.",
            fix='write limits = "auto" in obverse.toml.',
        )
    return table


def path_of(catalog: Catalog, table: str) -> Path:
    return catalog.ledger.parent / FOLDER / f"{table}.json"


def keep(catalog: Catalog, learned: Learned) -> Path:
    path = path_of(catalog, learned.table)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(learned.as_json(), indent=1) + "\n")
    return path


def load_learned(catalog: Catalog) -> dict[str, Learned]:
    """What was learned of tables whose limits are left to it."""
    found = {}
    for table in catalog.tables.values():
        path = path_of(catalog, table.name)
        if table.limits == AUTO and path.exists():
            try:
                found[table.name] = Learned.from_json(json.loads(path.read_text()))
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
                raise CatalogError(
                    "bad_values",
                    "what was learned of the limits cannot be read.",
                    place=str(path),
                    fix="learn it again.",
                ) from None
    return found


def with_defaults(catalog: Catalog, learned: Mapping[str, Learned]) -> Catalog:
    """Caps for units' own aggregates in subqueries, before a question is known."""
    return _with(
        catalog, {name: Limits(int(found.rows.best(DEFAULT_NOISE)), learned=True) for name, found in learned.items()}
    )


def with_chosen(question: Question, catalog: Catalog, learned: Mapping[str, Learned], draft: Plan) -> Catalog:
    """The caps with the least expected error for this question, at its price: noise grows with the cap, loss
    shrinks.
    """
    per_cap = noise_per_cap(draft)
    chosen = {}
    for name in {scan.table for scan in scans(question.relation)} & learned.keys():
        found = learned[name]
        sums = {column: Fraction(histogram.best(per_cap)) for column, histogram in found.sums.items()}
        chosen[name] = Limits(int(found.rows.best(per_cap, *kinds_of(question))), sums=sums, learned=True)
    return _with(catalog, chosen)


def kinds_of(question: Question) -> tuple[int, int]:
    """How many aggregates grow with the rows, and how many are their average or place; a unit's own ones always
    grow.
    """
    own = any(isinstance(relation, Reduce) for relation in every(question.relation))
    grow = sum(own or call.function in GROWING for call in question.aggregates)
    return grow, len(question.aggregates) - grow


def noise_per_cap(draft: Plan, unknown: float = UNKNOWN_CELLS) -> float:
    """The noise of all cells together, for each row (or unit of a sum) that the cap grows by."""
    setting = draft.setting
    ratios = [
        _deviation(measure, mechanism) / float(measure.proven.linf if measure.noised else measure.cap << measure.bits)
        for measure, mechanism in zip(draft.measures, draft.mechanisms)
        if isinstance(mechanism, Additive)
    ]
    cells = setting.cells * (unknown if setting.discovered else 1)
    return cells * (sum(ratios) / len(ratios) if ratios else DEFAULT_NOISE)


def _deviation(measure: Measure, mechanism: Additive) -> float:
    """The noise of a number that is told: a rank adds up nodes of every level of its tree."""
    leaves = measure.term.leaves
    added = 1.0 if leaves is None else leaves.height * leaves.branching / 2
    return mechanism.stddev() * math.sqrt(added)


def bias_words(question: Question, catalog: Catalog, learned: Mapping[str, Learned]) -> str:
    """What the chosen caps are expected to cost, apart from noise, and for what that holds."""
    told = []
    for name in sorted({scan.table for scan in scans(question.relation)} & learned.keys()):
        limits = catalog.tables[name].limits
        if isinstance(limits, Limits):
            share = learned[name].rows.share(limits.rows)
            cap = several(limits.rows, "row")
            told.append(f"a cap of {cap} of {name} per unit is expected to leave out {100 * share:.2g} % of them")
    if not told:
        return ""
    return "; ".join(told) + (
        " (learned once of the whole table: an upper guide under WHERE, not valid after joins or new data)"
    )


def _with(catalog: Catalog, limits: Mapping[str, Limits]) -> Catalog:
    tables = {n: replace(t, limits=limits[n]) if n in limits else t for n, t in catalog.tables.items()}
    return replace(catalog, tables=tables)


def _magnitude(column: Column) -> Fraction:
    assert isinstance(column.bounds, Interval)
    return column.bounds.magnitude


def _bucket(value: str, caps: tuple[float, ...] | tuple[int, ...]) -> str:
    arms = " ".join(f"WHEN {value} <= {cap!r} THEN {place}" for place, cap in enumerate(caps[:-1]))
    return f"CASE {arms} ELSE {len(caps) - 1} END"
