"""Accounts in the chain: each change is a record, so that every server sees it at once and nobody can deny it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from obverse.core.accounts import ROLES, Account, Role, Token, check_name
from obverse.core.errors import Refused
from obverse.core.ledger import Entry
from obverse.ledger.chain import Draft

if TYPE_CHECKING:
    from obverse.ledger.state import Book

SALT_BYTES = 16


def token_added(book: Book, name: str, role: Role, token: Token, by: str) -> Draft:
    """A token, for a new account or a known one, whose role it must name. Its keys are kept beside the chain."""
    known = book.accounts.get(check_name(name))
    if role not in ROLES:
        raise Refused("bad_parameter", f"there is no role {role!r}.", fix=f"One of: {', '.join(ROLES)}.")
    if known is not None and known.role != role:
        raise Refused("account_known", f"{name} is a {known.role} here.", fix="Use another name for another role.")
    keys = token.stored_key + token.server_key
    return _noted(
        "token", name=name, by=by, secret=keys, role=role, id=token.id, hash=token.hash, expires=token.expires
    )


def token_revoked(book: Book, name: str, id: str, by: str) -> Draft:
    """One token void from now on; or all, where no id is given."""
    known = _known(book, name)
    if id and id not in known.tokens:
        raise Refused("unknown_token", f"{name} has no token {id!r}.", fix="`obverse account list` shows their ids.")
    return _draft("revoke", name, by, id=id)


def rotated(book: Book, name: str, token: Token, by: str) -> tuple[Draft, ...]:
    """A token in place of all others, written at once: a crash leaves all of them, or the new one alone."""
    known = _known(book, name)
    old = (token_revoked(book, name, id, by) for id in known.tokens)
    return (token_added(book, name, known.role, token, by), *old)


def suspended(book: Book, name: str, reason: str, by: str) -> Draft:
    if not reason.strip():
        raise Refused("no_reason", f"why is {name} suspended?", fix='Say it: --reason "...".')
    return _draft("suspend", _known(book, name).name, by, reason=reason.strip())


def resumed(book: Book, name: str, reason: str, by: str) -> Draft:
    """The curator has looked: suspension and killed questions are behind."""
    return _draft("resume", _known(book, name).name, by, reason=reason.strip())


def stopped(book: Book, name: str, charge: int) -> Draft:
    """A question of theirs was killed at the limit."""
    return _draft("stopped", _known(book, name).name, "server", charge=charge)


def password_set(book: Book, name: str, hashed: str, by: str) -> Draft:
    """A password's hash, kept beside the chain: exports of it hold none."""
    return _noted("password", name=_known(book, name).name, by=by, secret=hashed)


def secret_made(book: Book, secret: str) -> Draft | None:
    """What sessions are signed with, and what answers to unknown names are made from; once."""
    return None if book.secret is not None else _noted("secret", name="", by="server", secret=secret)


def folded(accounts: dict[str, Account], entry: Entry) -> None:
    """Take in one record."""
    fields = entry.fields
    act = fields["act"]
    name = fields["name"]
    if act == "token":
        before = fields.get("stored_key", ""), fields.get("server_key", "")  # where they once were
        token = Token(fields["id"], fields["hash"], fields["expires"], *before, record=entry.number)
        account = accounts.get(name, Account(name, fields["role"])).with_token(token)
    else:
        account = _changed(accounts[name], act, fields, entry.number)
    accounts[name] = replace(account, epoch=entry.number)


def _changed(account: Account, act: str, fields: Mapping[str, Any], number: int) -> Account:
    match act:
        case "revoke":
            return account.without_token(fields["id"])
        case "suspend":
            return replace(account, suspended=fields["reason"])
        case "resume":
            return replace(account, suspended="", stopped=0)
        case "stopped":
            return replace(account, stopped=account.stopped + 1)
        case "password":
            return replace(account, password=number)
        case _:
            raise ValueError(act)


def _known(book: Book, name: str) -> Account:
    if name not in book.accounts:
        raise Refused("unknown_account", f"there is no account {name!r} here.", fix="`obverse account add` makes one.")
    return book.accounts[name]


def _draft(act: str, name: str, by: str, **fields: Any) -> Draft:
    return Draft("account", {"act": act, "name": name, "by": by, **fields})


def _noted(act: str, name: str, by: str, secret: str, **fields: Any) -> Draft:
    note = os.urandom(SALT_BYTES) + secret.encode()
    drafted = _draft(act, name, by, note=hashlib.sha256(note).hexdigest(), **fields)
    return replace(drafted, note=note)
