"""The one table of keys of obverse.toml: the loader checks shapes by it, and the JSON Schema is printed from it.

The JSON Schema of obverse.toml, printed from the table of keys, so that editors can complete and check.

Whether a parsed obverse.toml has the keys and the kinds of values that the table of keys allows.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from obverse.catalog import parameters
from obverse.catalog.columns import day_of
from obverse.catalog.locate import Document, KeyParts
from obverse.catalog.parameters import EPSILON_MAX, EPSILON_MIN
from obverse.core.errors import CatalogError, Refused
from obverse.core.types import Type

CAP_MAX = 10**9
TYPES = tuple(t.value for t in Type)


@dataclass(frozen=True, slots=True)
class Text:
    """A string; one of the choices when there are any."""

    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number of at least one."""

    most: int = CAP_MAX


@dataclass(frozen=True, slots=True)
class Number:
    """A number read exactly from its decimal text."""

    kind: Literal["epsilon", "delta", "positive"]


@dataclass(frozen=True, slots=True)
class TextList:
    """A list of strings."""


@dataclass(frozen=True, slots=True)
class Texts:
    """A text, or one for each language, such as { en = "...", de = "..." }."""


@dataclass(frozen=True, slots=True)
class Day:
    """A date, such as 2030-12-31, with or without quotes."""


@dataclass(frozen=True, slots=True)
class Groups:
    """A list of lists of strings, each of at least two."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A list of two: numbers, dates or timestamps; the column's type decides which."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of values, or `table.column` of a public table."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table with these keys and no others."""

    keys: tuple[Key, ...]

    def key(self, name: str) -> Key | None:
        return next((key for key in self.keys if key.name == name), None)


@dataclass(frozen=True, slots=True)
class Named:
    """A table whose keys are names that the owner chooses."""

    what: Literal["table", "column", "analyst", "purpose", "survey", "graph", "question", "language", "option"]
    each: Shape


@dataclass(frozen=True, slots=True)
class WordOrSection:
    """One word, or a table."""

    word: str
    section: Section


