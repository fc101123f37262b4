"""Session: a project opened for one analyst and purpose; what Python, the command line and the service stand on.

SELECT DISTINCT over declared values: every combination of them, from the catalog alone; nothing is read, nothing spent.

What depends on rows (WHERE, joins, subqueries that do more than rename) is refused when the question is resolved.

What tells one debit from another: the same plan over the same data at the same price is the same.

From a planned question to one that is ready for the door: how its rows become the bytes that are stored and sent.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from obverse.accounting import budget as budgets
from obverse.accounting import zcdp
from obverse.accounting.pld import certain
from obverse.answers.answer import Answer, Price, Remaining
from obverse.catalog import earlier_identity, identity
from obverse.catalog.model import Catalog, Table
from obverse.catalog.parameters import delta as checked_delta
from obverse.core.canonical import digest
from obverse.core.claim import DECLARED, PUBLIC
from obverse.core.engine import Engine
from obverse.core.errors import Refused
from obverse.core.ledger import Budget, Fingerprint, Former, Ledger, Partitions, Receipt, Scope
from obverse.core.loss import NO_LOSS, Composed, Loss
from obverse.core.rng import Rng
from obverse.ledger.home import Home
from obverse.ledger.opened import Opened, version_now
from obverse.plan.emit.overlay import NOTHING, Overlay
from obverse.plan.emit.public import emit_public, whole
from obverse.plan.explain import plan_text
from obverse.plan.partitions import together
from obverse.plan.pricing import Independent, with_noise
from obverse.plan.query import PublicQuestion, Question
from obverse.plan.release.noise import Released
from obverse.plan.release.postprocess import Finished, finish
from obverse.plan.sensitivity import annotate, limit
from obverse.session.authorization import allowed_for, asker
from obverse.session.budget import Purse, closed_session, no_private_table
from obverse.session.claims import IN_PROCESS, claim_of
from obverse.session.execution import TIMEOUT_S, Asked, Debit, Earlier, Gateway, Join, Outcome, Sealed, ask, only
from obverse.session.learned_limits import load_learned, with_defaults
from obverse.session.overlay import overlay_now
from obverse.session.planning import (
    Explained,
    Number,
    Planned,
    PlannedGraph,
    Prepared,
    Wish,
    bounds_from,
    explain_public,
    explain_question,
    plan,
    read,
)
from obverse.session.project import Project, check_public, grown_by, load_project, open_ledger
from obverse.session.views import BudgetView, TableView, budget_view, surveys_view, table_views
from obverse.sql.parameters import Parameters, bind


def listed_keys(question: Question, catalog: Catalog, remaining: Remaining) -> Answer:
    """The declared values, whether or not a row has them: which do is private."""
    annotated = annotate(limit(question, catalog))
    zero = Fraction(0)
    accounting = catalog.accounting
    nothing = with_noise(annotated, Independent(()), NO_LOSS, epsilon=zero, delta=zero, accounting=accounting)
    found = finish(Released(annotated.root.cells, {}, {}), nothing)
    free = Price("0", "0", 0.0, False)
    return Answer(found.columns, found.rows, found.intervals, 1.0, DECLARED, free, remaining, "declared values")


Plans = Sequence[Planned | PlannedGraph]


def real_path(table: Table) -> str:
    """Where a table's file lies, links followed."""
    return os.path.realpath(table.source.path or "")


def fingerprint(
    planned: Plans, catalog: Catalog, version: str, batch: str = "", facts: str | None = None, after: Plans = ()
) -> Fingerprint:
    """What is measured (catalog, where its rows lie, the data's version, plans and prices), and how it is presented.

    `facts`: the catalog's fingerprint, where it is known; `after`: plans whose answers a release was chosen by.
    """
    measured = [
        "release",
        facts or identity.fingerprint(catalog),
        sorted([table.name, real_path(table), table.source.table or ""] for table in catalog.held),
        version,
        batch,
        [one.measurement for one in planned],
        [[one.measurement, one.presentation] for one in after],
    ]
    return Fingerprint(f"{digest(measured)}.{digest([one.presentation for one in planned])}")


def former_fingerprint(
    planned: Plans, catalog: Catalog, version: str, batch: str = "", after: Plans = ()
) -> Fingerprint | None:
    """What versions up to 0.1 called the same debit; None where they did not know what the catalog declares.

    Their records are recognised by it, and they recognise ours: two versions at one ledger charge once.
    """
    facts = earlier_identity.former_fingerprint(catalog)
    if facts is None:
        return None
    places = [repr((table.name, real_path(table), table.source.table)) for table in catalog.held]
    if after:
        batch = f"{batch} for " + "\x1f".join(line for one in after for line in one.former_lines)
    lines = [facts, *sorted(places), version, batch]
    for one in planned:
        lines += one.former_lines
    return Fingerprint(hashlib.sha256("\x1e".join(lines).encode()).hexdigest())


