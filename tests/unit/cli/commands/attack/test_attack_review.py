"""What a hostile review found in attacks: innocence that was none, names that broke SQL or a page, and numbers that
crashed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from obverse.engines.files import read_table

Obverse = Callable[..., Result]
LEAKS = 5
REFUSED = 3


def told(found: Result) -> dict[str, Any]:
    assert found.exception is None or isinstance(found.exception, SystemExit), repr(found.exception)
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


def refusal(found: Result) -> str:
    return str(told(found)["error"]["code"])


def write(name: str, header: str, rows: list[str]) -> str:
    Path(name).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return name


def test_numbers_beyond_doubles_are_told_apart(obverse: Obverse) -> None:
    file = write("r.csv", "card,who", [f"{10**17 + i},p{i}" for i in range(40)])
    found = told(obverse("attack", "linkage", file, "--known", file, "--on", "card", "--truth", "who", "--json"))
    assert (found["rate"]["wins"], found["leaks"]) == (40, True)


def test_dates_with_the_month_first_are_linked_with_what_anonymize_writes(obverse: Obverse) -> None:
    """Forty people, ten in each of four months: each fits the class of their own month, and no other."""
    rows = [f"{1 + i % 4}/{1 + i // 4}/64,p{i},{'ab'[i % 2]}" for i in range(40)]
    people = write("patients.csv", "born,who,s", rows)
    for search in ("optimal", "mondrian"):
        asked = ("--quasi", "born", "--sensitive", "s", "--k", "8", "--search", search)
        assert obverse("anonymize", people, "--out", "out", *asked).exit_code == 0
        known = ("--population", people, "--on", "born", "--json")
        found = told(obverse("attack", "sampling", "out/table.csv", *known))
        assert found["figures"]["people_who_fit_a_row"] == 40


def test_a_missing_number_is_refused_and_does_not_acquit(obverse: Obverse) -> None:
    names = [f"a{i}" for i in range(3)]
    averages = write("averages.csv", ",".join(names), ["0.5,0.5,"])
    people = write("in.csv", ",".join(names), ["1,0,1"] * 9)
    asked = ("attack", "membership", averages, "--members", people, "--outsiders", people, "--json")
    assert refusal(obverse(*asked)) == "not_numbers"
    write("averages.csv", ",".join(names), ["0.5,0.5,inf"])
    assert refusal(obverse(*asked)) == "not_numbers"
    write("averages.csv", ",".join(names), ["0.5,0.5,many"])
    assert refusal(obverse(*asked)) == "not_numbers"


def test_answers_without_a_person_may_be_fewer(obverse: Obverse) -> None:
    file = write("answers.csv", "with,without", [f"{i}.5,{i}.25" for i in range(20)] + ["3.5,"] * 20)
    found = told(
        obverse("attack", "low-bits", file, "--present", "with", "--absent", "without", "--epsilon", "1", "--json")
    )
    assert found["rate"]["trials"] == 20


def test_an_empty_field_is_missing_and_not_a_question_mark(obverse: Obverse) -> None:
    file = write("r.csv", "zip,s", ["130,flu", "130,", "131,", "131,"])
    table = read_table(Path(file))
    assert table["s"].tolist() == ["flu", None, None, None]
    rows = [f"p{i},f{j},{i % 5},{i}" for i in range(9) for j in range(4)]
    ratings = write("ratings.csv", "who,film,stars,day", [*rows, "q,f1,3,"])
    asked = ("--person", "who", "--item", "film", "--stars", "stars", "--date", "day", "--json")
    clues = write("clues.csv", "who,film,stars,day", [f"{p},f1,3," for p in ("p3", "x", "y", "z")])
    assert told(obverse("attack", "fuzzy-linkage", ratings, "--known", clues, *asked))["rate"]["trials"] == 1


def test_signs_in_rows_do_not_decide_how_a_file_is_read(obverse: Obverse) -> None:
    """One column whose values hold semicolons lost its name; a short record made one column of two."""
    file = write("one.csv", "s", [f"x {i} ; y" for i in range(5)])
    assert told(obverse("attack", "homogeneity", file, "--on", "s", "--secret", "s", "--json"))["rate"]["trials"] == 5
    file = write("two.csv", "a,b", ["1,2", "3", "4,5"])
    assert (
        refusal(obverse("attack", "homogeneity", file, "--on", "a", "--secret", "b", "--json")) == "source_unreadable"
    )
    file = write("three.csv", "id,s", ["#1,0", *(f"{i},{i % 2}" for i in range(40))])
    found = told(obverse("attack", "differencing", file, "--id", "id", "--secret", "s = 1", "--json"))
    assert found["rate"]["trials"] == 41


def test_what_is_no_rating_and_no_date_is_refused(obverse: Obverse) -> None:
    rows = write("ratings.csv", "who,film,stars,day", ["p1,f1,good,yesterday"])
    asked = ("attack", "fuzzy-linkage", rows, "--known", rows, "--person", "who", "--item", "film", "--json", "--stars")
    assert refusal(obverse(*asked, "stars")) == "not_numbers"
    write("ratings.csv", "who,film,stars,day", ["p1,f1,4,yesterday"])
    assert refusal(obverse(*asked, "stars", "--date", "day")) == "not_dates"


def test_a_control_of_nobody_acquits_nobody(obverse: Obverse) -> None:
    rows = write("r.csv", "zip,who,s", [f"{13000 + i},p{i},flu" for i in range(20)])
    empty = write("empty.csv", "zip,who,s", [])
    for asked in (
        ("sampling", rows, "--population", rows, "--on", "zip", "--truth", "who"),
        ("linkage", rows, "--known", rows, "--on", "zip", "--control", empty),
        ("attribute", rows, "--members", rows, "--outsiders", empty, "--on", "zip", "--secret", "s"),
    ):
        assert refusal(obverse("attack", *asked, "--json")) == "no_control"


@pytest.mark.parametrize("verb", ["homogeneity", "background"])
def test_an_attack_that_tried_nothing_says_so(obverse: Obverse, verb: str) -> None:
    empty = write("empty.csv", "zip,s", [])
    found = told(obverse("attack", verb, empty, "--on", "zip", "--secret", "s", "--json"))
    assert found["sentence"].startswith("Nothing could be tried")


def test_an_interface_over_no_people_is_told_as_numbers(obverse: Obverse) -> None:
    empty = write("empty.csv", "id,s", [])
    found = obverse("attack", "reconstruction", empty, "--id", "id", "--secret", "s = 'x'", "--json")
    assert "NaN" not in found.stdout
    assert told(found)["rate"]["trials"] == 0


def test_a_file_may_be_called_by_a_word_of_sql_and_a_column_by_anything(obverse: Obverse) -> None:
    file = write("semi.csv", 'native-country,"the ""id""",s', [f"c{i % 3},{i},{i % 2}" for i in range(60)])
    asked = ("--id", 'the "id"', "--secret", "s = 1", "--json")
    assert told(obverse("attack", "differencing", file, *asked))["leaks"]
    assert (
        told(obverse("attack", "averaging", file, "--by", "native-country", "--repeats", "2", "--json"))["rate"]["wins"]
        == 3
    )
    numbers = write("inf.csv", "x,s", ["inf,1", "1.5,0", "1.5,0"])
    assert told(obverse("attack", "averaging", numbers, "--by", "x", "--repeats", "2", "--json"))["rate"]["wins"] == 2


