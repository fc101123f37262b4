"""Membership: who is in a group of which only averages are told?

Whoever pulls them towards themselves, a little each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.attack.finding import Finding, Rate, SignificanceTest, judged, share
from obverse.attack.permutation import fisher, fisher_at_best, rank_sum

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Membership:
    """The trace of Homer and of Dwork and others: the sum over attributes of (person - world) times (average - world).

    A trial is a member; it is won if the trace is above all but a share `false_alarms` of the traces of some people
    outside, who choose the threshold and judge nothing. The control is other people outside who are above it too.

    Claim:   averages that were made without regard to who is a member are blamed with a chance of at most alpha.
    Proof:   two tests share alpha. More members than other people outside are above the threshold (Fisher's exact
             test), or members' traces are above those of all outside (Mann and Whitney), so that no single one outside
             decides.
    Assumes: members and people outside are people of one kind, parted by chance, and the world's averages are of none
             of them.
    """

    name: ClassVar[str] = "membership"
    summary: ClassVar[str] = "Tell from many published averages who was among those averaged."
    false_alarms: float = 0.05

    def run(
        self, averages: Matrix, world: Matrix, members: Matrix, outsiders: Matrix, target: str = "averages"
    ) -> Finding:
        """`averages` of the group and of the `world`, one for each attribute; people are rows of attributes."""
        pull = averages - world
        inside = (members - world) @ pull
        outside = (outsiders - world) @ pull
        choosing = outside[::2]
        judging = outside[1::2]
        threshold = float(np.quantile(choosing, 1 - self.false_alarms, method="higher"))
        rate = Rate(int((inside > threshold).sum()), len(inside))
        control = Rate(int((judging > threshold).sum()), len(judging))
        above = float(np.searchsorted(np.sort(judging), inside).mean()) / len(judging)
        figures = {"attributes": len(averages), "area_under_curve": above, "false_alarms": self.false_alarms}
        tests = [
            SignificanceTest(
                "above the threshold, against people outside",
                fisher(wins=rate.wins, trials=rate.trials, control_wins=control.wins, control_trials=control.trials),
                fisher_at_best(rate.trials, control.trials),
            ),
            SignificanceTest("traces, by rank", rank_sum(inside, outside), fisher_at_best(len(inside), len(outside))),
        ]
        told = f"{share(rate.wins, rate.trials)} members are recognised from {len(averages):,} averages"
        beside = f"{share(control.wins, control.trials)} people outside are mistaken for members"
        return judged(
            self.name, target, rate, control, figures=figures, tests=tests,
            leak=f"{told}, and {beside}: averages tell who is in the group.",
            quiet=f"{told}, and {beside}: that is not surely more than chance.",
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Exact averages of 2,000 attributes of 100 people."""
        world, members, outsiders = _drawn(generator)
        return Membership().run(members.mean(axis=0), world, members, outsiders, "planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """The same with noise for all of them at epsilon 1 together."""
        world, members, outsiders = _drawn(generator)
        noise = generator.laplace(0, len(world) / len(members), len(world))
        return Membership().run(members.mean(axis=0) + noise, world, members, outsiders, "honest")


def _drawn(generator: np.random.Generator, people: int = 100, attributes: int = 2000) -> tuple[Matrix, Matrix, Matrix]:
    world = generator.beta(2, 2, attributes)
    members = (generator.random((people, attributes)) < world).astype(float)
    return world, members, (generator.random((2 * people, attributes)) < world).astype(float)
