"""A file's rows brought together by DuckDB, as codes and counts, before Python sees them; and written again with
labels.

CSV is read as text, strictly; Parquet keeps its types in the columns that are passed through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obverse.catalog.keys import suggestion
from obverse.catalog.model import Source
from obverse.core.errors import Refused
from obverse.engines.csv import delimiter_of, private_csv, text

WHOSE = '" whose"'  # of `prepared`: whose a row is


class Dictionary(NamedTuple):
    """A column's values in order, numbers by size, and the code of each collapsed row; missing has the code after
    the last.
    """

    values: tuple[str, ...]
    codes: NDArray[np.int32]


class Relabelled(NamedTuple):
    """The label of each collapsed row, as a place in `labels`; None is missing."""

    labels: Sequence[str | None]
    places: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Preparation:
    """What happens to a table before anything else: a share of rows kept, columns replaced by pseudonyms."""

    columns: tuple[str, ...]
    share: float | None = None
    pseudonyms: tuple[str, ...] = ()
    secret: str = ""
    # the column that says whose a row is: rows that name nobody are left out, people are drawn
    person: str | None = None


def source_of(path: Path, delimiter: str | None = None) -> Source:
    """How a file is read, by its name; a CSV file's delimiter is the sign that its first line has most of."""
    if not path.is_file():
        raise Refused("no_such_file", "no such file.", place=str(path))
    if path.suffix == ".parquet":
        return Source("parquet", path)
    if path.suffix not in (".csv", ".tsv", ".txt", ".gz"):
        raise Refused("bad_source", "the table is neither CSV nor Parquet by its name.", place=str(path))
    if delimiter is None:
        delimiter = delimiter_of(path)
    return Source("csv", path, delimiter=delimiter)


