"""What k, l, t, risks and attacks count: people, named by a column or by the unit that a project declares; or rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

EACH_ROW = "Each row is taken as a person: no column was named that says whose a row is."
DECLARED = "Each row is a person, as the project declares."


@dataclass(frozen=True, slots=True)
class Counted:
    """`by` names whose a row is, and is nothing where each row is a person; `nobody` rows name nobody.

    Of these nothing can be shown: they may be anybody's. `kept` says that they are still in the table.
    """

    rows: int
    people: int
    by: str | None = None
    declared: bool = False
    nobody: int = 0
    kept: bool = False

    @property
    def sentence(self) -> str:
        if self.by is None:
            return DECLARED if self.declared else EACH_ROW
        declared = ", the declared unit" if self.declared else ""
        said = f"People are counted, named by {self.by}{declared}: {self.people:,} people with {self.rows:,} rows; in a class"
        said += " a person counts once."
        if not self.nobody:
            return said
        some = "1 row names" if self.nobody == 1 else f"{self.nobody:,} rows name"
        return f"{said} {some} nobody: {'nothing is shown of them' if self.kept else 'they were left out'}."

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"what": "rows" if self.by is None else "people", "by": self.by, "declared": self.declared}
        return told | {"rows": self.rows, "people": self.people, "nobody": self.nobody, "sentence": self.sentence}
