"""The page of the ledger's format: a real ledger is made, and what stands in it is shown."""

from __future__ import annotations

import ast
import inspect
from fractions import Fraction
from pathlib import Path
from typing import Any

import obverse.ledger
from obverse.core.accounts import Token
from obverse.core.canonical import canonical
from obverse.core.ledger import Budget, Cap, Caps, Entry, Fingerprint, Receipt, Scope, Spent, Terms
from obverse.core.loss import NO_LOSS, ApproxLoss, BoundedRangeLoss, Composed, Loss, PureLoss, Repeated, ZcdpLoss
from obverse.core.units import Neighbours
from obverse.ledger import accounts, chain, rights, transitions
from obverse.ledger.chain import Draft, encode
from obverse.ledger.memory import MemoryLedger
from obverse.ledger.postgres.server import MIGRATIONS
from obverse.ledger.rights import Act
from obverse.ledger.sqlite import SHAPE
from obverse.ledger.transfer import EXPORT_VERSION, exported
from tests.examples import STEADY, steady
from tests.pages import block, page, table

TIME = "2026-01-01T00:00:00Z"
LOSSES: tuple[Loss, ...] = (
    PureLoss(Fraction(1, 10)),
    ZcdpLoss(Fraction(1, 200)),
    BoundedRangeLoss(Fraction(1, 2)),
    ApproxLoss(Fraction(1), Fraction(1, 10**6)),
    Repeated(PureLoss(Fraction(1, 10)), 3),
    Composed((PureLoss(Fraction(1, 10)), ApproxLoss(Fraction(0), Fraction(1, 10**8)))),
)
MEANS = {
    "open": "the first record: whose losses these are, how they are counted, and the cap",
    "catalog": "a fingerprint of the declared facts that answers depend on, whenever it changed",
    "charge": "a debit, before any row is read; totals are those after it; `identity` has the canonical names of plan "
    "and question where `plan` and `question` hold those of version 0.1; `partitions` too where only some of growing "
    "data are touched",
    "settle": "the SHA-256 of the answer that was stored for a debit, before it left",
    "cap": "the cap was raised (`grant`) or lowered (`lower`)",
    "version": "the curator published a new version of the rows; `through` names the last partition of growing data; "
    "`lifts_wait` where published partitions were not compared, so that nobody who was left out came back with it",
    "retire": "partitions up to `through` are read no more; `base_amount` and `base_delta` count as spent on each that "
    "remains or comes; `gone`: their rows were not as they were published",
    "custody": "the curator is about to read rows by their own door",
    "rights": "an act on a person's rights; `person` is a keyed hash, `seal` the hash of what lies outside the chain",
    "account": "an account changed; secrets lie beside the chain, and the record holds hashes",
    "acknowledge": "what this ledger does not know of was charged, on the curator's word",
    "close": "nothing is written here any more: it goes on elsewhere",
    "moved": "the first record of the copy that goes on",
    "adopt": "a ledger that was moved here goes on here",
}
SEALS = """
Every record is one JSON object in its one canonical form: keys sorted, no blanks, ASCII alone, no NaN. Exact numbers \
are texts,
`numerator/denominator` in lowest terms. The chain starts from 32 zero bytes:

    hash(0) = 32 zero bytes
    hash(n) = SHA-256(hash(n - 1) + canonical bytes of record n)

`number` counts from 1 without gaps, and stands inside of the record, as `kind` and `time` (UTC) do; so nothing of a \
record can
be changed, left out or moved without changing every hash after it. How far the chain had come is remembered \
elsewhere too (the
*anchor*, in `$OBVERSE_HOME`), so that an older file put in its place is noticed.
"""


def ledger() -> str:
    with steady():
        STEADY.restart("the format of the ledger")
        kept = _written()
        lines = "".join(line for _, line in exported(kept, kept.note))
    first = {entry.kind: entry for entry in reversed(list(kept.entries()))}
    assert set(first) == set(MEANS) == _kinds(), "every kind of record is on the page"
    parts = [_about(), "## The chain", SEALS, "## Records", _kinds_table(first)]
    for kind in MEANS:
        parts += [f"### {kind}", block("json", canonical(_fields(first[kind])).decode())]
    parts += ["## Losses", _losses(), "## Where it lies", *_stores(), "## Export", _export(), block("json", lines)]
    return page("The ledger", *parts)


def _about() -> str:
    return (
        "What a ledger holds, to the byte. Records below are real ones, of a ledger that was made for this page; "
        f"[versions](../versions.md) tells what may change. Source: `{chain.__name__}`, `{chain.__name__}`, "
        f"`{transitions.__name__}`."
    )


def _fields(entry: Entry) -> dict[str, Any]:
    return {**entry.fields, "kind": entry.kind, "number": entry.number}


def _kinds_table(first: dict[str, Entry]) -> str:
    rows = []
    for kind, words in MEANS.items():
        names = [name for name in sorted(first[kind].fields) if name != "time"]
        if kind in ("account", "rights"):
            words += f". `act` is {', '.join(f'`{act}`' for act in _acts(kind))}"
        rows.append((f"`{kind}`", words, ", ".join(f"`{name}`" for name in names) or "none"))
    return table(("kind", "what it records", "its fields, beside kind, number and time"), rows)


