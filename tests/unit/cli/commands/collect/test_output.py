"""obverse collect of several questions: from the card to the plot, and answers by the names of questions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from obverse.collect.randomness.coins import Coins
from obverse.collect.spec import read_spec
from tests.unit.cli.conftest import Obverse

SURVEY = """
[surveys.health]
question = "Your health"
split = "{}"
epsilon = 3
reports = 5
per_day = 5
people = 600
retention_days = 30
purpose = "A lecture."
consent = "I agree."
[surveys.health.questions.smokes]
question = "Do you smoke?"
options = ["no", "yes"]
[surveys.health.questions.sleeps]
question = "How long do you sleep?"
bounds = [0, 12]
step = 1
"""


@pytest.fixture(params=["one", "budget"])
def split(request: pytest.FixtureRequest, project: Path) -> str:
    with (project / "obverse.toml").open("a", encoding="utf-8") as file:
        file.write(SURVEY.format(request.param))
    return str(request.param)


def test_several_questions_go_from_card_to_estimate(obverse: Obverse, tmp_path: Path, split: str) -> None:
    assert "How long do you sleep?" in obverse("collect", "card", "health").stdout
    planned = json.loads(obverse("collect", "plan", "health", "--json").stdout)
    asked = 300 if split == "one" else 600
    assert [(one["name"], one["people"]) for one in planned["questions"]] == [("smokes", asked), ("sleeps", asked)]
    assert "in every question" in obverse("collect", "plan", "health").stdout
    played = json.loads(obverse("collect", "simulate", "health", "--share", "smokes=yes=0.3", "--json").stdout)
    assert played["truth"]["smokes=yes"] == pytest.approx(0.3, abs=0.15)
    assert "truth" in obverse("collect", "simulate", "health").stdout
    spec = read_spec(obverse("collect", "spec", "health").stdout.strip().encode())
    tokens = json.loads(obverse("collect", "tokens", "health", "-n", "300", "--json").stdout)["tokens"]
    lines = []
    coins = Coins(os.urandom)
    for place, token in enumerate(tokens):
        code = spec.code({"smokes": "yes" if place % 2 else "no", "sleeps": 6 + 2 * (place % 2)}, coins)
        payload = spec.protocol.report(code, coins, spec.seed(bytes.fromhex(token)))
        lines.append(f"{token} {spec.frame.framed(0, payload).hex()}")
    assert "300" in obverse("collect", "add", "health", input="\n".join(lines)).stdout
    found = json.loads(obverse("collect", "estimate", "health", "--json").stdout)
    silent = json.loads(obverse("collect", "estimate", "health", "--beyond", "0.5", "--json").stdout)
    assert [one["beyond"]["share"] for one in found["questions"] + silent["questions"]] == [0, 0, 0.5, 0.5]
    smokes, sleeps = found["questions"]
    assert smokes["rows"][1]["share"] == pytest.approx(0.5, abs=6 * smokes["rows"][1]["deviation"])
    assert sleeps["rows"][0]["share"] == pytest.approx(7, abs=6 * sleeps["rows"][0]["deviation"])
    told = obverse("collect", "estimate", "health", "--simultaneous", "--plot", str(tmp_path / "shares.svg")).stdout
    assert "smokes" in told
    assert "sleeps" in told
    assert "all intervals at once" in told
    assert (tmp_path / "shares.svg").read_text().startswith("<svg")
    for more in (["--regress"], ["--items", str(tmp_path / "shares.svg")]):
        assert "bad_choice" in obverse("collect", "estimate", "health", *more).stderr


def test_answers_are_given_by_the_names_of_questions(obverse: Obverse, split: str) -> None:
    token = obverse("collect", "tokens", "health").stdout.strip()
    send = ("collect", "answer", "health", "--token", token, "--consent")
    made = obverse(*send, "smokes=yes", "sleeps=7")
    assert made.exit_code == 0
    assert ("which the token picked" if split == "one" else "each of 2 questions") in " ".join(made.stderr.split())
    assert json.loads(obverse("collect", "add", "health", "--json", input=made.stdout).stdout)["counted"] == 1
    wrong = {"unanswered": ["smokes=yes"], "no_such_question": ["yes"], "not_an_option": ["smokes=x", "sleeps=7"]}
    for code, given in wrong.items():
        found = obverse(*send, *given)
        assert (found.exit_code, code in found.stderr) == (3, True)
    assert obverse(*send, "smokes=yes", "smokes=no").exit_code == 2
