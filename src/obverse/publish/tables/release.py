"""`publish table`: the release of a request, whose cells are known, or found privately first."""

from __future__ import annotations

from fractions import Fraction

from obverse.publish.pipeline import Release
from obverse.publish.tables.private_domains import following
from obverse.publish.tables.request import QUANTILES, Wanted, known_release
from obverse.session.session import Session


def table_release(
    session: Session, wanted: Wanted, epsilon: Fraction | None = None, delta: Fraction | None = None
) -> Release:
    """Planned and priced; no row is read."""
    if wanted.discover or any(text.startswith(QUANTILES) for text in wanted.bins.values()):
        return following(session, wanted, epsilon, delta, known_release)
    return known_release(session, wanted, epsilon, delta, Fraction(1))
