"""`obverse verify --report`: a self-assessment of a project. Reads no private row, spends nothing, writes no record.

A self-assessment in the order of NIST SP 800-226: points, each with how much is known of it.

Trials of a self-assessment: the usual questions, the samplers and the surveys' protocols, on made-up neighbours.

Open points of a project: what nobody promises, and what its declarations leave open. Read from obverse.toml alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from obverse._version import __version__
from obverse.accounting import budget as budgets
from obverse.attack.lower_bound.trial import Verdict, trial
from obverse.catalog.load import load
from obverse.catalog.model import AUTO, Catalog, Table
from obverse.collect.planning import chosen
from obverse.core.bounds import Unbounded
from obverse.core.errors import ObverseError
from obverse.core.ledger import Budget, Cap, Spent
from obverse.core.numbers import plain
from obverse.core.types import Type
from obverse.curator.check import NO_LEDGER, Finding, free_text, known_ledger, left_open, unsettled
from obverse.curator.explore import usual_questions
from obverse.ledger.chain import fraction_of
from obverse.ledger.ledger import ChainLedger, now
from obverse.ledger.opened import Opened
from obverse.mechanisms import MECHANISMS, DiscreteLaplace
from obverse.review.neighbours import of_question
from obverse.review.targets import Inputs, Target, of_example, of_mechanism, of_protocol
from obverse.session.authorization import today
from obverse.session.claims import belief_words, budget_words, parallel_words
from obverse.session.project import located
from obverse.session.rehearsal import declared
from obverse.session.views import reachable, table_views

State = Literal["recomputed", "declared", "by design", "not refuted", "refuted", "broken", "open", "not looked at"]
MEANING: Mapping[State, str] = {
    "recomputed": "computed again just now, from the ledger's records or from obverse.toml, and found so",
    "declared": "said by the curator; the plan enforces it on every row, nobody has looked whether it is wise",
    "by design": "what the code does; its proofs and tests say so, this command did not look",
    "not refuted": "tried just now on made-up neighbours, and no contradiction was found at the stated confidence",
    "refuted": "tried just now, and contradicted at the stated confidence",
    "broken": "computed again just now, and found otherwise",
    "open": "left open by this project, or not promised by anybody",
    "not looked at": "cannot be told from here",
}
NOT_TRUE = "What is not refuted is not thereby true."
BAD: tuple[State, ...] = ("refuted", "broken")


@dataclass(frozen=True, slots=True)
class Point:
    """One line: what it is about, how much is known of it, and a sentence."""

    about: str
    state: State
    said: str
    figures: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        told = {"about": self.about, "state": self.state, "said": self.said}
        return told | ({"figures": dict(self.figures)} if self.figures else {})


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Assessment:
    """The whole report of one project."""

    project: str
    made: str  # when, to the second
    version: str
    confidence: float  # of all trials together
    sections: tuple[Section, ...]

    @property
    def bad(self) -> tuple[Point, ...]:
        """What was refuted or found broken."""
        return tuple(point for section in self.sections for point in section.points if point.state in BAD)

    def count(self, state: State) -> int:
        return sum(point.state == state for section in self.sections for point in section.points)

    @property
    def sentence(self) -> str:
        """What may be said of the whole: never that it is private."""
        told = [f"{self.count(state)} {state}" for state in MEANING if self.count(state)]
        first = (
            f"{len(self.bad)} points speak against this project."
            if self.bad
            else ("Nothing was refuted or found broken.")
        )
        sure = f"All trials together speak with confidence {self.confidence:g}."
        return f"{first} {sure} Points by what is known of them: {', '.join(told)}. {NOT_TRUE}"

    def as_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "project": self.project,
            "made": self.made,
            "obverse": self.version,
            "confidence": self.confidence,
            "sentence": self.sentence,
            "states": dict(MEANING),
            "sections": [
                {"title": one.title, "points": [point.as_json() for point in one.points]} for one in self.sections
            ],
        }


PRICE_MIN = Fraction(1)
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Effort:
    """Outputs of each neighbour; and the confidence of all trials together."""

    of_questions: int = 20_000
    of_samplers: int = 5_000
    confidence: float = 0.95


QUICK = Effort(2_000, 1_000)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One trial: of what, how it is made ready, and with how many outputs. A control has to be refuted."""

    about: str
    ready: Callable[[], Target]
    samples: int
    control: bool = False


