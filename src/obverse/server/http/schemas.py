"""The shapes of what comes in and goes out, for checks and for OpenAPI. Unknown keys are refused, and 1 is not "1".

The shapes of what only the page's desks need: rehearsals, prices compared, history, tokens, and what is public.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from obverse.core.accounts import NAME_MAX
from obverse.curator.accounts import DAYS, DAYS_MAX
from obverse.curator.local_model import OPTIONS_MAX, PEOPLE_MAX, POINTS_MAX
from obverse.server.http.login import PASSWORD_MAX
from obverse.session.rehearsal import SEED, UNITS

SQL_MAX = 65_536
REPORTS_MAX = 100
PARAMETERS_MAX = 1000
Double = Annotated[float, Field(allow_inf_nan=False)]
Scalar = bool | int | float | str | None
# one error of many is enough, and each takes more room than its value
Listed = Annotated[list[Scalar], Field(fail_fast=True)]
Hexadecimal = Annotated[str, Field(pattern=r"^([0-9a-f]{2})*$", max_length=100_000)]


class Incoming(BaseModel):
    """A body that comes in."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Question(Incoming):
    """A question and what it may cost, or how wrong it may be."""

    sql: str = Field(max_length=SQL_MAX, description="One SELECT.")
    epsilon: Double | None = Field(None, description="Price; the project's default unless told.")
    delta: Double | None = None
    within: Double | None = Field(None, description="Find the least epsilon whose noise interval is at most ± this.")
    confidence: Double = 0.95
    above: Double | None = Field(None, description="Name only the first keys whose count passes this.")
    first: int = 1
    purpose: str = Field("", max_length=200)
    parameters: list[Scalar | Listed] | dict[str, Scalar | Listed] = Field(
        default_factory=list, description="Values of ?, $1 or :name in the SQL."
    )

    @field_validator("parameters", mode="before")
    @classmethod
    def _few(cls, told: Any) -> Any:
        if isinstance(told, (list, dict)) and len(told) > PARAMETERS_MAX:
            raise ValueError(f"at most {PARAMETERS_MAX} parameters")
        return told


class Column(BaseModel):
    name: str
    type: str
    role: Literal["key", "value"]


class Claim(BaseModel):
    unit: str
    neighbours: str
    epsilon: str
    delta: str
    mechanisms: list[str]
    limits: str
    bias: str
    belief: str
    receipt: str
    sentence: str
    assumes: list[str] = Field(default=[], description="What the claim rests on by declaration alone.")


class Price(BaseModel):
    epsilon: str
    delta: str
    share: float
    stored: bool


class Remaining(BaseModel):
    share: float
    epsilon: str | None
    like_this: int | None


class Answer(BaseModel):
    """A private answer. `remaining` is null where an answer is read again by its address."""

    version: Literal[1]
    columns: list[Column]
    rows: list[list[Scalar]]
    intervals: list[list[list[float | int | str | None] | None]]
    level: float
    claim: Claim
    price: Price
    remaining: Remaining | None


class Measure(BaseModel):
    name: str
    l0: int | float
    l1: float
    l2: float
    linf: float
    mechanism: str | None
    stddev: float | None
    half_width: float | None


class Explained(BaseModel):
    version: Literal[1]
    measures: list[Measure]
    joint_l1: float | None
    level: float
    price: Price
    remaining: Remaining | None
    plan: str
    note: str


class BudgetLine(BaseModel):
    name: str
    kind: Literal["all", "analyst", "purpose"]
    cap: str
    spent: str
    left: str
    delta_cap: str
    delta_spent: str
    share_left: float


class SurveyLine(BaseModel):
    name: str
    report: str
    lifetime: str


class Budget(BaseModel):
    version: Literal[1]
    accounting: str
    quantity: str
    lines: list[BudgetLine]
    surveys: list[SurveyLine]
    together: str
    base: str = Field(
        "", description="What counts as spent on each partition of growing data, since others are retired."
    )


class TableColumn(BaseModel):
    name: str
    type: str
    nullable: bool
    values: str
    grid: str


class Table(BaseModel):
    name: str
    public: bool
    unit: str
    limits: str
    columns: list[TableColumn]
    basis: str
    purposes: list[str]
    retain_until: str = Field(description="The last day on which it is asked, as 2030-12-31; empty: none.")


class Tables(BaseModel):
    version: Literal[1]
    tables: list[Table]


class Names(BaseModel):
    version: Literal[1]
    names: list[str]


class SurveyTold(BaseModel):
    """A survey's public card, and the specification that devices work by; its hash is the id."""

    version: Literal[1]
    id: str
    card: dict[str, Any]
    spec: dict[str, Any]
    warnings: list[dict[str, str]] = Field(description="What the survey's maker should think about.")


class Report(Incoming):
    token: Hexadecimal
    report: Hexadecimal


class Reports(Incoming):
    reports: list[Report] = Field(min_length=1, max_length=REPORTS_MAX)


