"""Interfaces as they are often built, over exact answers: with fresh noise, or with small counts refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from obverse.attack.targets import Person
from obverse.core.errors import Refused

if TYPE_CHECKING:
    from obverse.attack.targets import Ask


def in_numbers(ask: Ask) -> Ask:
    """What is not finite is no answer; what is no number at all is a fault of the interface."""

    def finite(sql: str) -> float | None:
        answer = ask(sql)
        try:
            number = math.nan if answer is None else float(answer)
        except (TypeError, ValueError):
            fix = "Let it give a number, or None where it refuses."
            raise Refused("bad_outputs", "the interface gave something else than a number.", fix=fix) from None
        return number if math.isfinite(number) else None

    return finite


def with_noise(ask: Ask, scale: float, seed: int) -> Ask:
    """Fresh Laplace noise on every answer, without a budget: what is often called differential privacy and is not."""
    import numpy as np

    generator = np.random.default_rng(seed)

    def noisy(sql: str) -> float | None:
        exact = ask(sql)
        return None if exact is None else exact + float(generator.laplace(0, scale))

    return noisy


def with_least(ask: Ask, least: int, rows: int) -> Ask:
    """Refuses counts of fewer than `least` rows, and of all but fewer."""

    def careful(sql: str) -> float | None:
        exact = ask(sql)
        return exact if exact is not None and least <= exact <= rows - least else None

    return careful


def balanced(people: Sequence[Person], wanted: int, seed: int) -> list[Person]:
    """So many people, half of them with the secret where there are enough of both, so that blind guesses are half right."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(len(people)).tolist()
    have = [people[i] for i in order if people[i].secret]
    lack = [people[i] for i in order if not people[i].secret]
    half = min(wanted // 2, len(have), len(lack))
    extra = (have[half:] + lack[half:])[: max(0, wanted - 2 * half)]
    return have[:half] + lack[:half] + extra
