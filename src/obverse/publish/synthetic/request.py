"""`publish synthetic`: columns of a declared table to rows that no person stands behind, by one course of the door.

What `--plan` tells of synthetic rows, before any private row is read: steps, noise, when a pair is worth measuring.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from obverse.answers.answer import Price
from obverse.core.errors import Refused
from obverse.core.ledger import Receipt
from obverse.plan.pricing import Plan
from obverse.plan.query import Question
from obverse.plan.release.postprocess import Finished
from obverse.plan.sensitivity import BoundedPlan
from obverse.plan.strategy.adaptive import Chosen, Ground, Noised, Walked, again, walk
from obverse.plan.strategy.matrix import total
from obverse.plan.strategy.pricing import ground_of, on_course, priced_at, roomy
from obverse.publish import pipeline
from obverse.publish.folder.check import opened, sealed
from obverse.publish.folder.files import Folder, Sheet, fresh, write
from obverse.publish.folder.metadata import Figures, metadata
from obverse.publish.folder.write import Done, save
from obverse.publish.method import Entries, Measured, Terms
from obverse.publish.pipeline import paid
from obverse.publish.synthetic.fitting import Noisy, pooled
from obverse.publish.synthetic.marginals import CHOICES, ONES, Seen, variance
from obverse.publish.synthetic.method import Synthetic
from obverse.publish.synthetic.sampling import Shuffle, sampled
from obverse.publish.synthetic.selection import LAST, MIDDLE, ROUNDS, Picking, least_left, per_round
from obverse.publish.tables.request import Wanted, asked
from obverse.publish.workload import CELLS_MAX, Workload, label
from obverse.session.execution import Sealed
from obverse.session.planning import Planned
from obverse.session.session import Session

COLUMNS_MAX = 64
NAMED_MAX = 6  # columns in a title
STRAY_MAX = 1_000_000  # rows, of one standard deviation


@dataclass(frozen=True, slots=True)
class Rows:
    """Which columns get synthetic rows, and what sample is made beside all of them."""

    table: str
    columns: tuple[str, ...]
    bins: Mapping[str, str]
    where: str = ""
    given: tuple[tuple[str, str], ...] = ()  # columns and their values
    wanted: int = 0

    @property
    def title(self) -> str:
        named = ", ".join(self.columns) if len(self.columns) <= NAMED_MAX else f"{len(self.columns)} columns"
        return f"{self.table}: synthetic rows of {named}" + (f", where {self.where}" if self.where else "")

    @property
    def recipe(self) -> dict[str, Any]:
        """What a release's folder keeps of it."""
        return {"verb": "synthetic"} | asdict(self)

    @property
    def asked(self) -> Wanted:
        """A table for each column; pairs are tables of the course."""
        return Wanted(self.table, tuple((name,) for name in self.columns), self.bins, self.where)

    @property
    def note(self) -> str:
        """What the ledger keeps of it: what costs."""
        binned = "".join(f" --bins {name}={text}" for name, text in sorted(self.bins.items()))
        where = f" where {self.where}" if self.where else ""
        return f"publish synthetic {self.table} of {', '.join(self.columns)}{binned}{where}"


@dataclass(frozen=True, slots=True)
class Course:
    """A release of synthetic rows, planned and priced."""

    title: str
    method: Synthetic
    planned: Planned
    price: Price
    terms: Terms
    recipe: Mapping[str, Any]

    @property
    def ground(self) -> Ground:
        return ground_of(self.planned.costed)

    @property
    def paid(self) -> Fraction:
        return priced_at(self.planned.costed)

    @property
    def unit(self) -> Fraction:
        """What a released integer is worth."""
        return self.planned.costed.measures[0].unit


def synthetic_release(
    session: Session, rows: Rows, epsilon: Fraction | None = None, delta: Fraction | None = None
) -> Course:
    """Planned and priced; no row is read."""
    if not 2 <= len(rows.columns) <= COLUMNS_MAX or len(set(rows.columns)) < len(rows.columns):
        raise Refused(
            "bad_workload",
            f"synthetic rows have from two to {COLUMNS_MAX} columns, each named once.",
            fix="Write --columns age,sex,region.",
        )
    workload, question = asked(session.catalog, rows.asked)
    method = Synthetic(workload, given=_given(workload, rows.given), wanted=rows.wanted)
    return course_of(session, rows.title, rows.note, method, question, epsilon, delta, recipe=rows.recipe)


