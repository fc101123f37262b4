"""What still differs between engines, by name; docs/engines.md prints this table, and a test compares the two.

Columns of text that a source compares otherwise than by bytes, as the engine's catalog says: for the curator, who may
rely on that. No row is read, and no plan depends on it: plans compare every text by its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.core.engine import Schema

if TYPE_CHECKING:
    import duckdb
    import psycopg


BYTES = frozenset({"", "binary", "c", "posix", "utf8_binary"})  # collations that are no more than the order of bytes
DECLARED = re.compile(r"\bc(\d+) VARCHAR COLLATE ([^,)]+)")
OF_POSTGRES = """
WITH RECURSIVE typed AS (
SELECT a.attnum, a.attname, a.attcollation, a.atttypid AS type FROM pg_attribute a
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT t.attnum, t.attname, t.attcollation, y.typbasetype FROM typed t JOIN pg_type y ON y.oid = t.type
WHERE y.typtype = 'd'
)
SELECT t.attname, CASE WHEN NOT l.collisdeterministic THEN l.collname ELSE y.typname END
FROM typed t JOIN pg_type y ON y.oid = t.type LEFT JOIN pg_collation l ON l.oid = t.attcollation
WHERE y.typtype <> 'd' AND y.typcategory = 'S'
AND (NOT l.collisdeterministic OR y.typname NOT IN ('text', 'varchar', 'bpchar', 'name', 'char')) ORDER BY t.attnum
"""


def of_duckdb(cursor: duckdb.DuckDBPyConnection, relation: str, schema: Schema) -> dict[str, str]:
    """By the definition of an empty table with the columns of this one: DESCRIBE leaves collations out, of views
    above all.
    """
    texts = [name for name, kind in schema.items() if kind == "VARCHAR"]
    if not texts:
        return {}
    quoted = (f'"{name.replace(chr(34), chr(34) * 2)}" AS c{n}' for n, name in enumerate(texts))
    cursor.execute("BEGIN")
    try:
        cursor.execute(f"CREATE TEMP TABLE collated AS SELECT {', '.join(quoted)} FROM {relation} LIMIT 0")
        told = cursor.execute("SELECT sql FROM duckdb_tables() WHERE table_name = 'collated' AND temporary").fetchone()
    finally:
        cursor.execute("ROLLBACK")
    return unlike_bytes({texts[int(place)]: name for place, name in DECLARED.findall(told[0] if told else "")})


def of_postgres(cursor: psycopg.Cursor[Any], oid: int) -> dict[str, str]:
    """Columns with a collation that is not deterministic, or of a type with an equality of its own, such as citext;
    domains are
    what they are made of. Collations that only order texts otherwise are not among them."""
    return dict(cursor.execute(OF_POSTGRES, (oid,)).fetchall())


def of_spark(fields: Mapping[str, str]) -> dict[str, str]:
    """By the types of columns, in Spark's words."""
    collated = {name: kind.partition(" collate ") for name, kind in fields.items() if kind.startswith("string")}
    return unlike_bytes({name: collation for name, (_, _, collation) in collated.items()})


def unlike_bytes(found: Mapping[str, str]) -> dict[str, str]:
    return {name: collation for name, collation in found.items() if collation.strip('"').lower() not in BYTES}


@dataclass(frozen=True, slots=True)
class Gap:
    """A known difference: on which engines, what one sees, and why it is so."""

    name: str
    engines: tuple[str, ...]
    differs: str
    why: str


