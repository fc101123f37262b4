"""Steps to synthetic rows: columns, a forest of pairs, then rounds in which tables are chosen that the model tells wrongly."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING

from obverse.core.errors import invariant
from obverse.plan.strategy.adaptive import Ground, Noised, Step, Taken, choice
from obverse.plan.strategy.distances import Distances, Far
from obverse.plan.strategy.linear import Summed
from obverse.plan.strategy.strategy import Block
from obverse.publish.synthetic.fitting import estimated, forest, network
from obverse.publish.synthetic.junction import Clique
from obverse.publish.synthetic.marginals import MEAN_ABS, ONES, Known, Seen, beside, components, share_for, variance
from obverse.publish.synthetic.network import Network
from obverse.publish.synthetic.triples import Noisy, pooled

if TYPE_CHECKING:
    from obverse.publish.synthetic.picking import Picking

AGAIN, LAST = " again", " at last"  # when a block is measured, after its name; in a round, by its number
MIDDLE = Fraction(1, 5)  # of the price, for the forest, before others are chosen
ROUNDS, ROUND = 3, Fraction(1, 20)  # rounds at most; and what one of them measures for, of the price
TRIPLES_FROM = 2  # rounds that come before triples may be chosen
Lazy = Callable[[], Step]
Paths = Generator[Lazy, Taken, tuple[Clique, ...]]


def path(picking: Picking, ground: Ground, price: Fraction) -> Paths:
    """Step by step: it is sent what each one released, and gives the next, made only where it is asked for; at the end, what
    was chosen.

    Claim:   at most ROUNDS rounds, and what is planned never passes the price.
    Proof:   a round chooses for at most a quarter of what is left, measures for at most a quarter of it, and the last step has
             what is then left. (The door holds each step to the price by itself: plan/strategy/adaptive.)
    Assumes: nothing. What it sees was released.
    """
    first = picking.first(ground, price)
    counted = yield lambda: first
    seen = picking.look(first, counted, ground, price)
    sofar = Sofar(picking, seen, ground, price, [(first, counted)])
    worth, left = seen.worth(picking.tables), (1 - ONES) * price
    pairs = tuple(part for part in worth if len(part) == 2)
    most, each = len(picking.sizes) - 1, picking.each(price)
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
    picking, price, times = sofar.picking, sofar.price, 1
    sizes, most = tuple(map(len, sofar.seen.margins)), per_round(len(picking.sizes))
    for n in range(ROUNDS):
        there, begun = worth if n >= TRIPLES_FROM else pairs, parts
        if not beside(sizes, begun, there):
            continue
        each, model = min(times * picking.each(price), left / (4 * most)), sofar.model()
        asked = Asked(_beside(sizes, begun, there), most, each, model, begun, left)
        more, paid = yield from sofar.picks(asked)
        parts, left = parts + more, left - paid
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
    """What rounds leave at least for the last step, of what there was before them: no more than a quarter goes at once."""
    return Fraction(3, 4) ** (2 * ROUNDS - 1)


def _given(step: Step) -> Lazy:
    return lambda: step


def _beside(sizes: tuple[int, ...], begun: tuple[Clique, ...], there: tuple[Clique, ...]) -> Callable[..., tuple[Clique, ...]]:
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
        import numpy as np

        if part not in self.said:
            table = self.of.group_pair(*part) if len(part) == 2 else self.of.group_table(part)
            near = np.rint(table * self.of.total).astype(np.int64).reshape(-1)
            self.said[part] = Far(self.picking.table(part, self.seen.groups), near, self.seen.penalty(part))
        return self.said[part]


@dataclass(frozen=True, slots=True)
class Asked:
    """Choices: from which tables, given those before; how many at most; what each costs; and what tables are held against."""

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
            held = [far if len(p) == 2 else replace(far, less=self.seen.penalty(p, noise(p))) for p, far in zip(waiting, fars)]
            return choice(Distances(tuple(held)), self.ground, asked.each)

        return made

    def noises(self, asked: Asked, parts: tuple[Clique, ...]) -> Callable[[Clique], int]:
        """Of a table's cell, if it shares what is left with these and with all columns: the standard deviation."""
        picking, seen = self.picking, self.seen
        shares = sum(map(share_for, (*map(seen.cells, parts), *picking.sizes)), Fraction(0))

        def noise(part: Clique) -> int:
            own = share_for(seen.cells(part))
            return isqrt(int(variance(picking.noise_at(self.ground, asked.left * own / (shares + own)))))

        return noise


def tells(step: Noised, told: Taken, model: Model) -> bool:
    """Whether what was measured lies further from the model than its noise alone would carry it."""
    import numpy as np

    far, alone = 0, 0
    for block, mechanism, values in zip(step.strategy.blocks, step.mechanisms, told):
        far += int(np.abs(values - model.far(part_of(block.name)).near).sum())
        alone += isqrt(int(variance(mechanism))) * len(values)
    return MEAN_ABS[1] * far > MEAN_ABS[0] * alone


def read_noisy(steps: Sequence[tuple[Noised, Taken]], columns: int) -> tuple[list[Noisy], dict[Clique, Noisy]]:
    """All that was measured of each column and of each table, put together."""
    import numpy as np

    ones: list[list[Noisy]] = [[] for _ in range(columns)]
    tables: dict[Clique, list[Noisy]] = {}
    for step, told in steps:
        for block, mechanism, values in zip(step.strategy.blocks, step.mechanisms, told):
            part, noise = part_of(block.name), float(variance(mechanism))
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
