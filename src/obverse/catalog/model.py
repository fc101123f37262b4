"""Catalog, Table, Column: the declared facts, as frozen values. None is trusted: the emitted SQL enforces each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

from obverse.catalog.spelling import Spelling
from obverse.core.bounds import UNBOUNDED, Bounds, Categories, Interval
from obverse.core.errors import Refused, invariant
from obverse.core.ledger import Budget
from obverse.core.types import Type, Value
from obverse.core.units import KeyPath, Neighbours, PrivacyUnit

Accounting = Literal["pure", "zcdp"]
Split = Literal["one", "budget"]
Texts = Mapping[str, str]  # by language; "und" where none was named
OTHER = "(other)"  # the category of every undeclared value


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column. `values_from` names the public table and column that list its values.

    `other`: undeclared values are read as the category OTHER, which `bounds` then contains.
    """

    name: str
    type: Type
    nullable: bool = True
    bounds: Bounds = UNBOUNDED
    grid: Fraction | None = None
    values_from: tuple[str, str] | None = None
    hidden: bool = False
    copies: int | None = None  # of a public table: rows that share one value, at most
    other: bool = False
    stored: str = field(default="", repr=False, compare=False)  # the type that it has in its source

    @property
    def declared(self) -> tuple[Value, ...] | None:
        """The declared values, without the residual category; None where no list is declared."""
        if not isinstance(self.bounds, Categories):
            return None
        values = self.bounds.values
        return tuple(value for value in values if value != OTHER) if self.other else values

    @property
    def drops(self) -> bool:
        """Whether rows with a missing or undeclared value are left out."""
        return isinstance(self.bounds, Categories) and not self.nullable and not self.other


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table's rows lie.

    Kind `object` is a data frame handed over in Python, `table` one of the engine's catalog.
    """

    kind: Literal["csv", "parquet", "duckdb", "object", "table"]
    path: Path | None = None
    table: str | None = None  # inside a DuckDB file, or on the engine's server with its schema
    delimiter: str = ","
    header: bool = True
    # what tells a table on a server from every other, once the engine is open
    place: str = field(default="", repr=False)
    mark: str = field(default="", repr=False)  # what changes with its rows; for the curator alone
    # the places of tables on a server that its rows lie in besides
    among: tuple[str, ...] = field(default=(), repr=False)
    # of a view that was proved row-wise: the table whose rows it has
    base: str = field(default="", repr=False, compare=False)
    # texts of it were compared by a collation up to 0.1
    collated: bool = field(default=False, repr=False, compare=False)
    key: str = field(default="", repr=False, compare=False)  # of such a view: the table's own name of the unit's column


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps on one unit's contribution: rows, groups (keys and distinct values), and sums per column."""

    rows: int
    groups: int | None = None
    sums: Mapping[str, Fraction] = field(default_factory=dict)
    learned: bool = field(default=False, repr=False)  # chosen for a question, not declared

    def __post_init__(self) -> None:
        invariant(self.rows >= 1 and (self.groups is None or self.groups >= 1), "a cap is at least one")


AUTO: Literal["auto"] = "auto"


@dataclass(frozen=True, slots=True)
class Partition:
    """A column by whose values rows come in, one value after the other.

    first: a unit counts in its first partition only. each: the unit is somebody's part of one partition.
    """

    column: str
    counts: Literal["first", "each"]
    through: int | None = None  # the last published partition, as the ledger remembers it
    retired: int | None = None  # the last one that is read no more
    base: str = ""  # in words: what counts as spent on each that is left, for those that are retired


@dataclass(frozen=True, slots=True)
class Table:
    """One declared table. `unit` is None exactly when the table is public."""

    name: str
    source: Source
    columns: Mapping[str, Column]
    unit: KeyPath | None
    limits: Limits | Literal["auto"] | None = None  # None: one row per unit, enforced
    size: int | None = None  # declared public number of units, under replace
    partition: Partition | None = None
    rows_about: int | None = None  # declared, for everybody to know
    purposes: tuple[str, ...] = ()  # that questions over it may have; empty: any
    basis: str = ""  # the legal basis on which its rows are held
    retain_until: dt.date | None = None  # the last day on which it is asked
    rowwise: bool = False  # declared: each row is computed from rows of its own unit alone

    @property
    def public(self) -> bool:
        return self.unit is None

    @property
    def row_is_unit(self) -> bool:
        return self.unit is not None and self.unit.column is None


