"""Doubles in PostgreSQL, which raises where a result is too large or too small for a double.

Claim:   each expression raises on no row, and gives what IEEE arithmetic gives: infinity, or zero.
Proof:   a product or quotient is taken as it is where both magnitudes lie within 2**-500 and 2**500, since it then lies
         within 2**-1000 and 2**1000. For others, the same operation on numbers scaled by powers of two tells by one
         comparison, as the exact result would, whether it rounds to 2**1024 (or to 0). Scaling is exact there: a product
         beyond has both factors above 1, one below has one factor below 2**-500 and the other below 1; a quotient beyond
         has a divisor below 1, and is beyond just where its dividend is at least 2**1024 times that; one below has a divisor
         above 1 and a dividend below. A sum is beyond only if both terms are above 2**960, and then just where half of it is.
Assumes: the result's interval excludes what the caller says it excludes. A product of which the exact value is between
         2**-1075 and the next double may be told as 0.
"""

from __future__ import annotations

import math
import sys

LARGEST = sys.float_info.max
NEAR, FAR = 2.0**-500, 2.0**500
HUGE = 2.0**960
UP, DOWN = 2.0**512, 2.0**-512
LEAST = 2.0**-51  # 2**-1075 scaled by 2**1024
EXPONENTS = (-745.1, 709.7827)  # natural logarithms of what surely is a double
PLAIN_POWER = 1e-290


def number(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE PRECISION)"


INFINITE = number(math.inf)


def is_finite(x: str) -> str:
    return f"({x} > {number(-math.inf)} AND {x} < {INFINITE})"  # NaN is above every number


def operation(sign: str, left: str, right: str, *, large: bool, small: bool) -> str:
    plain = f"({left} {sign} {right})"
    if not large and not small:
        return plain
    if sign in "+-":
        return _sum(sign, left, right, plain)
    between = f"BETWEEN {number(NEAR)} AND {number(FAR)}"
    odd = f"(SELECT {_product(sign)} FROM (SELECT {left} AS a, {right} AS b OFFSET 0) AS o)"
    return f"(CASE WHEN abs({left}) {between} AND abs({right}) {between} THEN {plain} ELSE {odd} END)"


def _sum(sign: str, left: str, right: str, plain: str) -> str:
    within = f"abs({left}) < {number(LARGEST / 4)} AND abs({right}) < {number(LARGEST / 4)}"
    other = "b" if sign == "+" else "(-b)"
    finite = f"{is_finite('a')} AND {is_finite('b')}"
    half = f"a * 0.5 + {other} * 0.5"
    beyond = f"{finite} AND a > {number(HUGE)} AND {other} > {number(HUGE)} AND {half} >= {number(2.0**1023)}"
    below = f"{finite} AND a < -{number(HUGE)} AND {other} < -{number(HUGE)} AND {half} <= -{number(2.0**1023)}"
    exact = f"CASE WHEN {beyond} THEN {INFINITE} WHEN {below} THEN -{INFINITE} ELSE a {sign} b END"
    odd = f"(SELECT {exact} FROM (SELECT {left} AS a, {right} AS b OFFSET 0) AS o)"
    return f"(CASE WHEN {within} THEN {plain} ELSE {odd} END)"


