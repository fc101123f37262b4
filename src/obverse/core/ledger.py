"""The seam to wherever losses are remembered: scopes, receipts, counted loss, caps, and the Ledger protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NewType, Protocol

from obverse.core.errors import invariant
from obverse.core.loss import Loss
from obverse.core.units import Neighbours

Accounting = Literal["pure", "zcdp"]

Fingerprint = NewType("Fingerprint", str)
"""Equal exactly when a stored answer may be given again: the hashes of the measurement and its presentation."""


@dataclass(frozen=True, slots=True)
class Former:
    """The fingerprints that versions up to 0.1 gave a plan and its question, as their records hold them."""

    plan: Fingerprint
    question: Fingerprint


@dataclass(frozen=True, slots=True)
class Scope:
    """Who asks, and what for; an empty name means that none was given."""

    dataset: str
    analyst: str = ""
    purpose: str = ""

    def __post_init__(self) -> None:
        invariant(bool(self.dataset), "a scope names its dataset")


@dataclass(frozen=True, slots=True)
class Partitions:
    """A range of partitions of growing data, both ends in it; days are counted from 1970-01-01."""

    first: int
    last: int

    def __post_init__(self) -> None:
        invariant(self.first <= self.last, "a range of partitions is not empty")

    def __len__(self) -> int:
        return self.last - self.first + 1

    def joined(self, other: Partitions) -> Partitions:
        return Partitions(min(self.first, other.first), max(self.last, other.last))


@dataclass(frozen=True, slots=True)
class Terms:
    """What every loss of one ledger is a statement about; fixed when the ledger is made, so that losses add up.

    `unit` is any stable text for the protected entity, such as its key column.
    """

    accounting: Accounting
    neighbours: Neighbours
    unit: str


@dataclass(frozen=True, slots=True)
class Budget:
    """Allowed loss, as declared: epsilon and delta."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Spent:
    """Counted loss. `amount` is epsilon under pure accounting and rho under zcdp; `delta` adds under both."""

    accounting: Accounting
    amount: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        invariant(self.amount >= 0 and self.delta >= 0, "counted loss is never negative")

    def plus(self, other: Spent) -> Spent:
        invariant(self.accounting == other.accounting, "epsilon and rho do not add")
        return Spent(self.accounting, self.amount + other.amount, self.delta + other.delta)


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be spent, in the same quantities as Spent; `delta` is what thresholds may use up."""

    accounting: Accounting
    amount: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        invariant(self.amount >= 0 and self.delta >= 0, "a cap is never negative")


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps that come with a question. The dataset's own cap lives in the ledger and binds besides."""

    project: Cap
    analyst: Cap | None = None
    purpose: Cap | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a debit: an opaque id, the number of its record, and the hash that record was sealed with."""

    id: str
    number: int
    head: str


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer that was released before, byte for byte, with the receipt of the debit that paid for it."""

    answer: bytes
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Head:
    """How long the chain of records is and the hash of its last one; two equal heads mean two equal histories."""

    count: int
    hash: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the chain. Notes (the question's text) are the owner's alone and are not in here."""

    number: int
    kind: str
    fields: Mapping[str, Any] = field(repr=False)
    hash: str


class Ledger(Protocol):
    """Where losses are remembered. No refunds: what was reserved stays spent, whatever happens next."""

    def reserve(
        self,
        scope: Scope,
        loss: Loss,
        plan: Fingerprint,
        *,
        key: str,
        caps: Caps,
        question: str = "",
        note: str = "",
        about: Mapping[str, str] | None = None,
        partitions: Partitions | None = None,
        former: Former | None = None,
    ) -> Receipt | Stored:
        """Check every cap and append the debit, in one atomic and durable step, or raise BudgetExceeded.

        key:      the request's id ("": none); repeated by the same analyst it gives the stored bytes, without a debit.
        question: what the key is bound to; the plan's fingerprint when empty.
        note:     kept for the owner only. about: public facts, sealed into the record.
        partitions: those of growing data that it touches; None: all of the data.
        former:   under which names records of earlier versions may hold this debit.
        """
        ...

    def settle(self, receipt: Receipt, answer: bytes) -> None:
        """Store what will be sent, durably, before it leaves."""
        ...

    def spent(
        self, *, analyst: str | None = None, purpose: str | None = None, partitions: Partitions | None = None
    ) -> Spent:
        """Counted loss so far, at most, about any one unit; None means of all analysts, purposes or partitions."""
        ...

    def person(self) -> Spent:
        """The loss about somebody who is in every partition that was asked of, over all of them."""
        ...

    def at_once(self) -> AbstractContextManager[None]:
        """Several reads of one moment."""
        ...

    def cap(self) -> Cap:
        """The cap on everybody together, as the ledger itself remembers it."""
        ...

    def budget(self) -> Budget:
        """The allowed loss as it was declared when the ledger was made, and granted since."""
        ...

    def record_catalog(self, fingerprint: str) -> None:
        """Note the declared facts that answers now depend on, where they changed."""
        ...

    def record_custody(self, table: str, columns: Sequence[str], what: str, reason: str) -> None:
        """Note that the curator is about to read rows themselves, and why."""
        ...

    def entries(self) -> Iterator[Entry]: ...

    def head(self) -> Head: ...
