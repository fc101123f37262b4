"""What epsilon, caps and delta do to the curator's own questions: planned only, so that no row is read and nothing
spent.

Once against many: the noise of each of so many questions that share the whole budget, as pure and as zcdp counts them.

Settings to try, and a question's error under each of them: the values that `obverse explore` is made of.

Questions that the declarations of a project suggest: of each private table a count, a histogram, a sum and an average.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from obverse.accounting import budget as budgets
from obverse.accounting import zcdp
from obverse.catalog import parameters
from obverse.catalog.model import AUTO, Accounting, Catalog, Column, Limits, Table
from obverse.catalog.parameters import EPSILON_MAX, EPSILON_MIN
from obverse.core.bounds import Categories, Interval
from obverse.core.errors import Refused
from obverse.core.ledger import Spent
from obverse.core.numbers import exact, plain
from obverse.core.types import Type
from obverse.curator.local_model import PEOPLE, local_widths
from obverse.plan.dialects import DIALECTS
from obverse.plan.explain import measures_json
from obverse.plan.private_bounds import Learned
from obverse.plan.query import Question
from obverse.plan.relation import scans
from obverse.session.claims import belief_words
from obverse.session.learned_limits import load_learned, with_defaults
from obverse.session.planning import Planned, Wish, plan, read
from obverse.session.project import load_project

TIMES = (1, 10, 100, 1000)
USUAL_DELTA = Fraction(1, 10**8)
TRIES = 60  # each takes a millionth off; what rounding moves is far less
Widths = tuple[float, ...]


def many_times(
    planned: Callable[..., Planned | None],
    catalog: Catalog,
    times: tuple[int, ...],
    widths: Callable[[Planned], Widths],
) -> dict[Accounting, list[Widths | None]]:
    """For each way of counting that the budget allows: what each of so many questions would have as noise."""
    kinds: tuple[Accounting, ...] = ("pure", "zcdp") if catalog.budget.delta > 0 else ("pure",)
    return {kind: [_each(planned, replace(catalog, accounting=kind), k, widths) for k in times] for kind in kinds}


def _each(
    planned: Callable[..., Planned | None], catalog: Catalog, times: int, widths: Callable[[Planned], Widths]
) -> Widths | None:
    """The largest epsilon of one question such that so many fit, and its noise; None where there is none."""
    cap = budgets.cap_of(catalog.budget, catalog.accounting)
    delta = min(catalog.delta or USUAL_DELTA, catalog.budget.delta / times)
    epsilon = cap.amount / times
    if catalog.accounting == "zcdp":
        epsilon = zcdp.epsilon_of(cap.amount / times, delta)
    epsilon = min(epsilon, EPSILON_MAX)
    for _ in range(TRIES):
        found = planned(epsilon, delta, catalog) if epsilon >= EPSILON_MIN else None
        if found is None:
            return None
        fit = budgets.like_this(budgets.count(found.loss, catalog.accounting), Spent(catalog.accounting), cap)
        if fit is not None and fit >= times:
            return widths(found)
        epsilon *= 1 - Fraction(1, 10**6)
    return None


EPSILONS = tuple(Fraction(text) for text in ("0.01", "0.03", "0.1", "0.3", "1", "3"))
CAPS = (1, 2, 5, 10, 20, 50)
DELTAS = tuple(Fraction(1, 10**n) for n in (12, 10, 8, 6))


@dataclass(frozen=True, slots=True)
class Sought:
    """The settings to try, beside the declared ones."""

    epsilons: tuple[Fraction, ...] = EPSILONS
    caps: tuple[int, ...] = CAPS
    deltas: tuple[Fraction, ...] = DELTAS
    times: tuple[int, ...] = TIMES
    people: int | None = None  # declared as rows_about unless told
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class Line:
    """One setting, and half of the noise interval of each number at it; None where it cannot be had."""

    at: Fraction
    widths: tuple[float | None, ...]
    declared: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """One setting changed, all others as declared."""

    over: str
    title: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        lines = [{"at": plain(one.at), "widths": list(one.widths), "declared": one.declared} for one in self.lines]
        return {
            "over": self.over,
            "title": self.title,
            "columns": list(self.columns),
            "lines": lines,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Explored:
    """A question under many settings."""

    sql: str
    level: float
    sweeps: tuple[Sweep, ...]
    belief: str  # what the whole declared budget means to one person

    def as_json(self) -> dict[str, Any]:
        return {
            "sql": self.sql,
            "level": self.level,
            "belief": self.belief,
            "sweeps": [one.as_json() for one in self.sweeps],
        }


def sought_of(epsilons: str, caps: str, deltas: str, people: int | None, confidence: float) -> Sought:
    """Settings from lists such as 0.1,0.5,1; an empty list leaves the usual ones."""
    found = Sought(people=people, confidence=confidence)
    if epsilons:
        found = replace(found, epsilons=tuple(parameters.epsilon(exact(one)) for one in epsilons.split(",")))
    if caps:
        found = replace(found, caps=tuple(_cap(one) for one in caps.split(",")))
    if deltas:
        found = replace(found, deltas=tuple(parameters.delta(exact(one)) for one in deltas.split(",")))
    return found


def _cap(text: str) -> int:
    number = exact(text)
    if number.denominator != 1 or not 1 <= number <= 10**6:
        raise Refused("bad_parameter", "a cap is a whole number from 1 to a million.", fix="Write --caps 1,5,20.")
    return int(number)


TABLES_MAX = 3
quoted = DIALECTS["duckdb"].identifier
RESERVED = frozenset(
    "all and any as asc between by case cast check column create cross default desc distinct do else end except exists "
    "false "
    "fetch filter for from full grant group having in inner intersect into is join lateral left like limit natural not "
    "null "
    "offset on or order outer over primary qualify references right row rows select session set some table then to "
    "true "
    "union unique update user using values when where window with within".split()
)


def usual_questions(catalog: Catalog) -> tuple[str, ...]:
    """From columns, bounds and public values alone."""
    private = [table for table in catalog.tables.values() if not table.public][:TABLES_MAX]
    if not private:
        raise Refused("no_private_table", "this project has no private table, so nothing in it has noise.")
    return tuple(sql for table in private for sql in _of(table))


def _of(table: Table) -> list[str]:
    name = _name(table.name)
    shown = [column for column in table.columns.values() if not column.hidden]
    keys = [column for column in shown if isinstance(column.bounds, Categories)]
    numbers = [column for column in shown if _summed(column)]
    found = []
    if keys:
        found.append(f"SELECT {_name(keys[0].name)}, COUNT(*) AS n FROM {name} GROUP BY {_name(keys[0].name)}")
    else:
        found.append(f"SELECT COUNT(*) AS n FROM {name}")
    if numbers:
        found.append(f"SELECT SUM({_name(numbers[-1].name)}) AS total FROM {name}")
    return found


def _summed(column: Column) -> bool:
    return column.type in (Type.INTEGER, Type.DOUBLE) and isinstance(column.bounds, Interval)


def _name(text: str) -> str:
    plain = text.isascii() and text.replace("_", "a").isalnum() and text == text.lower() and not text[0].isdigit()
    return text if plain and text not in RESERVED else quoted(text)


SUPPOSED = 10  # rows of one unit, where that is still to be learned


def explore(project: Path, questions: Sequence[str] = (), sought: Sought | None = None) -> tuple[Explored, ...]:
    """Each question, or the usual ones of the declared tables, under each setting.

    Opens no ledger, reads no private row.
    """
    loaded = load_project(project)
    try:
        learned = load_learned(loaded.catalog)
        catalog = supposed(with_defaults(loaded.catalog, learned))
        texts = questions or usual_questions(catalog)
        return tuple(_explored(sql, catalog, learned, sought or Sought()) for sql in texts)
    finally:
        loaded.engine.close()


def supposed(catalog: Catalog) -> Catalog:
    """Caps for tables whose limits are still to be learned, so that they can be compared beforehand."""
    tables = {
        name: replace(table, limits=Limits(SUPPOSED, learned=True)) if table.limits == AUTO else table
        for name, table in catalog.tables.items()
    }
    return replace(catalog, tables=tables)


def _explored(sql: str, catalog: Catalog, learned: Mapping[str, Learned], sought: Sought) -> Explored:
    now = dt.datetime.now()

    def planned(epsilon: Fraction, delta: Fraction | None = None, declared: Catalog = catalog) -> Planned | None:
        """The question so priced; None where the noise would be too large to be drawn."""
        question = read(sql, declared, now)
        if not isinstance(question, Question) or question.listing:
            why = "only public tables or declarations are read, so it is free whatever is chosen."
            raise Refused("nothing_to_explore", "this question has no noise.", why=why).located(sql)
        try:
            return plan(
                sql, question, declared, Wish(epsilon, delta, confidence=sought.confidence), learned=own(declared)
            )
        except Refused as refused:
            if refused.code != "epsilon_too_small":
                raise
            return None

    def own(declared: Catalog) -> Mapping[str, Learned]:
        return learned if declared is catalog else {}

    usual = planned(catalog.epsilon)
    if usual is None:
        raise Refused("epsilon_too_small", "the declared epsilon is too small for this question.").located(sql)
    sweeps = [_over_epsilon(planned, usual, catalog, sought)]
    sweeps += _over_caps(planned, usual, catalog, sought)
    sweeps += _over_delta(planned, usual, catalog, sought)
    sweeps += _beside_local(planned, usual, catalog, sought)
    many = many_times(planned, catalog, sought.times, widths)
    sweeps += [Sweep("questions", MANY, tuple(f"{kind}: {name}" for kind in many for name in names(usual)), tuple(
        Line(Fraction(k), tuple(width for kind in many for width in many[kind][n] or (None,) * len(names(usual))))
        for n, k in enumerate(sought.times)
    ), MANY_NOTE)]  # fmt: skip
    return Explored(sql, sought.confidence, tuple(sweeps), belief_words(catalog.budget, catalog))


MANY = "Once, or many times: noise when so many questions share the whole budget"
MANY_NOTE = (
    "each is asked by itself and paid in advance: pure adds epsilons, zcdp adds rho, so that noise grows with the root"
)
Plans = Callable[..., Planned | None]


def names(planned: Planned) -> tuple[str, ...]:
    """The numbers of an answer that have noise of a known size; and from how many units on a key is told."""
    found = [str(m["name"]) for m in measures_json(planned.costed) if m["half_width"] is not None]
    return (*found, "a key is told from") if planned.costed.threshold is not None else tuple(found)


def widths(planned: Planned) -> tuple[float, ...]:
    found = [float(m["half_width"]) for m in measures_json(planned.costed) if m["half_width"] is not None]
    threshold = planned.costed.threshold
    return (*found, float(threshold.threshold)) if threshold is not None else tuple(found)


def questions_in(planned: Planned, catalog: Catalog) -> int:
    """How many such questions the whole declared budget holds."""
    charge = budgets.count(planned.loss, catalog.accounting)
    cap = budgets.cap_of(catalog.budget, catalog.accounting)
    return budgets.like_this(charge, Spent(catalog.accounting), cap) or 0


def _over_epsilon(planned: Plans, usual: Planned, catalog: Catalog, sought: Sought) -> Sweep:
    lines = []
    for epsilon in _with(sought.epsilons, catalog.epsilon):
        found = planned(epsilon)
        cells = _none(usual) if found is None else widths(found)
        fit = None if found is None else float(questions_in(found, catalog))
        lines.append(Line(epsilon, (*cells, fit), epsilon == catalog.epsilon))
    columns = (*names(usual), "questions in the budget")
    note = "; ".join(filter(None, (_depends(usual), _to_learn(usual, catalog))))
    return Sweep("epsilon", "Error against epsilon of one question", columns, tuple(lines), note)


def _depends(planned: Planned) -> str:
    """What is to be said where an answer's error is not one measure's noise."""
    limited = planned.costed
    measures = planned.costed.measures
    if not names(planned):
        return "its error depends on the rows, so that none is known beforehand"
    if any(len(served) > 1 for served in limited.serves) or any(m.term.kind == "tree" for m in measures):
        return "the answer is made from these; how far it is off depends on the rows as well"
    return ""


def _to_learn(planned: Planned, catalog: Catalog) -> str:
    """Which caps are not declared."""
    tables = dict.fromkeys(scan.table for scan in scans(planned.question.relation))
    caps = {name: catalog.tables[name].limits for name in tables}
    told = [f"{name} {cap.rows}" for name, cap in caps.items() if isinstance(cap, Limits) and cap.learned]
    return (
        f"caps are learned, not declared; rows of one unit are supposed to be at most: {', '.join(told)}"
        if told
        else ""
    )


def _over_caps(planned: Plans, usual: Planned, catalog: Catalog, sought: Sought) -> list[Sweep]:
    """For each table with declared caps: other caps on a unit's rows, and on its groups."""
    found = []
    for name in dict.fromkeys(scan.table for scan in scans(usual.question.relation)):
        limits = catalog.tables[name].limits
        if not isinstance(limits, Limits):
            continue
        for field, declared in (("rows", limits.rows), ("groups", limits.groups)):
            if declared is None:
                continue
            lines = []
            for cap in _with(tuple(map(Fraction, sought.caps)), Fraction(declared)):
                one = planned(catalog.epsilon, None, _capped(catalog, name, limits, field, int(cap)))
                chosen = cap == declared and not limits.learned
                lines.append(Line(cap, _none(usual) if one is None else widths(one), chosen))
            if len({line.widths for line in lines}) > 1:
                title = f"Error against the cap on one unit's {field} in {name}"
                found.append(Sweep(f"{name}.{field}", title, names(usual), tuple(lines), CAPS_NOTE))
    return found


