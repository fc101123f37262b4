"""Sums of integer terms: each unit's contribution clamped or weighted, then added up and saturated.

The long form of a question: rows of part, key, cell, leaf and integer, for keys to discover and measures beyond sums.

Part -1 lists the discovered keys with the number of units that vote for each, in the order of their values; part i
holds measure i. Every choice among a unit's keys or values is by a hash under the question's own key.

The keyed form of a question: one row for each discovered key, with the units that vote for it and its sums, in no
order.

No row needs another one to be read, so rows can come in batches and no engine has to number or order all keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from obverse.core.types import Type
from obverse.plan.dialects.base import TERM_MOST, Dialect
from obverse.plan.emit.rows import Rows
from obverse.plan.emit.sources import one_zero
from obverse.plan.measures import WEIGHT_BITS, Measure, bits_under, unit_range
from obverse.plan.relation import Aggregate, Shape
from obverse.plan.stability.derive import unit_type

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
        cap = measure.cap
        term = measure.term
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
        """cap / size where the unit has more than its cap, else one; less `spare` bits.

        In 64 bits where they hold the cap.
        """
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
        return next(
            (j for j, m in enumerate(self.measures[:i]) if m.term.kind in alike and m.term.expr == term.expr), i
        )

    def weighing(self, i: int) -> int:
        """The first sum with the same weight: those of an average and of its count are one."""
        if not self.measures[i].summed:
            return i  # each tree and each choice has its own reading
        return next(j for j in self.places if self.measures[j].summed and self.weight(j) == self.weight(i))

    def spare(self, i: int) -> int:
        """Bits of a weighted term that are cut off."""
        return self.kept_bits(i) - self.measures[i].bits

    def kept_bits(self, i: int) -> int:
        """Bits of a weight. Where rows count as one, and where a term is divided by their count, it is the count's
        own.
        """
        measure = self.measures[i]
        if measure.term.kind in ("sum", "squares", "product"):
            return bits_under(self.rows.cap) if measure.paired else WEIGHT_BITS
        return measure.bits

    def share(self, i: int) -> str:
        """A row's weighted term, rounded towards zero."""
        measure = self.measures[i]
        weight = f"w{self.weighing(i)}"
        if measure.term.kind in ("tree", "choice"):
            return weight
        if measure.term.kind == "count":
            return weight if measure.term.expr is None else f"(t{i} * {weight})"
        weighted = f"(CAST(t{i} AS BIGINT) * {weight})"
        spare = self.spare(i)
        if not spare:
            return weighted
        return (
            self.d.shifted(weighted, spare)
            if measure.term.lo >= 0
            else self.d.whole_quotient(weighted, str(1 << spare))
        )

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
        """Sums by the keys' values, whose cells are looked up then; values of one cell (NULL and undeclared ones)
        join.
        """
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


def long_form(root: Aggregate) -> bool:
    """Whether the plan needs more than one integer per measure and public cell."""
    return bool(root.discovered) or len(root.public.sets) > 1 or not all(m.summed for m in root.child.measures)


