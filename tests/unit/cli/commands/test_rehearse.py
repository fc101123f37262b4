from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Obverse = Callable[..., Result]
COUNT = "SELECT COUNT(*) AS n FROM people"
GROUPED = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def test_a_rehearsal_says_what_it_is_before_and_after_its_numbers(obverse: Obverse, project: Path) -> None:
    (project / "people.csv").unlink()
    said = obverse("rehearse", GROUPED)
    assert said.exit_code == 0, said.output
    words = " ".join(said.stdout.split())
    assert words.startswith("Made up every private row, from obverse.toml alone.")
    for part in (" ± ", "95 % interval", "Price free", "made-up rows of 1,000 units", "would cost epsilon 0.1, 10 %"):
        assert part in words
    assert "Left" not in words
    assert not (project / ".obverse").exists()


def test_nothing_is_spent(obverse: Obverse, spent: Callable[[], str]) -> None:
    assert obverse("rehearse", COUNT, "--epsilon", "1").exit_code == 0
    assert spent() == "0"


def test_json_has_the_shape_of_an_answer(obverse: Obverse) -> None:
    told, asked = (json.loads(obverse(verb, GROUPED, "--json").stdout) for verb in ("rehearse", "ask"))
    assert set(told) == set(asked)
    assert told["columns"] == asked["columns"]
    assert set(told["claim"]) == set(asked["claim"])
    assert "no privacy is claimed or needed" in told["claim"]["sentence"]
    assert told["price"] == {"epsilon": "0", "delta": "0", "share": 0.0, "stored": False}


def test_it_is_the_same_until_another_seed_or_number_is_given(obverse: Obverse) -> None:
    first, again, other, more = (
        obverse("rehearse", GROUPED, *options).stdout for options in ([], [], ["--seed", "1"], ["--rows", "2000"])
    )
    assert first == again
    assert len({first, other, more}) == 3


@pytest.mark.parametrize("how", ["stdin", "file"])
def test_the_question_comes_from_stdin_or_a_file(obverse: Obverse, project: Path, how: str) -> None:
    (project / "q.sql").write_text(COUNT, encoding="utf-8")
    args = {"stdin": [], "file": ["-f", "q.sql"]}[how]
    said = obverse("rehearse", *args, "--json", "--within", "200", input=COUNT if how == "stdin" else None)
    assert json.loads(said.stdout)["columns"][0]["name"] == "n"


def test_csv_is_on_stdout_and_what_it_is_on_stderr(obverse: Obverse) -> None:
    said = obverse("rehearse", GROUPED, "--csv")
    assert [row["sex"] for row in csv.DictReader(io.StringIO(said.stdout))] == ["F", "M", "X"]
    assert said.stderr.startswith("Made up")
    assert "no privacy" in " ".join(said.stderr.split())


def test_a_question_over_public_tables_is_exact_and_not_made_up(obverse: Obverse) -> None:
    said = obverse("rehearse", "SELECT city FROM clinics ORDER BY city")
    assert "Basel" in said.stdout
    assert "Made up" not in said.stdout


@pytest.mark.parametrize(
    "args",
    [
        ["SELECT age FROM people"], ["SELECT remark, COUNT(*) FROM people GROUP BY remark"], ["nonsense"],
        [COUNT, "--epsilon", "5"], [COUNT, "--analyst", "eve"], [COUNT, "--analyst", "ben", "--epsilon", "0.3"],
        [COUNT, "--epsilon", "0"], [COUNT, "--within", "5", "--epsilon", "1"], [COUNT, "--confidence", "2"],
        [COUNT, "-f", "no"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_it_refuses_as_ask_does(obverse: Obverse, args: list[str]) -> None:
    rehearsed = obverse("rehearse", *args, "--json")
    asked = obverse("ask", *args, "--json")
    assert rehearsed.exit_code == asked.exit_code != 0
    if asked.exit_code != 2:
        assert json.loads(rehearsed.stdout) == json.loads(asked.stdout)


def test_options_that_contradict_each_other_are_a_usage_error(obverse: Obverse) -> None:
    assert obverse("rehearse", COUNT, "--csv", "--json").exit_code == 2
    assert obverse("rehearse", COUNT, "--rows", "many").exit_code == 2
    assert obverse("rehearse", COUNT, "--rows", "0").exit_code == 3
