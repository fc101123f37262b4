"""Obverse: learn from sensitive data without exposing anyone in it."""

from obverse._version import __version__

__all__ = ["__version__"]
