"""What an attack found: how often it won, how often it wins where nothing can be known, and one sentence of what it
means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from obverse.attack.lower_bound import binomial
from obverse.core.errors import Refused, invariant

ALPHA = 0.05
TOO_FEW = "Too few to judge: so few trials could not have shown a leak, whatever they gave."


@dataclass(frozen=True, slots=True)
class Rate:
    """Wins among trials."""

    wins: int
    trials: int

    def __post_init__(self) -> None:
        invariant(0 <= self.wins <= self.trials, "there are at most as many wins as trials")

    @property
    def value(self) -> float:
        return self.wins / self.trials if self.trials else 0.0

    def low(self, alpha: float) -> float:
        """Above the true rate with a chance of at most alpha."""
        return binomial.lower(self.wins, self.trials, alpha) if self.trials else 0.0

    def high(self, alpha: float) -> float:
        return binomial.upper(self.wins, self.trials, alpha) if self.trials else 1.0


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A p-value, what it tests, and the least p-value that a sample of this size could have given."""

    words: str
    p: float
    at_best: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One attack on one target.

    Claim:   a target on which the attack does no better than on its control is blamed with a chance of at most alpha.
    Proof:   with significance tests, it is blamed where one of n has p <= alpha / n (Bonferroni). Without, where the
             lower bound of the attack's rate is above the upper bound of the control's; each errs with a chance of at
             most alpha / 2 (Clopper and Pearson). A chance that is known needs no bound.
    Assumes: trials are independent; where there are tests, what those assume instead.
    """

    attack: str
    target: str
    sentence: str
    rate: Rate
    control: Rate | float  # what the same attack wins where it can know nothing: counted, or a known chance
    alpha: float = ALPHA
    figures: Mapping[str, Any] = field(default_factory=dict)  # whatever else was measured, by name
    tests: tuple[SignificanceTest, ...] = ()  # that judge, in place of the intervals

    @property
    def interval(self) -> tuple[float, float]:
        return self.rate.low(self.alpha / 2), self.rate.high(self.alpha / 2)

    @property
    def chance(self) -> tuple[float, float]:
        """That of the control, with its bounds."""
        if isinstance(self.control, float):
            return self.control, self.control
        return self.control.low(self.alpha / 2), self.control.high(self.alpha / 2)

    @property
    def usual(self) -> float:
        """What the control wins."""
        return self.control if isinstance(self.control, float) else self.control.value

    @property
    def leaks(self) -> bool:
        """Whether the attack surely does better than its control."""
        if self.tests:
            return any(one.p <= self.each_alpha for one in self.tests)
        return self.interval[0] > self.chance[1]

    @property
    def each_alpha(self) -> float:
        """The chance that one test blames a harmless target."""
        return self.alpha / max(1, len(self.tests))

    @property
    def too_few(self) -> bool:
        """Whether a leak could not have been shown, even by winning every trial."""
        if self.tests:
            return all(one.at_best > self.each_alpha for one in self.tests)
        trials = self.rate.trials
        return not trials or (self.usual < 1 and Rate(trials, trials).low(self.alpha / 2) <= self.chance[1])

    @property
    def verdict(self) -> str:
        return "leaks" if self.leaks else "too few to judge" if self.too_few else "no leak found"

    def as_json(self) -> dict[str, Any]:
        low, high = self.interval
        return {
            "attack": self.attack,
            "target": self.target,
            "leaks": self.leaks,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "rate": {
                "wins": self.rate.wins,
                "trials": self.rate.trials,
                "value": self.rate.value,
                "low": low,
                "high": high,
            },
            "control": {"value": self.usual, "low": self.chance[0], "high": self.chance[1]},
            "alpha": self.alpha,
            "tests": [{"test": one.words, "p": one.p, "alpha": self.each_alpha} for one in self.tests],
            "figures": dict(self.figures),
        }


def judged(
    attack: str, target: str, rate: Rate, control: Rate | float, *,
    leak: str, quiet: str, figures: Mapping[str, Any], tests: Sequence[SignificanceTest] = (),
    alpha: float = ALPHA,
) -> Finding:  # fmt: skip
    """The finding, with the sentence that fits: `leak` where the attack surely does better than its control, else
    `quiet`.

    A control of nobody could never show that an attack does better, and would acquit everything; so there is none. So
    few trials that even winning all of them would have shown nothing acquit nobody either, and the sentence says so.
    """
    if isinstance(control, Rate) and not control.trials and rate.trials:
        fix = "give people of the same kind who are surely not in the data"
        raise Refused(
            "no_control", f"{attack}: nobody is in the control group, so nothing can be told from chance.", fix=fix
        )
    if not rate.trials:
        quiet = f"Nothing could be tried, so this says nothing: {quiet}"
    found = Finding(attack, target, quiet, rate, control, alpha, figures, tests=tuple(tests))
    if rate.trials and found.too_few:
        found = replace(found, sentence=f"{quiet} {TOO_FEW}")
    return replace(found, sentence=leak) if found.leaks else found


def share(part: int, whole: int) -> str:
    """`12 of 40 (30 %)`, as sentences say it."""
    return f"{part:,} of {whole:,} ({100 * part / whole:.3g} %)" if whole else "0 of 0"