def former_names(planned: Plans, catalog: Catalog, version: str, batch: str = "", after: Plans = ()) -> Former | None:
    """The former fingerprints of a debit, with and without the data's version."""
    plan = former_fingerprint(planned, catalog, version, batch, after)
    question = former_fingerprint(planned, catalog, "", batch, after)
    return None if plan is None or question is None else Former(plan, question)


@dataclass(frozen=True, slots=True)
class Sealing:
    """`batch`: the loss of several questions that are charged as one; `boundary`: what keeps the asker from the
    rows.
    """

    catalog: Catalog
    ledger: Ledger
    purse: Purse
    batch: Loss | None = None
    boundary: str = IN_PROCESS

    def asked(self, planned: Planned) -> Asked:
        """The question ready for the gateway."""
        asked = self._sealed(planned, planned)
        if planned.narrowed is None:
            return asked
        first = tuple(self._sealed(one, planned) for one in planned.first)
        narrowed = planned.narrowed

        def then(found: Earlier) -> Asked:
            return self._sealed(narrowed(bounds_from(planned, found)), planned)

        return replace(asked, first=first, then=then)

    def _sealed(self, planned: Planned, whole: Planned) -> Asked:
        costed = planned.costed

        def seal(finished: Finished, receipt: Receipt) -> Sealed:
            loss = whole.loss
            charged = Budget(costed.epsilon, costed.delta)
            what = "this question"
            if self.batch is not None:
                charge = budgets.count(self.batch, self.catalog.accounting)
                loss = self.batch
                what = "the batch"
                concentrated = self.catalog.accounting == "zcdp"
                epsilon = zcdp.epsilon_of(charge.amount, costed.delta) if concentrated else charge.amount
                charged = Budget(epsilon, charge.delta + (costed.delta if concentrated else 0))
            price, remaining = self.purse.priced(loss, charged.epsilon, charged.delta, whole.partitions)
            whole_budget = self.purse.whole()
            person = self.person_words()
            claim = claim_of(
                costed=costed,
                catalog=self.catalog,
                budget=whole_budget,
                receipt=receipt.id,
                charged=charged,
                what=what,
                person=person,
                boundary=self.boundary,
            )
            text = plan_text(costed)
            answer = Answer(
                finished.columns, finished.rows, finished.intervals, costed.level, claim, price, remaining, text
            )
            return Sealed(answer.to_bytes(), answer)

        return Asked(costed, planned.emitted, seal)

    def person_words(self) -> str:
        """Where the unit is one's part of a partition: what all answers so far may tell of somebody who is in all of
        them.
        """
        unit = self.catalog.unit
        if unit is None or not unit.each:
            return ""
        spent = self.ledger.person()
        return (
            f"A {unit.key} who is in every {unit.each} has lost {budgets.words(spent)} so far, over all of them "
            "together."
        )


Seal = Callable[[Finished, Receipt], Sealed]
Then = Callable[[Earlier], Asked] | None
WORTHWHILE = Fraction(99, 100)  # a tight loss spends delta, so it must save at least this much epsilon


