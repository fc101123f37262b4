"""Steps to synthetic rows: columns, a forest of pairs, then rounds in which tables are chosen that the model tells
wrongly.

Which tables of two and three columns may be measured, and the few larger ones from which all of them are added up.

Synthetic rows: which columns and tables are measured at which step, with which noise, and by which score they are
chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from obverse.core.errors import InvariantBroken, invariant
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.strategy.adaptive import Ground, Noised, Step, Taken, choice
from obverse.plan.strategy.candidates import Distances, Far
from obverse.plan.strategy.matrix import Block, Kept, Linear, Merged, Strategy, Summed
from obverse.plan.strategy.pricing import noise_of
from obverse.publish.rounding import on_simplex
from obverse.publish.synthetic.fitting import Noisy, added, estimated, forest, network, pooled
from obverse.publish.synthetic.marginals import (
    CHOICES,
    MEAN_ABS,
    MODEL_MAX,
    ONES,
    SEEN,
    Known,
    Seen,
    beside,
    components,
    share_for,
    variance,
)
from obverse.publish.synthetic.model import Clique, Network

# of one triple; and how many may be chosen from
CELLS_MAX = 1 << 12
TRIPLES_MAX = 192
# cells and columns of a table that several are added up from
READ_MAX = 1 << 14
TOGETHER_MAX = 8


@lru_cache(maxsize=64)
def tables(sizes: tuple[int, ...]) -> tuple[Clique, ...]:
    """All pairs of columns, and the triples that have fewest cells."""
    cells = {part: math.prod(sizes[i] for i in part) for part in combinations(range(len(sizes)), 3)}
    small = sorted((many, part) for part, many in cells.items() if many <= CELLS_MAX)
    return tuple(combinations(range(len(sizes)), 2)) + tuple(sorted(part for _, part in small[:TRIPLES_MAX]))


@lru_cache(maxsize=64)
def together(sizes: tuple[int, ...]) -> tuple[Clique, ...]:
    """Tables of more columns, so that each of `tables` is within one: rows are counted in few of them.

    A table that is not covered yet is joined by the column that covers most with those that are there, as long as cells
    are few; then the next.
    """
    left = dict.fromkeys(sorted(tables(sizes), key=lambda part: (-len(part), part)))
    found: list[Clique] = []
    while left:
        have = next(iter(left))
        while len(have) < TOGETHER_MAX and (more := _joined(sizes, have, left)) is not None:
            have = tuple(sorted((*have, more)))
        found.append(have)
        for many in (2, 3):
            for part in combinations(have, many):
                left.pop(part, None)
    return tuple(sorted(found, key=lambda part: (math.prod(sizes[i] for i in part), part)))


def _joined(sizes: Sequence[int], have: Clique, left: dict[Clique, None]) -> int | None:
    """The column that covers most, if any fits and covers something."""
    room = READ_MAX // math.prod(sizes[i] for i in have)
    best: tuple[int, int] | None = None
    for one in (i for i, size in enumerate(sizes) if size <= room and i not in have):
        parts = [tuple(sorted((one, *part))) for many in (1, 2) for part in combinations(have, many)]
        worth = sum(part in left for part in parts), -one
        if worth[0] and (best is None or worth > best):
            best = worth
    return None if best is None else -best[1]


# when a block is measured, after its name; in a round, by its number
AGAIN = " again"
LAST = " at last"
MIDDLE = Fraction(1, 5)  # of the price, for the forest, before others are chosen
# rounds at most; and what one of them measures for, of the price
ROUNDS = 3
ROUND = Fraction(1, 20)
TRIPLES_FROM = 2  # rounds that come before triples may be chosen
Lazy = Callable[[], Step]
Paths = Generator[Lazy, Taken, tuple[Clique, ...]]


def path(picking: Picking, ground: Ground, price: Fraction) -> Paths:
    """Step by step: it is sent what each one released, and gives the next, made only where it is asked for; at the end,
    what was chosen.

    Claim:   at most ROUNDS rounds, and what is planned never passes the price.
    Proof:   a round chooses for at most a quarter of what is left, measures for at most a quarter of it, and the last
             step has what is then left. (The door holds each step to the price by itself: plan/strategy/adaptive.)
    Assumes: nothing. What it sees was released.
    """
    first = picking.first(ground, price)
    counted = yield lambda: first
    seen = picking.look(first, counted, ground, price)
    sofar = Sofar(picking, seen, ground, price, [(first, counted)])
    worth = seen.worth(picking.tables)
    left = (1 - ONES) * price
    pairs = tuple(part for part in worth if len(part) == 2)
    most = len(picking.sizes) - 1
    each = picking.each(price)
    parts, paid = yield from sofar.picks(Asked(lambda have: apart(pairs, have), most, each, sofar.model()))
    left -= paid
    if parts:
        middle = picking.measured(seen, parts, ground, MIDDLE * price, AGAIN)
        sofar.add(middle, (yield lambda: middle))
        left -= MIDDLE * price
    parts, left = yield from _rounds(sofar, parts, left, pairs, worth)
    yield lambda: picking.measured(seen, parts, ground, left, LAST)
    return parts


def _rounds(
    sofar: Sofar, parts: tuple[Clique, ...], left: Fraction, pairs: tuple[Clique, ...], worth: tuple[Clique, ...]
) -> Generator[Lazy, Taken, tuple[tuple[Clique, ...], Fraction]]:
    """Tables are chosen and measured, and the model is made anew; after one that told little, at twice the price."""
    picking = sofar.picking
    price = sofar.price
    times = 1
    sizes = tuple(map(len, sofar.seen.margins))
    most = per_round(len(picking.sizes))
    for n in range(ROUNDS):
        there = worth if n >= TRIPLES_FROM else pairs
        begun = parts
        if not beside(sizes, begun, there):
            continue
        each = min(times * picking.each(price), left / (4 * most))
        model = sofar.model()
        asked = Asked(_beside(sizes, begun, there), most, each, model, begun, left)
        more, paid = yield from sofar.picks(asked)
        parts = parts + more
        left = left - paid
        if more and n < ROUNDS - 1:
            pay = min(times * ROUND * price, left / 4)
            step = picking.measured_alone(sofar.seen, more, sofar.ground, pay, f" {n + 1}")
            told = yield _given(step)
            times *= 1 if tells(step, told, model) else 2
            sofar.add(step, told)
            left -= pay
    return parts, left


def per_round(columns: int) -> int:
    """The most tables that are chosen in one round: half as many as make all columns hang together."""
    return -(-(columns - 1) // 2)


def least_left() -> Fraction:
    """What rounds leave at least for the last step, of what there was before them: no more than a quarter goes at
    once.
    """
    return Fraction(3, 4) ** (2 * ROUNDS - 1)


def _given(step: Step) -> Lazy:
    return lambda: step


def _beside(
    sizes: tuple[int, ...], begun: tuple[Clique, ...], there: tuple[Clique, ...]
) -> Callable[..., tuple[Clique, ...]]:
    return lambda have: beside(sizes, begun + have, there)


def apart(pairs: tuple[Clique, ...], have: tuple[Clique, ...]) -> tuple[Clique, ...]:
    """Of these pairs, those whose columns do not hang together yet."""
    many = max((max(pair) for pair in (*pairs, *have)), default=0) + 1
    parts = components(many, have)
    return tuple(pair for pair in pairs if parts[pair[0]] != parts[pair[1]])


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What is known of all tables at one time, and what it says of those that were asked for."""

    picking: Picking
    seen: Seen
    of: Network
    said: dict[Clique, Far]

    def far(self, part: Clique) -> Far:
        """A candidate, a pair or a triple: how far it lies from what is known, less what noise would carry it."""
        if part not in self.said:
            table = self.of.group_pair(*part) if len(part) == 2 else self.of.group_table(part)
            near = np.rint(table * self.of.total).astype(np.int64).reshape(-1)
            self.said[part] = Far(self.picking.table(part, self.seen.groups), near, self.seen.penalty(part))
        return self.said[part]


