"""The curator's acts: publish data, grant budget, declare analysts, and keep the ledger.

None of them reads a row, but for publishing where people count in their first partition: it compares published
partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from obverse.catalog import parameters
from obverse.catalog.edit import with_analyst, with_number
from obverse.catalog.keys import NAME_MAX
from obverse.catalog.load import FILE_NAME, load
from obverse.catalog.model import Catalog
from obverse.catalog.upgrade import kept_defaults, summary, upgraded
from obverse.core.errors import LedgerError, Refused
from obverse.core.ledger import Budget, Head
from obverse.core.numbers import exact
from obverse.ledger import transfer
from obverse.ledger.datasets import IN_POSTGRES
from obverse.ledger.home import Home, default_home
from obverse.ledger.opened import Opened
from obverse.ledger.opening import acknowledge, open_dataset
from obverse.ledger.sources import around
from obverse.ledger.sqlite import SqliteLedger
from obverse.ledger.transfer import take_in
from obverse.session.project import claimed, located, sources_of
from obverse.session.project_file import edit_project_file


@dataclass(frozen=True, slots=True)
class Kept:
    """A ledger after a curator's act: where it lies, and how far it has come."""

    place: str
    head: Head


@dataclass(frozen=True, slots=True)
class Granted:
    """The cap on everybody together, before and after a grant."""

    before: Budget
    after: Budget


@contextmanager
def opened_ledger(project: Path) -> Iterator[tuple[Catalog, Home, Opened]]:
    """The project's catalog and the one ledger that serves its data."""
    catalog = private_catalog(project)
    home = Home(default_home())
    try:
        opened = open_dataset(home, claimed(catalog))
        try:
            yield catalog, home, opened
        finally:
            opened.ledger.close()
    finally:
        home.close()


def private_catalog(project: Path) -> Catalog:
    catalog = load(project)
    if catalog.unit is None:
        raise Refused("no_private_table", "this project has no private table, so it has no ledger and no budget.")
    return located(catalog)


def grant(project: Path, epsilon: str, delta: str | None, reason: str) -> Granted:
    """Raise the cap by an entry in the ledger, and the [budget] of obverse.toml with it: the lower of both binds."""
    more = Budget(parameters.epsilon(exact(epsilon)), parameters.delta(exact(delta if delta is not None else 0)))
    if not reason.strip():
        raise Refused("bad_parameter", "a grant needs its reason", fix='Add --reason "why more may be revealed".')
    with opened_ledger(project) as (catalog, _, opened):
        held = opened.ledger.budget()
        declared = catalog.budget
        before = Budget(min(held.epsilon, declared.epsilon), min(held.delta, declared.delta))
        after = Budget(before.epsilon + more.epsilon, before.delta + more.delta)

        def change(text: str) -> str:
            text = with_number(text, ("budget", "epsilon"), after.epsilon)
            return with_number(text, ("budget", "delta"), after.delta) if after.delta != declared.delta else text

        write = edit_project_file(project, change)
        opened.ledger.grant(more.epsilon, more.delta, reason.strip())
        write()
        return Granted(before, after)


def add_analyst(project: Path, name: str, epsilon: str | None, delta: str | None, purposes: tuple[str, ...]) -> Path:
    """Append a section to obverse.toml; valid before and after, or not written."""
    if not name.isprintable() or not 0 < len(name) <= NAME_MAX or "." in name:
        raise Refused("bad_name", "not a name for an analyst", fix="Use letters and digits, such as ana.")
    facts: dict[str, Fraction | tuple[str, ...]] = {}
    if epsilon is not None:
        facts["epsilon"] = parameters.epsilon(exact(epsilon))
    if delta is not None:
        facts["delta"] = parameters.delta(exact(delta))
    if purposes:
        facts["purposes"] = tuple(dict.fromkeys(purposes))
    return edit_project_file(project, lambda text: with_analyst(text, name, facts))()


