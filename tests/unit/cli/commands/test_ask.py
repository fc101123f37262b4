from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import Result

Obverse = Callable[..., Result]
Spent = Callable[[], str]
COUNT = "SELECT COUNT(*) AS n FROM people"
GROUPED = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def test_an_answer_shows_interval_price_rest_and_claim(obverse: Obverse) -> None:
    said = obverse("ask", GROUPED)
    assert said.exit_code == 0, said.output
    words = " ".join(said.stdout.split())
    for part in (
        "sex",
        " ± ",
        "95 % interval",
        "epsilon 0.1, 10 % of the budget",
        "about 9 more like this",
        "Protects one people",
    ):
        assert part in words
    assert "whoever can run this can read the files" in words


def test_a_number_without_an_interval_is_named(obverse: Obverse) -> None:
    said = obverse("ask", "SELECT sex, COUNT(*) AS n, LN(COUNT(*) + 1) AS size FROM people GROUP BY sex").stdout
    assert "No bars of size: no interval can be told" in " ".join(said.split())
    assert "No bars" not in obverse("ask", GROUPED).stdout


def test_the_same_question_again_is_free(obverse: Obverse, spent: Spent) -> None:
    first = obverse("ask", COUNT, "--json")
    second = obverse("ask", COUNT, "--json")
    one = json.loads(first.stdout)
    other = json.loads(second.stdout)
    assert one["rows"] == other["rows"]
    assert [one["price"]["stored"], other["price"]["stored"]] == [False, True]
    assert spent() == "0.1"
    assert "free this time" in obverse("ask", COUNT).stdout


def test_json_has_the_shape_of_the_contract(obverse: Obverse) -> None:
    told = json.loads(obverse("ask", GROUPED, "--json").stdout)
    assert set(told) == {"version", "columns", "rows", "intervals", "level", "claim", "price", "remaining"}
    assert told["version"] == 1
    assert [column["role"] for column in told["columns"]] == ["key", "value"]
    assert [row[0] for row in told["rows"]] == ["F", "M", "X"]
    assert all(bars[0] is None and len(bars[1]) == 2 for bars in told["intervals"])
    assert set(told["price"]) == {"epsilon", "delta", "share", "stored"}
    assert set(told["remaining"]) == {"share", "epsilon", "like_this"}


@pytest.mark.parametrize("how", ["stdin", "dash", "file"])
def test_the_question_comes_from_stdin_or_a_file(obverse: Obverse, project: Path, how: str) -> None:
    (project / "q.sql").write_text(COUNT, encoding="utf-8")
    args = {"stdin": ["ask"], "dash": ["ask", "-"], "file": ["ask", "-f", "q.sql"]}[how]
    said = obverse(*args, "--json", input=COUNT if how != "file" else None)
    assert said.exit_code == 0, said.output
    assert json.loads(said.stdout)["columns"][0]["name"] == "n"


def test_csv_is_on_stdout_and_the_claim_on_stderr(obverse: Obverse) -> None:
    said = obverse("ask", GROUPED, "--csv")
    rows = list(csv.DictReader(io.StringIO(said.stdout)))
    assert [row["sex"] for row in rows] == ["F", "M", "X"]
    assert all(int(row["n_low"]) <= int(row["n"]) <= int(row["n_high"]) for row in rows)
    assert "Protects" in said.stderr
    assert "Price" in said.stderr


@pytest.mark.parametrize("name", ["answer.csv", "answer.parquet"])
def test_out_writes_the_answer_and_its_claim_beside_it(obverse: Obverse, project: Path, name: str) -> None:
    said = obverse("ask", GROUPED, "--out", name)
    assert said.exit_code == 0, said.output
    columns = [row[0] for row in duckdb.sql(f"DESCRIBE FROM '{project / name}'").fetchall()]
    assert columns == ["sex", "n", "n_low", "n_high"]
    assert duckdb.sql(f"SELECT count(*) FROM '{project / name}'").fetchall() == [(3,)]
    claim = json.loads((project / f"{name}.claim.json").read_text(encoding="utf-8"))
    assert claim["claim"]["sentence"].startswith("Protects")
    assert "rows" not in claim


@pytest.mark.parametrize("name", ["people.csv", "answer.xlsx", "nowhere/answer.csv"])
def test_an_output_that_cannot_be_written_is_refused_before_the_debit(
    obverse: Obverse, spent: Spent, project: Path, name: str
) -> None:
    before = (project / "people.csv").read_bytes()
    assert obverse("ask", COUNT, "--out", name).exit_code == 3
    assert spent() == "0"
    assert (project / "people.csv").read_bytes() == before


