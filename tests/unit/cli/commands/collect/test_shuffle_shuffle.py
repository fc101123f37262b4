"""obverse collect shuffler, shuffle: tokens and reports pass by the collector, who counts batches and tells what
they add.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from obverse.collect.randomness.coins import Coins
from obverse.collect.spec import read_spec
from obverse.testing.noiseless import SeededRng
from tests.unit.cli.conftest import Obverse

SURVEYS = """
[surveys.smoking]
question = "Do you smoke?"
options = ["no", "yes"]
epsilon = 1
retention_days = 30
purpose = "A lecture."
consent = "I agree."
shuffler = {{ key = "{key}" }}
[surveys.both]
question = "Your health"
epsilon = 1
retention_days = 30
purpose = "A lecture."
consent = "I agree."
shuffler = {{ key = "{key}" }}
[surveys.both.questions.smokes]
question = "Do you smoke?"
options = ["no", "yes"]
[surveys.both.questions.drinks]
question = "Do you drink?"
options = ["no", "yes"]
"""


@pytest.fixture
def folder(tmp_path: Path, project: Path, obverse: Obverse) -> list[str]:
    chosen = ["--shuffler", str(tmp_path / "shuffler")]
    key = obverse("collect", "shuffler", *chosen).stdout.strip()
    assert json.loads(obverse("collect", "shuffler", *chosen, "--json").stdout) == {"version": 1, "key": key}
    with (project / "obverse.toml").open("a", encoding="utf-8") as file:
        file.write(SURVEYS.format(key=key))
    return chosen


def sent(obverse: Obverse, folder: list[str], name: str, answer: object, n: int) -> str:
    spec = read_spec(obverse("collect", "spec", name).stdout.strip().encode())
    tokens = obverse("collect", "tokens", name, "-n", str(n), *folder).stdout.split()
    coins = Coins(SeededRng(1).raw)
    made = [spec.protocol.report(spec.code(answer), coins, spec.seed(bytes.fromhex(token))) for token in tokens]
    return "\n".join(f"{token} {spec.frame.framed(0, payload).hex()}" for token, payload in zip(tokens, made))


@pytest.mark.parametrize(("name", "answer"), [("smoking", "yes"), ("both", {"smokes": "yes", "drinks": "no"})])
def test_reports_go_by_the_shuffler_and_the_estimate_tells_what_it_adds(
    obverse: Obverse, folder: list[str], tmp_path: Path, name: str, answer: object
) -> None:
    assert "shuffler" in obverse("collect", "card", name).stdout
    lines = sent(obverse, folder, name, answer, 300)
    batch = str(tmp_path / "batch")
    told = obverse("collect", "shuffle", name, "--out", batch, *folder, input=lines + "\nnonsense\n")
    assert told.exit_code == 0
    assert "300" in told.stdout
    assert "1 (length)" in told.stdout
    again = json.loads(obverse("collect", "shuffle", name, "--out", batch, *folder, "--json", input=lines).stdout)
    assert again["error"]["code"] == "nothing_to_shuffle"
    assert "300" in obverse("collect", "add", name, batch).stdout
    assert "batch_known" in obverse("collect", "add", name, batch).stderr
    found = json.loads(obverse("collect", "estimate", name, "--delta", "1e-6", "--json").stdout)
    assert found["shuffled"]["reports"] == 297  # without one in a hundred that may be crafted
    assert float(found["shuffled"]["epsilon"]) < float(found["epsilon"]) <= 1
    shown = " ".join(obverse("collect", "estimate", name).stdout.split())
    assert "at delta 1e-08 for each report" in shown
    assert "not against the shuffler" in shown


def test_the_collector_hands_out_no_tokens_and_counts_no_single_reports(obverse: Obverse, folder: list[str]) -> None:
    assert "attested_only" in obverse("collect", "tokens", "smoking").stderr
    lines = sent(obverse, folder, "smoking", "yes", 30)
    assert "not_attested" in obverse("collect", "add", "smoking", input=lines).stderr
    missing = obverse("collect", "estimate", "smoking", "--json").stdout
    assert json.loads(missing)["error"]["code"] == "too_few_reports"


def test_a_batch_as_json(obverse: Obverse, folder: list[str], tmp_path: Path) -> None:
    lines = sent(obverse, folder, "smoking", "no", 30)
    batch = str(tmp_path / "batch")
    told = json.loads(obverse("collect", "shuffle", "smoking", "--out", batch, *folder, "--json", input=lines).stdout)
    assert told == {"version": 1, "batch": batch, "shuffled": 30, "rejected": {}}
    assert json.loads(obverse("collect", "add", "smoking", batch, "--json").stdout)["counted"] == 30