def test_a_chart_runs_no_script_of_a_columns_name(obverse: Obverse) -> None:
    name = "</script><script>alert(1)</script>"
    file = write("r.csv", f"a,{name}", [f"{i % 7},{'xy'[i % 2]}" for i in range(200)])
    asked = ("attack", "compare", file, "--quasi", "a", "--secret", name, "--epsilons", "1", "--plot")
    assert obverse(*asked, "chart.html").exit_code == 0
    page = Path("chart.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert not any(word in page for word in ("<script", "https:", "src=", "@import")), (
        "a page needs no script and no network"
    )
    for path, code in (("chart.gif", "bad_plot"), ("nowhere/chart.html", "cannot_write")):
        assert refusal(obverse(*asked, path, "--json")) == code


def test_a_secret_of_too_many_values_is_refused_before_memory_is_full(obverse: Obverse) -> None:
    file = write("r.csv", "a,s", [f"{i},{i}" for i in range(11_000)])
    asked = ("--on", "a", "--secret", "s", "--json")
    assert (
        refusal(obverse("attack", "attribute", file, "--members", file, "--outsiders", file, *asked))
        == "too_many_secrets"
    )
    assert refusal(obverse("attack", "intersection", file, file, "--known", file, *asked)) == "too_many_secrets"


def test_a_seed_below_zero_and_no_columns_are_usage(obverse: Obverse) -> None:
    file = write("r.csv", "a,s", [f"{i % 7},{'xy'[i % 2]}" for i in range(200)])
    assert obverse("attack", "compare", file, "--quasi", "a", "--secret", "s", "--seed", "-1").exit_code == 2
    assert obverse("attack", "compare", file, "--quasi", ",", "--secret", "s").exit_code == 2
    assert obverse("attack", "differencing", file, "--id", "a", "--secret", "s = 'x'", "--seed", "-1").exit_code == 2


def test_ruling_out_one_of_two_secrets_is_not_said_to_help_nobody(obverse: Obverse) -> None:
    file = write("r.csv", "zip,s", [f"{i % 3},{'ab'[i % 2]}" for i in range(12)])
    found = told(obverse("attack", "background", file, "--on", "zip", "--secret", "s", "--json"))
    assert (found["leaks"], found["rate"]["value"], found["control"]["value"]) == (False, 1, 1)
    assert "with or without this table" in found["sentence"]
