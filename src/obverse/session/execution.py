"""The only door to private data: reserve, run, randomize, finish, settle. Charged first; no refunds.

The debit: what is charged for, and what may be measured for it.

Claim:   a unit loses no more by what `hold` lets through than was debited, and a unit outside the debited partitions
         loses nothing.
Proof:   the noise of a plan covers its loss for the plan's own unit (plan/verify), and its exact numbers depend on the
         partitions that it carries alone (plan/partitions). Each plan carries both from the catalog that it was made
         under; here they are compared with those of the debit, whose loss is the losses added up, or a tight sum of
         them.
Assumes: the text that is run was printed from the plan, under the same catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from obverse.accounting.pld import certain
from obverse.answers.answer import Answer
from obverse.core.engine import Engine
from obverse.core.errors import Failed, LedgerError, invariant
from obverse.core.ledger import Caps, Fingerprint, Former, Ledger, Partitions, Receipt, Scope, Stored
from obverse.core.loss import ApproxLoss, Composed, Loss
from obverse.core.rng import Rng
from obverse.core.units import PrivacyUnit
from obverse.plan.emit.overlay import NOTHING, Overlay
from obverse.plan.pricing import Plan
from obverse.plan.release.noise import randomize, randomize_graph, randomize_keys
from obverse.plan.release.postprocess import Finished, finish
from obverse.plan.strategy.graph.pricing import GraphPlan, verify_graph
from obverse.plan.verify import verify


@dataclass(frozen=True, slots=True)
class Debit:
    """What is charged for, and under which names it can be asked for again."""

    scope: Scope
    loss: Loss
    fingerprint: Fingerprint
    question: str  # what the key is bound to: the plan without the data's version
    key: str
    caps: Caps
    note: str
    about: dict[str, str]
    unit: PrivacyUnit | None
    partitions: Partitions | None = None  # of growing data; None: all of it
    overlay: Callable[[], Overlay] = lambda: NOTHING  # asked for once the debit stands: no act before it is missed
    former: Former | None = None  # how earlier versions named it

    def reserve(self, ledger: Ledger) -> Receipt | Stored:
        """Append the debit, durably and once; or the bytes that a query of this fingerprint has got before."""
        return ledger.reserve(
            self.scope,
            self.loss,
            self.fingerprint,
            key=self.key,
            caps=self.caps,
            question=self.question,
            note=self.note,
            about=self.about,
            partitions=self.partitions,
            former=self.former,
        )

    def pays(self, losses: Sequence[Loss]) -> None:
        """Raise unless the loss is that of all of these together."""
        together = Composed(tuple(losses))
        paid = self.loss == together or (len(losses) == 1 and self.loss == losses[0])
        if not paid and isinstance(self.loss, ApproxLoss):
            paid = self.loss == certain(together.losses, self.loss.delta)
        invariant(paid, "the debit is the loss of all that is asked")

    def hold(self, costed: Plan | GraphPlan) -> None:
        """Raise unless the plan's unit and partitions are within what was debited."""
        if isinstance(costed, GraphPlan):
            invariant(
                self.unit is not None and self.unit.graph == costed.facts.unit, "the unit is the one that was debited"
            )
            return
        limited = costed
        invariant(limited.unit == self.unit, "the unit is the one that was debited")
        within = self.partitions is None or (
            limited.partitions is not None and self.partitions.joined(limited.partitions) == self.partitions
        )
        invariant(within, "the partitions are among those that were debited")


TIMEOUT_S = 600.0
Earlier = list[tuple[Plan, Finished]]
Release = Callable[[Plan, str], Finished]  # exact values are read and noised inside it; only noisy ones come out
Join = Callable[[list[bytes]], bytes]  # of the stored answers of several queries that are one debit


@dataclass(frozen=True, slots=True)
class Sealed:
    """The bytes that are stored and sent, with the answer that they hold where it was just made."""

    stored: bytes
    answer: Answer | None = None


class Outcome(NamedTuple):
    """What the gateway gives: the stored bytes, whether they were stored before, and the answer if it is new."""

    stored: bytes
    again: bool
    answer: Answer | None = None


class Gateway(Protocol):
    """The only way from a planned query to exact rows: `ask`, or its noiseless twin over synthetic tables."""

    def __call__(
        self,
        questions: tuple[Asked, ...],
        debit: Debit,
        *,
        engine: Engine,
        ledger: Ledger,
        rng: Rng,
        join: Join = ...,
        started: Callable[[Receipt], None] = ...,
    ) -> Outcome: ...


def only(parts: list[bytes]) -> bytes:
    """The bytes of a debit's one query."""
    (part,) = parts
    return part


@dataclass(frozen=True, slots=True)
class Asked:
    """One planned question: its noise, its engine text, and how its rows become the bytes that are stored and sent."""

    costed: Plan | GraphPlan
    sql: Callable[[Overlay], str]  # by who is left out and what is put right at the moment of the debit
    seal: Callable[[Finished, Receipt], Sealed]
    first: tuple[Asked, ...] = ()  # asked before it, of whose answers ...
    then: Callable[[Earlier], Asked] | None = None  # ... this question follows, at the same price


