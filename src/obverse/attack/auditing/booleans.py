"""Boolean auditing: which yes-or-no secrets follow from sums that were answered. Complete where time allows:
coNP-complete.

Linear algebra modulo a prime, many rows at once: finds what follows by adding and subtracting, proves it in integers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from obverse.attack.auditing.linear import combined
from obverse.attack.auditing.sums import Audited, Determined, Sum, Way, checked, inconsistent
from obverse.core.errors import Refused

PRIME = 2**31 - 1  # products of two remainders fit into 64 bits
TERM_MAX = 2**15 - 1  # of fractions that a remainder names uniquely: twice its square is below the prime
CELLS_MAX = 1_000_000  # of the table that is reduced: some seconds


def combinations(secrets: int, asked: Sequence[Sum]) -> dict[int, dict[int, Fraction]]:
    """Secrets that are combinations of the sums, each with one.

    Claim:   each is one, exactly.
    Proof:   the combination is found modulo a prime, read as fractions, and multiplied out in rationals.
    Assumes: nothing. A secret whose fractions are large, or whose rank the prime hides, may be missing.
    """
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
    a = PRIME
    b = remainder
    x = 0
    y = 1
    while b > TERM_MAX:
        a, b, x, y = b, a % b, y, x - a // b * y
    return Fraction(b, y) if y and abs(y) <= TERM_MAX else Fraction(0)


def _is_unit(secret: int, made: dict[int, Fraction], asked: Sequence[Sum]) -> bool:
    total: dict[int, Fraction] = {}
    for number, factor in made.items():
        for place in asked[number].of:
            total[place] = total.get(place, Fraction(0)) + factor
    return total.pop(secret, Fraction(0)) == 1 and not any(total.values())


SOLVER = "glucose4"
CONFLICTS = 5_000  # between two looks at the clock
WIDEST = 10_000  # sets beyond it take longer to write down than anybody waits; what hangs on them alone is undecided
WIDE = 40  # sets from here on are encoded by networks, whose clauses grow more slowly


def audit_booleans(secrets: int, asked: Sequence[Sum], *, time_limit_s: float = 30.0) -> Audited:
    """Which secrets every database with these answers agrees on.

    Claim:   a secret that is called determined is; one that is called free is not; the rest is called undecided.
    Proof:   by linear algebra it is a combination of answers, checked in rationals, and needs no solver. By
             satisfiability: no assignment with these answers gives it the other value (unsat, also where only some of
             the sums could be written down), or one does (a model, which also frees every other secret that it has
             otherwise than the first model, where all could). A certificate's questions alone are unsat with the other
             value.
    Assumes: the solver is right; each secret is 0 or 1.
    """
    checked(secrets, asked)
    if not all(isinstance(one.answer, int) for one in asked):
        raise Refused(
            "bad_sums", "auditing yes-or-no secrets needs whole sums.", fix="Give them, or audit real numbers."
        )
    deadline = time.monotonic() + time_limit_s
    if wrong := [number for number, one in enumerate(asked) if not 0 <= int(one.answer or 0) <= len(one.of)]:
        raise inconsistent(wrong[:1])
    used = [one for one in asked if one.of]
    numbers = [number for number, one in enumerate(asked) if one.of]
    linear = combinations(secrets, used)
    known = {secret: combined(used, made) for secret, made in linear.items()}
    if neither := [secret for secret, value in known.items() if value not in (0, 1)]:
        raise inconsistent(sorted(numbers[q] for q in linear[neither[0]]))
    with closing(_Clauses(used, deadline)) as clauses:
        values, undecided = _decided(
            clauses, {secret: int(value or 0) for secret, value in known.items()}, deadline, numbers
        )
        found = []
        for secret, value in sorted(values.items()):
            core, minimal = clauses.core(secret, value, linear.get(secret, range(len(used))), deadline)
            by: Way = "linear algebra" if secret in linear else "satisfiability"
            found.append(Determined(secret, value, tuple(numbers[q] for q in core), by, minimal))
    return Audited(secrets, len(asked), tuple(found), tuple(sorted(undecided)))


def _decided(
    clauses: _Clauses, known: dict[int, int], deadline: float, numbers: Sequence[int]
) -> tuple[dict[int, int], set[int]]:
    """Values of the determined secrets, those that are known already among them, and those that were not decided in
    time.
    """
    touched = {place for one in clauses.asked for place in one.of}
    first = clauses.model((), deadline)
    if first is None:
        return known, touched - known.keys()
    if first is False:
        core = clauses.contradiction(deadline)
        raise inconsistent([numbers[q] for q in core])
    base = first
    values = dict(known)
    waiting = sorted({place for one in clauses.asked if not _wide(one) for place in one.of} - known.keys())
    clauses.prefer([-_literal(place, base[place]) for place in waiting])
    undecided: set[int] = set()
    while waiting:
        secret = waiting.pop()
        other = clauses.model((-_literal(secret, base[secret]),), deadline)
        if other is None:
            undecided.add(secret)
        elif other is False:
            values[secret] = int(base[secret])
            clauses.learn(_literal(secret, base[secret]))
        else:
            waiting = [place for place in waiting if other[place] == base[place]]
            undecided = {place for place in undecided if other[place] == base[place]}
    return values, undecided if clauses.whole else touched - values.keys()  # a model of some of the sums frees nobody


@dataclass(slots=True)
class _Clauses:
    """The sums as clauses, twice: plain to decide with, and with a switch for each question to find certificates
    with.
    """

    asked: Sequence[Sum]
    deadline: float
    whole: bool = True  # whether all of them were written down in time
    _plain: Any = None
    _switched: Any = None
    _switches: Sequence[int] = ()

    def __post_init__(self) -> None:
        self._plain = _solver()
        self.whole = not any(map(_wide, self.asked))
        for clause, number in self._encoded():
            self._plain.add_clause(clause)
            if time.monotonic() > self.deadline and number + 1 < len(self.asked):
                self.whole = False
                return

    def close(self) -> None:
        for solver in (self._plain, self._switched):
            if solver is not None:
                solver.delete()

    def model(self, assumed: Sequence[int], deadline: float) -> list[bool] | Literal[False] | None:
        """Which secrets are 1 in an assignment; False if there is none, None if time is over."""
        if _solved(self._plain, assumed, deadline) is None:
            return None
        literals = self._plain.get_model()
        if literals is None:
            return False
        places = 1 + max((place for one in self.asked for place in one.of), default=-1)
        found = [literal > 0 for literal in literals[:places]]
        return found + [False] * (places - len(found))  # of those whom no clause names

    def prefer(self, literals: Sequence[int]) -> None:
        """Values to try first: a model that differs in much frees much."""
        self._plain.set_phases(list(literals))

    def learn(self, literal: int) -> None:
        self._plain.add_clause([literal])

    def contradiction(self, deadline: float) -> list[int]:
        return self._core([], range(len(self.asked)), deadline)[0]

    def core(self, secret: int, value: int, among: Iterable[int], deadline: float) -> tuple[list[int], bool]:
        """Some of these questions that give the secret away; whether each of them is needed."""
        return self._core([-_literal(secret, bool(value))], among, deadline)

    def _core(self, assumed: list[int], among: Iterable[int], deadline: float) -> tuple[list[int], bool]:
        if time.monotonic() >= deadline:
            return sorted(among), False
        if self._switched is None:
            self._switched = _solver()
            written = (abs(literal) for clause, _ in self._encoded() for literal in clause)
            top = 1 + max((*written, *(1 + place for one in self.asked for place in one.of)))
            self._switches = range(top, top + len(self.asked))
            for clause, number in self._encoded():
                self._switched.add_clause([*clause, -self._switches[number]])
        needed = sorted(among)
        if _solved(self._switched, [*(self._switches[q] for q in needed), *assumed], deadline) is not False:
            return needed, False
        needed = self._used()
        minimal = True
        for number in list(needed):
            rest = [self._switches[q] for q in needed if q != number]
            found = _solved(self._switched, [*rest, *assumed], deadline) if number in needed else True
            minimal = minimal and found is not None
            needed = self._used() if found is False else needed
        return needed, minimal

    def _used(self) -> list[int]:
        first = self._switches[0]
        return sorted(literal - first for literal in self._switched.get_core() or () if literal >= first)

    def _encoded(self) -> Iterator[tuple[list[int], int]]:
        """Clauses that say that each sum is what was answered, with the number of its question."""
        from pysat.card import CardEnc, EncType

        top = 1 + max((place for one in self.asked for place in one.of), default=0)
        for number, one in enumerate(self.asked):
            literals = [1 + place for place in sorted(one.of)]
            answer = int(one.answer or 0)
            if answer in (0, len(literals)):
                yield from (([literal if answer else -literal], number) for literal in literals)
            elif not _wide(one):
                kind = EncType.totalizer if len(literals) < WIDE else EncType.kmtotalizer
                encoded = CardEnc.equals(literals, bound=answer, top_id=top, encoding=kind)
                top = max(top, encoded.nv)
                yield from ((clause, number) for clause in encoded.clauses)


def _solved(solver: Any, assumed: Sequence[int], deadline: float) -> bool | None:
    """Whether there is an assignment; None when time is over. The clock is looked at between budgets of conflicts."""
    while time.monotonic() < deadline:
        solver.conf_budget(CONFLICTS)
        found: bool | None = solver.solve_limited(assumptions=list(assumed))
        if found is not None:
            return found
    return None


def _solver() -> Any:
    try:
        from pysat.solvers import Solver
    except ImportError:
        raise Refused(
            "extra_missing", "auditing yes-or-no secrets needs python-sat.", fix="pip install 'obverse[audit]'"
        ) from None
    return Solver(name=SOLVER)


def _wide(one: Sum) -> bool:
    """Whether the sum is not written down at all; none or all is, however wide."""
    return len(one.of) > WIDEST and 0 < int(one.answer or 0) < len(one.of)


def _literal(secret: int, value: bool) -> int:
    return 1 + secret if value else -1 - secret
