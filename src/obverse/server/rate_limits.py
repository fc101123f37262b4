"""Rate limits: so many requests a minute for each name, refused ones counted.

Kept in memory, by each server for itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from obverse.server.errors import TooMany

NAMES_MAX = 10_000  # of which the ones longest unseen are forgotten


class Buckets:
    """One bucket a name, which fills steadily; a request takes one drop."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = monotonic) -> None:
        self._rate = per_minute / 60.0
        self._most = max(1.0, per_minute / 4.0)
        self._clock = clock
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> None:
        """Count a request, or refuse it."""
        now = self._clock()
        drops = self._drops(name)
        allowed = drops >= 1.0
        self._held.pop(name, None)
        self._held[name] = (drops - 1.0 if allowed else drops, now)
        if len(self._held) > NAMES_MAX:
            self._held.popitem(last=False)
        if not allowed:
            raise TooMany((1.0 - drops) / self._rate)

    def give_back(self, name: str) -> None:
        """Uncount a request."""
        if name in self._held:
            drops, then = self._held[name]
            self._held[name] = (drops + 1.0, then)

    def check(self, name: str) -> None:
        """Refuse where the next one would be refused; count nothing."""
        drops = self._drops(name)
        if drops < 1.0:
            raise TooMany((1.0 - drops) / self._rate)

    def _drops(self, name: str) -> float:
        now = self._clock()
        drops, then = self._held.get(name, (self._most, now))
        return min(self._most, drops + (now - then) * self._rate)
