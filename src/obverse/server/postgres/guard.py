"""Who may connect: so many at once, in all, of one account and of one address before it is known; and failed logins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from obverse.core.errors import Refused
from obverse.server.errors import TooMany
from obverse.server.http.addresses import block
from obverse.server.rate_limits import Buckets


@dataclass(frozen=True, slots=True)
class Caps:
    """How many connections there may be at once, and how many logins may fail a minute."""

    in_all: int = 200
    of_account: int = 40
    strangers: int = 100  # in all, who have not signed in yet
    strangers_of_address: int = 20
    texts_per_minute: int = 6_000  # of one account, that are read at all; questions are counted by the desk as well
    failures_per_minute: int = 40  # of one address; a quarter of them at once


@dataclass(slots=True)
class Guard:
    """Counts what is there now."""

    caps: Caps = Caps()
    _open: int = 0
    _strangers: Counter[str] = field(default_factory=Counter)
    _accounts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _failures: Buckets | None = None

    @contextmanager
    def connection(self) -> Iterator[None]:
        """One more connection, of whomever."""
        self._check(self._open < self.caps.in_all)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    @contextmanager
    def stranger(self, address: str) -> Iterator[None]:
        """Somebody who has not signed in yet."""
        key = block(address)
        self._check(self._strangers.total() < self.caps.strangers)
        self._check(self._strangers[key] < self.caps.strangers_of_address)
        self._strangers[key] += 1
        try:
            yield
        finally:
            self._strangers[key] -= 1
            if not self._strangers[key]:
                del self._strangers[key]

    @contextmanager
    def account(self, project: str, name: str) -> Iterator[None]:
        """One more connection of an account."""
        self._check(self._accounts[project, name] < self.caps.of_account)
        self._accounts[project, name] += 1
        try:
            yield
        finally:
            self._accounts[project, name] -= 1
            if not self._accounts[project, name]:
                del self._accounts[project, name]

    def admit(self, address: str) -> None:
        """Whether an address may try to sign in: not while too many of its tries failed."""
        self._buckets.check(block(address))

    def failed(self, address: str) -> None:
        with suppress(TooMany):
            self._buckets.take(block(address))

    @property
    def _buckets(self) -> Buckets:
        if self._failures is None:
            self._failures = Buckets(self.caps.failures_per_minute)
        return self._failures

    def _check(self, holds: bool) -> None:
        if not holds:
            raise Refused("too_many_connections", "too many connections.", fix="close some, or try again in a moment.")