@dataclass(frozen=True, slots=True)
class Parts:
    """Prints the long form."""

    rows: Rows
    key: str

    @property
    def sums(self) -> Sums:
        return Sums(self.rows, self.rows.d)

    @property
    def single(self) -> bool:
        """Each row is a unit of its own, so nothing is chosen or weighted."""
        return self.rows.shape in (Shape.ROW, Shape.ONE)

    @property
    def found(self) -> list[str]:
        """The values of the keys that are discovered."""
        return [f"f{n}" for n in range(len(self.rows.root.discovered))]

    @property
    def cell(self) -> list[str]:
        """What a row's cell is told by."""
        return (["k"] if self.rows.root.public.keys else []) + self.found

    @property
    def groups(self) -> int:
        return self.rows.root.child.child.groups

    def kind(self, name: str) -> Type:
        """The type of a unit, a cell, a discovered key or a measure's value."""
        if name == "u":
            return unit_type(self.rows.sources.catalog)
        if name == "k":
            return Type.INTEGER
        if name.startswith("f"):
            return self.rows.root.discovered[int(name[1:])].expr.facts.type
        expr = self.rows.measures[int(name[1:])].term.expr
        return Type.INTEGER if expr is None else expr.facts.type

    def text(self) -> str:
        measures = self.rows.measures
        d = self.rows.d
        ctes = [d.common("kept", self.kept(), kept=self.rows.keeping)]
        added = [i for i, m in enumerate(measures) if m.summed]
        if added:
            ctes.append(d.common("added", f"({self.added(added)})", kept=True))
        parts = [self.part(i, "added", f"m{i}", "0") for i in added]
        for i, measure in enumerate(measures):
            if measure.summed:
                continue
            if measure.term.kind in ("distinct", "units") and not self.single:
                values = [*self.cell, *([f"t{i}"] if measure.term.kind == "distinct" else [])]
                ctes.append(d.common(f"pairs{i}", f"({self.pairs(values, f' WHERE t{i} IS NOT NULL')})", kept=True))
            ctes.append(f"part{i} AS ({self.measured(i)})")
            parts.append(self.part(i, f"part{i}", "m", "leaf" if measure.term.leaves is not None else "0"))
        if self.found:
            if not self.single:
                ctes.append(d.common("votes", f"({self.pairs(self.found)})", kept=True))
            ctes.append(d.common("listed", f"({self.listed()})", kept=True))
            names = ", ".join(self.found)
            head = (
                "SELECT CAST(-1 AS BIGINT) AS part, id, CAST(0 AS BIGINT) AS k, CAST(0 AS BIGINT) AS leaf, n AS m, "
                f"{names}"
            )
            parts.insert(0, f"{head} FROM listed")
        return f"WITH {', '.join(ctes)} {' UNION ALL '.join(parts)}"

    def kept(self) -> str:
        """The rows; values by which they are told apart with one zero, or their order would choose which one is
        shown.
        """
        root = self.rows.root
        keys = {f"f{n}" for n, key in enumerate(root.discovered) if key.expr.facts.type is Type.DOUBLE}
        told = [(i, m.term.expr) for i, m in enumerate(self.rows.measures) if m.term.kind == "distinct"]
        doubles = keys | {f"t{i}" for i, expr in told if expr is not None and expr.facts.type is Type.DOUBLE}
        if not doubles:
            return self.rows.text()
        sets = len(root.public.sets)
        places = [f"k{n}" for n in range(sets)] if sets > 1 else ["k"] if root.public.keys else []
        names = ([] if self.single else ["u"]) + places + self.found + [f"t{i}" for i in range(len(self.rows.measures))]
        shown = ", ".join(f"{one_zero(name, self.rows.d)} AS {name}" if name in doubles else name for name in names)
        return f"(SELECT {shown} FROM {self.rows.text()} AS w)"

    def part(self, i: int, source: str, value: str, leaf: str) -> str:
        """One measure's rows; those of keys that nobody voted for are left out."""
        k = "k" if self.rows.root.public.keys else "CAST(0 AS BIGINT)"
        key = "id" if self.found else "CAST(0 AS BIGINT)"
        joined = ""
        if self.found:
            joined = f" JOIN listed AS l ON {self.same_key()}"
        rest = "".join(f", l.{f} AS {f}" for f in self.found)
        figures = (
            f"CAST({i} AS BIGINT) AS part, {key} AS id, {k} AS k, CAST({leaf} AS BIGINT) AS leaf, {value} AS m{rest}"
        )
        return f"SELECT {figures} FROM {source} AS s{joined}"

    def same_key(self) -> str:
        """What joins figures s of a key with its listing l."""
        return " AND ".join(self.rows.d.same(f"s.{f}", f"l.{f}", self.kind(f)) for f in self.found)

    def added(self, places: list[int]) -> str:
        """All sums at once."""
        if self.rows.shape is Shape.TOTAL:
            source = self.sums.totals("kept", places)
            values = [self.sums.total(i) for i in places]
            mosts = [TERM_MOST for _ in places]
        elif self.single:
            source = self.expanded("kept")
            values = [f"t{i}" for i in places]
            mosts = [self.sums.most(i) for i in places]
        else:
            source = self.expanded(self.sums.weighted("kept", "kept", places))
            values = [self.sums.share(i) for i in places]
            mosts = [self.sums.most_shared(i) for i in places]
        d = self.rows.d
        return self.added_up({f"m{i}": d.total(value, most) for i, value, most in zip(places, values, mosts)}, source)

    def added_up(self, totals: dict[str, str], source: str, *more: str) -> str:
        if self.rows.late:
            return self.sums.late_cells(source, totals, *more)
        return self.grouped([f"{saturated(total)} AS {name}" for name, total in totals.items()], source, *more)

    def grouped(self, figures: list[str], source: str, *more: str) -> str:
        by = [*self.cell, *more]
        grouped = f" GROUP BY {', '.join(by)}" if by else ""
        return f"SELECT {', '.join([*by, *figures])} FROM {source} AS c{grouped}"

    def inside(self, source: str) -> str:
        """Rows inside the public cells; all of them where cells are looked up later."""
        public = self.rows.root.public
        early = public.keys and len(public.sets) == 1 and not self.rows.late
        return f"(SELECT * FROM {source} AS i WHERE k IS NOT NULL)" if early else source

    def expanded(self, source: str) -> str:
        """Rows inside the cells, each once for each grouping set."""
        sets = len(self.rows.root.public.sets)
        if sets == 1:
            return self.inside(source)
        arms = " ".join(f"WHEN {n} THEN k{n}" for n in range(sets))
        numbers = ", ".join(f"({n})" for n in range(sets))
        spread = (
            f"(SELECT *, CASE s WHEN 0 THEN k0 {arms} END AS k FROM {source} AS b CROSS JOIN (VALUES {numbers}) "
            "AS y(s))"
        )
        return f"(SELECT * FROM {spread} AS z WHERE k IS NOT NULL)"

    def measured(self, i: int) -> str:
        """A measure that is not a sum of terms."""
        match self.rows.measures[i].term.kind:
            case "tree" | "choice":
                return self.leaves(i)
            case "distinct":
                return self.distinct(i)
            case _:
                return self.units(i)

    def leaves(self, i: int) -> str:
        """Weighted counts of rows per leaf; every level of the tree above follows from them."""
        source = self.expanded("kept")
        value = "1"
        most = 1
        if not self.single:
            source = self.expanded(self.sums.weighted("kept", "kept", [i]))
            value = self.sums.share(i)
            most = self.sums.most_shared(i)
        where = "" if self.rows.late else f" WHERE t{i} IS NOT NULL"
        there = f"(SELECT *, t{i} AS leaf FROM {source} AS x{where})"
        return self.added_up({"m": self.rows.d.total(value, most)}, there, "leaf")

    def distinct(self, i: int) -> str:
        """Different values, of which each unit brings a bounded number."""
        kept = f"(SELECT * FROM {self.expanded('kept')} AS x WHERE t{i} IS NOT NULL)"
        if not self.single:
            kept = self.chosen(f"pairs{i}", [*self.cell, f"t{i}"])
        return self.grouped([f"COUNT(DISTINCT t{i}) AS m"], kept)

    def pairs(self, values: list[str], where: str = "") -> str:
        """The different values of each unit."""
        return f"SELECT DISTINCT {', '.join(['u', *values])} FROM {self.expanded('kept')} AS a{where}"

    def units(self, i: int) -> str:
        """Different units; one that is in many cells weighs less in each."""
        weight = self.sums.weight_of("COUNT(*)", self.rows.measures[i].cap, WEIGHT_BITS - self.rows.measures[i].bits)
        weights = f"(SELECT u, {weight} AS w{i} FROM pairs{i} AS y GROUP BY u)"
        source = f"(SELECT * FROM pairs{i} AS p JOIN {weights} AS g USING (u))"
        return self.grouped([f"{saturated(self.rows.d.total(f'w{i}', 1 << WEIGHT_BITS))} AS m"], source)

    def listed(self) -> str:
        """The discovered keys, how many units vote for each, and their places in the order of their values."""
        values = ", ".join(self.found)
        order = ", ".join(f"{f} NULLS LAST" for f in self.found)
        return (
            f"SELECT {values}, n, CAST(row_number() OVER (ORDER BY {order}) - 1 AS BIGINT) AS id FROM "
            f"{self.counted()} AS o"
        )

    def counted(self) -> str:
        """The discovered keys, and how many units vote for each."""
        votes = self.inside("kept") if self.single else self.chosen("votes", self.found)
        values = ", ".join(self.found)
        return f"(SELECT {values}, COUNT(*) AS n FROM {votes} AS v GROUP BY {values})"

    def chosen(self, pairs: str, values: list[str]) -> str:
        """Of each unit's different values at most as many as it may bring; only units with more are put in order."""
        columns = ", ".join(values)
        over = f"(SELECT u FROM {pairs} AS b GROUP BY u HAVING COUNT(*) > {self.groups})"
        hashed = self.rows.d.keyed_hash(self.key, [(name, self.kind(name)) for name in ("u", *values)])
        order = ", ".join([hashed, *(f"{value} NULLS LAST" for value in values)])
        ranked = f"SELECT {columns}, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place FROM {pairs} AS e"
        few = f"SELECT {columns} FROM {pairs} AS c WHERE NOT EXISTS (SELECT 1 FROM {over} AS d WHERE d.u = c.u)"
        many = (
            f"SELECT {columns} FROM ({ranked} WHERE u IN (SELECT u FROM {over} AS h)) AS r WHERE place <= {self.groups}"
        )
        return f"({few} UNION ALL {many})"


