"""Query auditing: secret values, sums over subsets of them that were answered, and what these give away."""

from obverse.attack.auditing.booleans import audit_booleans
from obverse.attack.auditing.linear import audit_reals
from obverse.attack.auditing.sums import Audited, Determined, Sum

__all__ = ["Audited", "Determined", "Sum", "audit_booleans", "audit_reals"]
