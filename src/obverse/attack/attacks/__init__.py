"""Attacks, one file each. Adding one is a file and a line: it must find its planted leak, and not blame an honest
target.
"""

from obverse.attack.attacks.attribute import Attribute
from obverse.attack.attacks.averaging import Averaging
from obverse.attack.attacks.background import Background
from obverse.attack.attacks.bypass import Bypass
from obverse.attack.attacks.differencing import Differencing
from obverse.attack.attacks.fuzzy_linkage import FuzzyLinkage
from obverse.attack.attacks.homogeneity import Homogeneity
from obverse.attack.attacks.intersection import Intersection
from obverse.attack.attacks.linkage import Linkage
from obverse.attack.attacks.low_bits import LowBits
from obverse.attack.attacks.membership import Membership
from obverse.attack.attacks.reconstruction import Reconstruction
from obverse.attack.attacks.sampling import Sampling
from obverse.attack.attacks.timing import Timing
from obverse.attack.attacks.tracker import Tracker

ON_TABLES = (Linkage, FuzzyLinkage, Homogeneity, Background, Intersection, Sampling, Attribute)
ON_ANSWERS = (Differencing, Averaging, Tracker, Reconstruction, Membership, LowBits, Timing, Bypass)
ATTACKS = (*ON_TABLES, *ON_ANSWERS)

__all__ = [
    "ATTACKS",
    "Attribute",
    "Averaging",
    "Background",
    "Bypass",
    "Differencing",
    "FuzzyLinkage",
    "Homogeneity",
    "Intersection",
    "Linkage",
    "LowBits",
    "Membership",
    "ON_ANSWERS",
    "ON_TABLES",
    "Reconstruction",
    "Sampling",
    "Timing",
    "Tracker",
]