def _kinds() -> set[str]:
    """Of every Draft that the code makes."""
    found = set()
    for path in Path(inspect.getfile(obverse.ledger)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "Draft"
                and isinstance(node.args[0], ast.Constant)
            ):
                found.add(str(node.args[0].value))
    return found


def _acts(kind: str) -> list[str]:
    if kind == "rights":
        return [*rights.STANDING, *rights.NOTED, "lift"]
    calls = (
        node for node in ast.walk(ast.parse(inspect.getsource(accounts))) if isinstance(node, ast.Call) and node.args
    )
    drafts = [call.args[0] for call in calls if getattr(call.func, "id", "") in ("_draft", "_noted")]
    return [str(first.value) for first in drafts if isinstance(first, ast.Constant)]


def _losses() -> str:
    assert {loss.kind for loss in LOSSES} == set(chain._READERS), "every kind of loss is on the page"
    about = (
        f"A debit's `loss` is a text: the canonical JSON of version {chain.VERSION}, `v` and `loss`. "
        "No loss at all is an empty `composed`. Kinds are added, none is changed or removed."
    )
    rows = [(f"`{one.kind}`", one.__doc__ or "", f"`{encode(one).decode()}`") for one in LOSSES]
    rows.append(("none", "Nothing was lost.", f"`{encode(NO_LOSS).decode()}`"))
    return f"{about}\n\n{table(('kind', 'means', 'as it is written'), rows)}"


def _stores() -> list[str]:
    made = ";\n".join((*SHAPE.base, *(statement for migration in SHAPE.migrations for statement in migration)))
    shared = ";\n".join(statement for migration in MIGRATIONS for statement in migration)
    sqlite = (
        f"**SQLite**, the default. `application_id` is 0x{SHAPE.application_id:08X}, `user_version` the number of "
        f"migrations, "
        f"{SHAPE.format} now. `body` is the record, `hash` its hash. `answer` holds what was sent, under the number of "
        f"its debit. `note` begins with {transitions.SALT_BYTES} random bytes; a record names only its SHA-256, "
        "which nobody can try out. "
        "`plan` and `question` are hashes of the plan, the declarations and where the rows lie: whoever knows all of "
        "these can "
        "check a guess of what was asked."
    )
    postgres = (
        f"**PostgreSQL**, shared by several servers: a schema `obverse` of {len(MIGRATIONS)} migrations, "
        "whose numbers stand in `obverse.migration`."
    )
    return [sqlite, block("sql", made + ";"), postgres, block("sql", shared + ";")]


def _export() -> str:
    return (
        f"`obverse ledger export FILE` writes lines of canonical JSON: the version, {EXPORT_VERSION}; each record with "
        f"its hash and, "
        "for the owner alone, the question's text as `note`; at last how many there are and the head. `GET /ledger` "
        "gives "
        "the same "
        "without notes. The chain can be checked with nothing but JSON and SHA-256. Of the ledger above:"
    )


def _written() -> MemoryLedger:
    """A ledger with a record of every kind."""
    terms = Terms("pure", Neighbours.ADD_REMOVE, "person_id")
    made = MemoryLedger("hospital", terms, Budget(Fraction(4), Fraction(1, 10**6)), clock=lambda: TIME)
    made.record_catalog("0" * 64)
    cap = Caps(Cap("pure", Fraction(4), Fraction(1, 10**6)))
    asked = Fingerprint("1" * 64)
    about = {"now": "2026-01-01"}
    scope = Scope("hospital", "ana")
    text = "SELECT COUNT(*) FROM people"
    given = made.reserve(scope, PureLoss(Fraction(1, 10)), asked, key="", caps=cap, note=text, about=about)
    assert isinstance(given, Receipt)
    made.settle(given, b"{}")
    made.grant(Fraction(1), Fraction(0), "second study")
    made.record_version("3" * 32)
    made.record_version("c" * 32, 2)
    made.record_version(
        "d" * 32, retire=lambda book: transitions.retire(book, 1, "kept for a year", gone=False), lifts_wait=True
    )
    made.record_custody("people", ["age", "sex"], "anonymize", "a table for teaching")
    made.record_right(Act("erase", "4" * 32, ("people", "visits"), "asked for it", "cora", "5" * 16, "6" * 64))
    token = Token("7" * 8, "8" * 64, 1798761600, "9" * 64, "a" * 64)
    made.change_account(lambda book: accounts.token_added(book, "ana", "analyst", token, "cora"))
    worst = Spent("pure", Fraction(1, 2))
    made._append("acknowledge", lambda book: transitions.acknowledge(book, worst, "it is older", "restored", "b" * 64))
    for kind in ("close", "moved", "adopt"):
        made._append(kind, lambda book, kind=kind: Draft(kind, {}))  # type: ignore[misc]
    return made