@dataclass(frozen=True, slots=True)
class Asked:
    """Choices: from which tables, given those before; how many at most; what each costs; and what tables are held
    against.
    """

    candidates: Callable[[tuple[Clique, ...]], tuple[Clique, ...]]
    most: int
    each: Fraction
    model: Model
    begun: tuple[Clique, ...] = ()  # chosen before
    left: Fraction = Fraction(0)  # of the price


@dataclass(frozen=True, slots=True)
class Sofar:
    """What was measured on a path up to now."""

    picking: Picking
    seen: Seen
    ground: Ground
    price: Fraction
    steps: list[tuple[Noised, Taken]]

    def add(self, step: Noised, told: Taken) -> None:
        self.steps.append((step, told))

    def model(self) -> Model:
        """All that was measured, fitted together."""
        blocks = tuple(block.name for step, _ in self.steps for block in step.strategy.blocks)
        arrays = tuple(values for _, told in self.steps for values in told)
        names = (*self.picking.names(self.ground, self.price), blocks)
        return _modelled(Known(names, arrays, (self.picking, self.seen, tuple(self.steps))))

    def picks(self, asked: Asked) -> Generator[Lazy, Taken, tuple[tuple[Clique, ...], Fraction]]:
        """Tables that are chosen one by one, until none is or there are most of them; and what that cost."""
        found: tuple[Clique, ...] = ()
        for many in range(asked.most):
            waiting = asked.candidates(found)
            if not waiting:
                return found, many * asked.each
            (place,) = yield self._choice(asked, found, waiting)
            at = int(place[0])
            invariant(0 <= at <= len(waiting), "one of the candidates, or none")
            if at == len(waiting):
                return found, (many + 1) * asked.each
            found += (waiting[at],)
        return found, asked.most * asked.each

    def _choice(self, asked: Asked, found: tuple[Clique, ...], waiting: tuple[Clique, ...]) -> Lazy:
        def made() -> Step:
            noise = self.noises(asked, asked.begun + found)
            fars = (asked.model.far(part) for part in waiting)
            held = [
                far if len(p) == 2 else replace(far, less=self.seen.penalty(p, noise(p)))
                for p, far in zip(waiting, fars)
            ]
            return choice(Distances(tuple(held)), self.ground, asked.each)

        return made

    def noises(self, asked: Asked, parts: tuple[Clique, ...]) -> Callable[[Clique], int]:
        """Of a table's cell, if it shares what is left with these and with all columns: the standard deviation."""
        picking = self.picking
        seen = self.seen
        shares = sum(map(share_for, (*map(seen.cells, parts), *picking.sizes)), Fraction(0))

        def noise(part: Clique) -> int:
            own = share_for(seen.cells(part))
            return isqrt(int(variance(picking.noise_at(self.ground, asked.left * own / (shares + own)))))

        return noise


