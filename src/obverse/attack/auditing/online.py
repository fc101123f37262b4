"""Auditors that sit before a database and grant or deny each sum: two that are simulatable, and a naive one that is
not.

An auditor is simulatable if its decision is computed from what the asker knows already: the questions, and the answers
given so far. Then a denial tells nothing. The naive auditor looks at the true answer first, and its denials give
secrets away.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from obverse.attack.auditing.linear import Basis
from obverse.core.errors import Refused, invariant

WORLDS_BITS = 20  # secrets up to which all databases are listed


@dataclass(slots=True)
class LinearAuditor:
    """Real secrets: a sum is denied if with those granted before it would determine a value.

    Claim:   no secret is ever determined by the answers and the denials together.
    Proof:   the decision takes neither answers nor secrets, so a denial can be computed by the asker. The answers
             determine a real secret if and only if Basis says so, and no sum is granted after which it does.
    Assumes: secrets may be any real numbers. Bounds that are publicly known, or whole numbers, can give away more.
    """

    basis: Basis = field(default_factory=Basis)
    asked: int = 0

    def grants(self, of: Iterable[int]) -> bool:
        """Whether the sum over these secrets is answered; remembers it if so."""
        after = self.basis.with_sum(of, self.asked)
        self.asked += 1
        if after.determined:
            return False
        self.basis = after
        return True


@dataclass(slots=True)
class BooleanAuditor:
    """Yes-or-no secrets, drawn independently with a known chance `prior`: a sum is denied if its answer might tell too
    much.

    There an answer of none or all always determines, so certainty cannot be the measure. Told too much means: for some
    secret the chance of yes, or that of no, was multiplied by something outside 1 - widening .. 1 / (1 - widening).

    Claim:   over secrets drawn from the prior and `rounds` questions, however chosen, that ever happens with chance at
             most `risk`. Denials tell nothing.
    Proof:   Kenthapadi, Mishra and Nissim 2005, with the posterior computed exactly by listing all databases. A sum is
             granted only if, given the answers so far, its answer tells too much with chance at most risk / rounds; the
             union bound over the rounds. The decision takes only the questions and answers, so it is simulatable.
    Assumes: the asker knows no more than the prior, and asks at most `rounds` questions (later ones are denied).
    """

    secrets: int
    prior: float = 0.5
    widening: float = 0.9
    risk: float = 0.2
    rounds: int = 10
    asked: int = 0
    _worlds: NDArray[np.bool_] = field(init=False)
    _chances: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        shares = (self.prior, self.widening, self.risk)
        invariant(all(0 < share < 1 for share in shares) and self.rounds >= 1, "shares lie between zero and one")
        if not 1 <= self.secrets <= WORLDS_BITS:
            raise Refused(
                "too_many_secrets", f"this auditor lists all databases, so it takes up to {WORLDS_BITS} secrets."
            )
        numbers = np.arange(1 << self.secrets)
        self._worlds = (numbers[:, None] >> np.arange(self.secrets) & 1).astype(np.bool_)
        ones = self._worlds.sum(axis=1)
        self._chances = self.prior**ones * (1 - self.prior) ** (self.secrets - ones)

    def grants(self, of: Iterable[int]) -> bool:
        """Whether the sum over these secrets is answered; uses no secret. Tell the answer by `answered`."""
        self.asked += 1
        if self.asked > self.rounds:
            return False
        sums = self._worlds[:, sorted(of)].sum(axis=1)
        total = self._chances.sum()
        told = 0.0
        for answer in np.unique(sums):
            there = sums == answer
            weight = self._chances[there]
            yes = weight @ self._worlds[there] / weight.sum()
            if self._tells(yes):
                told += float(weight.sum() / total)
        return told <= self.risk / self.rounds

    def answered(self, of: Iterable[int], answer: int) -> None:
        """Databases with another answer are out."""
        there = self._worlds[:, sorted(of)].sum(axis=1) == answer
        if not there.any():  # with no database left every question would seem harmless
            raise Refused("inconsistent_sums", "no secrets have these answers.", fix="Check the sets and the sums.")
        self._worlds = self._worlds[there]
        self._chances = self._chances[there]

    def _tells(self, yes: NDArray[np.float64]) -> bool:
        low = 1 - self.widening
        high = 1 / (1 - self.widening)
        ratios = (yes / self.prior, (1 - yes) / (1 - self.prior))
        return any(bool((one < low).any() or (one > high).any()) for one in ratios)


@dataclass(slots=True)
class NaiveAuditor:
    """Denies a sum if its true answer, with those given before, determines a secret.

    Denials disclose: see `consistent`.
    """

    secrets: Sequence[int]
    given: list[tuple[frozenset[int], int]] = field(default_factory=list)

    def asks(self, of: Iterable[int]) -> int | None:
        """The answer, or None for a denial."""
        places = frozenset(of)
        answer = sum(self.secrets[i] for i in places)
        after = [*self.given, (places, answer)]
        fit = [w for w in itertools.product((0, 1), repeat=len(self.secrets)) if _fits(w, after)]
        if any(len({world[i] for world in fit}) == 1 for i in range(len(self.secrets))):
            return None
        self.given = after
        return answer


def consistent(secrets: int, heard: Sequence[tuple[frozenset[int], int | None]]) -> list[tuple[int, ...]]:
    """Databases on which a naive auditor answers and denies exactly so: what an asker learns from its denials."""
    found = []
    for world in itertools.product((0, 1), repeat=secrets):
        auditor = NaiveAuditor(world)
        if all(auditor.asks(of) == answer for of, answer in heard):
            found.append(world)
    return found


def _fits(world: Sequence[int], given: Sequence[tuple[frozenset[int], int]]) -> bool:
    return all(sum(world[i] for i in of) == answer for of, answer in given)
