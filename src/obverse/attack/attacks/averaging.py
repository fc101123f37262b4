"""Averaging: the same question again and again, until the noise is gone. Breaks fresh noise that no budget bounds.

One question in other words: cases, blanks, comments and conditions that always hold. All of them mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from obverse.attack.finding import Finding, Rate, judged, share
from obverse.attack.targets import Ask

QUOTED = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""")


def wordings(question: str) -> list[str]:
    """The question as it is, and in other words."""
    inside = question.strip().rstrip(";").strip()
    head, blank, rest = inside.partition(" ")
    return list(dict.fromkeys([
        question,
        _outside(inside, str.lower),
        _outside(inside, str.swapcase),
        _outside(inside, lambda text: text.replace(" ", "  \n\t")),
        f"{head} /* once more */{blank}{rest}",
        f"{inside} -- once more\n",
        f"{inside};",
        reworded(inside, 1),
        reworded(inside, 2),
    ]))  # fmt: skip


def reworded(question: str, again: int) -> str:
    """The same question with a condition that always holds, different each time."""
    if again == 0:
        return question
    joint = "AND" if " WHERE " in question.upper() else "WHERE"
    return f"{question} {joint} {again} = {again}"


def _outside(question: str, changed: Callable[[str], str]) -> str:
    """The question changed where it is not quoted."""
    parts = QUOTED.split(question)
    return "".join(part if place % 2 else changed(part) for place, part in enumerate(parts))


@dataclass(frozen=True, slots=True)
class Averaging:
    """Asks one counting question `repeats` times; the whole number nearest to the middle of the answers is its guess.

    A trial is one question; it is won if the guess is exact. The control guesses from the first answer alone: what
    averaging wins beyond that, it wins by repeating. An interface that refuses to answer again, or repeats itself,
    gives nothing.
    """

    name: ClassVar[str] = "averaging"
    summary: ClassVar[str] = "Ask the same question many times, also in other words, and average."
    repeats: int = 100

    def run(self, asked: Callable[[int, int], list[float]], truth: list[int], target: str = "an interface") -> Finding:
        """`asked(i, r)`: up to r answers to question i, as many as are given; `truth[i]` is the exact answer."""
        wins = once = spent = 0
        for question, exact in enumerate(truth):
            answers = asked(question, self.repeats)
            spent += len(answers)
            wins += bool(answers) and round(middle(answers)) == exact
            once += bool(answers) and round(answers[0]) == exact
        figures = {"repeats": self.repeats, "answers": spent}
        told = f"Asking the same question up to {self.repeats:,} times"
        exactly = f"{share(wins, len(truth))} counts are exact, {share(once, len(truth))} after one answer"
        return judged(
            self.name, target, Rate(wins, len(truth)), Rate(once, len(truth)), figures=figures,
            leak=f"{told} gives the exact count away: {exactly}.",
            quiet=f"{told} tells not surely more than asking once: {exactly}.",
        )  # fmt: skip

    def ask(self, ask: Ask, questions: Sequence[str], truth: list[int], target: str = "an interface") -> Finding:
        """The same by SQL: each time in other words, so that noise which sticks to a text is drawn anew."""

        def asked(question: int, repeats: int) -> list[float]:
            answers = []
            for again in range(repeats):
                answer = ask(reworded(questions[question], again))
                if answer is None:
                    break
                answers.append(answer)
            return answers

        return self.run(asked, truth, target)

    @staticmethod
    def planted(generator: np.random.Generator) -> Finding:
        """Fresh noise for every answer, without a budget: must be found."""
        truth = [int(x) for x in generator.integers(50, 500, 60)]
        return Averaging(400).run(
            lambda i, r: [truth[i] + float(x) for x in generator.laplace(0, 3, r)], truth, "planted"
        )

    @staticmethod
    def honest(generator: np.random.Generator) -> Finding:
        """Answers are remembered, and repeated: must not be blamed."""
        truth = [int(x) for x in generator.integers(50, 500, 60)]
        noisy = [exact + float(x) for exact, x in zip(truth, generator.laplace(0, 3, 60))]
        return Averaging(400).run(lambda i, r: [noisy[i]] * r, truth, "honest")


def middle(answers: Sequence[float]) -> float:
    """The mean of the middle half: nearly as good as the mean under a bell curve, and far better under long tails."""
    ordered = np.sort(np.asarray(answers, dtype=np.float64))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())
