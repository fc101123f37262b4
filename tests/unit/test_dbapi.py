"""A project behind DB-API 2.0: what PEP 249 says, what pandas and JupySQL need, and what is never given back."""

from __future__ import annotations

import datetime as dt
import importlib
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import obverse
from obverse import dbapi
from obverse.core.errors import (
    BudgetExceeded,
    CatalogError,
    Failed,
    InvariantBroken,
    LedgerError,
    ObverseError,
    Refused,
)
from obverse.dbapi import kind_of
from obverse.testing import synthetic
from obverse.testing.spies import spy_on

TOML = """\
[project]
name = "clinic"
[budget]
epsilon = 1
[analysts.ana]
[purposes.quality]
epsilon = 0.5
[tables.people]
source = "people.parquet"
unit = "person_id"
[tables.people.columns]
age = { type = "integer", bounds = [0, 100] }
sex = { type = "text", values = ["F", "M"] }
born = { type = "date" }
[tables.rooms]
source = "rooms.csv"
public = true
"""
TABLES = {
    "people": {
        "person_id": list(range(50)), "age": [i % 100 for i in range(50)], "sex": ["F", "M"] * 25,
        "born": [dt.date(1980, 1, 1)] * 50,
    },
    "rooms": {"room": ["a", "b", "c"], "floor": [1, 2, 3]},
}  # fmt: skip
GROUPED = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY sex"
COUNT = "SELECT COUNT(*) AS n FROM people"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return synthetic(TABLES, TOML, tmp_path / "clinic")


@pytest.fixture
def connection(folder: Path) -> Iterator[dbapi.Connection]:
    with obverse.connect(folder, analyst="ana", purpose="quality") as connection:
        yield connection


def spent(connection: dbapi.Connection) -> str:
    return connection.session.budget().lines[0].spent


def test_the_module_has_what_the_interface_asks_of_it() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 1, "qmark")
    for name in dbapi.__all__:
        assert hasattr(dbapi, name)
    assert issubclass(dbapi.Error, Exception)
    for name in (
        "DataError",
        "OperationalError",
        "IntegrityError",
        "InternalError",
        "ProgrammingError",
        "NotSupportedError",
    ):
        assert issubclass(getattr(dbapi, name), dbapi.DatabaseError)
        assert getattr(dbapi.Connection, name) is getattr(dbapi, name)
    assert issubclass(dbapi.DatabaseError, dbapi.Error)
    assert issubclass(dbapi.InterfaceError, dbapi.Error)
    assert not issubclass(dbapi.Warning, dbapi.Error)


