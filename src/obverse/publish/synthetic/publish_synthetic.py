"""`publish synthetic`: columns of a declared table to rows that no person stands behind, by one course of the door."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.answers.answer import Price
from obverse.catalog import parameters
from obverse.catalog.model import Budget
from obverse.core.errors import Refused
from obverse.core.ledger import Receipt
from obverse.plan.emit.overlay import NOTHING
from obverse.plan.limit import limit
from obverse.plan.partitions import check_parts, touched
from obverse.plan.query import Question
from obverse.plan.release.finish import Finished
from obverse.plan.strategy.adaptive import Chosen, Ground, Noised, Walked, again, walk
from obverse.plan.strategy.pricing import ground_of, on_course, priced_at, roomy
from obverse.plan.strategy.strategy import total
from obverse.plan.verify import verify
from obverse.publish.base import Entries, Measured, Terms
from obverse.publish.folder.check import opened, sealed
from obverse.publish.folder.folder import Folder, fresh, write
from obverse.publish.folder.metadata import Figures, metadata
from obverse.publish.folder.sheets import Sheet
from obverse.publish.folder.write import Done, save
from obverse.publish.labels import label
from obverse.publish.publishing import FORMAT, Receipted, packed, paid, terms_of, unpacked
from obverse.publish.synthetic.marginals import variance
from obverse.publish.synthetic.method import Synthetic
from obverse.publish.synthetic.picking import Picking
from obverse.publish.synthetic.sampling import Shuffle, sampled
from obverse.publish.tables.publish_tables import Wanted, asked
from obverse.publish.workload import CELLS_MAX, Workload
from obverse.session.authorization import allowed_for
from obverse.session.claims import claim_of
from obverse.session.planning import Planned, printed

if TYPE_CHECKING:
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
        return self.planned.costed.annotated.measures[0].unit


def synthetic_release(session: Session, rows: Rows, epsilon: Fraction | None = None, delta: Fraction | None = None) -> Course:
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
    catalog, picking = session.catalog, method.course
    _narrow(method.workload, picking)
    question = replace(question, sets=picking.sets)
    allowed_for(question, catalog, session.purpose)
    annotated = roomy(limit(question, catalog), picking.widest())
    paid = parameters.epsilon(epsilon) if epsilon is not None else catalog.epsilon
    at = parameters.delta(delta) if delta is not None else catalog.delta
    costed = on_course(annotated, picking, paid, at, catalog.accounting, part)
    verify(costed)
    check_parts(question, catalog)
    emitted = printed(annotated.limited.root, catalog, session.hash_key())
    planned = Planned(note, question, costed, emitted(NOTHING), emitted, touched(question.relation, catalog))
    price, _ = session.purse.priced(costed.loss, costed.epsilon, costed.delta, planned.partitions)
    made = Course(title, method, planned, price, terms_of(session), recipe or {})
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


def synthesized(session: Session, made: Course, key: str = "") -> tuple[Synthetic, Receipted]:
    """Charged, walked and stored; or what is stored of the same release. The method knows what was chosen."""
    planned = made.planned

    def seal(finished: Finished, receipt: Receipt) -> bytes:
        costed = planned.costed
        charged = Budget(costed.epsilon, costed.delta)
        claim = claim_of(costed, session.catalog, session.purse.whole(), receipt.id, charged, "this release")
        walked = walk(made.method.course, made.ground, made.paid, again(finished.blocks))
        fields = {
            "version": FORMAT,
            "kind": "release",
            "claim": claim.as_json() | {"mechanisms": sorted(mechanisms_of(walked))},
            "price": {"epsilon": made.price.epsilon, "delta": made.price.delta, "share": made.price.share},
            "blocks": [packed(block) for block in finished.blocks],
        }
        return json.dumps(fields, ensure_ascii=False).encode()

    stored, before = session.measure(planned, seal, key)
    fields = json.loads(stored)
    walked = walk(made.method.course, made.ground, made.paid, again(tuple(map(unpacked, fields["blocks"]))))
    method, entries = read(made, walked)
    return method, Receipted(entries, fields["claim"], fields["price"], before)


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
    import numpy as np

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
        raise Refused("cannot_write", "the sample cannot be written.", place=str(out), why=error.strerror or "") from None
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
    keys = made.planned.costed.annotated.limited.root.public.keys
    return Figures(made.terms, made.paid, made.ground.weight, made.unit, all(total(one) for one in keys))


def written(
    made: Course,
    method: Synthetic,
    receipted: Receipted,
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
