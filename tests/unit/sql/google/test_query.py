"""What WITH DIFFERENTIAL_PRIVACY means, without its noise: the documentation's own tables, and queries written by
hand.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import obverse
from obverse.core.errors import Refused
from obverse.curator.limits import learn
from obverse.session.session import Session
from obverse.testing import noiseless, synthetic

TOML = """
[project]
name = "p"
[privacy]
epsilon = 0.1
delta = 1e-6
[budget]
epsilon = 10
delta = 0.1
[tables.professors]
source = "professors.parquet"
unit = "id"
limits = { rows = 4, groups = 3 }
[tables.professors.columns]
id = { type = "integer" }
item = { type = "text" }
kind = { type = "text", values = ["pen", "pencil", "book"] }
quantity = { type = "integer" }
"""
PROFESSORS = (
    (101, "pencil", 24), (123, "pen", 16), (123, "pencil", 10), (123, "pencil", 38), (101, "pen", 19), (101, "pen", 23),
    (130, "scissors", 8), (150, "pencil", 72),
)  # fmt: skip
RANDOM_TOML = """
[project]
name = "q"
[privacy]
delta = 1e-6
[budget]
epsilon = 100
delta = 0.1
[tables.orders]
source = "orders.parquet"
unit = "id"
limits = { rows = 50, groups = 9 }
[tables.orders.columns]
id = { type = "integer" }
item = { type = "text" }
n = { type = "integer", bounds = [-20, 100] }
price = { type = "double", bounds = [0, 50], grid = 0.25 }
free = { type = "double" }
"""


def head(options: str) -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) "


def professors(folder: Path) -> Path:
    ids, items, amounts = zip(*PROFESSORS)
    columns = {"id": list(ids), "item": list(items), "kind": list(items), "quantity": list(amounts)}
    return synthetic({"professors": columns}, TOML, folder / "p")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], dict[Any, Any]]]:
    """Answers without noise: key to the rest of its row."""
    with noiseless(professors(tmp_path_factory.mktemp("professors"))) as session:
        yield lambda sql: {row[0]: row[1:] for row in session.ask(sql)}


def test_the_documentations_tables_come_out(told: Callable[[str], dict[Any, Any]]) -> None:
    select = (
        "item, AVG(quantity, contribution_bounds_per_group => (0,100)), SUM(quantity, contribution_bounds_per_group =>"
        " (0,100)), COUNT(*), COUNT(item, contribution_bounds_per_group => (0,100)), COUNT(DISTINCT id)"
    )
    found = told(
        head("epsilon=10, delta=.01, max_groups_contributed=2, privacy_unit_column=id") + select + " FROM professors"
        " GROUP BY item"
    )
    assert found == {"pencil": (40, 144, 4, 4, 3), "pen": (18.5, 58, 3, 3, 2), "scissors": (8, 8, 1, 1, 1)}


def test_a_units_own_average_is_clamped_before_it_counts(told: Callable[[str], dict[Any, Any]]) -> None:
    sql = "item, AVG(quantity, contribution_bounds_per_group => (50,100)) FROM professors GROUP BY item"
    found = told(head("max_groups_contributed=2") + sql)
    assert found == {"pencil": (pytest.approx((50 + 50 + 72) / 3),), "pen": (50,), "scissors": (50,)}


def test_a_unit_is_in_one_group_unless_more_are_asked_for(told: Callable[[str], dict[Any, Any]]) -> None:
    found = told(head("epsilon=1") + "item, COUNT(DISTINCT id) FROM professors GROUP BY item")
    assert sum(units for (units,) in found.values()) == 4
    assert found["scissors"] == (1,)


def test_public_groups_are_all_told_and_others_are_not(told: Callable[[str], dict[Any, Any]]) -> None:
    options = "max_groups_contributed=2, group_selection_strategy=PUBLIC_GROUPS"
    found = told(head(options) + "kind, COUNT(*) FROM professors WHERE kind IS NOT NULL GROUP BY kind")
    assert found == {"pen": (3,), "pencil": (4,), "book": (0,)}


@pytest.mark.parametrize(
    "rows",
    [
        "professors RIGHT OUTER JOIN (SELECT DISTINCT item FROM UNNEST(['pen', 'pencil', 'book']) AS item) AS k USING "
        "(item)",
        "(VALUES ('pen'), ('pencil'), ('book')) AS k(item) LEFT JOIN professors USING (item)",
        "professors p RIGHT JOIN (SELECT 'pen' AS item UNION ALL SELECT 'pencil' UNION ALL SELECT 'book') AS k ON "
        "k.item ="
        " p.item",
    ],
)
def test_public_groups_are_those_of_a_public_side(rows: str, told: Callable[[str], dict[Any, Any]]) -> None:
    options = "max_groups_contributed=2, group_selection_strategy=PUBLIC_GROUPS"
    key = "k.item" if " p " in rows else "item"
    assert told(head(options) + f"{key}, COUNT(*) FROM {rows} GROUP BY {key}") == {
        "pen": (3,),
        "pencil": (4,),
        "book": (0,),
    }
    with pytest.raises(Refused):
        told(f"SELECT {key}, COUNT(*) FROM {rows} GROUP BY {key}")


def test_groups_of_few_units_are_never_told(told: Callable[[str], dict[Any, Any]]) -> None:
    for least, kept in ((1, {"pen", "pencil", "scissors"}), (2, {"pen", "pencil"}), (3, {"pencil"}), (4, set())):
        options = f"max_groups_contributed=2, min_privacy_units_per_group={least}"
        assert set(told(head(options) + "item, COUNT(*) FROM professors GROUP BY item")) == kept


def test_rows_are_limited_where_rows_are_asked_for(told: Callable[[str], dict[Any, Any]]) -> None:
    sql = "item, COUNT(*), SUM(quantity, contribution_bounds_per_row => (0, 20)) FROM professors GROUP BY item"
    assert told(head("max_rows_contributed=4") + sql) == {"pencil": (4, 70), "pen": (3, 55), "scissors": (1, 8)}
    few = told(head("max_rows_contributed=1") + sql)
    assert sum(count for count, _ in few.values()) == 4


def test_percentiles_clamp_each_row(told: Callable[[str], dict[Any, Any]]) -> None:
    sql = "item, PERCENTILE_CONT(quantity, 0.5, contribution_bounds_per_row => (0,30)) FROM professors GROUP BY item"
    assert told(head("max_groups_contributed=2") + sql) == {"pencil": (27,), "pen": (19,), "scissors": (8,)}


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dice = random.Random(3)
    rows = [
        (
            i,
            dice.choice("abcde"),
            dice.choice((None, dice.randint(-30, 120))),
            dice.randint(0, 250) / 4,
            dice.gauss(0, 1e3),
        )
        for i in range(60)
        for _ in range(dice.choice((1, 2, 9)))
    ]
    columns = dict(zip(("id", "item", "n", "price", "free"), map(list, zip(*rows))))
    return synthetic({"orders": columns}, RANDOM_TOML, tmp_path_factory.mktemp("orders") / "p")


BY_HAND = {  # what is asked, and each unit's own value of it, in DuckDB; CLAMP of NULL is NULL
    "SUM(n)": ("SUM", "SUM(CLAMP(n, -20, 100))"),
    "SUM(n, contribution_bounds_per_group => (-5, 30))": ("SUM", "CLAMP(SUM(CLAMP(n, -20, 100)), -5, 30)"),
    "SUM(n, contribution_bounds_per_row => (0, 9))": ("SUM", "SUM(CLAMP(n, 0, 9))"),
    "AVG(n, contribution_bounds_per_group => (10, 40))": ("AVG", "CLAMP(AVG(CLAMP(n, -20, 100)), 10, 40)"),
    "SUM(price)": ("SUM", "SUM(CLAMP(price, 0, 50))"),
    "SUM(free)": ("SUM", "SUM(free)"),
    "AVG(free)": ("AVG", "AVG(free)"),
    "AVG(price)": ("AVG", "AVG(CLAMP(price, 0, 50))"),
    "SUM(price, contribution_bounds_per_group => (0, 12.5))": ("SUM", "CLAMP(SUM(CLAMP(price, 0, 50)), 0, 12.5)"),
    "SUM(free, contribution_bounds_per_group => (-100, 100))": ("SUM", "CLAMP(SUM(free), -100, 100)"),
    "AVG(free, contribution_bounds_per_group => (-100, 100))": ("AVG", "CLAMP(AVG(free), -100, 100)"),
    "COUNT(*)": ("SUM", "COUNT(*)"),
    "COUNT(n)": ("SUM", "COUNT(n)"),
    "COUNT(n, contribution_bounds_per_group => (1, 2))": ("SUM", "CLAMP(COUNT(n), 1, 2)"),
    "COUNT(DISTINCT id)": ("COUNT", "ANY_VALUE(id)"),
}
CLAMP = "CREATE MACRO CLAMP(x, lo, hi) AS CASE WHEN x IS NOT NULL THEN GREATEST(lo, LEAST(hi, x)) END"


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("asked", BY_HAND)
def test_an_answer_is_that_of_a_query_written_by_hand(asked: str, grouped: bool, orders: Path) -> None:
    outer, own = BY_HAND[asked]
    source = orders / "orders.parquet"
    keys, group = ("item, ", " GROUP BY item") if grouped else ("", "")
    inner = f"SELECT id, {keys}{own} AS v FROM '{source}' GROUP BY id{', item' if grouped else ''}"
    with duckdb.connect() as connection:
        connection.execute(CLAMP)
        wanted = sorted(connection.execute(f"SELECT {keys}{outer}(v) FROM ({inner}){group}").fetchall())
    with noiseless(orders) as session:
        sql = f"{head('max_groups_contributed=9')}{keys}{asked} FROM orders{group}"
        found = sorted(tuple(row) for row in session.ask(sql))
    assert len(found) == len(wanted)
    for here, there in zip(found, wanted):
        assert here[:-1] == there[:-1]
        assert float(here[-1]) == pytest.approx(float(there[-1]), rel=1e-4, abs=1e-2)


def test_units_are_counted_where_their_key_is_there(orders: Path) -> None:
    joined = "orders a LEFT JOIN orders b ON a.id = b.id AND b.n > 90"
    with noiseless(orders) as session, duckdb.connect() as connection:
        asked = f"{head('privacy_unit_column=a.id')}COUNT(DISTINCT a.id), COUNT(DISTINCT b.id) FROM {joined}"
        text = joined.replace("orders ", f"'{orders / 'orders.parquet'}' ")
        wanted = connection.execute(f"SELECT COUNT(DISTINCT a.id), COUNT(DISTINCT b.id) FROM {text}").fetchall()
        assert [tuple(row) for row in session.ask(asked)] == wanted
    assert 0 < wanted[0][1] < wanted[0][0]


@pytest.mark.parametrize("groups", [1, 4])
def test_gaussian_noise_grows_with_the_root_of_the_groups(groups: int, tmp_path: Path) -> None:
    text = RANDOM_TOML.replace("[privacy]", '[privacy]\naccounting = "zcdp"')
    columns = {"id": [1], "item": ["a"], "n": [1], "price": [1.0], "free": [0.5]}
    with obverse.open(synthetic({"orders": columns}, text, tmp_path / "p")) as session:
        asked = f"max_groups_contributed={groups}, epsilon=1"
        told = "SUM(price, contribution_bounds_per_group => (0, 10)) FROM orders GROUP BY"
        by_item = session.explain(head(asked) + f"item, {told} item").measures[0]
        assert (by_item["linf"], by_item["l1"], by_item["l2"]) == pytest.approx((10, 10 * groups, 10 * groups**0.5))


AUTO_TOML = RANDOM_TOML.replace("limits = { rows = 50, groups = 9 }", 'limits = "auto"')


def test_bounds_that_are_left_out_are_those_that_were_learned(tmp_path: Path) -> None:
    units = range(4_000)
    columns = {
        "id": [*units, *units],
        "item": ["a"] * 8_000,
        "n": [i % 5 for i in range(8_000)],
        "price": [1.0] * 8_000,
        "free": [0.5] * 8_000,
    }
    folder = synthetic({"orders": columns}, AUTO_TOML, tmp_path / "p")
    sql = head("epsilon=1") + "SUM(n) FROM orders"
    with obverse.open(folder) as session, pytest.raises(Refused, match="limits of orders"):
        session.explain(sql)
    learn(folder, "orders", 1.0)
    with obverse.open(folder) as session:
        for text in (sql, "SELECT SUM(n) FROM orders"):
            assert session.explain(text, epsilon=1).measures[0]["linf"] <= 16, "declared bounds alone would give 200"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with obverse.open(professors(tmp_path)) as opened:
        yield opened


def test_the_price_is_that_of_the_options(session: Session) -> None:
    price = session.explain(head("epsilon=.5, delta=1e-7") + "item, COUNT(*) FROM professors GROUP BY item").price
    assert (price.epsilon, price.delta) == ("0.5", "1e-7")
    assert session.explain(head("") + "COUNT(*) FROM professors").price.epsilon == "0.1"
    assert session.explain(head("epsilon=.5") + "COUNT(*) FROM professors", epsilon=0.5).price.epsilon == "0.5"


@pytest.mark.parametrize("given", [{"epsilon": 0.4}, {"delta": 1e-5}, {"within": 10}])
def test_a_price_that_is_said_twice_and_differs_is_refused(given: dict[str, float], session: Session) -> None:
    with pytest.raises(Refused) as refused:
        session.ask(head("epsilon=.5, delta=1e-7") + "COUNT(DISTINCT id) FROM professors", **given)  # type: ignore[arg-type]
    assert refused.value.code == "bad_parameter"


def test_an_epsilon_above_the_budget_is_not_spent(session: Session) -> None:
    with pytest.raises(obverse.BudgetExceeded):
        session.ask(head("epsilon=11") + "COUNT(*) FROM professors")


def test_least_units_make_another_question(session: Session) -> None:
    sql = "item, COUNT(*) FROM professors GROUP BY item"
    first = session.ask(head("epsilon=.2") + sql)
    assert session.ask(head("epsilon=.2") + sql).price.stored
    assert not session.ask(head("epsilon=.2, min_privacy_units_per_group=3") + sql).price.stored
    assert not first.price.stored
