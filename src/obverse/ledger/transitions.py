"""What may be written next, decided from the Book alone: each act gives a Draft to append, or refuses."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from obverse.accounting.budget import count, fits, remaining, tighter, words, words_left
from obverse.core.errors import BudgetExceeded, Failed, LedgerError, ObverseError, Refused
from obverse.core.ledger import Budget, Cap, Caps, Former, Partitions, Receipt, Scope, Spent, Terms
from obverse.core.loss import Loss
from obverse.ledger.chain import Draft, encode, fraction_text
from obverse.ledger.state import Book, Debit

KEY_CHARACTERS_MAX = 200
SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Request:
    """All that a question brings to the ledger."""

    scope: Scope
    loss: Loss
    plan: str
    key: str
    caps: Caps
    question: str
    note: str
    about: Mapping[str, str]
    partitions: Partitions | None = None
    former: Former | None = None

    @property
    def plans(self) -> tuple[str, ...]:
        """All fingerprints of the plan; the first is the one that every version can read."""
        return (self.plan,) if self.former is None else (self.former.plan, self.plan)

    @property
    def questions(self) -> tuple[str, ...]:
        question = self.question or self.plan
        return (question,) if self.former is None else (self.former.question, question)


def open_ledger(ledger_id: str, dataset: str, terms: Terms, budget: Budget) -> Draft:
    """The first record: what all losses here are a statement about, and how much is allowed."""
    fields = {
        "ledger": ledger_id,
        "dataset": dataset,
        "accounting": terms.accounting,
        "neighbours": terms.neighbours.value,
        "unit": terms.unit,
        **_budget_fields(budget),
    }
    return Draft("open", fields)


def reserve(book: Book, request: Request) -> Draft | Debit:
    """A debit to append; or an earlier one whose stored answer is given again, free."""
    if request.scope.dataset != book.dataset:
        raise LedgerError("wrong_dataset", "this ledger belongs to another dataset", place=book.place)
    earlier = _earlier_debit(book, request)
    if earlier is not None:
        return earlier
    if book.retired is not None and request.partitions is not None and request.partitions.first <= book.retired:
        raise Refused(
            "partition_retired",
            "this was planned before partitions were retired, so nothing was read and nothing was spent",
            why="what is read and what is spent begins after the last retired partition",
            fix="Open the project again and ask anew.",
        )
    charge = count(request.loss, book.terms.accounting)
    for name, cap, spent in _caps(book, request):
        if not fits(cap, spent, charge):
            raise _exceeded(name, charge, remaining(cap, spent))
    note = os.urandom(SALT_BYTES) + request.note.encode() if request.note else None
    fields = {
        "id": secrets.token_hex(16),
        "dataset": request.scope.dataset,
        "analyst": request.scope.analyst,
        "purpose": request.scope.purpose,
        "plan": request.plans[0],
        "question": request.questions[0],
        "key": request.key,
        "loss": encode(request.loss).decode(),
        "note": hashlib.sha256(note).hexdigest() if note else "",
        "about": dict(request.about),
        **_counted(charge, book.after(charge, request.partitions)),
        **({"identity": [request.plans[1], request.questions[1]]} if request.former is not None else {}),
        **(
            {"partitions": [request.partitions.first, request.partitions.last]}
            if request.partitions is not None
            else {}
        ),
    }
    return Draft("charge", fields, note=note)


def settle(book: Book, receipt: Receipt, answer: bytes) -> Draft | None:
    """Store an answer with its debit; None when exactly this was stored before."""
    debit = book.debits.get(receipt.number)
    if debit is None or debit.id != receipt.id or debit.hash != receipt.head:
        raise LedgerError(
            "unknown_receipt",
            "no debit with this receipt is in the ledger, so the answer is not released",
            place=book.place,
            charged=True,
        )
    digest = hashlib.sha256(answer).hexdigest()
    if debit.answer is not None:
        if hmac.compare_digest(debit.answer, digest):
            return None
        raise LedgerError("already_settled", "this debit has an answer already; a second one would be a second release")
    return Draft("settle", {"charge": debit.number, "answer": digest}, answer=(debit.number, answer))


def grant(book: Book, epsilon: Fraction, delta: Fraction, reason: str, key: str) -> Draft | None:
    """Raise the cap; None when a grant with this key was made before."""
    if epsilon < 0 or delta < 0:
        raise Refused("bad_parameter", "a grant adds to the budget", fix="Give positive numbers, or lower the cap.")
    if key and key in book.granted:
        return None
    return _cap(Budget(book.budget.epsilon + epsilon, book.budget.delta + delta), "grant", reason, key)


def lower(book: Book, budget: Budget, reason: str) -> Draft:
    """Lower the cap, never below zero; what is spent already stays spent."""
    if budget.epsilon > book.budget.epsilon or budget.delta > book.budget.delta:
        raise Refused("bad_parameter", "this would raise the cap", fix="Raise a cap with: obverse budget grant")
    return _cap(budget, "lower", reason, "")


def acknowledge(book: Book, worst: Spent, why: str, reason: str, anchored: str) -> Draft:
    """Charge what the ledger does not know of, on the curator's word."""
    fields = {"why": why, "reason": reason, "anchored": anchored, **_counted(worst, book.after(worst, None))}
    return Draft("acknowledge", fields)


