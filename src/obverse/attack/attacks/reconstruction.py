"""Reconstruction: overly accurate answers to too many questions give the whole database away (Dinur and Nissim)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.solvers import (
    PEOPLE_MAX,
    bits_by_least_squares,
    bits_by_linear_program,
    bits_of,
    certain_bits,
    consistent,
)
from obverse.attack.targets import Sums
from obverse.core.errors import Refused

Bits = NDArray[np.bool_]
Numbers = NDArray[np.float64]


ROUNDING = 1e-9
Method = Literal["least-squares", "linear", "exhaustive", "certain"]


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """Asks for the number of secrets in random halves of the people, and finds bits that agree with all answers.

    A trial is a person; it is won if the bit is right. The control always says what most people have: whoever does not
    know whom the answers are about does no better. Methods: `least-squares` (thousands of people), `linear` (least
    absolute errors, a hundred or two), `exhaustive` (every candidate, up to 26), `certain` (an integer program that
    proves bits, and guesses none that it cannot prove: there a trial is a person of whom something is proved; and where
    no answer was off by more than was told, the control proves nothing of anybody: a chance of zero). The last two need
    the largest error of an answer.
    """

    name: ClassVar[str] = "reconstruction"
    summary: ClassVar[str] = "Recover everybody's secret bit from noisy sums over random subsets."
    method: Method = "least-squares"
    queries: int | None = None  # four for each person unless told
    error: float | None = None  # the largest error of an answer, where it is known
    seed: int = 1  # of the subsets
    timeout_s: float = 60.0

    def run(self, sums: Sums, truth: Bits, target: str = "an interface") -> Finding:
        people = len(truth)
        count = self.queries if self.queries is not None else 4 * people
        subsets = np.random.default_rng(self.seed).integers(0, 2, (count, people), dtype=np.uint8).astype(bool)
        answers = sums(subsets)
        given = ~np.isnan(answers)
        nothing = np.zeros(people, dtype=bool)
        guess, guessed = self._decoded(subsets[given], answers[given]) if given.any() else (nothing, nothing)
        wins = int((guessed & (guess == truth)).sum())
        usual = float(max(truth.mean(), 1 - truth.mean())) if people else 1.0
        figures = {
            "questions": count,
            "answered": int(given.sum()),
            "method": self.method,
            "guessed": int(guessed.sum()),
        }
        trials = int(guessed.sum()) if self.method == "certain" else people
        off = np.abs(subsets[given] @ truth.astype(float) - answers[given]).max(initial=0.0)
        sound = self.method == "certain" and self.error is not None and bool(off <= self.error + ROUNDING)
        told = (
            f"From {int(given.sum()):,} sums over random subsets the secrets of {share(wins, people)} people are "
            "recovered"
        )
        return judged(
            self.name, target, Rate(wins, trials), 0.0 if sound else usual, figures=figures,
            leak=f"{told}: too many answers are too accurate.",
            quiet=f"{told}: not surely more than by guessing what is usual.",
        )  # fmt: skip

    def _decoded(self, subsets: Bits, answers: Numbers) -> tuple[Bits, Bits]:
        """Bits, and which of them are guessed at all."""
        everybody = np.ones(subsets.shape[1], dtype=bool)
        match self.method:
            case "least-squares":
                return bits_by_least_squares(subsets, answers), everybody
            case "linear":
                found = bits_by_linear_program(subsets, answers, self.timeout_s)
                return (found, everybody) if found is not None else (~everybody, ~everybody)
            case "exhaustive":
                if len(everybody) > PEOPLE_MAX:
                    fix = "take fewer people, or another method"
                    raise Refused(
                        "too_many_people", f"every candidate is tried for up to {PEOPLE_MAX} people.", fix=fix
                    )
                kept = consistent(subsets, answers, self._error())
                return (
                    (bits_of(kept, len(everybody)).mean(axis=0) > 0.5, everybody)
                    if len(kept)
                    else (~everybody, ~everybody)
                )
            case "certain":
                proof = certain_bits(subsets, answers, self._error(), self.timeout_s)
                return (proof.bits, proof.certain) if proof.bits is not None else (~everybody, ~everybody)

    def _error(self) -> float:
        if self.error is None:
            what = f"the method {self.method} needs the largest error of an answer."
            raise Refused("error_unknown", what, fix="tell how far off an answer can be, or take another method")
        return self.error

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Noise of a tenth of the root of n on each of 4n answers."""
        return Reconstruction().run(*noisy_sums(generator, 200, 0.1 * 200**0.5), target="planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """Noise for 4n answers that together keep epsilon 1."""
        return Reconstruction().run(*noisy_sums(generator, 200, 800.0), target="honest")


def noisy_sums(generator: np.random.Generator, people: int, scale: float) -> tuple[Sums, Bits]:
    """Sums of random bits, half of them ones, with normal noise; and the bits."""
    truth = generator.permutation(np.arange(people) % 2 == 0)
    return lambda subsets: subsets[:, truth].sum(axis=1) + generator.normal(0, scale, len(subsets)), truth
