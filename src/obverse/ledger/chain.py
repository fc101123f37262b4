"""Records sealed into a chain: hash(n) = SHA-256(hash(n-1) + canonical bytes of record n), from 32 zero bytes.

Losses to canonical bytes and back. Append-only: a version or kind, once written, is read for ever.

Canonical JSON: keys sorted, no blanks, ASCII. Exact numbers are text, "numerator/denominator" in lowest terms.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, assert_never

from obverse.core.canonical import canonical
from obverse.core.errors import LedgerError, ObverseError
from obverse.core.ledger import Entry
from obverse.core.loss import ApproxLoss, BoundedRangeLoss, Composed, Loss, PureLoss, Repeated, ZcdpLoss

VERSION = 1


def fraction_text(number: Fraction) -> str:
    return f"{number.numerator}/{number.denominator}"


def fraction_of(text: str) -> Fraction:
    numerator, slash, denominator = text.partition("/")
    if not slash or not denominator.isdigit() or not numerator.removeprefix("-").isdigit():
        raise _unreadable("a number is not written as numerator/denominator")
    if int(denominator) == 0:
        raise _unreadable("a number is divided by zero")
    return Fraction(int(numerator), int(denominator))


def encode(loss: Loss) -> bytes:
    return canonical({"v": VERSION, "loss": _fields(loss)})


def decode(encoded: bytes) -> Loss:
    try:
        record = json.loads(encoded)
        if record["v"] not in (1,):
            raise _unreadable("it was written by a newer Obverse")
        return _loss(record["loss"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise _unreadable("its fields are not those of a loss") from None


def _fields(loss: Loss) -> dict[str, Any]:
    match loss:
        case PureLoss(epsilon) | BoundedRangeLoss(epsilon):
            return {"kind": loss.kind, "epsilon": fraction_text(epsilon)}
        case ZcdpLoss(rho):
            return {"kind": loss.kind, "rho": fraction_text(rho)}
        case ApproxLoss(epsilon, delta):
            return {"kind": loss.kind, "epsilon": fraction_text(epsilon), "delta": fraction_text(delta)}
        case Repeated(inner, times):
            return {"kind": loss.kind, "loss": _fields(inner), "times": times}
        case Composed(losses):
            return {"kind": loss.kind, "losses": [_fields(part) for part in losses]}
        case _:
            assert_never(loss)


_READERS: dict[str, Callable[[dict[str, Any]], Loss]] = {
    "pure": lambda f: PureLoss(fraction_of(f["epsilon"])),
    "bounded_range": lambda f: BoundedRangeLoss(fraction_of(f["epsilon"])),
    "zcdp": lambda f: ZcdpLoss(fraction_of(f["rho"])),
    "approx": lambda f: ApproxLoss(fraction_of(f["epsilon"]), fraction_of(f["delta"])),
    "repeated": lambda f: Repeated(_loss(f["loss"]), int(f["times"])),
    "composed": lambda f: Composed(tuple(_loss(part) for part in f["losses"])),
}


def _loss(fields: dict[str, Any]) -> Loss:
    reader = _READERS.get(fields["kind"])
    if reader is None:
        raise _unreadable("its kind is not known to this Obverse")
    try:
        return reader(fields)
    except LedgerError:
        raise
    except ObverseError:
        raise _unreadable("its numbers are out of range") from None


def _unreadable(why: str) -> LedgerError:
    return LedgerError(
        "loss_unreadable",
        "a recorded loss cannot be read",
        why=why,
        fix="Update Obverse; if it is the newest, run: obverse ledger verify",
    )


START = bytes(32)


@dataclass(frozen=True, slots=True)
class Record:
    """One sealed record as it is stored: every field of it is inside `body`, its number too."""

    number: int
    body: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be appended: a kind and its fields, and what is stored beside the chain and only hashed into it."""

    kind: str
    fields: Mapping[str, Any]
    answer: tuple[int, bytes] | None = None  # number of the debit it belongs to, and what will be sent
    note: bytes | None = None


def seal(previous: bytes, number: int, draft: Draft, time: str) -> Record:
    body = canonical({**draft.fields, "kind": draft.kind, "number": number, "time": time})
    return Record(number, body, hashlib.sha256(previous + body).digest())


def sealed_all(previous: bytes, count: int, drafts: Iterable[Draft], time: str) -> list[Record]:
    """Several records that follow each other, after `count` others."""
    records: list[Record] = []
    for number, draft in enumerate(drafts, start=count + 1):
        records.append(seal(records[-1].hash if records else previous, number, draft, time))
    return records


def opened(records: Iterable[tuple[Any, Any, Any]], count: int, head: bytes, place: str) -> Iterator[Entry]:
    """The records after `count`, each checked against the chain before it is believed."""
    for number, body, sealed in records:
        count += 1
        if number != count or not isinstance(body, bytes) or not isinstance(sealed, bytes):
            raise damaged(place, f"record {count} is missing or out of order")
        head = hashlib.sha256(head + body).digest()
        if head != sealed:
            raise damaged(place, f"record {count} does not match its seal")
        yield entry_of(number, body, sealed, place)


def entry_of(number: int, body: bytes, sealed: bytes, place: str) -> Entry:
    try:
        fields = json.loads(body)
        kind = fields.pop("kind")
        if fields.pop("number") != number:
            raise damaged(place, f"record {number} carries another number")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise damaged(place, f"record {number} cannot be read") from None
    return Entry(number, kind, fields, sealed.hex())


def damaged(place: str, why: str) -> LedgerError:
    return LedgerError(
        "ledger_damaged",
        "the ledger does not hold together, so nothing is answered",
        place=place,
        why=why,
        fix="Restore a backup (obverse ledger restore FILE), then acknowledge what it does not know of.",
    )
