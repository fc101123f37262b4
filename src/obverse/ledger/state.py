"""The Book: all that a ledger knows, folded from its records one by one. The chain is the truth; this is its sum.

One account's counted loss: what touched everything, and what touched only some partitions of growing data.

Claim:   `most(r)` is at least the loss about any one unit whose rows lie in one partition of the range r.
Proof:   such a unit is touched by the debits on everything and by those whose range holds its partition; losses add
         (accounting/budget), and the largest sum over the range's partitions is at least that unit's.
         Once partitions are retired, a unit of theirs lies in some later partition, or in none: each later sum is at
         least the largest retired one from then on, so the unit's loss is below it wherever it comes again; and so on,
         if that one is retired too. A unit that lay in a later partition already stays there. Where rows went before
         their partitions were retired, a unit may have been in any partition at any debit: then each later sum is at
         least that of all debits together.
Assumes: a unit's rows lie in one partition (the emitted SQL sees to it), and a question touches no partition outside
         the range that its debit names (plan/partitions). Which partition is a unit's changes only where partitions are
         retired.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from obverse.accounting.belief import grouped
from obverse.accounting.budget import cap_of
from obverse.core.accounts import Account
from obverse.core.errors import LedgerError, ObverseError
from obverse.core.ledger import Budget, Cap, Entry, Head, Partitions, Scope, Spent, Terms
from obverse.core.units import Neighbours
from obverse.ledger import accounts
from obverse.ledger.chain import START, damaged, fraction_of
from obverse.ledger.rights import Rights


@dataclass(slots=True)
class LossAccount:
    """Sums by stretches of partitions: stretch i goes from its start to the next one's."""

    whole: Spent
    starts: list[int] = field(default_factory=list)
    sums: list[Spent] = field(default_factory=list)
    parted: Spent | None = None  # all debits on partitions, each counted once

    def add(self, charge: Spent, partitions: Partitions | None) -> None:
        if partitions is None:
            self.whole = self.whole.plus(charge)
            return
        self.parted = charge if self.parted is None else self.parted.plus(charge)
        first = self._cut(partitions.first)
        last = self._cut(partitions.last + 1)
        for place in range(first, last):
            self.sums[place] = self.sums[place].plus(charge)

    def most(self, partitions: Partitions | None = None) -> Spent:
        """The largest sum of any one partition: of all, or of a range."""
        first = 0
        last = len(self.starts)
        if partitions is not None:
            first = max(bisect.bisect_right(self.starts, partitions.first) - 1, 0)
            last = bisect.bisect_right(self.starts, partitions.last)
        return self.whole.plus(functools.reduce(_larger, self.sums[first:last], Spent(self.whole.accounting)))

    def base(self, through: int, *, gone: bool = False) -> Spent:
        """What each partition after that one counts as spent at least, once those up to it are retired.

        `gone`: their rows went earlier, nobody knows when.
        """
        if gone:
            return Spent(self.whole.accounting) if self.parted is None else self.parted
        retired = self.sums[: bisect.bisect_right(self.starts, through)]
        return functools.reduce(_larger, retired, Spent(self.whole.accounting))

    def retire(self, through: int, *, gone: bool = False) -> None:
        """Charge what was spent on partitions up to that one to each that remains or comes."""
        base = self.base(through, gone=gone)
        first = self._cut(through + 1)
        self.sums[first:] = [_larger(spent, base) for spent in self.sums[first:]]

    def after(self, charge: Spent, partitions: Partitions | None) -> Spent:
        """What `most` would be, had the charge been added."""
        tried = LossAccount(self.whole, list(self.starts), list(self.sums), self.parted)
        tried.add(charge, partitions)
        return tried.most()

    def _cut(self, start: int) -> int:
        """The place of the stretch that begins there, made where there is none."""
        place = bisect.bisect_left(self.starts, start)
        if place == len(self.starts) or self.starts[place] != start:
            before = self.sums[place - 1] if place else Spent(self.whole.accounting)
            self.starts.insert(place, start)
            self.sums.insert(place, before)
        return place


def _larger(one: Spent, other: Spent) -> Spent:
    return Spent(one.accounting, max(one.amount, other.amount), max(one.delta, other.delta))