def course_of(
    session: Session,
    title: str,
    note: str,
    method: Synthetic,
    question: Question,
    epsilon: Fraction | None,
    delta: Fraction | None,
    part: Fraction = Fraction(1),
    recipe: Mapping[str, Any] | None = None,
) -> Course:
    """The method's course over the question's rows, for a part of the price."""
    picking = method.course
    _narrow(method.workload, picking)

    def costed(limited: BoundedPlan, epsilon: Fraction, delta: Fraction) -> Plan:
        return on_course(roomy(limited, picking.widest()), picking, epsilon, delta, session.catalog.accounting, part)

    planned = pipeline.planned_release(session, note, replace(question, sets=picking.sets), costed, epsilon, delta)
    made = Course(title, method, planned, pipeline.price_of(session, planned), pipeline.terms_of(session), recipe or {})
    _countable(made)
    return made


def _countable(made: Course) -> None:
    """Rows are as many as the noisy total says; by noise alone it must not be more than a machine holds."""
    picking = made.method.course
    first = picking.first(made.ground, made.paid)
    totals = (size * float(variance(mechanism)) for size, mechanism in zip(picking.sizes, first.mechanisms))
    if min(totals) ** 0.5 * float(made.unit) > STRAY_MAX:
        raise Refused(
            "noise_too_large",
            f"noise alone would make more than {STRAY_MAX:,} rows.",
            why="there are as many synthetic rows as the noisy total says.",
            fix="Allow a larger epsilon, or lower the limits of a unit's rows.",
        )


def _narrow(workload: Workload, picking: Picking) -> None:
    cells = sum(workload.cells(pair) for pair in picking.sets)
    if cells > CELLS_MAX:
        raise Refused(
            "release_too_wide",
            f"the tables of all pairs of columns have {cells:,} cells together; at most {CELLS_MAX:,} are counted.",
            fix="bin the columns more coarsely, or name fewer of them.",
        )


def _given(workload: Workload, given: tuple[tuple[str, str], ...]) -> dict[int, tuple[int, ...]]:
    """Columns held at some of their values, by places."""
    names = [one.name for one in workload.attributes]
    found: dict[int, tuple[int, ...]] = {}
    for name, text in given:
        values = [label(value) for value in workload.attributes[names.index(name)].values] if name in names else []
        if text not in values:
            raise Refused(
                "bad_given",
                f"{name}={text} names no column of the rows with a public value.",
                fix="Write --given COLUMN=VALUE with a value that is declared; a bin by its name, as in 'age=0 to 9'.",
            )
        place = names.index(name)
        found[place] = (*found.get(place, ()), values.index(text))
    return found


def synthesized(session: Session, made: Course, key: str = "") -> tuple[Synthetic, pipeline.Receipted]:
    """Charged, walked and stored; or what is stored of the same release. The method knows what was chosen."""

    def seal(finished: Finished, receipt: Receipt) -> Sealed:
        walked = walk(made.method.course, made.ground, made.paid, again(finished.blocks))
        claim = course_claim(session, made, walked, receipt.id)
        return pipeline.sealed_release(
            made.price, [pipeline.packed(block) for block in finished.blocks], {"claim": claim}
        )

    stored, before = session.measure(made.planned, seal, key)
    fields = json.loads(stored)
    walked = walk(made.method.course, made.ground, made.paid, again(tuple(map(pipeline.unpacked, fields["blocks"]))))
    method, entries = read(made, walked)
    return method, pipeline.Receipted(entries, fields["claim"], fields["price"], before)


def course_claim(session: Session, made: Course, walked: Walked, receipt: str) -> dict[str, Any]:
    """The claim, with the mechanisms of the steps that were taken."""
    claim = pipeline.release_claim(session, made.planned.costed, receipt)
    return claim.as_json() | {"mechanisms": sorted(mechanisms_of(walked))}


def mechanisms_of(walked: Walked) -> set[str]:
    found = set()
    for step in walked.steps:
        found |= {step.mechanism.name} if isinstance(step, Chosen) else {one.name for one in step.mechanisms}
    return found


def read(made: Course, walked: Walked) -> tuple[Synthetic, Measured]:
    """What was measured, and the method with what was chosen."""
    entries = []
    choices = []
    for step, taken in zip(walked.steps, walked.taken):
        if isinstance(step, Noised):
            for block, mechanism, values in zip(step.strategy.blocks, step.mechanisms, taken):
                entries.append(Entries(block, mechanism, float(made.unit), values))
        else:
            choices.append(int(taken[0][0]))
    first = walked.steps[0]
    assert isinstance(first, Noised)
    seen = made.method.course.look(first, walked.taken[0], made.ground, made.paid)
    edges = made.method.course.chosen(made.ground, made.paid, walked.taken)
    return replace(made.method, edges=edges, groups=seen.groups, choices=tuple(choices)), tuple(entries)


