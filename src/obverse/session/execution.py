"""The only door to private data: reserve, run, randomize, finish, settle. Charged first; no refunds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

from obverse.core.engine import Engine
from obverse.core.errors import Failed, LedgerError, invariant
from obverse.core.ledger import Ledger, Receipt, Stored
from obverse.core.rng import Rng
from obverse.plan.allocate import CostedPlan
from obverse.plan.emit.overlay import Overlay
from obverse.plan.release.finish import Finished, finish
from obverse.plan.release.randomize import randomize, randomize_graph, randomize_keys
from obverse.plan.strategy.graph.pricing import GraphPlan, verify_graph
from obverse.plan.verify import verify
from obverse.session.charge import Debit

TIMEOUT_S = 600.0
Earlier = list[tuple[CostedPlan, Finished]]
Release = Callable[[CostedPlan, str], Finished]  # exact values are read and noised inside it; only noisy ones come out
Door = Callable[..., tuple[bytes, bool]]  # `ask`, or what obverse.testing puts in its place over synthetic tables


@dataclass(frozen=True, slots=True)
class Asked:
    """One planned question: its noise, its engine text, and how its rows become the bytes that are stored and sent."""

    costed: CostedPlan | GraphPlan
    sql: Callable[[Overlay], str]  # by who is left out and what is put right at the moment of the debit
    seal: Callable[[Finished, Receipt], bytes]
    first: tuple[Asked, ...] = ()  # asked before it, of whose answers ...
    then: Callable[[Earlier], Asked] | None = None  # ... this question follows, at the same price


def ask(
    questions: tuple[Asked, ...],
    debit: Debit,
    *,
    engine: Engine,
    ledger: Ledger,
    rng: Rng,
    join: Callable[[list[bytes]], bytes] = lambda parts: parts[0],
    started: Callable[[Receipt], None] = lambda receipt: None,
    release: Release | None = None,
    leaves: Callable[[], None] = lambda: None,
) -> tuple[bytes, bool]:
    """The bytes of the answer, and whether they came from store. Several questions are one debit and one answer.

    `release`: where rows are read and noised, if not here; a service has a process for it. `leaves`: returns when the answer
    may be seen, before it is stored, since whoever looks into the store would see how long it took.
    """
    verified = tuple(_verified(question, debit) for question in questions)
    debit.pays([one.costed.loss for question in questions for one in (*question.first, question)])
    return charged(
        verified, debit, engine=engine, ledger=ledger, rng=rng, join=join, started=started, release=release, leaves=leaves
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
        assert isinstance(made.costed, CostedPlan)
        verify(made.costed)
        debit.hold(made.costed)
        invariant(made.costed.loss == question.costed.loss, "a question that follows has the price it was given")
        invariant(not made.first and made.then is None, "nothing follows twice")
        return made

    return replace(question, then=then)


def charged(
    questions: tuple[Asked, ...],
    debit: Debit,
    *,
    engine: Engine,
    ledger: Ledger,
    rng: Rng,
    join: Callable[[list[bytes]], bytes],
    started: Callable[[Receipt], None],
    release: Release | None = None,
    leaves: Callable[[], None] = lambda: None,
) -> tuple[bytes, bool]:
    """Debit, then run what was verified. Not a door: only `ask` calls it, and the noiseless twin of the test harness."""

    def run(costed: CostedPlan | GraphPlan, sql: str) -> Finished:
        if release is None:
            return released(costed, sql, engine, rng)
        assert isinstance(costed, CostedPlan)  # a service publishes no network
        return release(costed, sql)

    engine.check_sources()  # free here; what reads the rows compares again, in its own transaction
    receipt = ledger.reserve(
        debit.scope, debit.loss, debit.fingerprint, key=debit.key, caps=debit.caps, question=debit.question, note=debit.note,
        about=debit.about, partitions=debit.partitions, former=debit.former,
    )  # fmt: skip
    if isinstance(receipt, Stored):
        return receipt.answer, True
    try:
        started(receipt)
        parts, overlay = [], debit.overlay()
        for question in questions:
            if question.then is not None:
                first = ((one.costed, run(one.costed, one.sql(overlay))) for one in question.first)
                question = question.then([(costed, found) for costed, found in first if isinstance(costed, CostedPlan)])
            parts.append(question.seal(run(question.costed, question.sql(overlay)), receipt))
        answer = join(parts)
        leaves()
        ledger.settle(receipt, answer)
    except KeyboardInterrupt:
        raise interrupted(receipt) from None
    except LedgerError as error:
        error.charged = True
        raise
    except Exception:  # whatever it is, it may depend on the data: one constant text, and the charge stays
        raise failed(receipt) from None
    return answer, False


def released(costed: CostedPlan | GraphPlan, sql: str, engine: Engine, rng: Rng) -> Finished:
    """Exact values read, noised and finished. Not a door: what calls it has been charged."""
    if isinstance(costed, GraphPlan):
        return Finished((), (), (), blocks=randomize_graph(engine.run(sql, timeout_s=TIMEOUT_S), costed, rng))
    if not costed.annotated.limited.root.keyed:
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
