"""What tells one debit from another: the same plan over the same data at the same price is the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from obverse.catalog.model import Catalog
from obverse.core.ledger import Fingerprint
from obverse.session.planned_graph import PlannedGraph
from obverse.session.planning import Planned


def fingerprint(
    planned: Sequence[Planned | PlannedGraph], catalog: Catalog, version: str, batch: str = "", facts: str | None = None
) -> Fingerprint:
    """Canonical plan + catalog (`facts`, where they are known) + where its rows lie + data version + price."""
    places = [repr((t.name, os.path.realpath(t.source.path or ""), t.source.table)) for t in catalog.held]
    lines = [facts or catalog.fingerprint(), *sorted(places), version, batch]
    for one in planned:
        lines += one.identity
    return Fingerprint(hashlib.sha256("\x1e".join(lines).encode()).hexdigest())