def samplers(effort: Effort) -> list[Wanted]:
    """Each mechanism on the worst neighbours that it names itself; and one with half its noise, to see whether
    trials bite.
    """
    half = lambda: replace(of_mechanism(DiscreteLaplace(1, Fraction(1, 2)), Inputs((0.0, 1.0))), epsilon=1.0)  # noqa: E731
    found = [Wanted(kind.name, lambda kind=kind: of_example(kind, Inputs()), effort.of_samplers) for kind in MECHANISMS]  # type: ignore[misc]
    return [*found, Wanted("control: half of the noise", half, effort.of_samplers, control=True)]


def questions(project: Path, effort: Effort) -> list[Wanted]:
    """The usual questions of the declared tables; not below a price at which so few outputs can tell anything."""
    catalog = declared(project, {})[0]
    price = max(catalog.epsilon, PRICE_MIN)
    many = effort.of_questions
    asked = usual_questions(catalog)
    return [Wanted(sql, lambda sql=sql: of_question(project, sql, price, None), many) for sql in asked]  # type: ignore[misc]


def surveys(catalog: Catalog, effort: Effort) -> list[Wanted]:
    """One report of each question of each survey."""
    found = []
    for survey in catalog.surveys.values():
        for part in survey.parts or (survey,):
            about = f"survey {survey.name}" + (f", {part.name}" if survey.questions else "")
            ready = lambda part=part: of_protocol(chosen(part).protocol, Inputs())  # noqa: E731
            found.append(Wanted(about, ready, effort.of_samplers))
    return found


def tried(wanted: list[Wanted], alpha: float, progress: Progress = lambda share: None) -> Iterator[Point]:
    """Each trial with the false-alarm rate `alpha`; what cannot be tried is said."""
    for place, one in enumerate(wanted):
        try:
            target = one.ready()
            verdict = trial(
                target.draw, target.pairs, one.samples, claimed=target.epsilon, delta=target.delta, alpha=alpha,
                progress=lambda share, place=place: progress((place + share) / len(wanted)),  # type: ignore[misc]
            )  # fmt: skip
        except ObverseError as error:
            yield Point(one.about, "not looked at", f"it could not be tried: {error.message}")
            continue
        yield _control(one, verdict) if one.control else _point(one, verdict)


def _point(one: Wanted, verdict: Verdict) -> Point:
    return Point(one.about, "refuted" if verdict.refuted else "not refuted", verdict.sentence, verdict.as_json())


def _control(one: Wanted, verdict: Verdict) -> Point:
    """The other way round: a claim that is false has to be refuted, or these trials are too small to tell anything."""
    if verdict.refuted:
        said = (
            "the trial bites: epsilon 1 was claimed of noise for 2, and refuted: at least "
            f"{verdict.evidence.epsilon:.3g}."
        )
        return Point(one.about, "recomputed", said, verdict.as_json())
    said = (
        "epsilon 1 was claimed of noise for 2, and these trials did not see it: take more outputs before trusting them."
    )
    return Point(one.about, "open", said, verdict.as_json())


NOT_PROMISED = (
    "In process, the analyst's name is bookkeeping.",
    "Time, in process.",
    "Time, of a service, beyond the tick.",
    "Answers while their tick is waited for.",
    "That a question was killed",
    "What was asked, from those who have the chain.",
    "That a project cannot be opened at the moment",
    "A malicious curator",
    "The registry and the ledger deleted together",
    "Whoever reads Obverse's folder whole",
    "Clipping.",
    "Shared keys on longer unit paths.",
    "Two spellings of one key.",
    "A file that is exchanged or written while a question runs",
    "Missing and undeclared values",
    "A crash of the engine",
    "Learned limits",
    "Averages of few rows",
    "Order statistics",
    "Hardware side channels",
    "Sources that are not well formed",
    "Rows that a table was given.",
    "A row that a view cannot compute.",
    "Copies that were changed.",
    "Rows that go or come late.",
    "Unannounced changes",
    "PostgreSQL's and Spark's own logs",
    "A question that is stopped over Spark Connect",
    "A restored PostgreSQL server",
    "The owner of the ledger's database",
    "Two tabs of a browser that has no `navigator.locks`",
    "A shuffler that works together with the collector",
    "Deleted reports",
    "Crafted reports",
    "The curator's own reading of rows",
)  # the headings of docs/not-promised.md


