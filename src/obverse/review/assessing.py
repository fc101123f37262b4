"""`obverse verify --report`: a self-assessment of a project. Reads no private row, spends nothing, writes no record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from obverse._version import __version__
from obverse.accounting import budget as budgets
from obverse.catalog.load import load
from obverse.catalog.model import Budget, Catalog
from obverse.core.errors import ObverseError
from obverse.core.ledger import Cap, Spent
from obverse.core.numbers import plain
from obverse.curator.checking import NO_LEDGER, Finding, known_ledger, unsettled
from obverse.ledger.base import ChainLedger, now
from obverse.ledger.codec import fraction_of
from obverse.ledger.opened import Opened
from obverse.review.assessed import Assessment, Point, Section, State
from obverse.review.assessed_trials import Effort, Progress, Wanted, questions, samplers, surveys, tried
from obverse.review.open_points import left_by, not_promised
from obverse.session.claims import belief_words, budget_words, parallel_words
from obverse.session.opening import located
from obverse.session.views import reachable, table_views

CHARGES_SHOWN = 5
BROKEN = ("ledger_damaged", "ledger_rolled_back", "ledger_missing", "loss_unreadable")
ONLY_SURVEYS = "no table is private here, so there is no budget and no ledger"


def assess(project: Path, effort: Effort | None = None, progress: Progress = lambda share: None) -> Assessment:
    """Everything that can be told of a project now, from the guarantee down to what it rests on."""
    tries = effort or Effort()
    catalog = load(project)
    kept, chain, unlike = _ledger(catalog)
    noise, (asked, unasked) = samplers(tries), _asked(project, catalog, tries)
    alpha = (1 - tries.confidence) / (len(noise) + len(asked))
    found = list(tried([*noise, *asked], alpha, progress))
    sections = (
        Section("Epsilon and delta", tuple(_guarantee(catalog))),
        Section("Unit of privacy and neighbours", tuple(_unit(catalog))),
        Section("Mechanisms and their exactness", (EXACT, *found[: len(noise)])),
        Section("Sensitivity and contribution bounds", tuple(_bounds(catalog))),
        Section("Accounting and budget", tuple(kept)),
        Section("Ledger", tuple(chain)),
        Section("Data collection and trust", tuple(_trust(catalog))),
        Section("Side channels and security", SIDE),
        Section("Attacks and lower bounds of epsilon, run now", (*unasked, *found[len(noise) :], *UNTRIED)),
        Section("Open points", (*unlike, *left_by(project, catalog), not_promised())),
    )
    return Assessment(catalog.name, now(), __version__, tries.confidence, sections)


def _asked(project: Path, catalog: Catalog, effort: Effort) -> tuple[list[Wanted], tuple[Point, ...]]:
    """Questions where a table is private and can be made up, and the reports of surveys; and why there are no questions."""
    local = surveys(catalog, effort)
    if catalog.unit is None:
        return local, ()
    if catalog.graphs:
        return local, (Point("questions", "not looked at", "the edges of a network are not made up, so it was not tried"),)
    try:
        return [*questions(project, effort), *local], ()
    except ObverseError as error:
        return local, (Point("questions", "not looked at", f"no rows could be made up: {error.message}"),)


def _guarantee(catalog: Catalog) -> Iterator[Point]:
    if catalog.unit is None:
        yield Point("tables", "declared", ONLY_SURVEYS)
    else:
        in_all = f"{budget_words(catalog.budget)} for everybody together, for ever{parallel_words(catalog)}"
        yield Point("budget", "declared", in_all, _amounts(catalog.budget))
        price = Budget(catalog.epsilon, catalog.delta)
        yield Point("one question", "declared", f"{budget_words(price)} unless a question says otherwise", _amounts(price))
        yield Point("in odds", "recomputed", belief_words(catalog.budget, catalog))
    for survey in catalog.surveys.values():
        said = f"epsilon {plain(survey.epsilon)} a report, {plain(survey.lifetime)} in a lifetime, randomized by each person"
        yield Point(f"survey {survey.name}", "declared", said)


def _amounts(budget: Budget) -> dict[str, str]:
    return {"epsilon": plain(budget.epsilon), "delta": plain(budget.delta)}


def _unit(catalog: Catalog) -> Iterator[Point]:
    if catalog.unit is not None:
        yield Point("unit", "declared", catalog.unit.words)
        yield Point("neighbours", "declared", f"one unit {catalog.neighbours.words}, with all of its rows")
    for survey in catalog.surveys.values():
        yield Point(f"survey {survey.name}", "declared", "one person; any two of their answers are neighbours")


def _bounds(catalog: Catalog) -> Iterator[Point]:
    for table in table_views(catalog):
        if table.public:
            yield Point(table.name, "declared", "public: questions over it alone are exact and free")
            continue
        yield Point(table.name, "declared", f"contribution: {table.limits}")
        shown = [f"{one.name} in {one.values}" for one in table.columns if one.values]
        if shown:
            yield Point(table.name, "declared", f"what values may be, whatever the rows hold: {'; '.join(shown)}")
    yield Point("enforcement", "by design", "the SQL of every plan limits each unit's rows and moves each value into bounds, "
                "before any sum; the plan is checked against its price before it runs")  # fmt: skip


def _ledger(catalog: Catalog) -> tuple[list[Point], list[Point], list[Point]]:
    """What the ledger's records add up to, whether they hang together, and where they say otherwise than obverse.toml."""
    if catalog.unit is None:
        return [Point("ledger", "declared", ONLY_SURVEYS)], [Point("ledger", "declared", ONLY_SURVEYS)], []
    try:
        with known_ledger(located(catalog)) as known:
            if known is None:
                none = Point("ledger", "recomputed", f"{NO_LEDGER}. Nothing was ever spent of this data on this machine")
                return [none], [none], []
            home, opened = known
            head = opened.ledger.verify()
            shared = ", shared with another project over the same data" if opened.shared else ""
            said = f"{head.count:,} records, each sealed to all before it, with answers and notes; head {head.hash}{shared}"
            chain = Point("hash chain", "recomputed", said, {"records": head.count, "head": head.hash})
            return list(_kept(catalog, opened)), [chain, ANCHOR], [_unlike(one) for one in unsettled(catalog, home, opened)]
    except ObverseError as error:
        state: State = "broken" if error.code in BROKEN else "not looked at"
        point = Point("ledger", state, f"it could not be read whole: {error.message}")
        return [point], [point], []


