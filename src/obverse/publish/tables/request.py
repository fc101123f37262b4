"""`publish table`: named columns of a declared table to a workload, a release and its folder.

Public knowledge about cells: which are empty, and which columns follow from others. Evaluated on cells, never on rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from obverse.catalog.columns import with_other
from obverse.catalog.keys import suggestion
from obverse.catalog.model import OTHER, Catalog, Column, Table
from obverse.core.bounds import Categories, Interval
from obverse.core.errors import Refused
from obverse.core.numbers import exact, plain
from obverse.core.types import Type, Value
from obverse.plan.expressions import domain, type_of
from obverse.plan.query import Question
from obverse.plan.relation import Key
from obverse.plan.stability.scan import column_facts
from obverse.publish.pipeline import Release, now, priced, terms_of
from obverse.publish.tables.method import Tables
from obverse.publish.tables.public_knowledge import GROUPS_MAX, Derived, Rolled, Zeros, checked
from obverse.publish.workload import Attribute, Workload
from obverse.publish.workload import Table as WorkloadTable
from obverse.session.planning import read
from obverse.session.session import Session

LISTED_MAX = 1 << 16  # values of a column that are cells as they are
BINS_MAX = 400
Cut = tuple[Attribute, str]  # a column's cells, and the SQL whose values they are
QUANTILES = "quantiles:"  # of bins: their edges are found


@dataclass(frozen=True, slots=True)
class Wanted:
    """Tables over columns of one declared table; bins of numbers; a condition on rows."""

    table: str
    by: tuple[tuple[str, ...], ...]
    bins: Mapping[str, str]  # a width, edges, or quantiles:8 for edges that are found
    where: str = ""
    # of a column, the share of the price that finds its values
    discover: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)  # that were found
    zeros: str = ""  # a condition on cells that are publicly known to be empty
    derive: Mapping[str, str] = field(default_factory=dict)  # columns that are public functions of others

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.measured for name in one))

    @property
    def measured(self) -> tuple[tuple[str, ...], ...]:
        """The tables without derived columns, which have what they follow from in their place; each once."""
        found = []
        for names in self.by:
            parts = [named_in(self.derive[name]) if name in self.derive else (name,) for name in names]
            found.append(tuple(dict.fromkeys(name for part in parts for name in part)))
        return (
            tuple(found) if not self.derive else tuple({frozenset(one): one for one in reversed(found)}.values())[::-1]
        )

    @property
    def title(self) -> str:
        return f"{self.table}: {'; '.join(' x '.join(one) for one in self.by)}" + (
            f", where {self.where}" if self.where else ""
        )

    @property
    def recipe(self) -> dict[str, Any]:
        """What a release's folder keeps of it."""
        return {"verb": "table"} | asdict(self)

    @property
    def note(self) -> str:
        """What the ledger keeps of it."""
        tables = "; ".join(", ".join(one) for one in self.by)
        binned = "".join(f" --bins {name}={text}" for name, text in sorted(self.bins.items()))
        binned += "".join(f" --derive {name}={text}" for name, text in sorted(self.derive.items()))
        binned += f" --zeros {self.zeros}" if self.zeros else ""
        binned += "".join(f" --discover {name}={text}" for name, text in sorted(self.discover.items()))
        return f"publish table {self.table} by {tables}{binned}" + (f" where {self.where}" if self.where else "")


def known_release(
    session: Session, wanted: Wanted, epsilon: Fraction | None, delta: Fraction | None, part: Fraction
) -> Release:
    """The release whose cells are all known, for a part of the price."""

    catalog = with_values(session.catalog, wanted)
    workload, question = asked(catalog, wanted)
    method = method_of(session, wanted, workload)
    draft = method.draft(terms_of(session))
    paid = priced(session, wanted.note, question, draft, epsilon, delta, catalog=catalog, part=part)
    return Release(wanted.title, method, paid, wanted.recipe)


def with_values(catalog: Catalog, wanted: Wanted) -> Catalog:
    """The catalog with the values that were found; others of such a column are the category (other), in version 1
    NULL.
    """
    if not wanted.values:
        return catalog
    table = catalog.tables[wanted.table]
    found = {name: _with_found(table.columns[name], values, catalog.version) for name, values in wanted.values.items()}
    return replace(catalog, tables={**catalog.tables, table.name: replace(table, columns={**table.columns, **found})})