def _product(sign: str) -> str:
    """a * b or a / b of any doubles; the second is not 0 in a quotient."""
    up, down, one = number(UP), number(DOWN), number(1.0)
    if sign == "*":
        high = f"abs(a) > {one} AND abs(b) > {one} AND (abs(a) * {down}) * (abs(b) * {down}) >= {one}"
        less, more = "LEAST(abs(a), abs(b))", "GREATEST(abs(a), abs(b))"
        scaled = f"({less} * {number(2.0**1000)}) * ({more} * {up})"
        low = f"{less} < {number(NEAR)} AND {more} < {one} AND {scaled} <= {number(2.0**437)}"  # 2**-1075, scaled
    else:
        high = f"abs(b) < {one} AND abs(a) >= (abs(b) * {up}) * {up}"
        low = f"abs(a) < {one} AND abs(b) > {one} AND (abs(a) * {up}) / (abs(b) * {down}) <= {number(LEAST)}"
    plain = f"a IS NULL OR b IS NULL OR a = 0 OR b = 0 OR NOT ({is_finite('a')} AND {is_finite('b')})"  # these raise nothing
    signed = f"CASE WHEN (a > 0) = (b > 0) THEN {INFINITE} ELSE -{INFINITE} END"
    return f"CASE WHEN {plain} THEN a {sign} b WHEN {high} THEN {signed} WHEN {low} THEN {number(0.0)} ELSE a {sign} b END"


def power(base: str, exponent: str, *, sure: bool) -> str:
    """The power where it is finite; 0 where it is too small; NULL elsewhere."""
    least, most = (number(end) for end in EXPONENTS)
    size = "(LEAST(GREATEST(y, -1e300), 1e300) * ln(abs(x)))"
    raised = "power(x, y)" if sure else f"(SELECT CASE WHEN {is_finite('p')} THEN p END FROM (SELECT power(x, y) AS p) AS q)"
    of_zero = "CASE WHEN y = 'NaN' THEN NULL WHEN y > 0 THEN 0.0 WHEN y = 0 THEN 1.0 END"
    arms = (
        f"WHEN x IS NULL OR y IS NULL THEN NULL WHEN x = 0 THEN {of_zero}",
        f"WHEN x < 0 AND {is_finite('y')} AND y <> floor(y) THEN CASE WHEN x = -{INFINITE} AND y < 0 THEN 0.0 END",
        f"WHEN NOT ({is_finite('x')} AND {is_finite('y')}) THEN {raised}",
        f"WHEN y = 1 THEN x WHEN abs(y) < {PLAIN_POWER!r} THEN 1.0",
        f"WHEN {size} > {most} THEN NULL WHEN {size} < {least} THEN 0.0",
    )
    return f"(SELECT CASE {' '.join(arms)} ELSE {raised} END FROM (SELECT {base} AS x, {exponent} AS y OFFSET 0) AS o)"


def exponential(x: str) -> str:
    return f"(CASE WHEN {x} < {number(EXPONENTS[0])} THEN {number(0.0)} ELSE exp({x}) END)"


def log2(x: str) -> str:
    """Exact where the argument is a power of two."""
    whole = f"CASE WHEN l < 1023.5 THEN CASE WHEN power({number(2.0)}, round(l)) = x THEN round(l) ELSE l END ELSE l END"
    divided = f"SELECT x, ln(x) / ln({number(2.0)}) AS l FROM (SELECT {x} AS x OFFSET 0) AS i OFFSET 0"
    return f"(SELECT {whole} FROM ({divided}) AS o)"


def rounded(x: str, digits: int) -> str:
    """Halves away from zero: scaled, cut, and one more where half is cut off; as it is where it cannot be scaled."""
    by = number(10.0 ** abs(digits))
    there, back = ("*", "/") if digits >= 0 else ("/", "*")
    cut = "trunc(s) + CASE WHEN abs(s - trunc(s)) >= 0.5 THEN sign(s) ELSE 0.0 END"
    if not digits:
        return f"(SELECT {cut} FROM (SELECT {x} AS s OFFSET 0) AS o)"
    scaled = operation(there, "x", by, large=digits > 0, small=digits < 0)
    again = operation(back, "w", by, large=digits < 0, small=False)
    sizes = f"SELECT x, {scaled} AS s FROM (SELECT {x} AS x OFFSET 0) AS i OFFSET 0"
    whole = f"SELECT x, s, {cut} AS w FROM ({sizes}) AS c OFFSET 0"
    return f"(SELECT CASE WHEN {is_finite('s')} THEN {again} ELSE x END FROM ({whole}) AS o)"
