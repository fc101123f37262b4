"""Release methods wired to the door: one question, one strategy, one debit, one receipt."""

from __future__ import annotations

import base64
import datetime as dt
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from obverse.accounting.pure import total as pure_total
from obverse.accounting.zcdp import total as zcdp_total
from obverse.answers.answer import Price
from obverse.catalog import parameters
from obverse.catalog.model import Budget, Catalog
from obverse.core.errors import ObverseError, invariant
from obverse.core.ledger import Receipt
from obverse.mechanisms.base import Additive
from obverse.plan.emit.overlay import NOTHING
from obverse.plan.limit import limit
from obverse.plan.partitions import check_parts, touched
from obverse.plan.query import Question
from obverse.plan.release.finish import Finished
from obverse.plan.strategy.pricing import roomy, unit_weight, weigh
from obverse.plan.verify import verify
from obverse.publish.base import Draft, Entries, Measured, Method, Terms
from obverse.session.authorization import allowed_for
from obverse.session.claims import claim_of
from obverse.session.planning import Planned, printed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from obverse.session.session import Session

    Integers = NDArray[np.int64]

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
        return unit_weight(self.planned.costed.annotated)


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
    """Something that a release finds out first, for a share of its price: the edges of bins, or which values there are."""

    column: str
    kind: Literal["bins", "values"]
    share: Fraction
    planned: Planned
    words: str
    most: int = 0  # values that are kept

    def as_json(self) -> dict[str, Any]:
        costed = self.planned.costed
        amount, delta = (pure_total if costed.accounting == "pure" else zcdp_total)(costed.loss)
        noise = sorted({m.name for m in (*costed.mechanisms, costed.threshold) if m is not None})
        told = {"column": self.column, "kind": self.kind, "share": str(self.share), "mechanisms": noise, "words": self.words}
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
    asked = replace(question, sets=draft.sets)
    allowed_for(asked, catalog, session.purpose)
    annotated = roomy(limit(asked, catalog), draft.strategy.blocks)
    paid = parameters.epsilon(epsilon) if epsilon is not None else catalog.epsilon
    at = parameters.delta(delta) if delta is not None else catalog.delta
    costed = weigh(annotated, draft.strategy, paid, at, catalog.accounting, part)
    verify(costed)
    check_parts(asked, catalog)
    emitted = printed(annotated.limited.root, catalog, session.hash_key())
    planned = Planned(note, asked, costed, emitted(NOTHING), emitted, touched(asked.relation, catalog))
    price, _ = session.purse.priced(costed.loss, costed.epsilon, costed.delta, planned.partitions)
    unit = float(annotated.measures[0].unit)
    entries = []
    for block, mechanism in zip(draft.strategy.blocks, costed.mechanisms):
        invariant(isinstance(mechanism, Additive), "entries get additive noise")
        assert isinstance(mechanism, Additive)
        entries.append(Entries(block, mechanism, unit))
    return Priced(planned, tuple(entries), price, terms_of(session))


def measured(session: Session, release: Priced, key: str = "") -> Receipted:
    """Charged, read, noised and stored; or what is stored of the same release."""
    stored, again = session.measure(release.planned, sealing(session, release), key)
    return receipted(release, stored, again)


def sealing(session: Session, release: Priced, found: Found | None = None) -> Callable[[Finished, Receipt], bytes]:
    """How noisy entries become the bytes that are stored; with what was found out first, and its noise."""
    planned = release.planned

    def seal(finished: Finished, receipt: Receipt) -> bytes:
        costed = planned.costed
        charged = Budget(costed.epsilon, costed.delta if release.delta is None else release.delta)
        claim = claim_of(costed, session.catalog, session.purse.whole(), receipt.id, charged, "this release")
        before = {m.name for one in planned.first for m in (*one.costed.mechanisms, one.costed.threshold) if m is not None}
        claim = replace(claim, mechanisms=tuple(sorted({*claim.mechanisms, *before})))
        fields: dict[str, Any] = {
            "version": FORMAT,
            "kind": "release",
            "claim": claim.as_json(),
            "price": {"epsilon": release.price.epsilon, "delta": release.price.delta, "share": release.price.share},
            "blocks": [packed(block) for block in finished.blocks],
        }
        return json.dumps(fields | ({} if found is None else {"found": found}), ensure_ascii=False).encode()

    return seal


def receipted(release: Priced, stored: bytes, again: bool) -> Receipted:
    """What the ledger stores of a release."""
    fields = json.loads(stored)
    found = tuple(replace(one, values=unpacked(text)) for one, text in zip(release.measured, fields["blocks"], strict=True))
    for one in found:
        assert one.values is not None
        invariant(len(one.values) == one.block.entries, "an entry for each place")
    return Receipted(found, _among(release.within, fields["claim"]), fields["price"], again)


def _among(within: str, claim: dict[str, Any]) -> dict[str, Any]:
    """The claim between some people alone. It is not stored so: the same measurements serve a release that holds nothing."""
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
    import numpy as np

    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    width = next(name for name in WIDTHS if np.iinfo(name).min <= low and high <= np.iinfo(name).max)
    raw = values.astype(np.dtype(width).newbyteorder("<")).tobytes()
    return {"type": width, "zlib": base64.b64encode(zlib.compress(raw, 1)).decode()}


def unpacked(text: dict[str, str]) -> Integers:
    import numpy as np

    raw = zlib.decompress(base64.b64decode(text["zlib"]))
    return np.frombuffer(raw, dtype=np.dtype(text["type"]).newbyteorder("<")).astype(np.int64)


def now() -> dt.datetime:
    return dt.datetime.now()
