"""Attacks, one file each. Adding one is a file and a line: it must find its planted leak, and not blame an honest target."""

from obverse.attack.attacks.averaging import Averaging

ATTACKS = (Averaging,)

__all__ = ["ATTACKS", "Averaging"]
