"""For tests, ours and third parties': conformance suites, synthetic projects, answers without noise, and spies.

Nothing of the product imports this package (held by import-linter).
"""

from obverse.testing.noiseless import noiseless
from obverse.testing.synthetic import synthetic

__all__ = ["noiseless", "synthetic"]