Shape = (
    Text | Texts | Flag | Whole | Number | TextList | Day | Groups | Pair | Listing | Section | Named | WordOrSection
)


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its name, the shape of its value, and what it means, for editors and docs."""

    name: str
    shape: Shape
    help: str
    required: bool = False


EPSILON = Number("epsilon")
DELTA = Number("delta")
POSITIVE = Number("positive")

PROJECT = Section(
    (
        Key("name", Text(), "What the project is called.", required=True),
        Key(
            "version",
            Whole(2),
            "Whose defaults hold, 1 or 2; 1 without it. `obverse check --upgrade` shows what changes.",
        ),
        Key("ledger", Text(), "Where spent budget is remembered; .obverse/ledger.db unless told."),
        Key("dataset", Text(), "The dataset whose budget is spent; projects over the same data share one."),
    )
)
ENGINE = Section(
    (
        Key("kind", Text(("duckdb", "postgres", "spark")), "Where exact numbers are computed; duckdb unless told."),
        Key("service", Text(), "postgres: the name of a connection service."),
        Key("dsn_env", Text(), "postgres: the environment variable that holds the connection string."),
        Key("url", Text(), "spark: the address of Spark Connect."),
    )
)
LEDGER = Section(
    (
        Key(
            "kind",
            Text(("sqlite", "postgres")),
            "sqlite: a file of this machine; postgres: a database that several share.",
            required=True,
        ),
        Key("service", Text(), "postgres: the name of a connection service."),
        Key("dsn_env", Text(), "postgres: the environment variable that holds the address; no password stands here."),
    )
)
PRIVACY = Section(
    (
        Key("neighbours", Text(("add-remove", "replace")), "What 'one unit apart' means; add-remove unless told."),
        Key("accounting", Text(("pure", "zcdp")), "How losses add; pure unless told. Fixed when the ledger is made."),
        Key("epsilon", EPSILON, "Default price of one question; 0.1, or the whole budget if less, unless told."),
        Key("delta", DELTA, "Default delta of one question; 0 unless told. Needed above 0 under zcdp."),
    )
)
BUDGET = Section(
    (
        Key("epsilon", EPSILON, "The total loss that all questions of everybody may add up to.", required=True),
        Key("delta", DELTA, "The total delta; 0 unless told. Needed above 0 under zcdp."),
    )
)
PURPOSE = Section(
    (
        Key("epsilon", EPSILON, "The total loss of all questions asked for this purpose.", required=True),
        Key("delta", DELTA, "The total delta for this purpose; that of [budget] unless told."),
    )
)
ANALYST = Section(
    (
        Key("epsilon", EPSILON, "The total loss of this analyst's questions; only the common cap binds unless told."),
        Key("delta", DELTA, "The total delta of this analyst; that of [budget] unless told."),
        Key("purposes", TextList(), "The purposes this analyst may ask for; any unless told."),
    )
)
LIMITS = Section(
    (
        Key("rows", Whole(), "At most this many rows of one unit count.", required=True),
        Key("groups", Whole(), "At most this many groups or distinct values of one unit count."),
        Key("sums", Named("column", POSITIVE), "Per column, the largest sum of magnitudes of one unit that counts."),
    )
)
COLUMN = Section(
    (
        Key("type", Text(TYPES), "The column's type; other values are read as NULL.", required=True),
        Key(
            "nullable", Flag(), "Whether NULL may occur; default: true, but false in version 1 where values are given."
        ),
        Key("bounds", Pair(), "Smallest and largest value; others are clamped. Choose without looking at the data."),
        Key("grid", POSITIVE, "The resolution of sums, such as 0.01 for cents; it divides both bounds."),
        Key("values", Listing(), "All values that may occur, or table.column of the public table that lists them."),
        Key(
            "other",
            Flag(),
            "Whether undeclared texts form the category (other); default: in version 2, where values are given.",
        ),
        Key("hidden", Flag(), "true: no question may use the column."),
    )
)
PARTITION = Section(
    (
        Key("column", Text(), "The column by which rows come in: a day, the number of a wave.", required=True),
        Key(
            "counts",
            Text(("first", "each")),
            "first: a unit counts in its first partition only. each: the protected "
            "unit "
            "is somebody's part of one partition.",
            required=True,
        ),
    )
)
TABLE = Section(
    (
        Key("source", Text(), "A .csv or .parquet file, file.duckdb:table, or python (an object).", required=True),
        Key("unit", Text(), "Who is protected: row, a key column, or a path such as person_id -> people.person_id."),
        Key("size", Whole(2**40), "The public number of units; only under replace."),
        Key("limits", WordOrSection("auto", LIMITS), "What one unit may contribute at most; auto learns it privately."),
        Key(
            "rows_about", Whole(2**40), "About how many rows, as everybody may know; for when answers leave a service."
        ),
        Key("purposes", TextList(), "What questions over this table may be asked for; anything unless told."),
        Key("basis", Text(), "The legal basis on which these rows are held, such as consent; shown to everybody."),
        Key("retain_until", Day(), "The last day on which questions over this table are answered."),
        Key("rowwise", Flag(), "true: you answer for it that each row is computed from its own unit's rows alone."),
        Key("partition", PARTITION, "Growing data: each partition has the whole budget, once it is published."),
        Key("public", Flag(), "true: nobody in this table is protected; questions over it alone are exact and free."),
        Key("delimiter", Text(), "CSV: the character between fields; a comma (a tab for .tsv) unless told."),
        Key("header", Flag(), "CSV: whether the first line names the columns; else they are column0, column1, ..."),
        Key("columns", Named("column", COLUMN), "The columns that questions may use."),
    )
)
QUESTION = (
    Key("question", Texts(), "What people are asked, or what is measured.", required=True),
    Key("options", TextList(), "The answers that may be given."),
    Key("labels", Named("language", Named("option", Text())), "For each language, how an option is shown."),
    Key("none", Text(), "The option for no answer; reports beyond the budget say it, randomized like any other."),
    Key("bounds", Pair(), "Numbers: the smallest and the largest; others are clamped. The mean is estimated."),
    Key("step", POSITIVE, "Numbers: the distance of two that are told apart; a hundredth of the range unless told."),
    Key(
        "protocol", Text(), "How a device randomizes: auto unless told, which chooses for the planned number of people."
    ),
)
SHUFFLER = Section(
    (Key("key", Text(), "Its public key (Ed25519), as `obverse collect shuffler` prints it.", required=True),)
)
SURVEY = Section(
    (
        *QUESTION,
        Key(
            "text", Flag(), "true: any text may be the answer; which are frequent is found from candidates, or without."
        ),
        Key("questions", Named("question", Section(QUESTION)), "Several questions: each with its options or bounds."),
        Key(
            "split",
            Text(("one", "budget")),
            "Several questions: one of them is answered in each report, by chance; "
            "or all, "
            "each at its part of epsilon. one unless told.",
        ),
        Key(
            "letters",
            Whole(64),
            "Texts: words that nobody listed are found, cut after so many letters; 64 bits at most.",
        ),
        Key(
            "alphabet",
            Text(),
            "Texts: the letters of such words; a to z and the apostrophe unless told, others as one.",
        ),
        Key("epsilon", EPSILON, "The loss of one report.", required=True),
        Key(
            "permanent",
            EPSILON,
            "Protocols that remember: the loss of any number of reports of one and the same answer.",
        ),
        Key("people", Whole(10**12), "How many are expected to answer; 1000 unless told. auto and plans go by it."),
        Key("reports", Whole(10**6), "How many reports one person sends in all; 1 unless told."),
        Key(
            "per_day",
            Whole(10**4),
            "At most this many reports of one person a day: a rate, not a budget; 1 unless told.",
        ),
        Key(
            "lifetime",
            EPSILON,
            "The loss that all reports of one person may add up to; that of all reports unless told.",
        ),
        Key("minimum", Whole(10**9), "Below this many reports nothing is estimated; 20 unless told."),
        Key("retention_days", Whole(36500), "How long reports are kept.", required=True),
        Key(
            "shuffler",
            SHUFFLER,
            "Another party, who hands on reports in batches, without a sender and in random order.",
        ),
        Key("purpose", Texts(), "What the answers are used for.", required=True),
        Key("consent", Texts(), "What people agree to before anything is sent.", required=True),
    )
)
GRAPH = Section(
    (
        Key(
            "edges",
            Text(),
            "A .csv, .tsv or .parquet file with a row for each edge; or python, for an object handed over.",
            required=True,
        ),
        Key("ends", TextList(), "The two columns that hold an edge's ends; from and to unless told."),
        Key(
            "nodes",
            Text(),
            "table.column of the public table that lists everybody who may be in the network, whether "
            "they are or not; its other columns are attributes.",
            required=True,
        ),
        Key(
            "unit",
            Text(("edge", "node")),
            "What is protected: that two people are connected, or that a person is present at all.",
            required=True,
        ),
        Key("degree", Whole(), "A promise: nobody has more edges. It is not checked; claims that need it say so."),
        Key(
            "listed",
            Flag(),
            "unit node: true when everybody who is in the network has a row of their own, without a "
            "second "
            "end; else whoever has an edge is in it.",
        ),
        Key("delimiter", Text(), "CSV: the character between fields; a comma (a tab for .tsv) unless told."),
        Key("header", Flag(), "CSV: whether the first line names the columns; else they are column0, column1, ..."),
    )
)
OIDC = Section(
    (
        Key("issuer", Text(), "The `iss` of the tokens.", required=True),
        Key("audience", Text(), "The `aud` that they are for.", required=True),
        Key("jwks", Text(), "File with the issuer's public keys, as its jwks_uri gives them.", required=True),
        Key("claim", Text(), "The claim that names the account, such as email; sub unless told."),
    )
)
SERVE = Section(
    (
        Key("at_once", Whole(1024), "Questions that run side by side; twice the cores unless told."),
        Key("memory_mb", Whole(2**20), "Memory of the process that answers one question; 4096 unless told."),
        Key(
            "limit_s",
            Whole(3600),
            "A question is killed after so many seconds, or ten times the planned; 30 unless told.",
        ),
        Key("requests_per_minute", Whole(10**6), "Of one account, refusals counted; 600 unless told."),
        Key("transparency", Flag(), "false: no public page of units, limits and epsilons."),
        Key("oidc", OIDC, "An OpenID Connect issuer whose tokens stand for accounts."),
    )
)
POLICY = Section(
    (Key("apart", Groups(), 'Tables that no question may bring together, such as [["visits", "payroll"]].'),)
)
ROOT = Section(
    (
        Key("project", PROJECT, "The project.", required=True),
        Key("engine", ENGINE, "Where exact numbers come from."),
        Key(
            "ledger", LEDGER, "Where spent budget is remembered, when several servers share it; else [project] ledger."
        ),
        Key("privacy", PRIVACY, "The notion of privacy, and the default price of a question."),
        Key("budget", BUDGET, "What all questions together may cost; needed as soon as a table is private."),
        Key("analysts", Named("analyst", ANALYST), "Who may ask."),
        Key("purposes", Named("purpose", PURPOSE), "What questions may be asked for."),
        Key("tables", Named("table", TABLE), "The tables; needed unless there are surveys."),
        Key(
            "graphs",
            Named("graph", GRAPH),
            "A social network, in a project of its own; `obverse publish graph` reads it.",
        ),
        Key("policy", POLICY, "What no question may do, whoever asks."),
        Key("serve", SERVE, "How `obverse serve` runs questions."),
        Key("surveys", Named("survey", SURVEY), "What is collected from people who randomize their own answers."),
    )
)


DIALECT = "https://json-schema.org/draft/2020-12/schema"
NUMBERS: dict[str, dict[str, Any]] = {
    "epsilon": {"type": "number", "minimum": float(EPSILON_MIN), "maximum": float(EPSILON_MAX)},
    "delta": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    "positive": {"type": "number", "exclusiveMinimum": 0},
}


def json_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12, of a whole obverse.toml; TOML's dates count as strings, as editors have it."""
    return {"$schema": DIALECT, "title": "obverse.toml", **_schema(ROOT)}


