"""Linear algebra modulo a prime, many rows at once: finds what follows by adding and subtracting, proves it in integers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from obverse.attack.auditing.sums import Sum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PRIME = 2**31 - 1  # products of two remainders fit into 64 bits
TERM_MAX = 2**15 - 1  # of fractions that a remainder names uniquely: twice its square is below the prime
CELLS_MAX = 1_000_000  # of the table that is reduced: some seconds


def combinations(secrets: int, asked: Sequence[Sum]) -> dict[int, dict[int, Fraction]]:
    """Secrets that are combinations of the sums, each with one.

    Claim:   each is one, exactly.
    Proof:   the combination is found modulo a prime, read as fractions, and multiplied out in rationals.
    Assumes: nothing. A secret whose fractions are large, or whose rank the prime hides, may be missing.
    """
    import numpy as np

    if not asked or len(asked) * (secrets + len(asked)) > CELLS_MAX:
        return {}
    table = np.zeros((len(asked), secrets + len(asked)), dtype=np.int64)
    for number, one in enumerate(asked):
        table[number, list(one.of)] = 1
        table[number, secrets + number] = 1
    _reduce(table, secrets)
    alone = np.flatnonzero(np.count_nonzero(table[:, :secrets], axis=1) == 1)
    found: dict[int, dict[int, Fraction]] = {}
    for row in alone:
        secret = int(np.flatnonzero(table[row, :secrets])[0])
        made = {int(q): _fraction(int(table[row, secrets + q])) for q in np.flatnonzero(table[row, secrets:])}
        if all(made.values()) and _is_unit(secret, made, asked):
            found[secret] = made
    return found


def _reduce(table: NDArray[np.int64], columns: int) -> None:
    """To reduced rows, in place."""
    import numpy as np

    top = 0
    for column in range(columns):
        below = np.flatnonzero(table[top:, column])
        if not len(below):
            continue
        pivot = top + int(below[0])
        table[[top, pivot]] = table[[pivot, top]]
        table[top] = table[top] * pow(int(table[top, column]), -1, PRIME) % PRIME
        others = np.flatnonzero(table[:, column])
        others = others[others != top]
        table[others] = (table[others] - table[others, column][:, None] * table[top] % PRIME) % PRIME
        top += 1
        if top == len(table):
            return


def _fraction(remainder: int) -> Fraction:
    """The fraction with small terms that this remainder stands for; zero if there is none."""
    a, b, x, y = PRIME, remainder, 0, 1
    while b > TERM_MAX:
        a, b, x, y = b, a % b, y, x - a // b * y
    return Fraction(b, y) if y and abs(y) <= TERM_MAX else Fraction(0)


def _is_unit(secret: int, made: dict[int, Fraction], asked: Sequence[Sum]) -> bool:
    total: dict[int, Fraction] = {}
    for number, factor in made.items():
        for place in asked[number].of:
            total[place] = total.get(place, Fraction(0)) + factor
    return total.pop(secret, Fraction(0)) == 1 and not any(total.values())
