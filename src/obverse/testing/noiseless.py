"""The product without its noise, for tests: what an answer would be if every mechanism were at its zero-noise limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from obverse.core.errors import Refused
from obverse.testing.identity import Identity

if TYPE_CHECKING:
    from obverse.catalog.model import Catalog
    from obverse.core.ledger import Receipt
    from obverse.plan.annotate import AnnotatedPlan
    from obverse.plan.emit.overlay import Overlay
    from obverse.plan.release.finish import Finished
    from obverse.session.charge import Debit
    from obverse.session.execution import Asked
    from obverse.session.session import Session

LIFTED = 10_000  # rows that a unit's own aggregates may count
SENTENCE = (
    "No privacy: this is the exact answer over synthetic tables, given by the test harness. It protects nobody, "
    "costs nothing and must not be released."
)


def noiseless(project: Path | str, limits: EllipsisType | None = ..., *, analyst: str = "", purpose: str = "") -> Session:
    """A session whose answers carry no noise, over tables that our generators signed; anything else is refused.

    The ledger is in memory and nothing is charged. Clamps, the grid and contribution limits stay as declared;
    `limits=None` lifts the last: every row that has a unit then counts in full.
    """
    from obverse.catalog.load import load
    from obverse.ledger.memory import MemoryLedger
    from obverse.session.opening import Project, claimed, load_project
    from obverse.session.overlay import overlay_here
    from obverse.session.session import Session

    _only_synthetic(load(project))
    loaded = load_project(Path(project))
    catalog = loaded.catalog
    try:
        if catalog.unit is None:
            return Session(loaded, None, analyst=analyst, purpose=purpose)
        ledger = MemoryLedger("noiseless", claimed(catalog).terms, catalog.budget)
        asked = Project(lifted(catalog) if limits is None else catalog, loaded.engine)
        door = open_door(catalog, in_full if limits is None else _as_planned)
        overlay = overlay_here(catalog)
        return Session(
            asked, ledger, analyst=analyst, purpose=purpose, overlay=lambda: overlay, dataset="noiseless", door=door
        )
    except BaseException:
        loaded.engine.close()
        raise


def open_door(catalog: Catalog, counted: Callable[[AnnotatedPlan], AnnotatedPlan]) -> Callable[..., tuple[bytes, bool]]:
    """What stands in for `ask`: the same steps, with the identity in place of each mechanism, and no charge."""
    from obverse.core.loss import NO_LOSS
    from obverse.session.execution import charged

    def door(
        questions: tuple[Asked, ...],
        debit: Debit,
        *,
        join: Callable[[list[bytes]], bytes] = lambda parts: parts[0],
        started: Callable[[Receipt], None] = lambda receipt: None,
        **rest: Any,
    ) -> tuple[bytes, bool]:
        bare = tuple(_without_noise(question, catalog, counted) for question in questions)
        return charged(bare, replace(debit, loss=NO_LOSS), join=join, started=started, **rest)

    return door


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
            table.name, table.source, table.columns, table.unit, None if table.limits is None else Limits(LIFTED), table.size
        )
        for name, table in catalog.tables.items()
    }
    return replace(catalog, tables=tables)


def in_full(planned: AnnotatedPlan) -> AnnotatedPlan:
    """The plan in which every row counts: a join may have left a unit with more rows than one, and with a cap on them."""
    from obverse.plan.aggregates import BY_NAME
    from obverse.plan.annotate import annotate
    from obverse.plan.nodes import Aggregate, Limit, Project, Shape

    limited, question = planned.limited, planned.limited.question
    setting = replace(limited.setting, shape=Shape.ROW, rows=1, groups=1, alone=False)
    each = [BY_NAME[call.function].measures(call, setting) for call in question.aggregates]
    measures = list(dict.fromkeys(measure for those in each for measure in those))
    serves = tuple(tuple(measures.index(measure) for measure in those) for those in each)
    root = Aggregate(Project(Limit(question.relation, Shape.ROW, 1), question.keys, tuple(measures), question.sets))
    return annotate(replace(limited, root=root, setting=setting, serves=serves))


def _as_planned(planned: AnnotatedPlan) -> AnnotatedPlan:
    return planned


def _without_noise(question: Asked, catalog: Catalog, counted: Callable[[AnnotatedPlan], AnnotatedPlan]) -> Asked:
    from obverse.plan.emit.emit import emit
    from obverse.plan.strategy.graph.pricing import GraphPlan
    from obverse.session.execution import Asked

    costed = question.costed
    if isinstance(costed, GraphPlan):
        raise Refused("no_noiseless_graph", "a network is not published without noise.", fix="Count it yourself.")
    annotated = counted(costed.annotated)

    def sql(overlay: Overlay) -> str:
        return emit(annotated.limited.root, catalog, catalog.engine.get("kind", "duckdb"), overlay=overlay)

    threshold: Any = None if costed.threshold is None else Identity(costed.threshold.least)
    mechanisms = tuple(Identity() for _ in annotated.measures)
    bare = replace(costed, annotated=annotated, mechanisms=mechanisms, threshold=threshold)
    first = tuple(_without_noise(one, catalog, counted) for one in question.first)
    follows = question.then
    then = None if follows is None else lambda found: _without_noise(follows(found), catalog, counted)
    return Asked(bare, sql, _unclaimed(question.seal), first, then)


def _unclaimed(seal: Callable[[Finished, Receipt], bytes]) -> Callable[[Finished, Receipt], bytes]:
    """The same bytes with a claim that claims nothing."""
    from obverse.answers.answer import Answer, Price, Remaining

    def sealed(finished: Finished, receipt: Receipt) -> bytes:
        answer = Answer.from_bytes(seal(finished, receipt), Remaining(1.0, None, None))
        claim = replace(
            answer.claim,
            epsilon="infinity",
            delta="1",
            mechanisms=(Identity.name,),
            belief="An attacker may come to believe anything with certainty.",
            sentence=SENTENCE,
        )
        return replace(answer, claim=claim, price=Price("0", "0", 0.0, False)).to_bytes()

    return sealed


def _only_synthetic(catalog: Catalog) -> None:
    """Each table must be a file that one of our generators signed, with the content that it has now."""
    from obverse.demo.manifest import FILE_NAME, matches

    for table in catalog.held:
        path = table.source.path
        if path is None or not matches(path.parent / FILE_NAME, [path]):
            raise Refused(
                "not_synthetic",
                f"table {table.name} is not known to be synthetic, so it is not opened without noise.",
                why=f"no {FILE_NAME} beside it lists this file with its present content.",
                fix="Use the sample of `obverse demo`, or make the tables with obverse.testing.synthetic.",
            )