def _schema(shape: Shape) -> dict[str, Any]:
    match shape:
        case Text(choices):
            return {"type": "string", "enum": list(choices)} if choices else {"type": "string", "minLength": 1}
        case Texts():
            text = {"type": "string", "minLength": 1}
            return {"anyOf": [text, {"type": "object", "additionalProperties": text, "minProperties": 1}]}
        case Flag():
            return {"type": "boolean"}
        case Whole(most):
            return {"type": "integer", "minimum": 1, "maximum": most}
        case Number(kind):
            return dict(NUMBERS[kind])
        case TextList():
            return {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
        case Day():
            return {"type": "string", "format": "date"}
        case Groups():
            group = {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True}
            return {"type": "array", "items": group}
        case Pair():
            return {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 2, "maxItems": 2}
        case Listing():
            item = {"type": ["string", "number", "boolean"]}
            listed = {"type": "array", "items": item, "minItems": 1, "uniqueItems": True}
            return {"anyOf": [listed, {"type": "string", "pattern": r"^[^.]+\..+$"}]}
        case WordOrSection(word, section):
            return {"anyOf": [{"const": word}, _schema(section)]}
        case Named(what, each):
            least = {"minProperties": 1} if what == "table" else {}
            return {"type": "object", "additionalProperties": _schema(each), **least}
        case Section(keys):
            return {
                "type": "object",
                "properties": {key.name: {"description": key.help, **_schema(key.shape)} for key in keys},
                "required": [key.name for key in keys if key.required],
                "additionalProperties": False,
            }
        case _:
            assert_never(shape)


NAME_MAX = 128
BARRED = {"column": ("", ""), "question": (".=", ", without a dot or =")}
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
READ_NUMBER = {"epsilon": parameters.epsilon, "delta": parameters.delta, "positive": parameters.positive}


def shape_problems(raw: object, document: Document) -> Iterator[CatalogError]:
    """Every key that is unknown or missing and every value of the wrong kind, in the order of the text's tables."""
    return _problems(raw, ROOT, (), document)


def nearest(name: str, names: Iterable[str], *, cutoff: float = 0.55) -> str | None:
    """The name that was probably meant."""
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=cutoff)
    return by_lower[close[0]] if close else None


