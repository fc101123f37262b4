"""Before serving: what is there, what locks the system allows, and whether predicted times hold on this machine.

For the curator's terminal alone: measured times depend on the rows. A suggested `rows_about` follows from such a time,
rounded up to 1, 2 or 5 times a power of ten; once it is declared it is public.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from obverse.catalog.model import Oidc
from obverse.collect.cautions import cautions
from obverse.collect.project import spec_in
from obverse.core.errors import ObverseError
from obverse.server.http.auth import keys
from obverse.server.project import Host
from obverse.server.sandbox import landlock
from obverse.server.timing import ROW_S, first_tick, limit_s, predicted_s, start_s, ticks
from obverse.session.planning import Planned, Wish

PROBE_S = 60.0
LEAST_ROWS = 1000
RUNS = 3
CHEAP = Wish(epsilon=1)
_NETWORK = "from obverse.server.sandbox import seccomp as locks; print(locks.no_network())"
_CALLS = """
from obverse.server.sandbox import seccomp as locks
locks.filter_calls(network=False)
import socket
try:
    socket.socket()
except OSError:
    print(True)
"""
_FILES = """
from obverse.server.sandbox import landlock
from obverse.server.sandbox import seccomp as locks
locks.paths(landlock.libraries(), network=False)
import os
try:
    os.listdir("/")
except OSError:
    print(True)
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was checked; `fine` None: a hint."""

    name: str
    text: str
    fine: bool | None = True


def full_text(error: ObverseError) -> str:
    """Code, problem, reason and fix of an error, in one line."""
    return " ".join(part for part in (f"[{error.code}]", error.message, error.why, error.fix) if part)


def locks() -> Iterator[Line]:
    """What a caged process can give up here. The filter of calls is needed; the namespace is a second fence."""
    calls = _probed(_CALLS)
    network = _probed(_NETWORK)
    yield Line(
        "Calls", "caged processes can make no socket and start no program" if calls else "there is no seccomp", calls
    )
    told = "caged processes have no network interface" if network else "there are no namespaces here; the filter holds"
    yield Line("Network", told, True if network else None)
    yield _paths()


def _paths() -> Line:
    """Whether a sandboxed process is kept from every path but its own.

    Needed: the ledger's files belong to the same user.
    """
    try:
        landlock.required()
    except ObverseError as error:
        return Line("Paths", full_text(error), False)
    if not _probed(_FILES):
        return Line("Paths", "[serve_needs_landlock] this kernel has Landlock, and it does not hold.", False)
    return Line("Paths", "caged processes open their sources and the system's libraries alone")


def project(host: Host) -> Iterator[Line]:
    """Engine, ledger, accounts and times of one project."""
    catalog = host.catalog
    clerk = host.clerk()
    yield Line("Engine", f"{catalog.engine.get('kind', 'duckdb')}: {len(catalog.tables)} tables can be read")
    yield from _surveys(host)
    head = clerk.ledger.head()
    yield Line("Ledger", f"{head.count} records, head {head.hash[:16]}")
    accounts = clerk.ledger.accounts()
    roles = [f"{name} ({account.role})" for name, account in sorted(accounts.items())]
    yield Line("Accounts", ", ".join(roles) or "none: obverse account add NAME --role analyst", True if roles else None)
    for name in sorted(set(catalog.analysts) - set(accounts)):
        yield Line("Account", f"analyst {name} is declared and has no account", None)
    for name in sorted(set(accounts) - set(clerk.accounts())):
        yield Line("Account", f"analyst {name} is not declared here and cannot sign in", None)
    if catalog.serve.oidc is not None:
        yield _issuer(catalog.serve.oidc)
    for name, table in catalog.tables.items():
        if not table.public:
            yield _time(host, name)


def _surveys(host: Host) -> Iterator[Line]:
    """Whether the page can ask them, and what their maker should think about."""
    for name in host.catalog.surveys:
        try:
            spec, _ = spec_in(host.path, name)
        except ObverseError as error:
            yield Line("Survey", f"{name}: [{error.code}] {error.message}", False)
            continue
        warned = cautions(spec)
        if not any(one.name == "page" for one in warned):
            yield Line("Survey", f"{name}: the page asks it")
        yield from (Line("Survey", f"{name}: {one.words()}", None) for one in warned)


def _issuer(oidc: Oidc) -> Line:
    try:
        return Line("Issuer", f"{oidc.issuer}: {len(keys(oidc.jwks).keys)} public keys")
    except ObverseError as error:
        return Line("Issuer", full_text(error), False)


def _time(host: Host, table: str) -> Line:
    """The predicted time of a count against a run of it in a cage.

    What it gives is thrown away, so nothing is charged.
    """
    session = host.clerk().session("", "", host.cage.refuse_to_release)
    try:
        planned = session.prepare(f'SELECT COUNT(*) FROM "{table}"', CHEAP).planned
        assert planned is not None
        predicted = predicted_s(planned, host.catalog)
        measured = min(_once(host, planned, limit_s(predicted, host.catalog)) for _ in range(RUNS))
    except ObverseError as error:
        return Line("Time", f"{table}: a count was refused ({error.code})", None)
    tick = first_tick(predicted)
    told = f"{table}: a count takes {measured:.2g} s, planned {predicted:.2g} s, leaves after {tick:g} s"
    declared = host.catalog.tables[table].rows_about
    if measured <= tick and declared:
        return Line("Time", told)
    return Line(
        "Time", f"{told}; rows_about = {_rows(measured - start_s(host.catalog))} would fit", measured <= tick or None
    )


def _once(host: Host, planned: Planned, limit: float) -> float:
    """Seconds of one run, as a question has it: its process waits ahead."""
    child = host.cage.taken()
    begun = monotonic()
    host.cage.release(planned.costed, planned.sql, limit, child)
    return monotonic() - begun


def _rows(reading_s: float) -> int:
    """So many rows that the planned time covers the measured one."""
    wanted = max(LEAST_ROWS, reading_s / ROW_S)
    return int(next(step for step in ticks() if step >= wanted))


def _probed(program: str) -> bool:
    """Whether a program that gives something up says so; in a process of its own, for it cannot be taken back."""
    with suppress(OSError, subprocess.TimeoutExpired):
        said = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=PROBE_S)
        return said.stdout.strip() == "True"
    return False
