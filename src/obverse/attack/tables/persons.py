"""Whose rows a table's are: a person counts once in a class, however many rows they have there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.attack.tables.classes import Classes, classes, coded, column, distinct, joined, rows, text
from obverse.core.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from obverse.attack.tables.classes import Codes
    from obverse.attack.targets import Table


@dataclass(frozen=True, slots=True)
class People:
    """Rows that name somebody, by class, with whose they are and what secret they hold; or all rows, each a person."""

    found: Classes
    whose: Codes
    secrets: Codes
    texts: tuple[str | None, ...]  # of the secrets
    noun: str  # what a trial is, in the plural

    def sizes(self) -> Codes:
        """How many different people each class has."""
        return distinct(self.found.codes, self.whose, len(self.found))

    def holders(self) -> tuple[Codes, Codes]:
        """The class of each pair of class and secret, and how many different people hold it there."""
        pairs = joined([self.found.codes, self.secrets], len(self.whose))
        return self.found.codes[pairs.first], distinct(pairs.codes, self.whose, len(pairs))


def people(table: Table, on: Sequence[str], secret: str, person: str | None) -> People:
    """The table's rows; those that name nobody are nobody's secret, and are left out."""
    import numpy as np

    if person is None:
        value = coded(column(table, secret))
        return People(classes(table, on), np.arange(rows(table)), value.codes, value.texts, "rows")
    who = column(table, person)
    named = np.array([text(one) is not None for one in who.tolist()], dtype=bool)
    if not named.any():
        raise Refused("no_rows", "the table has no rows that name a person.")
    kept = {name: values[named] for name, values in table.items()}
    value = coded(column(kept, secret))
    return People(classes(kept, on), _each(who[named]), value.codes, value.texts, "people")


def persons(table: Table, person: str | None) -> Codes:
    """A number for the person of each row; a row that names nobody is somebody else's, and without a column each row is."""
    import numpy as np

    if person is None:
        return np.arange(rows(table))
    who = column(table, person)
    found = _each(who)
    nobody = np.array([text(one) is None for one in who.tolist()], dtype=bool)
    found[nobody] = len(found) + np.arange(int(nobody.sum()))
    return np.unique(found, return_inverse=True)[1]


def _each(names: NDArray[Any]) -> Codes:
    """A number for each name, to the letter; other columns are compared without spaces around."""
    import numpy as np

    seen: dict[Any, int] = {}
    return np.fromiter((seen.setdefault(one, len(seen)) for one in names.tolist()), dtype=np.int64, count=len(names))
