"""The record of processing: what is held, on which basis, for what, until when; and everything that was ever made of
it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from obverse.catalog.model import Catalog
from obverse.core.ledger import Entry, Terms
from obverse.core.numbers import plain
from obverse.curator.rights.requests import CANNOT_UNDO
from obverse.ledger.ledger import ChainLedger
from obverse.ledger.state import counted
from obverse.session.authorization import today
from obverse.session.views import reachable


def record_of(catalog: Catalog, ledger: ChainLedger) -> dict[str, Any]:
    """Article 30 in data: declarations and the ledger's records, no row and nobody's name."""
    terms = ledger.terms()
    entries = list(ledger.entries())
    spent = ledger.spent()
    unit = "" if catalog.unit is None else catalog.unit.words
    return {
        "version": 1,
        "project": catalog.name,
        "unit": unit,
        "neighbours": terms.neighbours.value,
        "accounting": terms.accounting,
        "tables": tables_of(catalog),
        "apart": [list(group) for group in catalog.apart],
        "purposes": {name: plain(budget.epsilon) for name, budget in catalog.purposes.items()},
        "budget": {
            "epsilon": plain(ledger.budget().epsilon),
            "delta": plain(ledger.budget().delta),
            quantity(terms): plain(spent.amount),
            "delta_spent": plain(spent.delta),
        },
        "processing": processing(entries, ledger, terms),
        "custody": [_looked(entry) for entry in entries if entry.kind == "custody"],
        "rights": [
            {"act": act, "count": count}
            for act, count in sorted(Counter(e.fields["act"] for e in entries if e.kind == "rights").items())
        ],
        "surveys": [
            {
                "name": s.name,
                "epsilon": plain(s.epsilon),
                "lifetime": plain(s.lifetime),
                "retention_days": s.retention_days,
            }
            for s in catalog.surveys.values()
        ],
        "head": ledger.head().hash,
    }


def quantity(terms: Terms) -> str:
    return "epsilon_spent" if terms.accounting == "pure" else "rho_spent"


def tables_of(catalog: Catalog) -> list[dict[str, Any]]:
    """What is declared of each table that data-protection law asks for."""
    return [
        {
            "name": table.name,
            "public": table.public,
            "basis": table.basis,
            "purposes": list(table.purposes),
            "retain_until": "" if table.retain_until is None else table.retain_until.isoformat(),
            "over": table.retain_until is not None and today() > table.retain_until,
            "columns": reachable(table),
        }
        for table in catalog.tables.values()
    ]


def processing(entries: Iterable[Entry], ledger: ChainLedger, terms: Terms) -> list[dict[str, Any]]:
    """Debits by what they paid for, who asked and what for; with their loss added up, as it was counted."""
    found: dict[tuple[str, str, str], list[Fraction | int]] = {}
    for entry in entries:
        if entry.kind != "charge":
            continue
        loss = counted(entry, terms)
        key = kind_of(entry, ledger), entry.fields["analyst"], entry.fields["purpose"]
        count, amount, delta = found.get(key, [0, Fraction(0), Fraction(0)])
        found[key] = [count + 1, amount + loss.amount, delta + loss.delta]
    named = "epsilon" if terms.accounting == "pure" else "rho"
    return [
        {"kind": kind, "analyst": who, "purpose": what, "count": count, named: plain(amount), "delta": plain(delta)}
        for (kind, who, what), (count, amount, delta) in sorted(found.items())
    ]


def kind_of(entry: Entry, ledger: ChainLedger) -> str:
    """What a debit paid for, by what was stored for it: a question, a batch, a release; or nothing that left."""
    found = ledger.answered(entry.fields["id"])
    if found is None:
        return "unfinished"
    told = json.loads(found[0].answer)
    if isinstance(told, list):
        return "batch"
    return "release" if told.get("kind") == "release" else "question"


def _looked(entry: Entry) -> dict[str, Any]:
    return {
        "record": entry.number,
        **{key: entry.fields[key] for key in ("time", "table", "columns", "what", "reason")},
    }


def markdown(record: Mapping[str, Any]) -> str:
    """The record for people."""
    named = "epsilon" if record["accounting"] == "pure" else "rho"
    parts = [
        f"# Record of processing: {_cell(record['project'])}\n",
        f"Protected: {_cell(record['unit'])}. Head of the ledger: `{record['head']}`.\n",
        "## What is held\n",
        _table(
            ["table", "basis", "purposes", "until", "columns"],
            [
                [
                    t["name"],
                    t["basis"] or ("public" if t["public"] else "not declared"),
                    ", ".join(t["purposes"]) or "any",
                    t["retain_until"] + (" (over)" if t["over"] else "") or "no day declared",
                    ", ".join(t["columns"]),
                ]
                for t in record["tables"]
            ],
        ),
        "".join(f"Kept apart: {_cell(', '.join(group))}.\n" for group in record["apart"]),
        "## What was made of it\n",
        _table(
            ["kind", "analyst", "purpose", "how many", named, "delta"],
            [
                [p["kind"], p["analyst"], p["purpose"], str(p["count"]), p[named], p["delta"]]
                for p in record["processing"]
            ],
        ),
        "## Rows read by the curator\n",
        _table(
            ["record", "time", "table", "what for", "reason"],
            [[str(c["record"]), c["time"], c["table"], c["what"], c["reason"]] for c in record["custody"]],
        ),
        "## Rights exercised\n",
        _table(["act", "how many"], [[r["act"], str(r["count"])] for r in record["rights"]]),
        f"{CANNOT_UNDO}\n",
    ]
    return "\n".join(part for part in parts if part)


def _table(names: list[str], rows: list[list[str]]) -> str:
    if not rows:
        return "None.\n"
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    """A text that stays one cell, whatever it holds."""
    one_line = "".join(sign if sign.isprintable() else " " for sign in text)
    return one_line.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
