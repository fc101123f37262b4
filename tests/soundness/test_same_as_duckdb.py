"""Without noise, the product says what plain DuckDB says over the same files: 300 questions of analysts with limits
lifted, and
those over two projects in which nobody exceeds a limit with limits kept."""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import expressions as exp

from obverse.demo.project import write_demo
from obverse.plan.expressions import AggregateRef
from obverse.plan.query import Question
from obverse.session.planning import annotated, read
from obverse.session.session import Session
from obverse.sql.parameters import bind
from obverse.testing import noiseless
from tests.soundness.compared import RELATIVE, Row, Tolerance, chosen, disagreements, in_order, near
from tests.soundness.questions import HOSPITAL, ROWS, WARDS, Asked
from tests.soundness.wards import write_rows, write_wards

WRITERS: dict[str, Callable[[Path], Any]] = {"hospital": write_demo, "wards": write_wards, "rows": write_rows}
QUESTIONS = {"hospital": HOSPITAL, "wards": WARDS, "rows": ROWS}
UNEXCEEDED = ("wards", "rows")  # projects in which nobody has more rows than the limits allow


@dataclass(frozen=True, slots=True)
class Both:
    """One project, opened by Obverse without noise and by DuckDB as it lies."""

    session: Session
    plain: duckdb.DuckDBPyConnection
    all_rows: int

    def wrong(self, asked: Asked) -> list[str]:
        """Where the two differ beyond what rounding and absent groups explain."""
        answer = self.session.ask(asked.sql, parameters=asked.parameters)
        keys = [i for i, column in enumerate(answer.columns) if column.role == "key"]
        ours = list(answer)
        theirs = self.plain.execute(quoted(asked.sql), asked.parameters or None).fetchall()
        sql = bind(asked.sql, asked.parameters) if asked.parameters else asked.sql
        question = read(sql, self.session.catalog, dt.datetime.now())
        if isinstance(question, Question):
            rows = annotated(question, self.session.catalog).setting.rows if question.aggregates else 1
            agree = Tolerance(question, rows, self.all_rows).agree
            found = disagreements(keys, ours, theirs, agree, self.absent(keys, question, sql))
        else:
            found = disagreements(keys, ours, theirs, equal, lambda row: False)
        if (
            sqlglot.parse_one(sql, dialect="duckdb").args.get("order")
            and not found
            and not in_order(keys, ours, theirs)
        ):
            found = [f"ours stand in the order {ours}, DuckDB's {theirs}"]
        return found

    def absent(self, keys: list[int], question: Question, sql: str) -> Callable[[Row], bool]:
        """Whether a row is a public group that nobody is in: its COUNT(*) is 0, told in it or asked beside it."""
        for place, output in enumerate(question.outputs):
            if isinstance(output.expr, AggregateRef):
                call = question.aggregates[output.expr.index]
                if call.function == "count" and call.argument is None:
                    return lambda row: bool(row[place] == 0)
        empty = functools.cache(lambda: {chosen(row, keys) for row in self.session.ask(counted(sql)) if row[-1] == 0})
        return lambda row: chosen(row, keys) in empty()


def quoted(sql: str) -> str:
    """DuckDB reads the name `at` only in quotes, at some places."""
    return re.sub(r"(?<![\w.])at\b", '"at"', sql)


def equal(ours: Row, theirs: Row) -> bool:
    return all(near(a, b, RELATIVE * abs(b) if isinstance(b, float) else 0) for a, b in zip(ours, theirs, strict=True))


def counted(sql: str) -> str:
    """The same question with one more output: the rows behind each answer."""
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    assert isinstance(tree, exp.Select)
    return tree.select("COUNT(*) AS rows_behind", dialect="duckdb").sql(dialect="duckdb")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, bool], Both]]:
    """The project of that name, with limits lifted or kept; made once."""
    opened: list[Both] = []

    @functools.cache
    def folder(name: str) -> Path:
        made = tmp_path_factory.mktemp("same") / name
        WRITERS[name](made)
        return made

    @functools.cache
    def open_both(name: str, lifted: bool) -> Both:
        session = noiseless(folder(name), limits=None) if lifted else noiseless(folder(name))
        plain = duckdb.connect()
        sizes = []
        for table in session.catalog.tables.values():
            sizes += plain.execute(f"CREATE TABLE {table.name} AS FROM '{table.source.path}'").fetchone() or ()
        opened.append(Both(session, plain, max(sizes)))
        return opened[-1]

    yield open_both
    for one in opened:
        one.session.close()
        one.plain.close()


def each(names: tuple[str, ...]) -> list[Any]:
    return [case(name, asked) for name in names for asked in QUESTIONS[name]]


def case(name: str, asked: Asked) -> Any:
    return pytest.param(name, asked, id=f"{name}: {asked}")


@pytest.mark.parametrize(("name", "asked"), each(tuple(QUESTIONS)))
def test_without_noise_and_limits_the_answer_is_duckdbs(
    name: str, asked: Asked, both: Callable[[str, bool], Both]
) -> None:
    assert not both(name, True).wrong(asked)


@pytest.mark.parametrize(("name", "asked"), each(UNEXCEEDED))
def test_limits_that_nobody_exceeds_change_no_answer(
    name: str, asked: Asked, both: Callable[[str, bool], Both]
) -> None:
    assert not both(name, False).wrong(asked)


def test_there_are_three_hundred_questions() -> None:
    assert len({(name, str(asked)) for name, those in QUESTIONS.items() for asked in those}) >= 300
