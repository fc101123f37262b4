"""Background knowledge: whoever can rule out a few secrets of a class may be left with one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from obverse.attack.examples import diverse_classes
from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.tables.classes import People, distinct, joined, people
from obverse.attack.targets import Table


@dataclass(frozen=True, slots=True)
class Background:
    """Rules secrets out, and reads what is left. It takes the release at its word.

    The attacker rules out the secrets that are named; without names, any `ruled_out` secrets that are not the person's.
    A trial is a row (whose secret is not ruled out), or a person where a column says whose rows are; it is won if one
    secret is left in a class of theirs. The control rules out as much of the whole table, without knowing the class.
    """

    name: ClassVar[str] = "background"
    summary: ClassVar[str] = "Rule out secrets that are impossible, and find classes in which one is left."
    ruled_out: int = 1

    def run(
        self,
        released: Table,
        on: Sequence[str],
        secret: str,
        *,
        impossible: Collection[str] = (),
        target: str = "a release",
        person: str | None = None,
    ) -> Finding:
        """`person` names the column that says whose a row is."""
        known = people(released, on, secret, person)
        whole = distinct(known.found.codes, known.secrets, len(known.found))
        some = _possible(known, impossible)
        few = 1 if impossible else self.ruled_out + 1
        everywhere = len(np.unique(some.secrets))
        sizes = some.sizes()
        at, holders = some.holders()
        most = np.zeros(len(sizes), dtype=np.int64)
        np.maximum.at(most, at, holders)
        wins = len(np.unique(some.whose[_sure(some, most == sizes, few)]))
        trials = len(np.unique(some.whose))
        surest = most[sizes > 0] / sizes[sizes > 0]
        figures = {
            "fewest_secrets": int(whole.min()) if len(whole) else 0,
            "surest_guess": float(surest.max(initial=0.0)),
            "mean_guess": float(most.sum() / sizes.sum()) if trials else 0.0,
        }
        knowing = (
            f"ruling out {', '.join(sorted(impossible))}"
            if impossible
            else (f"ruling out {self.ruled_out} of the secrets")
        )
        quiet = f"By {knowing}, {secret} becomes certain for nobody whose class is known."
        if everywhere <= few:
            quiet = f"By {knowing}, one {secret} is left for anybody, with or without this table: there are so few."
        return judged(
            self.name, target, Rate(wins, trials), float(everywhere <= few), figures=figures,
            leak=f"By {knowing}, {secret} becomes certain for {share(wins, trials)} {known.noun}.", quiet=quiet,
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Classes of four with two secrets each: no class is homogeneous, and one fact decides."""
        table = diverse_classes(generator, classes=200, size=4, secrets=2)
        return Background().run(table, ("zip", "age"), "secret", target="planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        table = diverse_classes(generator, classes=200, size=4)
        return Background().run(table, ("zip", "age"), "secret", target="honest")


def _possible(known: People, impossible: Collection[str]) -> People:
    """Without rows whose secret is ruled out; classes keep their numbers."""
    left = ~np.array([said in impossible for said in known.texts], dtype=bool)[known.secrets]
    found = replace(known.found, codes=known.found.codes[left])
    return replace(known, found=found, whose=known.whose[left], secrets=known.secrets[left])


def _sure(some: People, common: NDArray[np.bool_], few: int) -> NDArray[np.bool_]:
    """Rows whose person's secret is certain: it is everybody's in the class (`common`), or no more than `few` are left
    there,
    of which the person has one, and others are ruled out."""
    at = some.found.codes
    left = distinct(at, some.secrets, len(common))
    theirs = joined([at, some.whose], len(at))
    one = distinct(theirs.codes, some.secrets, len(theirs)) == 1
    return np.asarray(common[at] | ((left[at] <= few) & one[theirs.codes]))
