"""Strict decoding: which of the reports that came in may be counted, and why the others may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.collect.protocols import LastingProtocol
from obverse.collect.spec import Spec
from obverse.collect.tokens import Mint
from obverse.collect.wire import EPOCH_BYTES, HEAD_BYTES, ID_BYTES

if TYPE_CHECKING:
    from obverse.collect.protocols.base import Payloads

REASONS = (
    "length",  # not that of a report
    "survey",  # another survey's, or another version of this one
    "epoch",  # not the one that is collected now
    "token",  # not one that was issued
    "spent",  # its token was used before, now or earlier
    "seed",  # not the one that follows from the token
    "range",  # no device could have sent it
)


@dataclass(frozen=True, slots=True)
class Submitted:
    """A report as it came in: the framed bytes and the token that was spent on it."""

    report: bytes
    token: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """What may be counted, without anything that came along with it; marks of the tokens it cost; and for each report that
    came in the reason for which it is not counted, or None."""

    payloads: Payloads
    marks: tuple[bytes, ...]
    reasons: tuple[str | None, ...]

    @property
    def rejected(self) -> dict[str, int]:
        """How many are not counted, by reason."""
        counted = Counter(reason for reason in self.reasons if reason is not None)
        return {reason: counted[reason] for reason in REASONS if counted[reason]}


def accept(
    spec: Spec, mint: Mint, epoch: int, submitted: Sequence[Submitted], spent: Callable[[Sequence[bytes]], set[bytes]]
) -> Accepted:
    """Sort reports. `spent` tells which marks are known already; a token that comes twice counts once."""
    import numpy as np

    head = spec.frame.survey + epoch.to_bytes(EPOCH_BYTES, "little")
    reasons = [_fault(spec, mint, head, one) for one in submitted]
    marks = {place: mint.spent_mark(one.token) for place, one in enumerate(submitted) if reasons[place] is None}
    known = spent(list(marks.values()))
    fresh: dict[bytes, int] = {}  # places, by marks
    for place, mark in marks.items():
        if mark in known or mark in fresh:
            reasons[place] = "spent"
        else:
            fresh[mark] = place
    sent = b"".join(submitted[place].report[HEAD_BYTES:] for place in fresh.values())
    rows = np.frombuffer(sent, dtype=np.uint8).reshape(len(fresh), spec.frame.payload)
    seeds = np.array([spec.seed(submitted[place].token) for place in fresh.values()], dtype=np.uint64)
    valid = spec.protocol.valid(rows)
    lasting = isinstance(spec.protocol, LastingProtocol)  # there a device has one seed for ever, which its token does not tell
    agrees = valid if lasting else spec.protocol.agrees(rows, seeds)
    for place, possible, agreed in zip(fresh.values(), valid, agrees):
        if not (possible and agreed):
            reasons[place] = "seed" if possible else "range"
    return Accepted(rows[valid & agrees], tuple(fresh), tuple(reasons))


def _fault(spec: Spec, mint: Mint, head: bytes, one: Submitted) -> str | None:
    if len(one.report) != spec.frame.length:
        return "length"
    if one.report[:ID_BYTES] != head[:ID_BYTES]:
        return "survey"
    if one.report[:HEAD_BYTES] != head:
        return "epoch"
    return None if mint.genuine(one.token) else "token"
