"""What epsilon, caps and delta do to the curator's own questions: planned only, so that no row is read and nothing spent."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from obverse.accounting import budget as budgets
from obverse.catalog.model import AUTO, Catalog, Limits
from obverse.core.errors import Refused
from obverse.core.ledger import Spent
from obverse.curator.beside_local import PEOPLE, local_widths
from obverse.curator.many import many_times
from obverse.curator.sweeps import Explored, Line, Sought, Sweep
from obverse.curator.usual_questions import usual_questions
from obverse.plan.explain import measures_json
from obverse.plan.learned import Learned
from obverse.plan.nodes import scans
from obverse.plan.query import Question
from obverse.session.claims import belief_words
from obverse.session.learned_limits import load_learned, with_defaults
from obverse.session.opening import load_project
from obverse.session.planning import Planned, Wish, plan, read

SUPPOSED = 10  # rows of one unit, where that is still to be learned


def explore(project: Path, questions: Sequence[str] = (), sought: Sought | None = None) -> tuple[Explored, ...]:
    """Each question, or the usual ones of the declared tables, under each setting. Opens no ledger, reads no private row."""
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
            return plan(sql, question, declared, Wish(epsilon, delta, confidence=sought.confidence), learned=own(declared))
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
MANY_NOTE = "each is asked by itself and paid in advance: pure adds epsilons, zcdp adds rho, so that noise grows with the root"
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
    limited, measures = planned.costed.annotated.limited, planned.costed.measures
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
    return f"caps are learned, not declared; rows of one unit are supposed to be at most: {', '.join(told)}" if told else ""


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


CAPS_NOTE = "a lower cap has less noise, and leaves out more of those who have more: what that costs only the rows could tell"


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
