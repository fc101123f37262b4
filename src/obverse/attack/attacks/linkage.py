"""Linkage: a list with names and a release without them, joined on what both tell (ZIP, birth date, sex: Governor Weld)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.attack.classes import column, rows, same
from obverse.attack.examples import people_list, pick
from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.matching import matched
from obverse.core.errors import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.targets import Table


@dataclass(frozen=True, slots=True)
class Linkage:
    """Names a known person's row where it is the only one that fits, and the person the only one known whom it fits.

    A trial is a known person who is in the release; it is won if the row that is named is the person's own. The control is
    people who are not in the release: whoever is "found" among them is found by chance. Where everybody known is in it, the
    control is the chance to hit the right row blindly. Generalised cells (130**, [20-30), {a, b}, *) fit all they stand for.
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
    ) -> Finding:
        """`truth` names a column of both tables that tells who is who; `outsiders` are people who are surely not released."""
        if truth is None and outsiders is None:
            fix = "name a column of both tables that tells who is who (--truth), or people who are surely not in it (--control)"
            raise Refused("no_control", "without a control group a match may be a coincidence.", fix=fix)
        everybody = known if outsiders is None else _together(known, outsiders, on if truth is None else (*on, truth))
        search = matched(released, everybody, on)
        links = search.links()
        if truth is not None:
            rate, control = _verified(links, released, everybody, truth)
        else:
            named, inside = links >= 0, rows(known)
            rate = Rate(int(named[:inside].sum()), inside)
            control = Rate(int(named[inside:].sum()), len(named) - inside)
        figures = {
            "smallest_class": search.released.smallest,
            "rows_alone": int((search.released.sizes == 1).sum()),
            "people_alone": int((search.people.sizes == 1).sum()),
            "named": int((links >= 0).sum()),
        }
        told = f"{share(rate.wins, rate.trials)} known people are matched with one row of the release each"
        right = ", and rightly" if truth is not None else ""
        what = ", ".join(on)
        apart = " No row fits anybody known: are these columns written alike in both tables?" if search.nobody else ""
        return judged(
            self.name, target, rate, control, figures=figures,
            leak=f"By {what}, {told}{right}; the release is not anonymous.",
            quiet=f"By {what}, {told}{right}; that is no more than chance explains.{apart}",
        )  # fmt: skip

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Names are dropped, everything else is released."""
        everybody = people_list(generator, 3000)
        return Linkage().run(pick(everybody, slice(0, 2000)), everybody, ("zip", "birth", "sex"), truth="id", target="planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """As detailed, but each description belongs to somebody else: it singles out rows, and nobody."""
        everybody = people_list(generator, 3000)
        released = dict(pick(everybody, slice(0, 2000)))
        released["id"] = generator.permutation(released["id"])
        return Linkage().run(released, everybody, ("zip", "birth", "sex"), truth="id", target="honest")


def _together(known: Table, outsiders: Table, names: Sequence[str]) -> Table:
    """One list, so that those inside and those outside are as alone in it."""
    import numpy as np

    return {name: np.concatenate([column(known, name), column(outsiders, name)]) for name in names}


def _verified(links: NDArray[np.int64], released: Table, known: Table, truth: str) -> tuple[Rate, Rate | float]:
    """Right links among people who are in the release, and links of those who are not."""
    import numpy as np

    who, whose = same(column(known, truth), column(released, truth))
    inside = np.isin(who, whose)
    right = (links >= 0) & (whose[links] == who) if len(whose) else np.zeros(len(links), dtype=bool)
    rate = Rate(int(right[inside].sum()), int(inside.sum()))
    outside = int((~inside).sum())
    if outside:
        return rate, Rate(int((links[~inside] >= 0).sum()), outside)
    return rate, 1 / max(1, len(whose))
