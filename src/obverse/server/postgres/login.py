"""Signing in by SCRAM: a token of the project is the password. Strangers meet the same exchange as everybody."""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence
from dataclasses import replace

from obverse.core.accounts import Account, Token, wire_salt
from obverse.core.errors import ObverseError
from obverse.server.desk import Caller, Desk
from obverse.server.errors import NotSignedIn
from obverse.server.host import Host
from obverse.server.postgres import replies, scram
from obverse.server.postgres.frames import LOGIN_MAX, Frames
from obverse.server.postgres.requests import Body, violation
from obverse.server.postgres.startup import Start

OURS = os.urandom(32)


async def signed_in(frames: Frames, desk: Desk, start: Start) -> Caller:
    """Who it is; or one refusal, after the whole exchange, for every reason not to let them in."""
    frames.put(replies.sasl([scram.MECHANISM]))
    await frames.flush()
    body = Body(await _said(frames))
    mechanism, size = body.text(), body.number("i")
    if mechanism != scram.MECHANISM or size < 0:
        raise violation("only SCRAM-SHA-256 is spoken here, without binding of a channel.")
    first = scram.read_first(body.take(size))
    body.done()
    salt, tokens, caller = await _known(desk, start)
    offered = scram.offer(first, salt)
    frames.put(replies.sasl_continue(offered.text.encode()))
    await frames.flush()
    final, token = scram.finish(offered, await _said(frames), tokens)
    if caller is None:
        raise NotSignedIn()
    frames.put(replies.sasl_final(final.encode()), replies.AUTHENTICATION_OK)
    return replace(caller, token=token)


async def _said(frames: Frames) -> bytes:
    kind, raw = await frames.message(LOGIN_MAX)
    if kind != b"p":
        raise violation("a message of the exchange was expected.")
    return raw


async def _known(desk: Desk, start: Start) -> tuple[bytes, Sequence[Token], Caller | None]:
    """Salt and tokens of a name. A project that is not here has salts that follow from another's secret, on every server alike,
    or from this process's own where that one cannot be opened; and no tokens."""
    read: list[bytes] = []

    def found(host: Host) -> tuple[Account | None, Sequence[Token]]:
        ledger = host.clerk().ledger
        read.append(ledger.service_secret())
        account = host.accounts().get(start.user)
        live = () if account is None else account.live(desk.clock())
        numbers = [*(token.record for token in live), *[0] * (scram.CHECKED - len(live))]  # as many for a stranger
        return account, [token.with_keys(note) for token, note in zip(live, [ledger.note(number) for number in numbers])]

    known = await desk.looked_up(start.database, found)
    secret = (*read, OURS)[0]
    if known is None:
        secret = hmac.digest(secret, b"project\0" + start.database.encode("utf-8", "surrogatepass"), "sha256")
    salt, (account, tokens) = wire_salt(secret, start.user), known or (None, ())
    return salt, tokens, None if account is None else Caller(start.database, account.name, account.role)


def fatal(error: ObverseError) -> ObverseError:
    """As it is told before somebody is known: without what would help nobody but a stranger."""
    error.why = "" if isinstance(error, NotSignedIn) else error.why
    return error
