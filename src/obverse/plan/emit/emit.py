"""Plan to engine SQL: the only text that reaches an engine.

Clamped, limited, on an integer grid, saturated at 2**62.
"""

from __future__ import annotations

from obverse.catalog.model import Catalog
from obverse.plan.dialects import DIALECTS
from obverse.plan.emit.overlay import NOTHING, Overlay
from obverse.plan.emit.rows import Rows
from obverse.plan.emit.sources import Sources
from obverse.plan.emit.sums import Keyed, Parts, Sums, long_form
from obverse.plan.relation import Aggregate, Shape


def emit(root: Aggregate, catalog: Catalog, dialect: str, key: str = "", overlay: Overlay = NOTHING) -> str:
    """The SQL text of the whole plan: one row per non-empty cell, its index `k` and one integer per measure.

    Sums of discovered keys alone: a row per key. Where keys are discovered beside others or measures are more than
    sums, the long form: a row per part, key, cell and leaf. `key` is drawn for each question: it chooses among rows and
    values of a unit that has more than its cap. `overlay`: who is left out, and what is put right.
    """
    rows = Rows(root, Sources(catalog, DIALECTS[dialect], key, overlay), DIALECTS[dialect])
    if root.keyed:
        return Keyed(Parts(rows, key)).text()
    if long_form(root):
        return Parts(rows, key).text()
    writer = Sums(rows, DIALECTS[dialect])
    source = rows.text()
    match rows.shape:
        case Shape.ROW | Shape.ONE:
            return writer.cells(source, [f"t{i}" for i in writer.places], [writer.most(i) for i in writer.places])
        case Shape.TOTAL:
            return writer.cells(writer.totals(source), [writer.total(i) for i in writer.places])
        case Shape.WEIGHTED:
            shares = [writer.share(i) for i in writer.places]
            summed = writer.cells(
                writer.weighted("kept", "kept"), shares, [writer.most_shared(i) for i in writer.places]
            )
            return f"WITH {DIALECTS[dialect].common('kept', source, kept=rows.keeping)} {summed}"
