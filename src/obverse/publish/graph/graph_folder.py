"""The folder of a released network: written, opened again and checked by itself. No data, no ledger, no project."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.core.errors import InvariantBroken, Refused
from obverse.core.types import Type
from obverse.core.units import Neighbours
from obverse.plan.strategy.graph.pricing import part_loss
from obverse.publish.base import Law
from obverse.publish.folder.card import Card
from obverse.publish.folder.check_text import complete_law, statement_law
from obverse.publish.folder.claimed import within_claim
from obverse.publish.folder.folder import Contents, Save, Told, put
from obverse.publish.folder.sheets import Sheet
from obverse.publish.graph.figures import pictures
from obverse.publish.graph.graph_card import graph_card
from obverse.publish.graph.graph_metadata import Paid, facts_of, paid_of, parts_of
from obverse.publish.graph.graph_spread import Rumour
from obverse.publish.graph.graph_tables import Measured
from obverse.publish.graph.method import GraphMethod, errors_sheet, measurement_sheet, summary

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class GraphFolder:
    """All of a released network."""

    method: GraphMethod
    measured: Measured
    rumours: tuple[Rumour, ...]
    metadata: dict[str, Any]

    def sheets(self) -> Iterator[tuple[str, Sheet]]:
        for sheet in self.method.sheets(self.measured, self.rumours):
            yield "data", sheet
        for place in range(len(self.measured.parts)):
            yield "measurements", measurement_sheet(self.measured, place)
        yield "", errors_sheet(self.measured)


def write(made: GraphFolder, out: Path, save: Save, told: Told = lambda share: None) -> None:
    """Everything but verify.json, which is made of what was written."""
    drawn = pictures(made.measured, made.rumours)
    said = statement(made, drawn)
    put(out, Contents(list(made.sheets()), drawn, made.metadata, said), save, told)


def statement(made: GraphFolder, drawn: dict[str, tuple[str, str]]) -> Card:
    listed = [(file, title) for file, (title, _) in drawn.items()]
    return graph_card(made.metadata, made.measured, summary(made.measured, made.rumours), made.rumours, listed)


def graph_laws(out: Path, fields: dict[str, Any]) -> list[Law]:
    """Everything that can be checked of a network's folder without the data; what cannot be read is refused."""
    try:
        method, measured, paid = GraphMethod.from_json(fields["method"]), measured_in(out, fields), paid_of(fields)
        facts, sized = measured.facts, complete(measured)
        cost = sum((part_loss(part, facts, paid.accounting) for part in measured.parts), Fraction(0))
        found = [Law("sizes", sized, "every measurement has all of its entries"), _price(cost, paid, fields["claim"])]
        if not sized:
            return found
        made = GraphFolder(method, measured, method.rumours(measured), fields)
        sheets = [(place, sheet, _rows(out / place / f"{sheet.name}.csv")) for place, sheet in made.sheets()]
        drawn = pictures(measured, made.rumours)
        said = [statement_law(out, fields, statement(made, drawn)), complete_law(out, made.sheets(), drawn)]
    except OSError as error:
        raise Refused("bad_release", "a file of the release is missing.", place=str(error.filename)) from None
    except (ValueError, KeyError, TypeError, InvariantBroken) as error:
        why = type(error).__name__
        raise Refused("bad_release", "a file of the release cannot be read.", place=str(out), why=why) from None
    same = [sheet.name for _, sheet, rows in sheets if not _same(sheet, rows)]
    words = "tables follow from the measurements" if not same else f"not from the measurements: {', '.join(same)}"
    counted = _counts([rows for place, _, rows in sheets if place == "data"])
    return [*found, Law("tables", not same, words), counted, *said]


def measured_in(out: Path, fields: dict[str, Any]) -> Measured:
    """What was measured, as the folder tells it; errors of files and of texts are the caller's."""
    import numpy as np

    facts = facts_of(fields["network"])
    parts = parts_of(fields, facts)
    empty = Measured(facts, parts, tuple(np.empty(0, dtype=np.int64) for _ in parts))
    values = []
    for place in range(len(parts)):
        rows = _rows(out / "measurements" / f"{measurement_sheet(empty, place).name}.csv")
        values.append(np.array([int(row["value"]) for row in rows], dtype=np.int64))
    return Measured(facts, parts, tuple(values))


def complete(measured: Measured) -> bool:
    assert measured.values is not None
    return all(len(one) == part.kernel.entries(measured.facts) for one, part in zip(measured.values, measured.parts))


def opened_graph(out: Path, fields: dict[str, Any]) -> tuple[GraphMethod, Measured]:
    """The method and what was measured; what cannot be read is refused."""
    try:
        method, measured = GraphMethod.from_json(fields["method"]), measured_in(out, fields)
    except OSError as error:
        raise Refused("bad_release", "a file of the release is missing.", place=str(error.filename)) from None
    except (ValueError, KeyError, TypeError, InvariantBroken) as error:
        why = type(error).__name__
        raise Refused("bad_release", "a file of the release cannot be read.", place=str(out), why=why) from None
    if not complete(measured):
        raise Refused("bad_release", "a measurement of the release is not complete.", place=str(out))
    return method, measured


def _price(cost: Fraction, paid: Paid, claim: dict[str, Any]) -> Law:
    name = "epsilon" if paid.accounting == "pure" else "rho"
    claimed = within_claim(claim, paid.accounting, Neighbours.ADD_REMOVE.value, paid.loss)
    told = f"the noise costs {name} {float(cost):.6g}, at most {float(paid.loss):.6g} is claimed"
    return Law("price", cost <= paid.loss and claimed, told if claimed else f"{told} here, and less in the statement")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _same(sheet: Sheet, rows: list[dict[str, str]]) -> bool:
    """Whether the file holds what its columns say; numbers to a part in a million."""
    import numpy as np

    many = len(next(iter(sheet.columns.values())))
    if len(rows) != many or (rows and list(rows[0]) != list(sheet.columns)):
        return False
    for name, column in sheet.columns.items():
        missing = np.ma.getmaskarray(column)
        for row, value, gone in zip(rows, np.ma.getdata(column), missing):
            if gone or sheet.types[name] is Type.TEXT:
                if row[name] != ("" if gone else str(value)):
                    return False
            elif not math.isclose(float(row[name]), float(value), rel_tol=CLOSE, abs_tol=CLOSE):
                return False
    return True


def _counts(tables: list[list[dict[str, str]]]) -> Law:
    """Counts are whole and not negative; shares that add up over degrees never fall."""
    counts = [row["count"] for rows in tables for row in rows if "count" in row]
    holds = all(text.isascii() and text.isdigit() for text in counts)
    for rows in tables:
        shares = [(row["degree"], float(row["share_at_most"])) for row in rows if "share_at_most" in row]
        holds &= all(b[0] == "0" or a[1] <= b[1] + CLOSE for a, b in pairwise(shares))
    return Law("counts", holds, "counts are whole numbers without negatives, and cumulative shares never fall")
