"""A rehearsal: the same pipeline on made-up rows; no private file is opened, nothing is spent, nothing is written."""

from __future__ import annotations

import datetime as dt
import shutil
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import obverse
from obverse.catalog.load import load
from obverse.core.claim import PUBLIC
from obverse.core.errors import BudgetExceeded, CatalogError, Failed, ObverseError, Refused
from obverse.core.types import Type
from obverse.session.rehearsal import UNITS_MAX, Repeatable, made_up, rehearsal, rehearse
from obverse.session.session import Session
from obverse.testing.spies import spy_on

TOML = """\
[project]
name = "shop"
[privacy]
neighbours = "{neighbours}"
[budget]
epsilon = 80
[analysts.ana]
epsilon = 1
[tables.people]
source = "people.parquet"
unit = "person_id"
{size}
[tables.people.columns]
age = {{ type = "integer", bounds = [18, 90] }}
sex = {{ type = "text", values = ["F", "M"] }}
name = {{ type = "text" }}
member = {{ type = "boolean", nullable = false }}
born = {{ type = "date", bounds = ["1930-01-01", "2005-12-31"] }}
level = {{ type = "integer", values = [10, 20, 30] }}
since = {{ type = "date", values = ["2020-01-01", "2021-01-01"] }}
[tables.orders]
source = "orders.csv"
unit = "person_id -> people.person_id"
limits = {{ rows = 4 }}
[tables.orders.columns]
order_no = {{ type = "text" }}
at = {{ type = "timestamp", bounds = ["2020-01-01", "2024-12-31"] }}
price = {{ type = "double", bounds = [0, 50], grid = 0.01 }}
weight = {{ type = "double", bounds = [0.5, 9.5] }}
shop = {{ type = "text", values = "shops.shop" }}
[tables.items]
source = "python"
unit = "order_no -> orders.order_no -> people.person_id"
limits = {{ rows = 6 }}
[tables.items.columns]
count = {{ type = "integer", bounds = [1, 5] }}
[tables.shops]
source = "shops.csv"
public = true
"""
COUNT = "SELECT COUNT(*) AS n FROM people"
QUESTIONS = (
    "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY sex",
    "SELECT shop, COUNT(*) AS n, SUM(price) AS sum FROM orders WHERE at >= '2021-01-01' GROUP BY shop ORDER BY n DESC",
    "SELECT SUM(count) AS n FROM items",
    "SELECT level, since, COUNT(*) FROM people WHERE born < DATE '2000-01-01' AND NOT member GROUP BY level, since",
    "SELECT sex, COUNT(*) AS n FROM people JOIN orders ON people.person_id = orders.person_id GROUP BY sex",
    "SELECT town, COUNT(*) AS n FROM orders JOIN shops ON orders.shop = shops.shop GROUP BY town",
    "SELECT STDDEV(weight) FROM orders WHERE price IS NULL",
)


