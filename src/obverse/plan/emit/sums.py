"""Sums of integer terms: each unit's contribution clamped or weighted, then added up and saturated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from obverse.plan.dialects.base import TERM_MOST, Dialect
from obverse.plan.emit.rows import Rows
from obverse.plan.measures import WEIGHT_BITS, Measure, bits_under, unit_range

SATURATED = 2**62


def saturated(total: str) -> str:
    """A clamp is a contraction, so saturating keeps every sensitivity."""
    return f"CAST(LEAST(GREATEST(COALESCE({total}, 0), -{SATURATED}), {SATURATED}) AS BIGINT)"


@dataclass(frozen=True, slots=True)
class Sums:
    """Prints what is added up over rows with u, k and t0 ..."""

    rows: Rows
    d: Dialect

    @property
    def measures(self) -> tuple[Measure, ...]:
        return self.rows.measures

    @property
    def places(self) -> range:
        return range(len(self.measures))

    def totals(self, source: str, places: Sequence[int] | None = None) -> str:
        """No groups: each unit's own totals."""
        chosen = self.places if places is None else places
        kept = ", ".join(f"{self.count(i)} AS n{i}, {self.d.total(f't{i}', self.most(i))} AS s{i}" for i in chosen)
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
        over = self.d.whole_quotient(f"({product})", f"n{i}", wide=True)
        return f"CASE WHEN n{i} <= {self.rows.cap} THEN {self.d.wide(f's{i}')} * {scale} ELSE {over} END"

    def weighted(self, source: str, again: str, places: Sequence[int] | None = None) -> str:
        """Groups: integer weights per unit, so that its total weight stays under the cap."""
        chosen = self.places if places is None else places
        weights = ", ".join(f"{self.weight(i)} AS w{i}" for i in chosen if self.weighing(i) == i)
        units = self.d.once(f"(SELECT u, {weights} FROM {source} AS r GROUP BY u)")
        return f"(SELECT * FROM {again} AS r JOIN {units} AS g USING (u))"

    def weight(self, i: int) -> str:
        measure = self.measures[i]
        weighed = measure.term.kind in ("sum", "squares", "product") and not measure.paired
        value = f"t{i}" if measure.term.lo >= 0 else f"ABS(CAST(t{i} AS BIGINT))"
        size = self.d.total(value, self.most(i)) if weighed else self.count(self.counted(i))
        cap = measure.cap if weighed else self.rows.cap
        return self.weight_of(size, cap, 0 if weighed else WEIGHT_BITS - self.kept_bits(i))

    def weight_of(self, size: str, cap: int, spare: int) -> str:
        """cap / size where the unit has more than its cap, else one; less `spare` bits. In 64 bits where they hold the cap."""
        whole = 1 << WEIGHT_BITS
        divisor = size if size.startswith("COUNT") else f"CAST(LEAST({size}, {SATURATED}) AS BIGINT)"
        over = self.d.whole_quotient(f"CAST({whole * cap} AS BIGINT)", divisor)
        if whole * cap >= SATURATED:
            over = f"CAST({self.d.whole_quotient(self.d.wide(str(whole * cap)), size, wide=True)} AS BIGINT)"
        over = self.d.whole_quotient(over, str(1 << spare)) if spare else over
        return f"CASE WHEN COALESCE({size}, 0) <= {cap} THEN {whole >> spare} ELSE {over} END"

    def count(self, i: int) -> str:
        """How many rows have a term: all, where it is never NULL, and then it need not be computed for this."""
        term = self.measures[i].term
        may_lack = any(expr is not None and expr.facts.nullable for expr in (term.expr, term.other))
        return f"COUNT(t{i})" if may_lack else "COUNT(*)"

    def counted(self, i: int) -> int:
        """The first measure whose term is there whenever this one's is, so that rows are counted once."""
        term = self.measures[i].term
        if term.other is not None:
            return i
        alike = ("count", "sum", "squares", "tree")
        return next((j for j, m in enumerate(self.measures[:i]) if m.term.kind in alike and m.term.expr == term.expr), i)

    def weighing(self, i: int) -> int:
        """The first sum with the same weight: those of an average and of its count are one."""
        if not self.measures[i].summed:
            return i  # each tree and each choice has its own reading
        return next(j for j in self.places if self.measures[j].summed and self.weight(j) == self.weight(i))

    def spare(self, i: int) -> int:
        """Bits of a weighted term that are cut off."""
        return self.kept_bits(i) - self.measures[i].bits

    def kept_bits(self, i: int) -> int:
        """Bits of a weight. Where rows count as one, and where a term is divided by their count, it is the count's own."""
        measure = self.measures[i]
        if measure.term.kind in ("sum", "squares", "product"):
            return bits_under(self.rows.cap) if measure.paired else WEIGHT_BITS
        return measure.bits

    def share(self, i: int) -> str:
        """A row's weighted term, rounded towards zero."""
        measure, weight = self.measures[i], f"w{self.weighing(i)}"
        if measure.term.kind in ("tree", "choice"):
            return weight
        if measure.term.kind == "count":
            return weight if measure.term.expr is None else f"(t{i} * {weight})"
        weighted, spare = f"(CAST(t{i} AS BIGINT) * {weight})", self.spare(i)
        if not spare:
            return weighted
        return self.d.shifted(weighted, spare) if measure.term.lo >= 0 else self.d.whole_quotient(weighted, str(1 << spare))

    def most(self, i: int) -> int:
        """The magnitude of a row's term."""
        return self.measures[i].term.magnitude

    def most_shared(self, i: int) -> int:
        """The magnitude of a row's weighted term."""
        counts = self.measures[i].term.kind in ("tree", "choice", "count")
        return 1 << self.kept_bits(i) if counts else TERM_MOST

    def cells(self, source: str, values: list[str], mosts: list[int] | None = None) -> str:
        """Sum the values per cell; `mosts` are their magnitudes."""
        sizes = mosts if mosts is not None else [TERM_MOST] * len(values)
        named = {f"m{i}": self.d.total(value, most) for i, (value, most) in enumerate(zip(values, sizes))}
        if self.rows.late:
            return self.late_cells(source, named)
        sums = ", ".join(f"{saturated(total)} AS {name}" for name, total in named.items())
        if not self.rows.root.child.keys:
            return f"SELECT CAST(0 AS BIGINT) AS k, {sums} FROM {source} AS c"
        return f"SELECT k, {sums} FROM {source} AS c WHERE k IS NOT NULL GROUP BY k"

    def late_cells(self, source: str, totals: Mapping[str, str], *more: str) -> str:
        """Sums by the keys' values, whose cells are looked up then; values of one cell (NULL and undeclared ones) join."""
        keys = self.rows.root.public.keys
        by = ", ".join([f"v{n}" for n in range(len(keys))] + list(more))
        sums = ", ".join(f"{total} AS {name}" for name, total in totals.items())
        added = f"(SELECT {by}, {sums} FROM {source} AS c GROUP BY {by})"
        rest = "".join(f", {name}" for name in (*more, *totals))
        cell, joins = self.rows.cell_of_values()
        placed = f"(SELECT {cell} AS k{rest} FROM {added} AS i{joins})"
        joined = any(self.rows.as_it_lies(key) and self.rows.shares(key) for key in keys)
        figures = ", ".join(f"{saturated(f'SUM({name})' if joined else name)} AS {name}" for name in totals)
        cell = ", ".join(["k", *more])
        first = next(iter(totals))  # read by the condition, so that no optimizer asks it of every row before adding up
        there = " AND ".join(f"CASE WHEN {first} IS NULL THEN {x} ELSE {x} END IS NOT NULL" for x in ("k", *more))
        return f"SELECT {cell}, {figures} FROM {placed} AS o WHERE {there}{f' GROUP BY {cell}' if joined else ''}"
