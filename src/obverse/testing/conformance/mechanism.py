"""The conformance suite of mechanisms: whoever writes one gets these checks by one line in the registry."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from obverse.attack.lower_bound.evidence import epsilon_lower_bound
from obverse.core.loss import ApproxLoss, BoundedRangeLoss, PureLoss
from obverse.core.numbers import up
from obverse.ledger.chain import decode, encode
from obverse.mechanisms.base import Additive, Example, Mechanism, Vector, outside
from obverse.mechanisms.enclosures import Enclosure
from obverse.testing.noiseless import SeededRng
from obverse.testing.statistics import claim_holds, claimed_epsilon, fits

Laws = tuple[list[Enclosure], list[Enclosure]]

LESS_NOISE = Fraction(9, 10)
DELTA = 1e-5
LEVELS = (0.5, 0.95, 0.999)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which of the checks noticed that a tenth of the noise was missing; not every pair of inputs can show it."""

    by_law: bool
    by_fit: bool
    by_evidence: bool


def check_mechanism(example: Example, *, draws: int = 10**6, seed: int = 1) -> Verdict:
    """Run every check on one example; AssertionError names the law that is broken. Deterministic for a seed."""
    rng = SeededRng(seed)
    mechanism = example.mechanism
    weaker = example.mechanism.scaled(LESS_NOISE)
    check_values(mechanism)
    laws = check_claim(example)
    if isinstance(mechanism, Additive):
        check_error_bars(mechanism, example.outputs)
    sides = [mechanism.draws(side, draws, rng) for side in (example.left, example.right)]
    weaker_sides = [weaker.draws(side, draws, rng) for side in (example.left, example.right)]
    first = example.outputs.start
    _expect(_fit(sides, first, laws), f"{mechanism.name}: samples do not follow the stated law")
    check_evidence(mechanism, sides)
    return Verdict(
        by_law=not claim_holds(mechanism.loss(), *_laws(weaker, example)),
        by_fit=not _fit(weaker_sides, first, laws),
        by_evidence=refuted(mechanism, weaker_sides),
    )


def seen_by_evidence(example: Example, less: Fraction, *, draws: int = 10**6, seed: int = 1) -> bool:
    """Whether outputs alone refute the mechanism when it has so much less noise than its claim needs (false alarm
    1e-9).
    """
    weaker = example.mechanism.scaled(less)
    rng = SeededRng(seed)
    return refuted(example.mechanism, [weaker.draws(side, draws, rng) for side in (example.left, example.right)])


def refuted(mechanism: Mechanism, sides: Sequence[Vector]) -> bool:
    """Whether an attacker's lower bound of epsilon, from outputs on both sides, exceeds the mechanism's claim."""
    delta = _delta(mechanism)
    return epsilon_lower_bound(sides[0], sides[1], delta=delta).epsilon > claimed_epsilon(mechanism.loss(), delta)


def check_values(mechanism: Mechanism) -> None:
    """A mechanism and its loss survive travel: to a child process, and to the ledger and back."""
    _expect(pickle.loads(pickle.dumps(mechanism)) == mechanism, f"{mechanism.name}: does not survive pickling")
    loss = mechanism.loss()
    _expect(decode(encode(loss)) == loss, f"{mechanism.name}: its loss does not survive the ledger")
    _expect(loss == mechanism.loss(), f"{mechanism.name}: its loss is not a constant")


def check_claim(example: Example) -> Laws:
    """The exact law of the outputs on both sides is as close as the loss says, and is a law; returns both."""
    left, right = _laws(example.mechanism, example)
    name = example.mechanism.name
    for law in (left, right):
        total = sum((low for low, _ in law), Fraction(0))
        _expect(1 - Fraction(1, 10**9) <= total <= 1, f"{name}: the example's outputs hold too little or too much")
        _expect(all(low <= high for low, high in law), f"{name}: an enclosure is empty")
    _expect(claim_holds(example.mechanism.loss(), left, right), f"{name}: the law exceeds the stated loss")
    return left, right


def check_error_bars(mechanism: Additive, outputs: Sequence[int]) -> None:
    """Intervals cover what they say and not much more; the standard deviation is that of the law."""
    masses = {z: mechanism.mass(z) for z in range(-len(outputs), len(outputs) + 1)}
    for level in LEVELS:
        half = mechanism.interval(level)
        outer = 1 - sum((masses[z][0] for z in range(-half, half + 1)), Fraction(0))
        _expect(outer <= outside(level) + Fraction(1, 10**9), f"{mechanism.name}: the {level} interval is too small")
        tighter = 1 - sum((masses[z][1] for z in range(2 - half, half - 1)), Fraction(0))
        _expect(half < 2 or tighter > outside(level), f"{mechanism.name}: the {level} interval is too large")
    variance = float(sum((z * z * low for z, (low, _) in masses.items()), Fraction(0)))
    _expect(abs(mechanism.stddev() ** 2 / variance - 1) < 1e-6, f"{mechanism.name}: the standard deviation is wrong")


def check_evidence(mechanism: Mechanism, sides: Sequence[Vector]) -> None:
    """An attacker's lower bound of epsilon never exceeds the claim (false alarm 1e-9)."""
    found = epsilon_lower_bound(sides[0], sides[1], delta=_delta(mechanism))
    claim = claimed_epsilon(mechanism.loss(), found.delta)
    _expect(found.epsilon <= claim, f"{mechanism.name}: epsilon is at least {found.epsilon} by '{found.event}'")


def _fit(sides: Sequence[Vector], first: int, laws: Laws) -> bool:
    return all(fits(side, first, [float(low) for low, _ in law]) for side, law in zip(sides, laws))


def _laws(mechanism: Mechanism, example: Example) -> Laws:
    left = [mechanism.probability(example.left, output) for output in example.outputs]
    return left, [mechanism.probability(example.right, output) for output in example.outputs]


def _delta(mechanism: Mechanism) -> float:
    """What an attacker must forgive: a claim's own delta, or for zCDP the one at which its epsilon is compared."""
    match mechanism.loss():
        case PureLoss() | BoundedRangeLoss():
            return 0.0
        case ApproxLoss(_, delta):
            return up(delta)
        case _:
            return DELTA


def _expect(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)