@dataclass(frozen=True, slots=True)
class Debit:
    """One debit: whose it is, for what, and the hash of its answer once that was stored."""

    number: int
    id: str
    scope: Scope
    plans: tuple[str, ...]  # fingerprints: as earlier versions have them, and the canonical ones
    questions: tuple[str, ...]
    key: str
    hash: str
    answer: str | None = None


class Book:
    """A running fold, the one mutable thing here; `apply` believes only records that the chain has vouched for."""

    __slots__ = (
        "accounts",
        "acknowledged",
        "budget",
        "cap",
        "catalog",
        "closed",
        "dataset",
        "debits",
        "granted",
        "hashes",
        "keys",
        "last",
        "ledger_id",
        "person",
        "place",
        "plans",
        "receipts",
        "retired",
        "rights",
        "secret",
        "terms",
        "through",
        "totals",
        "version",
    )

    def __init__(self, place: str) -> None:
        self.place = place
        self.hashes: list[str] = []
        self.last = ""
        self.ledger_id = self.dataset = self.version = self.catalog = ""
        self.terms: Terms
        self.budget: Budget
        self.cap: Cap
        self.closed = False
        self.totals: dict[tuple[str | None, str | None], LossAccount] = {}
        self.person: Spent
        self.through: int | None = None
        self.retired: int | None = None  # the last partition that is read no more
        self.debits: dict[int, Debit] = {}
        self.receipts: dict[str, int] = {}  # the number of a debit by its id
        self.keys: dict[tuple[str, str], int] = {}
        self.plans: dict[tuple[Scope, str], int] = {}
        self.granted: set[str] = set()
        self.acknowledged: set[str] = set()
        self.accounts: dict[str, Account] = {}
        self.secret: int | None = None  # the record whose note holds it
        self.rights = Rights()

    @property
    def count(self) -> int:
        return len(self.hashes)

    @property
    def head(self) -> bytes:
        return bytes.fromhex(self.hashes[-1]) if self.hashes else START

    def spent(
        self, analyst: str | None = None, purpose: str | None = None, partitions: Partitions | None = None
    ) -> Spent:
        account = self.totals.get((analyst, purpose))
        return Spent(self.terms.accounting) if account is None else account.most(partitions)

    def after(self, charge: Spent, partitions: Partitions | None) -> Spent:
        """What will be spent of everybody's budget once the charge is written."""
        return self._everybody.after(charge, partitions)

    def base(self, through: int, *, gone: bool) -> Spent:
        """What every later partition counts as spent at least, once those up to that one are retired."""
        whole = self._everybody
        return whole.whole.plus(whole.base(through, gone=gone))

    @property
    def _everybody(self) -> LossAccount:
        return self.totals.get((None, None), LossAccount(Spent(self.terms.accounting)))

    def chain_head(self) -> Head:
        return Head(self.count, self.head.hex())

    def apply(self, entry: Entry) -> None:
        """Take in the next record."""
        act = _ACTS.get(entry.kind)
        if act is None:
            raise LedgerError(
                "ledger_newer",
                "the ledger holds a kind of record that this Obverse does not know",
                place=self.place,
                fix="Update Obverse.",
            )
        if (entry.number == 1) != (entry.kind == "open"):
            raise damaged(self.place, f"record {entry.number} stands where a ledger's opening does not")
        try:
            act(self, entry)
        except LedgerError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, ObverseError):
            raise damaged(self.place, f"record {entry.number} cannot be read") from None
        self.hashes.append(entry.hash)
        self.last = entry.kind

    def _count(self, entry: Entry, scope: Scope) -> None:
        """Add a record's counted loss to all totals it belongs to, and check the running total that it states."""
        charge = counted(entry, self.terms)
        where = partitions_of(entry)
        self.person = self.person.plus(grouped(charge, 1 if where is None else len(where)))
        for part in dict.fromkeys(
            [(None, None), (scope.analyst, None), (None, scope.purpose), (scope.analyst, scope.purpose)]
        ):
            self.totals.setdefault(part, LossAccount(Spent(self.terms.accounting))).add(charge, where)
        if self.spent() != total_stated(entry, self.terms):
            raise damaged(self.place, f"record {entry.number} states another total than its forerunners add up to")

    def _set_budget(self, fields: Any) -> None:
        self.budget = Budget(fraction_of(fields["cap_epsilon"]), fraction_of(fields["cap_delta"]))
        self.cap = cap_of(self.budget, self.terms.accounting)


