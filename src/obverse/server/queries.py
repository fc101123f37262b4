"""The desk: where every way into a service ends. Who asks, what it costs, when the answer leaves; nothing of HTTP or
wires.

Order of a question: sign in, count the request, read and price it (refusals are free and leave at once), debit durably,
run in a cage, noise, wait for the tick, store, reply.

What is done for one question in a thread: debited, run in a cage, held until its tick, stored.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from time import monotonic
from typing import TypeVar
from weakref import WeakValueDictionary

from obverse.answers.answer import Answer, ColumnInfo, is_one_answer
from obverse.core.accounts import Account, Role
from obverse.core.errors import CatalogError, ObverseError, Refused
from obverse.core.loss import Composed
from obverse.plan.pricing import Plan, SparseVectorRun
from obverse.plan.query import PublicQuestion
from obverse.plan.relation import Cells
from obverse.plan.release.postprocess import Finished
from obverse.server.errors import NotAllowed, NotFound, NotSignedIn, Stopping, Suspended, TooMany, only_for_the_operator
from obverse.server.project import Clerk, Host
from obverse.server.rate_limits import Buckets
from obverse.server.sandbox.pool import Cage, Child, Killed
from obverse.server.timing import Departure, begun_at, first_tick, limit_s, predicted_s
from obverse.session.execution import Release
from obverse.session.planning import Explained, Prepared, Wish
from obverse.session.session import Session
from obverse.session.views import BudgetView, TableView
from obverse.sql.parameters import Parameters

VALUES_MAX = 250_000  # of one answer; a value with its interval takes about 1 kB on its way


def answered(
    caller: Caller, wanted: Wanted, prepared: Prepared, limit: float, departure: Departure, host: Host
) -> Answer:
    """Debit, run in the cage, wait for the tick, store. Nothing is written between the debit and the tick, for it
    could be seen. That a question was killed is written down against its analyst."""
    clerk = host.clerk()
    read = []
    killed = []
    cage = clerk.cage
    with only_for_the_operator():
        taken = [_taken(cage, host)]  # its engine is there: what could fail before any row is read has failed for free

    def release(costed: Plan, sql: str) -> Finished:
        read.append(True)
        try:
            return cage.release(costed, sql, limit, taken.pop() if taken else None)
        except Killed:
            killed.append(True)
            raise

    try:
        with only_for_the_operator():
            session = session_of(clerk, caller, wanted.purpose, release, departure.wait)
            return session.answer(prepared, wanted.key)
    except ObverseError:
        if read:  # whatever failed, it may have taken as long as the rows say
            departure.wait()
        if killed:
            clerk.note_killed(caller.name)
        raise
    finally:
        for child in taken:  # the answer was stored, or refused
            cage.give_back(child)
        departure.settle()


def _taken(cage: Cage, host: Host) -> Child:
    try:
        return cage.taken()
    except CatalogError as error:
        if error.code == "source_changed":
            host.outdated(cage)
        raise


def freely_answered(caller: Caller, wanted: Wanted, prepared: Prepared, host: Host) -> Answer:
    """From public tables alone.

    One that takes all of its time keeps others waiting, and counts like one that was killed.
    """
    clerk = host.clerk()
    begun = monotonic()
    try:
        return session_of(clerk, caller, wanted.purpose, clerk.cage.refuse_to_release).answer(prepared)
    except Refused:
        if monotonic() - begun >= host.catalog.serve.limit_s:
            clerk.note_killed(caller.name)
        raise


def check_size(prepared: Prepared) -> None:
    """Refuse what would take the memory of everybody; which discovered keys there are is not known beforehand."""
    question = prepared.question
    if isinstance(question, PublicQuestion):
        return
    keys = tuple(key for key in question.keys if key.domain is not None)
    rows = Cells(keys, question.sets or (tuple(range(len(keys))),)).count
    if question.limit is not None:
        rows = min(rows, question.limit)
    if prepared.planned is not None and isinstance(run := prepared.planned.costed.noise, SparseVectorRun):
        rows = min(rows, run.mechanism.first)
    if rows * len(prepared.columns) > VALUES_MAX:
        raise Refused(
            "too_many_rows",
            f"the answer would have {rows:,} rows.",
            why=f"a service gives at most {VALUES_MAX:,} values at a time: rows times columns.",
            fix="group by fewer keys, add WHERE or LIMIT, or have the curator publish a table.",
        )


def session_of(
    clerk: Clerk, caller: Caller, purpose: str, release: Release, leaves: Callable[[], None] = lambda: None
) -> Session:
    return clerk.session(caller.name if caller.role == "analyst" else "", purpose, release, leaves)


T = TypeVar("T")
PLAIN = Wish()
ASKING_MAX = 16  # questions of one account that run or wait at a time
# plans and public answers of one account at a time: some take seconds, and others need a thread to sign in by
FREE_MAX = 2


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who signed in; by which token, where it was one of the ledger: with it they come and go."""

    project: str
    name: str
    role: Role
    token: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question as it came in. `key`: repeated under the same key it is never charged twice."""

    sql: str
    wish: Wish = PLAIN
    purpose: str = ""
    key: str = ""
    parameters: Parameters = ()


class Desk:
    """All that a server does, for each of its projects. Its methods run in one event loop."""

    def __init__(self, hosts: Sequence[Host], *, clock: Callable[[], float] = time.time) -> None:
        self._hosts = {host.name: host for host in hosts}
        if len(self._hosts) < len(hosts):
            raise Refused("name_twice", "two projects have the same name.", fix="Change `name` in one obverse.toml.")
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._buckets: dict[str, Buckets] = {}
        for host in hosts:
            self.take_in(host)
        self._running: set[asyncio.Task[Answer]] = set()
        self._asking: dict[Caller, int] = {}  # questions that run or wait
        # as long as somebody has one
        self._turns: WeakValueDictionary[Caller, asyncio.Semaphore] = WeakValueDictionary()
        self.clock = clock
        self._stopping = False

    @property
    def projects(self) -> tuple[str, ...]:
        return tuple(self._hosts)

    def host(self, project: str) -> Host:
        """For the server's own parts; a stranger never learns whether there is one."""
        if project not in self._hosts:
            raise NotFound("project")
        return self._hosts[project]

    def take_in(self, host: Host) -> None:
        """From now on this project is served as well."""
        self._hosts[host.name] = host
        self._slots[host.name] = asyncio.Semaphore(host.at_once)
        self._buckets[host.name] = Buckets(host.catalog.serve.requests_per_minute)

    def let_go(self, name: str) -> None:
        """No more questions about a project that was taken in; those that run have its slot and its host."""
        for held in (self._hosts, self._slots, self._buckets):
            held.pop(name, None)

    async def sign_in(self, project: str, token: str) -> Caller:
        """Who a token belongs to. Unknown projects, accounts and tokens all look the same, and take the same work."""

        def held(host: Host) -> list[Caller]:
            known = [(account, account.held(token, self.clock())) for account in host.accounts().values()]
            return [Caller(project, account.name, account.role, id) for account, id in known if id]

        found = await self.looked_up(project, held)
        if not found:
            raise NotSignedIn()
        return found[0]

    async def looked_up(self, project: str, find: Callable[[Host], T]) -> T | None:
        """What a stranger makes us look for. For a project that is not here another stands in, and what it gives is not
        used:
        the work tells nothing of which there are."""
        if not self._hosts:
            return None
        here = project in self._hosts
        try:
            found = await self._work(project if here else self.projects[0], find)
        except ObverseError:
            if here:
                raise
            return None  # that another one cannot be opened is not told
        return found if here else None

    async def account(self, caller: Caller) -> Account:
        """The caller's account as it is now: revoked and suspended ones are found out with every request."""
        known = (await self._work(caller.project, Host.accounts)).get(caller.name)
        live = [] if known is None else [token.id for token in known.live(self.clock())]
        if known is None or not live or (caller.token and caller.token not in live):
            raise NotSignedIn()
        return known

    def count(self, caller: Caller) -> None:
        """One more request of an account, or too many; refused ones count too."""
        self._buckets[caller.project].take(caller.name)

    def check(self, caller: Caller) -> None:
        """Refuse whose next request would be too many, before anything is read of it."""
        self._buckets[caller.project].check(caller.name)

    async def ask(self, caller: Caller, wanted: Wanted) -> Answer:
        """The private answer, at its tick."""
        await self._admitted(caller, ("analyst", "curator"), "ask")
        if self._asking.get(caller, 0) >= ASKING_MAX:
            raise TooMany(1.0)
        self._asking[caller] = self._asking.get(caller, 0) + 1
        task = asyncio.ensure_future(self._answer(caller, wanted))
        self._running.add(task)
        task.add_done_callback(partial(self._done, caller))
        return await asyncio.shield(task)  # who goes away stops waiting; the slot is held to its tick all the same

    async def explain(self, caller: Caller, wanted: Wanted) -> Explained:
        """What it would cost and how wrong it would be; free."""
        await self._admitted(caller, ("analyst", "curator", "reviewer"), "explain")
        wish = asdict(wanted.wish)
        return await self._planning(
            caller, wanted.purpose, lambda session: session.explain(wanted.sql, parameters=wanted.parameters, **wish)
        )

    async def describe(self, caller: Caller, wanted: Wanted) -> tuple[ColumnInfo, ...]:
        """The columns that the answer would have. Nothing is run."""
        await self._admitted(caller, ("analyst", "curator", "reviewer"), "describe")
        return (await self._prepare(caller, wanted)).columns

    async def budget(self, caller: Caller) -> BudgetView:
        return await self.seen(caller, "see budgets", "", Session.budget)

    async def tables(self, caller: Caller) -> tuple[TableView, ...]:
        return await self.seen(caller, "see tables", "", Session.tables)

    async def seen(self, caller: Caller, what: str, purpose: str, look: Callable[[Session], T]) -> T:
        """What follows from declarations and the ledger alone, for all roles."""
        await self._admitted(caller, ("analyst", "curator", "reviewer"), what)
        return await self._planning(caller, purpose, look)

    async def stored(self, caller: Caller, receipt: str) -> Answer:
        """An answer that was released before, by the id of its debit: one's own; all of them for curator and
        reviewer.
        """
        await self._admitted(caller, ("analyst", "curator", "reviewer"), "see answers")

        def read(host: Host) -> Answer:  # in a thread, for a large one takes seconds: others are served meanwhile
            clerk = host.clerk()
            found = clerk.ledger.answered(receipt)
            own = found is not None and (caller.role != "analyst" or found[1].analyst == caller.name)
            if found is None or not own or not is_one_answer(found[0].answer):
                raise NotFound("answer")
            left = session_of(clerk, caller, "", host.cage.refuse_to_release).purse.remaining(Composed(()))
            return Answer.from_bytes(found[0].answer, left).from_store()

        return await self._work(caller.project, read)

    async def ledger_lines(self, caller: Caller) -> Iterator[str]:
        """The chain of records for anybody to check, without the owner's notes."""
        await self._admitted(caller, ("curator", "reviewer"), "export the ledger")
        return await self._work(caller.project, lambda host: host.clerk().exported())

    async def act(self, caller: Caller, roles: Sequence[Role], what: str, action: Callable[[Clerk], T]) -> T:
        """What is not a question: admitted by its role, then done in a thread that has the ledger."""
        await self._admitted(caller, roles, what)
        return await self.work(caller.project, lambda host: action(host.clerk()))

    async def work(self, project: str, action: Callable[[Host], T]) -> T:
        """For the server's own parts: nobody is admitted here."""
        self.host(project)
        return await self._work(project, action)

    async def stop(self, patience_s: float = 30.0) -> None:
        """Take no more questions, and wait for those that run."""
        self._stopping = True
        if self._running:
            await asyncio.wait(set(self._running), timeout=patience_s)

    def _done(self, caller: Caller, task: asyncio.Task[Answer]) -> None:
        self._running.discard(task)
        self._asking[caller] -= 1
        if not self._asking[caller]:
            del self._asking[caller]
        if not task.cancelled():
            task.exception()  # of a question whose asker went away nobody else hears

    async def _admitted(self, caller: Caller, roles: Sequence[Role], what: str) -> None:
        if self._stopping:
            raise Stopping()
        self.count(caller)
        await self._allowed(caller, roles, what)

    async def _allowed(self, caller: Caller, roles: Sequence[Role], what: str) -> None:
        account = await self.account(caller)
        if account.barred:
            raise Suspended()
        if account.role not in roles:
            raise NotAllowed(account.role, what)

    async def _prepare(self, caller: Caller, wanted: Wanted) -> Prepared:
        prepared = await self._planning(
            caller, wanted.purpose, lambda session: session.prepare(wanted.sql, wanted.wish, wanted.parameters)
        )
        check_size(prepared)
        return prepared

    async def _answer(self, caller: Caller, wanted: Wanted) -> Answer:
        came = time.monotonic()
        prepared = await self._prepare(caller, wanted)
        if prepared.planned is None:
            async with self._turn(caller), self._slots[caller.project]:  # it is free, so nobody has all slots with it
                return await self._work(caller.project, partial(freely_answered, caller, wanted, prepared))
        host = self._hosts[caller.project]
        predicted = predicted_s(prepared.planned, host.catalog)
        first = first_tick(predicted)
        limit = limit_s(predicted, host.catalog)
        async with self._slots[caller.project]:
            departure = Departure(first, begun_at(came))
            try:
                await self._allowed(caller, ("analyst", "curator"), "ask")  # whoever was suspended while it waited
                ran = partial(answered, caller, wanted, prepared, limit, departure)
                return await self._work(caller.project, ran)
            finally:  # stored, or refused before any row was read: over budget, a key used twice
                await asyncio.sleep(departure.rest_s())

    async def _planning(self, caller: Caller, purpose: str, action: Callable[[Session], T]) -> T:
        async with self._turn(caller):
            return await self._with_session(caller, purpose, action)

    def _turn(self, caller: Caller) -> asyncio.Semaphore:
        """What is free is done so many times at once for one account; its others wait, and nobody else does."""
        return self._turns.setdefault(caller, asyncio.Semaphore(FREE_MAX))

    async def _with_session(self, caller: Caller, purpose: str, action: Callable[[Session], T]) -> T:
        return await self._work(
            caller.project, lambda host: action(session_of(host.clerk(), caller, purpose, host.cage.refuse_to_release))
        )

    async def _work(self, project: str, action: Callable[[Host], T]) -> T:
        host = self._hosts[project]
        return await asyncio.get_running_loop().run_in_executor(host.threads, action, host)
