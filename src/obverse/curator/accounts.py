"""The curator's acts on accounts: tokens issued, rotated and revoked, people suspended and let back.

Each is in the ledger.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from obverse.core.accounts import Account, Role, Token, fresh_token, wire_salt
from obverse.core.errors import Refused
from obverse.curator.ledger import opened_ledger
from obverse.ledger import accounts as acts
from obverse.ledger.ledger import ChainLedger

DAYS = 90
DAYS_MAX = 3660
PASSWORD_LEAST = 12
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Issued:
    """A token at the one moment when it can be shown."""

    name: str
    role: Role
    token: str
    id: str
    expires: int


def issue(project: Path, name: str, role: Role, days: int = DAYS, by: str = "curator") -> Issued:
    """A fresh token for a new account or a known one."""
    with opened_ledger(project) as (catalog, _, opened):
        if role == "analyst" and name not in catalog.analysts:
            raise Refused("analyst_unknown", f"there is no analyst {name!r} here.", fix=f"obverse analyst add {name}")
        return issue_in(opened.ledger, name, role, days, by)


def issue_in(ledger: ChainLedger, name: str, role: Role, days: int, by: str) -> Issued:
    plain, token = _fresh(ledger, name, days)
    ledger.change_account(lambda book: acts.token_added(book, name, role, token, by))
    return Issued(name, role, plain, token.id, token.expires)


def rotate(project: Path, name: str, days: int = DAYS, by: str = "curator") -> Issued:
    """A fresh token in place of all others."""
    with opened_ledger(project) as (_, _, opened):
        return rotate_in(opened.ledger, name, days, by)


def rotate_in(ledger: ChainLedger, name: str, days: int, by: str) -> Issued:
    known = ledger.accounts().get(name)
    if known is None:
        raise Refused("unknown_account", f"there is no account {name!r} here.", fix="`obverse account add` makes one.")
    plain, token = _fresh(ledger, name, days)
    ledger.change_account(lambda book: acts.rotated(book, name, token, by))
    return Issued(name, known.role, plain, token.id, token.expires)


def _fresh(ledger: ChainLedger, name: str, days: int) -> tuple[str, Token]:
    """A token to be shown once, and what is kept of it."""
    if not 1 <= days <= DAYS_MAX:
        raise Refused("bad_parameter", f"a token lives from 1 to {DAYS_MAX} days.", fix="Write --days 90.")
    return fresh_token(int(time.time()) + days * DAY_S, wire_salt(ledger.service_secret(), name))


def revoke(project: Path, name: str, id: str = "", by: str = "curator") -> None:
    """One token void at once, or all of them."""
    with opened_ledger(project) as (_, _, opened):
        opened.ledger.change_account(lambda book: acts.token_revoked(book, name, id, by))


def suspend(project: Path, name: str, reason: str, by: str = "curator") -> None:
    with opened_ledger(project) as (_, _, opened):
        opened.ledger.change_account(lambda book: acts.suspended(book, name, reason, by))


def resume(project: Path, name: str, reason: str, by: str = "curator") -> None:
    """Let somebody back who was suspended, or whose questions met the limit."""
    with opened_ledger(project) as (_, _, opened):
        opened.ledger.change_account(lambda book: acts.resumed(book, name, reason, by))


def set_password(project: Path, name: str, password: str, by: str = "curator") -> None:
    """A password for the page, kept as argon2id; the wire protocol takes tokens alone."""
    hashed = hashed_password(password)
    with opened_ledger(project) as (_, _, opened):
        opened.ledger.change_account(lambda book: acts.password_set(book, name, hashed, by))


def hashed_password(password: str) -> str:
    from argon2 import PasswordHasher

    if len(password) < PASSWORD_LEAST:
        raise Refused("weak_password", f"a password has at least {PASSWORD_LEAST} characters.", fix="Take a sentence.")
    return PasswordHasher().hash(password)


def listed(project: Path) -> tuple[Mapping[str, Account], float]:
    """All accounts, and the moment that their tokens are judged at."""
    with opened_ledger(project) as (_, _, opened):
        return opened.ledger.accounts(), time.time()
