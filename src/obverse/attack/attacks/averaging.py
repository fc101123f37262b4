"""Averaging: the same question again and again, until the noise is gone. Breaks fresh noise that no budget bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from obverse.attack.finding import Finding, Rate

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Averaging:
    """Asks one counting question `repeats` times, and takes the nearest whole number to the mean for the truth.

    A trial is one question; it is won if the guess is exact. The control guesses from the first answer alone: what averaging
    wins beyond that, it wins by repeating. An interface that refuses to answer again, or repeats itself, gives nothing.
    """

    name: ClassVar[str] = "averaging"
    repeats: int = 100

    def run(self, asked: Callable[[int, int], list[float]], truth: list[int], target: str = "an interface") -> Finding:
        """`asked(i, r)`: up to r answers to question i, as many as are given; `truth[i]` is the exact answer."""
        import numpy as np

        wins = once = spent = 0
        for question, exact in enumerate(truth):
            answers = asked(question, self.repeats)
            spent += len(answers)
            wins += bool(answers) and round(float(np.mean(answers))) == exact
            once += bool(answers) and round(answers[0]) == exact
        rate, control = Rate(wins, len(truth)), Rate(once, len(truth))
        found = Finding(self.name, target, "", rate, control, figures={"repeats": self.repeats, "answers": spent})
        told = "gives the exact count away" if found.leaks else "tells no more than asking once"
        sentence = f"Asking the same question up to {self.repeats} times {told}: {wins} of {len(truth)} counts are exact."
        return Finding(self.name, target, sentence, rate, control, figures=found.figures)

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Fresh noise for every answer, without a budget: must be found."""
        truth = [int(x) for x in generator.integers(50, 500, 60)]
        return Averaging(400).run(lambda i, r: [truth[i] + float(x) for x in generator.laplace(0, 3, r)], truth, "planted")

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """Answers are remembered, and repeated: must not be blamed."""
        truth = [int(x) for x in generator.integers(50, 500, 60)]
        noisy = [exact + float(x) for exact, x in zip(truth, generator.laplace(0, 3, 60))]
        return Averaging(400).run(lambda i, r: [noisy[i]] * r, truth, "honest")
