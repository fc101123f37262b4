"""The shapes of what only the page's desks need: rehearsals, prices compared, history, tokens, and what is public."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from obverse.curator.accuracy import OPTIONS_MAX, PEOPLE_MAX, POINTS_MAX
from obverse.server.http.shapes import (
    SQL_MAX,
    BudgetLine,
    Claim,
    Column,
    Double,
    Incoming,
    Price,
    Remaining,
    Scalar,
    SurveyLine,
)
from obverse.session.rehearsal import SEED, UNITS

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
    people: int = Field(10_000, ge=1, le=PEOPLE_MAX, description="Of the local model: how many randomize their own answer.")
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
