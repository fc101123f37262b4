"""A file's rows brought together by DuckDB, as codes and counts, before Python sees them; and written again with labels.

CSV is read as text, strictly; Parquet keeps its types in the columns that are passed through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from obverse.catalog.model import Source
from obverse.catalog.shape import suggestion
from obverse.core.errors import Refused
from obverse.engines.csv_source import delimiter_of, private_csv, text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Dictionary(NamedTuple):
    """A column's values in order, numbers by size, and the code of each collapsed row; missing has the code after the last."""

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
            why = "it is not well formed: a record of another length, two columns of one name, an open quote, or not UTF-8."
            raise Refused("source_unreadable", "the table cannot be read.", place=str(self.source.path), why=why) from None

    def known(self, names: Sequence[str]) -> None:
        """Refuse a name that no column has."""
        for name in names:
            if name not in self.columns:
                raise Refused("column_missing", f"the table has no column {name!r}.", fix=suggestion(name, self.columns))

    def prepare(self, told: Preparation) -> None:
        """Make the table that is worked on: `prepared`, with a row for each that is kept."""
        secret = text(told.secret)
        shown = [
            f"CASE WHEN {_name(c)} IS NOT NULL THEN 'P' || dense_rank() OVER (ORDER BY sha256({secret} || {_name(c)}::VARCHAR)"
            f" NULLS LAST) END AS {_name(c)}"
            if c in told.pseudonyms
            else _name(c)
            for c in told.columns
        ]
        kept = "source"
        if told.share is not None:
            ((rows,),) = self._run("SELECT count(*) FROM source").fetchall()
            numbered = '(SELECT *, row_number() OVER () AS " row" FROM source)'
            kept = f'(SELECT * FROM {numbered} ORDER BY sha256({secret} || " row"::VARCHAR) LIMIT {round(told.share * rows)})'
        self._run(f"CREATE OR REPLACE VIEW prepared AS SELECT {', '.join(shown)} FROM {kept}")

    def collapse(self, quasi: Sequence[str], carried: Sequence[str], population: Path | None) -> None:
        """GROUP BY all of these columns into the table `collapsed`: q0 ..., c0 ..., n people, p of the population."""
        keys = [f"{_name(c)}::VARCHAR AS q{i}" for i, c in enumerate(quasi)]
        others = [f"{_name(c)} AS c{i}" for i, c in enumerate(carried)]
        rows = f"SELECT {', '.join([*keys, *others])}, 1 AS n, 0 AS p FROM prepared"
        if population is not None:
            other = source_of(population)
            self._run(f"CREATE OR REPLACE VIEW population AS SELECT * FROM {_relation(other)}")
            have = {str(row[0]) for row in self._run("DESCRIBE population").fetchall()}
            for name in quasi:
                if name not in have:
                    raise Refused("column_missing", f"the population has no column {name!r}.", fix=suggestion(name, have))
            nulls = [f"NULL AS c{i}" for i in range(len(carried))]
            rows += f" UNION ALL BY NAME SELECT {', '.join([*keys, *nulls])}, 0 AS n, 1 AS p FROM population"
        names = ", ".join([f"q{i}" for i in range(len(quasi))] + [f"c{i}" for i in range(len(carried))])
        counted = "count(*) AS n, 0 AS p" if population is None else "sum(n)::BIGINT AS n, sum(p)::BIGINT AS p"
        self._run(f"CREATE OR REPLACE TABLE collapsed AS SELECT {names}, {counted} FROM ({rows}) GROUP BY ALL")

    def dictionaries(self, fields: Sequence[str]) -> list[Dictionary]:
        """Codes of fields q0, c1 ... of `collapsed`."""
        import numpy as np

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
        import numpy as np

        found = self._run("SELECT n::BIGINT AS n, p::BIGINT AS p FROM collapsed").fetchnumpy()
        return np.asarray(found["n"], dtype=np.int64), np.asarray(found["p"], dtype=np.int64)

    def alone(self) -> int:
        """Prepared rows that no other is like."""
        ((found,),) = self._run("SELECT count(*) FROM (FROM prepared GROUP BY ALL HAVING count(*) = 1)").fetchall()
        return int(found)

    def write_prepared(self, path: Path) -> int:
        """The prepared rows as they are, in the order of their values."""
        return self._copy("SELECT * FROM prepared", path)

    def write(self, relabelled: Mapping[str, Relabelled], carried: Sequence[str], kept: NDArray[np.bool_], path: Path) -> int:
        """Collapsed rows that are kept, under their labels, each as often as it has people; in the order of their values."""
        import numpy as np

        handed: dict[str, Any] = {"kept": kept}
        shown, joins = [], []
        for i, (labels, places) in enumerate(relabelled.values()):
            handed[f"l{i}"] = places.astype(np.int64)
            self._connection.register(f"labels_{i}", {"id": np.arange(len(labels)), "label": np.array(labels, dtype=object)})
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
        form = "FORMAT parquet" if path.suffix == ".parquet" else f"FORMAT csv, HEADER, DELIMITER {text(self.source.delimiter)}"
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
