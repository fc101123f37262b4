from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from click.testing import Result

from obverse.curator.deployments import WORLD

Obverse = Callable[..., Result]
BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def test_the_tables_tell_what_json_tells(obverse: Obverse) -> None:
    said = obverse("explore", BY_SEX).stdout
    told = json.loads(obverse("explore", BY_SEX, "--json").stdout)
    (question,) = told["questions"]
    assert question["sql"] == BY_SEX
    for sweep in question["sweeps"]:
        assert sweep["title"] in said
    assert re.search(r"0\.1 +± 30 +10 +<- declared", said)


def test_it_spends_nothing(obverse: Obverse, project: Path) -> None:
    assert obverse("explore").exit_code == 0
    assert not (project / ".obverse").exists()


def test_questions_come_from_arguments_and_from_a_file(obverse: Obverse, project: Path) -> None:
    (project / "q.sql").write_text("-- two of them\nSELECT COUNT(*) FROM people;\nSELECT SUM(age) FROM people;\n")
    told = json.loads(obverse("explore", BY_SEX, "-f", "q.sql", "--json", "--epsilons", "0.5").stdout)
    assert [one["sql"].split("\n")[-1] for one in told["questions"]] == [
        BY_SEX, "SELECT COUNT(*) FROM people", "SELECT SUM(age) FROM people",
    ]  # fmt: skip
    assert [line["at"] for line in told["questions"][0]["sweeps"][0]["lines"]] == ["0.1", "0.5"]


def test_a_page_and_a_picture_hold_the_plots_and_no_script(obverse: Obverse, project: Path) -> None:
    assert obverse("explore", BY_SEX, "--out", "page.html").exit_code == 0
    page = (project / "page.html").read_text()
    assert page.count("<svg") == 3
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert obverse("explore", BY_SEX, "--out", "all.svg").exit_code == 0
    assert len(ElementTree.parse(project / "all.svg").getroot()) == 3
    assert (project / "all.svg").read_text().count(BY_SEX) == 3


def test_a_page_of_another_kind_is_refused_first(obverse: Obverse, project: Path) -> None:
    said = obverse("explore", BY_SEX, "--out", "page.pdf", "--json")
    assert (said.exit_code, json.loads(said.stdout)["error"]["code"]) == (3, "bad_plot")
    said = obverse("explore", BY_SEX, "--out", "nowhere/page.html", "--json")
    assert (said.exit_code, json.loads(said.stdout)["error"]["code"]) == (3, "cannot_write")


def test_a_question_that_is_refused_is_refused_here_too(obverse: Obverse) -> None:
    said = obverse("explore", "SELECT age FROM people")
    assert said.exit_code == 3
    assert "^^^" in said.stderr


def test_epsilons_of_the_world_have_unit_period_and_source(obverse: Obverse) -> None:
    said = obverse("explore", "--world").stdout
    told = json.loads(obverse("explore", "--world", "--json").stdout)["world"]
    assert len(told) == len(WORLD) >= 10
    for one in told:
        assert all(one.values())
        assert "https://" in one["source"]
        assert one["where"] in said
    assert "https://arxiv.org/abs/1709.02753" in said
    assert {one["model"] for one in told} == {"local", "central"}


def test_rappors_epsilons_are_those_of_its_parameters() -> None:
    from obverse.collect.protocols import Rappor

    told = {(one.where, one.unit): one.epsilon for one in WORLD}
    published = Rappor.published()
    assert told["Google: RAPPOR's Python defaults", "one answer of a device"] == f"{float(published.lasting()):.3f}"
    assert told["Google: RAPPOR's Python defaults", "one report"] == f"{float(published.loss()):.3f}"


def test_epsilons_that_follow_from_rho_are_those_that_are_told() -> None:
    from obverse.accounting.zcdp import epsilon_of

    told = {(one.where, one.unit): (one.epsilon, one.delta) for one in WORLD}
    production = Fraction(542, 339) ** 2  # of the census: its global scale, which is published with its code
    epsilon, delta = told["US Census 2020, redistricting", "one person's record"]
    assert epsilon == f"{float(epsilon_of(production, Fraction(delta))):.2f}"
    epsilon, delta = told["Wikimedia: page views since", "a device's day, 10 pages"]
    assert epsilon == f"{float(epsilon_of(Fraction('0.015'), Fraction(delta))):.3f}"