def test_rows_are_fetched_one_by_one_in_parts_or_all(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert (cursor.description, cursor.rowcount, cursor.arraysize) == (None, -1, 1)
    assert cursor.execute("SELECT room, floor FROM rooms ORDER BY room") is cursor
    assert cursor.rowcount == 3
    assert cursor.fetchone() == ("a", 1)
    assert cursor.fetchmany() == [("b", 2)]
    assert cursor.fetchmany(5) == [("c", 3)]
    assert cursor.fetchone() is None
    assert cursor.fetchall() == cursor.fetchmany(2) == []
    assert list(cursor.execute("SELECT room FROM rooms ORDER BY room")) == [("a",), ("b",), ("c",)]
    cursor.setinputsizes([1])
    cursor.setoutputsize(10, 1)


def test_the_description_tells_names_and_types(connection: dbapi.Connection) -> None:
    described = connection.cursor().execute(GROUPED).description
    assert described is not None
    assert [column[0] for column in described] == ["sex", "n", "mean"]
    assert [column[1] for column in described] == [dbapi.STRING, dbapi.NUMBER, dbapi.NUMBER]
    assert [column[1] for column in described] == ["text", "integer", "double"]
    assert described[0][1] != dbapi.NUMBER
    assert all(len(column) == 7 for column in described)
    assert (dbapi.NUMBER == dbapi.NUMBER, dbapi.NUMBER == dbapi.STRING, len({dbapi.NUMBER, dbapi.STRING})) == (
        True,
        False,
        2,
    )


def test_the_answer_comes_with_intervals_claim_and_price(connection: dbapi.Connection) -> None:
    with connection.cursor() as cursor:
        rows = cursor.execute(GROUPED).fetchall()
    assert cursor.answer is connection.answer
    assert tuple(rows) == cursor.answer.rows
    assert cursor.answer.intervals[0][1] is not None
    assert cursor.answer.price.epsilon == "0.1"
    assert "Protects one people" in connection.answer.claim.sentence


def test_the_same_question_with_the_same_values_is_free(connection: dbapi.Connection) -> None:
    ask = "SELECT COUNT(*) AS n FROM people WHERE age >= ? AND sex = ? AND born < ?"
    first = connection.cursor().execute(ask, (30, "F", dt.date(2000, 1, 1))).fetchall()
    again = connection.cursor().execute(ask, [30, "F", dt.date(2000, 1, 1)])
    assert again.fetchall() == first
    assert again.answer.price.stored
    named = "SELECT COUNT(*) AS n FROM people WHERE age >= :age AND sex = :sex AND born < :day"
    assert connection.cursor().execute(named, {"age": 30, "sex": "F", "day": dt.date(2000, 1, 1)}).fetchall() == first
    assert spent(connection) == "0.1"


def test_a_value_is_never_sql(connection: dbapi.Connection) -> None:
    log = spy_on(connection.session)
    cursor = connection.cursor()
    cursor.execute("SELECT room FROM rooms WHERE room = ?", ["a' OR 'x' = 'x"])
    assert cursor.fetchall() == []
    cursor.execute("SELECT room FROM rooms WHERE room = ? -- ?", ["a"])
    assert cursor.fetchall() == [("a",)]
    assert log.count("run") == 0


def test_the_price_is_the_questions_else_the_connections_else_the_projects(folder: Path) -> None:
    with obverse.connect(folder, epsilon=0.05) as connection:
        cursor = connection.cursor()
        assert cursor.execute(COUNT).answer.price.epsilon == "0.05"
        assert cursor.execute(COUNT, epsilon=0.02).answer.price.epsilon == "0.02"
        assert cursor.execute(COUNT, within=1000).answer.price.epsilon not in ("0.05", "0.1")


def test_a_refusal_is_a_programming_error_that_costs_nothing(connection: dbapi.Connection) -> None:
    cursor = connection.cursor().execute("SELECT room FROM rooms")
    for text, values, code in (
        ("SELECT age FROM people", (), "not_aggregate"),
        ("SELECT FROM WHERE", (), "parse_error"),
        ("DELETE FROM people", (), "statement_kind"),
        ("SELECT COUNT(*) FROM people WHERE age = ?", (), "bad_parameter"),
        ("SELECT COUNT(*) FROM people WHERE age = ?", (b"1",), "bad_parameter"),
    ):
        with pytest.raises(dbapi.ProgrammingError) as refused:
            cursor.execute(text, values)
        assert (refused.value.code, refused.value.charged) == (code, False)
        assert isinstance(refused.value.__cause__, Refused)
        assert str(refused.value) == str(refused.value.__cause__)
    assert (cursor.description, cursor.rowcount) == (None, -1)
    with pytest.raises(dbapi.InterfaceError):
        cursor.fetchall()
    assert spent(connection) == "0"


def test_an_empty_budget_is_an_operational_error(connection: dbapi.Connection) -> None:
    with pytest.raises(dbapi.OperationalError) as over:
        connection.cursor().execute(COUNT, epsilon=0.6)
    assert isinstance(over.value.__cause__, BudgetExceeded)
    assert not over.value.charged


def test_errors_of_opening_are_those_of_the_interface_too(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(dbapi.OperationalError):
        obverse.connect(tmp_path)
    with pytest.raises(dbapi.ProgrammingError) as refused:
        obverse.connect(folder, analyst="eve")
    assert refused.value.code == "analyst_unknown"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Refused("x", "x"), dbapi.ProgrammingError), (CatalogError("x", "x"), dbapi.OperationalError),
        (BudgetExceeded("x", "x"), dbapi.OperationalError), (LedgerError("x", "x"), dbapi.OperationalError),
        (Failed("x", "x", charged=True), dbapi.OperationalError), (InvariantBroken("x"), dbapi.InternalError),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_each_error_has_its_place_in_the_hierarchy(error: ObverseError, kind: type[dbapi.Error]) -> None:
    assert kind_of(error) is kind


def test_an_error_travels_between_processes() -> None:
    error = dbapi.OperationalError("[x] no", code="x", charged=True)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.charged) == ("[x] no", "x", True)


