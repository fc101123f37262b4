"""Background knowledge: whoever can rule out a few secrets of a class may be left with one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.attack.classes import Coded, classes, coded, column, distinct
from obverse.attack.examples import diverse_classes
from obverse.attack.finding import Finding, Rate, judged, share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.attack.targets import Table


@dataclass(frozen=True, slots=True)
class Background:
    """Rules secrets out, and reads what is left. It takes the release at its word.

    The attacker rules out the secrets that are named; without names, any `ruled_out` secrets that are not the person's. A trial
    is a row (whose secret is not ruled out); it is won if one secret is left in its class. The control rules out as much of the
    whole table, without knowing the class.
    """

    name: ClassVar[str] = "background"
    summary: ClassVar[str] = "Rule out secrets that are impossible, and find classes in which one is left."
    ruled_out: int = 1

    def run(
        self, released: Table, on: Sequence[str], secret: str, *, impossible: Collection[str] = (), target: str = "a release"
    ) -> Finding:
        import numpy as np

        found, value = classes(released, on), coded(column(released, secret))
        possible = _possible(value, impossible)
        few = 1 if impossible else self.ruled_out + 1
        everywhere = len(np.unique(value.codes[possible]))
        left = distinct(found.codes[possible], value.codes[possible], len(found))
        wins, trials = int((left[found.codes[possible]] <= few).sum()), int(possible.sum())
        whole = distinct(found.codes, value.codes, len(found))
        most = np.zeros(len(found))
        if trials:
            width = len(value.texts)
            pairs, times = np.unique(found.codes[possible] * width + value.codes[possible], return_counts=True)
            np.maximum.at(most, pairs // width, times)
        sizes = np.bincount(found.codes[possible], minlength=len(found))
        surest = most[sizes > 0] / sizes[sizes > 0]
        figures = {
            "fewest_secrets": int(whole.min()) if len(found) else 0,
            "surest_guess": float(surest.max(initial=0.0)),
            "mean_guess": float(most.sum() / trials) if trials else 0.0,
        }
        knowing = f"ruling out {', '.join(sorted(impossible))}" if impossible else f"ruling out {self.ruled_out} of the secrets"
        quiet = f"By {knowing}, {secret} becomes certain for nobody whose class is known."
        if everywhere <= few:
            quiet = f"By {knowing}, one {secret} is left for anybody, with or without this table: there are so few."
        return judged(
            self.name, target, Rate(wins, trials), float(everywhere <= few), figures=figures,
            leak=f"By {knowing}, {secret} becomes certain for {share(wins, trials)} rows.", quiet=quiet,
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


def _possible(value: Coded, impossible: Collection[str]) -> NDArray[np.bool_]:
    import numpy as np

    ruled = np.array([said in impossible for said in value.texts], dtype=bool)
    return ~ruled[value.codes]
