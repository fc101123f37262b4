"""Real clients, unchanged: drivers of Python, SQLAlchemy, pandas, psql and the JDBC driver."""

from __future__ import annotations

import asyncio
import datetime as dt
import glob
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import here, missing, needed
from tests.wired import Wired

GROUPED = "SELECT sex, COUNT(*) AS n FROM people WHERE age > 31 GROUP BY sex"
KEYS = ["F", "M", "X"]
JAR = Path("/usr/share/java/postgresql.jar")


def address(wired: Wired) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": wired.port, "user": "ana", "password": wired.tokens["ana"]}


def url(wired: Wired, driver: str) -> str:
    return f"postgresql+{driver}://ana:{wired.tokens['ana']}@127.0.0.1:{wired.port}/hospital"


def test_psycopg_asks_in_text_and_binary(wired: Wired) -> None:
    psycopg = needed("psycopg")
    notices: list[str] = []
    with psycopg.connect(dbname="hospital", **address(wired)) as connection:
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        plain = connection.execute(GROUPED).fetchall()
        assert [row[0] for row in plain] == KEYS
        with connection.cursor(binary=True) as cursor:
            assert cursor.execute(GROUPED).fetchall() == plain
            since = dt.date(2013, 1, 1)
            cursor.execute("SELECT COUNT(*) FROM people WHERE joined > %s AND age > %s AND sex = %s", (since, 5, "F"))
            assert [column.name for column in cursor.description] == ["count"]
        assert any("Same question again is free" in notice for notice in notices)
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
            connection.execute("SELECT name FROM people")
        assert refused.value.diag.source_function == "not_aggregate"
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        with connection.transaction():
            assert connection.execute(GROUPED).fetchall() == plain
        with connection.pipeline():
            first = connection.execute("SELECT 1")
            second = connection.execute(GROUPED)
        assert (first.fetchone(), second.fetchall()) == ((1,), plain)


def test_drivers_come_over_tls(wired: Wired, certificate: ssl.SSLContext) -> None:
    psycopg = needed("psycopg")
    asyncpg = needed("asyncpg")
    serving = wired.another(ssl_context=certificate, tls_required=True)
    given = {**address(wired), "port": serving.port}
    with psycopg.connect(dbname="hospital", sslmode="require", **given) as connection:
        assert connection.pgconn.ssl_in_use
        assert len(connection.execute(GROUPED).fetchall()) == 3
    with pytest.raises(psycopg.OperationalError) as refused:
        psycopg.connect(dbname="hospital", sslmode="disable", **given)
    assert "connect with TLS" in str(refused.value)

    async def asked() -> None:
        connection = await asyncpg.connect(database="hospital", ssl="require", **given)
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()

    asyncio.run(asked())
    wired.call(serving.close())


def test_psycopg_cancels_from_another_thread(wired: Wired) -> None:
    psycopg = needed("psycopg")
    with psycopg.connect(dbname="hospital", autocommit=True, **address(wired)) as connection:
        connection.cancel_safe()  # nothing runs: nothing happens
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_psycopg2_asks_with_values(wired: Wired) -> None:
    psycopg2 = needed("psycopg2")
    connection = psycopg2.connect(dbname="hospital", **address(wired))
    with connection, connection.cursor() as cursor:
        cursor.execute('SELECT clinic, COUNT(*) FROM "public"."visits" WHERE cost > %s GROUP BY clinic', (10.5,))
        assert [column[0] for column in cursor.description] == ["clinic", "count"]
        assert len(cursor.fetchall()) == 12
        cursor.execute("SELECT COUNT(*) FROM people WHERE name = %s", ("a\\b'c",))
        assert len(cursor.fetchall()) == 1
    with connection, connection.cursor() as cursor, pytest.raises(psycopg2.errors.FeatureNotSupported):
        cursor.execute("DECLARE c CURSOR WITH HOLD FOR SELECT 1")
    connection.close()


def test_asyncpg_asks_in_binary_and_reads_on(wired: Wired) -> None:
    asyncpg = needed("asyncpg")

    async def asked() -> None:
        connection = await asyncpg.connect(database="hospital", ssl=False, **address(wired))
        plain = await connection.fetch(GROUPED.replace("31", "$1"), 31)
        assert [row["sex"] for row in plain] == KEYS
        value = await connection.fetchval("SELECT AVG(cost) FROM visits WHERE at > $1", dt.datetime(2018, 1, 1))
        assert isinstance(value, float)
        async with connection.transaction():
            rows = [row async for row in connection.cursor(GROUPED, prefetch=1)]
        assert rows == plain
        before = wired.charges()
        # what it prepared has other columns now: it prepares it again
        await connection.execute("SET obverse.intervals = on")
        wide = await connection.fetch(GROUPED.replace("31", "$1"), 31)
        assert len(wide[0]) == len(plain[0]) + 2
        assert wired.charges() == before
        await connection.reset()
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("SELECT name FROM people")
        named = "SELECT oid, relname FROM pg_class WHERE relname = ANY($1::text[])"
        found = await connection.fetch(named, ["people", "visits"])
        assert len(found) == 2
        await connection.close()

    asyncio.run(asked())


