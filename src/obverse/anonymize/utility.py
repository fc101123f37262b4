"""What was lost: discernibility, average class, and the loss of each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from obverse.anonymize.recoding import Recoded


@dataclass(frozen=True, slots=True)
class Utility:
    """Of the released table; `columns` are losses from 0, as it was, to 1, nothing left, suppressed rows included.

    Classes are counted by people; `people_suppressed` are those of whom a row was left out. They are none where each row is
    taken as a person.
    """

    rows: int
    suppressed: int
    classes: int
    discernibility: float
    average_class: float
    average_over_k: float | None
    columns: dict[str, float]
    people: int | None = None
    people_suppressed: int | None = None

    @property
    def sentences(self) -> dict[str, str]:
        lost = max(self.columns.items(), key=lambda item: item[1], default=("", 0.0))
        average = f"{self.average_class:.3g}" if self.average_class < 100 else f"{self.average_class:,.0f}"
        share = self.suppressed / max(self.rows + self.suppressed, 1)
        whose = "" if self.people_suppressed is None else f" of {self.people_suppressed:,} people"
        alike = "rows" if self.people is None else "people"
        return {
            "suppressed": f"{self.suppressed:,} rows{whose} ({100 * share:.3g} %) were left out.",
            "average_class": f"There are {self.classes:,} classes of {average} {alike} on average.",
            "discernibility": "The sum over rows of how many rows each cannot be told from; a suppressed one counts as all.",
            "columns": f"Most was lost in {lost[0]}: {100 * lost[1]:.3g} % of what it told." if lost[0] else "",
        }

    def as_json(self) -> dict[str, Any]:
        told = {field: getattr(self, field) for field in self.__slots__}
        if self.people is None:
            del told["people"], told["people_suppressed"]
        return told | {"sentences": self.sentences}


def utility(recoded: Recoded, k: int | None) -> Utility:
    found = recoded.classes()
    sizes = found.rows.astype(np.float64)
    classes, rows, suppressed = int((sizes > 0).sum()), int(sizes.sum()), recoded.suppressed
    average = float(found.sizes.sum()) / classes if classes else 0.0
    whose = (None, None) if recoded.table.persons is None else (recoded.people, recoded.people_suppressed)
    everyone = max(rows + suppressed, 1)
    columns = {}
    for c in recoded.columns:
        people = np.bincount(c.places, weights=recoded.rows, minlength=len(c.labels))  # whole numbers, so in any order
        columns[c.name] = float(((c.spread * people).sum() + suppressed) / everyone)
    discernibility = float((sizes**2).sum()) + float(suppressed) * (rows + suppressed)
    return Utility(rows, suppressed, classes, discernibility, average, average / k if k else None, columns, *whose)