def not_promised() -> Point:
    told = "; ".join(one.rstrip(".") for one in NOT_PROMISED)
    return Point("not promised", "open", f"by any project: {told}. Each is explained in docs/not-promised.md.")


def left_by(project: Path, catalog: Catalog) -> Iterator[Point]:
    """What the curator could still decide."""
    for table in catalog.tables.values():
        if not table.public:
            yield from _of(table)
    if catalog.unit is not None:
        yield from _of_askers(catalog)
    for finding in left_open(project):
        yield Point(finding.about, "open", f"a question of the draft still stands in obverse.toml: {finding.message}")


def _of(table: Table) -> Iterator[Point]:
    for finding in free_text(table):
        yield Point(finding.about, "open", finding.message)
    shown = (column for column in table.columns.values() if not column.hidden and column.name != _key(table))
    numbers = (one for one in shown if one.type in (Type.INTEGER, Type.DOUBLE) and one.values_from is None)
    unbounded = [one.name for one in numbers if isinstance(one.bounds, Unbounded)]
    if unbounded:
        said = f"no bounds are declared of {', '.join(unbounded)}: each question has to bring its own, by CLAMP"
        yield Point(table.name, "open", said)
    if table.limits == AUTO:
        yield Point(
            table.name, "open", "limits are auto: they are learned with noise, of the whole table as it then was"
        )
    if not table.basis:
        yield Point(table.name, "open", "no legal basis is declared")
    if table.retain_until is None:
        yield Point(table.name, "open", "no last day is declared on which it may be asked")
    elif today() > table.retain_until:
        yield Point(table.name, "open", f"its last day, {table.retain_until}, is over; it is refused, and still held")
    if table.rows_about is None:
        yield Point(table.name, "open", "no rows_about is declared, so a service cannot choose its ticks generously")


def _key(table: Table) -> str | None:
    return None if table.unit is None else table.unit.column


def _of_askers(catalog: Catalog) -> Iterator[Point]:
    if not catalog.purposes:
        yield Point("purposes", "open", "none are declared: any purpose is answered, out of the budget of all")
    if not catalog.analysts:
        yield Point("analysts", "open", "none are declared: whoever asks first may spend everybody's budget")
    without = [one.name for one in catalog.analysts.values() if one.budget is None]
    if without:
        yield Point(
            "analysts", "open", f"without a cap of their own, free to spend everybody's budget: {', '.join(without)}"
        )
    if not catalog.serve.transparency:
        yield Point(
            "transparency", "open", "the card for everybody is turned off: people cannot see how they are protected"
        )


CHARGES_SHOWN = 5
BROKEN = ("ledger_damaged", "ledger_rolled_back", "ledger_missing", "loss_unreadable")
ONLY_SURVEYS = "no table is private here, so there is no budget and no ledger"


def assess(project: Path, effort: Effort | None = None, progress: Progress = lambda share: None) -> Assessment:
    """Everything that can be told of a project now, from the guarantee down to what it rests on."""
    tries = effort or Effort()
    catalog = load(project)
    kept, chain, unlike = _ledger(catalog)
    noise = samplers(tries)
    asked, unasked = _asked(project, catalog, tries)
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
    """Questions where a table is private and can be made up, and the reports of surveys; and why there are no
    questions.
    """
    local = surveys(catalog, effort)
    if catalog.unit is None:
        return local, ()
    if catalog.graphs:
        return local, (
            Point("questions", "not looked at", "the edges of a network are not made up, so it was not tried"),
        )
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
        yield Point(
            "one question", "declared", f"{budget_words(price)} unless a question says otherwise", _amounts(price)
        )
        yield Point("in odds", "recomputed", belief_words(catalog.budget, catalog))
    for survey in catalog.surveys.values():
        said = (
            f"epsilon {plain(survey.epsilon)} a report, {plain(survey.lifetime)} in a lifetime, randomized by each "
            "person"
        )
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
    yield Point(
        "enforcement",
        "by design",
        "the SQL of every plan limits each unit's rows and moves each value into "
        "bounds, "
        "before any sum; the plan is checked against its price before it runs",
    )