def _with_found(column: Column, values: Sequence[Value], version: int) -> Column:
    other = version >= 2 and column.type is Type.TEXT
    listed = Categories(tuple(value for value in values if not other or value != OTHER))
    return replace(column, bounds=with_other(listed) if other else listed, nullable=True, other=other)


def private_table(catalog: Catalog, name: str) -> Table:
    table = catalog.tables.get(name)
    if table is None or table.public:
        raise Refused(
            "unknown_table",
            f"there is no private table {name!r} here.",
            fix="`obverse tables` lists what is declared; a public table needs no release.",
        )
    return table


def asked(catalog: Catalog, wanted: Wanted, given: Mapping[str, Cut] | None = None) -> tuple[Workload, Question]:
    """The workload, and the question whose keys are its attributes, in their order; some may be cut into cells
    already.
    """
    table = private_table(catalog, wanted.table)
    if not wanted.by or not wanted.columns:
        raise Refused(
            "bad_workload", "a release names the columns of each table.", fix="Write --by age,sex --by region."
        )
    for name in wanted.bins:
        if name not in wanted.columns:
            raise Refused("bad_bins", f"bins are given for {name!r}, which is in no table.", fix="Leave them out.")
    attributes = []
    texts = []
    for name in wanted.columns:
        attribute, text = given[name] if given and name in given else cut_of(table, name, wanted.bins)
        attributes.append(attribute)
        texts.append(text)
    places = {name: n for n, name in enumerate(wanted.columns)}
    tables = tuple(tuple(sorted(places[name] for name in one)) for one in wanted.measured)
    where = where_of(wanted)
    sets = ", ".join(f"({text})" for text in texts)
    sql = f"SELECT COUNT(*) AS n FROM {quoted(wanted.table)}{where} GROUP BY GROUPING SETS ({sets})"
    question = read(sql, catalog, now())
    if not isinstance(question, Question) or len(question.keys) != len(texts):
        raise Refused("bad_workload", "the condition is not one on rows.", fix='Write --where "age >= 18".')
    return Workload(with_nulls(attributes, question), tables), question


def cut_of(table: Table, name: str, bins: Mapping[str, str], of: str = "") -> Cut:
    """A column's cells: its bins, or its values. `of`: what stands before its name in SQL."""
    column = column_of(table, name)
    return _binned(column, name, bins[name], of) if name in bins else _listed(column, name, of)


def with_nulls(attributes: Sequence[Attribute], question: Question) -> tuple[Attribute, ...]:
    """The cells that the question has: those that its condition leaves, and one for missing values where there may
    be some.
    """
    return tuple(_as_counted(one, key) for one, key in zip(attributes, question.keys, strict=True))


def where_of(wanted: Wanted) -> str:
    """The rows that count: those that were asked for, and not those that cannot be."""
    parts = [f"({wanted.where}\n)"] if wanted.where else []
    if wanted.zeros:
        named_in(wanted.zeros)  # refuses what is not an expression over one row
        parts.append(f"NOT COALESCE(({wanted.zeros}\n), FALSE)")
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def named_in(text: str) -> tuple[str, ...]:
    """The columns that an expression names."""
    from obverse.sql.literals import columns_in

    return columns_in(text)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def undeclared(table: Table, name: str) -> Refused:
    shown = [column.name for column in table.columns.values() if not column.hidden]
    return Refused("unknown_column", f"table {table.name} declares no column {name!r}.", fix=suggestion(name, shown))


def column_of(table: Table, name: str) -> Column:
    if name not in table.columns or table.columns[name].hidden:
        raise undeclared(table, name)
    return table.columns[name]


def _listed(column: Column, name: str, of: str = "") -> Cut:
    """A column with a public list of values, or few whole numbers between its bounds."""
    values = domain(column_facts(column), LISTED_MAX) if column.type is not Type.DOUBLE else None
    if values is None:
        number = column.type in (Type.INTEGER, Type.DOUBLE)
        raise Refused(
            "no_domain",
            f"the values of {name!r} are not known publicly, or are too many for cells.",
            why="cells that are read from the data would tell who is in it.",
            fix=f"give bins: --bins {name}=10 or {name}=quantiles:8."
            if number
            else f"declare `values` for it in obverse.toml, or pay for finding them: --discover {name}=0.1.",
        )
    return Attribute(name, values or (None,), column.type), of + quoted(name)


