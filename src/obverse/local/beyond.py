"""Reports beyond the lifetime, which tell nothing: how many there may be, and how far they pull an estimate."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from obverse.local.spec import Spec

if TYPE_CHECKING:
    from obverse.local.protocols.base import Doubles


def scheduled_share(spec: Spec) -> Fraction:
    """The share of reports that tell nothing, once everybody has sent all of theirs; of people whose answer stays."""
    asked = spec.survey
    if spec.permanent is None:
        telling = min(asked.reports, int(asked.lifetime / spec.loss))
    elif asked.lifetime >= max(spec.loss, spec.permanent):
        telling = asked.reports
    else:
        telling = 1 if asked.lifetime >= min(spec.loss, spec.permanent) else 0
    return 1 - Fraction(telling, asked.reports)


def pull(spec: Spec, values: Doubles, share: float) -> float:
    """How far off the furthest of these shares (or the mean, of the range) is, if such a share of reports tells nothing.

    Claim:   they are of the option for no answer, and then shares of all reports are right: no pull. Else they are of a uniform
             item (a text that nobody has; a uniform place of the grid), and pull each value towards its share u.
    Proof:   what is estimated is (1 - s) f + s u; f is that plus s / (1 - s) times its distance from u.
    """
    import numpy as np

    asked = spec.survey
    if asked.none is not None or not share:
        return 0.0
    if share >= 1:
        return 1.0
    towards = 0.5 if spec.grid is not None else 1 / len(asked.options) if asked.options else 0.0
    return share / (1 - share) * float(np.abs(np.clip(values, 0.0, 1.0) - towards).max(initial=0.0))