def version(book: Book, version: str, through: int | None, *, lifts_wait: bool = False) -> Draft:
    """A new version of the data. Partitions are published in their order, so that none gets rows once it was asked of.

    `lifts_wait`: nobody who is left out comes back with it; a version that compares the partitions' rows can do that.
    """
    if through is not None and book.through is not None and through < book.through:
        raise Refused(
            "bad_parameter",
            "a later partition was published before",
            why="rows are only added to partitions that come after all published ones",
            fix="Name the last partition that the data holds now.",
        )
    fields = {"version": version, **({"through": through} if through is not None else {})}
    return Draft("version", fields | ({"lifts_wait": True} if lifts_wait else {}))


def retire(book: Book, through: int, reason: str, *, gone: bool) -> Draft:
    """Partitions up to that one are read no more, and what was spent on them counts for each that remains or comes."""
    if book.through is None or through > book.through:
        raise Refused("bad_parameter", "only partitions that were published are retired", fix="Name one of them.")
    if book.retired is not None and through <= book.retired:
        raise Refused("bad_parameter", "these partitions are retired already", fix="Name a later partition.")
    base = book.base(through, gone=gone)
    total = Spent(base.accounting, max(base.amount, book.spent().amount), max(base.delta, book.spent().delta))
    counted = {"base_amount": fraction_text(base.amount), "base_delta": fraction_text(base.delta), **_total(total)}
    return Draft("retire", {"through": through, "reason": reason, "gone": gone, **counted})


def custody(table: str, columns: Sequence[str], what: str, reason: str) -> Draft:
    """That the curator reads rows, of which table and for what; nothing is charged."""
    return Draft("custody", {"table": table, "columns": list(columns), "what": what, "reason": reason})


def still_open(book: Book) -> None:
    """Nothing is written any more to a ledger that goes on elsewhere."""
    if book.closed:
        raise LedgerError(
            "ledger_closed",
            "this ledger was moved away and is closed",
            place=book.place,
            fix="Go on with the moved file; or acknowledge, which charges all that is left of the budget.",
        )


def _caps(book: Book, request: Request) -> Iterator[tuple[str, Cap, Spent]]:
    scope = request.scope
    caps = request.caps
    where = request.partitions
    yield "the dataset's budget", tighter(book.cap, caps.project), book.spent(partitions=where)
    if caps.analyst is not None:
        yield (
            f"the budget of analyst '{scope.analyst}'",
            caps.analyst,
            book.spent(analyst=scope.analyst, partitions=where),
        )
    if caps.purpose is not None:
        yield (
            f"the budget of purpose '{scope.purpose}'",
            caps.purpose,
            book.spent(purpose=scope.purpose, partitions=where),
        )


def _earlier_debit(book: Book, request: Request) -> Debit | None:
    if len(request.key) > KEY_CHARACTERS_MAX:
        raise Refused("bad_parameter", "the request id is too long", fix=f"At most {KEY_CHARACTERS_MAX} characters.")
    keyed = book.keys.get((request.scope.analyst, request.key)) if request.key else None
    if keyed is None:
        found = (book.plans.get((request.scope, plan)) for plan in request.plans)
        known = next((number for number in found if number is not None), None)
        return None if known is None else book.debits[known]
    debit = book.debits[keyed]
    if debit.scope != request.scope or not {*debit.questions} & {*request.questions}:
        raise Refused(
            "idempotency_conflict",
            "this request id was used before, for another question",
            why="a request id stands for one question, so that repeating it can never be charged twice",
            fix="Use a fresh request id.",
        )
    if debit.answer is None:
        raise Failed(
            "answer_lost",
            "this request was charged and its answer was never stored",
            why="it is still running, or it was interrupted after the debit; nothing is charged again",
            fix="If it is not running any more, ask again under a fresh request id: that is a new debit.",
            charged=True,
        )
    return debit


def _exceeded(name: str, charge: Spent, left: Spent) -> ObverseError:
    return BudgetExceeded(
        "budget_exhausted",
        f"this question costs {words(charge)}; left of {name}: {words_left(left)}",
        why="nothing was read and nothing was spent",
        fix="Ask at a smaller epsilon, or ask the data's owner for a larger budget (`obverse budget grant`).",
    )


def _cap(budget: Budget, change: str, reason: str, key: str) -> Draft:
    return Draft("cap", {"change": change, "reason": reason, "key": key, **_budget_fields(budget)})


def _budget_fields(budget: Budget) -> dict[str, Any]:
    return {"cap_epsilon": fraction_text(budget.epsilon), "cap_delta": fraction_text(budget.delta)}


def _counted(charge: Spent, total: Spent) -> dict[str, Any]:
    return {"amount": fraction_text(charge.amount), "delta": fraction_text(charge.delta), **_total(total)}


def _total(total: Spent) -> dict[str, Any]:
    return {"total_amount": fraction_text(total.amount), "total_delta": fraction_text(total.delta)}
