"""What tells one debit from another: the same plan over the same data at the same price is the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from obverse.catalog import former, identity
from obverse.catalog.model import Catalog, Table
from obverse.core.canonical import digest
from obverse.core.ledger import Fingerprint, Former
from obverse.session.planned_graph import PlannedGraph
from obverse.session.planning import Planned

Plans = Sequence[Planned | PlannedGraph]


def real_path(table: Table) -> str:
    """Where a table's file lies, links followed."""
    return os.path.realpath(table.source.path or "")


def fingerprint(
    planned: Plans, catalog: Catalog, version: str, batch: str = "", facts: str | None = None, after: Plans = ()
) -> Fingerprint:
    """What is measured (catalog, where its rows lie, the data's version, plans and prices), and how it is presented.

    `facts`: the catalog's fingerprint, where it is known; `after`: plans whose answers a release was chosen by.
    """
    measured = [
        "release",
        facts or identity.fingerprint(catalog),
        sorted([table.name, real_path(table), table.source.table or ""] for table in catalog.held),
        version,
        batch,
        [one.measurement for one in planned],
        [[one.measurement, one.presentation] for one in after],
    ]
    return Fingerprint(f"{digest(measured)}.{digest([one.presentation for one in planned])}")


def former_fingerprint(
    planned: Plans, catalog: Catalog, version: str, batch: str = "", after: Plans = ()
) -> Fingerprint | None:
    """What versions up to 0.1 called the same debit; None where they did not know what the catalog declares.

    Their records are recognised by it, and they recognise ours: two versions at one ledger charge once.
    """
    facts = former.former_fingerprint(catalog)
    if facts is None:
        return None
    places = [repr((table.name, real_path(table), table.source.table)) for table in catalog.held]
    if after:
        batch = f"{batch} for " + "\x1f".join(line for one in after for line in one.former_lines)
    lines = [facts, *sorted(places), version, batch]
    for one in planned:
        lines += one.former_lines
    return Fingerprint(hashlib.sha256("\x1e".join(lines).encode()).hexdigest())


def former_names(planned: Plans, catalog: Catalog, version: str, batch: str = "", after: Plans = ()) -> Former | None:
    """The former fingerprints of a debit, with and without the data's version."""
    plan = former_fingerprint(planned, catalog, version, batch, after)
    question = former_fingerprint(planned, catalog, "", batch, after)
    return None if plan is None or question is None else Former(plan, question)
