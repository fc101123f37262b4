"""obverse attack: each verb on small files, its exit code, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from obverse.attack.attacks import ATTACKS
from obverse.attack.examples import clues_about, film_ratings, patients, pick, two_hospitals

Obverse = Callable[..., Result]
LEAKS = 5
REFUSED = 3


def write(path: str, table: Any) -> str:
    names = list(table)
    lines = [",".join(names), *(",".join(map(str, row)) for row in zip(*table.values()))]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def people(obverse: Obverse) -> str:
    """Six hundred patients in the current folder, with a secret bit and an age."""
    generator = np.random.default_rng(4)
    table = dict(patients(generator, 600))
    table["hiv"] = generator.permutation(np.arange(600) % 2)
    table["age"] = generator.integers(20, 80, 600)
    return write("patients.csv", table)


def told(found: Result) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


def test_every_attack_is_listed_and_has_a_verb_with_its_summary(obverse: Obverse) -> None:
    listed = told(obverse("attack", "list", "--json"))["attacks"]
    assert [one["name"] for one in listed] == [attack.name.replace("_", "-") for attack in ATTACKS]
    for one in listed:
        assert one["name"] in obverse("attack", "list").stdout
        assert one["summary"] in " ".join(obverse("attack", one["name"], "--help").stdout.split())


def test_linkage_prints_a_table_and_a_sentence_and_exits_with_5(obverse: Obverse, people: str) -> None:
    generator = np.random.default_rng(4)
    write("hospital.csv", pick(patients(generator, 600), slice(0, 300)))
    options = ("attack", "linkage", "hospital.csv", "--known", people, "--on", "zip,birth,sex")
    found = obverse(*options, "--truth", "id")
    assert found.exit_code == LEAKS
    assert "the release is not anonymous" in " ".join(found.stdout.split())
    assert told(obverse(*options, "--truth", "id", "--json"))["rate"]["value"] > 0.9
    refused = obverse(*options, "--json")
    assert (refused.exit_code, told(refused)["error"]["code"]) == (REFUSED, "no_control")
    refused = obverse(
        "attack", "linkage", "hospital.csv", "--known", people, "--on", "zip=plz", "--truth", "id", "--json"
    )
    assert told(refused)["error"]["code"] == "no_such_column"


def test_generalised_rows_are_not_linked_and_the_exit_code_is_0(obverse: Obverse, people: str) -> None:
    table = dict(pick(patients(np.random.default_rng(4), 600), slice(0, 300)))
    table["zip"] = np.full(300, "0213*")
    table["birth"] = np.full(300, "*")
    found = obverse(
        "attack", "linkage", write("r.csv", table), "--known", people, "--on", "zip,birth,sex", "--truth", "id"
    )
    assert found.exit_code == 0


def test_a_verdict_is_printed_with_its_tests_and_its_false_alarm_rate(obverse: Obverse) -> None:
    released = write("seven.csv", {"id": range(7), "zip": [1, 2, 3, 4, 4, 5, 5]})
    found = obverse("attack", "linkage", released, "--known", released, "--on", "zip", "--truth", "id")
    words = " ".join(found.stdout.split())
    assert (found.exit_code, "p = 0.0048" in words, "blamed with a chance of at most 5 %" in words) == (
        LEAKS,
        True,
        True,
    )
    few = write("two.csv", {"id": range(2), "zip": range(2)})
    found = obverse("attack", "linkage", few, "--known", few, "--on", "zip", "--truth", "id")
    assert (found.exit_code, "too few" in found.stdout.splitlines()[2]) == (0, True)
    assert told(obverse("attack", "linkage", few, "--known", few, "--on", "zip", "--truth", "id", "--json"))[
        "verdict"
    ] == ("too few to judge")


def test_columns_may_have_other_names_in_the_known_table(obverse: Obverse) -> None:
    write("one.csv", {"zip": ["130**", "131**"], "s": ["flu", "gout"]})
    write("two.csv", {"plz": ["13012", "13155"], "id": ["a", "b"]})
    found = told(obverse("attack", "sampling", "one.csv", "--population", "two.csv", "--on", "zip=plz", "--json"))
    assert (found["rate"]["wins"], found["leaks"]) == (2, True)


def test_classes_of_a_release_are_attacked(obverse: Obverse, people: str) -> None:
    write("r.csv", {"zip": ["130**"] * 4 + ["131**"] * 2, "d": ["flu", "gout", "flu", "gout", "ulcer", "ulcer"]})
    assert obverse("attack", "homogeneity", "r.csv", "--on", "zip", "--secret", "d").exit_code == LEAKS
    assert obverse("attack", "homogeneity", people, "--quasi", "sex", "--sensitive", "secret").exit_code == 0
    found = obverse("attack", "background", "r.csv", "--on", "zip", "--secret", "d", "--impossible", "gout", "--json")
    assert told(found)["rate"] == {"wins": 4, "trials": 4, "value": 1.0} | {
        k: told(found)["rate"][k] for k in ("low", "high")
    }
    assert obverse("attack", "background", people, "--on", "sex", "--secret", "secret").exit_code == 0


def test_two_releases_are_intersected(obverse: Obverse) -> None:
    first, second, both = (write(f"{i}.csv", t) for i, t in enumerate(two_hospitals(np.random.default_rng(2), 300)))
    options = (first, second, "--known", both, "--on", "zip,age", "--secret", "secret", "--truth", "secret")
    assert obverse("attack", "intersection", *options).exit_code == LEAKS


@pytest.mark.parametrize("search", ["optimal", "mondrian"])
def test_what_anonymize_writes_is_read_as_it_means(obverse: Obverse, people: str, search: str) -> None:
    """Whoever is not suppressed fits the cells of their own row, and nobody fits a row alone."""
    options = ("--quasi", "zip,birth,sex,age", "--sensitive", "secret", "--k", "4", "--search", search, "--json")
    assert obverse("anonymize", people, "--out", "release", *options).exit_code == 0
    found = told(
        obverse(
            "attack", "sampling", "release/table.csv", "--population", people, "--on", "zip,birth,sex,age", "--json"
        )
    )
    assert found["figures"]["people_who_fit_a_row"] >= found["rate"]["trials"]
    assert (found["rate"]["wins"], found["leaks"]) == (0, False)


def test_attributes_are_guessed_better_inside(obverse: Obverse) -> None:
    everybody = patients(np.random.default_rng(4), 1200)
    inside = write("in.csv", pick(everybody, slice(0, 600)))
    outside = write("out.csv", pick(everybody, slice(600, 1200)))
    options = ("--outsiders", outside, "--on", "zip,birth,sex", "--secret", "secret")
    assert obverse("attack", "attribute", inside, "--members", inside, *options).exit_code == LEAKS


def test_clues_find_records_of_sparse_data(obverse: Obverse) -> None:
    generator = np.random.default_rng(3)
    made = film_ratings(generator, people=420, films=500, each=40)
    rows = [
        (f"p{p}", f"f{made.film[i]}", made.stars[i], f"{made.day[i]:.0f}")
        for p in range(300)
        for i in range(made.start[p], made.start[p + 1])
    ]
    clues = []
    for p in (*range(60), *range(300, 420)):
        one = clues_about(generator, made, p)
        clues += [(f"p{p}", f"f{i}", s, f"{d:.0f}") for i, s, d in zip(one.items, one.stars, one.days)]
    names = ("who", "film", "stars", "day")
    write("ratings.csv", dict(zip(names, zip(*rows))))
    write("clues.csv", dict(zip(names, zip(*clues))))
    options = ("--person", "who", "--item", "film", "--stars", "stars", "--date", "day", "--json")
    found = obverse("attack", "fuzzy-linkage", "ratings.csv", "--known", "clues.csv", *options)
    assert (found.exit_code, told(found)["rate"]["trials"], told(found)["figures"]["records"]) == (LEAKS, 60, 300)
    assert [one["alpha"] for one in told(found)["tests"]] == [0.025, 0.025]
    assert told(found)["figures"]["first_named"][0].startswith("p")
    itself = obverse("attack", "fuzzy-linkage", "clues.csv", "--known", "clues.csv", *options)
    # chance is control enough
    assert (itself.exit_code, [one["alpha"] for one in told(itself)["tests"]]) == (LEAKS, [0.05])


def test_exact_counts_are_differenced_and_noise_stops_it(obverse: Obverse, people: str) -> None:
    options = ("attack", "differencing", people, "--id", "id", "--secret", "hiv = 1")
    assert obverse(*options).exit_code == LEAKS
    assert obverse(*options, "--laplace", "60").exit_code == 0


def test_published_sets_that_differ_in_one_person_are_found(obverse: Obverse, people: str) -> None:
    """Counts over ages, with a person's row left out of each second one: thirty pairs, which nobody pointed out."""
    sets = [f"age >= {20 + i}" for i in range(30)]
    ages = [line.split(",") for line in Path(people).read_text().splitlines()[1:]]
    named = [next(row[0] for row in ages if int(row[-1]) >= 20 + i) for i in range(30)]
    Path("sets.txt").write_text("\n".join([*sets, *(f"{one} AND id <> '{who}'" for one, who in zip(sets, named))]))
    options = (
        "attack",
        "differencing",
        people,
        "--id",
        "id",
        "--secret",
        "hiv = 1",
        "--conditions",
        "sets.txt",
        "--json",
    )
    found = told(obverse(*options))
    assert found["figures"]["pairs"] >= 30
    assert found["rate"]["wins"] == found["rate"]["trials"]


