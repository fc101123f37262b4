"""`publish synthetic --parent`: rows of people and of what belongs to them, by two courses that are one debit.

Claim:   both cost what was wished, as one debit, for the unit that both tables have.
Proof:   adaptive composition. Parents have a share of epsilon, or rho, children the rest, and the door holds each
         course to its own (plan/strategy/adaptive). A unit is one row of parents, whose number of children is its own
         aggregate (Reduce), at most what limits say; its children weigh at most as much together in every table
         (Limit). Rows are made of noisy numbers alone.
Assumes: the parent has one row per unit, which the catalog says and the plan enforces.

A release of parents and children measured and written: the door once, two folders, their rows, and all checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from obverse.answers.answer import Price
from obverse.catalog.model import Catalog, Limits, Table
from obverse.core.errors import Refused
from obverse.core.ledger import Receipt
from obverse.core.types import Type
from obverse.plan.query import Question
from obverse.plan.release.postprocess import Finished
from obverse.plan.strategy.adaptive import Walked, again, walk
from obverse.plan.verify import verify_price
from obverse.publish.families.folder import expected, metadata, write_families
from obverse.publish.families.linking import CHILDREN, NUMBER, PARENTS, Family, Part
from obverse.publish.folder.check import Check, sealed
from obverse.publish.folder.files import fresh
from obverse.publish.folder.write import save
from obverse.publish.pipeline import Receipted, now, packed, paid, price_of, sealed_release, unpacked
from obverse.publish.synthetic.method import Synthetic
from obverse.publish.synthetic.request import COLUMNS_MAX, Course, course_claim, course_of, figures_of, read, written
from obverse.publish.tables.request import cut_of, private_table, quoted, with_nulls
from obverse.publish.workload import Attribute, Workload
from obverse.session.execution import Asked, Earlier, Sealed
from obverse.session.planning import Planned
from obverse.session.planning import read as read_sql
from obverse.session.session import Session

HALF = Fraction(1, 2)  # of the price, for parents, unless told
CHILDREN_MAX = 1000  # of one parent: each number is a cell


@dataclass(frozen=True, slots=True)
class Relatives:
    """Which columns of which two tables get synthetic rows, and the share of the price that parents have."""

    table: str
    parent: str
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]
    bins: Mapping[str, str] = field(default_factory=dict)
    share: Fraction = HALF

    @property
    def title(self) -> str:
        return f"{self.parent} and their {self.table}: synthetic rows"

    @property
    def note(self) -> str:
        """What the ledger keeps of it: what costs."""
        binned = "".join(f" --bins {name}={text}" for name, text in sorted(self.bins.items()))
        named = f"{', '.join(self.columns)} and {self.parent} of {', '.join(self.parent_columns)}"
        return f"publish synthetic {self.table} of {named}{binned}, {self.share} for {self.parent}"


@dataclass(frozen=True, slots=True)
class Families:
    """A release of parents and children, planned and priced."""

    title: str
    family: Family
    parents: Course
    children: Course
    price: Price
    share: Fraction  # of parents

    @property
    def planned(self) -> Planned:
        """Both as one: children after parents."""
        return replace(self.children.planned, first=(self.parents.planned,))


def family_release(
    session: Session, wanted: Relatives, epsilon: Fraction | None = None, delta: Fraction | None = None
) -> Families:
    """Planned and priced; no row is read."""
    family, child, parent = related(session.catalog, wanted)
    if not 0 < wanted.share < 1:
        raise Refused(
            "bad_shares", "the parents' share of the price lies between 0 and 1.", fix="Write --parent-share 0.5."
        )
    parents = _parents(session.catalog, wanted, family, child, parent)
    children = _children(session.catalog, wanted, family, child, parent)
    courses = []
    for (method, question), part, of in zip((parents, children), (wanted.share, 1 - wanted.share), (PARENTS, CHILDREN)):
        courses.append(course_of(session, f"{wanted.title}: {of}", wanted.note, method, question, epsilon, delta, part))
    first, then = courses
    made = Families(wanted.title, family, first, then, then.price, wanted.share)
    verify_price(made.planned.loss, then.planned.costed)
    return replace(made, price=price_of(session, made.planned))


def related(catalog: Catalog, wanted: Relatives) -> tuple[Family, Table, Table]:
    """How the two tables belong to each other; what cannot be is refused."""
    child = private_table(catalog, wanted.table)
    parent = private_table(catalog, wanted.parent)
    assert child.unit is not None
    assert parent.unit is not None
    key = parent.unit.column
    steps = child.unit.steps
    if key is None or parent.limits is not None or parent.unit.steps or steps != ((parent.name, key),):
        raise Refused(
            "not_related",
            f"rows of {child.name} do not belong to one row of {parent.name} each.",
            why="parents are the table of the unit, with one row each, and children name it by its key.",
            fix=f'declare unit = "{key or "KEY"} -> {parent.name}.{key or "KEY"}" and limits for {child.name}.',
        )
    named = (wanted.columns, wanted.parent_columns)
    many = sum(map(len, named))
    if not all(named) or many > COLUMNS_MAX or any(len({*one}) < len(one) or {key, NUMBER} & {*one} for one in named):
        raise Refused(
            "bad_workload",
            f"each table has a column at least, both have at most {COLUMNS_MAX}, and each is named once; "
            f"none of them is {key} or {NUMBER}.",
            fix="Write --columns clinic,cost --parent-columns age,sex.",
        )
    for name in wanted.bins:
        if name not in (*wanted.columns, *wanted.parent_columns):
            raise Refused("bad_bins", f"bins are given for {name!r}, which is in no table.", fix="Leave them out.")
    most = child.limits.rows if isinstance(child.limits, Limits) else 1
    if most > CHILDREN_MAX:
        raise Refused(
            "release_too_wide",
            f"one of {parent.name} may have {most:,} rows of {child.name}; at most {CHILDREN_MAX:,} are told apart.",
            fix=f"declare smaller limits for {child.name}.",
        )
    return Family(parent.name, child.name, key, most, len(wanted.columns)), child, parent


def _parents(
    catalog: Catalog, wanted: Relatives, family: Family, child: Table, parent: Table
) -> tuple[Synthetic, Question]:
    """Rows of parents, with the number of their children: of those that have a value in each column."""
    assert child.unit is not None
    key = quoted(str(child.unit.column))
    own = {n: c for n, c in child.columns.items() if n in wanted.columns}
    cuts = [cut_of(parent, name, wanted.bins, "p.") for name in wanted.parent_columns]
    whole = " AND ".join(f"{quoted(name)} IS NOT NULL" for name, column in own.items() if not column.nullable)
    counted = (
        f"SELECT {key}, COUNT(*) AS n FROM {quoted(child.name)}{' WHERE ' + whole if whole else ''} GROUP BY {key}"
    )
    cuts.append((Attribute(NUMBER, tuple(range(family.most + 1)), Type.INTEGER), "COALESCE(c.n, 0)"))
    joined = f"{quoted(parent.name)} AS p LEFT JOIN ({counted}) AS c ON c.{key} = p.{quoted(family.key)}"
    return _asked(catalog, joined, cuts)


def _children(
    catalog: Catalog, wanted: Relatives, family: Family, child: Table, parent: Table
) -> tuple[Synthetic, Question]:
    """Rows of children, each with its parent's columns."""
    assert child.unit is not None
    cuts = [cut_of(child, name, wanted.bins, "c.") for name in wanted.columns]
    for name in wanted.parent_columns:
        attribute, text = cut_of(parent, name, wanted.bins, "p.")
        cuts.append((replace(attribute, name=f"{parent.name}.{name}"), text))
    on = f"c.{quoted(str(child.unit.column))} = p.{quoted(family.key)}"
    return _asked(catalog, f"{quoted(child.name)} AS c JOIN {quoted(parent.name)} AS p ON {on}", cuts)