class Session:
    """Ask, explain, and see what is left. Use as a context manager; not to be shared between processes."""

    def __init__(
        self,
        project: Project,
        ledger: Ledger | None,
        *,
        analyst: str = "",
        purpose: str = "",
        version: Callable[[], str] = lambda: "",
        overlay: Callable[[], Overlay] = lambda: NOTHING,
        dataset: str = "none",
        close: Callable[[], None] = lambda: None,
        rng: Rng | None = None,
        gateway: Gateway = ask,
        boundary: str = IN_PROCESS,
    ) -> None:
        self.learned = load_learned(project.catalog)
        self.catalog: Catalog = with_defaults(project.catalog, self.learned)
        self._facts = identity.fingerprint(self.catalog)
        self.engine: Engine = project.engine
        self._ledger = ledger
        self._version = version
        self.overlay = overlay
        self._close = close
        self._rng = rng if rng is not None else Rng()
        self._gateway = gateway
        self._boundary = boundary
        self.analyst, self.purpose = asker(self.catalog, analyst, purpose)
        self._scope = Scope(dataset, self.analyst, self.purpose)
        self._purse = None if ledger is None else Purse(self.catalog, ledger, self.analyst, self.purpose)
        self.started: Callable[[Receipt], None] = lambda receipt: None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of engine and ledger. Whoever asks afterwards is refused before anything is charged."""
        self._version = closed_session
        self.engine.close()
        self._close()

    def ask(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        within: Number | None = None,
        confidence: float = 0.95,
        above: Number | None = None,
        first: int = 1,
        key: str = "",
        parameters: Parameters = (),
    ) -> Answer:
        """The private answer; the ledger is debited before any row is read. The same question again is free.

        `above` names the first counts that pass it, and tells nothing else of them; `parameters` are values of ?, $1 or
        :name.
        """
        return self.answer(
            self.prepare(
                sql,
                Wish(epsilon=epsilon, delta=delta, within=within, confidence=confidence, above=above, first=first),
                parameters,
            ),
            key,
        )

    def prepare(self, sql: str, wish: Wish, parameters: Parameters = ()) -> Prepared:
        """The question read, priced and printed. Free: what is wrong with it is told here."""
        sql = bind(sql, parameters) if parameters else sql
        question = read(sql, self.catalog, dt.datetime.now())
        allowed_for(question, self.catalog, self.purpose)
        if isinstance(question, PublicQuestion) or question.listing:
            return Prepared(question, self._facts)
        planned = plan(sql, question, self.catalog, wish, self.hash_key(), self.learned)
        return Prepared(question, self._facts, planned)

    def answer(self, prepared: Prepared, key: str = "") -> Answer:
        """What was prepared, charged and answered; by nobody but a session of the same declarations."""
        if prepared.facts != self._facts:
            raise Refused(
                "project_changed", "the project was changed meanwhile.", why="nothing was spent.", fix="ask again."
            )
        allowed_for(prepared.question, self.catalog, self.purpose)  # anew: a purpose or a last day may be over by now
        if isinstance(prepared.question, PublicQuestion):
            return self._public(prepared)
        if prepared.planned is None:
            return listed_keys(prepared.question, self.catalog, self._nothing())
        planned = prepared.planned
        loss = prepared.planned.loss
        outcome = self._charged((self._sealing().asked(planned),), self._debit((planned,), loss, key))
        remaining = (self.purse.remaining if outcome.again else self.purse.after)(loss, planned.partitions)
        if outcome.answer is not None:  # just written: no need to read it back
            return replace(outcome.answer, remaining=remaining)
        answer = Answer.from_bytes(outcome.stored, remaining)
        return answer.from_store() if outcome.again else answer

    def ask_all(
        self, questions: Sequence[str], *, epsilon: Number | None = None, delta: Number | None = None, key: str = ""
    ) -> list[Answer]:
        """Several questions fixed in advance: planned first, charged once as one loss, answered together."""
        planned = []
        for text in questions:
            question = read(text, self.catalog, dt.datetime.now())
            if isinstance(question, PublicQuestion) or question.listing:
                raise Refused(
                    "public_in_batch", "a question over public tables costs nothing; ask it by itself."
                ).located(text)
            allowed_for(question, self.catalog, self.purpose)
            planned.append(plan(text, question, self.catalog, Wish(epsilon, delta), self.hash_key(), self.learned))
        if not planned:
            raise Refused("parse_error", "the batch holds no question.", fix="write one SELECT, then ; and the next.")
        loss = self.batch_loss(planned, checked_delta(delta) if delta is not None else self.catalog.delta)
        asked = tuple(self._sealing(loss).asked(p) for p in planned)
        debit = self._debit(tuple(planned), loss, key, "batch")
        stored, again, _ = self._charged(asked, debit, join=lambda parts: b"[" + b",".join(parts) + b"]")
        remaining = (self.purse.remaining if again else self.purse.after)(loss, parts_of(planned))
        answers = [Answer.from_bytes(json.dumps(part).encode(), remaining) for part in json.loads(stored)]
        return [a.from_store() for a in answers] if again else answers

    def measure(
        self,
        planned: Planned | PlannedGraph,
        seal: Seal,
        key: str = "",
        then: Then = None,
        batch: str = "release",
        after: Plans = (),
    ) -> tuple[bytes, bool]:
        """A release's measurements: charged once, or stored, and which. `batch` and `after` tell releases apart."""
        first = tuple(Asked(one.costed, one.emitted, seal) for one in planned.first)
        asked = Asked(planned.costed, planned.emitted, seal, first, then)
        return self._charged((asked,), self._debit((planned,), planned.loss, key, batch, after))[:2]

    def batch_loss(self, planned: Sequence[Planned], delta: Fraction) -> Loss:
        """The batch as one loss: tight (epsilon, delta) where losses are pure, rho added where they are
        concentrated.
        """
        losses = [loss for p in planned for loss in p.losses]
        together = Composed(tuple(losses))
        discovering = any(p.costed.threshold is not None for p in planned)  # which spends all of its delta by itself
        if self.catalog.accounting == "zcdp" or delta == 0 or len(planned) == 1 or discovering:
            return together
        found = certain(losses, delta)
        plainly = budgets.count(together, "pure").amount
        return found if found.epsilon <= plainly * WORTHWHILE else together

    def explain(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        within: Number | None = None,
        confidence: float = 0.95,
        above: Number | None = None,
        first: int = 1,
        parameters: Parameters = (),
    ) -> Explained:
        """The same question stopped before any data is touched: sensitivity, noise, error, price."""
        sql = bind(sql, parameters) if parameters else sql
        question = read(sql, self.catalog, dt.datetime.now())
        allowed_for(question, self.catalog, self.purpose)
        if isinstance(question, PublicQuestion) or question.listing:
            return explain_public(question)
        wish = Wish(epsilon=epsilon, delta=delta, within=within, confidence=confidence, above=above, first=first)
        return explain_question(sql, question, self.catalog, wish, self.purse.priced, self.learned)

    def budget(self) -> BudgetView:
        """Caps and what is left of them: of all together, each analyst, each purpose."""
        if self._purse is None and self.catalog.surveys:
            return surveys_view(self.catalog)
        return budget_view(self.catalog, self.ledger, self.purse.cap())

    def tables(self) -> tuple[TableView, ...]:
        """What may be asked: declared tables and columns, from the catalog alone."""
        return table_views(self.catalog)

    @property
    def purse(self) -> Purse:
        """What may be spent, and what is left."""
        if self._purse is None:
            raise no_private_table()
        return self._purse

    @property
    def ledger(self) -> Ledger:
        """Where losses are counted; a project without a private table has none."""
        if self._ledger is None:
            raise no_private_table()
        return self._ledger

    def _debit(self, planned: Plans, loss: Loss, key: str, batch: str = "", after: Plans = ()) -> Debit:
        about = {} if not any(p.now for p in planned) else {"now": next(p.now or "" for p in planned)}
        note = ";\n".join(p.text for p in planned)
        # which is read again at the debit; what is wrong with it is told here
        version = self._version()
        _ = self.overlay()
        mark = fingerprint(planned, self.catalog, version, batch, self._facts, after)
        question = fingerprint(planned, self.catalog, "", batch, self._facts, after)
        former = former_names(planned, self.catalog, version, batch, after)
        self.ledger.record_catalog(self._facts)
        caps = self.purse.caps()
        parts = parts_of(planned)
        unit = self.catalog.unit
        return Debit(self._scope, loss, mark, question, key, caps, note, about, unit, parts, self.overlay, former)

    def _charged(self, asked: tuple[Asked, ...], debit: Debit, join: Join = only) -> Outcome:
        """Through the gateway, with what this session has."""
        return self._gateway(
            asked, debit, engine=self.engine, ledger=self.ledger, rng=self._rng, join=join, started=self.started
        )

    def _sealing(self, batch: Loss | None = None) -> Sealing:
        return Sealing(self.catalog, self.ledger, self.purse, batch, self._boundary)

    def _public(self, prepared: Prepared) -> Answer:
        assert isinstance(prepared.question, PublicQuestion)
        sql = emit_public(prepared.question, self.catalog, self.engine.dialect)
        found = whole(prepared.question, self.engine.run_public(sql, timeout_s=TIMEOUT_S))
        bars = tuple((None,) * len(prepared.columns) for _ in found.rows)
        return Answer(
            prepared.columns, found.rows, bars, 1.0, PUBLIC, Price("0", "0", 0.0, False), self._nothing(), sql
        )

    def _nothing(self) -> Remaining:
        """What is left after a question that costs nothing."""
        return self.purse.remaining(Composed(())) if self._ledger is not None else Remaining(1.0, None, None)

    def hash_key(self) -> str:
        """A fresh secret for the hash by which a unit that has too many rows or keys keeps some of them."""
        return "".join(f"{word:016x}" for word in self._rng.below(1 << 62, 2).tolist())


def parts_of(planned: Sequence[Planned | PlannedGraph]) -> Partitions | None:
    return together([p.partitions for p in planned])


def open(
    project: str | Path = ".", *, analyst: str = "", purpose: str = "", tables: Mapping[str, Any] | None = None
) -> Session:
    """Open a project folder (or its obverse.toml) for an analyst and a purpose. In process both are bookkeeping."""
    loaded = load_project(Path(project), tables)
    try:
        if loaded.catalog.unit is None:
            check_public(loaded)
            return Session(loaded, None, analyst=analyst, purpose=purpose)
        home, opened = open_ledger(loaded)
        return _session(loaded, home, opened, analyst, purpose)
    except BaseException:
        loaded.engine.close()
        raise


def _session(loaded: Project, home: Home, opened: Opened, analyst: str, purpose: str) -> Session:
    def close() -> None:
        opened.ledger.close()
        home.close()

    return Session(
        replace(loaded, catalog=grown_by(loaded.catalog, opened.ledger)),
        opened.ledger,
        analyst=analyst,
        purpose=purpose,
        version=lambda: version_now(opened),
        overlay=lambda: overlay_now(opened, loaded.catalog),
        dataset=opened.dataset.id,
        close=close,
    )