def test_within_finds_a_price_by_error(obverse: Obverse) -> None:
    told = json.loads(obverse("ask", COUNT, "--within", "20", "--json").stdout)
    low, high = told["intervals"][0][0]
    value = told["rows"][0][0]
    assert max(value - low, high - value) <= 20


def test_a_batch_is_charged_once_and_answered_together(obverse: Obverse, spent: Spent, project: Path) -> None:
    (project / "b.sql").write_text(f"-- two; questions\n{COUNT};\n{GROUPED};\n", encoding="utf-8")
    told = json.loads(obverse("ask", "--batch", "b.sql", "--epsilon", "0.1", "--json").stdout)
    assert [len(answer["rows"]) for answer in told["answers"]] == [1, 3]
    assert float(spent()) <= 0.2
    said = obverse("ask", "--batch", "b.sql", "--epsilon", "0.1").stdout
    assert "-- 2 of 2" in said
    assert "free this time" in said


def test_a_repeated_request_id_is_never_charged_twice(obverse: Obverse) -> None:
    first = json.loads(obverse("ask", COUNT, "--key", "r1", "--json").stdout)
    again = json.loads(obverse("ask", COUNT, "--key", "r1", "--json").stdout)
    assert first["rows"] == again["rows"]
    other = obverse("ask", GROUPED, "--key", "r1", "--json")
    assert (other.exit_code, json.loads(other.stdout)["error"]["code"]) == (3, "idempotency_conflict")


def test_a_question_over_public_tables_is_exact_and_free(obverse: Obverse) -> None:
    said = obverse("ask", "SELECT clinic, city FROM clinics ORDER BY clinic").stdout
    assert "Emergency  Bern" in said
    assert "free" in said
    assert "±" not in said


def test_a_refusal_underlines_the_sql_and_costs_nothing(obverse: Obverse) -> None:
    said = obverse("ask", "SELECT remark FROM people")
    assert (said.exit_code, said.stdout) == (3, "")
    assert "  SELECT remark FROM people\n         ^^^^^^" in said.stderr
    assert "Nothing was spent." in said.stderr


def test_an_error_is_an_object_on_stdout_with_json(obverse: Obverse) -> None:
    said = obverse("ask", "SELECT\n  remark FROM people", "--json")
    told = json.loads(said.stdout)
    assert said.exit_code == 3
    assert set(told) == {"error", "charged"}
    assert set(told["error"]) == {"code", "message", "where", "why", "fix"}
    assert told["error"]["where"] == {"line": 2, "column": 3}
    assert told["charged"] is False


def test_over_budget_is_exit_code_four(obverse: Obverse, spent: Spent) -> None:
    said = obverse("ask", COUNT, "--epsilon", "1.5")
    assert said.exit_code == 4
    assert "nothing was spent" in said.stderr
    assert obverse("ask", COUNT, "--analyst", "ben", "--epsilon", "0.3").exit_code == 4
    assert spent() == "0"


@pytest.mark.parametrize(
    "args",
    [
        ["ask", COUNT, "-f", "obverse.toml"],
        ["ask", COUNT, "--json", "--csv"],
        ["ask", COUNT, "--batch", "obverse.toml"],
        ["ask", "--batch", "obverse.toml", "--within", "5"],
        ["ask", "--batch", "obverse.toml", "--csv"],
        ["ask", "-f", "nowhere.sql"],
        ["ask", COUNT, "--confidence", "much"],
    ],
)
def test_contradicting_options_are_a_usage_error(obverse: Obverse, args: list[str]) -> None:
    assert obverse(*args).exit_code == 2


def test_the_analysts_name_is_checked_and_charged(obverse: Obverse) -> None:
    assert obverse("ask", COUNT, "--analyst", "nobody").exit_code == 3
    assert obverse("ask", COUNT, "--analyst", "ben", "--purpose", "quality").exit_code == 0
    lines = {line["name"]: line["spent"] for line in json.loads(obverse("budget", "--json").stdout)["lines"]}
    assert lines == {"everybody": "0.1", "ana": "0", "ben": "0.1", "quality": "0.1"}


def test_help_says_where_the_boundary_is(obverse: Obverse) -> None:
    said = " ".join(obverse("ask", "--help").stdout.split())
    assert "--analyst is bookkeeping" in said
    assert "`obverse serve`" in said
