from __future__ import annotations

import numpy as np
import pytest

from obverse.attack.attacks import ATTACKS, Averaging, Background, Differencing, Homogeneity, Linkage, Sampling, Tracker
from obverse.attack.attacks.averaging import middle, reworded
from obverse.attack.attacks.differencing import differences
from obverse.attack.examples import people_list, pick
from obverse.attack.finding import TOO_FEW, Finding, Rate, judged
from obverse.attack.targets import Counting, Person, balanced, literal
from obverse.core.errors import Refused

SEEDS = 20
QUICK = [attack for attack in ATTACKS if attack.name not in ("fuzzy_linkage", "attribute", "linkage", "intersection")]


@pytest.mark.parametrize("attack", QUICK, ids=lambda attack: attack.name)
def test_honest_targets_are_hardly_ever_blamed(attack) -> None:
    """Each is blamed with a chance of at most alpha = 5 %: five or more of twenty with one below 0.3 %; the seeds
    are fixed.
    """
    blamed = sum(attack.honest(np.random.default_rng(seed)).leaks for seed in range(SEEDS))
    assert blamed <= 4


def test_a_finding_says_what_it_found() -> None:
    def said(wins: int) -> Finding:
        return judged("a", "t", Rate(wins, 100), 0.5, leak="It leaks.", quiet="Nothing.", figures={})

    assert (said(90).sentence, said(55).sentence) == ("It leaks.", "Nothing.")


def test_few_trials_acquit_nobody() -> None:
    def said(rate: Rate, control: Rate | float) -> str:
        return judged("a", "t", rate, control, leak="It leaks.", quiet="Nothing.", figures={}).sentence

    assert said(Rate(3, 3), 0.5) == said(Rate(0, 3), 0.5) == said(Rate(6, 6), Rate(3, 6)) == f"Nothing. {TOO_FEW}"
    assert said(Rate(7, 7), 0.5) == "It leaks."
    assert said(Rate(3, 7), 0.5) == said(Rate(3, 3), 1.0) == "Nothing."


def test_all_pairs_that_differ_in_one_person_are_found() -> None:
    generator = np.random.default_rng(2)
    sets = generator.random((300, 9)) < 0.5
    answers = generator.random(300)
    people, difference = differences(sets, answers)
    wanted = sorted(
        (int(np.argmax(a & ~b)), float(x - y))
        for a, x in zip(sets, answers)
        for b, y in zip(sets, answers)
        if (a ^ b).sum() == 1 and a.sum() > b.sum()
    )
    assert sorted(zip(people.tolist(), difference.tolist())) == wanted


def test_refused_counts_are_left_out_of_differences() -> None:
    people = [Person(f"p{i}", i % 2 == 0) for i in range(10)]
    found = Differencing().ask(Counting(lambda sql: None, "t", "id"), "ill", people)
    assert (found.rate.trials, found.figures["refused"], found.leaks) == (0, 11, False)


def test_a_tracker_that_is_not_answered_is_told_from_one_that_finds_nothing() -> None:
    people = [Person(f"p{i}", i % 2 == 0) for i in range(10)]
    found = Tracker().run(Counting(lambda sql: None, "t", "id"), "ill", people, ["age < 5"])
    assert not found.leaks
    assert "nothing was tried" in found.sentence


def test_columns_that_are_written_in_other_ways_are_told_from_an_anonymous_release() -> None:
    everybody = people_list(np.random.default_rng(1), 50)
    other = {**everybody, "sex": np.array([f"sex {one}" for one in everybody["sex"]])}
    assert "written alike" in Linkage().run(other, everybody, ("zip", "sex"), truth="id").sentence
    assert "written alike" not in Linkage().run(everybody, everybody, ("zip", "sex"), truth="id").sentence


def test_without_a_control_group_nothing_is_claimed() -> None:
    everybody = people_list(np.random.default_rng(1), 50)
    with pytest.raises(Refused) as refused:
        Linkage().run(everybody, everybody, ("zip", "sex"))
    assert refused.value.code == "no_control"


def test_people_outside_are_a_control_where_nobody_knows_who_is_who() -> None:
    everybody = people_list(np.random.default_rng(1), 2000)
    inside = pick(everybody, slice(0, 1000))
    outside = pick(everybody, slice(1000, 2000))
    found = Linkage().run(inside, inside, ("zip", "birth", "sex"), outsiders=outside)
    assert found.leaks
    assert found.control.wins < 0.1 * found.control.trials


def test_a_sample_taken_at_its_word_exposes_who_is_alone_in_the_population() -> None:
    everybody = people_list(np.random.default_rng(1), 1000)
    found = Sampling().run(pick(everybody, slice(0, 50)), everybody, ("zip", "birth", "sex"))
    assert (found.control, found.leaks) == (0.0, True)


def test_who_is_not_named_is_nobody_else_who_is_not_named() -> None:
    """A gap in the column that tells who is who is no proof that two rows are one person's."""
    everybody = people_list(np.random.default_rng(5), 300)
    unnamed = {**everybody, "id": np.full(300, None)}
    release = pick(unnamed, slice(0, 200))
    for found in (
        Linkage().run(release, unnamed, ("zip", "birth", "sex"), truth="id"),
        Sampling().run(release, unnamed, ("zip", "birth", "sex"), truth="id"),
    ):
        assert not found.leaks
        assert (found.rate.wins, found.rate.trials) == (0, 0)


def test_named_secrets_are_ruled_out() -> None:
    table = {"c": np.array(["x"] * 4, dtype=object), "s": np.array(["flu", "gout", "flu", "gout"], dtype=object)}
    other = {"c": np.append(table["c"], "y"), "s": np.append(table["s"], "ulcer")}
    found = Background().run(other, ("c",), "s", impossible=("gout",))
    assert (found.rate.wins, found.rate.trials, found.leaks) == (3, 3, True)


def test_long_tails_hardly_move_the_middle() -> None:
    assert middle([1.0, 2.0, 3.0, 1000.0]) == 2.5
    assert middle([7.0]) == 7.0


def test_a_question_in_other_words_asks_the_same() -> None:
    assert reworded("SELECT COUNT(*) FROM t", 2) == "SELECT COUNT(*) FROM t WHERE 2 = 2"
    assert reworded("SELECT COUNT(*) FROM t WHERE a = 1", 3) == "SELECT COUNT(*) FROM t WHERE a = 1 AND 3 = 3"
    texts: list[str] = []
    Averaging(5).ask(lambda sql: texts.append(sql) or 1.0, ["SELECT COUNT(*) FROM t"], [1])
    assert len(set(texts)) == 5


def test_values_are_written_as_sql_reads_them() -> None:
    assert [literal(v) for v in (1, 2.5, "O'Hara", True)] == ["1", "2.5", "'O''Hara'", "'True'"]


def test_half_of_those_attacked_have_the_secret_where_that_can_be() -> None:
    people = [Person(i, i < 30) for i in range(100)]
    assert sum(p.secret for p in balanced(people, 40, 1)) == 20
    assert len(balanced(people, 100, 1)) == 100


def test_a_table_of_one_secret_tells_it_of_everybody() -> None:
    table = {"age": np.array(["1", "2", "2"], dtype=object), "ill": np.array(["flu"] * 3, dtype=object)}
    assert "certain for everybody in the table" in Homogeneity().run(table, ("age",), "ill").sentence