@dataclass(frozen=True, slots=True)
class Network:
    """A social network. `table` holds its edges, for the engine and the ledger alone: SQL never reaches it."""

    name: str
    table: Table
    ends: tuple[str, str]
    nodes: tuple[str, str]  # the public table that lists everybody, and its column
    unit: Literal["edge", "node"]
    degree: int | None = None  # promised
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Analyst:
    """Someone who may ask, with a cap of their own (None: only those of all) and the purposes allowed (empty: any)."""

    name: str
    budget: Budget | None = None
    purposes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is found: a connection service by its name, or the environment variable that holds its address."""

    service: str = ""
    dsn_env: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One of a survey's several questions: options, or numbers within bounds."""

    name: str
    question: Texts
    options: tuple[str, ...]
    labels: Mapping[str, Mapping[str, str]]
    none: str | None
    bounds: tuple[Fraction, Fraction] | None
    step: Fraction | None
    protocol: str


@dataclass(frozen=True, slots=True)
class Survey:
    """What is asked of people who randomize their own answers: options, or numbers within bounds, or any text."""

    name: str
    question: Texts
    options: tuple[str, ...]  # empty for numbers and texts
    labels: Mapping[str, Mapping[str, str]]  # by language and option
    none: str | None  # the option that stands for no answer
    bounds: tuple[Fraction, Fraction] | None
    step: Fraction | None
    protocol: str
    epsilon: Fraction  # of one report
    permanent: Fraction | None  # of any number of reports of one answer
    people: int
    reports: int
    per_day: int
    lifetime: Fraction
    minimum: int
    retention_days: int
    purpose: Texts
    consent: Texts
    split: Split | None = None  # how several questions share a report
    questions: tuple[Question, ...] = ()
    shuffler: str | None = None  # public key, in hexadecimal
    spelling: Spelling | None = None  # of words that are to be discovered

    @property
    def parts(self) -> tuple[Survey, ...]:
        """A survey of each question, at the epsilon and of the people that it really has."""
        count = max(len(self.questions), 1)
        epsilon = self.epsilon
        people = self.people
        if self.split == "budget":
            epsilon = epsilon / count
        else:
            people = max(people // count, 1)
        return tuple(
            replace(
                self, name=one.name, question=one.question, options=one.options, labels=one.labels, none=one.none,
                bounds=one.bounds, step=one.step, protocol=one.protocol, epsilon=epsilon, people=people, split=None,
                questions=(),
            )
            for one in self.questions
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Oidc:
    """An issuer whose JWTs stand for accounts: `claim` holds the account's name, `jwks` the issuer's public keys."""

    issuer: str
    audience: str
    jwks: Path
    claim: str = "sub"


@dataclass(frozen=True, slots=True)
class Serving:
    """How a service runs questions; at_once 0: twice the cores."""

    at_once: int = 0
    memory_mb: int = 4096
    limit_s: int = 30
    requests_per_minute: int = 600
    transparency: bool = True
    oidc: Oidc | None = None


@dataclass(frozen=True, slots=True)
class Catalog:
    """A whole project: one protected entity, one notion of neighbours, one accountant."""

    name: str
    root: Path
    ledger: Path
    engine: Mapping[str, str]
    unit: PrivacyUnit | None  # None: a project of public tables only
    accounting: Accounting
    epsilon: Fraction  # default price of one question
    delta: Fraction
    budget: Budget
    tables: Mapping[str, Table]
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    purposes: Mapping[str, Budget] = field(default_factory=dict)
    dataset: str | None = None  # the dataset's declared name, when several projects share one
    surveys: Mapping[str, Survey] = field(default_factory=dict)
    serve: Serving = Serving()
    apart: tuple[tuple[str, ...], ...] = ()  # tables that no question may bring together
    ledger_server: Server | None = None  # where several machines share one ledger; None: it is the file `ledger`
    graphs: Mapping[str, Network] = field(default_factory=dict)
    version: int = 1  # of obverse.toml, which decides what its defaults mean; no fact of its own

    @property
    def held(self) -> tuple[Table, ...]:
        """Everything that rows are read from: the tables, and the edges of a network."""
        return (*self.tables.values(), *(graph.table for graph in self.graphs.values()))

    @property
    def neighbours(self) -> Neighbours:
        if self.unit is None:
            raise Refused("no_private_table", "this project has no private table, so nothing in it is protected")
        return self.unit.neighbours

    def last_partition(self) -> int | None:
        """The last partition that may ever be, where a table grows by partitions."""
        for table in self.tables.values():
            bounds = None if table.partition is None else table.columns[table.partition.column].bounds
            if isinstance(bounds, Interval):
                return int(bounds.hi)
        return None
