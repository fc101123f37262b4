"""Losses to canonical bytes and back. Append-only: a version or kind, once written, is read for ever.

Canonical JSON: keys sorted, no blanks, ASCII. Exact numbers are text, "numerator/denominator" in lowest terms.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any, assert_never

from obverse.core.canonical import canonical
from obverse.core.errors import LedgerError, ObverseError
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
