"""`publish table`: named columns of a declared table to a workload, a release and its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from obverse.catalog.columns import with_other
from obverse.catalog.model import OTHER, Catalog, Column, Table
from obverse.catalog.shape import suggestion
from obverse.core.bounds import Categories, Interval
from obverse.core.errors import Refused
from obverse.core.numbers import exact, plain
from obverse.core.types import Type, Value
from obverse.plan.expressions import domain
from obverse.plan.nodes import Key
from obverse.plan.query import Question
from obverse.plan.stability.scan import column_facts
from obverse.publish.publishing import Release, now, priced, terms_of
from obverse.publish.workload import Attribute, Workload
from obverse.session.planning import read

if TYPE_CHECKING:
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
    discover: Mapping[str, str] = field(default_factory=dict)  # of a column, the share of the price that finds its values
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
        return tuple(found) if not self.derive else tuple({frozenset(one): one for one in reversed(found)}.values())[::-1]

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


def table_release(session: Session, wanted: Wanted, epsilon: Fraction | None = None, delta: Fraction | None = None) -> Release:
    """Planned and priced; no row is read."""
    from obverse.publish.tables.private_domains import following

    if wanted.discover or any(text.startswith(QUANTILES) for text in wanted.bins.values()):
        return following(session, wanted, epsilon, delta, known_release)
    return known_release(session, wanted, epsilon, delta, Fraction(1))


def known_release(
    session: Session, wanted: Wanted, epsilon: Fraction | None, delta: Fraction | None, part: Fraction
) -> Release:
    """The release whose cells are all known, for a part of the price."""
    from obverse.publish.tables.publish_cells import method_of

    catalog = with_values(session.catalog, wanted)
    workload, question = asked(catalog, wanted)
    method = method_of(session, wanted, workload)
    draft = method.draft(terms_of(session))
    paid = priced(session, wanted.note, question, draft, epsilon, delta, catalog=catalog, part=part)
    return Release(wanted.title, method, paid, wanted.recipe)


def with_values(catalog: Catalog, wanted: Wanted) -> Catalog:
    """The catalog with the values that were found; others of such a column are the category (other), in version 1 NULL."""
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
    """The workload, and the question whose keys are its attributes, in their order; some may be cut into cells already."""
    table = private_table(catalog, wanted.table)
    if not wanted.by or not wanted.columns:
        raise Refused("bad_workload", "a release names the columns of each table.", fix="Write --by age,sex --by region.")
    for name in wanted.bins:
        if name not in wanted.columns:
            raise Refused("bad_bins", f"bins are given for {name!r}, which is in no table.", fix="Leave them out.")
    attributes, texts = [], []
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
    """The cells that the question has: those that its condition leaves, and one for missing values where there may be some."""
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
    from obverse.sql.columns import columns_in

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
        first, end = -((-low.numerator) // low.denominator), high.numerator // high.denominator
        end -= not last and high.denominator == 1
        return f"{first} to {end}" if end > first else str(first)
    return f"{plain(low)} to {'' if last else 'below '}{plain(high)}"