def tells(step: Noised, told: Taken, model: Model) -> bool:
    """Whether what was measured lies further from the model than its noise alone would carry it."""
    far = 0
    alone = 0
    for block, mechanism, values in zip(step.strategy.blocks, step.mechanisms, told):
        far += int(np.abs(values - model.far(part_of(block.name)).near).sum())
        alone += isqrt(int(variance(mechanism))) * len(values)
    return MEAN_ABS[1] * far > MEAN_ABS[0] * alone


def read_noisy(steps: Sequence[tuple[Noised, Taken]], columns: int) -> tuple[list[Noisy], dict[Clique, Noisy]]:
    """All that was measured of each column and of each table, put together."""
    ones: list[list[Noisy]] = [[] for _ in range(columns)]
    tables: dict[Clique, list[Noisy]] = {}
    for step, told in steps:
        for block, mechanism, values in zip(step.strategy.blocks, step.mechanisms, told):
            part = part_of(block.name)
            noise = float(variance(mechanism))
            if len(part) == 1:
                ones[part[0]].append(Noisy(values.astype(np.float64), noise))
            else:
                tables.setdefault(part, []).append(Noisy(values.astype(np.float64).reshape(squeezed(block)), noise))
    return [pooled(one) for one in ones], {part: pooled(one) for part, one in tables.items()}