def write(folder: Path, neighbours: str = "add-remove", size: str = "") -> Path:
    folder.mkdir()
    (folder / "obverse.toml").write_text(TOML.format(neighbours=neighbours, size=size))
    (folder / "shops.csv").write_text("shop,town\nnorth,Aa\nsouth,Bo\n")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project without its private files."""
    return write(tmp_path / "shop")


@pytest.fixture
def dummies(folder: Path) -> dict[str, dict[str, np.ndarray]]:
    with rehearsal(folder) as session:
        return made_up(session.catalog, 1000, 0)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_question_is_answered_although_the_private_files_are_missing(folder: Path, sql: str) -> None:
    with pytest.raises(CatalogError) as missing:
        obverse.open(folder)
    assert missing.value.code == "source_missing"
    answer = obverse.rehearse(folder, sql)
    assert len(answer) >= 1
    assert any(bar is not None for bars in answer.intervals for bar in bars)
    assert "made-up rows" in answer.claim.sentence


def test_nothing_is_spent_and_nothing_is_written(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBVERSE_HOME", str(tmp_path / "fresh"))
    before = tree(tmp_path)
    answer = rehearse(folder, COUNT, epsilon=2)
    assert tree(tmp_path) == before
    assert not (tmp_path / "fresh").exists()
    assert answer.price == ("0", "0", 0.0, False)
    claim = answer.claim
    assert (claim.epsilon, claim.delta, claim.receipt, claim.belief) == ("0", "0", "", "")
    assert "no privacy is claimed or needed" in claim.sentence
    assert "would cost epsilon 2, 2.5 % of the budget" in claim.sentence
    assert claim.mechanisms == ("discrete_laplace",)


def test_the_private_files_are_not_opened_when_they_are_there(folder: Path) -> None:
    (folder / "people.parquet").write_bytes(b"no parquet")
    (folder / "orders.csv").write_bytes(b'no,"csv')
    assert len(rehearse(folder, COUNT)) == 1
    frame = {"items": object(), "people": object()}
    assert len(rehearse(folder, QUESTIONS[2], tables=frame)) == 1


def test_it_is_the_same_pipeline(folder: Path) -> None:
    with rehearsal(folder) as session:
        log = spy_on(session)
        session.ask(COUNT)
    assert log.events == ["reserve", "run", "settle"]


def test_the_same_seed_gives_the_same_answer_and_another_gives_another(folder: Path) -> None:
    first, again, other = (rehearse(folder, QUESTIONS[0], seed=seed).rows for seed in (1, 1, 2))
    assert first == again != other


def test_the_noise_is_that_of_the_real_question(folder: Path) -> None:
    def width(answer: obverse.Answer) -> float:
        (bar,) = answer.intervals[0]
        assert bar is not None
        return bar[1] - bar[0]

    assert width(rehearse(folder, COUNT, epsilon=0.01)) > 5 * width(rehearse(folder, COUNT, epsilon=0.1))
    assert width(rehearse(folder, COUNT, within=20)) <= 40


def test_made_up_rows_keep_to_what_is_declared(dummies: dict[str, dict[str, np.ndarray]]) -> None:
    people = dummies["people"]
    orders = dummies["orders"]
    items = dummies["items"]
    assert len(set(people["person_id"])) == len(people["age"]) == 1000
    assert (people["age"].min(), people["age"].max()) == (18, 90)
    assert set(people["sex"]) == {"F", "M"}
    assert set(people["level"]) == {10, 20, 30}
    assert set(people["member"]) == {False, True}
    assert 20 < np.ma.getmaskarray(people["age"]).sum() < 100
    assert 20 < sum(name is None for name in people["name"]) < 100
    assert people["born"].min() >= np.datetime64("1930-01-01")
    assert people["born"].max() <= np.datetime64("2005-12-31")
    assert set(orders["shop"]) == {"north", "south"}
    assert 0 <= orders["price"].min() < 1 < 49 < orders["price"].max() <= 50
    assert 0.5 <= orders["weight"].min() < orders["weight"].max() <= 9.5
    assert orders["at"].max() <= np.datetime64("2024-12-31T23:59:59.999999")
    assert set(items["count"].compressed()) == {1, 2, 3, 4, 5}


def test_keys_match_across_tables_and_units_have_several_rows(dummies: dict[str, dict[str, np.ndarray]]) -> None:
    people = dummies["people"]
    orders = dummies["orders"]
    items = dummies["items"]
    owners, counts = np.unique(orders["person_id"], return_counts=True)
    assert set(owners) < set(people["person_id"])
    assert set(counts) == {1, 2, 3, 4}
    assert len(set(orders["order_no"])) == len(orders["person_id"])
    assert set(items["order_no"]) < set(orders["order_no"])
    assert len(items["order_no"]) > 500


def test_a_key_has_its_declared_type_or_that_of_the_key_it_meets(folder: Path) -> None:
    with rehearsal(folder) as session:
        tables = session.catalog.tables
    assert tables["people"].columns["person_id"].type is Type.INTEGER
    assert tables["items"].columns["order_no"].type is Type.TEXT
    text = (folder / "obverse.toml").read_text()
    (folder / "obverse.toml").write_text(text.replace("order_no = {", 'person_id = { type = "text" }\norder_no = {'))
    with rehearsal(folder) as session:
        assert session.catalog.tables["people"].columns["person_id"].type is Type.TEXT
    assert len(rehearse(folder, QUESTIONS[2])) == 1


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT name FROM people", "not_aggregate"),
        ("SELECT SUM(height) FROM people", "column_not_declared"),
        ("SELECT COUNT(*) FROM nobody", "table_not_declared"),
        ("SELECT FROM WHERE", "parse_error"),
        ("SELECT name, COUNT(*) FROM people GROUP BY name", "keys_not_public"),
    ],
)
def test_what_ask_refuses_is_refused_with_the_same_words(folder: Path, sql: str, code: str) -> None:
    real = full(folder)

    def told(call: Callable[[], object]) -> str:
        with pytest.raises(Refused) as refused:
            call()
        return str(refused.value)

    with obverse.open(real) as session:
        words = told(lambda: session.ask(sql))
    assert told(lambda: rehearse(folder, sql)) == words
    assert words.startswith(f"[{code}]")


def full(folder: Path) -> Path:
    """The same project with its files, small ones."""
    real = Path(shutil.copytree(folder, folder.parent / "real"))
    text = (real / "obverse.toml").read_text()
    (real / "obverse.toml").write_text(text.replace("people.parquet", "people.csv").replace('"python"', '"items.csv"'))
    with rehearsal(folder, rows=3) as session:
        for table in session.catalog.tables.values():
            if not table.public:
                (real / f"{table.name}.csv").write_text(",".join(table.columns) + "\n")
    text = (real / "obverse.toml").read_text()
    keys = 'person_id = { type = "integer" }\n'
    text = text.replace("age = {", keys + "age = {").replace("order_no = {", keys + "order_no = {")
    (real / "obverse.toml").write_text(text.replace("count = {", 'order_no = { type = "text" }\ncount = {'))
    return real


def test_a_price_beyond_the_caps_is_over_budget(folder: Path) -> None:
    with pytest.raises(BudgetExceeded):
        rehearse(folder, COUNT, epsilon=81)
    with pytest.raises(BudgetExceeded):
        rehearse(folder, COUNT, epsilon=2, analyst="ana")
    assert rehearse(folder, COUNT, epsilon=1, analyst="ana").rows


@pytest.mark.parametrize("rows", [0, -1, UNITS_MAX + 1, True, 1.5])
def test_a_number_of_units_that_cannot_be_is_refused(folder: Path, rows: int) -> None:
    with pytest.raises(Refused) as refused:
        rehearse(folder, COUNT, rows=rows)
    assert refused.value.code == "bad_parameter"


def test_a_name_that_is_not_declared_is_refused_as_by_ask(folder: Path) -> None:
    with pytest.raises(Refused) as refused:
        rehearse(folder, COUNT, analyst="eve")
    assert refused.value.code == "analyst_unknown"


@pytest.mark.parametrize("rows", [1, 2, 10])
def test_few_units_are_enough(folder: Path, rows: int) -> None:
    for sql in QUESTIONS:
        rehearse(folder, sql, rows=rows, epsilon=1)


def test_as_many_units_are_made_up_as_asked_for(folder: Path) -> None:
    near = rehearse(folder, COUNT, rows=5000, epsilon=50).value
    assert isinstance(near, int)
    assert abs(near - 5000) < 5  # noise of scale 0.02: e**-200


def test_a_declared_number_of_units_is_kept(tmp_path: Path) -> None:
    folder = write(tmp_path / "sized", "replace", "size = 2500")
    answer = rehearse(folder, "SELECT AVG(age) AS mean FROM people", epsilon=50)
    assert "2,500 units" in answer.claim.sentence
    assert isinstance(answer.value, float)
    assert 30 < answer.value < 75


def test_public_tables_are_read_as_they_are(folder: Path) -> None:
    answer = rehearse(folder, "SELECT shop, town FROM shops ORDER BY shop")
    assert answer.rows == (("north", "Aa"), ("south", "Bo"))
    assert answer.claim == PUBLIC


def test_a_public_table_that_is_private_elsewhere_is_not_read(folder: Path, tmp_path: Path) -> None:
    text = (folder / "obverse.toml").read_text()
    (folder / "obverse.toml").write_text(text.replace("orders.csv", "shops.csv"))
    assert code_of(lambda: rehearse(folder, "SELECT shop FROM shops")) == "public_is_private"
    (folder / "obverse.toml").write_text(text)
    other = tmp_path / "other"
    other.mkdir()
    (other / "obverse.toml").write_text(
        '[project]\nname = "o"\n[budget]\nepsilon = 1\n[tables.shops]\nsource = "../shop/shops.csv"\nunit = "row"\n'
    )
    obverse.open(other).close()
    assert code_of(lambda: rehearse(folder, "SELECT shop FROM shops")) == "public_is_private"


def test_a_table_of_which_nothing_is_declared_can_be_counted(tmp_path: Path) -> None:
    (tmp_path / "obverse.toml").write_text(
        '[project]\nname = "o"\n[budget]\nepsilon = 100\n[tables.logs]\nsource = "logs.csv"\nunit = "row"\n'
    )
    assert rehearse(tmp_path, "SELECT COUNT(*) FROM logs", epsilon=50).rows


def test_a_project_of_public_tables_alone_needs_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "obverse.toml").write_text('[project]\nname = "o"\n[tables.t]\nsource = "t.csv"\npublic = true\n')
    (tmp_path / "t.csv").write_text("a\n1\n")
    assert rehearse(tmp_path, "SELECT a FROM t").rows == ((1,),)


@pytest.mark.parametrize("code", ["engine_failure", "interrupted"])
def test_a_failure_after_the_debit_of_a_rehearsal_costs_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    def fail(*args: object, **named: object) -> None:
        raise Failed(code, "no", charged=True)

    monkeypatch.setattr(Session, "ask", fail)
    with pytest.raises(Refused) as refused:
        rehearse(folder, COUNT)
    assert (refused.value.code, refused.value.charged) == (code, False)


def test_wide_and_narrow_declarations_are_filled(tmp_path: Path) -> None:
    columns = """
        whole = { type = "integer", bounds = [-9223372036854775808, 9223372036854775807] }
        wide = { type = "double", bounds = [-1e300, 1e300] }
        one = { type = "double", bounds = [3, 3] }
        same = { type = "integer", bounds = [3, 3] }
        early = { type = "date", bounds = ["0001-01-01", "9999-12-31"] }
        ever = { type = "timestamp", bounds = ["0001-01-01", "9999-12-31"] }
        any_whole = { type = "integer" }
        any_real = { type = "double" }
        any_day = { type = "date" }
        any_time = { type = "timestamp" }
        flags = { type = "boolean", values = [true] }
        reals = { type = "double", values = [0.5, 1.5] }
    """
    table = '[tables.t]\nsource = "t.csv"\nunit = "row"\n[tables.t.columns]\n'
    (tmp_path / "obverse.toml").write_text(f'[project]\nname = "o"\n[budget]\nepsilon = 1\n{table}{columns}')
    made = made_up(load(tmp_path), 500, 0)["t"]
    assert all(len(column) == 500 for column in made.values())
    assert set(np.ma.compressed(made["one"])) == set(np.ma.compressed(made["same"])) == {3}
    assert set(made["flags"]) == {True}
    assert made["early"].min().astype("datetime64[D]").item() >= dt.date(1, 1, 1)
    with rehearsal(tmp_path) as session:
        for name in made:
            session.ask(f"SELECT COUNT({name}) FROM t WHERE {name} IS NOT NULL", epsilon=Fraction(1, 100))


def test_a_stream_is_its_seeds_and_its_names_own() -> None:
    def drawn(seed: int, *name: str) -> bytes:
        return Repeatable(seed, *name).raw(16)

    assert drawn(0, "a") == drawn(0, "a")
    assert len({drawn(0, "a"), drawn(1, "a"), drawn(0, "b"), drawn(0, "a", "b"), drawn(0, "ab")}) == 5


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(ObverseError) as refused:
        call()
    return refused.value.code


def test_a_rehearsal_within_bounds_ends_soon_and_takes_little_whatever_it_joins(tmp_path: Path) -> None:
    """A service rehearses in its own process: what an analyst writes must not take its memory or its time."""
    (tmp_path / "places.csv").write_text("place\n" + "".join(f"p{n}\n" for n in range(1000, 3000)))
    (tmp_path / "obverse.toml").write_text(
        '[project]\nname = "small"\n[budget]\nepsilon = 1\n[tables.people]\nsource = "people.csv"\nunit = "id"\n'
        '[tables.people.columns]\nid = { type = "integer" }\n[tables.places]\nsource = "places.csv"\npublic = true\n'
    )
    side = "(SELECT LENGTH(place) AS n, place FROM places)"
    sql = f"SELECT COUNT(*) FROM {side} AS a" + "".join(f" JOIN {side} AS {x} ON a.n = {x}.n" for x in "bcd")
    begun = time.monotonic()
    with pytest.raises(ObverseError) as error:
        rehearse(tmp_path, sql, bounds={"memory_limit": "64MB", "threads": "1", "limit_s": "0.5"})
    assert error.value.code == "engine_failure"
    assert time.monotonic() - begun < 30, "at most a little longer than its bound, and not for minutes"