class Received(BaseModel):
    """How many reports came in, how many of them count, and why the others do not."""

    version: Literal[1]
    received: int
    counted: int
    rejected: dict[str, int] = Field(description="By reason; `spent`: the token was used before.")


class Token(BaseModel):
    id: str
    expires: int = Field(description="Seconds since 1970.")


class Account(BaseModel):
    name: str
    role: Literal["curator", "analyst", "reviewer"]
    tokens: list[Token]
    suspended: str
    stopped: int
    password: bool


class Accounts(BaseModel):
    version: Literal[1]
    accounts: list[Account]


class NewAccount(Incoming):
    name: str = Field(max_length=NAME_MAX)
    role: Literal["curator", "analyst", "reviewer"]
    days: int = Field(DAYS, ge=1, le=DAYS_MAX)


class Rotation(Incoming):
    days: int = Field(DAYS, ge=1, le=DAYS_MAX)


class Revocation(Incoming):
    token: str = Field("", max_length=64, description="Its id; all tokens of the account unless told.")


class Reason(Incoming):
    reason: str = Field(max_length=1000)


class Password(Incoming):
    password: str = Field(max_length=PASSWORD_MAX)


class Login(Incoming):
    name: str = Field(max_length=NAME_MAX)
    password: str = Field(max_length=PASSWORD_MAX)


class Issued(BaseModel):
    """A token, at the one moment when it can be shown."""

    version: Literal[1]
    name: str
    role: str
    token: str
    id: str
    expires: int


class Done(BaseModel):
    version: Literal[1]
    done: Literal[True]


class Signed(BaseModel):
    version: Literal[1]
    name: str
    role: str


class Health(BaseModel):
    status: Literal["ok"]


class Where(BaseModel):
    line: int
    column: int


class Problem(BaseModel):
    """An error (RFC 9457). `code` is stable; `charged` says whether budget was spent."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    charged: bool
    where: Where | None
    why: str
    fix: str
    request: str


TOKENS_MAX = 1000
REHEARSED_MAX = 5_000


class Rehearsal(Incoming):
    """A question to be tried on made-up rows."""

    sql: str = Field(max_length=SQL_MAX)
    epsilon: Double | None = None
    delta: Double | None = None
    within: Double | None = None
    confidence: Double = 0.95
    purpose: str = Field("", max_length=200)
    rows: int = Field(UNITS, ge=1, le=REHEARSED_MAX, description="Protected units to make up.")
    seed: int = Field(SEED, ge=0, le=2**31)


class Exploration(Incoming):
    """A question, and the prices at which its error is wanted."""

    sql: str = Field(max_length=SQL_MAX)
    epsilons: list[Double] = Field(min_length=1, max_length=POINTS_MAX)
    confidence: Double = 0.95
    purpose: str = Field("", max_length=200)
    people: int = Field(
        10_000, ge=1, le=PEOPLE_MAX, description="Of the local model: how many randomize their own answer."
    )
    options: int = Field(2, ge=2, le=OPTIONS_MAX, description="Of the local model: how many answers there are.")


class Point(BaseModel):
    epsilon: str
    widths: list[float | None]
    like_this: int | None
    local: float | None


class Explored(BaseModel):
    version: Literal[1]
    measures: list[str]
    points: list[Point]


class Asked(BaseModel):
    """A question that was charged. `answer` says whether its answer can be read again."""

    receipt: str
    time: str
    analyst: str
    purpose: str
    sql: str
    amount: str
    delta: str
    answer: bool


class History(BaseModel):
    version: Literal[1]
    quantity: str
    questions: list[Asked]


class LearnedLimits(BaseModel):
    version: Literal[1]
    tables: list[dict[str, Any]]


class Wanting(Incoming):
    count: int = Field(1, ge=1, le=TOKENS_MAX)


class Tokens(BaseModel):
    version: Literal[1]
    tokens: list[str]


class Verified(BaseModel):
    version: Literal[1]
    records: int
    head: str


class Charges(BaseModel):
    """So many charges of one size."""

    amount: str
    delta: str
    times: int


class PublicTable(BaseModel):
    name: str
    unit: str
    limits: str


class PublicCard(BaseModel):
    """What everybody may know of a project: nothing in it follows from a row."""

    version: Literal[1]
    project: str
    unit: str
    neighbours: str
    accounting: str
    quantity: str
    budget: BudgetLine | None
    purposes: list[BudgetLine]
    sentence: str
    charges: list[Charges]
    tables: list[PublicTable]
    surveys: list[SurveyLine]
    together: str
    releases: list[str]


class Rehearsed(BaseModel):
    """An answer over rows that are made up: its numbers mean nothing, and nothing was spent."""

    version: Literal[1]
    columns: list[Column]
    rows: list[list[Scalar]]
    intervals: list[list[list[float | int | str | None] | None]]
    level: float
    claim: Claim
    price: Price
    remaining: Remaining
