"""A release measured and written: the door, then the folder, then its own checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from obverse.core.loss import PureLoss, ZcdpLoss
from obverse.engines.files import columns, write_csv, write_parquet
from obverse.plan.strategy.matrix import total
from obverse.publish.folder.check import Check, check, sealed
from obverse.publish.folder.files import Folder, Sheet, fresh, write
from obverse.publish.folder.metadata import Figures, metadata
from obverse.publish.method import Outcome
from obverse.publish.pipeline import Receipted, Release, paid
from obverse.publish.tables.private_domains import measured_release
from obverse.session.session import Session

# of the work
MEASURED = 0.1
FINISHED = 0.3
WRITTEN = 0.7


@dataclass(frozen=True, slots=True)
class Done:
    """A release that stands in its folder."""

    outcome: Outcome
    receipted: Receipted
    checks: tuple[Check, ...]


def save(sheet: Sheet, path: Path) -> None:
    """As CSV and as Parquet."""
    write_csv(sheet.columns, sheet.types, path.with_name(path.name + ".csv"))
    write_parquet(sheet.columns, sheet.types, path.with_name(path.name + ".parquet"))


def figures(made: Release) -> Figures:
    costed = made.priced.planned.costed
    loss = costed.loss
    assert isinstance(loss, (PureLoss, ZcdpLoss))
    paid: Fraction = loss.epsilon if isinstance(loss, PureLoss) else loss.rho
    keys = costed.root.public.keys
    unit = costed.measures[0].unit
    return Figures(made.priced.terms, paid, made.priced.weight, unit, all(total(key) for key in keys))


def publish(
    session: Session, made: Release, out: Path, key: str = "", told: Callable[[float], None] = lambda share: None
) -> Done:
    """Charged once, measured, finished, written, and checked as anybody would."""
    fresh(out)
    made, receipted = measured_release(session, made, key)
    told(MEASURED)
    with paid(receipted.stored):
        return _written(made, receipted, out, told)


def _written(made: Release, receipted: Receipted, out: Path, told: Callable[[float], None]) -> Done:
    method = made.method
    terms = made.priced.terms
    outcome = method.finish(receipted.measured, terms)
    told(FINISHED)
    made_of = receipted.measured, figures(made), receipted.claim, outcome.agree
    before = [one.as_json() for one in made.first]
    fields: dict[str, Any] = metadata(made.title, method, *made_of, dict(made.recipe), before, outcome.notes)
    fields |= {"further": {one.file: one.words for one in outcome.further}} if outcome.further else {}
    errors = method.errors(receipted.measured, terms)
    folder = Folder(method, receipted.measured, outcome, errors, fields)
    write(folder, out, save, lambda share: told(FINISHED + (WRITTEN - FINISHED) * share))
    checks = sealed(out, columns, lambda share: told(WRITTEN + (1 - WRITTEN) * share))
    return Done(outcome, receipted, checks)


def checked(out: Path, told: Callable[[float], None] = lambda share: None) -> list[Check]:
    """A folder checked by itself, with its files read fast."""
    return check(out, columns, told)
