"""The other door: the curator's own reading of rows, written into the ledger each time. No analyst's route leads here.

It serves what is not private by its nature: the input of `anonymize`, what attacks are measured against, a person's own rows.
Nothing is charged, because nothing is released by it; what leaves the curator's hands afterwards is theirs to answer for, and
the record says that they looked, at what, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.catalog.model import Column, Table
from obverse.catalog.shape import suggestion
from obverse.core.errors import Refused
from obverse.plan.dialects import DIALECTS
from obverse.plan.print import enforced
from obverse.session.session import open as open_project

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

READ_S = 600.0


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The different rows of a table in some columns, and how often each occurs; a missing value is None."""

    columns: dict[str, list[Any]]
    counts: NDArray[np.int64]


def collapsed(project: Path, table: str, columns: Sequence[str], *, what: str, reason: str) -> Collapsed:
    """Rows of a project's table, exactly, for the curator. `what` they are for and the `reason` are sealed into the ledger
    before a row is read."""
    import numpy as np

    if not reason.strip():
        raise Refused("no_reason", "why are rows read past the budget?", fix='Say it: --reason "release to the ethics board".')
    with open_project(project) as session:
        declared = _declared(session.catalog.tables, table)
        wanted = [_column(declared, name) for name in columns]
        if declared.unit is not None:
            session.ledger.record_custody(declared.name, tuple(columns), what, reason)
        d = DIALECTS[session.engine.dialect]
        read = ", ".join(f"{enforced(column, d)} AS c{n}" for n, column in enumerate(wanted))
        keys = ", ".join(f"c{n}" for n in range(len(wanted)))
        inner = f"SELECT {read} FROM {d.relation(declared)} AS t"
        sql = f"SELECT {keys}, COUNT(*) AS n FROM ({inner}) AS r GROUP BY {keys}"
        rows = session.engine.run_public(sql, timeout_s=READ_S).rows
    found = {name: [row[n] for row in rows] for n, name in enumerate(columns)}
    return Collapsed(found, np.array([row[-1] for row in rows], dtype=np.int64))


def _declared(tables: Any, name: str) -> Table:
    if name not in tables:
        raise Refused("unknown_table", f"no table {name!r} is declared.", fix=suggestion(name, tables))
    found: Table = tables[name]
    return found


def _column(table: Table, name: str) -> Column:
    if name not in table.columns:
        raise Refused("unknown_column", f"table {table.name} has no column {name!r}.", fix=suggestion(name, table.columns))
    return table.columns[name]