@dataclass(frozen=True, slots=True)
class Keyed:
    """Prints the keyed form: f0 ..., n and m0 ..."""

    parts: Parts

    def text(self) -> str:
        return self._counted_beside() if self.parts.single else self._joined()

    def _counted_beside(self) -> str:
        """Each row is a unit of its own, so that rows are votes."""
        parts = self.parts
        sums = self.parts.sums
        totals = [saturated(parts.rows.d.total(f"t{i}", sums.most(i))) for i in sums.places]
        return parts.grouped(["COUNT(*) AS n", *(f"{total} AS m{i}" for i, total in enumerate(totals))], parts.kept())

    def _joined(self) -> str:
        """Votes are limited one way, sums another; a key that nobody voted for is left out, and one with votes has
        rows.
        """
        parts = self.parts
        d = self.parts.rows.d
        places = list(parts.sums.places)
        ctes = [
            d.common("kept", parts.kept(), kept=parts.rows.keeping),
            d.common("votes", f"({parts.pairs(parts.found)})", kept=True),
        ]
        figures = ", ".join([*(f"l.{f} AS {f}" for f in parts.found), "n", *(f"m{i}" for i in places)])
        joined = f" JOIN ({parts.added(places)}) AS s ON {parts.same_key()}" if places else ""
        return f"WITH {', '.join(ctes)} SELECT {figures} FROM {parts.counted()} AS l{joined}"
