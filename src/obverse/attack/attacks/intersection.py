"""Intersection: two releases about overlapping people, each of them anonymous, together leave one secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.attack.classes import coded, column, held_at_most, rows
from obverse.attack.examples import two_hospitals
from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.matching import matched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.targets import Table

    Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Intersection:
    """Keeps the secrets that both releases allow for a person who is known to be in both.

    A trial is such a person; it is won if one secret is left, which neither release left alone. Where the truth is told, that
    must be the right one, and the control is the same attack with the second release's secrets shuffled among its rows.
    Else the releases are taken at their word, and where the second adds nothing it never wins: a chance of zero.
    """

    name: ClassVar[str] = "intersection"
    summary: ClassVar[str] = "Combine two releases about the same people: which secrets do both allow?"
    seed: int = 1  # of the shuffle

    def run(
        self,
        first: Table,
        second: Table,
        known: Table,
        on: Sequence[str],
        secret: str,
        *,
        truth: str | None = None,
        target: str = "two releases",
    ) -> Finding:
        """`truth` names the column of `known` that holds the secret."""
        import numpy as np

        told = [column(first, secret), column(second, secret), *([column(known, truth)] if truth is not None else [])]
        value = coded(np.concatenate(told))
        parts = np.split(value.codes, np.cumsum([len(part) for part in told])[:-1])
        width, people = len(value.texts), rows(known)
        one, two = _allowed(first, parts[0], known, on, width), _allowed(second, parts[1], known, on, width)
        right = None if truth is None else parts[2]
        won = _decided(one, two, right)
        control: Rate | float = 0.0
        if right is not None:
            shuffled = np.random.default_rng(self.seed).permutation(parts[1])
            control = Rate(int(_decided(one, _allowed(second, shuffled, known, on, width), right).sum()), people)
        sizes = (one & two).sum(axis=1)
        figures = {
            "secrets_left_by_each": [float(one.sum(axis=1).mean()), float(two.sum(axis=1).mean())] if people else [],
            "secrets_left_by_both": float(sizes.mean()) if people else 0.0,
            "told": [value.texts[int(np.argmax(row))] for row in (one & two)[won][:20]],
        }
        wins = int(won.sum())
        said = f"{share(wins, people)} people have one {secret} that both releases allow, and several that each does"
        return judged(
            self.name, target, Rate(wins, people), control, figures=figures,
            leak=f"{said}: together they give it away.", quiet=f"{said}: together they tell no more than chance does.",
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Two hospitals, each of which publishes classes of several secrets about its patients; some went to both."""
        first, second, both = two_hospitals(generator, 800)
        return Intersection().run(first, second, both, ("zip", "age"), "secret", truth="secret", target="planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The second hospital's rows are not of these people."""
        first, second, both = two_hospitals(generator, 800)
        strange = {**second, "secret": generator.permutation(second["secret"])}
        return Intersection().run(first, strange, both, ("zip", "age"), "secret", truth="secret", target="honest")


def _allowed(released: Table, secrets: NDArray[np.int64], known: Table, on: Sequence[str], width: int) -> Bools:
    """Of each known person: the secrets of the rows that may be the person's."""
    import numpy as np

    search = matched(released, known, on)
    held_at_most(max(len(search.released), len(search.people.codes)), width)
    held = np.zeros((len(search.released), width), dtype=bool)
    held[search.released.codes, secrets] = True
    allowed = np.zeros((len(search.people), width), dtype=bool)
    for described, found in search.pairs():
        np.logical_or.at(allowed, described, held[found])
    return np.asarray(allowed[search.people.codes], dtype=bool)


def _decided(one: Bools, two: Bools, right: NDArray[np.int64] | None) -> Bools:
    """Who is left with one secret by both, and by neither alone; with the right one, where that is known."""
    import numpy as np

    both = one & two
    won = (both.sum(axis=1) == 1) & (one.sum(axis=1) > 1) & (two.sum(axis=1) > 1)
    if right is not None:
        won &= both[np.arange(len(right)), right]
    return np.asarray(won, dtype=bool)
