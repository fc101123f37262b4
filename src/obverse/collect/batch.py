"""Attested batches: reports of one survey in a random order, and what their shuffler signs of them.

A batch is a line of JSON and the reports after it, one after the other, as on the wire.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from obverse.collect.protocols.base import Payloads
from obverse.collect.spec import Spec, canonical_json
from obverse.collect.wire import HEAD_BYTES
from obverse.core.errors import Refused, invariant
from obverse.core.rng import Rng

VERSION = 1
BATCH_ID_BYTES = 16


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Reports that were shuffled, and the number that tells their batch from others."""

    id: bytes
    payloads: Payloads


def shuffled(spec: Spec, epoch: int, payloads: Payloads, rng: Rng, sign: Callable[[bytes], bytes]) -> bytes:
    """A batch of these, signed.

    Claim:   every order is as likely, up to 2**-60, and does not depend on the payloads.
    Proof:   rows are sorted by fresh keys of 128 bits, of which two are equal with a chance below 2**-60 for up to
             2**34 rows.
    Assumes: entropy of the operating system.
    """
    invariant(len(payloads) > 0, "a batch has a report")
    order = np.lexsort((rng.words(len(payloads)), rng.words(len(payloads))))
    reports = spec.frame.framed_all(epoch, payloads[order])
    told = {
        "version": VERSION,
        "batch": rng.raw(BATCH_ID_BYTES).hex(),
        "survey": spec.digest.hex(),
        "epoch": epoch,
        "reports": len(payloads),
        "sha256": hashlib.sha256(reports).hexdigest(),
    }
    return canonical_json({**told, "signature": sign(message(told)).hex()}) + b"\n" + reports


def opened(spec: Spec, epoch: int, batch: bytes, verify: Callable[[bytes, bytes], bool]) -> Batch:
    """The reports of a batch that the survey's shuffler has attested; anything else is refused whole."""
    head, _, reports = batch.partition(b"\n")
    try:
        told = json.loads(head)
        signature = bytes.fromhex(told.pop("signature"))
        right = verify(signature, message(told)) and canonical_json({**told, "signature": signature.hex()}) == head
        number = bytes.fromhex(told["batch"])
        survey = told["survey"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        fix = "Take it as `obverse collect shuffle` wrote it."
        raise Refused("not_attested", "this is no batch of a shuffler.", fix=fix) from None
    if not right:
        raise _false("it is not signed with the key that the survey declares")
    if survey != spec.digest.hex():
        raise Refused(
            "other_survey", "this batch is of another survey.", fix="Add it to the survey that it was shuffled for."
        )
    rows = spec.frame.rows(reports)
    if told.get("version") != VERSION or told.get("epoch") != epoch:
        raise _false("it is of another epoch, or of another version")
    if rows is None or len(rows) != told.get("reports") or hashlib.sha256(reports).hexdigest() != told.get("sha256"):
        raise _false("its reports are not the ones that were signed")
    start = spec.frame.framed(epoch, bytes(spec.frame.payload))[:HEAD_BYTES]
    payloads = rows[:, HEAD_BYTES:]
    if not (rows[:, :HEAD_BYTES] == list(start)).all() or not spec.protocol.valid(payloads).all():
        raise _false("it holds reports that no device could have sent")
    few(spec, len(payloads))
    return Batch(number, payloads)


def few(spec: Spec, reports: int) -> None:
    """Refuse a batch in which hardly anybody hides."""
    if reports < spec.survey.minimum:
        raise Refused(
            "nothing_to_shuffle",
            f"a batch has at least {spec.survey.minimum} reports, and not so many of these may be counted.",
            why="people were told that many are handed on at once.",
            fix="Wait for more; no token was spent.",
        )


def message(told: dict[str, Any]) -> bytes:
    """What is signed."""
    return b"obverse shuffled batch\0" + canonical_json(told)


def _false(why: str) -> Refused:
    return Refused(
        "bad_attestation", "this batch is not what its shuffler attests.", why=f"{why}.", fix="Ask for it again."
    )