def test_pg8000_asks_and_goes_on_after_an_error(wired: Wired) -> None:
    dbapi = needed("pg8000.dbapi")
    connection = dbapi.connect(database="hospital", **address(wired))
    cursor = connection.cursor()
    cursor.execute(GROUPED.replace("31", "%s"), (31,))
    assert [row[0] for row in cursor.fetchall()] == KEYS
    with pytest.raises(dbapi.DatabaseError):
        cursor.execute("SELECT name FROM people WHERE age > %s", (3,))
    connection.rollback()
    cursor.execute("SELECT 1")
    assert cursor.fetchall() == ([1],)
    connection.close()


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "pg8000"])
def test_sqlalchemy_reflects_and_asks(wired: Wired, driver: str) -> None:
    sa = needed("sqlalchemy")
    needed(driver)
    engine = sa.create_engine(url(wired, driver))
    found = sa.inspect(engine)
    assert found.get_schema_names() == ["information_schema", "public"]
    assert sorted(found.get_table_names()) == ["clinics", "people", "visits"]
    assert {column["name"]: str(column["type"]) for column in found.get_columns("visits")} == {
        "visit_id": "BIGINT", "clinic": "TEXT", "cost": "DOUBLE PRECISION", "at": "TIMESTAMP", "person_id": "BIGINT",
    }  # fmt: skip
    assert found.get_pk_constraint("visits")["constrained_columns"] == []
    empty = (found.get_indexes, found.get_foreign_keys, found.get_unique_constraints, found.get_check_constraints)
    assert [call("visits") for call in empty] == [[], [], [], []]
    assert "protected" in found.get_table_comment("visits")["text"]
    assert (found.get_view_names(), found.has_table("people"), found.has_table("nothing")) == ([], True, False)
    metadata = sa.MetaData()
    metadata.reflect(engine)
    visits = metadata.tables["visits"]
    with engine.connect() as connection:
        asked = sa.select(visits.c.clinic, sa.func.count()).where(visits.c.cost > 5).group_by(visits.c.clinic).limit(2)
        assert len(connection.execute(asked).all()) == 2
        with connection.begin_nested():
            assert connection.execute(sa.text("SELECT 1")).scalar() == 1
    engine.dispose()


def test_pandas_reads_an_answer_with_its_intervals(wired: Wired) -> None:
    pandas = needed("pandas")
    sa = needed("sqlalchemy")
    engine = sa.create_engine(url(wired, "psycopg"))
    asked = "SELECT sex, COUNT(*) AS n, obverse_low(n) AS lo, obverse_high(n) AS hi FROM people GROUP BY sex"
    frame = pandas.read_sql(asked, engine)
    assert list(frame.columns) == ["sex", "n", "lo", "hi"]
    assert (frame.lo < frame.n).all()
    assert (frame.n < frame.hi).all()
    engine.dispose()


PSQL = (
    r"\d",
    r"\dt",
    r"\d visits",
    r"\d+ visits",
    r"\l",
    r"\dn",
    r"\du",
    r"\df",
    r"\di",
    r"\dx",
    r"\dv",
    r"\d+",
    r"\dT",
    r"\dp",
    r"\dD",
    r"\dO",
    r"\dX",
    r"\dg",
    r"\db",
    r"\ds",
    r"\dm",
    r"\dA",
    r"\dL",
    r"\l+",
    r"\drds",
    r"\conninfo",
    r"\encoding",
)