def test_what_was_spent_is_not_given_back(connection: dbapi.Connection) -> None:
    connection.cursor().execute(COUNT)
    connection.rollback()
    connection.commit()
    assert spent(connection) == "0.1"


def test_many_questions_under_one_call_are_refused(connection: dbapi.Connection) -> None:
    with pytest.raises(dbapi.NotSupportedError, match="ask_all"):
        connection.cursor().executemany("SELECT COUNT(*) FROM people WHERE age = ?", [[1], [2]])
    assert spent(connection) == "0"


def test_what_is_closed_or_was_not_asked_says_so(folder: Path) -> None:
    connection = obverse.connect(folder)
    cursor = connection.cursor()
    for ask in (lambda: cursor.answer, lambda: connection.answer, cursor.fetchone):
        with pytest.raises(dbapi.InterfaceError) as early:
            ask()
        assert early.value.code == "no_answer"
    cursor.execute("SELECT room FROM rooms").close()
    assert len(cursor.answer) == 3
    other = connection.cursor()
    connection.close()
    connection.close()
    for use in (cursor.fetchall, other.fetchall, connection.cursor, connection.commit, connection.rollback):
        with pytest.raises(dbapi.InterfaceError) as closed:
            use()
        assert closed.value.code == "closed"


def test_a_data_frame_is_asked_too(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    (tmp_path / "obverse.toml").write_text(
        TOML.replace('"people.parquet"', '"python"').replace('"rooms.csv"', '"python"')
    )
    frames = {name: pandas.DataFrame(columns) for name, columns in TABLES.items()}
    with obverse.connect(tmp_path, tables=frames) as connection:
        assert connection.cursor().execute(COUNT).rowcount == 1


def test_pandas_reads_answers(connection: dbapi.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pandas tells that it knows SQLAlchemy better
        frame = pandas.read_sql(GROUPED, connection)
        few = pandas.read_sql("SELECT COUNT(*) AS n FROM people WHERE age > ?", connection, params=[30])
        chunks = list(pandas.read_sql("SELECT room FROM rooms", connection, chunksize=2))
        with pytest.raises((pandas.errors.DatabaseError, dbapi.ProgrammingError), match="not_aggregate"):
            pandas.read_sql("SELECT age FROM people", connection)
    assert list(frame.columns) == ["sex", "n", "mean"]
    assert list(frame["sex"]) == ["F", "M"]
    assert frame["n"].dtype.kind == "i"
    assert few.shape == (1, 1)
    assert [len(chunk) for chunk in chunks] == [2, 1]
    assert spent(connection) == "0.2"


def test_jupysql_takes_the_connection(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLOOMBER_STATS_ENABLED", "false")  # JupySQL would tell its makers
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    pytest.importorskip("sql.magic", reason="JupySQL is not installed")
    shell = importlib.import_module("IPython.core.interactiveshell").InteractiveShell()
    shell.run_line_magic("load_ext", "sql")
    with obverse.connect(folder) as connection:
        shell.user_ns["connection"] = connection
        shell.run_line_magic("sql", "connection")
        found = shell.run_cell_magic("sql", "", GROUPED)
        assert [row[0] for row in found] == ["F", "M"]
        assert list(found.DataFrame().columns) == ["sex", "n", "mean"]
        assert spent(connection) == "0.1"
