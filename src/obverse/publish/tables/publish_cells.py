"""Public knowledge about cells: which are empty, and which columns follow from others. Evaluated on cells, never on rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Column
from obverse.core.bounds import Interval
from obverse.core.errors import Refused
from obverse.core.types import Type, Value
from obverse.plan.expressions import type_of
from obverse.publish.tables.derived import GROUPS_MAX, Derived, Rolled
from obverse.publish.tables.method import Tables
from obverse.publish.tables.publish_tables import Wanted, column_of, edges_of, named_in, private_table, quoted
from obverse.publish.tables.zeros import Zeros, checked
from obverse.publish.workload import Table, Workload

if TYPE_CHECKING:
    from obverse.session.session import Session

AT_ONCE = 200  # rows that one public question lists
EVALUATED_MAX = 20_000
WORDS = {Type.INTEGER: "BIGINT", Type.DOUBLE: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.TEXT: "VARCHAR", Type.DATE: "DATE",
         Type.TIMESTAMP: "TIMESTAMP"}  # fmt: skip


def method_of(session: Session, wanted: Wanted, workload: Workload) -> Tables:
    """The tables, with what is publicly known of their cells."""
    places = {one.name: n for n, one in enumerate(workload.attributes)}
    zeros = _zeros(session, wanted, workload, places) if wanted.zeros else None
    derived = tuple(_derived(session, wanted, workload, places, name) for name in wanted.derive)
    names = list(wanted.derive)
    rolled = []
    for asked, named in zip(wanted.by, (_base(wanted, one) for one in wanted.by)):
        kept, made = [name for name in asked if name not in names], [name for name in asked if name in names]
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
    import numpy as np

    of, found = _evaluated(session, wanted, workload, places, wanted.zeros, "bad_zeros")
    empty = np.array([set(values) == {True} for values in found]).reshape(workload.shape(of))
    zeros = Zeros(wanted.zeros, of, empty)
    checked(workload, zeros)
    return zeros


def _derived(session: Session, wanted: Wanted, workload: Workload, places: dict[str, int], name: str) -> Derived:
    import numpy as np

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
) -> tuple[Table, list[list[Value]]]:
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
        raise Refused(code, f"the expression has more than {EVALUATED_MAX:,} combinations of values to be evaluated on.")
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
