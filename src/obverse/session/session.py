"""Session: a project opened for one analyst and purpose; what Python, the command line and the service stand on."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from obverse.accounting import budget as budgets
from obverse.accounting import zcdp
from obverse.accounting.directed import digits_down
from obverse.accounting.pld import certain
from obverse.catalog import parameters
from obverse.catalog.model import Analyst, Budget, Catalog
from obverse.core.claim import PUBLIC
from obverse.core.engine import Engine
from obverse.core.errors import Refused
from obverse.core.ledger import Cap, Caps, Ledger, Receipt, Scope, Spent
from obverse.core.loss import Composed, Loss
from obverse.core.numbers import plain
from obverse.core.rng import Rng
from obverse.ledger.home import Home
from obverse.ledger.register import Opened, version_now
from obverse.plan.answer import Answer, ColumnInfo, Price, Remaining
from obverse.plan.explain import plan_text
from obverse.plan.finish import Finished
from obverse.plan.public import emit_public
from obverse.plan.question import PublicQuestion
from obverse.session.ask import TIMEOUT_S, Asked, Debit, Door, ask
from obverse.session.asker import asker
from obverse.session.claims import claim_of
from obverse.session.explained import Explained, explain_public, explain_question
from obverse.session.opening import Project, check_public, load_project, open_ledger
from obverse.session.planning import Number, Planned, Wish, fingerprint, plan, read
from obverse.session.views import BudgetView, TableView, budget_view, table_views

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
        dataset: str = "none",
        close: Callable[[], None] = lambda: None,
        rng: Rng | None = None,
        door: Door = ask,
    ) -> None:
        self.catalog: Catalog = project.catalog
        self.engine: Engine = project.engine
        self._ledger, self._version, self._close = ledger, version, close
        self._rng, self._door = rng if rng is not None else Rng(), door
        self.analyst, self.purpose = asker(self.catalog, analyst, purpose)
        self._scope = Scope(dataset, self.analyst, self.purpose)
        self.started: Callable[[Receipt], None] = lambda receipt: None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of engine and ledger."""
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
        key: str = "",
    ) -> Answer:
        """The private answer; the ledger is debited before any row is read. The same question again is free."""
        question = read(sql, self.catalog, dt.datetime.now())
        if isinstance(question, PublicQuestion):
            return self._public(question)
        planned = plan(sql, question, self.catalog, Wish(epsilon, delta, within, confidence))
        loss = planned.costed.loss
        stored, again = self._door(
            (self._asked(planned),), self._debit((planned,), loss, key), engine=self.engine, ledger=self.ledger, rng=self._rng,
            started=self.started,
        )  # fmt: skip
        answer = Answer.from_bytes(stored, self.remaining(loss))
        return answer.from_store() if again else answer

    def ask_all(
        self,
        questions: Sequence[str],
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        key: str = "",
    ) -> list[Answer]:
        """Several questions fixed in advance: planned first, charged once as one loss, answered together."""
        planned = []
        for text in questions:
            question = read(text, self.catalog, dt.datetime.now())
            if isinstance(question, PublicQuestion):
                raise Refused("public_in_batch", "a question over public tables costs nothing; ask it by itself.").located(text)
            planned.append(plan(text, question, self.catalog, Wish(epsilon, delta)))
        if not planned:
            raise Refused("parse_error", "the batch holds no question.", fix="write one SELECT, then ; and the next.")
        loss = self.batch_loss(planned, parameters.delta(delta) if delta is not None else self.catalog.delta)
        stored, again = self._door(
            tuple(self._asked(p, loss) for p in planned), self._debit(tuple(planned), loss, key, "batch"), engine=self.engine,
            ledger=self.ledger, rng=self._rng, join=_joined, started=self.started,
        )  # fmt: skip
        remaining = self.remaining(loss)
        answers = [Answer.from_bytes(json.dumps(part).encode(), remaining) for part in json.loads(stored)]
        return [a.from_store() for a in answers] if again else answers

    def batch_loss(self, planned: Sequence[Planned], delta: Fraction) -> Loss:
        """The batch as one loss: tight (epsilon, delta) where losses are pure, rho added where they are concentrated."""
        together = Composed(tuple(p.costed.loss for p in planned))
        if self.catalog.accounting == "zcdp" or delta == 0 or len(planned) == 1:
            return together
        found = certain([p.costed.loss for p in planned], delta)
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
    ) -> Explained:
        """The same question stopped before any data is touched: sensitivity, noise, error, price."""
        question = read(sql, self.catalog, dt.datetime.now())
        if isinstance(question, PublicQuestion):
            return explain_public(question)
        return explain_question(sql, question, self.catalog, Wish(epsilon, delta, within, confidence), self.priced)

    def budget(self) -> BudgetView:
        """Caps and what is left of them: of all together, each analyst, each purpose."""
        return budget_view(self.catalog, self.ledger, self.cap())

    def tables(self) -> tuple[TableView, ...]:
        """What may be asked: declared tables and columns, from the catalog alone."""
        return table_views(self.catalog)

    @property
    def ledger(self) -> Ledger:
        if self._ledger is None:
            raise Refused("no_private_table", "this project has no private table, so it has no budget.")
        return self._ledger

    def cap(self) -> Cap:
        """The cap that binds everybody: the ledger's own and the declared one, whichever is tighter."""
        return budgets.tighter(self.ledger.cap(), budgets.cap_of(self.catalog.budget, self.catalog.accounting))

    def remaining(self, loss: Loss) -> Remaining:
        """What is left for this analyst and purpose."""
        charge = budgets.count(loss, self.catalog.accounting)
        cap, spent = self.cap(), self.ledger.spent()
        left = budgets.remaining(cap, spent)
        counts = [budgets.like_this(charge, s, c) for c, s in self._binding()]
        known = [n for n in counts if n is not None]
        share = float(left.amount / cap.amount) if cap.amount else 0.0
        epsilon = plain(digits_down(left.amount, 6)) if self.catalog.accounting == "pure" else None
        return Remaining(share, epsilon, min(known) if known else None)

    def priced(self, costed_loss: Loss, epsilon: Fraction, delta: Fraction) -> tuple[Price, Remaining]:
        charge = budgets.count(costed_loss, self.catalog.accounting)
        share = float(budgets.share(charge, self.cap()))
        return Price(plain(epsilon), plain(delta), share, False), self.remaining(costed_loss)

    def _binding(self) -> list[tuple[Cap, Spent]]:
        caps = self._caps()
        found = [(self.cap(), self.ledger.spent())]
        if caps.analyst is not None:
            found.append((caps.analyst, self.ledger.spent(analyst=self.analyst)))
        if caps.purpose is not None:
            found.append((caps.purpose, self.ledger.spent(purpose=self.purpose)))
        return found

    def _caps(self) -> Caps:
        whole, accounting = self.catalog.budget, self.catalog.accounting
        analyst = self.catalog.analysts.get(self.analyst, Analyst(""))
        purpose = self.catalog.purposes.get(self.purpose)
        return Caps(
            budgets.cap_of(whole, accounting),
            None if analyst.budget is None else budgets.cap_within(analyst.budget, whole, accounting),
            None if purpose is None else budgets.cap_within(purpose, whole, accounting),
        )

    def _debit(self, planned: tuple[Planned, ...], loss: Loss, key: str, batch: str = "") -> Debit:
        about = {} if not any(p.question.now for p in planned) else {"now": next(p.question.now or "" for p in planned)}
        note = ";\n".join(p.text for p in planned)
        mark = fingerprint(planned, self.catalog, self._version(), batch)
        question = fingerprint(planned, self.catalog, "", batch)
        self.ledger.record_catalog(self.catalog.fingerprint())
        return Debit(self._scope, loss, mark, question, key, self._caps(), note, about)

    def _asked(self, planned: Planned, batch: Loss | None = None) -> Asked:
        """The question ready for the door; in a batch its price is that of the whole batch."""
        costed = planned.costed

        def seal(finished: Finished, receipt: Receipt) -> bytes:
            loss, charged, what = costed.loss, Budget(costed.epsilon, costed.delta), "this question"
            if batch is not None:
                charge = budgets.count(batch, self.catalog.accounting)
                loss, what = batch, "the batch"
                concentrated = self.catalog.accounting == "zcdp"
                epsilon = zcdp.epsilon_of(charge.amount, costed.delta) if concentrated else charge.amount
                charged = Budget(epsilon, costed.delta if concentrated else charge.delta)
            price, remaining = self.priced(loss, charged.epsilon, charged.delta)
            claim = claim_of(costed, self.catalog, self._whole_budget(), receipt.id, charged, what)
            text = plan_text(costed.annotated)
            return Answer(
                finished.columns, finished.rows, finished.intervals, costed.level, claim, price, remaining, text
            ).to_bytes()

        return Asked(costed, planned.sql, seal)

    def _whole_budget(self) -> Budget:
        """The declared budget, or the ledger's where that is tighter; under zcdp the pair whose rho binds."""
        granted, declared = getattr(self.ledger, "budget", lambda: self.catalog.budget)(), self.catalog.budget
        if self.catalog.accounting == "zcdp":
            return min((declared, granted), key=lambda pair: budgets.cap_of(pair, "zcdp").amount)
        return Budget(min(granted.epsilon, declared.epsilon), min(granted.delta, declared.delta))

    def _public(self, question: PublicQuestion) -> Answer:
        sql = emit_public(question, self.catalog, self.engine.dialect)
        found = self.engine.run_public(sql, timeout_s=TIMEOUT_S)
        columns = tuple(ColumnInfo(o.name, kind, "value") for o, kind in zip(question.outputs, question.types))
        bars = tuple((None,) * len(columns) for _ in found.rows)
        remaining = self.remaining(Composed(())) if self._ledger is not None else Remaining(1.0, None, None)
        return Answer(columns, found.rows, bars, 1.0, PUBLIC, Price("0", "0", 0.0, False), remaining, sql)


def _joined(parts: list[bytes]) -> bytes:
    return b"[" + b",".join(parts) + b"]"


def open(
    project: str | Path = ".",
    *,
    analyst: str = "",
    purpose: str = "",
    tables: Mapping[str, Any] | None = None,
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
        loaded,
        opened.ledger,
        analyst=analyst,
        purpose=purpose,
        version=lambda: version_now(home, opened),
        dataset=opened.dataset.id,
        close=close,
    )
