from __future__ import annotations

import json
from collections.abc import Callable

from click.testing import Result

Obverse = Callable[..., Result]
Spent = Callable[[], str]
COUNT = "SELECT COUNT(*) AS n FROM people"


def test_what_is_quoted_is_what_is_charged(obverse: Obverse, spent: Spent) -> None:
    quoted = json.loads(obverse("explain", COUNT, "--epsilon", "0.25", "--json").stdout)
    assert spent() == "0"
    charged = json.loads(obverse("ask", COUNT, "--epsilon", "0.25", "--json").stdout)
    assert quoted["price"] == charged["price"]


def test_measures_tell_sensitivity_and_noise(obverse: Obverse) -> None:
    told = json.loads(obverse("explain", COUNT, "--json").stdout)
    assert "rows" not in told
    assert set(told["measures"][0]) == {"name", "l0", "l1", "l2", "linf", "mechanism", "stddev", "half_width"}
    said = obverse("explain", COUNT).stdout
    assert "one unit moves it by" in said
    assert "not yet spent" in said


def test_the_engine_text_is_shown_on_request_only(obverse: Obverse) -> None:
    assert 'FROM "people"' not in obverse("explain", COUNT).stdout
    assert 'FROM "people"' in obverse("explain", COUNT, "--sql").stdout
    assert "engine_sql" in json.loads(obverse("explain", COUNT, "--sql", "--json").stdout)


def test_an_order_statistic_is_explained_with_its_global_sensitivity(obverse: Obverse) -> None:
    said = obverse("explain", "SELECT MAX(age) FROM people")
    assert said.exit_code == 0
    assert "120" in said.stdout
    assert "tree(" in said.stdout


def test_a_public_question_is_explained_as_free(obverse: Obverse) -> None:
    assert "exact and free" in obverse("explain", "SELECT city FROM clinics").stdout


def test_a_refusal_is_the_same_as_of_ask(obverse: Obverse) -> None:
    said = obverse("explain", "SELECT age FROM people")
    assert said.exit_code == 3
    assert "^^^" in said.stderr