def test_a_project_is_attacked_through_its_budget(obverse: Obverse, project: Path) -> None:
    """Ten answers fit into the budget; the others are refused, and what is left says little of anybody."""
    options = ("--id", "person_id", "--secret", "age < 50", "-p", str(project), "--people", "30", "--reason", "a look")
    found = obverse("attack", "differencing", "people", *options, "--json")
    assert found.exit_code in (0, LEAKS)
    assert told(found)["figures"] == {"sets": 10, "refused": 21, "pairs": 9}
    assert told(obverse("budget", "--json"))["lines"][0]["spent"] == "1"


def test_fresh_noise_is_averaged_away(obverse: Obverse, people: str) -> None:
    options = ("attack", "averaging", people, "--by", "age", "--laplace", "2", "--repeats", "100", "--questions", "25")
    assert obverse(*options).exit_code == LEAKS


def test_a_python_function_is_attacked(obverse: Obverse, people: str) -> None:
    Path("mine.py").write_text("def ask(sql):\n    return 10.0\n", encoding="utf-8")
    options = ("attack", "averaging", people, "--by", "age", "--repeats", "3")
    assert obverse(*options, "--call", "mine:ask").exit_code == 0
    theirs = "def fails(sql):\n    raise KeyError(sql)\ndef words(sql):\n    return 'ten'\n"
    Path("theirs.py").write_text(theirs, encoding="utf-8")
    codes = {"mine:nothing": "no_such_function", "theirs:fails": "target_failed", "theirs:words": "bad_outputs"}
    for place, code in codes.items():
        refused = obverse(*options, "--call", place, "--json")
        assert (refused.exit_code, told(refused)["error"]["code"]) == (REFUSED, code)