GAPS = (
    Gap(
        "views",
        ("duckdb", "postgres", "spark"),
        "On DuckDB and PostgreSQL a view over one table is a source like any other if it is a projection, a filter by "
        "the row "
        "itself, casts and functions of the row alone, also over another such view; its unit column must be the "
        "table's own. "
        "On Spark nothing is proved of a view, nor of a frame that is computed by more than a selection and a filter, "
        "or whose "
        "source is no file. What is not proved is refused, free, as `not_rowwise`, unless the table declares `rowwise "
        "= true`. "
        "PostgreSQL's foreign tables and tables with row security, and Spark's tables whose rows lie elsewhere, are "
        "refused "
        "alike.",
        "A row that is computed from other people's rows moves with them. Spark does not say in one text what a view "
        "reads.",
    ),
    Gap(
        "definitions that change",
        ("duckdb", "postgres", "spark"),
        "Columns, types, collations and definitions are compared with those of the plan before each charge, and again "
        "by what "
        "reads the rows. PostgreSQL keeps them locked until the question ends. A DuckDB file that is open cannot be "
        "written by "
        "others, and its files are compared before and after. Spark has no transaction for it: they are compared "
        "before and "
        "after, and what changes and changes back in between is not seen.",
        "Plans are proved for a definition. What is found before the charge is refused, free, as `source_changed`.",
    ),
    Gap(
        "spellings of numbers",
        ("duckdb",),
        "Every engine reads a text as a number where it is a plain decimal such as `-1_000.5` or `2.5e3`, or a word "
        "such as "
        "`nan`. DuckDB alone reads exponents of more than four digits, `0x1f` and `0b101` as integers, `+-1` and "
        "`nan(1)` as "
        "doubles. It does not read integers of 20 digits and more that an exponent makes smaller, and takes a double "
        "of 20 "
        "digits and more with a `_` among them for another number.",
        "DuckDB's own cast is what reads a CSV file fast. The casts of the others would raise or take too long, so "
        "that they "
        "look at the text first, by one grammar.",
    ),
    Gap(
        "spellings of dates",
        ("duckdb",),
        "Every engine reads a text as a date or a time where it is written as `2020-01-05`, `2020-1-5`, `2020-01-05 "
        "10:00` or "
        "`2020-01-05T10:00:00.5`. DuckDB alone reads `2020/1/5`, `2020 1 5`, years of other than four digits, `epoch`, "
        "`infinity` (beyond every bound), `24:00:00`, more than six decimals, and passes over what follows a time, "
        "such as a "
        "zone.",
        "As for numbers.",
    ),
    Gap(
        "columns of other types",
        ("duckdb", "postgres", "spark"),
        "A column that is declared as one of our types but stored as bytes, a list, a structure, a time of day or a "
        "span "
        "holds NULL on Spark; on DuckDB and PostgreSQL it holds the text that the engine writes for it.",
        "Such texts have no form that engines share. Store a number, a text, a truth, a date or a timestamp.",
    ),
    Gap(
        "changed rows",
        ("duckdb", "postgres", "spark"),
        "That rows changed since a version was published is seen by the content of files that lie on this machine, by "
        "the "
        "server's counters on PostgreSQL, and not at all for tables of Spark's catalog and files of a cluster.",
        "Spark keeps no such count. Run `obverse data publish` after each load.",
    ),
    Gap(
        "stopped questions",
        ("spark",),
        "Over Spark Connect a question that was stopped, or ran out of time, may go on running on the server for a "
        "while.",
        "The server is told to stop and does so between tasks; the answer is lost and the charge stays, as on every "
        "engine.",
    ),
)


def page() -> str:
    """The page of documentation about engines, as Markdown."""
    lines = [
        "# Engines",
        "",
        "Made by `python -m obverse.engines.compatibility` from the table in the code.",
        "",
        "A question has one exact result on DuckDB, PostgreSQL and Spark, bit for bit, whatever the order of rows, the "
        "number",
        "of threads, the locale of the database or the zone of the machine: texts are compared by their code points, "
        "letters",
        "have one other case each, blanks at the end of a `CHAR(n)` do not count, a time with a zone is what its clock "
        "shows",
        "in UTC, and NaN and infinities are no values. No row decides whether a question is answered. `tests/engines` "
        "holds",
        "that, and `tests/hostile` that what is refused is refused in the same words. What is known to differ is "
        "listed here.",
        "",
        "Collations do not change that: `alice` and `Alice` are two values and two keys also in a DuckDB column "
        "declared",
        "`COLLATE NOCASE`, a PostgreSQL column with a non-deterministic collation, `citext` or a domain over them, and "
        "a",
        "collated string of Spark. `obverse check` names such columns. Group by `LOWER(column)` to merge spellings.",
        "",
        "| name | engines | what differs | why |",
        "|---|---|---|---|",
        *(f"| {gap.name} | {', '.join(gap.engines)} | {gap.differs} | {gap.why} |" for gap in GAPS),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