def suggestion(name: str, names: Iterable[str]) -> str:
    """Words that name the nearest valid name, or else all of them."""
    valid = list(names)
    meant = nearest(name, valid)
    if meant is not None:
        return f"Did you mean {meant!r}?"
    return f"Valid here: {', '.join(valid)}." if valid else "None is declared yet."


def _problems(raw: object, shape: Shape, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    match shape:
        case Section():
            yield from _section(raw, shape, path, document)
        case Named():
            yield from _named(raw, shape, path, document)
        case WordOrSection(word, section):
            if isinstance(raw, dict):
                yield from _section(raw, section, path, document)
            elif raw != word:
                yield _wrong(f'"{word}" or a table such as {{ rows = 20, groups = 5 }}', path, document)
        case Number(kind):
            yield from _number(raw, kind, path, document)
        case Whole(most):
            yield from _whole(raw, most, path, document)
        case Text(choices):
            yield from _text(raw, choices, path, document)
        case Texts():
            yield from _texts(raw, path, document)
        case Flag():
            if not isinstance(raw, bool):
                yield _wrong("true or false", path, document)
        case TextList():
            if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
                yield _wrong('a list of texts such as ["a", "b"]', path, document)
        case Day():
            if day_of(raw) is None:
                yield _wrong("a date such as 2030-12-31", path, document)
        case Groups():
            if not _grouped(raw):
                yield _wrong('a list of lists of names such as [["a", "b"]]', path, document)
        case Pair():
            if not isinstance(raw, list) or len(raw) != 2:
                yield _wrong("a list of two, the smallest and the largest value, such as [0, 120]", path, document)
        case Listing():
            if not isinstance(raw, (list, str)):
                yield _wrong('a list such as ["F", "M"], or "table.column" of a public table', path, document)
        case _:
            assert_never(shape)


def _grouped(raw: object) -> bool:
    groups = raw if isinstance(raw, list) else [None]
    return all(
        isinstance(group, list) and len(group) > 1 and all(isinstance(item, str) and item for item in group)
        for group in groups
    )


def _section(raw: object, section: Section, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    if not isinstance(raw, dict):
        yield _wrong("a table of keys", path, document)
        return
    for name, value in raw.items():
        key = section.key(name)
        if key is not None:
            yield from _problems(value, key.shape, (*path, name), document)
            continue
        valid = [known.name for known in section.keys]
        yield document.error("unknown_key", (*path, name), f"unknown key {name!r}", fix=suggestion(name, valid))
    for key in section.keys:
        if key.required and key.name not in raw:
            where = f"[{'.'.join(path)}]" if path else "the file"
            message = f"{where} needs the key {key.name!r}"
            fix = f"Add {key.name!r}."
            yield document.error("missing_key", (*path, key.name), message, why=key.help, fix=fix)


def _named(raw: object, named: Named, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    if not isinstance(raw, dict):
        yield _wrong(f"a table with one entry for each {named.what}", path, document)
        return
    if not raw and named.what == "table":
        yield document.error("missing_key", path, "no table is declared", fix="Add a [tables.NAME].")
    for name, value in raw.items():
        barred, without = BARRED.get(named.what, (".", ", without a dot"))
        if not name or len(name) > NAME_MAX or not name.isprintable() or any(sign in name for sign in barred):
            message = f"not a name for a {named.what}"
            fix = f"Write 1 to {NAME_MAX} printable characters{without}."
            yield document.error("bad_name", (*path, name), message, fix=fix)
        else:
            yield from _problems(value, named.each, (*path, name), document)


def _number(raw: object, kind: str, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    try:
        READ_NUMBER[kind](raw, path[-1])
    except Refused as refused:
        yield document.error(refused.code, path, refused.message, why=refused.why, fix=refused.fix)


def _whole(raw: object, most: int, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    if isinstance(raw, bool) or not isinstance(raw, int) or not 1 <= raw <= most:
        message = f"{path[-1]} must be a whole number from 1 to {most}"
        yield document.error("bad_parameter", path, message, fix=f"Write a whole number such as {min(most, 20)}.")


def _text(raw: object, choices: tuple[str, ...], path: KeyParts, document: Document) -> Iterator[CatalogError]:
    if not isinstance(raw, str):
        yield _wrong(f"one of {', '.join(choices)}" if choices else "a text in quotes", path, document)
    elif choices and raw not in choices:
        meant = nearest(raw, choices)
        fix = f"Write one of {', '.join(choices)}." + (f" Did you mean {meant!r}?" if meant else "")
        yield document.error("bad_choice", path, f"{path[-1]} cannot be {raw!r}", fix=fix)
    elif not raw:
        yield _wrong("a text that is not empty", path, document)


def _texts(raw: object, path: KeyParts, document: Document) -> Iterator[CatalogError]:
    if isinstance(raw, dict) and raw:
        for language, text in raw.items():
            if not LANGUAGE.fullmatch(language):
                message = f"{language!r} is not the code of a language"
                yield document.error(
                    "bad_name", (*path, language), message, fix="Write a code such as en, de or pt-BR."
                )
            yield from _text(text, (), (*path, language), document)
    elif not isinstance(raw, str) or not raw:
        yield _wrong('a text, or one for each language such as { en = "...", de = "..." }', path, document)


def _wrong(expected: str, path: KeyParts, document: Document) -> CatalogError:
    name = path[-1] if path else "the file"
    return document.error("wrong_type", path, f"{name} must be {expected}", fix=f"Write {expected}.")