def _ledger(catalog: Catalog) -> tuple[list[Point], list[Point], list[Point]]:
    """What the ledger's records add up to, whether they hang together, and where they say otherwise than
    obverse.toml.
    """
    if catalog.unit is None:
        return [Point("ledger", "declared", ONLY_SURVEYS)], [Point("ledger", "declared", ONLY_SURVEYS)], []
    try:
        with known_ledger(located(catalog)) as known:
            if known is None:
                none = Point(
                    "ledger", "recomputed", f"{NO_LEDGER}. Nothing was ever spent of this data on this machine"
                )
                return [none], [none], []
            home, opened = known
            head = opened.ledger.verify()
            shared = ", shared with another project over the same data" if opened.shared else ""
            said = (
                f"{head.count:,} records, each sealed to all before it, with answers and notes; head "
                f"{head.hash}{shared}"
            )
            chain = Point("hash chain", "recomputed", said, {"records": head.count, "head": head.hash})
            return (
                list(_kept(catalog, opened)),
                [chain, ANCHOR],
                [_unlike(one) for one in unsettled(catalog, home, opened)],
            )
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
        yield _within(
            f"purpose {name}", ledger.spent(purpose=name), budgets.cap_of(budget, catalog.accounting), catalog
        )
    yield _charges(ledger, catalog)


def _within(who: str, spent: Spent, cap: Cap, catalog: Catalog) -> Point:
    holds = spent.amount <= cap.amount and spent.delta <= cap.delta
    sign = _sign(catalog)
    said = (
        f"{sign} {plain(spent.amount)} of {plain(cap.amount)} and delta {plain(spent.delta)} of {plain(cap.delta)} "
        "are spent"
    )
    figures = {
        sign: plain(spent.amount),
        "cap": plain(cap.amount),
        "delta": plain(spent.delta),
        "delta_cap": plain(cap.delta),
    }
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
        yield Point(
            "door",
            "by design",
            "in process, whoever runs Obverse can read the files, and names are "
            "bookkeeping; "
            "the boundary against an untrusted analyst is `obverse serve`",
        )
        columns = [f"{len(reachable(one))} of {one.name}" for one in catalog.tables.values() if not one.public]
        yield Point("minimisation", "declared", f"columns that analysts may ask about: {', '.join(columns) or 'none'}")
    for survey in catalog.surveys.values():
        via = "through a shuffler" if survey.shuffler else "to the collector"
        said = (
            f"local: answers are randomized on each person's device and sent {via}; kept for "
            f"{survey.retention_days} days"
        )
        yield Point(f"survey {survey.name}", "by design", said)


EXACT = Point(
    "exactness",
    "by design",
    "noise is whole numbers from exact integer samplers and the system's entropy: no floating-point number decides an "
    "output",
)
ANCHOR = Point(
    "replacement",
    "not looked at",
    "an older ledger in this one's place is noticed by this machine's "
    "anchor alone: "
    "write the head down elsewhere and give it to `obverse ledger verify --head`",
)
SIDE = (
    Point(
        "errors", "by design", "refusals come before rows are read; what fails later is charged, and does not say why"
    ),
    Point(
        "time",
        "by design",
        "a service replies on ticks that are chosen from declarations; in process, time is not hidden",
    ),
    Point(
        "transport", "not looked at", "TLS and proxies belong to how it is served: `obverse serve --check` tells them"
    ),
    Point("machine", "not looked at", "who can read the files, the memory and the backups of this machine"),
)
UNTRIED = (
    Point("timing", "not looked at", "it needs a running service: the reviewer's page tries it, and `obverse attack`"),
    Point(
        "releases", "not looked at", "folders of releases: `obverse publish check`; tables that left: `obverse attack`"
    ),
)
