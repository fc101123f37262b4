"""What is done for one question in a thread: debited, run in a cage, held until its tick, stored."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from obverse.answers.answer import Answer
from obverse.core.errors import CatalogError, ObverseError, Refused
from obverse.plan.allocate import CostedPlan
from obverse.plan.nodes import Cells
from obverse.plan.query import PublicQuestion
from obverse.plan.release.finish import Finished
from obverse.server.errors import only_for_the_operator
from obverse.server.host import Clerk, Host
from obverse.server.sandbox.cage import Cage
from obverse.server.sandbox.children import Child, Killed
from obverse.server.ticks import Departure
from obverse.session.execution import Release
from obverse.session.prepared import Prepared
from obverse.session.session import Session

if TYPE_CHECKING:
    from obverse.server.desk import Caller, Wanted

VALUES_MAX = 250_000  # of one answer; a value with its interval takes about 1 kB on its way


def answered(caller: Caller, wanted: Wanted, prepared: Prepared, limit: float, departure: Departure, host: Host) -> Answer:
    """Debit, run in the cage, wait for the tick, store. Nothing is written between the debit and the tick, for it
    could be seen. That a question was killed is written down against its analyst."""
    clerk, read, killed = host.clerk(), [], []
    cage = clerk.cage
    with only_for_the_operator():
        taken = [_taken(cage, host)]  # its engine is there: what could fail before any row is read has failed for free

    def release(costed: CostedPlan, sql: str) -> Finished:
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
    """From public tables alone. One that takes all of its time keeps others waiting, and counts like one that was killed."""
    clerk, begun = host.clerk(), monotonic()
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
    if prepared.planned is not None and prepared.planned.costed.series is not None:
        rows = min(rows, prepared.planned.costed.series.first)
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
