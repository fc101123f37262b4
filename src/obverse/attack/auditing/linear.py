"""Linear auditing: which real numbers follow from sums over sets of them. Exact; needs no answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from obverse.attack.auditing.sums import Audited, Determined, Sum, checked, inconsistent

Row = dict[int, Fraction]  # sparse; no zeros


@dataclass(slots=True)
class Basis:
    """Sums that were answered, as reduced rows: each has a leading secret that no other row has.

    Claim:   a real secret is determined if and only if one of the rows is that secret alone.
    Proof:   secret i is determined iff the unit vector of i lies in the span of the questions (else the null space has
             a vector that moves it). In reduced form a vector of the span is the sum of the rows of its leading
             secrets, so the unit vector, which has one entry, is a row itself.
    Assumes: secrets may be any real numbers. All arithmetic is rational.
    """

    rows: dict[int, Row] = field(default_factory=dict)  # by leading secret
    made_of: dict[int, Row] = field(default_factory=dict)  # the same, as combinations of questions

    def with_sum(self, of: Iterable[int], number: int) -> Basis:
        """The basis with one more question; this one stays as it is."""
        row, made = self._reduced(of, number)
        if not row:
            return self
        lead = min(row)
        factor = 1 / row[lead]
        row, made = ({place: entry * factor for place, entry in one.items()} for one in (row, made))
        rows = {}
        made_of = {}
        for other, its in self.rows.items():
            rows[other] = its
            made_of[other] = self.made_of[other]
            if lead in its:
                rows[other] = dict(its)
                made_of[other] = dict(self.made_of[other])
                _add(rows[other], row, -its[lead])
                _add(made_of[other], made, -its[lead])
        return Basis({**rows, lead: row}, {**made_of, lead: made})

    def combination(self, of: Iterable[int], number: int) -> Row | None:
        """The questions, with this one, that add up to nothing; None where it asks for something new."""
        row, made = self._reduced(of, number)
        return None if row else made

    def _reduced(self, of: Iterable[int], number: int) -> tuple[Row, Row]:
        """What is left of a sum without what the rows tell, and of which questions that is made."""
        row: Row = dict.fromkeys(of, Fraction(1))
        made: Row = {number: Fraction(1)}
        for lead in [place for place in row if place in self.rows]:
            factor = -row[lead]
            _add(row, self.rows[lead], factor)
            _add(made, self.made_of[lead], factor)
        return row, made

    @property
    def determined(self) -> dict[int, Row]:
        """Each secret that follows, as a combination of questions."""
        return {lead: self.made_of[lead] for lead, row in self.rows.items() if len(row) == 1}


def audit_reals(secrets: int, asked: Sequence[Sum]) -> Audited:
    """Which secrets follow, whatever numbers they are, with the questions that give each away."""
    checked(secrets, asked)
    basis = Basis()
    for number, one in enumerate(asked):
        same = basis.combination(one.of, number)
        if same is not None and combined(asked, same):
            raise inconsistent(sorted(same))
        basis = basis.with_sum(one.of, number)
    found = [
        Determined(secret, combined(asked, made), _needed(secret, asked, sorted(made)), "linear algebra")
        for secret, made in sorted(basis.determined.items())
    ]
    return Audited(secrets, len(asked), tuple(found))


def combined(asked: Sequence[Sum], made: Row) -> int | Fraction | None:
    """What a combination of the answers comes to; None where one of them is not told."""
    total = Fraction(0)
    for number, factor in made.items():
        answer = asked[number].answer
        if answer is None:
            return None
        total += factor * answer
    return int(total) if total.denominator == 1 else total


def _needed(secret: int, asked: Sequence[Sum], questions: list[int]) -> tuple[int, ...]:
    """Questions of which none can be left out: each is tried."""
    for left_out in list(questions):
        rest = [number for number in questions if number != left_out]
        basis = Basis()
        for number in rest:
            basis = basis.with_sum(asked[number].of, number)
        if secret in basis.determined:
            questions = rest
    return tuple(questions)


def _add(row: Row, other: Row, factor: Fraction) -> None:
    for place, entry in other.items():
        changed = row.get(place, Fraction(0)) + factor * entry
        if changed:
            row[place] = changed
        else:
            row.pop(place, None)
