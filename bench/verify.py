"""Strength and speed of the reviewer's tools: epsilon lower bounds, and auditing of sums: `python bench/verify.py`."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import asking
import numpy as np

from obverse.attack import epsilon_lower_bound
from obverse.attack.attacks import LowBits
from obverse.attack.auditing import Sum, audit_booleans, audit_reals
from obverse.attack.lower_bound.trial import trial
from obverse.testing import verify
from obverse.testing.noiseless import SeededRng

SAMPLES = 10**6
LEAST = 0.97
LEAST_S = 3.0
REPEATS = 1000
REPEATED = 20_000
CONFIDENCE = 0.95
ALLOWED = 85  # of 1,000 at 95 %: fifty are expected at most; more than 85 with chance below 1e-6
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
TRUTHS = (0.0, 0.1, 37.0)
# outputs of a side; replays of exact noise at each epsilon
TEXTBOOK = 10_000
FEW = 2_000
GRIDDED = 100
SECRETS = 500
QUESTIONS = 150
SIZE = 6
AUDIT_S = 5.0


def laplace(random: np.random.Generator, n: int) -> tuple[Any, Any]:
    """On a grid of 2^-20: the last bits of noise in floating point would give more away."""
    noise = np.rint(random.laplace(0.0, 1.0, (2, n)) * 2**20) / 2**20
    return noise[0], 1 + noise[1]


def strength() -> list[dict[str, Any]]:
    """Laplace noise at epsilon 1, by a million outputs of each side, drawing included: the median of five."""
    random = np.random.default_rng(1)
    found = []
    taken = []
    for _ in range(5):
        begun = time.process_time()
        found.append(epsilon_lower_bound(*laplace(random, SAMPLES), alpha=1 - CONFIDENCE).epsilon)
        taken.append(time.process_time() - begun)
    bound = sorted(found)[0]
    cpu = sorted(taken)[2]
    return [
        asking.bar("Laplace at 1, 1M a side: least of 5 bounds", f"{bound:.4f}", f">= {LEAST}", bound >= LEAST),
        asking.bar("Laplace at 1, 1M a side: CPU", f"{cpu:.2f} s", f"< {LEAST_S:.0f} s", cpu < LEAST_S),
    ]


def honesty() -> list[dict[str, Any]]:
    """How often the bound exceeds the true epsilon."""
    random = np.random.default_rng(2)
    over = 0
    most = 0.0
    for _ in range(REPEATS):
        bound = epsilon_lower_bound(*laplace(random, REPEATED), alpha=1 - CONFIDENCE).epsilon
        over = over + (bound > 1)
        most = max(most, bound)
    what = f"Laplace at 1, {REPEATS:,} repeats at 95 %: above 1 (most {most:.3f})"
    return [asking.bar(what, f"{over}", f"<= {ALLOWED}", over <= ALLOWED)]


def last_bits() -> list[dict[str, Any]]:
    """The textbook's noise in floating point, and the same on a grid of tenths: how many claims either tool refutes."""
    random = np.random.default_rng(3)
    found = []
    over = []
    for epsilon in EPSILONS:
        textbook = partial(noisy, random, 1 / epsilon)
        found += [both_tools(textbook, (truth, truth + 1), TEXTBOOK, epsilon) for truth in TRUTHS]
        over += [both_tools(partial(tenths, random, 1 / epsilon), (0.0, 1.0), FEW, epsilon) for _ in range(GRIDDED)]
    most = len(over) * (1 - CONFIDENCE) + 5 * (len(over) * CONFIDENCE * (1 - CONFIDENCE)) ** 0.5
    bars = []
    for place, tool in enumerate(("verify", "low-bits")):
        refuted, alarms = (sum(one[place] for one in each) for each in (found, over))
        what = f"{tool}: noise in floating point, {2 * TEXTBOOK:,} outputs, refuted of {len(found)}"
        bars.append(asking.bar(what, f"{refuted}", f"= {len(found)}", refuted == len(found)))
        bars.append(
            asking.bar(
                f"{tool}: noise of whole tenths, refuted of {len(over)}", f"{alarms}", f"<= {most:.0f}", alarms <= most
            )
        )
    return bars


def noisy(random: np.random.Generator, scale: float, truth: float, n: int) -> Any:
    return truth + random.laplace(0, scale, n)


def tenths(random: np.random.Generator, scale: float, truth: float, n: int) -> Any:
    return (10 * truth + np.rint(10 * random.laplace(0, scale, n))) / 10


def both_tools(
    draw: Callable[[float, int], Any], pair: tuple[float, float], n: int, epsilon: float
) -> tuple[bool, bool]:
    """Whether a trial refutes the claim, and the attack on low bits, by n outputs of each side."""
    refuted = trial(draw, [pair], n - 64, claimed=epsilon).refuted  # 64 more tell what outputs look like
    return refuted, LowBits(epsilon).run(draw(pair[1], n), draw(pair[0], n)).leaks


def auditing() -> list[dict[str, Any]]:
    """Random sets of six among 500 yes-or-no secrets: the slowest of five."""
    taken = []
    told = []
    linear = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        bits = random.integers(0, 2, SECRETS)
        sets = [random.choice(SECRETS, SIZE, replace=False) for _ in range(QUESTIONS)]
        sums = [Sum(frozenset(map(int, one)), int(bits[one].sum())) for one in sets]
        begun = time.monotonic()
        found = audit_booleans(SECRETS, sums, time_limit_s=60)
        taken.append(time.monotonic() - begun if not found.undecided else float("inf"))
        told.append(len(found.determined))
        linear.append(len(audit_reals(SECRETS, sums).determined))
    print(f"determined of {SECRETS}: {told}, by linear algebra alone {linear}")
    what = f"auditing {SECRETS} secrets, {QUESTIONS} sets of {SIZE}"
    return [asking.bar(what, f"{max(taken):.2f} s", f"< {AUDIT_S:.0f} s", max(taken) < AUDIT_S)]


def twins() -> list[dict[str, Any]]:
    """Broken twins of ours, by as many outputs a side as the tests take: 20,000, and 80,000 where a course has many
    steps.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for one in verify.twins(SeededRng(4), Path(folder)):
            verdict = one.verdict(4 * REPEATED if one.name.startswith("synthetic") else REPEATED)
            shown = f"{verdict.evidence.epsilon:.2f}"
            found.append(asking.bar(f"twin: {one.name}", shown, f"> {verdict.claimed:g}", verdict.refuted))
    return found


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f} at the start", flush=True)
    raise SystemExit(0 if asking.print_bars(strength() + honesty() + last_bits() + auditing() + twins()) else 1)


if __name__ == "__main__":
    main()