def psql(wired: Wired, *commands: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("psql") is None:
        missing("psql")
    given = [part for command in commands for part in ("-c", command)]
    environment = {**os.environ, "PGPASSWORD": wired.tokens["ana"], "PGCONNECT_TIMEOUT": "20"}
    target = ["-h", "127.0.0.1", "-p", str(wired.port), "-U", "ana", "-d", "hospital"]
    return subprocess.run(["psql", "-X", *target, *given], capture_output=True, text=True, env=environment, timeout=60)


def test_psql_describes_everything_and_spends_nothing(wired: Wired) -> None:
    before = wired.charges()
    found = psql(wired, *PSQL)
    assert "ERROR" not in found.stderr
    assert found.returncode == 0
    assert "answers carry differential-privacy noise" in found.stderr
    for word in ("visits", "double precision", "hospital", "public", "0 to 10000"):
        assert word in found.stdout
    assert wired.charges() == before


def test_psql_asks_explains_and_is_refused_with_a_hint(wired: Wired) -> None:
    found = psql(wired, f"EXPLAIN {GROUPED}", GROUPED, r"SELECT * FROM people LIMIT 5")
    assert "would cost epsilon 0.1" in found.stdout
    assert "(3 rows)" in found.stdout
    assert "rows of people cannot be shown, only aggregates." in found.stderr
    assert "HINT:" in found.stderr
    assert "No budget was used." in found.stderr


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    """A JVM that has the JDBC driver, reached by what pyspark brings along; nothing needs to be compiled."""
    if not JAR.exists() or shutil.which("java") is None or not here("pyspark"):
        missing("libpostgresql-jdbc-java, java or pyspark")
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    bridge = glob.glob(os.path.join(os.path.dirname(pyspark.__file__), "jars", "py4j*.jar"))[0]
    options = ["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    port = launch_gateway(classpath=str(JAR), jarpath=bridge, die_on_exit=True, javaopts=options)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    yield gateway.jvm
    gateway.shutdown()


@pytest.fixture
def jdbc(jvm: Any, wired: Wired) -> Iterator[Any]:
    given = jvm.java.util.Properties()
    given.setProperty("user", "ana")
    given.setProperty("password", wired.tokens["ana"])
    connection = jvm.org.postgresql.Driver().connect(f"jdbc:postgresql://127.0.0.1:{wired.port}/hospital", given)
    yield connection
    connection.close()


def listed(found: Any) -> list[dict[str, str]]:
    about = found.getMetaData()
    names = [about.getColumnLabel(at) for at in range(1, about.getColumnCount() + 1)]
    rows = []
    while found.next():
        rows.append({name: found.getString(at) for at, name in enumerate(names, 1)})
    return rows


def test_jdbc_reads_the_catalogue(jdbc: Any) -> None:
    about = jdbc.getMetaData()
    assert [row["TABLE_CAT"] for row in listed(about.getCatalogs())] == ["hospital"]
    assert "public" in [row["TABLE_SCHEM"] for row in listed(about.getSchemas())]
    assert [row["TABLE_NAME"] for row in listed(about.getTables(None, "public", "%", None))] == [
        "clinics",
        "people",
        "visits",
    ]
    columns = listed(about.getColumns(None, "public", "visits", "%"))
    assert [(row["COLUMN_NAME"], row["TYPE_NAME"]) for row in columns][:2] == [("visit_id", "int8"), ("clinic", "text")]
    for found in (
        about.getPrimaryKeys(None, "public", "visits"),
        about.getIndexInfo(None, "public", "visits", False, False),
        about.getImportedKeys(None, "public", "visits"),
        about.getExportedKeys(None, "public", "visits"),
        about.getCrossReference(None, "public", "visits", None, "public", "people"),
        about.getBestRowIdentifier(None, "public", "visits", 0, True),
        about.getProcedures(None, None, "%"),
        about.getUDTs(None, None, "%", None),
    ):
        assert listed(found) == []
    assert len(listed(about.getTypeInfo())) > 20
    assert {row["PRIVILEGE"] for row in listed(about.getTablePrivileges(None, "public", "visits"))} == {"SELECT"}
    assert "ilike" in about.getSQLKeywords()


def test_jdbc_prepares_asks_in_binary_and_fetches_in_parts(jdbc: Any, jvm: Any) -> None:
    statement = jdbc.prepareStatement(GROUPED.replace("31", "?"))
    statement.setInt(1, 31)
    assert statement.getParameterMetaData().getParameterTypeName(1) in ("int4", "int8")
    # from the fifth on, prepared on the server and in binary
    answers = [listed(statement.executeQuery()) for _ in range(6)]
    assert [row["sex"] for row in answers[0]] == KEYS
    assert all(answer == answers[0] for answer in answers)
    assert "asked before" in statement.getWarnings().getMessage()
    dated = jdbc.prepareStatement("SELECT COUNT(*) FROM people WHERE joined > ?")
    dated.setDate(1, jvm.java.sql.Date.valueOf("2015-01-01"))
    assert len(listed(dated.executeQuery())) == 1
    jdbc.setAutoCommit(False)
    parts = jdbc.prepareStatement(GROUPED)
    parts.setFetchSize(1)
    assert listed(parts.executeQuery()) == answers[0]
    jdbc.commit()
    assert jdbc.isValid(5)