def counted(entry: Entry, terms: Terms) -> Spent:
    """The loss that a record was counted as when it was written; later rules of counting do not change it."""
    return Spent(terms.accounting, fraction_of(entry.fields["amount"]), fraction_of(entry.fields["delta"]))


def partitions_of(entry: Entry) -> Partitions | None:
    """The partitions that a debit touches; None: all of the data."""
    found = entry.fields.get("partitions")
    return None if found is None else Partitions(int(found[0]), int(found[1]))


def total_stated(entry: Entry, terms: Terms) -> Spent:
    """The running total of everybody that a record carries."""
    return Spent(terms.accounting, fraction_of(entry.fields["total_amount"]), fraction_of(entry.fields["total_delta"]))


def _open(book: Book, entry: Entry) -> None:
    fields = entry.fields
    book.ledger_id = fields["ledger"]
    book.dataset = fields["dataset"]
    book.terms = Terms(fields["accounting"], Neighbours(fields["neighbours"]), fields["unit"])
    book.person = Spent(book.terms.accounting)
    book._set_budget(fields)


def _charge(book: Book, entry: Entry) -> None:
    fields = entry.fields
    scope = Scope(fields["dataset"], fields["analyst"], fields["purpose"])
    plan, question = fields.get("identity", (fields["plan"], fields["question"]))
    plans = tuple({fields["plan"]: 0, plan: 0})
    questions = tuple({fields["question"]: 0, question: 0})
    debit = Debit(entry.number, fields["id"], scope, plans, questions, fields["key"], entry.hash)
    book._count(entry, scope)
    book.debits[entry.number] = debit
    book.receipts[debit.id] = entry.number
    if debit.key:
        book.keys[(scope.analyst, debit.key)] = entry.number


def _settle(book: Book, entry: Entry) -> None:
    debit = book.debits[entry.fields["charge"]]
    if debit.answer is not None:
        raise damaged(book.place, f"record {entry.number} settles a debit for the second time")
    book.debits[debit.number] = replace(debit, answer=entry.fields["answer"])
    for plan in debit.plans:
        book.plans.setdefault((debit.scope, plan), debit.number)


def _cap(book: Book, entry: Entry) -> None:
    book._set_budget(entry.fields)
    if entry.fields["key"]:
        book.granted.add(entry.fields["key"])


def _acknowledge(book: Book, entry: Entry) -> None:
    book._count(entry, Scope(book.dataset))
    book.acknowledged.add(entry.fields["anchored"])
    book.closed = False


def _version(book: Book, entry: Entry) -> None:
    book.version = entry.fields["version"]
    book.through = entry.fields.get("through", book.through)
    book.rights.begin_version(waits=bool(entry.fields.get("lifts_wait")))


def _retire(book: Book, entry: Entry) -> None:
    through = int(entry.fields["through"])
    gone = bool(entry.fields["gone"])
    base = book.base(through, gone=gone)
    for account in book.totals.values():
        account.retire(through, gone=gone)
    book.retired = through
    stated = fraction_of(entry.fields["base_amount"]), fraction_of(entry.fields["base_delta"])
    if ((base.amount, base.delta), book.spent()) != (stated, total_stated(entry, book.terms)):
        raise damaged(book.place, f"record {entry.number} states another base than its forerunners add up to")


def _close(book: Book, entry: Entry) -> None:
    book.closed = True


def _reopen(book: Book, entry: Entry) -> None:
    book.closed = False


def _catalog(book: Book, entry: Entry) -> None:
    book.catalog = entry.fields["fingerprint"]


def _account(book: Book, entry: Entry) -> None:
    if entry.fields["act"] == "secret":
        book.secret = entry.number
    else:
        accounts.folded(book.accounts, entry)


def _rights(book: Book, entry: Entry) -> None:
    book.rights.apply(entry)


def _noted(book: Book, entry: Entry) -> None:
    """Kept for the record only."""


_ACTS: dict[str, Callable[[Book, Entry], None]] = {
    "open": _open,
    "charge": _charge,
    "settle": _settle,
    "cap": _cap,
    "catalog": _catalog,
    "version": _version,
    "retire": _retire,
    "acknowledge": _acknowledge,
    "close": _close,
    "moved": _reopen,
    "adopt": _noted,
    "custody": _noted,
    "account": _account,
    "rights": _rights,
}