def _as_counted(attribute: Attribute, key: Key) -> Attribute:
    """The values themselves are the key's; bins are numbered, and a condition narrows none of them."""
    values = key.listed if set(key.listed) <= set(attribute.values) else attribute.values
    if len(values) != len(key.listed):
        raise Refused(
            "condition_narrows",
            f"the condition narrows {attribute.name!r} itself, whose cells begin and end where it is declared to.",
            fix="leave that out of the condition, and read the part of the release that you need.",
        )
    return Attribute(attribute.name, (*values, None) if key.null_cell else values, attribute.type)


def _binned(column: Column, name: str, text: str, of: str = "") -> Cut:
    """A number in bins: from an edge up to, and not including, the next; the last one includes its end."""
    bounds = column.bounds
    if column.type not in (Type.INTEGER, Type.DOUBLE) or not isinstance(bounds, Interval):
        raise Refused("bad_bins", f"{name!r} is not a number with declared bounds, so it has no bins.")
    edges = edges_of(name, text, bounds)
    values = tuple(_label(a, b, last=b == edges[-1], whole=column.type is Type.INTEGER) for a, b in pairwise(edges))
    column_text = of + quoted(name)
    arms = " ".join(f"WHEN {column_text} < {_number(edge)} THEN {n}" for n, edge in enumerate(edges[1:-1]))
    missing = f"WHEN {column_text} IS NULL THEN NULL " if column.nullable else ""
    if not arms and not missing:
        arms = f"WHEN {column_text} IS NULL THEN 0"
    return Attribute(name, values, Type.TEXT), f"CASE {missing}{arms} ELSE {len(values) - 1} END"


