"""Interfaces to be attacked, as attacks see them: a file that answers exactly, a project that answers privately, a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from obverse.attack.targets import Person
from obverse.core.errors import BudgetExceeded, Refused
from obverse.engines.exact_tables import ExactTable, quoted
from obverse.review.imported import imported
from obverse.session.planning import Number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.targets import Ask
    from obverse.session.session import Session


def asked_of(session: Session, epsilon: Number | None = None) -> Ask:
    """Questions to a project, each paid for; over budget nothing is answered."""

    def ask(sql: str) -> float | None:
        try:
            return float(cast(float, session.ask(sql, epsilon=epsilon).value))
        except BudgetExceeded:
            return None

    return ask


def named_function(place: str) -> Callable[..., Any]:
    """The Python function `module:name`, also from the current folder."""
    try:
        return imported(place)  # type: ignore[no-any-return]
    except ImportError:
        raise Refused("no_such_function", f"there is no {place}.", fix="write module:function, importable from here") from None


def sets_in(table: ExactTable, name: str, key: str, conditions: Sequence[str]) -> NDArray[np.bool_]:
    """Who of everybody meets each condition, in the order of `people_in`; a row for each condition."""
    import numpy as np

    met = ", ".join(f"COALESCE(BOOL_OR({condition}), false)" for condition in conditions)
    found = table.rows(f"SELECT {met} FROM {quoted(name)} GROUP BY {quoted(key)} ORDER BY {quoted(key)}")
    return np.array(found, dtype=bool).reshape(len(found), len(conditions)).T


def people_in(table: ExactTable, name: str, key: str, secret: str) -> list[Person]:
    """Everybody in the file, and whether the secret holds of them."""
    sql = f"SELECT {quoted(key)}, COALESCE(BOOL_OR({secret}), false), COUNT(*) FROM {quoted(name)} GROUP BY 1 ORDER BY 1"
    found = table.rows(sql)
    if any(named is None or times > 1 for named, _, times in found):
        raise Refused("not_a_key", f"the column {key!r} does not name each row once.", fix="name a column that is a key")
    return [Person(named, bool(held)) for named, held, _ in found]
