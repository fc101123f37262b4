"""Release methods wired to the door: one question, one strategy, one debit, one receipt.

What `--plan` tells, before any row is read: measurements, noise, errors, memory and time.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from obverse.accounting.pure import total as pure_total
from obverse.accounting.zcdp import total as zcdp_total
from obverse.answers.answer import Price
from obverse.catalog import parameters
from obverse.catalog.model import Catalog
from obverse.core.claim import Claim
from obverse.core.errors import ObverseError, invariant
from obverse.core.ledger import Budget, Receipt
from obverse.mechanisms.base import Additive
from obverse.plan.pricing import MatrixStrategy, Plan
from obverse.plan.query import Question
from obverse.plan.release.postprocess import Finished
from obverse.plan.sensitivity import BoundedPlan, limit
from obverse.plan.strategy.pricing import roomy, unit_weight, weigh
from obverse.publish.method import Draft, Entries, Measured, Method, Terms
from obverse.publish.rounding import JOINT_MAX, SWEEPS
from obverse.session.authorization import allowed_for
from obverse.session.claims import claim_of
from obverse.session.execution import Sealed
from obverse.session.planning import Planned, PlannedGraph, finalize
from obverse.session.session import Session

Integers = NDArray[np.int64]


Costed = Callable[[BoundedPlan, Fraction, Fraction], Plan]  # by epsilon and delta
Found = dict[str, list[Any]]  # by column: edges, or values; texts and numbers
FORMAT = 1
WIDTHS = ("int8", "int16", "int32", "int64")


@dataclass(frozen=True, slots=True)
class Priced:
    """A release before any row is read: what would be measured, with which noise, for how much."""

    planned: Planned
    measured: Measured  # without values
    price: Price
    terms: Terms
    delta: Fraction | None = None  # of the whole, where something is found out first
    within: str = ""  # between whom alone the claim holds, where something is held exact

    @property
    def weight(self) -> int:
        """The most that one unit weighs, in released integers."""
        return unit_weight(self.planned.costed)


@dataclass(frozen=True, slots=True)
class Release:
    """A method with its workload, and its price."""

    title: str
    method: Method
    priced: Priced
    recipe: Mapping[str, Any] = field(default_factory=dict)  # what was asked for, so that its curator can ask it again
    first: tuple[First, ...] = ()  # what is found out before, within the same debit
    then: Callable[[Found], Release] | None = None  # itself, once that is known


@dataclass(frozen=True, slots=True)
class First:
    """Something that a release finds out first, for a share of its price: the edges of bins, or which values there
    are.
    """

    column: str
    kind: Literal["bins", "values"]
    share: Fraction
    planned: Planned
    words: str
    most: int = 0  # values that are kept

    def as_json(self) -> dict[str, Any]:
        costed = self.planned.costed
        amount, delta = (pure_total if costed.accounting == "pure" else zcdp_total)(costed.loss)
        noise = sorted({one.name for one in costed.all_mechanisms})
        told = {
            "column": self.column,
            "kind": self.kind,
            "share": str(self.share),
            "mechanisms": noise,
            "words": self.words,
        }
        return told | {"loss": str(amount), "delta": str(delta)}


@dataclass(frozen=True, slots=True)
class Receipted:
    """What was measured, with its claim."""

    measured: Measured
    claim: dict[str, Any]
    price: dict[str, Any]
    stored: bool


def terms_of(session: Session) -> Terms:
    return Terms(session.catalog.accounting, session.catalog.neighbours)


def priced(
    session: Session,
    note: str,
    question: Question,
    draft: Draft,
    epsilon: Fraction | None,
    delta: Fraction | None,
    *,
    catalog: Catalog | None = None,
    part: Fraction = Fraction(1),
) -> Priced:
    """The draft with its noise and its price. Free: what is wrong with it is told here.

    `catalog`: what is declared, and what was found out; `part`: of the price, what is left for the draft.
    """
    catalog = catalog if catalog is not None else session.catalog

    def costed(limited: BoundedPlan, epsilon: Fraction, delta: Fraction) -> Plan:
        annotated = roomy(limited, draft.strategy.blocks)
        return weigh(annotated, draft.strategy, epsilon, delta, catalog.accounting, part)

    planned = planned_release(session, note, replace(question, sets=draft.sets), costed, epsilon, delta, catalog)
    unit = float(planned.costed.measures[0].unit)
    entries = []
    for block, mechanism in zip(draft.strategy.blocks, planned.costed.mechanisms):
        invariant(isinstance(mechanism, Additive), "entries get additive noise")
        assert isinstance(mechanism, Additive)
        entries.append(Entries(block, mechanism, unit))
    return Priced(planned, tuple(entries), price_of(session, planned), terms_of(session))


def planned_release(
    session: Session,
    note: str,
    question: Question,
    costed: Costed,
    epsilon: Fraction | None,
    delta: Fraction | None,
    catalog: Catalog | None = None,
) -> Planned:
    """A release's query, allowed for the session's purpose, with the noise that `costed` gives it at its price."""
    catalog = catalog if catalog is not None else session.catalog
    allowed_for(question, catalog, session.purpose)
    paid = parameters.epsilon(epsilon) if epsilon is not None else catalog.epsilon
    at = parameters.delta(delta) if delta is not None else catalog.delta
    return finalize(note, question, catalog, costed(limit(question, catalog), paid, at), session.hash_key())


def price_of(session: Session, planned: Planned | PlannedGraph, delta: Fraction | None = None) -> Price:
    """The price in the budget's terms; `delta`: of the whole release, where it is not that of its last query."""
    costed = planned.costed
    delta = costed.delta if delta is None else delta
    price, _ = session.purse.priced(planned.loss, costed.epsilon, delta, planned.partitions)
    return price


