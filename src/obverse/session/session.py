"""Session: a project opened for one analyst and purpose; what Python, the command line and the service stand on."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from obverse.accounting import budget as budgets
from obverse.accounting.pld import certain
from obverse.answers.answer import Answer, Price, Remaining
from obverse.catalog import identity
from obverse.catalog.model import Catalog
from obverse.catalog.parameters import delta as checked_delta
from obverse.core.claim import PUBLIC
from obverse.core.engine import Engine
from obverse.core.errors import Refused
from obverse.core.ledger import Ledger, Partitions, Receipt, Scope
from obverse.core.loss import Composed, Loss
from obverse.core.rng import Rng
from obverse.ledger.home import Home
from obverse.ledger.opened import Opened, version_now
from obverse.plan.emit.overlay import NOTHING, Overlay
from obverse.plan.emit.public import emit_public, whole
from obverse.plan.partitions import together
from obverse.plan.query import PublicQuestion
from obverse.plan.release.finish import Finished
from obverse.session.authorization import allowed_for, asker
from obverse.session.budget import Purse, closed_session, no_private_table
from obverse.session.charge import Debit
from obverse.session.claims import IN_PROCESS
from obverse.session.execution import TIMEOUT_S, Asked, Door, Earlier, ask
from obverse.session.explained import Explained, explain_public, explain_question
from obverse.session.learned_limits import load_learned, with_defaults
from obverse.session.listing import listed_keys
from obverse.session.marks import Plans, fingerprint, former_names
from obverse.session.opening import Project, check_public, grown_by, load_project, open_ledger
from obverse.session.overlay import overlay_now
from obverse.session.planned_graph import PlannedGraph
from obverse.session.planning import Number, Planned, Wish, plan, read
from obverse.session.prepared import Prepared
from obverse.session.sealing import Sealing
from obverse.session.views import BudgetView, TableView, budget_view, surveys_view, table_views
from obverse.sql.parameters import Parameters, bind

Seal = Callable[[Finished, Receipt], bytes]
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
        door: Door = ask,
        boundary: str = IN_PROCESS,
    ) -> None:
        self.learned = load_learned(project.catalog)
        self.catalog: Catalog = with_defaults(project.catalog, self.learned)
        self._facts = identity.fingerprint(self.catalog)
        self.engine: Engine = project.engine
        self._ledger, self._version, self.overlay, self._close = ledger, version, overlay, close
        self._rng, self._door, self._boundary = rng if rng is not None else Rng(), door, boundary
        self.analyst, self.purpose = asker(self.catalog, analyst, purpose)
        self._scope = Scope(dataset, self.analyst, self.purpose)
        self._purse = None if ledger is None else Purse(self.catalog, ledger, self.analyst, self.purpose)
        self.started: Callable[[Receipt], None] = lambda receipt: None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
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

        `above` names the first counts that pass it, and tells nothing else of them; `parameters` are values of ?, $1 or :name.
        """
        return self.answer(self.prepare(sql, Wish(epsilon, delta, within, confidence, above, first), parameters), key)

    def prepare(self, sql: str, wish: Wish, parameters: Parameters = ()) -> Prepared:
        """The question read, priced and printed. Free: what is wrong with it is told here."""
        sql = bind(sql, parameters) if parameters else sql
        question = read(sql, self.catalog, dt.datetime.now())
        allowed_for(question, self.catalog, self.purpose)
        if isinstance(question, PublicQuestion) or question.listing:
            return Prepared(question, self._facts)
        return Prepared(question, self._facts, plan(sql, question, self.catalog, wish, self.hash_key(), self.learned))

    def answer(self, prepared: Prepared, key: str = "") -> Answer:
        """What was prepared, charged and answered; by nobody but a session of the same declarations."""
        if prepared.facts != self._facts:
            raise Refused("project_changed", "the project was changed meanwhile.", why="nothing was spent.", fix="ask again.")
        allowed_for(prepared.question, self.catalog, self.purpose)
        if isinstance(prepared.question, PublicQuestion):
            return self._public(prepared)
        if prepared.planned is None:
            return listed_keys(prepared.question, self.catalog, self._nothing())
        planned, loss = prepared.planned, prepared.planned.loss
        sealed: list[tuple[Answer, bytes]] = []
        stored, again = self._charged((self._sealing().asked(planned, sealed),), self._debit((planned,), loss, key))
        remaining = (self.purse.remaining if again else self.purse.after)(loss, planned.partitions)
        if sealed and sealed[0][1] is stored:  # the very bytes that were just written: no need to read them
            return replace(sealed[0][0], remaining=remaining)
        answer = Answer.from_bytes(stored, remaining)
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
            if isinstance(question, PublicQuestion) or question.listing:
                raise Refused("public_in_batch", "a question over public tables costs nothing; ask it by itself.").located(text)
            allowed_for(question, self.catalog, self.purpose)
            planned.append(plan(text, question, self.catalog, Wish(epsilon, delta), self.hash_key(), self.learned))
        if not planned:
            raise Refused("parse_error", "the batch holds no question.", fix="write one SELECT, then ; and the next.")
        loss = self.batch_loss(planned, checked_delta(delta) if delta is not None else self.catalog.delta)
        asked, debit = tuple(self._sealing(loss).asked(p) for p in planned), self._debit(tuple(planned), loss, key, "batch")
        stored, again = self._charged(asked, debit, join=lambda parts: b"[" + b",".join(parts) + b"]")
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
        return self._charged((asked,), self._debit((planned,), planned.loss, key, batch, after))

    def batch_loss(self, planned: Sequence[Planned], delta: Fraction) -> Loss:
        """The batch as one loss: tight (epsilon, delta) where losses are pure, rho added where they are concentrated."""
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
        wish = Wish(epsilon, delta, within, confidence, above, first)
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
        version, _ = self._version(), self.overlay()  # which is read again at the debit; what is wrong with it is told here
        mark = fingerprint(planned, self.catalog, version, batch, self._facts, after)
        question = fingerprint(planned, self.catalog, "", batch, self._facts, after)
        former = former_names(planned, self.catalog, version, batch, after)
        self.ledger.record_catalog(self._facts)
        caps, parts = self.purse.caps(), parts_of(planned)
        unit = self.catalog.unit
        return Debit(self._scope, loss, mark, question, key, caps, note, about, unit, parts, self.overlay, former)

    def _charged(self, asked: tuple[Asked, ...], debit: Debit, **more: Any) -> tuple[bytes, bool]:
        """Through the door, with what this session has."""
        return self._door(asked, debit, engine=self.engine, ledger=self.ledger, rng=self._rng, started=self.started, **more)

    def _sealing(self, batch: Loss | None = None) -> Sealing:
        return Sealing(self.catalog, self.ledger, self.purse, batch, self._boundary)

    def _public(self, prepared: Prepared) -> Answer:
        assert isinstance(prepared.question, PublicQuestion)
        sql = emit_public(prepared.question, self.catalog, self.engine.dialect)
        found = whole(prepared.question, self.engine.run_public(sql, timeout_s=TIMEOUT_S))
        bars = tuple((None,) * len(prepared.columns) for _ in found.rows)
        return Answer(prepared.columns, found.rows, bars, 1.0, PUBLIC, Price("0", "0", 0.0, False), self._nothing(), sql)

    def _nothing(self) -> Remaining:
        """What is left after a question that costs nothing."""
        return self.purse.remaining(Composed(())) if self._ledger is not None else Remaining(1.0, None, None)

    def hash_key(self) -> str:
        """A fresh secret for the hash by which a unit that has too many rows or keys keeps some of them."""
        return "".join(f"{word:016x}" for word in self._rng.below(1 << 62, 2).tolist())


def parts_of(planned: Sequence[Planned | PlannedGraph]) -> Partitions | None:
    return together([p.partitions for p in planned])


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
        replace(loaded, catalog=grown_by(loaded.catalog, opened.ledger)),
        opened.ledger,
        analyst=analyst,
        purpose=purpose,
        version=lambda: version_now(opened),
        overlay=lambda: overlay_now(opened, loaded.catalog),
        dataset=opened.dataset.id,
        close=close,
    )
