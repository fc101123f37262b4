"""Runner: a signed-in caller's statements, done. Questions go to the desk, the catalogue to the shadow, the rest stays
here.

What is said beside the rows: prices and what is left, in the words of every other interface.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from obverse.answers.answer import Answer, Price, Remaining
from obverse.core.claim import DECLARED
from obverse.core.errors import Failed, Refused
from obverse.server.errors import Suspended
from obverse.server.http.problems import failure, unfinished
from obverse.server.observability import Notes, answered
from obverse.server.pg_catalog.catalog import Shadow
from obverse.server.pg_catalog.relations import Asking
from obverse.server.postgres import intervals, messages
from obverse.server.postgres.errors import defect
from obverse.server.postgres.messages import Field
from obverse.server.postgres.parameters import parameter_types, sample
from obverse.server.postgres.portals import Block, Holdings, Prepared, Rows
from obverse.server.postgres.settings import DEFAULTS, REPORTED, assignment, setting_name
from obverse.server.postgres.statements import Kind, Statement, plain_strings, read, unqualified
from obverse.server.postgres.types import TEXT
from obverse.server.queries import Caller, Desk, Wanted
from obverse.server.rate_limits import Buckets
from obverse.session.planning import Explained
from obverse.session.views import BudgetView

SHARE = 100


def welcome(name: str, view: BudgetView) -> str:
    """At login."""
    own = [line for line in view.lines if line.kind == "analyst" and line.name == name] or list(view.lines[:1])
    left = f"; budget {own[0].left} of {own[0].cap} {view.quantity} left" if own else ""
    return f"answers carry differential-privacy noise{left}. \\d shows tables, EXPLAIN SELECT ... the price."


def after(answer: Answer) -> str:
    """After an answer."""
    if answer.claim == DECLARED:
        return "free: declared values, whether or not a row has them; no row was read"
    if answer.price.epsilon == "0" and not answer.price.share:
        return "free: only what is public was read; exact"
    cost = "asked before, free this time" if answer.price.stored else f"cost {_price(answer.price)}"
    again = "" if answer.price.stored else ". Same question again is free"
    return f"{cost}; {_rest(answer.remaining)}{again}. Noise intervals hold with {SHARE * answer.level:g} %."


def explained(found: Explained) -> list[str]:
    """The rows of EXPLAIN."""
    if not found.measures:
        return [found.note or "free: only what is public is read"]
    lines = [f"would cost {_price(found.price)}{_share(found.price)}; {_rest(found.remaining)}"]
    for measure in found.measures:
        width = measure["half_width"]
        known = "" if width is None else f"+- {width:.6g} ({SHARE * found.level:g} % noise interval)"
        wrong = known or "its error depends on the data"
        lines.append(
            f"{measure['name']}: {wrong}; {measure['mechanism']}; one unit moves it by at most {measure['linf']:.6g}"
        )
    lines += [line for line in found.plan.splitlines() if line.strip()]
    return lines + ([found.note] if found.note else [])


def _price(price: Price) -> str:
    delta = "" if price.delta == "0" else f", delta {price.delta}"
    return f"epsilon {price.epsilon}{delta}"


def _share(price: Price) -> str:
    return f" ({SHARE * price.share:.3g} % of the budget)" if price.share else ""


def _rest(left: Remaining | None) -> str:
    if left is None:
        return "nothing is spent"
    amount = f"{left.epsilon} left" if left.epsilon is not None else f"{SHARE * left.share:.3g} % of the budget left"
    return f"{amount} ({left.more})" if left.more else amount


log = logging.getLogger("obverse.pgwire")
SHOWN_ALL = (Field("name", TEXT), Field("setting", TEXT), Field("description", TEXT))
TEXT_DROP = 4_000  # characters of a text that count as one request
PLAN = (Field("QUERY PLAN", TEXT),)
BY_VALUE = ("type_error", "bad_parameter", "unsupported_construct", "keys_not_public")
BLOCKS = (Kind.BEGIN, Kind.COMMIT, Kind.ROLLBACK, Kind.ROLLBACK_TO, Kind.SAVEPOINT, Kind.RELEASE)


@dataclass(slots=True)
class Runner:
    """What one connection asks, in its own settings."""

    desk: Desk
    caller: Caller
    block: Block
    held: Holdings
    shadow: Callable[[], Awaitable[Shadow]]  # as it is now
    number: int  # of the connection, as pg_backend_pid() tells it
    texts: Buckets  # how much an account may have read a minute
    notes: Notes

    async def read(self, text: str) -> list[Statement]:
        for _ in range(1 + len(text) // TEXT_DROP):
            self.texts.take(f"{self.caller.project}\0{self.caller.name}")
        shadow = await self.shadow()
        return await shadow.aside(read, text, shadow.answers)

    async def refresh(self) -> None:
        """An account that was revoked or suspended is found out with every statement."""
        if (await self.desk.account(self.caller)).barred:
            raise Suspended()

    async def run(self, statement: Statement, values: Sequence[Any] = ()) -> Rows:
        """Do one statement."""
        self.block.check(statement)
        match statement.kind:
            case Kind.QUESTION:
                return await self._ask(statement, values)
            case Kind.EXPLAIN:
                return await self._explain(statement, values)
            case Kind.CATALOGUE:
                await self.refresh()
                fields, rows = await (await self.shadow()).run(statement.text, self._asking(values))
                return Rows(fields, rows, f"SELECT {len(rows)}")
            case kind if kind in BLOCKS:
                tag, warning = self.block.done(statement)
                state = "25001" if statement.kind is Kind.BEGIN else "25P01"
                said = (messages.notice(warning, severity="WARNING", sqlstate=state),) if warning else ()
                return Rows(None, (), tag, said)
            case Kind.SHOW:
                return self._show(statement)
            case _:
                return self._own(statement)

    async def describe(self, prepared: Prepared, values: Sequence[Any] | None) -> tuple[Field, ...] | None:
        """The columns that a statement would give.

        Nothing private is run; without values, samples of their types stand in.
        """
        statement = prepared.statement
        if statement is None:
            return None
        known = prepared.shown is not None and prepared.intervals == self.block.settings.intervals
        if known and (values is None or not prepared.types):
            return prepared.shown
        given = tuple(map(sample, prepared.types)) if values is None else tuple(values)
        match statement.kind:
            case Kind.QUESTION:
                taken = self._taken(statement)
                columns = await self.desk.describe(self.caller, self._wanted(taken.text, given))
                return intervals.shape(columns, taken.ends, self.block.settings.intervals, taken.text).fields
            case Kind.EXPLAIN:
                return PLAN
            case Kind.CATALOGUE:
                await self.refresh()
                given = (None,) * len(prepared.types) if values is None else given
                return await (await self.shadow()).describe(statement.text, self._asking(given))
            case Kind.SHOW:
                return self._show(statement).fields
            case _:
                return None

    async def prepare(self, statement: Statement | None, given: Sequence[int]) -> Prepared:
        """A statement with the types of its parameters.

        What is wrong with it is told now, as PostgreSQL does, for free.
        """
        if statement is None:
            return Prepared(None, ())
        prepared = Prepared(statement, await self.inferred(statement.text, given))
        if statement.kind not in (Kind.QUESTION, Kind.CATALOGUE):
            return prepared
        try:
            shown = await self.describe(prepared, None)
        except Refused as refused:
            if prepared.types and refused.code in BY_VALUE:  # other values than the samples may do
                return prepared
            raise
        return replace(prepared, shown=shown, intervals=self.block.settings.intervals)

    async def _ask(self, statement: Statement, values: Sequence[Any]) -> Rows:
        taken = self._taken(statement)
        # whether they are of outputs that there are is told before anything is charged
        if taken.ends or statement.rowless:
            columns = await self.desk.describe(self.caller, self._wanted(taken.text, values))
            shape = intervals.shape(columns, taken.ends, self.block.settings.intervals, taken.text)
            if statement.rowless:  # nobody pays for no row
                return Rows(shape.fields, (), "SELECT 0")
        with self.notes.of(self.caller.project, "/ask", self.caller) as trace:
            try:
                answer = answered(trace, await self.desk.ask(self.caller, self._wanted(taken.text, values)))
            except Exception as error:
                if not unfinished(error):
                    raise
                log.error("a question was not finished: %s", defect(error))
                said = failure(trace.id)  # one text for whatever fails after the debit, or may have
                raise Failed(said.code, said.detail, why=said.why, fix=said.fix, charged=True) from error
        shape = intervals.shape(answer.columns, taken.ends, self.block.settings.intervals, taken.text)
        rows = shape.rows(answer)
        return Rows(shape.fields, rows, f"SELECT {len(rows)}", (messages.notice(after(answer)),))

    async def _explain(self, statement: Statement, values: Sequence[Any]) -> Rows:
        taken = self._taken(statement)
        shadow = await self.shadow()
        if await shadow.aside(shadow.answers, statement.text):
            return Rows(PLAN, [("free: answered from the catalogue alone",)], "EXPLAIN")
        if statement.rowless:
            return Rows(PLAN, [("free: it asks for no row",)], "EXPLAIN")
        with self.notes.of(self.caller.project, "/explain", self.caller):
            found = await self.desk.explain(self.caller, self._wanted(taken.text, values))
        return Rows(PLAN, [(line,) for line in explained(found)], "EXPLAIN")

    def _taken(self, statement: Statement) -> intervals.Stripped:
        words = statement.words
        plain = plain_strings(unqualified(statement.text, words, self.caller.project), words)
        return intervals.stripped(plain, words)

    def _wanted(self, text: str, values: Sequence[Any]) -> Wanted:
        settings = self.block.settings
        return Wanted(text, settings.wish, settings.purpose, parameters=tuple(values))

    def _asking(self, values: Sequence[Any]) -> Asking:
        return Asking(self.caller.name, self.caller.project, self.block.settings.now, tuple(values), self.number)

    async def inferred(self, text: str, given: Sequence[int]) -> tuple[int, ...]:
        """The types of a statement's parameters: those that were given, and what the text says of others."""
        return parameter_types(text, given, (await self.shadow()).column_types)

    def _show(self, statement: Statement) -> Rows:
        settings = self.block.settings
        name = setting_name(statement.words[1:])
        if name == "all":
            listed = [(REPORTED.get(known, known), value, "") for known, value in sorted(settings.now.items())]
            return Rows(SHOWN_ALL, listed, "SHOW")
        return Rows((Field(REPORTED.get(name, name), TEXT),), [(settings[name],)], "SHOW")

    def _own(self, statement: Statement) -> Rows:
        """Settings, and what the connection holds."""
        before = self.block.settings
        words = statement.words
        match statement.kind:
            case Kind.SET:
                name, value, local = assignment(words)
                if name:
                    now = before.with_value(name, value)
                    (self.block.set_local if local else self.block.set_for_good)(name)
                    self.block.settings = now
            case Kind.RESET:
                name = setting_name(words[1:])
                self.block.settings = before.reset() if name == "all" else before.with_value(name, None)
            case Kind.DISCARD:
                if words[-1].upper == "ALL":
                    if self.block.status != "I":
                        raise Refused("unsupported_construct", "DISCARD ALL cannot run inside a transaction block.")
                    self.block.settings = before.reset()
                    self.held.statements.clear()
                    self.held.portals.clear()
            case Kind.DEALLOCATE:
                last = words[-1]
                self.held.deallocate("" if last.upper == "ALL" else last.name)
            case Kind.NOTHING:
                if words[0].upper == "CLOSE" and words[-1].upper != "ALL":
                    raise Refused("no_such_portal", f"cursor {words[-1].name[:63]!r} does not exist.")
        return Rows(None, (), statement.tag, reported(before.now, self.block.settings.now))


def reported(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[bytes, ...]:
    """What clients are told of settings that changed."""
    changed = [name for name in REPORTED if before.get(name) != now.get(name)]
    return tuple(messages.parameter_status(REPORTED[name], now.get(name, DEFAULTS[name])) for name in changed)
