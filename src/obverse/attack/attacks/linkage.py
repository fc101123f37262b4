"""Linkage: a list with names and a release without them, joined on what both tell (ZIP, birth date, sex: Governor
Weld).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.attack.examples import people_list, pick
from obverse.attack.finding import Finding, Rate, SignificanceTest, judged, share
from obverse.attack.permutation import at_least_right, fisher, fisher_at_best
from obverse.attack.tables.classes import column, distinct, persons, rows, same
from obverse.attack.tables.matching import Matching, matched
from obverse.attack.targets import Table
from obverse.core.errors import Refused

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Linkage:
    """Names a known person's row where it is the only one that fits, and the person the only one known whom it fits.

    A trial is a known person who is in the release; it is won if the row that is named is the person's own. The control
    is people who are not in the release: whoever is "found" among them is found by chance. Where everybody known is in
    it, the control is the chance to hit the right row blindly. Where several rows fit, nobody is named; how often a
    blind choice among these would be right is reported beside the verdict. Generalised cells (130**, [20-30), {a, b},
    *) fit all they stand for.

    Claim:   a release whose columns say nothing of whose a row is, is blamed with a chance of at most alpha.
    Proof:   two tests share alpha. Of those named in the release, at least as many are right as would be if rows had
             been handed out by chance (`at_least_right`, where the truth is known); and of people in the release more
             are named, rightly where that is known, than of people who are not (Fisher's exact test, where there are
             such).
    Assumes: people were not chosen by what their rows say.

    Where a column says whose the released rows are, "row" stands for all rows of one person.
    """

    name: ClassVar[str] = "linkage"
    summary: ClassVar[str] = "Join a released table with a list of known people on quasi-identifiers."

    def run(
        self,
        released: Table,
        known: Table,
        on: Sequence[str],
        *,
        truth: str | None = None,
        outsiders: Table | None = None,
        target: str = "a release",
        person: str | None = None,
    ) -> Finding:
        """`truth`: a column of both tables that identifies a person; `outsiders`: people surely not released.

        `person`: the column of the release that says whose a row is.
        """
        everybody = _everybody(known, outsiders, on, truth)
        search = matched(released, everybody, on)
        each = persons(released, person)
        links = search.links(each)
        named = links >= 0
        tests = []
        if truth is not None:
            who, row_of = same(column(everybody, truth), column(released, truth))
            whose = row_of[np.unique(each, return_index=True)[1]]
            inside = np.isin(who, whose)
            right = inside & named & (np.append(row_of, -3)[links] == who)
            rate = Rate(int(right.sum()), int(inside.sum()))
            outside = Rate(int((named & ~inside).sum()), int((~inside).sum()))
            control: Rate | float = outside if outside.trials else 1 / max(1, len(whose))
            tests = [_against_chance(rate.wins, who[inside], who[inside & named], whose)]
        else:
            inside = np.arange(len(links)) < rows(known)
            rate = Rate(int(named[inside].sum()), int(inside.sum()))
            control = outside = Rate(int(named[~inside].sum()), int((~inside).sum()))
        if outside.trials or not tests:
            tests.append(_against_outsiders(rate, outside))
        alone = "rows_alone" if person is None else "released_people_alone"
        figures = {**_crowds(search, each, alone), "named": int(named.sum())}
        if truth is not None:
            figures |= {"named_rightly": rate.wins, "best_guess_right": search.right_guesses(who, row_of)}
        which = "row of" if person is None else "person in"
        told = f"By {', '.join(on)}, {share(rate.wins, rate.trials)} known people are matched with one {which}"
        told += " the release each" + (", and rightly" if truth is not None else "")
        apart = " No row fits anybody known: are these columns written alike in both tables?" if search.nobody else ""
        return judged(
            self.name, target, rate, control, figures=figures,
            leak=f"{told}; the release is not anonymous.",
            quiet=f"{told}; that is not surely more than chance.{apart}", tests=tests,
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Names are dropped, everything else is released."""
        everybody = people_list(generator, 3000)
        return Linkage().run(
            pick(everybody, slice(0, 2000)), everybody, ("zip", "birth", "sex"), truth="id", target="planted"
        )

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """As detailed, but each description belongs to somebody else: it singles out rows, and nobody."""
        everybody = people_list(generator, 3000)
        released = dict(pick(everybody, slice(0, 2000)))
        released["id"] = generator.permutation(released["id"])
        return Linkage().run(released, everybody, ("zip", "birth", "sex"), truth="id", target="honest")


def _crowds(search: Matching, each: Codes, alone: str) -> dict[str, float]:
    """How many released people are alike at least, and how many on either side are alone in their class."""
    sizes = distinct(search.released.codes, each, len(search.released))
    return {
        "smallest_class": int(sizes.min()) if len(sizes) else 0,
        alone: int((sizes == 1).sum()),
        "people_alone": int((search.people.sizes == 1).sum()),
    }


def _everybody(known: Table, outsiders: Table | None, on: Sequence[str], truth: str | None) -> Table:
    """One list, so that those inside and those outside are as alone in it; Refused where nothing tells them apart."""
    if truth is None and outsiders is None:
        fix = (
            "name a column of both tables that tells who is who (--truth), or people who are surely not in it "
            "(--control)"
        )
        raise Refused("no_control", "without a control group a match may be a coincidence.", fix=fix)
    if outsiders is None:
        return known
    names = on if truth is None else (*on, truth)
    return {name: np.concatenate([column(known, name), column(outsiders, name)]) for name in names}


def _against_chance(right: int, inside: Codes, named: Codes, whose: Codes) -> SignificanceTest:
    """How many are named rightly, against rows handed out by chance: whose each row is, and who of those inside is
    named.
    """
    held = np.bincount(whose[whose >= 0], minlength=int(inside.max(initial=-1)) + 1)

    def blocks(people: Codes) -> Counter[tuple[int, int]]:
        who, times = np.unique(people, return_counts=True)
        return Counter(zip(times.tolist(), held[who].tolist()))

    could_be = sum(times * min(block) for block, times in blocks(inside).items())
    expected = float(held[named].sum()) / max(1, len(whose))
    words = f"named rightly, {right:,}, where {expected:.3g} would be by chance"
    p, at_best = (at_least_right(n, blocks(who), len(whose)) for n, who in ((right, named), (could_be, inside)))
    return SignificanceTest(words, p, at_best)


def _against_outsiders(rate: Rate, outside: Rate) -> SignificanceTest:
    p = fisher(wins=rate.wins, trials=rate.trials, control_wins=outside.wins, control_trials=outside.trials)
    return SignificanceTest("against people who are not in the release", p, fisher_at_best(rate.trials, outside.trials))