def ask(
    questions: tuple[Asked, ...],
    debit: Debit,
    *,
    engine: Engine,
    ledger: Ledger,
    rng: Rng,
    join: Join = only,
    started: Callable[[Receipt], None] = lambda receipt: None,
    release: Release | None = None,
    leaves: Callable[[], None] = lambda: None,
) -> Outcome:
    """The bytes of the answer, and whether they came from store. Several questions are one debit and one answer.

    `release`: where rows are read and noised, if not here; a service has a process for it. `leaves`: returns when the
    answer may be seen, before it is stored, since whoever looks into the store would see how long it took.
    """
    verified = tuple(_verified(question, debit) for question in questions)
    debit.pays([one.costed.loss for question in questions for one in (*question.first, question)])
    return charged(
        verified,
        debit,
        engine=engine,
        ledger=ledger,
        rng=rng,
        join=join,
        started=started,
        release=release,
        leaves=leaves,
    )


def _verified(question: Asked, debit: Debit) -> Asked:
    """The question, whose noise covers its price, within the debit; what follows from answers is held to the same."""
    for one in (*question.first, question):
        if isinstance(one.costed, GraphPlan):
            verify_graph(one.costed)
        else:
            verify(one.costed)
        debit.hold(one.costed)
    if question.then is None:
        return question
    follows = question.then

    def then(found: Earlier) -> Asked:
        made = follows(found)
        assert isinstance(made.costed, Plan)
        verify(made.costed)
        debit.hold(made.costed)
        invariant(made.costed.loss == question.costed.loss, "a question that follows has the price it was given")
        invariant(not made.first and made.then is None, "nothing follows twice")
        return made

    return replace(question, then=then)


def _measured(
    question: Asked, run: Callable[[Plan | GraphPlan, str], Finished], overlay: Overlay, receipt: Receipt
) -> Sealed:
    """Run one question, its first step before it where it has one, and seal what was released."""
    if question.then is not None:
        first = ((one.costed, run(one.costed, one.sql(overlay))) for one in question.first)
        question = question.then([(costed, found) for costed, found in first if isinstance(costed, Plan)])
    return question.seal(run(question.costed, question.sql(overlay)), receipt)


def charged(
    questions: tuple[Asked, ...],
    debit: Debit,
    *,
    engine: Engine,
    ledger: Ledger,
    rng: Rng,
    join: Join,
    started: Callable[[Receipt], None],
    release: Release | None = None,
    leaves: Callable[[], None] = lambda: None,
) -> Outcome:
    """Debit, then run what was verified.

    Not a gateway: only `ask` calls it, and the noiseless twin of the test harness.
    """

    def run(costed: Plan | GraphPlan, sql: str) -> Finished:
        if release is None:
            return released(costed, sql, engine, rng)
        assert isinstance(costed, Plan)  # a service publishes no network
        return release(costed, sql)

    engine.check_sources()  # free here; what reads the rows compares again, in its own transaction
    receipt = debit.reserve(ledger)
    if isinstance(receipt, Stored):
        return Outcome(receipt.answer, again=True)
    try:
        started(receipt)
        overlay = debit.overlay()
        parts = [_measured(question, run, overlay, receipt) for question in questions]
        stored = join([part.stored for part in parts])
        leaves()
        ledger.settle(receipt, stored)
    except KeyboardInterrupt:
        raise interrupted(receipt) from None
    except LedgerError as error:
        error.charged = True
        raise
    except Exception:  # whatever it is, it may depend on the data: one constant text, and the charge stays
        raise failed(receipt) from None
    return Outcome(stored, again=False, answer=parts[0].answer if len(parts) == 1 else None)


def released(costed: Plan | GraphPlan, sql: str, engine: Engine, rng: Rng) -> Finished:
    """Exact values read, noised and finished. Not a gateway: what calls it has been charged."""
    if isinstance(costed, GraphPlan):
        return Finished((), (), (), blocks=randomize_graph(engine.run(sql, timeout_s=TIMEOUT_S), costed, rng))
    if not costed.root.keyed:
        return finish(randomize(engine.run(sql, timeout_s=TIMEOUT_S), costed, rng), costed)
    with closing(engine.batches(sql, timeout_s=TIMEOUT_S)) as batches:
        found = randomize_keys(batches, costed, rng)
    return finish(found, costed)


def failed(receipt: Receipt) -> Failed:
    """One constant text, whatever happened: what went wrong may depend on the data."""
    return Failed(
        "engine_failure",
        f"the question could not be finished; request {receipt.id}.",
        why="what went wrong may depend on the data, so it is not told, and the charge stays.",
        fix="ask the curator, naming the request.",
        charged=True,
    )


def interrupted(receipt: Receipt) -> Failed:
    return Failed(
        "interrupted",
        f"interrupted after the debit; request {receipt.id}.",
        why="the charge stays: when a question is stopped may depend on the data.",
        fix="asking again costs again.",
        charged=True,
    )
