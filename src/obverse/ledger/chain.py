"""Records sealed into a chain: hash(n) = SHA-256(hash(n-1) + canonical bytes of record n), from 32 zero bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from obverse.core.canonical import canonical
from obverse.core.errors import LedgerError
from obverse.core.ledger import Entry

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