def _asked(catalog: Catalog, rows: str, cuts: list[tuple[Attribute, str]]) -> tuple[Synthetic, Question]:
    sets = ", ".join(f"({text})" for _, text in cuts)
    question = read_sql(f"SELECT COUNT(*) AS n FROM {rows} GROUP BY GROUPING SETS ({sets})", catalog, now())
    assert isinstance(question, Question)
    attributes = with_nulls([one for one, _ in cuts], question)
    return Synthetic(Workload(attributes, tuple((i,) for i in range(len(attributes))))), question


@dataclass(frozen=True, slots=True)
class Kept:
    """What was measured: of each part the method, with what was chosen, and its measurements with their claim."""

    parents: tuple[Synthetic, Receipted]
    children: tuple[Synthetic, Receipted]
    claim: dict[str, Any]  # of both
    stored: bool


def measured_families(session: Session, made: Families, key: str = "") -> Kept:
    """Charged once, both courses walked, and stored; or what is stored of the same release."""
    courses = {PARENTS: made.parents, CHILDREN: made.children}

    def sealed(found: Mapping[str, Finished]) -> Callable[[Finished, Receipt], Sealed]:
        def seal(finished: Finished, receipt: Receipt) -> Sealed:
            blocks = {name: one.blocks for name, one in {**found, CHILDREN: finished}.items()}
            walks = {name: _walked(course, blocks[name]) for name, course in courses.items()}
            claims = {name: course_claim(session, courses[name], walked, receipt.id) for name, walked in walks.items()}
            some = {name: [packed(block) for block in each] for name, each in blocks.items()}
            return sealed_release(made.price, some, {"claims": claims})

        return seal

    def then(earlier: Earlier) -> Asked:
        ((_, first),) = earlier
        planned = made.children.planned
        return Asked(planned.costed, planned.emitted, sealed({PARENTS: first}))

    batch = f"release after {made.share}"
    stored, before = session.measure(made.planned, sealed({}), key, then, batch, after=(made.parents.planned,))
    fields = json.loads(stored)
    found = []
    for name, course in courses.items():
        method, entries = read(course, _walked(course, tuple(map(unpacked, fields["blocks"][name]))))
        found.append((method, Receipted(entries, fields["claims"][name], fields["price"], before)))
    return Kept(found[0], found[1], _both(fields["claims"]), before)


