"""The transparency card: for everybody, who is protected, how much, and what was charged. Nothing of it follows from a
row.

Claim:   the card tells nothing about the rows beyond what answers that were paid for told.
Proof:   it is made of declarations, of caps, and of charges, whose sizes are fixed before any row is read; limits that
         were learned are not in it. Neither names of analysts, nor words of questions, nor times are.
Assumes: the curator declares nothing that is secret, or sets `transparency = false`.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict
from fractions import Fraction
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request
from starlette.responses import Response

from obverse.core.ledger import Head
from obverse.core.numbers import plain
from obverse.core.units import PrivacyUnit
from obverse.ledger.chain import fraction_of
from obverse.server.errors import NotFound
from obverse.server.http import schemas
from obverse.server.http.problems import json_reply
from obverse.server.http.routes.pages import PublicRoute
from obverse.server.http.routes.releases import FOLDER, NAME
from obverse.server.http.service import service_of
from obverse.server.project import Clerk, Host
from obverse.session.claims import belief_words, budget_words
from obverse.session.project import Project
from obverse.session.session import Session
from obverse.session.views import BudgetView, TableView, surveys_view, table_views

WHAT = "project"
router = APIRouter(route_class=PublicRoute, tags=["transparency"])
_KNOWN: WeakKeyDictionary[Host, tuple[Project, Head, dict[str, object]]] = WeakKeyDictionary()


@router.get("/transparency", responses={200: {"model": schemas.PublicCard}}, response_class=Response)
async def transparency(request: Request, project: str) -> Response:
    """Every epsilon, unit and limit of a project, and the names of its releases and surveys."""
    desk = service_of(request).desk
    here = project in desk.projects  # else another's is looked for, and nothing made of it
    card = await desk.looked_up(project, lambda host: _card(host, here))
    if card is None:
        raise NotFound(WHAT)
    return json_reply(card)


def _card(host: Host, here: bool) -> dict[str, object] | None:
    clerk = host.clerk()
    catalog = clerk.project.catalog
    if not here or not catalog.serve.transparency:
        return None
    if catalog.unit is None:  # surveys alone: there is no ledger
        return {**_told(host, surveys_view(catalog)), "releases": _releases(host)}
    head = clerk.ledger.head()
    known = _KNOWN.get(host)
    if known is None or known[0] is not clerk.project or known[1] != head:  # once for each state, however many look
        known = _KNOWN[host] = clerk.project, head, _of_tables(host, clerk, catalog.unit)
    return {**known[2], "releases": _releases(host)}


def _of_tables(host: Host, clerk: Clerk, unit: PrivacyUnit) -> dict[str, object]:
    catalog = clerk.project.catalog
    session = clerk.session("", "", host.cage.refuse_to_release)
    told = _told(host, session.budget())
    tables = [_table(table) for table in table_views(catalog) if not table.public]  # as declared, not as learned
    told |= {"unit": unit.words, "neighbours": catalog.neighbours.value, "charges": _charges(session), "tables": tables}
    declared = clerk.ledger.budget()
    return told | {"sentence": f"In all at most {budget_words(declared)}. {belief_words(declared, catalog)}"}


def _told(host: Host, budget: BudgetView) -> dict[str, object]:
    return {
        "version": 1,
        "project": host.name,
        "unit": "",
        "neighbours": "",
        "accounting": budget.accounting,
        "quantity": budget.quantity,
        "budget": asdict(budget.lines[0]) if budget.lines else None,
        "purposes": [asdict(line) for line in budget.lines if line.kind == "purpose"],
        "sentence": "",
        "charges": [],
        "tables": [],
        "surveys": [asdict(line) for line in budget.surveys],
        "together": budget.together,
    }


def _table(table: TableView) -> dict[str, str]:
    return {"name": table.name, "unit": table.unit, "limits": table.limits}


def _charges(session: Session) -> list[dict[str, object]]:
    """How often each size was charged, the largest first."""
    sizes: Counter[tuple[Fraction, Fraction]] = Counter(
        (fraction_of(entry.fields["amount"]), fraction_of(entry.fields["delta"]))
        for entry in session.ledger.entries()
        if entry.kind == "charge"
    )
    return [{"amount": plain(a), "delta": plain(d), "times": n} for (a, d), n in sorted(sizes.items(), reverse=True)]


def _releases(host: Host) -> list[str]:
    try:
        with os.scandir(host.catalog.root / FOLDER) as found:
            return sorted(one.name for one in found if NAME.fullmatch(one.name) and one.is_dir(follow_symlinks=False))
    except OSError:
        return []