class Workshop:
    """One file opened in a DuckDB of its own. Close it, or use it in a `with`."""

    def __init__(self, path: Path, delimiter: str | None = None) -> None:
        import duckdb

        self.source = source_of(path, delimiter)
        self._fault: type[Exception] = duckdb.Error
        self._connection = duckdb.connect(":memory:")
        self._run(f"CREATE VIEW source AS SELECT * FROM {_relation(self.source)}")
        self.columns = [str(row[0]) for row in self._run("DESCRIBE source").fetchall()]

    def __enter__(self) -> Workshop:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def _run(self, sql: str) -> Any:
        try:
            return self._connection.execute(sql)
        except self._fault:
            why = (
                "it is not well formed: a record of another length, two columns of one name, an open quote, or not "
                "UTF-8."
            )
            raise Refused(
                "source_unreadable", "the table cannot be read.", place=str(self.source.path), why=why
            ) from None

    def known(self, names: Sequence[str]) -> None:
        """Refuse a name that no column has."""
        for name in names:
            if name not in self.columns:
                raise Refused(
                    "column_missing", f"the table has no column {name!r}.", fix=suggestion(name, self.columns)
                )

    def prepare(self, told: Preparation) -> None:
        """Make the table that is worked on: `prepared`, with a row for each that is kept, and whose it is if a
        column says.
        """
        self._shown = ", ".join(map(_name, told.columns))
        secret = text(told.secret)
        shown = [
            f"CASE WHEN {_name(c)} IS NOT NULL THEN 'P' || dense_rank() OVER (ORDER BY sha256({secret} || "
            f"{_name(c)}::VARCHAR)"
            f" NULLS LAST) END AS {_name(c)}"
            if c in told.pseudonyms
            else _name(c)
            for c in told.columns
        ]
        kept = "source"
        if told.person is not None:
            shown.append(f"{_name(told.person)} AS {WHOSE}")
            kept = f"(SELECT * FROM source WHERE {_name(told.person)} IS NOT NULL)"
        if told.share is not None and told.person is not None:
            who = f"(SELECT DISTINCT {_name(told.person)} AS {WHOSE} FROM {kept})"
            ((people,),) = self._run(f"SELECT count(*) FROM {who}").fetchall()
            order = f"ORDER BY sha256({secret} || {WHOSE}::VARCHAR) LIMIT {round(told.share * people)}"
            drawn = f"SELECT {WHOSE} FROM {who} {order}"
            kept = f"(SELECT * FROM {kept} WHERE {_name(told.person)} IN ({drawn}))"
        elif told.share is not None:
            ((rows,),) = self._run("SELECT count(*) FROM source").fetchall()
            numbered = '(SELECT *, row_number() OVER () AS " row" FROM source)'
            kept = (
                f'(SELECT * FROM {numbered} ORDER BY sha256({secret} || " row"::VARCHAR) LIMIT '
                f"{round(told.share * rows)})"
            )
        self._run(f"CREATE OR REPLACE VIEW prepared AS SELECT {', '.join(shown)} FROM {kept}")

    def prepared_rows(self) -> int:
        ((found,),) = self._run("SELECT count(*) FROM prepared").fetchall()
        return int(found)

    def nobodys(self, person: str) -> int:
        """How many rows of the source name nobody."""
        ((found,),) = self._run(f"SELECT count(*) - count({_name(person)}) FROM source").fetchall()
        return int(found)

    def known_people(self) -> tuple[int, int]:
        """How many people and rows are prepared, by the column that says whose they are."""
        (found,) = self._run(f"SELECT count(DISTINCT {WHOSE}), count(*) FROM prepared").fetchall()
        return int(found[0]), int(found[1])

    def collapse(self, quasi: Sequence[str], carried: Sequence[str], population: Path | None) -> None:
        """GROUP BY all of these columns into the table `collapsed`: q0 ..., c0 ..., n rows, p people of the
        population.
        """
        keys = [f"{_name(c)}::VARCHAR AS q{i}" for i, c in enumerate(quasi)]
        others = [f"{_name(c)} AS c{i}" for i, c in enumerate(carried)]
        rows = f"SELECT {', '.join([*keys, *others])}, 1 AS n, 0 AS p FROM prepared"
        if population is not None:
            self._population(population, quasi)
            nulls = [f"NULL AS c{i}" for i in range(len(carried))]
            rows += f" UNION ALL BY NAME SELECT {', '.join([*keys, *nulls])}, 0 AS n, 1 AS p FROM population"
        names = ", ".join([f"q{i}" for i in range(len(quasi))] + [f"c{i}" for i in range(len(carried))])
        counted = "count(*) AS n, 0 AS p" if population is None else "sum(n)::BIGINT AS n, sum(p)::BIGINT AS p"
        self._run(f"CREATE OR REPLACE TABLE collapsed AS SELECT {names}, {counted} FROM ({rows}) GROUP BY ALL")

    def collapse_by_person(
        self, quasi: Sequence[str], carried: Sequence[str], population: Path | None, person: str
    ) -> None:
        """The same, with whose the rows are: code 0 for m people all of whose rows are alike, else the code of one
        person.

        `most` is the largest number of rows that one of them has there. People of the population have codes after those
        of the table; where it has no such column, each of its rows is a person.
        """
        names = [*(f"q{i}" for i in range(len(quasi))), *(f"c{i}" for i in range(len(carried)))]
        keys = [f"{_name(c)}::VARCHAR AS q{i}" for i, c in enumerate(quasi)]
        own = [*keys, *(f"{_name(c)} AS c{i}" for i, c in enumerate(carried))]
        self._entries("mine", f"SELECT {', '.join(own)}, {WHOSE} AS u FROM prepared", names)
        whole = "SELECT *, 0 AS p FROM mine"
        if population is not None:
            have = self._population(population, quasi)
            who = _name(person) if person in have else "row_number() OVER ()"
            theirs = (
                f"SELECT {', '.join(keys)}, {who} AS u FROM population WHERE {who if person in have else '1'} IS "
                "NOT NULL"
            )
            self._entries("others", theirs, [f"q{i}" for i in range(len(quasi))])
            after = "u + CASE WHEN u > 0 THEN (SELECT max(u) FROM mine) ELSE 0 END AS u"
            nulls = [f"NULL AS c{i}" for i in range(len(carried))]
            columns = ", ".join([*(f"q{i}" for i in range(len(quasi))), *nulls])
            whole += f" UNION ALL BY NAME SELECT {columns}, {after}, 0 AS n, 0 AS m, 0 AS most, m AS p FROM others"
        self._run(f"CREATE OR REPLACE TABLE collapsed AS {whole}")

    def _population(self, population: Path, quasi: Sequence[str]) -> set[str]:
        """The population as a view; gives its columns."""
        self._run(f"CREATE OR REPLACE VIEW population AS SELECT * FROM {_relation(source_of(population))}")
        have = {str(row[0]) for row in self._run("DESCRIBE population").fetchall()}
        for name in quasi:
            if name not in have:
                raise Refused("column_missing", f"the population has no column {name!r}.", fix=suggestion(name, have))
        return have

    def _entries(self, table: str, rows: str, names: Sequence[str]) -> None:
        """A table of distinct rows: n rows, of u, or of m people who have no others."""
        keys = ", ".join(names)
        self._run(f"CREATE OR REPLACE TEMP TABLE entries AS SELECT {keys}, u, count(*) AS n FROM ({rows}) GROUP BY ALL")
        several = "SELECT u, row_number() OVER (ORDER BY u) AS code FROM entries GROUP BY u HAVING count(*) > 1"
        coded = f"SELECT {keys}, coalesce(code, 0) AS code, n FROM entries LEFT JOIN ({several}) USING (u)"
        added = "code AS u, sum(n)::BIGINT AS n, count(*) AS m, max(n) AS most"
        self._run(
            f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {keys}, {added} FROM ({coded}) GROUP BY {keys}, code"
        )

    def persons(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Of each collapsed entry whose it is, how many people, and the most rows of one of them."""
        found = self._run("SELECT u::INTEGER AS u, m::BIGINT AS m, most::BIGINT AS most FROM collapsed").fetchnumpy()
        number, most = (np.asarray(found[name], dtype=np.int64) for name in ("m", "most"))
        return np.asarray(found["u"], dtype=np.int32), number, most

    def dictionaries(self, fields: Sequence[str]) -> list[Dictionary]:
        """Codes of fields q0, c1 ... of `collapsed`."""
        values = []
        for field in fields:
            ordered = f"SELECT v FROM (SELECT DISTINCT {field}::VARCHAR AS v FROM collapsed) WHERE v IS NOT NULL"
            self._run(f"CREATE OR REPLACE TEMP TABLE listed AS {ordered} ORDER BY TRY_CAST(v AS DOUBLE) NULLS LAST, v")
            self._run(f"DROP TYPE IF EXISTS listed_{field}")
            self._run(f"CREATE TYPE listed_{field} AS ENUM (SELECT v FROM listed)")
            values.append(tuple(row[0] for row in self._run("SELECT v FROM listed").fetchall()))
        coded = [
            f"coalesce(enum_code({field}::VARCHAR::listed_{field})::INTEGER, {len(known)}) AS {field}"
            for field, known in zip(fields, values)
        ]
        if not fields:
            return []
        found = self._run(f"SELECT {', '.join(coded)} FROM collapsed").fetchnumpy()
        return [Dictionary(known, np.asarray(found[field], dtype=np.int32)) for field, known in zip(fields, values)]

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """People of the table and of the population in each collapsed row."""
        found = self._run("SELECT n::BIGINT AS n, p::BIGINT AS p FROM collapsed").fetchnumpy()
        return np.asarray(found["n"], dtype=np.int64), np.asarray(found["p"], dtype=np.int64)

    def alone(self) -> int:
        """Prepared rows that no other is like."""
        ((found,),) = self._run("SELECT count(*) FROM (FROM prepared GROUP BY ALL HAVING count(*) = 1)").fetchall()
        return int(found)

    def people_alone(self) -> int:
        """People with a prepared row that nobody else has."""
        lonely = f"SELECT min({WHOSE}) AS u FROM prepared GROUP BY {self._shown} HAVING count(DISTINCT {WHOSE}) = 1"
        ((found,),) = self._run(f"SELECT count(DISTINCT u) FROM ({lonely})").fetchall()
        return int(found)

    def write_prepared(self, path: Path) -> int:
        """The prepared rows as they are, in the order of their values."""
        return self._copy(f"SELECT {self._shown} FROM prepared", path)

    def write(
        self, relabelled: Mapping[str, Relabelled], carried: Sequence[str], kept: NDArray[np.bool_], path: Path
    ) -> int:
        """Collapsed rows that are kept, under their labels, each as often as it has rows; in the order of their
        values.
        """
        handed: dict[str, Any] = {"kept": kept}
        shown = []
        joins = []
        for i, (labels, places) in enumerate(relabelled.values()):
            handed[f"l{i}"] = places.astype(np.int64)
            self._connection.register(
                f"labels_{i}", {"id": np.arange(len(labels)), "label": np.array(labels, dtype=object)}
            )
            self._run(f"CREATE OR REPLACE TEMP TABLE label_{i} AS SELECT id, label::VARCHAR AS f{i} FROM labels_{i}")
            shown.append(f"f{i}")
            joins.append(f"JOIN label_{i} ON label_{i}.id = l{i}")
        shown += [f"c{i}" for i in range(len(carried))]
        self._connection.register("handed", handed)
        here = "(SELECT * FROM collapsed POSITIONAL JOIN handed WHERE kept AND n > 0)"
        rows = f"SELECT {', '.join(shown)}, unnest(range(n)) AS again FROM {here} {' '.join(joins)}"
        named = ", ".join(f"{field} AS {_name(name)}" for field, name in zip(shown, [*relabelled, *carried]))
        return self._copy(f"SELECT {named} FROM ({rows})", path)

    def _copy(self, sql: str, path: Path) -> int:
        form = (
            "FORMAT parquet"
            if path.suffix == ".parquet"
            else (f"FORMAT csv, HEADER, DELIMITER {text(self.source.delimiter)}")
        )
        self._run("SET threads = 1")  # the same bytes each time
        try:
            ((rows,),) = self._connection.execute(f"COPY ({sql} ORDER BY ALL) TO {text(str(path))} ({form})").fetchall()
        except self._fault:
            raise Refused("cannot_write", "the table cannot be written.", place=str(path)) from None
        return int(rows)


def _relation(source: Source) -> str:
    path = text(str(source.path))
    return private_csv(source, path) if source.kind == "csv" else f"read_parquet({path}, can_have_nan = true)"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
