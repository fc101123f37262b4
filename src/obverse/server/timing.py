"""How long a question may take, from its plan and public figures alone: never from the rows.

When an answer may leave: at a tick that was chosen before any row was read, so that how long it took is not told.

Claim:   the time of a reply, and that at which the ledger has the answer, is a function of the plan and of public
         figures, unless a question outruns its tick; then it is the next tick that tells one bit more.
Proof:   `first_tick` sees the prediction alone, and that the plan alone; what ran in between is waited for, before the
         answer is stored: what comes after is a function of noisy numbers. But planning before and storing after were
         seen to take a little more or less, perhaps by what caches remember of what ran: the one is rounded down, so
         that the tick holds what is left of it, and the other up.
Assumes: the prediction reads nothing of the rows, and a slot is held until its tick, so that others' waiting tells no
         more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from time import monotonic, sleep

from obverse.catalog.model import Catalog
from obverse.core.bounds import Categories
from obverse.core.errors import Refused
from obverse.core.types import Type
from obverse.plan.expressions import Call, Expr, Literal
from obverse.plan.relation import Filter, Join, Map, Mark, Reduce, Relation, Scan, Union, every, scans, sides
from obverse.session.planning import Planned

HEADROOM = 2.0  # a tick is at least so many times the predicted time; up to a step of it goes to planning
STEP_S = 0.01  # to which what is done before and after a tick is rounded; it takes some 4 ms and 2 ms


def ticks() -> Iterator[float]:
    """0.1, 0.2, 0.5, 1, 2, 5, ... seconds."""
    for power in count(-1):
        for step in (1, 2, 5):
            yield step * 10.0**power


def first_tick(predicted_s: float) -> float:
    return next(tick for tick in ticks() if tick >= HEADROOM * predicted_s)


def tick_after(first_s: float, elapsed_s: float) -> float:
    """The tick at which a question leaves that took so long."""
    return next(tick for tick in ticks() if tick >= first_s and tick >= elapsed_s)


STORED = next(ticks())  # an answer that was given before leaves at the first of all


def begun_at(came: float) -> float:
    """Now, in whole steps since a question came."""
    return came + (monotonic() - came) // STEP_S * STEP_S


@dataclass(slots=True)
class Departure:
    """Of one question, from the moment when it has its slot."""

    first_s: float
    begun: float = field(default_factory=monotonic)
    gone: float | None = None  # when its tick came

    def wait(self) -> None:
        """In a thread: until the tick of what was charged; once."""
        if self.gone is None:
            elapsed = monotonic() - self.begun
            tick = tick_after(self.first_s, elapsed)
            sleep(tick - elapsed)
            self.gone = self.begun + tick

    def settle(self) -> None:
        """In a thread, after what is done at the tick: how long that took is not told."""
        if self.gone is not None:
            sleep((self.gone - monotonic()) % STEP_S)

    def rest_s(self) -> float:
        """What is left to wait where nothing was charged: until the first tick of all."""
        if self.gone is not None:
            return 0.0
        elapsed = monotonic() - self.begun
        return tick_after(STORED, elapsed) - elapsed


ROWS = 1_000_000  # of a table that declares no `rows_about`
# before the first row is read; Spark plans and ships tasks for 0.3
START_S = {"duckdb": 0.03, "postgres": 0.03, "spark": 1.0}
#   to 0.6 s (`BENCH_PARTS=engines make bench`, the column of 1,000 rows), and longer while its JVM is young
TEXT_S = 1.5e-6  # of a character of what is printed for the engine; a long list of keys is most of it
ROW_S = 3e-7  # reading, bounding and hashing a row
PUBLIC_S = 5e-8  # reading a row that is nobody's
NODE_S = 5e-8  # of a row, in each further part of the relation
CALL_S = 5e-8  # of a row, in each function of it
LONG_S = 5e-4  # of a function of the longest text that a row may hold
MEASURE_S = 1e-7  # of a row, in each measure
KEY_S = 1e-6  # of a row, where each may bring a key that is to be discovered
PAIR_S = 2e-7  # of two rows of a unit that are joined
PARTNERS = 5  # that a row is taken to have there
CELL_S = 3e-6  # noise and finishing of one cell of one measure
LEAST_LIMIT = 10.0  # a question is killed after so many times the predicted time, at the earliest
LONGEST_S = 3600.0


def predicted_s(planned: Planned, catalog: Catalog) -> float:
    """Seconds that the question and those before it are planned to take."""
    return sum(_one(part, catalog) for part in (*planned.first, planned))


def _one(planned: Planned, catalog: Catalog) -> float:
    relation = planned.question.relation
    limited = planned.costed
    measures = len(planned.costed.measures)
    nodes = len(tuple(every(relation)))
    calls = [call for expr in _expressions(planned) for call in _calls(expr)]
    long = sum(_reads_long_text(call) for call in calls)
    public, private = (
        sum(_rows(scan.table, catalog) for scan in scans(relation) if catalog.tables[scan.table].public is kind)
        for kind in (True, False)
    )
    each = ROW_S + nodes * NODE_S + len(calls) * CALL_S + measures * MEASURE_S + bool(limited.root.discovered) * KEY_S
    told = start_s(catalog) + len(planned.sql) * TEXT_S + limited.root.cells * max(1, measures) * CELL_S
    paired = sum(_size(node, catalog) for node in every(relation) if _pairs(node, catalog))
    return told + public * PUBLIC_S + private * each + paired * PAIR_S + long * limited.setting.rows * LONG_S


def start_s(catalog: Catalog) -> float:
    return START_S[catalog.engine.get("kind", "duckdb")]


def _pairs(node: Relation, catalog: Catalog) -> bool:
    """Whether rows of a unit are joined with rows of the same unit."""
    return isinstance(node, Join) and all(_private(side, catalog) for side in sides(node))


def _private(relation: Relation, catalog: Catalog) -> bool:
    return any(not catalog.tables[scan.table].public for scan in scans(relation))


def _size(relation: Relation, catalog: Catalog) -> int:
    """About how many private rows it has."""
    if isinstance(relation, Scan):
        return 0 if catalog.tables[relation.table].public else _rows(relation.table, catalog)
    sizes = [_size(side, catalog) for side in sides(relation)]
    if isinstance(relation, Union):
        return sum(sizes)
    return max(sizes, default=0) * (PARTNERS if _pairs(relation, catalog) else 1)


def _rows(name: str, catalog: Catalog) -> int:
    table = catalog.tables[name]
    return table.rows_about or table.size or ROWS


def _expressions(planned: Planned) -> Iterator[Expr]:
    """All that is computed for each row."""
    for node in every(planned.question.relation):
        yield from _of(node)
    project = planned.costed.root.child
    yield from (key.expr for key in project.keys)
    terms = [measure.term for measure in project.measures]
    yield from (expr for term in terms for expr in (term.expr, term.other) if expr is not None)


def _of(node: Relation) -> Iterator[Expr]:
    match node:
        case Filter(_, predicate):
            yield predicate
        case Map(_, columns):
            yield from (expr for _, expr in columns)
        case Join(_, _, _, on):
            yield from on
        case Mark(_, _, on):
            yield from (expr for pair in on for expr in pair)
        case Reduce(_, keys, folds):
            yield from (expr for _, expr in keys)
            yield from (fold.expr for fold in folds if fold.expr is not None)


def _calls(expr: Expr) -> Iterator[Call]:
    if isinstance(expr, Call):
        yield expr
        for arg in expr.args:
            yield from _calls(arg)


def _reads_long_text(call: Call) -> bool:
    """One unit's rows may hold texts of any length that is read, so what these cost is planned for beforehand."""
    read = [arg.facts for arg in call.args if not isinstance(arg, Literal)]
    return any(facts.type is Type.TEXT and not isinstance(facts.bounds, Categories) for facts in read)


def limit_s(predicted: float, catalog: Catalog) -> float:
    """When it is killed; refused beforehand where that would be too late for anybody."""
    limit = max(float(catalog.serve.limit_s), LEAST_LIMIT * predicted)
    if limit > LONGEST_S:
        raise Refused(
            "too_costly",
            "this question is planned to take too long.",
            why="a question is given ten times its planned time, so that no single unit can make it fail.",
            fix="ask fewer aggregates or groups at a time; or have the curator declare rows_about.",
        )
    return limit