ODD = {"nothing": "None", "not_a_number": "float('nan')", "infinite": "float('inf')", "words": "'many'", "rows": "[1]"}


@pytest.mark.parametrize("name", ODD)
def test_a_function_that_gives_no_number_is_told_apart_from_one_that_refuses(
    obverse: Obverse, people: str, name: str
) -> None:
    text = "".join(f"def {other}(sql):\n    return {answer}\n" for other, answer in ODD.items())
    Path("odd_answers.py").write_text(text, encoding="utf-8")
    call = ("--people", "4", "--id", "id", "--secret", "hiv = 1", "--call", f"odd_answers:{name}")
    for attack in (("averaging", people, "--by", "age", "--repeats", "2", *call[-2:]), ("differencing", people, *call),
                   ("reconstruction", people, *call), ("tracker", people, "--tracker", "age < 50", *call)):  # fmt: skip
        found = obverse("attack", *attack, "--json")
        assert found.exit_code == (REFUSED if name in ("words", "rows") else 0), attack
        assert "figures" in told(found) or told(found)["error"]["code"] == "bad_outputs"


def test_small_counts_that_are_refused_are_tracked(obverse: Obverse, people: str) -> None:
    options = (
        "attack",
        "tracker",
        people,
        "--id",
        "id",
        "--secret",
        "hiv = 1",
        "--tracker",
        "age < 50",
        "--at-least",
        "10",
    )
    assert obverse(*options).exit_code == LEAKS


def test_bits_are_reconstructed_from_accurate_sums(obverse: Obverse, people: str) -> None:
    options = ("attack", "reconstruction", people, "--id", "id", "--secret", "hiv = 1", "--people", "40")
    assert told(obverse(*options, "--laplace", "0.3", "--json"))["rate"]["value"] > 0.9
    proved = told(obverse(*options, "--method", "certain", "--error", "0.1", "--json"))
    assert proved["figures"]["guessed"] == 40
    assert told(obverse(*options, "--method", "certain", "--json"))["error"]["code"] == "error_unknown"


