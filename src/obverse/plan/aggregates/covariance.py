"""COVAR_POP, COVAR_SAMP, CORR, REGR_SLOPE, REGR_INTERCEPT, REGR_R2, REGR_COUNT: two numbers, from noisy sums.

In all proofs: N, X, Y, P, A, B are the true count, sums of x and y, sums of their product and squares (x and y about
the middle of their bounds), m and n the means of x and y, c their covariance, v and w their variances, dashed ones the
noisy likes, and e the noises. About the true means the linear forms
  C = P - m Y - n X + m n N,  V = A - 2 m X + m^2 N,  W = B - 2 n Y + n^2 N
of the noisy sums are N' (c' + (m'-m)(n'-n)), N' (v' + (m'-m)^2) and N' (w' + (n'-n)^2). Their own noise has
coefficients that do not depend on any noise. A part of the error pays for a box of intervals (m, n, c, v, w), which
bounds these coefficients and what is of second order; the rest pays for one sum of noises: the interval is about as
short as can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from obverse.core.types import Type
from obverse.plan.aggregates.base import Estimate, Noisy, Served, Setting, capped, counted, sums
from obverse.plan.aggregates.variance import population
from obverse.plan.expressions import Expr, literal, null_of
from obverse.plan.functions import call as function
from obverse.plan.intervals import Floats, half_width, ratio
from obverse.plan.measures import Measure, count_term, product_term, square_term, sum_term
from obverse.plan.query import AggregateCall

Bits = NDArray[np.bool_]


SPARE = 0.2  # of the error pays for the box


@dataclass(frozen=True, slots=True)
class Covariance:
    """Statistics of pairs of bounded numbers, over rows where neither is NULL.

    Claim:   the interval holds the statistic of the bounded numbers, on their grid, with at least the stated level.
    Proof:   at `_covariance`, `_slope`, `_intercept` and `_correlation`, of which R2 is the square. A sample's
             covariance takes a fiftieth of the error for how few rows there may be.
    Assumes: both arguments have bounds; all sums are weighted as the count is.
    """

    name: str
    spoken: str

    def type(self, call: AggregateCall) -> Type:
        return Type.INTEGER if self.name == "regr_count" else Type.DOUBLE

    @property
    def squares(self) -> str:
        """Whose variance is needed: of x, of y."""
        return {"corr": "xy", "regr_r2": "xy", "regr_slope": "x", "regr_intercept": "x"}.get(self.name, "")

    def measures(self, call: AggregateCall, setting: Setting) -> tuple[Measure, ...]:
        x, y = self.arguments(call)
        count = capped("count", count_term(_where_both(literal(1), x, y)), setting)
        if self.name == "regr_count":
            return (count,)
        plain = [("sum", sum_term(z, setting.rows, centred=True)) for z in (x, y)]
        terms = [*plain, ("product", product_term(x, y, setting.rows))]
        terms += [("squares", square_term(z, setting.rows)) for z in (x, y)[: len(self.squares)]]
        return (count, *(capped(name, term, setting, paired=True) for name, term in terms))

    def arguments(self, call: AggregateCall) -> tuple[Expr, Expr]:
        """The independent and the dependent number, each NULL where the other is. REGR takes (y, x)."""
        assert call.argument is not None
        assert call.second is not None
        y = call.argument
        x = call.second
        return _where_both(x, y, x), _where_both(y, x, y)

    def finish(self, served: tuple[Served, ...], call: AggregateCall, setting: Setting, level: float) -> Estimate:
        if self.name == "regr_count":
            return counted(served, level)
        noisy = sums(served)
        error = 1 - level
        terms = [sum_term(z, setting.rows, centred=True) for z in self.arguments(call)]
        radii = [float(t.magnitude * t.unit) for t in terms]
        if self.name == "covar_samp":
            fewest = noisy[0].values - noisy[0].half_width(1 - error / 50)
            return _sample(_covariance(_Pairs(noisy, radii, error * 49 / 50)), noisy[0].values, fewest)
        pairs = _Pairs(noisy, radii, error)
        if self.name == "covar_pop":
            return _covariance(pairs)
        if self.name in ("corr", "regr_r2"):
            return _correlation(pairs) if self.name == "corr" else _squared(_correlation(pairs))
        most = float(2 * terms[1].magnitude * terms[1].unit / terms[0].unit)
        centres = [float(t.grid.centre * t.unit) if t.grid is not None else 0.0 for t in terms]
        return _slope(pairs, most, pairs.rest) if self.name == "regr_slope" else _intercept(pairs, centres, most)


@dataclass(frozen=True, slots=True)
class _Span:
    """All numbers between two ends, entry by entry."""

    low: Floats
    high: Floats

    @property
    def far(self) -> Floats:
        return self.apart(0.0)

    def apart(self, value: Floats | float) -> Floats:
        """The farthest that a value lies from any of them."""
        return _larger(abs(value - self.low), abs(self.high - value))

    def __add__(self, other: _Span | float) -> _Span:
        low, high = (other.low, other.high) if isinstance(other, _Span) else (other, other)
        return _Span(self.low + low, self.high + high)

    def __sub__(self, other: _Span) -> _Span:
        return self + -other

    def __neg__(self) -> _Span:
        return _Span(-self.high, -self.low)

    def __mul__(self, other: _Span | float) -> _Span:
        ends = (other.low, other.high) if isinstance(other, _Span) else (other,)
        corners = [x * y for x in (self.low, self.high) for y in ends]
        return _Span(np.minimum.reduce(corners), np.maximum.reduce(corners))

    def over(self, positive: _Span) -> _Span:
        return self * _Span(1 / positive.high, 1 / positive.low)

    def where(self, known: Bits, other: _Span) -> _Span:
        """This one where it is known."""
        return _Span(_where(known, self.low, other.low), _where(known, self.high, other.high))

    def met(self, other: _Span) -> _Span:
        """What lies in both; in the other, where nothing does."""
        found = _Span(_larger(self.low, other.low), -_larger(-self.high, -other.high))
        return found.where(found.low <= found.high, other)


def _larger(a: Floats, b: Floats) -> Floats:
    return np.maximum(a, b)


def _where(known: Bits, a: Floats, b: Floats | float) -> Floats:
    return np.where(known, a, b)


class _Pairs:
    """The noisy sums with their plain statistics (c', v', w' as c, v, w), and the box that holds the true ones.

    Claim:   all intervals of the box hold together, but for SPARE of the error.
    Proof:   each misses with a seventh of it at most: m and n (Fieller), v and w (variance.population), c: `covered`,
             which is used twice, and the slope for the intercept. Where there may be no rows they are all that there
             is.
    Assumes: as Covariance.
    """

    def __init__(self, noisy: tuple[Noisy, ...], radii: list[float], error: float) -> None:
        self.noisy = noisy
        self.each = SPARE * error / 7
        self.rest = (1 - SPARE) * error
        count = noisy[0]
        level = 1 - self.each
        self.likely = self.known = count.values > 2 * count.half_width(level)
        self.rows = _where(self.likely, count.values, 1.0)
        self.one = _Span(self.rows**0, self.rows**0)
        self.whole = _Span(-radii[0] * radii[1] * self.one.low, radii[0] * radii[1] * self.one.low)
        self.mean = []
        self.v = []
        self.means = []
        self.variances = []
        for total, radius in zip(noisy[1:3], radii):
            self.mean.append(total.values / self.rows)
            noises = total.noise, count.noise
            self.means.append(_Span(*ratio(total.values, count.values, noises, radius, level, gaussian=count.gaussian)))
        for i, squares in enumerate(noisy[4:]):
            self.v.append(squares.values / self.rows - self.mean[i] ** 2)
            found = population((count, noisy[i + 1], squares), radii[i], level)
            self.variances.append(_Span(found.low, found.high))
            self.known = self.known & (found.low > 0)
        self.strays = [span.apart(mean) for span, mean in zip(self.means, self.mean)]
        self.c = noisy[3].values / self.rows - self.mean[0] * self.mean[1]
        self.covariance = self.covered(self.covered(None, self.each), self.each)

    def covered(self, first: _Span | None, error: float) -> _Span:
        """Claim:   holds the covariance c but for `error`, if the first interval of it does.
        Proof:   C - c N is zero without noise, so N' (c' + (m'-m)(n'-n) - c) is a sum of noises with coefficients 1 of
                 P, -m of Y, -n of X, m n - c of N. The last is at most the product of both radii (Cauchy and Schwarz).
        Assumes: as Covariance.
        """
        m, n = self.means
        last = self.whole if first is None else (m * n - first).met(self.whole)
        wide = self.width([last, -n, -m, self.one], error) + self.strays[0] * self.strays[1]
        return (
            _Span(self.c - wide, self.c + wide)
            .where(self.likely, self.whole)
            .met(self.whole if first is None else first)
        )

    def width(self, coefficients: list[_Span], error: float) -> Floats:
        """A half-width of the sum of coefficient times noise, over the count; COVAR_POP(x, x) has one noise in two
        places.
        """
        merged: dict[int, tuple[Noisy, _Span]] = {}
        for noisy, span in zip(self.noisy, coefficients):
            merged[id(noisy)] = noisy, merged[id(noisy)][1] + span if id(noisy) in merged else span
        noises = [(span.far, noisy.noise) for noisy, span in merged.values() if noisy.noise.scale > 0]
        return half_width(noises, 1 - error, gaussian=self.noisy[0].gaussian) / self.rows if noises else 0.0 * self.rows


def _covariance(pairs: _Pairs) -> Estimate:
    """Claim: holds the covariance. Proof: `_Pairs.covered`. Assumes: as Covariance."""
    return _estimate(pairs.c, pairs.covered(pairs.covariance, pairs.rest), pairs.covariance)


def _slope(pairs: _Pairs, most: float, error: float) -> Estimate:
    """Claim:   holds the slope b = c / v, but for the box and `error`; no slope of values on their grid is beyond
    `most`.
    Proof:   C - b V is zero without noise: N' (c' - b v' + (m'-m)(n'-n) - b (m'-m)^2) is a sum of noises with
             coefficients 1 of P, -b of A, -m of Y, 2 b m - n of X and m (n - b m) of N. `most`: over pairs of rows, c
             and v add up products of differences, those of x are zero or at least a step, those of y at most twice the
             radius.
    Assumes: as Covariance.
    """
    m, n = pairs.means
    dx, dy = pairs.strays
    known = pairs.known
    raw = _where(known, pairs.v[0], 1.0)
    whole = _Span(-most * pairs.one.low, most * pairs.one.low)
    b = pairs.covariance.over(pairs.variances[0].where(known, pairs.one)).met(whole)
    noise = pairs.width([m * (n - b * m), b * m * 2.0 - n, -m, pairs.one, -b], error)
    wide = (noise + dx * dy + b.far * dx**2) / raw
    value = pairs.c / raw
    return _estimate(
        _where(known, value, 0.0), _Span(value - wide, value + wide).where(known, whole), b.where(known, whole)
    )


def _intercept(pairs: _Pairs, centres: list[float], most: float) -> Estimate:
    """Claim:   holds the value a of the line y = a + b x at x = 0.
    Proof:   let h be the middle of x, z = m + h, and g the line's value there, a + b h, less the middle of y. The
             normal equations Y - g N - b X and P - g X - b A are zero without noise. The first times k = v + z m, less
             the second times z, is a sum of noises with coefficients k of Y, -k g of N, z g - k b of X, -z of P and z b
             of A; with noisy sums, N' (v + z (m - m')) (a' - a) + N' (v (m' - m) + z (v - v') + z z' (m - m')) (b' -
             b).
    Assumes: as Covariance; a' and b' solve the noisy equations.
    """
    m, n = pairs.means
    dx, _ = pairs.strays
    v = pairs.variances[0]
    slope = _slope(pairs, most, pairs.each)
    b = _Span(slope.low, slope.high)
    z = m + centres[0]
    at = pairs.mean[0] + centres[0]
    box = n + centres[1] - b * z
    least = v.low - z.far * dx
    known = pairs.known & (least > 0)
    raw = _where(known, pairs.c / _where(known, pairs.v[0], 1.0), slope.value)
    g = n - b * m
    k = v + z * m
    noise = pairs.width([-(k * g), z * g - k * b, k, -z, z * b], pairs.rest)
    turned = v.high * dx + z.far * (v.apart(pairs.v[0]) + abs(at) * dx)
    wide = (noise + turned * b.apart(raw)) / _where(known, least, 1.0)
    value = pairs.mean[1] + centres[1] - raw * at
    return _estimate(value, _Span(value - wide, value + wide).where(known, box), box)


def _correlation(pairs: _Pairs) -> Estimate:
    """Claim:   holds the correlation r.
    Proof:   with s and t the true standard deviations, C / (s t) - (r / 2) (V / v + W / w) is zero without noise. With
             noisy sums it is N' times p q r' - (r / 2) (p^2 + q^2), that is p q (r' - r) - (r / 2) (p - q)^2, for
             p = s' / s and q = t' / t, and terms of the means: (m'-m)(n'-n) / (s t) - (r / 2) ((m'-m)^2 / v +
             (n'-n)^2 / w). Its noises have coefficients 1 / (s t) of P, -r / 2v of A, -r / 2w of B, and with i = m / s,
             j = n / t: (r i - j) / s of X, (r j - i) / t of Y, i j - (r / 2) (i^2 + j^2) of N.
    Assumes: as Covariance.
    """
    m, n = pairs.means
    one = pairs.one
    known = pairs.known
    v, w = (span.where(known, one) for span in pairs.variances)
    s, t = (_Span(span.low**0.5, span.high**0.5) for span in (v, w))
    raw = [_where(known, value, 1.0) ** 0.5 for value in pairs.v]
    whole = _Span(-one.low, one.low)
    r = pairs.covariance.over(s * t).met(whole)
    i = m.over(s)
    j = n.over(t)
    half = r * 0.5
    rest = i * j - half * (i * i + j * j)
    spans = [rest, (r * i - j).over(s), (r * j - i).over(t), one.over(s * t), -half.over(v), -half.over(w)]
    p, q = (_Span(a / b.high, a / b.low) for a, b in zip(raw, (s, t)))
    dx = pairs.strays[0] / s.low
    dy = pairs.strays[1] / t.low
    second = dx * dy + half.far * (dx**2 + dy**2 + (p - q).far ** 2)
    wide = (pairs.width(spans, pairs.rest) + second) / (p.low * q.low)
    value = pairs.c / (raw[0] * raw[1])
    return _estimate(
        _where(known, value, 0.0), _Span(value - wide, value + wide).where(known, whole), r.where(known, whole)
    )


def _estimate(value: Floats, near: _Span, box: _Span) -> Estimate:
    span = near.met(box)
    return Estimate(value.clip(span.low, span.high), span.low, span.high)


def _squared(a: Estimate) -> Estimate:
    least = _larger(_larger(a.low, -a.high), 0.0 * a.low)
    return Estimate(a.value**2, least**2, _Span(a.low, a.high).far ** 2)


def _sample(estimate: Estimate, rows: Floats, fewest: Floats) -> Estimate:
    """The population's covariance as a sample's: times n / (n - 1), which is largest for the fewest rows."""
    n = rows.clip(2.0)
    least = fewest.clip(2.0)
    most = least / (least - 1)
    low = -_larger(-estimate.low, -estimate.low * most)
    high = _larger(estimate.high, estimate.high * most)
    return Estimate((estimate.value * n / (n - 1)).clip(low, high), low, high)


def _where_both(value: Expr, x: Expr, y: Expr) -> Expr:
    """The value where neither is NULL."""
    gone = [function("is_null", z) for z in (x, y) if z.facts.nullable and z is not value]
    if not gone:
        return value
    condition = gone[0] if len(gone) == 1 else function("or", *gone)
    return function("case", condition, null_of(value.facts.type), value)


NAMES = ("covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_count")
COVARIANCES = tuple(Covariance(name, f"{name.upper()}(y, x)") for name in NAMES)