def upgrade(project: Path, *, keep: bool) -> Iterator[tuple[str, str]]:
    """Write the newest version into obverse.toml; which places rely on a default that changed, and how."""
    file = project / FILE_NAME if project.is_dir() else project
    load(project)
    kept = kept_defaults(file.read_text(encoding="utf-8-sig"))
    edit_project_file(project, lambda text: upgraded(text, keep=keep))()
    return summary(kept)


def ledger_head(project: Path) -> Kept:
    with opened_ledger(project) as (_, _, opened):
        return Kept(opened.ledger.place, opened.ledger.head())


def verify_ledger(project: Path) -> Kept:
    """Check every record, total, answer and note, and the anchor outside the project."""
    with opened_ledger(project) as (_, _, opened):
        return Kept(opened.ledger.place, opened.ledger.verify())


def verify_copy(file: Path) -> Kept:
    """Check an export or a backup by itself, without a project."""
    try:
        with open(file, "rb") as opening:
            exported = opening.read(1) == b"{"
        if not exported:
            return Kept(str(file), transfer.verify_file(file))
        with open(file, encoding="ascii") as lines:
            return Kept(str(file), transfer.verify_export(lines))
    except OSError as error:
        raise Refused(
            "no_such_file", f"cannot be read: {error.strerror}", place=str(file), fix="Check the name."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        why = "it is neither an export nor a ledger of Obverse, or it was changed."
        raise LedgerError("ledger_damaged", "the file cannot be read as a ledger", place=str(file), why=why) from None


def export_ledger(project: Path, target: Path) -> Kept:
    with opened_ledger(project) as (_, _, opened):
        return Kept(str(target), transfer.export(opened.ledger, target))


def backup_ledger(project: Path, target: Path) -> Kept:
    with opened_ledger(project) as (_, _, opened):
        return Kept(str(target), transfer.backup(opened.ledger, target))


def move_ledger(project: Path, target: Path) -> Kept:
    """Close the ledger here for good; the copy goes on elsewhere."""
    with opened_ledger(project) as (_, _, opened):
        return Kept(str(target), transfer.move(_in_a_file(opened), target))


def restore_ledger(project: Path, copy: Path) -> tuple[Kept, LedgerError | None]:
    """Put a copy in the ledger's place; the error tells that it is older and has to be acknowledged."""
    catalog = private_catalog(project)
    home = Home(default_home())
    try:
        claim = claimed(catalog)
        if claim.server is not None:
            take_in(home, claim, claim.server, copy)
            return ledger_head(project), None
        path = ledger_known(home, catalog) or claim.path
        if path == IN_POSTGRES:
            raise _in_a_server("restored")
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = Kept(str(path), transfer.restore(copy, path))
        try:
            open_dataset(home, claim).ledger.close()
        except LedgerError as error:
            return kept, error
        return kept, None
    finally:
        home.close()


def acknowledge_ledger(project: Path, reason: str) -> Kept:
    """Go on with a ledger that is in doubt, and charge the worst that it may have forgotten."""
    if not reason.strip():
        raise Refused("bad_parameter", "acknowledging needs its reason", fix='Add --reason "what happened".')
    catalog = private_catalog(project)
    home = Home(default_home())
    try:
        opened = acknowledge(home, claimed(catalog), reason.strip())
        try:
            return Kept(opened.ledger.place, opened.ledger.head())
        finally:
            opened.ledger.close()
    finally:
        home.close()


def _in_a_file(opened: Opened) -> SqliteLedger:
    if not isinstance(opened.ledger, SqliteLedger):
        raise _in_a_server("moved")
    return opened.ledger


def _in_a_server(done: str) -> Refused:
    return Refused(
        "ledger_in_server",
        f"a ledger in PostgreSQL is not {done} as a file.",
        why="other machines use it too, and the server has means of its own.",
        fix="Use the server's backup, restore and replication; then run: obverse ledger verify, on each machine.",
    )


def ledger_known(home: Home, catalog: Catalog) -> Path | None:
    """Where the ledger of this data lies, if the data was ever seen on this machine. Makes nothing."""
    sources = sources_of(catalog)
    identified = (*home.identified(sources), *around(sources))
    with home.shared() as registry:
        known = registry.dataset_of(identified)
    return None if known is None else known.ledger
