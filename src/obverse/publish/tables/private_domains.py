"""What a table's release finds out first, for stated shares of its price: edges of bins, and which values a column has.

Claim:   all of it costs what was wished, as one debit.
Proof:   adaptive composition. What is found out has shares of the price, the tables have the rest, whatever is found:
         epsilon, or rho, is split by these shares, and the door holds what follows to the loss that was planned. Where
         values are discovered, delta hides rare ones; under zcdp, half of it does, and all rho is what epsilon allows
         at the other half.
Assumes: the questions are priced by `allocate`, the tables by `weigh`, each for its share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from obverse.catalog import parameters
from obverse.catalog.model import OTHER, Column
from obverse.core.bounds import Interval
from obverse.core.errors import Refused
from obverse.core.loss import Composed
from obverse.core.numbers import exact, plain
from obverse.core.types import Type
from obverse.plan.expressions import refs
from obverse.plan.pricing import Plan, allocate
from obverse.plan.query import Question
from obverse.plan.relation import Filter, every
from obverse.plan.sensitivity import BoundedPlan, annotate
from obverse.plan.verify import verify_price
from obverse.publish import pipeline
from obverse.publish.tables.request import QUANTILES, Wanted, column_of, named_in, private_table, quoted, where_of
from obverse.session.execution import Asked, Earlier
from obverse.session.planning import read
from obverse.session.session import Session

SHARE = Fraction(1, 10)  # of the price, for the edges of one column's bins, unless told
NOMINAL = 16  # values that a plan takes a discovered column to have
MOST = (10_000, 1_000, 100, NOMINAL)  # values that are kept of a discovered column: the first of these that leaves room
DIGITS = 6  # of an edge
Known = Callable[["Session", Wanted, Fraction | None, Fraction | None, Fraction], pipeline.Release]


def following(
    session: Session, wanted: Wanted, epsilon: Fraction | None, delta: Fraction | None, known: Known
) -> pipeline.Release:
    """The release as it would be with nominal cells, and how it is made of what is found."""
    at = parameters.delta(delta) if delta is not None else session.catalog.delta
    pure = session.catalog.accounting == "pure"
    discovers = bool(wanted.discover)
    turned = at / 2 if discovers and not pure else at  # the part of delta that turns rho into epsilon
    first = _firsts(session, wanted, epsilon, at, turned)
    part = 1 - sum((one.share for one in first), Fraction(0))
    paid = at if discovers or not pure else Fraction(0)
    plans = tuple(one.planned for one in first)

    def then(found: pipeline.Found) -> pipeline.Release:
        made = known(session, _settled(wanted, found), epsilon, turned, part)
        costed = replace(made.priced.planned.costed, bias=_words(first, found, session.catalog.version))
        planned = replace(made.priced.planned, costed=costed, first=plans)
        priced = replace(made.priced, planned=planned, price=pipeline.price_of(session, planned, paid), delta=paid)
        return replace(made, priced=priced, first=first, then=then)

    nominal = {one.column: _nominal(session, wanted, one) for one in first}

    def trial(found: pipeline.Found) -> pipeline.Release:
        return known(session, _settled(wanted, found), epsilon, turned, part)

    first = _roomy(session, wanted, first, nominal, trial)
    made = then(nominal)
    whole = replace(made.priced.planned.costed, delta=paid)
    verify_price(Composed((*(one.costed.loss for one in plans), whole.loss)), whole)
    return replace(made, title=wanted.title)


def _roomy(
    session: Session,
    wanted: Wanted,
    first: tuple[pipeline.First, ...],
    nominal: pipeline.Found,
    trial: Callable[[pipeline.Found], pipeline.Release],
) -> tuple[pipeline.First, ...]:
    """With the most values that are kept of those that are found: what follows is then never too wide, which is
    tried here.
    """
    if not wanted.discover:
        return first
    for most in MOST:
        found = nominal | {one.column: _values(session, wanted, one, most) for one in first if one.kind == "values"}
        try:
            trial(found)
        except Refused as refused:
            if refused.code != "release_too_wide" or most == MOST[-1]:
                raise
        else:
            return tuple(replace(one, most=most) for one in first)
    raise AssertionError


def measured_release(
    session: Session, made: pipeline.Release, key: str = ""
) -> tuple[pipeline.Release, pipeline.Receipted]:
    """Charged once and measured; the release as it is with what was found out first."""
    if made.then is None:
        return made, pipeline.measured(session, made.priced, key)
    follow = made.then

    def then(earlier: Earlier) -> Asked:
        found = {one.column: _found(one, finished.rows) for one, (_, finished) in zip(made.first, earlier, strict=True)}
        settled = follow(found).priced
        return Asked(settled.planned.costed, settled.planned.emitted, pipeline.sealing(session, settled, found))

    apart = "; ".join(f"{one.planned.text} for {one.share}" for one in made.first)
    planned = made.priced.planned
    stored, again = session.measure(
        planned, pipeline.sealing(session, made.priced), key, then, f"release after {apart}"
    )
    settled = follow(_stored(stored))
    return settled, pipeline.receipted(settled.priced, stored, again)


def _stored(stored: bytes) -> pipeline.Found:
    import json

    found: pipeline.Found = json.loads(stored)["found"]
    return found


def _firsts(
    session: Session, wanted: Wanted, epsilon: Fraction | None, delta: Fraction, turned: Fraction
) -> tuple[pipeline.First, ...]:
    table = private_table(session.catalog, wanted.table)
    found = []
    where = where_of(wanted)
    for name, text in wanted.bins.items():
        if not text.startswith(QUANTILES):
            continue
        column = column_of(table, name)
        bins, share = _quantiles(name, text)
        if column.type not in (Type.INTEGER, Type.DOUBLE) or not isinstance(column.bounds, Interval):
            raise Refused("bad_bins", f"{name!r} is not a number with declared bounds, so it has no bins.")
        function = "QUANTILE_DISC" if column.type is Type.INTEGER else "QUANTILE_CONT"
        each = ", ".join(f"{function}({quoted(name)}, {n / bins!r})" for n in range(1, bins))
        question = _read(session, f"SELECT {each} FROM {quoted(wanted.table)}{where}")
        words = f"the edges of {bins} bins of {name}"
        found.append(_first(session, name, "bins", share, question, words, epsilon, turned))
    for name, text in wanted.discover.items():
        column = column_of(table, name)
        share = _share(name, text)
        if column.type not in (Type.TEXT, Type.INTEGER) or name not in wanted.columns or name in wanted.bins:
            raise Refused(
                "bad_discovery",
                f"the values of {name!r} cannot be discovered.",
                why="it is no column of text or whole numbers of the tables, or it has bins.",
            )
        question = _read(
            session, f"SELECT {quoted(name)}, COUNT(*) FROM {quoted(wanted.table)}{where} GROUP BY {quoted(name)}"
        )
        if any(key.domain is not None for key in question.keys):
            raise Refused("bad_discovery", f"the values of {name!r} are public already.", fix="Leave --discover out.")
        _unread(name, question)
        keys_alone = replace(question, aggregates=(), outputs=question.outputs[:1])
        words = f"which values {name} has"
        part = delta / len(wanted.discover)
        found.append(_first(session, name, "values", share, keys_alone, words, epsilon, part))
    read_by = {name for text in (wanted.zeros, *wanted.derive.values()) if text for name in named_in(text)}
    if read_by & {one.column for one in found}:
        raise Refused(
            "bad_derivation", "what is known publicly of cells cannot follow from those that are found out first."
        )
    if sum((one.share for one in found), Fraction(0)) >= 1:
        raise Refused("bad_shares", "nothing of the price is left for the tables.", fix="Give smaller shares.")
    return tuple(found)


def _unread(name: str, question: Question) -> None:
    """Refuse a condition over a column whose values are found out first."""
    if name in {ref.name for one in every(question.relation) if isinstance(one, Filter) for ref in refs(one.predicate)}:
        raise Refused(
            "bad_discovery",
            f"the condition reads {name!r}, whose values are found out first.",
            why="a value that is not found is read as missing, so that its rows would be counted nowhere.",
            fix="leave it out of the condition, and read the part of the release that you need.",
        )


def _read(session: Session, sql: str) -> Question:
    question = read(sql, session.catalog, pipeline.now())
    if not isinstance(question, Question):
        raise Refused("bad_workload", "the condition is not one on rows.", fix='Write --where "age >= 18".')
    return question


def _first(
    session: Session,
    name: str,
    kind: Any,
    share: Fraction,
    question: Question,
    words: str,
    epsilon: Fraction | None,
    delta: Fraction,
) -> pipeline.First:
    def costed(limited: BoundedPlan, epsilon: Fraction, _: Fraction) -> Plan:
        return allocate(annotate(limited), epsilon, delta, session.catalog.accounting, share)

    return pipeline.First(
        name, kind, share, pipeline.planned_release(session, words, question, costed, epsilon, None), words
    )


def _quantiles(name: str, text: str) -> tuple[int, Fraction]:
    """quantiles:8, or quantiles:8@0.05 with the share of the price that finds them."""
    number, _, share = text[len(QUANTILES) :].partition("@")
    if not number.isascii() or not number.isdigit() or not 2 <= int(number) <= 64:
        raise Refused("bad_bins", f"{name}={text} does not name 2 to 64 bins.", fix=f"Write {name}=quantiles:8.")
    return int(number), _share(name, share) if share else SHARE


def _share(name: str, text: str) -> Fraction:
    try:
        share = exact(text.strip())
    except Refused:
        share = Fraction(0)
    if not 0 < share < 1:
        raise Refused(
            "bad_shares", f"the share of the price for {name!r} lies between 0 and 1.", fix=f"Write {name}=0.1."
        )
    return share


def _nominal(session: Session, wanted: Wanted, one: pipeline.First) -> list[Any]:
    """What a plan takes to be found."""
    if one.kind == "values":
        return _values(session, wanted, one, NOMINAL)
    column = column_of(private_table(session.catalog, wanted.table), one.column)
    bounds = column.bounds
    bins, _ = _quantiles(one.column, wanted.bins[one.column])
    assert isinstance(bounds, Interval)
    return _edges(column, [float(bounds.lo + bounds.spread * n / bins) for n in range(1, bins)])


def _values(session: Session, wanted: Wanted, one: pipeline.First, many: int) -> list[Any]:
    """So many made-up values."""
    whole = column_of(private_table(session.catalog, wanted.table), one.column).type is Type.INTEGER
    return [n if whole else f"value {n + 1}" for n in range(many)]


def _edges(column: Column, quantiles: list[Any]) -> list[str]:
    """Rising edges from bound to bound, in few digits; those that fall together are one."""
    assert isinstance(column.bounds, Interval)
    lo = column.bounds.lo
    hi = column.bounds.hi
    whole = column.type is Type.INTEGER
    inner = sorted({Fraction(round(q) if whole else f"{q:.{DIGITS}g}") for q in quantiles if q is not None})
    return [plain(lo), *(plain(edge) for edge in inner if lo < edge < hi), plain(hi)]


def _found(one: pipeline.First, rows: tuple[Any, ...]) -> list[Any]:
    """Post-processing of what was released."""
    if one.kind == "values":
        return [row[0] for row in rows if row[0] is not None][: one.most]
    expr = one.planned.question.aggregates[0].argument
    assert expr is not None
    column = Column(one.column, expr.facts.type, bounds=expr.facts.bounds)
    return _edges(column, list(rows[0]))


def _settled(wanted: Wanted, found: Mapping[str, list[Any]]) -> Wanted:
    """What was asked for, with what was found in its place."""
    bins = {n: ",".join(found[n]) if text.startswith(QUANTILES) else text for n, text in wanted.bins.items()}
    values = {name: tuple(found[name]) for name in wanted.discover}
    return replace(wanted, bins=bins, values=values)


def _words(first: tuple[pipeline.First, ...], found: Mapping[str, list[Any]], version: int) -> str:
    """What the claim says of it."""
    said = []
    for one in first:
        share = f"with {one.share} of the price"
        if one.kind == "bins":
            said.append(
                f"the edges of {one.column}'s bins were found privately {share}: {', '.join(found[one.column])}"
            )
            continue
        threshold = one.planned.costed.threshold
        assert threshold is not None
        seen = threshold.seen_from(one.planned.costed.level)
        text = one.planned.question.keys[0].expr.facts.type is Type.TEXT
        rest = OTHER if text and version >= 2 else "missing"
        said.append(
            f"the values of {one.column} were discovered {share} and delta {plain(threshold.delta)}: values of fewer "
            "than "
            f"{seen} units may be left out, of more than {one.most:,} the last are; there are others than those "
            "listed, "
            f"and they count as {rest}"
        )
    return "; ".join(said)