def edges_of(name: str, text: str, bounds: Interval) -> list[Fraction]:
    """A width, or the edges themselves; the outer ones are the declared bounds."""
    try:
        told = [exact(part.strip()) for part in text.split(",")]
    except Refused:
        told = []
    if len(told) == 1 and told[0] > 0 and bounds.spread / told[0] <= BINS_MAX:
        first = told[0] * (bounds.lo // told[0])
        inner = [first + n * told[0] for n in range(int(bounds.spread / told[0]) + 3)]
    elif len(told) > 1 and len(told) <= BINS_MAX and all(a < b for a, b in pairwise(told)):
        inner = told
    else:
        raise Refused(
            "bad_bins",
            f"{name}={text} is neither a width nor rising edges, of at most {BINS_MAX} bins.",
            fix=f"Write {name}=10 or {name}=0,18,65.",
        )
    within = [edge for edge in inner if bounds.lo < edge < bounds.hi]
    return [bounds.lo, *within, bounds.hi]


def _number(edge: Fraction) -> str:
    return repr(float(edge)) if edge.denominator != 1 else str(edge.numerator)


def _label(low: Fraction, high: Fraction, *, last: bool, whole: bool) -> Value:
    if whole:
        first = -((-low.numerator) // low.denominator)
        end = high.numerator // high.denominator
        end -= not last and high.denominator == 1
        return f"{first} to {end}" if end > first else str(first)
    return f"{plain(low)} to {'' if last else 'below '}{plain(high)}"


AT_ONCE = 200  # rows that one public question lists
EVALUATED_MAX = 20_000
WORDS = {
    Type.INTEGER: "BIGINT",
    Type.DOUBLE: "DOUBLE",
    Type.BOOLEAN: "BOOLEAN",
    Type.TEXT: "VARCHAR",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}


def method_of(session: Session, wanted: Wanted, workload: Workload) -> Tables:
    """The tables, with what is publicly known of their cells."""
    places = {one.name: n for n, one in enumerate(workload.attributes)}
    zeros = _zeros(session, wanted, workload, places) if wanted.zeros else None
    derived = tuple(_derived(session, wanted, workload, places, name) for name in wanted.derive)
    names = list(wanted.derive)
    rolled = []
    for asked, named in zip(wanted.by, (_base(wanted, one) for one in wanted.by)):
        kept = [name for name in asked if name not in names]
        made = [name for name in asked if name in names]
        if made and set(named) != set(kept):
            base = tuple(sorted(places[name] for name in named))
            one = Rolled(base, tuple(sorted(places[name] for name in kept)), tuple(names.index(name) for name in made))
            if math.prod(one.shape(workload, derived)) > GROUPS_MAX:
                raise Refused("release_too_wide", f"a table over derived columns has at most {GROUPS_MAX:,} cells.")
            rolled.append(one)
    return Tables(workload, zeros, derived, tuple(rolled))


def _base(wanted: Wanted, asked: Sequence[str]) -> tuple[str, ...]:
    parts = [named_in(wanted.derive[name]) if name in wanted.derive else (name,) for name in asked]
    return tuple(dict.fromkeys(name for part in parts for name in part))


def _zeros(session: Session, wanted: Wanted, workload: Workload, places: dict[str, int]) -> Zeros:
    of, found = _evaluated(session, wanted, workload, places, wanted.zeros, "bad_zeros")
    empty = np.array([set(values) == {True} for values in found]).reshape(workload.shape(of))
    zeros = Zeros(wanted.zeros, of, empty)
    checked(workload, zeros)
    return zeros


def _derived(session: Session, wanted: Wanted, workload: Workload, places: dict[str, int], name: str) -> Derived:
    if name in private_table(session.catalog, wanted.table).columns:
        raise Refused("bad_derivation", f"{name!r} is a column of the table already.", fix="Give it another name.")
    of, found = _evaluated(session, wanted, workload, places, wanted.derive[name], "bad_derivation")
    if any(len(set(values)) > 1 for values in found):
        raise Refused(
            "bad_derivation",
            f"{name!r} does not follow from the cells: some hold values for which it differs.",
            fix="put an edge of the bins where it changes.",
        )
    there = {values[0] for values in found}
    values = (*sorted(value for value in there if value is not None), *((None,) if None in there else ()))
    kind = next((type_of(value) for value in values if value is not None), Type.TEXT)
    codes = np.array([values.index(one[0]) for one in found], dtype=np.int64).reshape(workload.shape(of))
    return Derived(name, wanted.derive[name], of, codes, values, kind)


def _evaluated(
    session: Session, wanted: Wanted, workload: Workload, places: dict[str, int], text: str, code: str
) -> tuple[WorkloadTable, list[list[Value]]]:
    """The attributes that an expression reads, and what it says of every value of each of their cells."""
    names = named_in(text)
    table = private_table(session.catalog, wanted.table)
    if not names or any(name not in places for name in names) or any(name in wanted.discover for name in names):
        raise Refused(
            code, "the expression is to be one over columns of the tables whose cells are known beforehand.", why=text
        )
    of = tuple(sorted(places[name] for name in names))
    columns = [column_of(table, workload.attributes[i].name) for i in of]
    held = [_held(wanted, column, workload.attributes[i].values, code) for i, column in zip(of, columns)]
    cells = [list(itertools.product(*cell)) for cell in itertools.product(*held)]
    rows = [row for cell in cells for row in cell]
    if len(rows) > EVALUATED_MAX:
        raise Refused(
            code, f"the expression has more than {EVALUATED_MAX:,} combinations of values to be evaluated on."
        )
    told = iter(_answers(session, text, columns, rows))
    return of, [[next(told) for _ in cell] for cell in cells]


def _held(wanted: Wanted, column: Column, values: Sequence[Value], code: str) -> list[list[Value]]:
    """Of each cell of a column, all values that it holds."""
    if column.name not in wanted.bins:
        return [[value] for value in values]
    if column.type is not Type.INTEGER or not isinstance(column.bounds, Interval):
        raise Refused(code, f"{column.name!r} is in bins of broken numbers, which are not told one by one.")
    edges = edges_of(column.name, wanted.bins[column.name], column.bounds)
    found: list[list[Value]] = []
    for n, (low, high) in enumerate(itertools.pairwise(edges)):
        end = math.floor(high) + 1 if n == len(edges) - 2 else math.ceil(high)
        found.append(list(range(math.ceil(low), end)))
    return found + [[None]] * (len(values) - len(found))


def _answers(session: Session, text: str, columns: Sequence[Column], rows: Sequence[tuple[Value, ...]]) -> list[Value]:
    """The expression's value for each row: rows that the question writes down itself are public."""
    place = "n" + "_" * max(len(column.name) for column in columns)  # the name of no column
    names = ", ".join([place, *(quoted(column.name) for column in columns)])
    found: list[Any] = []
    for start in range(0, len(rows), AT_ONCE):
        listed = []
        for n, row in enumerate(rows[start : start + AT_ONCE]):
            values = ", ".join(_literal(value, column.type) for value, column in zip(row, columns))
            listed.append(f"({n}, {values})")
        sql = f"SELECT {place}, ({text}\n) AS v FROM (VALUES {', '.join(listed)}) AS cells({names})"
        found += [row[1] for row in sorted(session.ask(sql).rows)]
    return found


def _literal(value: Value, kind: Type) -> str:
    if value is None:
        return f"CAST(NULL AS {WORDS[kind]})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    written = "'" + str(value).replace("'", "''") + "'"
    return written if kind is Type.TEXT else f"{WORDS[kind]} {written}"