def write_sample(folder: Path, given: tuple[tuple[str, str], ...], wanted: int, out: Path) -> int:
    """Rows of a folder's model, given what is held, as CSV and Parquet; how many. Reads the folder alone."""
    found = opened(folder)
    method = found.method
    if not isinstance(method, Synthetic):
        raise Refused("bad_release", "the folder is no release of synthetic rows.", place=str(folder))
    held = {place: np.array(values) for place, values in _given(method.workload, given).items()}
    model = method.fitted(found.measured).model
    many = wanted or method.likely(model, held)
    rows, _ = sampled(model, many, Shuffle(os.urandom(32)), held)
    columns, types = method.values(rows)
    try:
        save(Sheet(out.name, columns, types), out)
    except OSError as error:
        raise Refused(
            "cannot_write", "the sample cannot be written.", place=str(out), why=error.strerror or ""
        ) from None
    return many


def publish_synthetic(
    session: Session, made: Course, out: Path, key: str = "", told: Callable[[float], None] = lambda share: None
) -> Done:
    """Charged once, walked, finished, written, and checked as anybody would."""
    fresh(out)
    method, receipted = synthesized(session, made, key)
    with paid(receipted.stored):
        return written(made, method, receipted, out, told)


def figures_of(made: Course) -> Figures:
    keys = made.planned.costed.root.public.keys
    return Figures(made.terms, made.paid, made.ground.weight, made.unit, all(total(one) for one in keys))


def written(
    made: Course,
    method: Synthetic,
    receipted: pipeline.Receipted,
    out: Path,
    told: Callable[[float], None] = lambda share: None,
    notes: tuple[str, ...] = (),
) -> Done:
    """The folder of what was measured, with its checks."""
    outcome = method.finish(receipted.measured, made.terms)
    found = receipted.measured, figures_of(made), receipted.claim, outcome.agree
    fields: dict[str, Any] = metadata(made.title, method, *found, dict(made.recipe), notes=notes)
    errors = method.errors(receipted.measured, made.terms)
    write(Folder(method, receipted.measured, outcome, errors, fields), out, save, told)
    checks = sealed(out)
    return Done(outcome, receipted, checks)


SCORED_S = 2e-8  # for a cell of a table that is compared with another, at one choice


def plan_json(made: Course) -> dict[str, Any]:
    picking = made.method.course
    ground = made.ground
    paid = made.paid
    first = picking.first(ground, paid)
    fine = finest(picking, made, first)
    alone = picking.measured(fine, (), ground, (1 - ONES) * paid, LAST)
    unit = float(made.unit)
    cells = ground.cells.count
    pair = float(variance(picking.table_noise(ground, paid))) ** 0.5 * unit
    names = [one.name for one in made.method.workload.attributes]
    pairs = [{"name": f"{names[a]} x {names[b]}", "cells": fine.cells((a, b)), "stddev": pair,
              "from_counts": fine.penalty((a, b)) * unit} for a, b in combinations(range(len(names)), 2)]  # fmt: skip
    columns = []
    for n, (name, size) in enumerate(zip(names, picking.sizes)):
        own, more = (float(variance(step.mechanisms[n])) for step in (first, alone))
        columns.append({"name": name, "cells": size, "first": own**0.5 * unit, "stddev": _together(own, more) * unit})
    return {
        "version": 1,
        "price": pipeline.price_json(made.price),
        "shares": {
            "columns": float(ONES),
            "choices of a forest, at most": float(CHOICES),
            "pairs of a forest and columns, if there are any": float(MIDDLE),
            "rounds of more tables, at most": float((1 - ONES) * (1 - least_left())),
            "all chosen tables and columns, at least": float((1 - ONES - CHOICES - MIDDLE) * least_left()),
        },
        "columns": columns,
        "pairs": sorted(pairs, key=lambda one: float(str(one["from_counts"]))),
        "choices_max": len(names) - 1 + ROUNDS * per_round(len(names)),
        "rows_min": min(fine.penalty(one) for one in picking.tables) * unit / 2,
        "cells": cells,
        "memory_mb": max(1, round(cells * pipeline.CELL_BYTES / 1e6)),
        "seconds": cells * (pipeline.NOISE_S + len(names) * SCORED_S),
    }


def finest(picking: Picking, made: Course, first: Noised) -> Seen:
    """As if every value stood by itself: the most cells that a pair may have."""
    ones = tuple(np.zeros(size, dtype=np.int64) for size in picking.sizes)
    seen = picking.look(first, ones, made.ground, made.paid)
    stray = tuple(
        int(size * float(variance(mechanism)) ** 0.5) for size, mechanism in zip(picking.sizes, first.mechanisms)
    )
    groups = tuple(np.arange(size) for size in picking.sizes)
    return Seen(groups, tuple(np.zeros(size) for size in picking.sizes), 1, seen.noise, stray, seen.luck)


def _together(own: float, more: float) -> float:
    nothing = np.zeros(1)
    return float(pooled([Noisy(nothing, own), Noisy(nothing, more)]).variance ** 0.5)