def price_json(price: Price) -> dict[str, Any]:
    return {"epsilon": price.epsilon, "delta": price.delta, "share": price.share}


def release_claim(session: Session, costed: Plan, receipt: str, delta: Fraction | None = None) -> Claim:
    charged = Budget(costed.epsilon, costed.delta if delta is None else delta)
    return claim_of(costed, session.catalog, session.purse.whole(), receipt, charged, "this release")


def sealed_release(price: Price, blocks: Any, claims: Mapping[str, Any], **more: Any) -> Sealed:
    """The bytes that the ledger stores of a release; `claims`: one "claim", or "claims" of several parts."""
    fields = {"version": FORMAT, "kind": "release", **claims, "price": price_json(price), "blocks": blocks, **more}
    return Sealed(json.dumps(fields, ensure_ascii=False).encode())


def measured(session: Session, release: Priced, key: str = "") -> Receipted:
    """Charged, read, noised and stored; or what is stored of the same release."""
    stored, again = session.measure(release.planned, sealing(session, release), key)
    return receipted(release, stored, again)


def sealing(session: Session, release: Priced, found: Found | None = None) -> Callable[[Finished, Receipt], Sealed]:
    """How noisy entries become the bytes that are stored; with what was found out first, and its noise."""
    planned = release.planned

    def seal(finished: Finished, receipt: Receipt) -> Sealed:
        claim = release_claim(session, planned.costed, receipt.id, release.delta)
        before = {mechanism.name for one in planned.first for mechanism in one.costed.all_mechanisms}
        claim = replace(claim, mechanisms=tuple(sorted({*claim.mechanisms, *before})))
        blocks = [packed(block) for block in finished.blocks]
        more = {} if found is None else {"found": found}
        return sealed_release(release.price, blocks, {"claim": claim.as_json()}, **more)

    return seal


def receipted(release: Priced, stored: bytes, again: bool) -> Receipted:
    """What the ledger stores of a release."""
    fields = json.loads(stored)
    found = tuple(
        replace(one, values=unpacked(text)) for one, text in zip(release.measured, fields["blocks"], strict=True)
    )
    for one in found:
        assert one.values is not None
        invariant(len(one.values) == one.block.entries, "an entry for each place")
    return Receipted(found, _among(release.within, fields["claim"]), fields["price"], again)


def _among(within: str, claim: dict[str, Any]) -> dict[str, Any]:
    """The claim between some people alone.

    It is not stored so: the same measurements serve a release that holds nothing.
    """
    if not within:
        return claim
    sentence = f"{within[0].upper()}{within[1:]}: {claim['sentence'][0].lower()}{claim['sentence'][1:]}"
    return claim | {"limits": f"{claim['limits']}; all of this {within}", "sentence": sentence}


@contextmanager
def paid(stored: bool) -> Iterator[None]:
    """What goes wrong after a release was measured says that the charge stays, unless it came from store."""
    try:
        yield
    except ObverseError as error:
        error.charged = not stored
        raise


def packed(values: Integers) -> dict[str, str]:
    """Integers in the least width that holds them all, compressed."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    width = next(name for name in WIDTHS if np.iinfo(name).min <= low and high <= np.iinfo(name).max)
    raw = values.astype(np.dtype(width).newbyteorder("<")).tobytes()
    return {"type": width, "zlib": base64.b64encode(zlib.compress(raw, 1)).decode()}


def unpacked(text: dict[str, str]) -> Integers:
    raw = zlib.decompress(base64.b64decode(text["zlib"]))
    return np.frombuffer(raw, dtype=np.dtype(text["type"]).newbyteorder("<")).astype(np.int64)


def now() -> dt.datetime:
    return dt.datetime.now()


CELL_BYTES = 64  # of a counted cell, while its maps are taken and its noise is drawn
# for one number of noise; for one cell in one sweep of raking
NOISE_S = 1e-6
SWEEP_S = 1.2e-8


def plan_json(made: Release) -> dict[str, Any]:
    workload = made.method.workload
    release = made.priced
    noise = release.planned.costed.noise
    assert isinstance(noise, MatrixStrategy)
    errors = made.method.errors(release.measured, release.terms)
    cells = release.planned.costed.setting.cells
    entries = sum(one.block.entries for one in release.measured)
    joint = workload.cells(tuple(range(len(workload.attributes))))
    raked = joint * SWEEPS * len(workload.tables) if joint <= JOINT_MAX else 0
    return {
        "version": 1,
        "price": price_json(release.price),
        "first": [one.as_json() for one in made.first],
        "measured": [
            {
                "name": made.method.block_title(one.block.name),
                "entries": one.block.entries,
                "share": float(share),
                "mechanism": one.mechanism.name,
                "stddev": one.mechanism.stddev() * one.unit,
            }
            for one, share in zip(release.measured, noise.strategy.shares)
        ],
        "tables": [{"name": e.title, "cells": e.cells, "stddev": e.stddev, "half_width": e.half_width} for e in errors],
        "cells": cells,
        "memory_mb": max(1, round((cells + entries) * CELL_BYTES / 1e6)),
        "seconds": entries * NOISE_S + raked * SWEEP_S,
    }