def test_members_are_recognised_from_averages(obverse: Obverse) -> None:
    generator = np.random.default_rng(3)
    chance = generator.beta(2, 2, 400)
    members = generator.random((60, 400)) < chance
    outsiders = generator.random((900, 400)) < chance

    def file(name: str, rows: Any) -> str:
        return write(name, {f"a{i}": rows[:, i] for i in range(400)})

    options = ("--members", file("in.csv", members.astype(int)), "--outsiders", file("out.csv", outsiders.astype(int)))
    assert (
        obverse("attack", "membership", file("z.csv", members.mean(axis=0, keepdims=True)), *options).exit_code == LEAKS
    )
    few = obverse("attack", "membership", "z.csv", "--members", "in.csv", "--outsiders", "z.csv", "--json")
    assert told(few)["error"]["code"] == "no_control"


def test_last_bits_of_answers_are_read(obverse: Obverse) -> None:
    noise = np.random.default_rng(3).laplace(0, 4, (2, 6_000))
    write(
        "answers.csv", {"with": [repr(float(x)) for x in 1 + noise[0]], "without": [repr(float(x)) for x in noise[1]]}
    )
    options = ("attack", "low-bits", "answers.csv", "--present", "with", "--absent", "without")
    assert obverse(*options, "--epsilon", "0.25").exit_code == obverse(*options, "--epsilon", "2").exit_code == LEAKS
    for claim in (("--epsilon", "1000"), ("--epsilon", "2", "--delta", "0.9")):
        assert obverse(*options, *claim).exit_code == 0
    found = told(obverse(*options, "--epsilon", "0.25", "--json"))
    assert found["figures"]["false_alarm"] == 0.05
    assert found["rate"]["trials"] == 3_000
    noise = np.rint(noise * 1024) / 1024
    write(
        "answers.csv", {"with": [repr(float(x)) for x in 1 + noise[0]], "without": [repr(float(x)) for x in noise[1]]}
    )
    assert obverse(*options, "--epsilon", "0.25").exit_code == 0
    write("words.csv", {"with": ["a"], "without": ["b"]})
    refused = obverse("attack", "low-bits", "words.csv", *options[3:], "--epsilon", "1", "--json")
    assert told(refused)["error"]["code"] == "not_numbers"


def test_files_and_conditions_that_cannot_be_read_are_refused(obverse: Obverse, people: str) -> None:
    def code(*options: str) -> str:
        found = obverse("attack", "differencing", *options, "--json")
        assert found.exit_code == REFUSED
        answer: str = told(found)["error"]["code"]
        return answer

    assert code("nothing.csv", "--id", "id", "--secret", "hiv = 1") == "source_missing"
    Path("broken.parquet").write_bytes(b"not parquet")
    assert code("broken.parquet", "--id", "id", "--secret", "hiv = 1") == "source_unreadable"
    assert code(people, "--id", "id", "--secret", "nothing = 1") == "bad_condition"
    assert code(people, "--id", "sex", "--secret", "hiv = 1") == "not_a_key"


def test_one_table_is_compared_in_all_its_releases(obverse: Obverse, tmp_path: Path) -> None:
    lines = [f"{20 + i % 37},{8000 + i * 7 % 11},{'yes' if i * 13 % 5 < 2 else 'no'}" for i in range(400)]
    (tmp_path / "people.csv").write_text("age,zip,sick\n" + "\n".join(lines) + "\n")
    asked = (
        "attack",
        "compare",
        str(tmp_path / "people.csv"),
        "--quasi",
        "age,zip",
        "--secret",
        "sick",
        "--epsilons",
        "1",
    )
    said = obverse(*asked, "--plot", str(tmp_path / "chart.svg"))
    assert said.exit_code == 0, said.stderr
    assert "5-anonymous" in said.stdout
    assert "ask, epsilon 1" in said.stdout
    assert (tmp_path / "chart.svg").stat().st_size > 1000
    told = json.loads(obverse(*asked, "--json").stdout)
    assert [row["release"] for row in told["releases"]][-1] == "ask, epsilon 1"


def test_a_question_that_a_row_cannot_be_asked_is_refused_without_its_value(obverse: Obverse, tmp_path: Path) -> None:
    (tmp_path / "named.csv").write_text("id,name\n1,Alice\n2,Bob\n")
    asked = ("attack", "differencing", str(tmp_path / "named.csv"), "--id", "id", "--json")
    for secret in ("name::INTEGER = 1", "error(name) = 1", "name::DATE > DATE '2000-01-01'"):
        found = obverse(*asked, "--secret", secret)
        assert told(found)["error"]["code"] == "bad_condition"
        assert "Alice" not in found.output
    assert '"agee"' in told(obverse(*asked, "--secret", "agee = 1"))["error"]["message"]
