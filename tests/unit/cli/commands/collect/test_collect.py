"""obverse collect: from the card to the estimate, as text and as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from obverse.collect.randomness.coins import Coins
from obverse.collect.spec import read_spec
from tests.unit.cli.conftest import Obverse

SURVEYS = """
[surveys.smoking]
question = "Do you smoke?"
options = ["no", "yes"]
protocol = "direct"
epsilon = 6
people = 400
retention_days = 30
purpose = "A lecture."
consent = "I agree."
[surveys.hours]
question = "How long did you sleep?"
bounds = [0, 24]
step = 0.5
epsilon = 4
retention_days = 30
purpose = "A lecture."
consent = "I agree."
[surveys.word]
question = "Which word is new to you?"
text = true
epsilon = 4
retention_days = 30
purpose = "A dictionary."
consent = "I agree."
[surveys.new]
question = "Which word?"
text = true
letters = 5
alphabet = "abcdef"
epsilon = 6
people = 2000
retention_days = 30
purpose = "A dictionary."
consent = "I agree."
"""


@pytest.fixture(autouse=True)
def surveys(project: Path) -> None:
    with (project / "obverse.toml").open("a", encoding="utf-8") as file:
        file.write(SURVEYS)


def sent(obverse: Obverse, name: str, answers: list[str | float]) -> str:
    """Lines of tokens and reports, as devices would send them."""
    spec = read_spec(obverse("collect", "spec", name).stdout.strip().encode())
    tokens = json.loads(obverse("collect", "tokens", name, "--count", str(len(answers)), "--json").stdout)["tokens"]
    coins = Coins(os.urandom)
    lines = []
    for token, answer in zip(tokens, answers):
        payload = spec.protocol.report(spec.code(answer, coins), coins, spec.seed(bytes.fromhex(token)))
        lines.append(f"{token} {spec.frame.framed(0, payload).hex()}")
    return "\n".join(lines)


def test_a_survey_goes_from_card_to_estimate(obverse: Obverse, tmp_path: Path) -> None:
    card = obverse("collect", "card", "smoking")
    assert "6 per report, 6 per day, 6 in a lifetime" in card.stdout
    told = json.loads(obverse("collect", "card", "smoking", "--json").stdout)
    assert told["id"] == json.loads(obverse("collect", "spec", "smoking", "--json").stdout)["id"]
    assert "400 people" in obverse("collect", "plan", "smoking").stdout
    planned = json.loads(obverse("collect", "plan", "smoking", "--share", "0.1", "--json").stdout)
    assert planned["people_needed"] < 1000
    lines = sent(obverse, "smoking", ["yes"] * 100 + ["no"] * 300)
    counted = obverse("collect", "add", "smoking", input=lines + "\nnonsense\n")
    assert "400" in counted.stdout
    assert "1 (length)" in counted.stdout
    found = json.loads(obverse("collect", "estimate", "smoking", "--json").stdout)
    assert found["reports"] == 400
    assert found["rows"][1]["share"] == pytest.approx(0.25, abs=0.06)
    table = obverse("collect", "estimate", "smoking", "--simultaneous", "--plot", str(tmp_path / "shares.svg")).stdout
    assert "all intervals at once" in table
    assert "crafted" in table
    assert (tmp_path / "shares.svg").read_text().startswith("<svg")


def test_a_mean_of_numbers_is_estimated(obverse: Obverse) -> None:
    obverse("collect", "add", "hours", input=sent(obverse, "hours", [6.25, 7.75] * 300))
    (row,) = json.loads(obverse("collect", "estimate", "hours", "--json").stdout)["rows"]
    assert row["item"] == "mean"
    assert abs(row["share"] - 7) < 6 * row["deviation"]
    head, _, told, *_ = obverse("collect", "estimate", "hours").stdout.splitlines()
    assert head.split() == ["answer", "value", "interval"]
    assert told.split()[0] == "mean"


def test_texts_are_estimated_by_name(obverse: Obverse, tmp_path: Path) -> None:
    obverse("collect", "add", "word", input=sent(obverse, "word", ["naïve"] * 250 + ["cafe"] * 50))
    refused = obverse("collect", "estimate", "word")
    assert refused.exit_code == 3
    assert "no_items" in refused.stderr
    (tmp_path / "words.txt").write_text("naïve\ncafe\nnobody\n", encoding="utf-8")
    found = json.loads(obverse("collect", "estimate", "word", "--items", str(tmp_path / "words.txt"), "--json").stdout)
    shares = {row["item"]: row for row in found["rows"]}
    assert abs(shares["naïve"]["share"] - 250 / 300) < 6 * shares["naïve"]["deviation"]
    assert abs(shares["nobody"]["share"]) < 6 * shares["nobody"]["deviation"]


def test_words_that_nobody_listed_are_discovered(obverse: Obverse, tmp_path: Path) -> None:
    """Seen from afar: both are missed with a chance below 1e-9."""
    obverse("collect", "add", "new", input=sent(obverse, "new", ["Face"] * 250 + ["decaf"] * 250 + ["bad!"] * 100))
    found = json.loads(obverse("collect", "estimate", "new", "--json").stdout)
    shares = {row["item"]: row for row in found["rows"]}
    assert {"face", "decaf"} <= shares.keys()
    assert found["discovery"]["found"] == len(shares)
    table = obverse("collect", "estimate", "new", "--plot", str(tmp_path / "words.svg")).stdout
    assert "nobody sent is among them with a chance of at most 5 %" in table
    assert (tmp_path / "words.svg").read_text().startswith("<svg")
    (tmp_path / "words.txt").write_text("decaf\n", encoding="utf-8")
    (row,) = json.loads(obverse("collect", "estimate", "new", "--items", str(tmp_path / "words.txt"), "--json").stdout)[
        "rows"
    ]
    assert row["item"] == "decaf"


def test_a_survey_of_words_is_planned_and_played(obverse: Obverse) -> None:
    assert "prefixes" in obverse("collect", "plan", "new").stdout
    assert json.loads(obverse("collect", "plan", "new", "--json").stdout)["people_needed"] > 1000
    assert "Of your word" in obverse("collect", "card", "new").stdout
    played = obverse("collect", "simulate", "new", "--share", "face=0.4", "--share", "bed=0.0005").stdout
    assert "face" in played
    assert "not found" in played
    nothing = obverse("collect", "simulate", "new", "--people", "100").stdout
    assert "takes" in nothing


def test_a_plan_of_numbers_is_about_their_mean(obverse: Obverse) -> None:
    told = " ".join(obverse("collect", "plan", "hours").stdout.split())
    assert "see a change of 0.01 of the range" in told
    assert "people; changes above" in told
    assert "a share" not in told
    assert "rare answer" not in told


def test_what_hashes_hide_is_seen_by_no_number_of_people(obverse: Obverse) -> None:
    assert "no number of them sees a share of 0.0001" in obverse("collect", "plan", "word", "--share", "0.0001").stdout
    assert json.loads(obverse("collect", "plan", "word", "--share", "0.0001", "--json").stdout)["people_needed"] is None


@pytest.mark.parametrize("verb", ["plan", "simulate"])
def test_fewer_people_than_one_are_not_planned_with(obverse: Obverse, verb: str) -> None:
    for people in ("0", "-5"):
        assert obverse("collect", verb, "smoking", "--people", people).exit_code == 2


def test_a_survey_is_played_before_anybody_is_asked(obverse: Obverse) -> None:
    found = json.loads(
        obverse("collect", "simulate", "smoking", "--share", "yes=0.3", "--people", "5000", "--json").stdout
    )
    assert found["truth"]["yes"] == pytest.approx(0.3, abs=0.05)
    assert found["rows"][1]["share"] == pytest.approx(found["truth"]["yes"], abs=0.05)
    assert "made-up" in obverse("collect", "simulate", "smoking").stdout
    assert not (Path(".obverse") / "collect").exists()


@pytest.mark.parametrize("share", ["maybe=0.1", "yes=2", "yes", "yes=x"])
def test_shares_that_cannot_be_are_refused(obverse: Obverse, share: str) -> None:
    found = obverse("collect", "simulate", "smoking", "--share", share)
    assert (found.exit_code, "bad_parameter" in found.stderr) == (3, True)


@pytest.mark.parametrize(
    "options", [("simulate", "--people", "-2"), ("plan", "--people", "0"), ("plan", "--share", "2")]
)
def test_numbers_of_people_and_shares_that_cannot_be_are_usage_errors(
    obverse: Obverse, options: tuple[str, ...]
) -> None:
    verb, *more = options
    assert obverse("collect", verb, "smoking", *more).exit_code == 2


def test_a_survey_that_is_not_declared_is_refused_with_the_nearest_name(obverse: Obverse) -> None:
    found = obverse("collect", "card", "smokin")
    assert found.exit_code == 3
    assert "no_such_survey" in found.stderr
    assert "'smoking'" in found.stderr


def test_a_regression_names_the_texts_that_explain_rappor(obverse: Obverse, project: Path, tmp_path: Path) -> None:
    """False words are found with a chance of about 1e-6."""
    with (project / "obverse.toml").open("a", encoding="utf-8") as file:
        file.write(
            '[surveys.site]\nquestion = "Which page?"\ntext = true\nprotocol = "rappor"\nepsilon = 8\nretention_days = '
            "30\n"
            'purpose = "A lecture."\nconsent = "I agree."\n'
        )
    obverse("collect", "add", "site", input=sent(obverse, "site", ["home"] * 600 + ["news"] * 300 + ["rare"] * 100))
    listed = tmp_path / "candidates.txt"
    listed.write_text("home\nnews\n" + "\n".join(f"none{i}" for i in range(50)))
    asked = ("collect", "estimate", "site", "--items", str(listed), "--regress", "--confidence", "0.999999")
    told = json.loads(obverse(*asked, "--json").stdout)
    assert {row["item"] for row in told["rows"]} == {"home", "news"}
    assert told["unexplained"]["share"] == pytest.approx(0.1, abs=6 * told["unexplained"]["deviation"])
    assert "2 of 52 texts" in obverse(*asked).stdout
    obverse("collect", "add", "smoking", input=sent(obverse, "smoking", ["no"] * 20))
    assert "bad_choice" in obverse("collect", "estimate", "smoking", "--regress").stderr


def test_a_daily_job_forgets(obverse: Obverse) -> None:
    assert json.loads(obverse("collect", "forget", "smoking", "--json").stdout)["deleted"] == 0
    assert "0 reports" in obverse("collect", "forget", "smoking").stdout


def test_the_lifetime_is_told_where_reports_go_beyond_it(obverse: Obverse, project: Path) -> None:
    toml = project / "obverse.toml"
    toml.write_text(toml.read_text().replace("people = 400", "people = 400\nreports = 4\nlifetime = 6"))
    obverse("collect", "add", "smoking", input=sent(obverse, "smoking", ["yes"] * 30 + ["no"] * 10))
    told = json.loads(obverse("collect", "estimate", "smoking", "--json").stdout)
    assert told["beyond"]["share"] == 0.75
    assert told["beyond"]["pull"] > 0.3
    assert (told["beyond"]["least"], told["beyond"]["most"]) == (0, 0.75)
    said = " ".join(obverse("collect", "estimate", "smoking").stdout.split())
    assert "between 0% and 75% of reports carry no answer" in said
    assert "Lifetime" not in obverse("collect", "estimate", "smoking", "--beyond", "0").stdout


def test_what_the_curator_knows_of_a_schedule_narrows_intervals(obverse: Obverse, project: Path) -> None:
    """Of 40 reports, of which some or three in four carry no answer."""
    toml = project / "obverse.toml"
    toml.write_text(toml.read_text().replace("people = 400", "people = 400\nreports = 4\nlifetime = 6"))
    obverse("collect", "add", "smoking", input=sent(obverse, "smoking", ["yes"] * 34 + ["no"] * 6))
    widths = []
    for known in ((), ("--people", "20"), ("--people", "10"), ("--each", "2"), ("--each", "1")):
        row = json.loads(obverse("collect", "estimate", "smoking", "--json", *known).stdout)["rows"][1]
        widths.append(row["high"] - row["low"])
    assert widths[0] > widths[1] > widths[2]
    assert widths[0] > widths[3] > widths[4]
    said = " ".join(obverse("collect", "estimate", "smoking", "--people", "10").stdout.split())
    assert "75% of reports carry no answer, because a lifetime's epsilon was spent; it is divided out" in said
    refused = obverse("collect", "estimate", "smoking", "--people", "9")
    assert refused.exit_code == 3
    assert "bad_parameter" in refused.stderr


def test_losses_of_surveys_stand_beside_the_budget(obverse: Obverse) -> None:
    said = obverse("budget").stdout
    assert "of a lifetime" in said
    assert "answers every survey to its end may lose epsilon" in said
    told = json.loads(obverse("budget", "--json").stdout)
    assert [line["name"] for line in told["surveys"]] == ["smoking", "hours", "word", "new"]


def test_a_project_of_surveys_alone_tells_their_losses(obverse: Obverse, project: Path) -> None:
    (project / "obverse.toml").write_text('[project]\nname = "class"\n' + SURVEYS)
    assert "who answers every survey to its end may lose epsilon 20" in obverse("budget").stdout
    assert json.loads(obverse("budget", "--json").stdout)["lines"] == []
    assert "No table is declared here" in obverse("tables").stdout


def test_two_collectors_add_up_their_counts(obverse: Obverse, project: Path, tmp_path: Path) -> None:
    declared = (project / "obverse.toml").read_text()
    for name in ("second", "third", "own"):
        folder = tmp_path / name if name != "own" else project
        folder.mkdir(exist_ok=True)
        (folder / "obverse.toml").write_text(declared)
        os.chdir(folder)  # put back by the fixture
        obverse("collect", "add", "smoking", input=sent(obverse, "smoking", ["yes"] * 25))
        assert "25 reports" in obverse("collect", "tally", "smoking", str(tmp_path / f"{name}.counts")).stdout
    saved, third, own = (tmp_path / f"{name}.counts" for name in ("second", "third", "own"))
    told = json.loads(
        obverse("collect", "estimate", "smoking", "--merge", str(saved), "--merge", str(third), "--json").stdout
    )
    assert told["reports"] == 75
    for twice in ([saved, saved], [own]):
        again = obverse("collect", "estimate", "smoking", *(word for file in twice for word in ("--merge", str(file))))
        assert "same_collector" in again.stderr
    assert "other_survey" in obverse("collect", "estimate", "hours", "--merge", str(saved)).stderr
    saved.write_bytes(saved.read_bytes()[:-4])
    assert "not_a_tally" in obverse("collect", "estimate", "smoking", "--merge", str(saved)).stderr
    assert "too_few_reports" in obverse("collect", "tally", "word", str(tmp_path / "none")).stderr


def test_a_survey_is_declared_by_one_command_where_there_is_nothing_yet(obverse: Obverse, tmp_path: Path) -> None:
    asked = ("--purpose", "To learn how many do.", "-p", str(tmp_path / "fresh"))
    said = obverse("collect", "new", "dose", 'Have you missed a "dose"?', *asked)
    assert said.exit_code == 0, said.output
    assert "73.1 of 100 people like you send yes" in said.stdout
    again = obverse("collect", "new", "dose", "Again?", *asked)
    assert (again.exit_code, "[name_twice]" in again.stderr) == (3, True)
    told = obverse("collect", "new", "mood", "And you?", "--options", "good, bad", "--epsilon", "2", "--json", *asked)
    assert json.loads(told.stdout)["survey"] == "mood"
    checked = obverse("check", "-p", str(tmp_path / "fresh"))
    assert checked.exit_code == 0, checked.output
    assert "survey mood: epsilon 2 a report" in checked.stdout


def test_a_survey_that_cannot_be_leaves_the_file_as_it_was(obverse: Obverse, project: Path) -> None:
    before = (project / "obverse.toml").read_bytes()
    for words, code in (("x --options one", "bad_values"), ("a.b", "bad_name"), ("x --epsilon 0", "bad_parameter")):
        name, *more = words.split()
        said = obverse("collect", "new", name, "Why?", "--purpose", "To know.", *more, "--json")
        assert json.loads(said.stdout)["error"]["code"] == code
    assert (project / "obverse.toml").read_bytes() == before


def test_a_lifetime_that_no_report_fits_into_is_refused(obverse: Obverse, project: Path) -> None:
    """Its card would tell odds that no device keeps to, and its estimates would be of fair coins."""
    toml = project / "obverse.toml"
    toml.write_text(toml.read_text().replace("epsilon = 6\n", "epsilon = 6\nlifetime = 5.9\n", 1))
    for verb in ("card", "plan", "simulate", "spec", "tokens"):
        assert "[bad_parameter] one report costs epsilon 6" in obverse("collect", verb, "smoking").stderr


@pytest.mark.parametrize("epsilon", ["50", "0.0001"])
def test_a_survey_that_nobody_can_be_asked_is_not_declared_and_is_told_by_check(
    obverse: Obverse, project: Path, epsilon: str
) -> None:
    toml = project / "obverse.toml"
    before = toml.read_text()
    refused = obverse("collect", "new", "hot", "Is it?", "--purpose", "A lecture.", "--epsilon", epsilon)
    assert (refused.exit_code, "[bad_parameter] the epsilon of a report" in refused.stderr) == (3, True)
    assert (refused.stdout, toml.read_text()) == ("", before)
    toml.write_text(before.replace("epsilon = 6\n", f"epsilon = {epsilon}\n", 1))
    found = [line for line in json.loads(obverse("check", "--json").stdout)["findings"] if line["level"] == "error"]
    assert [(line["code"], "surveys.smoking" in line["place"]) for line in found] == [("bad_parameter", True)]
