"""The product without its noise, for tests: what an answer would be if every mechanism were at its zero-noise limit.

The zero-noise limit of every additive mechanism.

The seeded twin of Rng, for tests only: the same draws from the same seed.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import EllipsisType
from typing import Any, ClassVar, NoReturn

import numpy as np

from obverse.catalog.model import Catalog
from obverse.core.errors import InvariantBroken, Refused
from obverse.core.ledger import Receipt
from obverse.core.rng import Rng
from obverse.mechanisms.base import Additive, Example, Vector
from obverse.mechanisms.bernoulli import Bits
from obverse.mechanisms.enclosures import Enclosure
from obverse.plan.emit.overlay import Overlay
from obverse.plan.release.postprocess import Finished
from obverse.plan.sensitivity import MeasuredPlan
from obverse.session.execution import Asked, Debit, Gateway, Join, Outcome, Sealed, charged, only
from obverse.session.session import Session


@dataclass(frozen=True, slots=True)
class Identity(Additive):
    """Adds nothing.

    Claim:   none. No loss covers it: `loss` raises, and `plan.verify` knows no such mechanism, so no charge can.
    Proof:   none is needed.
    Assumes: the tables are synthetic.
    """

    name: ClassVar[str] = "identity"
    least: int = 1  # units that a key has, to be told

    def loss(self) -> NoReturn:
        raise InvariantBroken("the identity has no loss that could be counted")

    def noise(self, n: int, rng: Rng) -> Vector:
        return np.zeros(n, dtype=np.int64)

    def mass(self, z: int) -> Enclosure:
        whole = Fraction(int(z == 0))
        return whole, whole

    def tail(self, h: int) -> Enclosure:
        return Fraction(0), Fraction(0)

    def stddev(self) -> float:
        return 0.0

    def interval(self, level: float) -> int:
        return 0

    def scaled(self, factor: Fraction) -> Identity:
        return self

    def each(self, scores: Vector, rng: Rng) -> Vector:
        """The best candidate of each row: a choice without noise."""
        return np.asarray(scores.argmax(axis=1))

    def passes(self, counts: Vector, rng: Rng) -> Bits:
        """Every key that some unit has, or as many as asked for: a threshold without noise."""
        return np.asarray(counts >= self.least)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return ()


class SeededRng(Rng):
    """A stream of SHAKE-256 digests of (seed, request number). Never use it for a release."""

    __slots__ = ("_requests", "_seed")

    def __init__(self, seed: int) -> None:
        # Rng.__init__ is left out on purpose: it refuses seeds.
        self._seed = seed.to_bytes(16, "little", signed=True)
        self._requests = itertools.count()

    def raw(self, n: int) -> bytes:
        return hashlib.shake_256(self._seed + next(self._requests).to_bytes(8, "little")).digest(n)


LIFTED = 10_000  # rows that a unit's own aggregates may count
SENTENCE = (
    "No privacy: this is the exact answer over synthetic tables, given by the test harness. It protects nobody, "
    "costs nothing and must not be released."
)


def noiseless(
    project: Path | str, limits: EllipsisType | None = ..., *, analyst: str = "", purpose: str = ""
) -> Session:
    """A session whose answers carry no noise, over tables that our generators signed; anything else is refused.

    The ledger is in memory and nothing is charged. Clamps, the grid and contribution limits stay as declared;
    `limits=None` lifts the last: every row that has a unit then counts in full.
    """
    from obverse.catalog.load import load
    from obverse.ledger.memory import MemoryLedger
    from obverse.session.overlay import overlay_here
    from obverse.session.project import Project, claimed, load_project
    from obverse.session.session import Session

    _only_synthetic(load(project))
    loaded = load_project(Path(project))
    catalog = loaded.catalog
    try:
        if catalog.unit is None:
            return Session(loaded, None, analyst=analyst, purpose=purpose)
        ledger = MemoryLedger("noiseless", claimed(catalog).terms, catalog.budget)
        asked = Project(lifted(catalog) if limits is None else catalog, loaded.engine)
        gateway = noiseless_gateway(catalog, in_full if limits is None else _as_planned)
        overlay = overlay_here(catalog)
        return Session(
            asked,
            ledger,
            analyst=analyst,
            purpose=purpose,
            overlay=lambda: overlay,
            dataset="noiseless",
            gateway=gateway,
        )
    except BaseException:
        loaded.engine.close()
        raise


def noiseless_gateway(catalog: Catalog, counted: Callable[[MeasuredPlan], MeasuredPlan]) -> Gateway:
    """What stands in for `ask`: the same steps, with the identity in place of each mechanism, and no charge."""
    from obverse.core.loss import NO_LOSS

    def gateway(
        questions: tuple[Asked, ...],
        debit: Debit,
        *,
        join: Join = only,
        started: Callable[[Receipt], None] = lambda receipt: None,
        **rest: Any,
    ) -> Outcome:
        bare = tuple(_without_noise(question, catalog, counted) for question in questions)
        return charged(bare, replace(debit, loss=NO_LOSS), join=join, started=started, **rest)

    return gateway


def lifted(catalog: Catalog) -> Catalog:
    """The catalog as if each row were its own unit, so that terms keep the finest grid and no total is cut.

    A huge cap would not do: a term times its cap must fit 32 bits, so it would coarsen the grid. The engine's text is
    still printed from the declared catalog, so rows without a unit stay left out.
    """
    from obverse.catalog.model import Limits, Table

    class Lifted(Table):
        """A table whose rows all count."""

        @property
        def row_is_unit(self) -> bool:
            return True

    tables = {
        name: table
        if table.public
        else Lifted(
            table.name,
            table.source,
            table.columns,
            table.unit,
            None if table.limits is None else Limits(LIFTED),
            table.size,
        )
        for name, table in catalog.tables.items()
    }
    return replace(catalog, tables=tables)


def in_full(planned: MeasuredPlan) -> MeasuredPlan:
    """The plan in which every row counts: a join may have left a unit with more rows than one, and with a cap on
    them.
    """
    from obverse.plan.aggregates import BY_NAME
    from obverse.plan.relation import Aggregate, Limit, Project, Shape
    from obverse.plan.sensitivity import annotate

    limited = planned
    question = planned.question
    setting = replace(limited.setting, shape=Shape.ROW, rows=1, groups=1, alone=False)
    each = [BY_NAME[call.function].measures(call, setting) for call in question.aggregates]
    measures = list(dict.fromkeys(measure for those in each for measure in those))
    serves = tuple(tuple(measures.index(measure) for measure in those) for those in each)
    root = Aggregate(Project(Limit(question.relation, Shape.ROW, 1), question.keys, tuple(measures), question.sets))
    return annotate(replace(limited, root=root, setting=setting, serves=serves))


def _as_planned(planned: MeasuredPlan) -> MeasuredPlan:
    return planned


def _without_noise(question: Asked, catalog: Catalog, counted: Callable[[MeasuredPlan], MeasuredPlan]) -> Asked:
    from obverse.plan.emit.emit import emit
    from obverse.plan.pricing import Thresholded, with_mechanisms, with_noise
    from obverse.plan.strategy.graph.pricing import GraphPlan

    costed = question.costed
    if isinstance(costed, GraphPlan):
        raise Refused("no_noiseless_graph", "a network is not published without noise.", fix="Count it yourself.")
    annotated = counted(costed)

    def sql(overlay: Overlay) -> str:
        return emit(annotated.root, catalog, catalog.engine.get("kind", "duckdb"), overlay=overlay)

    mechanisms: Any = tuple(Identity() for _ in annotated.measures)
    noise = with_mechanisms(costed, mechanisms).noise
    if isinstance(noise, Thresholded):
        threshold: Any = Identity(noise.threshold.least)
        noise = Thresholded(mechanisms, threshold)
    bare = with_noise(
        annotated,
        noise,
        costed.loss,
        epsilon=costed.epsilon,
        delta=costed.delta,
        accounting=costed.accounting,
        level=costed.level,
        bias=costed.bias,
    )
    first = tuple(_without_noise(one, catalog, counted) for one in question.first)
    follows = question.then
    then = None if follows is None else lambda found: _without_noise(follows(found), catalog, counted)
    return Asked(bare, sql, _unclaimed(question.seal), first, then)


def _unclaimed(seal: Callable[[Finished, Receipt], Sealed]) -> Callable[[Finished, Receipt], Sealed]:
    """The same answer with a claim that claims nothing."""
    from obverse.answers.answer import Answer, Price, Remaining

    def sealed(finished: Finished, receipt: Receipt) -> Sealed:
        answer = Answer.from_bytes(seal(finished, receipt).stored, Remaining(1.0, None, None))
        claim = replace(
            answer.claim,
            epsilon="infinity",
            delta="1",
            mechanisms=(Identity.name,),
            belief="An attacker may come to believe anything with certainty.",
            sentence=SENTENCE,
        )
        answer = replace(answer, claim=claim, price=Price("0", "0", 0.0, False))
        return Sealed(answer.to_bytes(), answer)

    return sealed


def _only_synthetic(catalog: Catalog) -> None:
    """Each table must be a file that one of our generators signed, with the content that it has now."""
    from obverse.demo.project import MANIFEST, matches

    for table in catalog.held:
        path = table.source.path
        if path is None or not matches(path.parent / MANIFEST, [path]):
            raise Refused(
                "not_synthetic",
                f"table {table.name} is not known to be synthetic, so it is not opened without noise.",
                why=f"no {MANIFEST} beside it lists this file with its present content.",
                fix="Use the sample of `obverse demo`, or make the tables with obverse.testing.synthetic.",
            )
