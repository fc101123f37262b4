"""What an analyst may see without asking: tables and columns as declared, budgets as counted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from obverse.accounting import budget as budgets
from obverse.catalog.model import AUTO, Catalog, Column, Limits, Table
from obverse.core.bounds import Categories, Interval
from obverse.core.ledger import Budget, Cap, Ledger, Spent
from obverse.core.numbers import down, plain
from obverse.core.types import Type, Value
from obverse.plan.expressions import from_number
from obverse.session.claims import base_said, budget_words

# so that a row of a column fits on a line
VALUES_SHOWN = 8
LETTERS_SHOWN = 48


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column that may be asked about."""

    name: str
    type: str
    nullable: bool
    values: str  # bounds or public values, in words
    grid: str


@dataclass(frozen=True, slots=True)
class TableView:
    """A table that may be asked about."""

    name: str
    public: bool
    unit: str
    limits: str
    columns: tuple[ColumnView, ...]
    basis: str = ""
    purposes: tuple[str, ...] = ()
    retain_until: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"columns": [asdict(c) for c in self.columns]}


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """One cap: whose it is, what is allowed, spent and left, in epsilon where losses are pure and in rho otherwise."""

    name: str
    kind: str  # "all", "analyst", "purpose"
    cap: str
    spent: str
    left: str
    delta_cap: str
    delta_spent: str
    share_left: float


@dataclass(frozen=True, slots=True)
class SurveyLine:
    """What a respondent's own reports may tell, whoever collects them: nothing of it is spent here."""

    name: str
    report: str  # epsilon, as declared
    lifetime: str


@dataclass(frozen=True, slots=True)
class BudgetView:
    """All caps of a project; the first line binds everybody together."""

    accounting: str
    quantity: str
    lines: tuple[BudgetLine, ...]
    surveys: tuple[SurveyLine, ...] = ()
    together: str = ""  # epsilon and delta of somebody in the tables who answers every survey to its end
    base: str = ""  # what counts as spent on each partition, since others are retired

    def as_json(self) -> dict[str, Any]:
        told = {
            "accounting": self.accounting,
            "quantity": self.quantity,
            "lines": [asdict(line) for line in self.lines],
        }
        return {
            **told,
            "surveys": [asdict(line) for line in self.surveys],
            "together": self.together,
            "base": self.base,
        }


def budget_view(catalog: Catalog, ledger: Ledger, cap: Cap) -> BudgetView:
    everybody = budgets.remaining(cap, ledger.spent())
    lines = [_line("everybody", "all", cap, ledger.spent(), everybody)]
    for name, analyst in catalog.analysts.items():
        own = cap if analyst.budget is None else budgets.cap_within(analyst.budget, catalog.budget, catalog.accounting)
        lines.append(_line(name, "analyst", own, ledger.spent(analyst=name), everybody))
    for name, budget in catalog.purposes.items():
        own = budgets.cap_within(budget, catalog.budget, catalog.accounting)
        lines.append(_line(name, "purpose", own, ledger.spent(purpose=name), everybody))
    return _with_surveys(catalog, tuple(lines))


def surveys_view(catalog: Catalog) -> BudgetView:
    """Of a project that has no private table."""
    return _with_surveys(catalog, ())


def _with_surveys(catalog: Catalog, lines: tuple[BudgetLine, ...]) -> BudgetView:
    asked = catalog.surveys.values()
    surveys = tuple(SurveyLine(survey.name, plain(survey.epsilon), plain(survey.lifetime)) for survey in asked)
    tables = catalog.budget if lines else Budget(Fraction(0))
    everything = Budget(tables.epsilon + sum(survey.lifetime for survey in asked), tables.delta)
    quantity = "epsilon" if catalog.accounting == "pure" else "rho"
    return BudgetView(
        accounting=catalog.accounting,
        quantity=quantity,
        lines=lines,
        surveys=surveys,
        together=budget_words(everything) if surveys else "",
        base=base_said(catalog),
    )


def _line(name: str, kind: str, cap: Cap, spent: Spent, everybody: Spent) -> BudgetLine:
    """A cap of one's own is worth no more than what is left for everybody together."""
    own = budgets.remaining(cap, spent)
    left = Spent(own.accounting, min(own.amount, everybody.amount), min(own.delta, everybody.delta))
    share = down(left.amount / cap.amount) if cap.amount else 0.0
    return BudgetLine(
        name=name,
        kind=kind,
        cap=plain(cap.amount),
        spent=plain(spent.amount),
        left=_rounded_down(left),
        delta_cap=plain(cap.delta),
        delta_spent=plain(spent.delta),
        share_left=share,
    )


def _rounded_down(left: Spent) -> str:
    return budgets.words_left(left).split(" ")[1]


def table_views(catalog: Catalog) -> tuple[TableView, ...]:
    return tuple(_table(t, catalog) for t in catalog.tables.values())


def reachable(table: Table) -> list[str]:
    """Columns that a question may use: the declared ones that are not hidden, and the key that leads to the unit."""
    named = [column.name for column in table.columns.values() if not column.hidden]
    key = None if table.unit is None else table.unit.column
    return named if key is None or key in table.columns else [key, *named]


def _table(table: Table, catalog: Catalog) -> TableView:
    columns = tuple(_column(c) for c in table.columns.values() if not c.hidden)
    until = "" if table.retain_until is None else table.retain_until.isoformat()
    unit = ""
    limits = ""
    if not table.public:
        assert catalog.unit is not None
        unit = catalog.unit.words
        limits = _limits(table)
    return TableView(
        name=table.name,
        public=table.public,
        unit=unit,
        limits=limits,
        columns=columns,
        basis=table.basis,
        purposes=table.purposes,
        retain_until=until,
    )


def _limits(table: Table) -> str:
    match table.limits:
        case None:
            return "one row per unit"
        case Limits(rows, groups):
            of_one = f"{rows} row{'' if rows == 1 else 's'} per unit"
            return of_one if groups is None else f"{of_one}, {groups} group{'' if groups == 1 else 's'}"
        case _:
            return AUTO


def _column(column: Column) -> ColumnView:
    match column.bounds:
        case Interval(lo, hi):
            words = f"{_end(from_number(lo, column.type))} to {_end(from_number(hi, column.type))}"
        case Categories(values):
            words = _some(values)
        case _:
            words = "false, true" if column.type is Type.BOOLEAN else ""
    return ColumnView(
        name=column.name,
        type=column.type.value,
        nullable=column.nullable,
        values=words,
        grid="" if column.grid is None else plain(column.grid),
    )


def _some(values: tuple[Value, ...]) -> str:
    """All values where they are few and short, else the first ones and how many there are."""
    whole = ", ".join(map(str, values))
    if len(values) <= VALUES_SHOWN and len(whole) <= LETTERS_SHOWN:
        return whole
    shown = str(values[0])
    for value in values[1:VALUES_SHOWN]:
        if len(f"{shown}, {value}") > LETTERS_SHOWN:
            break
        shown += f", {value}"
    return f"{shown}, ... ({len(values)} public values)"


def _end(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