@lru_cache(maxsize=16)
def _modelled(known: Known) -> Model:
    picking, seen, steps = known.parts
    ones, tables = read_noisy(steps, len(seen.groups))
    found = [estimated(i, one, seen.groups[i], tables) for i, one in enumerate(ones)]
    if is_forest(len(ones), tuple(tables)):
        return Model(picking, seen, Network.of(forest(seen.groups, ones, tables, found)), {})
    return Model(picking, seen, network(seen.groups, ones, tables, found), {})


def is_forest(columns: int, parts: tuple[Clique, ...]) -> bool:
    """Whether all are pairs and none closes a circle."""
    return all(len(part) == 2 for part in parts) and len({*components(columns, parts)}) == columns - len(parts)


def squeezed(block: Block) -> tuple[int, ...]:
    """The shape of what it measures, without columns that were added up."""
    return tuple(one.out for one in block.maps if not isinstance(one, Summed))


def part_of(name: str) -> Clique:
    """The columns that a block measures."""
    return tuple(map(int, name.partition(" ")[0].split(",")))


Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Picking:
    """Which steps are taken over columns of these sizes; rows are counted in the sets.

    A table is chosen by how far it lies, exactly, from what is known of it, less what noise would add to it if it were
    measured, and less what noise and luck add to the score. The order of steps is `rounds.path`.
    """

    sizes: tuple[int, ...]

    @property
    def tables(self) -> tuple[Clique, ...]:
        """Pairs and triples that may be chosen."""
        return tables(self.sizes)

    @property
    def sets(self) -> tuple[Clique, ...]:
        return together(self.sizes)

    @property
    def identity(self) -> str:
        limits = CELLS_MAX, TRIPLES_MAX, READ_MAX, MODEL_MAX
        return f"tables over {self.sizes}: {ONES}, {CHOICES}, {MIDDLE}, {ROUNDS}, {ROUND}, {SEEN}, {limits}"

    def within(self, part: Clique) -> int:
        """The first set that has these columns: the one with fewest cells."""
        return _within(self.sizes, part)

    def column(self, place: int, name: str, weight: Fraction = Fraction(1)) -> Block:
        """A column by itself."""
        of = self.within((place,))
        maps = tuple((Kept if i == place else Summed)(self.sizes[i]) for i in self.sets[of])
        return Block(name, of, maps, weight)

    def table(
        self, part: Clique, groups: tuple[Integers, ...], weight: Fraction = Fraction(1), when: str = ""
    ) -> Block:
        of = self.within(part)
        maps = []
        for i in self.sets[of]:
            kept: Linear = Merged(groups[i], int(groups[i].max()) + 1) if i in part else Summed(self.sizes[i])
            maps.append(kept)
        return Block(",".join(map(str, part)) + when, of, tuple(maps), weight)

    def widest(self) -> tuple[Block, ...]:
        """Whose sums are the largest that a step may take."""
        return tuple(
            Block("", n, tuple(Summed(self.sizes[i]) for i in part), Fraction(1)) for n, part in enumerate(self.sets)
        )

    def first(self, ground: Ground, price: Fraction) -> Noised:
        """All columns."""
        blocks = tuple(self.column(i, str(i)) for i in range(len(self.sizes)))
        return noised(Strategy(blocks), ground, ONES * price)

    def table_noise(self, ground: Ground, price: Fraction) -> Additive:
        """Of one of so many tables as make all columns hang together: what is planned with."""
        return self.noise_at(ground, (1 - ONES - CHOICES) * price / (len(self.sizes) - 1))

    def noise_at(self, ground: Ground, share: Fraction) -> Additive:
        """Of a table that is measured for this price."""
        norms = Block("", 0, (Kept(2), Kept(2)), Fraction(1)).norms(ground.neighbours)
        if ground.squared:
            return DiscreteGaussian.for_rho(Fraction(ground.weight**2 * norms.squares), share)
        return DiscreteLaplace.for_epsilon(Fraction(ground.weight * norms.l1), share)

    def step(self, ground: Ground, price: Fraction, taken: tuple[Taken, ...]) -> Step | None:
        steps = path(self, ground, price)
        try:
            step = next(steps)
            for one in taken:
                step = steps.send(one)
        except StopIteration:
            return None
        return step()

    def chosen(self, ground: Ground, price: Fraction, taken: tuple[Taken, ...]) -> tuple[Clique, ...]:
        """The tables that were chosen on a whole path."""
        steps = path(self, ground, price)
        try:
            next(steps)
            for one in taken:
                steps.send(one)
        except StopIteration as end:
            found: tuple[Clique, ...] = end.value
            return found
        raise InvariantBroken("a path that came to its end")

    def look(self, first: Noised, counted: Taken, ground: Ground, price: Fraction) -> Seen:
        """What the noisy columns tell of where pairs could be measured."""
        return _looked(Known(self.names(ground, price), counted, (self, first, counted, ground, price)))

    def names(self, ground: Ground, price: Fraction) -> tuple[object, ...]:
        """All that figures follow from, beside what was released."""
        return self.sizes, ground.neighbours, ground.weight, ground.squared, price

    def _look(self, first: Noised, counted: Taken, ground: Ground, price: Fraction) -> Seen:
        groups = []
        margins = []
        totals = [(int(values.sum()), variance(m) * len(values)) for values, m in zip(counted, first.mechanisms)]
        mean = sum(Fraction(t) / v for t, v in totals) / sum(1 / v for _, v in totals)
        total = max(1, round(mean))
        for values, mechanism in zip(counted, first.mechanisms):
            least = SEEN**2 * variance(mechanism)
            kept = np.array([v > 0 and v * v >= least for v in values.tolist()])
            of = np.full(len(values), int(kept.sum()), dtype=np.int64)
            of[kept] = np.arange(int(kept.sum()))
            groups.append(of)
            margins.append(on_simplex(added(of, values.astype(np.float64)), float(total)))
        noise = isqrt(int(variance(self.table_noise(ground, price))))
        stray = tuple(
            sum(isqrt(int(variance(m) * size)) for size in np.bincount(of).tolist())
            for of, m in zip(groups, first.mechanisms)
        )
        return Seen(tuple(groups), tuple(margins), total, noise, stray, self.luck(ground, price))

    def luck(self, ground: Ground, price: Fraction) -> int:
        """How far chance alone lifts some pair over choosing none, half of the time."""
        kernel = Distances((Far(self.column(0, ""), _zeros(self.sizes[0])),))
        mechanism = choice(kernel, ground, self.each(price)).mechanism
        return mechanism.shortfall(len(self.tables) + 1, 0.5)

    def each(self, price: Fraction) -> Fraction:
        """What one choice costs."""
        return CHOICES * price / (len(self.sizes) - 1)

    def measured(self, seen: Seen, parts: tuple[Clique, ...], ground: Ground, price: Fraction, when: str) -> Noised:
        """Tables, and all columns."""
        columns = [self.column(i, f"{i}{when}", share_for(size)) for i, size in enumerate(self.sizes)]
        return noised(Strategy((*self._blocks(seen, parts, when), *columns)), ground, price)

    def measured_alone(
        self, seen: Seen, parts: tuple[Clique, ...], ground: Ground, price: Fraction, when: str
    ) -> Noised:
        """Tables without columns."""
        return noised(Strategy(self._blocks(seen, parts, when)), ground, price)

    def _blocks(self, seen: Seen, parts: tuple[Clique, ...], when: str) -> tuple[Block, ...]:
        return tuple(self.table(part, seen.groups, share_for(seen.cells(part)), when) for part in parts)


@lru_cache(maxsize=8)
def _looked(known: Known) -> Seen:
    picking, *told = known.parts
    found: Seen = picking._look(*told)
    return found


@lru_cache(maxsize=8192)
def _within(sizes: tuple[int, ...], part: Clique) -> int:
    return next(n for n, chosen in enumerate(together(sizes)) if {*part} <= {*chosen})


def _zeros(many: int) -> Integers:
    return np.zeros(many, dtype=np.int64)


def noised(strategy: Strategy, ground: Ground, price: Fraction) -> Noised:
    return Noised(
        strategy, noise_of(strategy, ground.cells, ground.neighbours, price, ground.weight, squared=ground.squared)
    )