def _walked(course: Course, blocks: tuple[Any, ...]) -> Walked:
    return walk(course.method.course, course.ground, course.paid, again(blocks))


def _both(claims: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One claim for both: what it costs stands in each of them."""
    first = claims[PARENTS]
    then = claims[CHILDREN]
    words = {
        name: "; ".join(f"{of}: {one[name]}" for of, one in claims.items() if one[name]) for name in ("limits", "bias")
    }
    return then | words | {"mechanisms": sorted({*first["mechanisms"], *then["mechanisms"]})}


NOTE = "This is one of two parts of a release; the price is that of both together, and one debit."
MEASURED = 0.3  # of the work


@dataclass(frozen=True, slots=True)
class DoneFamilies:
    """A release that stands in its folder."""

    receipted: Receipted
    checks: tuple[Check, ...]


def publish_families(
    session: Session, made: Families, out: Path, key: str = "", told: Callable[[float], None] = lambda share: None
) -> DoneFamilies:
    """Charged once, measured, written, and checked as anybody would."""
    fresh(out)
    kept = measured_families(session, made, key)
    told(MEASURED)
    with paid(kept.stored):
        return _written(made, kept, out)


def _written(made: Families, kept: Kept, out: Path) -> DoneFamilies:
    parts = []
    for name, course, (method, receipted) in (
        (PARENTS, made.parents, kept.parents),
        (CHILDREN, made.children, kept.children),
    ):
        fresh(out / name)
        written(course, method, receipted, out / name, notes=(NOTE,))
        parts.append((Part(method, receipted.measured), figures_of(course)))
    fields = metadata(made.title, made.family, parts, kept.claim, made.share)
    both = parts[0][0], parts[1][0]
    write_families(out, fields, *both, expected(*both, made.parents.terms), save)
    checks = sealed(out)
    return DoneFamilies(replace(kept.children[1], claim=kept.claim), checks)
