"""collect consent, answer, withdraw: nothing without a yes, and a report that `collect add` counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Obverse

SURVEY = """
[surveys.smoking]
question = "Do you smoke?"
options = ["no", "yes"]
protocol = "two_coins"
epsilon = 1.0987
reports = 2
per_day = 2
minimum = 1
retention_days = 30
purpose = "A lecture."
consent = { en = "I agree to send it.", de = "Ich bin einverstanden." }
"""


@pytest.fixture
def token(project: Path, obverse: Obverse) -> str:
    with (project / "obverse.toml").open("a", encoding="utf-8") as file:
        file.write(SURVEY)
    return obverse("collect", "tokens", "smoking").stdout.split()[0]


def test_an_answer_without_consent_is_refused_and_says_so(obverse: Obverse, token: str) -> None:
    found = obverse("collect", "answer", "smoking", "yes", "--token", token)
    assert (found.exit_code, found.stdout) == (3, "")
    assert "no_consent" in found.stderr


def test_consent_is_shown_and_the_report_is_counted(obverse: Obverse, token: str) -> None:
    found = obverse("collect", "answer", "smoking", "yes", "--token", token, "--consent", "--language", "de")
    assert found.exit_code == 0
    assert "Ich bin einverstanden." in found.stderr
    assert "11 bytes" in found.stderr
    assert json.loads(obverse("collect", "add", "smoking", "--json", input=found.stdout).stdout)["counted"] == 1
    assert json.loads(obverse("collect", "add", "smoking", "--json", input=found.stdout).stdout)["rejected"] == {
        "spent": 1
    }


@pytest.mark.parametrize("given", [(), ("--token", "abc"), ("--token", "00")])
def test_who_has_no_token_is_told_where_they_come_from(obverse: Obverse, token: str, given: tuple[str, ...]) -> None:
    found = obverse("collect", "answer", "smoking", "yes", *given)
    assert found.exit_code == 2
    assert "whoever runs the survey hands them out" in found.output


def test_a_device_of_ones_own_keeps_its_own_counts(obverse: Obverse, token: str, tmp_path: Path) -> None:
    device = ["--device", str(tmp_path / "mine")]
    told = json.loads(obverse("collect", "consent", "smoking", "--json", *device).stdout)
    assert told["consent"] == "given"
    assert (tmp_path / "mine" / "device.db").exists()
    made = json.loads(obverse("collect", "answer", "smoking", "no", "--token", token, "--json", *device).stdout)
    assert len(bytes.fromhex(made["report"])) == 11
    assert "no_consent" in obverse("collect", "answer", "smoking", "no", "--token", token).stderr
    told = json.loads(obverse("collect", "withdraw", "smoking", "--json", *device).stdout)
    assert (told["consent"], told["reports"], told["epsilon"]["spent"]) == ("withdrawn", 1, "1.09862")


def test_what_all_surveys_of_a_device_lost_is_told(obverse: Obverse, token: str, project: Path) -> None:
    obverse("collect", "answer", "smoking", "yes", "--token", token, "--consent")
    with (project / "obverse.toml").open("a", encoding="utf-8") as file:
        file.write(SURVEY.replace("surveys.smoking", "surveys.again"))
    said = obverse("collect", "consent", "again").stdout
    assert "Spent    epsilon 0 of" in said
    assert "Together epsilon 1.09862 in all surveys" in said
    assert "Together" not in obverse("collect", "consent", "smoking").stdout
    told = json.loads(obverse("collect", "consent", "again", "--no", "--json").stdout)
    assert told["epsilon"] == {"spent": "0", "lifetime": "2.1974", "device": "1.09862"}


def test_declining_takes_one_word_and_agreeing_shows_the_text(obverse: Obverse, token: str) -> None:
    assert "declined" in obverse("collect", "consent", "smoking", "--no").stdout
    assert "no_consent" in obverse("collect", "answer", "smoking", "no", "--token", token).stderr
    said = obverse("collect", "consent", "smoking", "--language", "en").stdout
    assert "I agree to send it." in said
    assert "0 of 2" in said


@pytest.mark.parametrize("wrong", ["", "xy", "00"])
def test_a_token_that_is_none_is_a_slip_of_the_keyboard(obverse: Obverse, token: str, wrong: str) -> None:
    found = obverse("collect", "answer", "smoking", "no", "--token", wrong, "--consent")
    assert found.exit_code == 2
    assert "a token has 32 bytes" in found.stderr


@pytest.mark.parametrize(("said", "counted"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_asks_and_takes_silence_for_a_no(
    obverse: Obverse, token: str, monkeypatch: pytest.MonkeyPatch, said: str, counted: bool
) -> None:
    monkeypatch.setattr("obverse.cli.commands.collect.device._on_terminal", lambda: True)
    found = obverse("collect", "answer", "smoking", "no", "--token", token, input=said)
    assert "Do you agree?" in found.stderr
    assert (found.exit_code == 0) is counted
    assert bool(found.stdout.strip()) is counted


def test_a_device_needs_but_the_specification_that_it_was_sent(obverse: Obverse, token: str, tmp_path: Path) -> None:
    sent = tmp_path / "survey.json"
    sent.write_text(obverse("collect", "spec", "smoking").stdout)
    asked = ("--spec", str(sent), "--device", str(tmp_path / "mine"), "-p", str(tmp_path / "nowhere"))
    made = obverse("collect", "answer", "smoking", "yes", "--token", token, "--consent", *asked)
    assert made.exit_code == 0, made.stderr
    assert json.loads(obverse("collect", "add", "smoking", "--json", input=made.stdout).stdout)["counted"] == 1
    assert obverse("collect", "withdraw", "smoking", *asked).exit_code == 0
    other = obverse("collect", "consent", "drinking", *asked)
    assert (other.exit_code, "specification of 'smoking'" in other.stderr) == (2, True)
    sent.write_text(sent.read_text().replace("smoke", "drink"))
    assert "bad_spec" not in obverse("collect", "consent", "smoking", *asked).stderr  # another survey, well formed
    sent.write_text("{}")
    assert "bad_spec" in obverse("collect", "consent", "smoking", *asked).stderr