def _unlike(one: Finding) -> Point:
    return Point(one.about, "open", one.message)


def _kept(catalog: Catalog, opened: Opened) -> Iterator[Point]:
    """Totals of a chain that was just read from its first record to its last."""
    ledger = opened.ledger
    yield Point("accounting", "declared", f"{ledger.terms().accounting}; losses add up, and nothing is ever given back")
    caps = budgets.tighter(ledger.cap(), budgets.cap_of(catalog.budget, catalog.accounting))
    yield _within("everybody", ledger.spent(), caps, catalog)
    for name, analyst in catalog.analysts.items():
        if analyst.budget is not None:
            own = budgets.cap_of(analyst.budget, catalog.accounting)
            yield _within(f"analyst {name}", ledger.spent(analyst=name), own, catalog)
    for name, budget in catalog.purposes.items():
        yield _within(f"purpose {name}", ledger.spent(purpose=name), budgets.cap_of(budget, catalog.accounting), catalog)
    yield _charges(ledger, catalog)


def _within(who: str, spent: Spent, cap: Cap, catalog: Catalog) -> Point:
    holds = spent.amount <= cap.amount and spent.delta <= cap.delta
    sign = _sign(catalog)
    said = f"{sign} {plain(spent.amount)} of {plain(cap.amount)} and delta {plain(spent.delta)} of {plain(cap.delta)} are spent"
    figures = {sign: plain(spent.amount), "cap": plain(cap.amount), "delta": plain(spent.delta), "delta_cap": plain(cap.delta)}
    lowered = "" if holds else "; obverse.toml now allows less than was spent, so nothing more is answered"
    return Point(who, "recomputed" if holds else "open", said + lowered, figures)


def _sign(catalog: Catalog) -> str:
    return "epsilon" if catalog.accounting == "pure" else "rho"


def _charges(ledger: ChainLedger, catalog: Catalog) -> Point:
    sizes = Counter(fraction_of(entry.fields["amount"]) for entry in ledger.entries() if entry.kind == "charge")
    told = [f"{times:,} of {_sign(catalog)} {plain(size)}" for size, times in sorted(sizes.items(), reverse=True)]
    more = f", and {len(told) - CHARGES_SHOWN:,} more sizes" if len(told) > CHARGES_SHOWN else ""
    said = f"{sizes.total():,} in all" + (f": {', '.join(told[:CHARGES_SHOWN])}{more}" if told else "")
    return Point("charges", "recomputed", said, {"charges": sizes.total()})


def _trust(catalog: Catalog) -> Iterator[Point]:
    if catalog.unit is not None:
        yield Point("central", "by design", "the curator holds the rows and is trusted with them; nobody else is")
        yield Point("door", "by design", "in process, whoever runs Obverse can read the files, and names are bookkeeping; "
                    "the boundary against an untrusted analyst is `obverse serve`")  # fmt: skip
        columns = [f"{len(reachable(one))} of {one.name}" for one in catalog.tables.values() if not one.public]
        yield Point("minimisation", "declared", f"columns that analysts may ask about: {', '.join(columns) or 'none'}")
    for survey in catalog.surveys.values():
        via = "through a shuffler" if survey.shuffler else "to the collector"
        said = f"local: answers are randomized on each person's device and sent {via}; kept for {survey.retention_days} days"
        yield Point(f"survey {survey.name}", "by design", said)


EXACT = Point(
    "exactness", "by design",
    "noise is whole numbers from exact integer samplers and the system's entropy: no floating-point number decides an output",
)  # fmt: skip
ANCHOR = Point("replacement", "not looked at", "an older ledger in this one's place is noticed by this machine's anchor alone: "
               "write the head down elsewhere and give it to `obverse ledger verify --head`")  # fmt: skip
SIDE = (
    Point("errors", "by design", "refusals come before rows are read; what fails later is charged, and does not say why"),
    Point("time", "by design", "a service replies on ticks that are chosen from declarations; in process, time is not hidden"),
    Point("transport", "not looked at", "TLS and proxies belong to how it is served: `obverse serve --check` tells them"),
    Point("machine", "not looked at", "who can read the files, the memory and the backups of this machine"),
)
UNTRIED = (
    Point("timing", "not looked at", "it needs a running service: the reviewer's page tries it, and `obverse attack`"),
    Point("releases", "not looked at", "folders of releases: `obverse publish check`; tables that left: `obverse attack`"),
)
