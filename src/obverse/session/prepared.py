"""Prepared: a question that was read, priced and printed, before anything is charged or touched."""

from __future__ import annotations

from dataclasses import dataclass

from obverse.answers.answer import ColumnInfo
from obverse.plan.expressions import refs
from obverse.plan.query import PublicQuestion, Question
from obverse.session.planning import Planned


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question and its plan; None where nothing private is read."""

    question: Question | PublicQuestion
    facts: str  # the fingerprint of the declarations that it was planned under
    planned: Planned | None = None

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """The columns that the answer will have, whatever the data."""
        if isinstance(self.question, PublicQuestion):
            return tuple(ColumnInfo(o.name, kind, "value") for o, kind in zip(self.question.outputs, self.question.types))
        told = [(o, any(ref.name.startswith("agg") for ref in refs(o.expr))) for o in self.question.outputs]
        if self.planned is not None and self.planned.costed.series is not None:  # which pass is told, not how many they are
            told = [(o, aggregated) for o, aggregated in told if not aggregated]
        return tuple(ColumnInfo(o.name, o.expr.facts.type, "value" if aggregated else "key") for o, aggregated in told)
