"""Every mechanism, aggregate and local protocol of ours on trial; and broken twins, which a trial must refute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from obverse.attack.lower_bound.trial import Verdict, pairs, trial
from obverse.collect.protocols import PROTOCOLS, Fragments, LocalProtocol, Prefixes, Projective, ProjectiveSketch
from obverse.collect.protocols.base import Codes, Payloads
from obverse.collect.protocols.rappor import Rappor
from obverse.core.rng import Rng
from obverse.mechanisms import MECHANISMS, DiscreteLaplace, SparseVector
from obverse.plan.aggregates import AGGREGATES
from obverse.plan.pricing import with_mechanisms
from obverse.review.neighbours import Replayed, of_question
from obverse.review.targets import Inputs, Target, of_mechanism, of_protocol
from obverse.testing.conformance.release import releases

ONE = Fraction(1)
FALSE_ALARM = 1e-6  # of each trial
TOML = """\
[project]
name = "on-trial"
[budget]
epsilon = 100
[tables.t]
source = "nowhere.parquet"
unit = "u"
[tables.t.columns]
u = { type = "integer" }
x = { type = "integer", bounds = [0, 20], nullable = false }
y = { type = "integer", bounds = [0, 20], nullable = false }
s = { type = "text", values = ["a", "b", "c"] }
"""
_WRITTEN = {  # where NAME(x) is not how it is said
    "count": "COUNT(*)",
    "count_distinct": "COUNT(DISTINCT s)",
    "count_units": "COUNT(DISTINCT u)",
    "quantile_cont": "QUANTILE_CONT(x, 0.5)",
    "percentile_disc": "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x)",
    "mode": "MODE(s)",
}


@dataclass(frozen=True, slots=True)
class OnTrial:
    """A target with its name."""

    name: str
    target: Target

    def verdict(self, samples: int, alpha: float = FALSE_ALARM) -> Verdict:
        one = self.target
        return trial(one.draw, one.pairs, samples, claimed=one.epsilon, delta=one.delta, alpha=alpha)


def mechanisms(rng: Rng) -> Iterator[OnTrial]:
    """Each example of each mechanism in the registry."""
    for kind in MECHANISMS:
        for number, example in enumerate(kind.examples()):
            pair = Inputs((example.left, example.right))
            yield OnTrial(f"{kind.name} {number}", of_mechanism(example.mechanism, pair, rng))


def protocols(rng: Rng) -> Iterator[OnTrial]:
    """Each local protocol in the registry, over four answers at epsilon 1."""
    for kind in PROTOCOLS:
        yield OnTrial(kind.name, of_protocol(_narrow(kind.fitted(4, ONE)), Inputs(), rng))


def _narrow(protocol: LocalProtocol) -> LocalProtocol:
    """With sketches of few columns, so that few outputs tell them apart; the law is the same."""
    if isinstance(protocol, Prefixes | Fragments):
        return replace(protocol, sketch=_few(protocol.sketch))
    return _few(protocol) if isinstance(protocol, ProjectiveSketch) else protocol


def _few(sketch: ProjectiveSketch) -> ProjectiveSketch:
    answer = Projective.fitted(4, sketch.loss())
    return replace(sketch, answer=replace(answer, size=answer.points))


def aggregates(rng: Rng, folder: Path) -> Iterator[OnTrial]:
    """Each SQL aggregate in the registry, asked of made-up neighbours at epsilon 1."""
    (folder / "obverse.toml").write_text(TOML, encoding="utf-8")
    for aggregate in AGGREGATES:
        two = aggregate.name.startswith(("cov", "corr", "regr"))
        said = _WRITTEN.get(aggregate.name, f"{aggregate.name.upper()}({'y, x' if two else 'x'})")
        yield OnTrial(aggregate.name, of_question(folder, f"SELECT {said} AS a FROM t", 1, None, rng))


class Triable(Protocol):
    """A release method, or whatever else says itself how it is sampled, on which neighbours, and what it claims."""

    @property
    def name(self) -> str: ...

    def on_trial(self, rng: Rng) -> Target: ...


def methods(registry: Sequence[Triable], rng: Rng) -> Iterator[OnTrial]:
    """Each method of a registry."""
    for method in registry:
        yield OnTrial(method.name, method.on_trial(rng))


Family = Callable[[Rng, Path], Iterator[OnTrial]]
FAMILIES: tuple[Family, ...] = (
    lambda rng, _: mechanisms(rng),
    lambda rng, _: protocols(rng),
    aggregates,
    lambda rng, folder: methods(releases(folder), rng),
)


def everything(rng: Rng, folder: Path) -> Iterator[OnTrial]:
    """All of ours."""
    for family in FAMILIES:
        yield from family(rng, folder)


def twins(rng: Rng, folder: Path) -> Iterator[OnTrial]:
    """What looks like one of ours and is broken in a way that was met in the wild; each claims epsilon 1 or its own."""
    half = DiscreteLaplace(1, Fraction(1, 2))
    yield OnTrial("half of the noise", replace(of_mechanism(half, Inputs(((0,), (1,))), rng), epsilon=1.0))
    one = DiscreteLaplace(1, ONE)
    yield OnTrial("three counts with the noise of one", replace(of_mechanism(one, Inputs(((0, 0, 0), (1, 1, 1))), rng)))
    yield OnTrial("noise that is used twice", Target(_reused(one, rng), [((0, 0), (1, 0))], 1.0, 0.0, "reused noise"))
    sparse = SparseVector(1, Fraction(2), 0, 1)
    for name, draw in (("too many answers", _unending), ("no noise on entries", _bare)):
        yield OnTrial(f"sparse vector with {name}", Target(draw(sparse, rng), pairs(16)[-3:], 2.0, 0.0, name))
    stuck = Stuck(8, 1, 4, *_odds(Rappor.fitted(8, ONE)))
    yield OnTrial("RAPPOR that never clears a bit", of_protocol(cast(LocalProtocol, stuck), Inputs(), rng))
    (folder / "obverse.toml").write_text(TOML, encoding="utf-8")
    asked = of_question(folder, "SELECT SUM(x) AS a FROM t", 1, None, rng)
    yield OnTrial("a sum with half of its noise", replace(asked, draw=_halved(asked.draw)))
    for weak in methods(releases(folder, Fraction(1, 2)), rng):
        yield replace(weak, name=f"{weak.name} with half of the noise")


@dataclass(frozen=True, slots=True)
class Stuck(Rappor):
    """A bit that is set is sent as set, always: a permanent answer that only ever adds bits."""

    def reports(self, codes: Codes, rng: Rng, seeds: Codes | None = None) -> Payloads:
        found = Rappor.reports(self, codes, rng, seeds)
        cohorts = found[:, 0].astype(np.uint64)
        for bits in self.places(codes, cohorts):
            found[np.arange(len(codes)), self.head + (bits >> 3)] |= np.left_shift(1, bits & 7).astype(np.uint8)
        return found


def _odds(fitted: Rappor) -> tuple[int, int, int]:
    return fitted.flip, fitted.low, fitted.high


def _reused(mechanism: DiscreteLaplace, rng: Rng) -> Callable[[Any, int], Any]:
    """One draw of noise for both numbers."""
    return lambda given, n: np.asarray(given) + mechanism.noise(n, rng)[:, None]


def _unending(mechanism: SparseVector, rng: Rng) -> Callable[[Any, int], Any]:
    """Goes on after the first entry that passes, with the same noise of the threshold and the noise meant for one."""
    return lambda given, n: mechanism._passed(np.array(given, dtype=np.int64), n, rng).astype(np.int64)


def _bare(mechanism: SparseVector, rng: Rng) -> Callable[[Any, int], Any]:
    """The threshold is noisy, the entries are not."""
    shared = mechanism.noises[0]
    return lambda given, n: (np.array(given) >= shared.noise(n, rng)[:, None]).astype(np.int64)


def _halved(drawn: Any) -> Replayed:
    """The same question, whose mechanisms have half of their noise."""
    assert isinstance(drawn, Replayed)
    costed = drawn.planned.costed
    weaker = tuple(mechanism.scaled(Fraction(1, 2)) for mechanism in costed.mechanisms)
    return replace(drawn, planned=replace(drawn.planned, costed=with_mechanisms(costed, weaker)))
