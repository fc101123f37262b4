"""A release of parents and children measured and written: the door once, two folders, their rows, and all checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from obverse.publish.families.families_folder import expected, metadata, write_families
from obverse.publish.families.linking import CHILDREN, PARENTS, Part
from obverse.publish.families.publish_families import Families, Kept, measured_families
from obverse.publish.folder.check import Check, sealed
from obverse.publish.folder.folder import fresh
from obverse.publish.folder.write import save
from obverse.publish.publishing import Receipted, paid
from obverse.publish.synthetic.publish_synthetic import figures_of, written

if TYPE_CHECKING:
    from obverse.session.session import Session

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
    for name, course, (method, receipted) in ((PARENTS, made.parents, kept.parents), (CHILDREN, made.children, kept.children)):
        fresh(out / name)
        written(course, method, receipted, out / name, notes=(NOTE,))
        parts.append((Part(method, receipted.measured), figures_of(course)))
    fields = metadata(made.title, made.family, parts, kept.claim, made.share)
    both = parts[0][0], parts[1][0]
    write_families(out, fields, *both, expected(*both, made.parents.terms), save)
    checks = sealed(out)
    return DoneFamilies(replace(kept.children[1], claim=kept.claim), checks)