CAPS_NOTE = (
    "a lower cap has less noise, and leaves out more of those who have more: what that costs only the rows could tell"
)


def _capped(catalog: Catalog, table: str, limits: Limits, field: str, cap: int) -> Catalog:
    changed = replace(limits, rows=cap) if field == "rows" else replace(limits, groups=cap)
    return replace(catalog, tables={**catalog.tables, table: replace(catalog.tables[table], limits=changed)})


def _over_delta(planned: Plans, usual: Planned, catalog: Catalog, sought: Sought) -> list[Sweep]:
    """Where delta plays a part: keys that are discovered, and all noise under zcdp."""
    if usual.costed.delta == 0:
        return []
    lines = []
    for delta in _with(sought.deltas, catalog.delta):
        one = planned(catalog.epsilon, delta)
        lines.append(Line(delta, _none(usual) if one is None else widths(one), delta == catalog.delta))
    note = "delta is a chance that the promise fails altogether: far below one over the number of people"
    return [Sweep("delta", "Error against delta of one question", names(usual), tuple(lines), note)]


def _beside_local(planned: Plans, usual: Planned, catalog: Catalog, sought: Sought) -> list[Sweep]:
    """The same number if people randomized their own answers and trusted nobody, at the same epsilon."""
    told = [catalog.tables[scan.table].rows_about for scan in scans(usual.question.relation)]
    known = sought.people or next((number for number in told if number), None)
    people = known or PEOPLE
    lines = []
    for epsilon in _with(sought.epsilons, catalog.epsilon):
        found = planned(epsilon)
        local = () if found is None else local_widths(found.costed, epsilon, people)
        if found is not None and local:
            lines.append(Line(epsilon, (widths(found)[0], *local), epsilon == catalog.epsilon))
    if not lines:
        return []
    columns = (f"central: {names(usual)[0]}", "local", "people that the local one takes")
    title = f"Central against local, {people:,} people"
    note = "local: by the protocol that errs least for so many people; then how many it takes to see a share as well"
    note += "" if known else "; so many people are assumed, --people tells another number"
    return [Sweep("trust", title, columns, tuple(lines), note)]


def _with(settings: Iterable[Fraction], declared: Fraction) -> list[Fraction]:
    return sorted({*settings, declared})


def _none(planned: Planned) -> tuple[None, ...]:
    return (None,) * len(names(planned))
