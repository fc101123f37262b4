"""Synthetic rows: which columns and tables are measured at which step, with which noise, and by which score they are chosen."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING

from obverse.core.errors import InvariantBroken
from obverse.mechanisms.base import Additive
from obverse.mechanisms.discrete_gaussian import DiscreteGaussian
from obverse.mechanisms.discrete_laplace import DiscreteLaplace
from obverse.plan.strategy.adaptive import Ground, Noised, Step, Taken, choice
from obverse.plan.strategy.distances import Distances, Far
from obverse.plan.strategy.linear import Kept, Linear, Merged, Summed
from obverse.plan.strategy.pricing import noise_of
from obverse.plan.strategy.strategy import Block, Strategy
from obverse.publish.rounding import on_simplex
from obverse.publish.synthetic import candidates
from obverse.publish.synthetic.fitting import added
from obverse.publish.synthetic.junction import Clique
from obverse.publish.synthetic.marginals import CHOICES, MODEL_MAX, ONES, SEEN, Known, Seen, share_for, variance
from obverse.publish.synthetic.rounds import MIDDLE, ROUND, ROUNDS, path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        return candidates.tables(self.sizes)

    @property
    def sets(self) -> tuple[Clique, ...]:
        return candidates.together(self.sizes)

    @property
    def identity(self) -> str:
        limits = candidates.CELLS_MAX, candidates.TRIPLES_MAX, candidates.READ_MAX, MODEL_MAX
        return f"tables over {self.sizes}: {ONES}, {CHOICES}, {MIDDLE}, {ROUNDS}, {ROUND}, {SEEN}, {limits}"

    def within(self, part: Clique) -> int:
        """The first set that has these columns: the one with fewest cells."""
        return _within(self.sizes, part)

    def column(self, place: int, name: str, weight: Fraction = Fraction(1)) -> Block:
        """A column by itself."""
        of = self.within((place,))
        maps = tuple((Kept if i == place else Summed)(self.sizes[i]) for i in self.sets[of])
        return Block(name, of, maps, weight)

    def table(self, part: Clique, groups: tuple[Integers, ...], weight: Fraction = Fraction(1), when: str = "") -> Block:
        of, maps = self.within(part), []
        for i in self.sets[of]:
            kept: Linear = Merged(groups[i], int(groups[i].max()) + 1) if i in part else Summed(self.sizes[i])
            maps.append(kept)
        return Block(",".join(map(str, part)) + when, of, tuple(maps), weight)

    def widest(self) -> tuple[Block, ...]:
        """Whose sums are the largest that a step may take."""
        return tuple(Block("", n, tuple(Summed(self.sizes[i]) for i in part), Fraction(1)) for n, part in enumerate(self.sets))

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
        import numpy as np

        groups, margins = [], []
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
            sum(isqrt(int(variance(m) * size)) for size in np.bincount(of).tolist()) for of, m in zip(groups, first.mechanisms)
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

    def measured_alone(self, seen: Seen, parts: tuple[Clique, ...], ground: Ground, price: Fraction, when: str) -> Noised:
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
    return next(n for n, chosen in enumerate(candidates.together(sizes)) if {*part} <= {*chosen})


def _zeros(many: int) -> Integers:
    import numpy as np

    return np.zeros(many, dtype=np.int64)


def noised(strategy: Strategy, ground: Ground, price: Fraction) -> Noised:
    return Noised(strategy, noise_of(strategy, ground.cells, ground.neighbours, price, ground.weight, squared=ground.squared))
