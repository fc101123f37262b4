"""Sums of integer terms: each unit's contribution clamped or weighted, then added up and saturated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from obverse.plan.dialects.duckdb import DuckDB
from obverse.plan.measure import WEIGHT_BITS, Measure, unit_range
from obverse.plan.rows import Rows

SATURATED = 2**62


def saturated(value: str) -> str:
    """A clamp is a contraction, so saturating keeps every sensitivity."""
    return f"CAST(LEAST(GREATEST(COALESCE(SUM({value}), 0), -{SATURATED}), {SATURATED}) AS BIGINT)"


@dataclass(frozen=True, slots=True)
class Sums:
    """Prints what is added up over rows with u, k and t0 ..."""

    rows: Rows
    d: DuckDB

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.rows.measures

    @property
    def places(self) -> range:
        return range(len(self.measures))

    def totals(self, source: str, places: Sequence[int] | None = None) -> str:
        """No groups: each unit's own totals."""
        chosen = self.places if places is None else places
        kept = ", ".join(f"COUNT(t{i}) AS n{i}, SUM(t{i}) AS s{i}" for i in chosen)
        return f"(SELECT u, {kept} FROM {source} AS r GROUP BY u)"

    def total(self, i: int) -> str:
        """A unit's total, clamped to its cap."""
        measure = self.measures[i]
        cap, term = measure.cap, measure.term
        if term.kind == "count" and not measure.paired:
            return f"LEAST(n{i}, {cap})"
        if not measure.paired:
            low, high = unit_range(measure, self.rows.cap)
            return f"CASE WHEN s{i} < {low} THEN {low} WHEN s{i} > {high} THEN {high} ELSE s{i} END"
        scale = 1 << measure.bits
        product = f"{self.d.wide(f's{i}')} * {self.rows.cap * scale}"
        over = self.d.whole_quotient(f"({product})", f"n{i}")
        return f"CASE WHEN n{i} <= {self.rows.cap} THEN {self.d.wide(f's{i}')} * {scale} ELSE {over} END"

    def weighted(self, source: str, again: str, places: Sequence[int] | None = None) -> str:
        """Groups: integer weights per unit, so that its total weight stays under the cap."""
        chosen = self.places if places is None else places
        weights = ", ".join(f"{self.weight(i)} AS w{i}" for i in chosen)
        units = f"(SELECT u, {weights} FROM {source} AS r GROUP BY u)"
        return f"(SELECT * FROM {again} AS r JOIN {units} AS g USING (u))"

    def weight(self, i: int) -> str:
        measure = self.measures[i]
        own = measure.term.kind in ("sum", "squares", "product")
        weighed = own and not measure.paired
        size = f"SUM(ABS(CAST(t{i} AS BIGINT)))" if weighed else f"COUNT(t{i})"
        cap = measure.cap if weighed else self.rows.cap
        whole = 1 << WEIGHT_BITS
        over = self.d.whole_quotient(self.d.wide(str(whole * cap)), size)
        if not own:
            whole >>= self.spare(i)  # rows count as one, so a weight is rounded once for all
            over = self.d.whole_quotient(over, str(1 << self.spare(i)))
        return f"CASE WHEN COALESCE({size}, 0) <= {cap} THEN {whole} ELSE CAST({over} AS BIGINT) END"

    def spare(self, i: int) -> int:
        return WEIGHT_BITS - self.measures[i].bits

    def share(self, i: int) -> str:
        """A row's weighted term, rounded towards zero."""
        measure = self.measures[i]
        if measure.term.kind in ("tree", "choice"):
            return f"w{i}"
        if measure.term.kind == "count":
            return f"w{i}" if measure.term.expr is None else f"CASE WHEN t{i} IS NULL THEN NULL ELSE w{i} END"
        return self.d.whole_quotient(f"(CAST(t{i} AS BIGINT) * w{i})", str(1 << self.spare(i)))

    def cells(self, source: str, values: list[str]) -> str:
        """Sum the values per cell."""
        sums = ", ".join(f"{saturated(v)} AS m{i}" for i, v in enumerate(values))
        if not self.rows.root.child.keys:
            return f"SELECT CAST(0 AS BIGINT) AS k, {sums} FROM {source} AS c"
        return f"SELECT k, {sums} FROM {source} AS c GROUP BY k"
